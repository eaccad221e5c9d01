"""The streams and tables of a server, as it describes them."""

import pytest
from cases import cases
from ksqldb_server import answer, field, schema, serving, source

from kcodec import ConfigError, RegistryError
from kcodec.ksql import list_statements, parse
from kcodec.ksql.catalogue import statements_of

KEPT = (
    "CREATE OR REPLACE STREAM ORDERS (ID BIGINT KEY, TOTAL DECIMAL(10, 2)) WITH (CLEANUP_POLICY='delete', "
    "KAFKA_TOPIC='orders', KEY_FORMAT='KAFKA', PARTITIONS=3, VALUE_FORMAT='JSON');"
)
FIELDS = [
    field("ID", "BIGINT", "KEY"),
    field("TOTAL", schema("DECIMAL", parameters={"precision": 10, "scale": 2})),
]


def one(*arguments, **more):
    [entry] = statements_of(answer([source(*arguments, **more)]))
    assert entry.error is None
    return entry.statement


def test_a_statement_that_the_server_keeps():
    made = one("ORDERS", FIELDS, KEPT)
    assert made == parse(KEPT)[0]
    assert made.partitions == 3


def test_columns_that_a_schema_id_has_given():
    text = "CREATE STREAM S (A INTEGER) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='AVRO', VALUE_SCHEMA_ID=7);"
    assert one("S", [field("A", "INTEGER")], text, valueFormat="AVRO").value_properties == {"schemaId": "7"}


def test_a_stream_that_a_query_writes():
    text = (
        "CREATE STREAM BIG WITH (KAFKA_TOPIC='big-orders', VALUE_FORMAT='DELIMITED', VALUE_DELIMITER='TAB', "
        "TIMESTAMP='AT', TIMESTAMP_FORMAT='yyyy') AS SELECT *, 'a;b' FROM ORDERS WHERE TOTAL > 1e3 EMIT CHANGES;"
    )
    made = one(
        "BIG",
        [*FIELDS, field("AT", "STRING")],
        text,
        topic="big-orders",
        valueFormat="DELIMITED",
        timestamp="AT",
    )
    assert str(made) == (
        "CREATE STREAM `BIG` (`ID` BIGINT KEY, `TOTAL` DECIMAL(10, 2), `AT` STRING) WITH (KAFKA_TOPIC='big-orders', "
        "KEY_FORMAT='KAFKA', VALUE_FORMAT='DELIMITED', VALUE_DELIMITER='TAB', TIMESTAMP_FORMAT='yyyy', "
        "TIMESTAMP='`AT`');"
    )


@pytest.mark.parametrize(
    ("window", "kind", "size"),
    [
        ("WINDOW TUMBLING (SIZE 1 HOUR, RETENTION 2 DAYS)", "TUMBLING", 3_600_000),
        ("WINDOW w HOPPING (SIZE 30 SECONDS, ADVANCE BY 10 SECONDS)", "HOPPING", 30_000),
        ("WINDOW SESSION (5 MINUTES)", "SESSION", None),
    ],
)
def test_a_table_of_windows(window, kind, size):
    text = f"CREATE TABLE COUNTS AS SELECT ID, COUNT(*) N FROM ORDERS {window} GROUP BY ID EMIT CHANGES;"
    fields = [field("ID", "BIGINT", "KEY"), field("WINDOWSTART", "BIGINT", "KEY"), field("N", "BIGINT")]
    made = one("COUNTS", fields, text, type="TABLE", windowType=kind)
    assert (made.kind, made.window_type, made.window_size) == ("TABLE", kind, size)
    assert [(each.name, each.primary) for each in made.columns] == [("ID", True), ("N", False)]


