"""A server that answers as a ksqlDB server does to SHOW STREAMS EXTENDED and SHOW TABLES EXTENDED."""

import json
from contextlib import contextmanager

from http_answers import answering, whole


def schema(kind, **more):
    """Return a type as ksqlDB's answers have it."""
    return {"type": kind, "fields": None, "memberSchema": None, **more}


def field(name, kind, part=None, **more):
    """Return a column."""
    made = {"name": name, "schema": kind if isinstance(kind, dict) else schema(kind)}
    return {**made, "type": part, **more} if part else {**made, **more}


def source(name, fields, statement, **more):
    """Return the description of a stream or table, as ksqlDB 8 gives it."""
    return {
        "name": name,
        "windowType": None,
        "readQueries": [],
        "writeQueries": [],
        "fields": fields,
        "type": "STREAM",
        "timestamp": "",
        "statistics": "",
        "errorStats": "",
        "extended": True,
        "keyFormat": "KAFKA",
        "valueFormat": "JSON",
        "topic": name.lower(),
        "partitions": 1,
        "replication": 1,
        "statement": statement,
        "queryOffsetSummaries": [],
        "sourceConstraints": [],
        "clusterStatistics": [],
        "clusterErrorStats": [],
        **more,
    }


def answer(streams, tables=()):
    """Return the whole answer."""
    return [
        {
            "@type": "source_descriptions",
            "statementText": statement,
            "sourceDescriptions": list(described),
            "warnings": [],
        }
        for statement, described in (
            ("SHOW STREAMS EXTENDED;", streams),
            ("SHOW TABLES EXTENDED;", tables),
        )
    ]


@contextmanager
def serving(result, status=200):
    """Serve an answer to POST /ksql; gives the address and the list of what was asked."""
    asked = []
    content = result if isinstance(result, bytes) else json.dumps(result).encode()
    answer = whole(status, content, "application/vnd.ksql.v1+json")

    def tell(request):
        asked.append((request.path, dict(request.headers), json.loads(request.content)))
        answer(request)

    with answering(tell, version="HTTP/1.0") as server:
        yield server.url, asked
