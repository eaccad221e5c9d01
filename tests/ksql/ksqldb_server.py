"""A server that answers as a ksqlDB server does to SHOW STREAMS EXTENDED and SHOW TABLES EXTENDED."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


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

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            asked.append((self.path, dict(self.headers), json.loads(body)))
            content = result if isinstance(result, bytes) else json.dumps(result).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.ksql.v1+json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