def test_what_a_query_takes_over_from_its_source():
    """The size of windows and delimiters are not told: those of the source are taken."""
    hourly = (
        "CREATE TABLE HOURLY AS SELECT ID, COUNT(*) N FROM LINES WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY ID;"
    )
    lines = (
        "CREATE STREAM LINES (ID INT KEY, N BIGINT) WITH (KAFKA_TOPIC='lines', KEY_FORMAT='DELIMITED', "
        "VALUE_FORMAT='DELIMITED', VALUE_DELIMITER='|', KEY_DELIMITER='TAB');"
    )
    fields = [field("ID", "INTEGER", "KEY"), field("N", "BIGINT")]
    windowed = {
        "type": "TABLE",
        "windowType": "TUMBLING",
        "keyFormat": "DELIMITED",
        "valueFormat": "DELIMITED",
    }
    entries = statements_of(
        answer(
            [source("LINES", fields, lines)],
            [
                source(
                    "BIG",
                    fields,
                    "CREATE TABLE BIG AS SELECT * FROM HOURLY WHERE N > 5 EMIT CHANGES;",
                    **windowed,
                ),
                source("HOURLY", fields, hourly, **windowed),
                source(
                    "AS_JSON",
                    fields,
                    "CREATE TABLE AS_JSON WITH (VALUE_FORMAT='JSON') AS SELECT * FROM HOURLY;",
                    **{**windowed, "valueFormat": "JSON"},
                ),
                source("LOOP", fields, "CREATE TABLE LOOP AS SELECT * FROM LOOP;", **windowed),
            ],
        )
    )
    found = {entry.name: entry for entry in entries}
    for name in ("BIG", "HOURLY", "AS_JSON"):
        made = found[name].statement
        assert made.window_size == 3_600_000
        assert made.key_properties == {"delimiter": "TAB"}
        assert made.value_properties == ({} if name == "AS_JSON" else {"delimiter": "|"})
    assert "TUMBLING windows require 'WINDOW_SIZE'" in found["LOOP"].error


def test_types_and_headers():
    inner = schema(
        "STRUCT", fields=[field("a", "INTEGER"), field("B", schema("ARRAY", memberSchema=schema("DATE")))]
    )
    fields = [
        field("M", schema("MAP", memberSchema=inner)),
        field("H", "BYTES", "HEADER", headerKey="trace"),
        field("ROWTIME", "BIGINT", "SYSTEM"),
    ]
    # Servers before 0.14 tell neither statement nor formats of keys.
    made = one("Old", fields, "", keyFormat=None, valueFormat=None, format="JSON", topic="old")
    assert str(made) == (
        "CREATE STREAM `Old` (`M` MAP<STRING, STRUCT<`a` INTEGER, `B` ARRAY<DATE>>>, `H` BYTES HEADER('trace')) "
        "WITH (KAFKA_TOPIC='old', KEY_FORMAT='KAFKA', VALUE_FORMAT='JSON');"
    )


@cases(
    ("more", "error"),
    [
        ({"valueFormat": "XML"}, "Unknown format: XML"),
        ({"windowType": "TUMBLING"}, "TUMBLING windows require 'WINDOW_SIZE'"),
        ({"topic": None}, "KAFKA_TOPIC"),
        ({"topic": 3}, "topic is not text"),
        ({"fields": None}, "there are no fields"),
        ({"fields": [{"name": "A"}]}, "a schema has no type"),
        ({"fields": [field("A", "ROW")]}, "ROW is not a type"),
        ({"fields": [field("A", "DECIMAL")]}, "a DECIMAL has no precision and scale"),
        ({"fields": [field("A", "ARRAY")]}, "a schema has no type"),
        ({"type": "VIEW"}, "'VIEW' is neither STREAM nor TABLE"),
    ],
)
def test_one_that_cannot_be_read_does_not_stop_the_others(more, error):
    text = "CREATE STREAM S AS SELECT * FROM ORDERS;"
    described = source(**{"name": "S", "fields": FIELDS, "statement": text, **more})
    bad, good = statements_of(answer([described, source("ORDERS", FIELDS, KEPT)]))
    assert (bad.name, bad.statement) == ("S", None)
    assert error in bad.error
    assert good.statement.name == "ORDERS"


def test_what_stands_beside_descriptions():
    """Warnings, queries and results of other statements are no sources; a server of 5.4 tells less of each."""
    old = {
        "@type": "sourceDescriptions",
        "statementText": "SHOW STREAMS EXTENDED;",
        "sourceDescriptions": [
            {
                "name": "USERS",
                "readQueries": [
                    {"sinks": ["BIG"], "id": "CSAS_BIG_0", "queryString": "CREATE STREAM BIG AS ..."}
                ],
                "writeQueries": [],
                "fields": [
                    {"name": "ROWTIME", "schema": {"type": "BIGINT", "fields": None, "memberSchema": None}},
                    {"name": "ROWKEY", "schema": {"type": "STRING", "fields": None, "memberSchema": None}},
                    {"name": "ID", "schema": {"type": "INTEGER", "fields": None, "memberSchema": None}},
                ],
                "type": "STREAM",
                "key": "",
                "timestamp": "",
                "statistics": "",
                "errorStats": "",
                "extended": True,
                "format": "JSON",
                "topic": "users",
                "partitions": 1,
                "replication": 1,
            }
        ],
    }
    warning = {
        "@type": "warning_entity",
        "statementText": "SET 'a'='b';",
        "message": "not now",
        "warnings": [],
    }
    new = answer(
        [source("ORDERS", FIELDS, KEPT, readQueries=[{"id": "CSAS_1", "sinks": ["X"], "state": "RUNNING"}])]
    )
    new[0]["warnings"] = [{"message": "Error from Kafka: "}]
    found = statements_of([warning, *new, old, {"@type": "currentStatus", "commandStatus": {}}])
    assert [(entry.name, entry.error) for entry in found] == [("ORDERS", None), ("USERS", None)]
    assert [str(column) for column in found[1].statement.columns] == ["`ROWKEY` STRING KEY", "`ID` INTEGER"]


def told(name, **more):
    """Return a type as servers before 0.10 tell it, without parts."""
    return {"name": name, "schema": {"type": "STRING", "fields": None, "memberSchema": None}, **more}


OLD_FIELDS = [{"name": "ROWTIME", "schema": schema("BIGINT")}, told("ROWKEY"), told("Name"), told("ROWKEYS")]


@cases("formats", [{"format": "JSON"}, {"keyFormat": "KAFKA", "valueFormat": "JSON"}])
@cases("kind", ["STREAM", "TABLE"])
@cases(
    "text",
    [
        None,
        "create {} users\n(\n    `Name` varchar,\n    rowkeys varchar\n) with (\n    kafka_topic='users',\n    "
        "value_format='json',\n    key='Name'\n);",
        "CREATE {} USERS WITH (KAFKA_TOPIC='users', PARTITIONS=4, REPLICAS=1) AS SELECT *\nFROM ORIGINAL;",
    ],
)
def test_a_server_before_0_10(formats, kind, text):
    """The key of each source is ROWKEY, of which its statement says nothing; KEY names a column that equals it."""
    described = {
        "name": "USERS",
        "windowType": None,
        "readQueries": [],
        "writeQueries": [],
        "fields": OLD_FIELDS,
        "type": kind,
        "key": "Name",
        "timestamp": "",
        "statistics": "",
        "errorStats": "",
        "extended": True,
        "topic": "users",
        "partitions": 1,
        "replication": 1,
        **formats,
    }
    if text is not None:
        described["statement"] = text.format(kind)
    listed = {"@type": "source_descriptions", "statementText": "show", "sourceDescriptions": [described]}
    [entry] = statements_of([listed])
    assert entry.error is None
    key = "PRIMARY KEY" if kind == "TABLE" else "KEY"
    assert str(entry.statement).startswith(
        f"CREATE {kind} `USERS` (`ROWKEY` STRING {key}, `Name` STRING, `ROWKEYS` STRING) WITH (KAFKA_TOPIC='users', "
    )
    assert (entry.statement.key_format, entry.statement.value_format) == ("KAFKA", "JSON")


def test_all_that_a_server_tells():
    """Statistics, queries and their hosts, offsets, warnings, formats in lower case, headers, statements on lines."""
    query = {
        "queryString": "CREATE STREAM X AS\nSELECT 1",
        "sinks": ["X"],
        "sinkKafkaTopics": ["X"],
        "id": "CSAS_X_1",
        "statusCount": {"RUNNING": 1, "ERROR": 2},
        "queryType": "PERSISTENT",
        "state": "ERROR",
    }
    offsets = {"partition": 0, "logStartOffset": 1, "logEndOffset": 9, "consumerOffset": 8}
    statistic = {"name": "TEST", "host": "host1:8001", "value": 0.0, "timestamp": 1596644936314}
    pairs = schema("STRUCT", fields=[field("KEY", "STRING"), field("VALUE", "BYTES")])
    fields = [
        field("K", "STRING", "KEY"),
        field("B", "BOOLEAN"),
        field("M", schema("MAP", memberSchema=schema("BIGINT"))),
        field("S", schema("STRUCT", fields=[field("a", "DOUBLE")])),
        field("H", schema("ARRAY", memberSchema=pairs), "HEADER"),
    ]
    told = {
        "readQueries": [query],
        "writeQueries": [query],
        "statistics": "The statistics field is deprecated.\nstats",
        "errorStats": "The errorStats field is deprecated.\nerrors\n",
        "keyFormat": "kafka",
        "valueFormat": "avro",
        "partitions": 2,
        "replication": 3,
        "queryOffsetSummaries": [
            {"groupId": "c", "topicSummaries": [{"kafkaTopic": "t", "offsets": [offsets]}]}
        ],
        "sourceConstraints": ["OTHER"],
        "clusterStatistics": [statistic],
        "clusterErrorStats": [statistic],
    }
    written = (
        "CREATE STREAM `s` (\\nk STRING KEY,\\n-- `b` is; 'not'\\nB boolean)\\nWITH (\\nKAFKA_TOPIC = 's',\\n"
        "PARTITIONS = 2, FORMAT='json');"
    )
    entries = statements_of(
        answer(
            [
                source("A", fields, "CREATE STREAM A AS\nSELECT *\nFROM S;", **told),
                source("s", fields[:2], written),
            ],
            [
                source(
                    "Q",
                    [*fields[:2], field("T", "BYTES", "HEADER", headerKey="abc")],
                    "",
                    type="TABLE",
                    **told,
                    warnings=[{"message": "oops"}],
                )
            ],
        )
    )
    assert [(each.name, each.error) for each in entries] == [("A", None), ("s", None), ("Q", None)]
    assert [str(each.statement).partition(" WITH ")[0] for each in entries] == [
        "CREATE STREAM `A` (`K` STRING KEY, `B` BOOLEAN, `M` MAP<STRING, BIGINT>, `S` STRUCT<`a` DOUBLE>, "
        "`H` ARRAY<STRUCT<`KEY` STRING, `VALUE` BYTES>> HEADERS)",
        "CREATE STREAM `s` (`K` STRING KEY, `B` BOOLEAN)",
        "CREATE TABLE `Q` (`K` STRING PRIMARY KEY, `B` BOOLEAN, `T` BYTES HEADER('abc'))",
    ]
    assert [each.statement.value_format for each in entries] == ["AVRO", "JSON", "AVRO"]


def test_hostile_types():
    kind = schema("INTEGER")
    for _ in range(500):
        kind = schema("ARRAY", memberSchema=kind)
    [entry] = statements_of(answer([source("S", [field("A", kind)], "")]))
    assert "deeper than" in entry.error


def test_a_server():
    table = "CREATE TABLE T (K INT PRIMARY KEY, V INT) WITH (KAFKA_TOPIC='t', KEY_FORMAT='KAFKA', VALUE_FORMAT='JSON');"
    described = source("T", [field("K", "INTEGER", "KEY"), field("V", "INTEGER")], table, type="TABLE")
    with serving(answer([source("ORDERS", FIELDS, KEPT)], [described])) as (url, asked):
        found = list_statements(url.replace("://", "://me:secret@"))
    assert [(each.name, each.statement.kind, each.error) for each in found] == [
        ("ORDERS", "STREAM", None),
        ("T", "TABLE", None),
    ]
    [(path, headers, body)] = asked
    assert path == "/ksql"
    assert body == {"ksql": "SHOW STREAMS EXTENDED; SHOW TABLES EXTENDED;", "streamsProperties": {}}
    assert headers["Content-Type"] == "application/vnd.ksql.v1+json"
    assert headers["Authorization"].startswith("Basic ")


@cases(
    ("result", "status", "message"),
    [
        (
            {"@type": "generic_error", "error_code": 40100, "message": "who?"},
            401,
            "HTTP 401: who.*credentials",
        ),
        ({"@type": "statement_error", "error_code": 40001, "message": "no"}, 400, "HTTP 400: no"),
        (
            {
                "@type": "statement_error",
                "error_code": 40001,
                "message": "line 1:13: Syntax Error\nmissing ';'",
                "statementText": "SHOW",
                "entities": answer([source("ORDERS", FIELDS, KEPT)]),
            },
            400,
            "HTTP 400: line 1:13: Syntax Error",
        ),
        (b"<html>", 200, "but no JSON"),
        ({}, 200, "the answer is not a list of results"),
        ([], 200, "the answer has no source descriptions"),
        ([{"@type": "streams", "streams": []}], 200, "the answer has no source descriptions"),
        ([{"sourceDescriptions": [3]}], 200, "a source without a name"),
    ],
)
def test_other_answers(result, status, message):
    with serving(result, status) as (url, _), pytest.raises(RegistryError, match=message):
        list_statements(url)


def test_no_server(free_address):
    with pytest.raises(RegistryError, match="does it run, and listen at this port"):
        list_statements(free_address, config={"max.retries": 0})
    with pytest.raises(ConfigError):
        list_statements("ksqldb:8088")
    with pytest.raises(ConfigError, match="timeot"):
        list_statements(free_address, config={"timeot": 1})


@pytest.fixture
def free_address():
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"
