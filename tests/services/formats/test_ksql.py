"""ksqlDB's streams and tables over a broker and a registry: from a statement to rows and back."""

import uuid

import pyarrow as pa
import pytest
from doc_pages import ROOT, blocks
from ksqldb_server import answer, field, serving, source

from kcodec import ksql
from kcodec_spark import ksql_views, read_ksql, readStream_ksql, write_ksql

COLUMNS = "id BIGINT KEY, customer STRING, total DECIMAL(10,2), tags ARRAY<STRING>"
ROWS = pa.table(
    {
        "id": [1, 2, 3],
        "customer": ["Ada", None, "Grace"],
        "total": ["12.50", "0.01", None],
        "tags": [["a", "b"], [], ["c"]],
    }
)
WANTED = [(1, "Ada", "12.50", ["a", "b"]), (2, None, "0.01", []), (3, "Grace", None, ["c"])]


def rows_of(table):
    rows = table.to_pylist() if isinstance(table, pa.Table) else [row.asDict() for row in table.collect()]
    found = [(row["ID"], row["CUSTOMER"], row["TOTAL"], row["TAGS"]) for row in rows]
    return sorted((*row[:2], None if row[2] is None else str(row[2]), row[3] or []) for row in found)


def statement(topic, format, columns=f"({COLUMNS})"):
    return f"CREATE STREAM orders {columns} WITH (kafka_topic='{topic}', format='{format}');"


def defaults(format):
    """Return the rows as Protobuf has them: without nulls of numbers and text."""
    return [(a, b or "", c, d) for a, b, c, d in WANTED] if format.startswith("PROTOBUF") else WANTED


@pytest.mark.parametrize("format", ["JSON", "AVRO", "JSON_SR", "PROTOBUF", "PROTOBUF_NOSR"])
def test_topics(kafka, registry_url, topic, format):
    place = {"servers": kafka.address, "registry": registry_url}
    text = statement(topic, format)
    # An unwrapped key of PROTOBUF_NOSR is written as no reader has it, and the registry of the tests takes no
    # schema of JSON without properties.
    if format in ("JSON_SR", "PROTOBUF_NOSR"):
        text = text.replace("format=", "key_format='KAFKA', value_format=")
    written = ksql.write(text, ROWS, **place)
    assert sum(written.end[topic].values()) == 3
    found = ksql.read(text, **place).read_all()
    assert rows_of(found) == defaults(format)
    assert found.column_names[-3:] == ["ROWTIME", "ROWPARTITION", "ROWOFFSET"]
    if format in ("AVRO", "JSON_SR", "PROTOBUF"):
        bare = ksql.read(text.replace(COLUMNS, "id BIGINT KEY"), **place).read_all()
        assert set(bare["CUSTOMER"].to_pylist()) == {row[1] for row in defaults(format)}


def test_bad_records(kafka, topic):
    from topics import Message

    text = f"CREATE STREAM s (k INT KEY, v INT) WITH (kafka_topic='{topic}', format='JSON');"
    kafka.produce(topic, [Message(b"1", b'{"V":1}'), Message(b"x", b'{"V":2}'), Message(b"3", b"{}}")])
    with pytest.raises(ksql_error(), match=topic):
        ksql.read(text, servers=kafka.address).read_all()
    reader, report = ksql.read(text, servers=kafka.address, errors="report")
    found = reader.read_all().sort_by("V")
    assert sorted(report.table()["column"].to_pylist()) == ["key", "value"]
    assert found["V"].to_pylist() == [1, 2, None]


def ksql_error():
    from kcodec.kafka import RecordError

    return RecordError


@pytest.mark.parametrize("source_name", ["kcodec_kafka", "kafka"])
def test_spark(spark, kafka, registry_url, topic, source_name, tmp_path):
    place = {"servers": kafka.address, "registry": registry_url, "source": source_name}
    text = statement(topic, "AVRO")
    frame = spark.createDataFrame(
        [(row["id"], row["customer"], row["tags"]) for row in ROWS.to_pylist()],
        "id bigint, customer string, tags array<string>",
    )
    write_ksql(frame, text, **place)
    wanted = [(a, b, None, d) for a, b, _, d in WANTED]
    assert rows_of(read_ksql(spark, text, **place)) == wanted
    assert rows_of(read_ksql(spark, statement(topic, "AVRO", "(id BIGINT KEY)"), **place)) == wanted
    stream = readStream_ksql(spark, text, **place)
    assert stream.isStreaming
    name = f"q{uuid.uuid4().hex[:8]}"
    query = (
        stream.drop("TOTAL")
        .writeStream.format("memory")
        .queryName(name)
        .option("checkpointLocation", f"{tmp_path}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    assert sorted(row["ID"] for row in spark.table(name).collect()) == [1, 2, 3]


def test_views(classic, kafka, registry_url, topic):
    ksql.write(statement(topic, "AVRO"), ROWS, servers=kafka.address, registry=registry_url)
    kept = statement(topic, "AVRO")
    fields = [field("V", "INTEGER")]
    described = [
        source("ORDERS", fields, kept, valueFormat="AVRO", keyFormat="AVRO", topic=topic),
        source("SEEN", fields, "CREATE STREAM SEEN AS SELECT * FROM ORDERS;", topic=topic),
        source("ODD", fields, "", valueFormat="XML"),
    ]
    # As servers before 0.10 tell a table.
    tables = [source("old", [field("ROWKEY", "STRING"), *fields], "", type="TABLE", key="V", topic=topic)]
    with serving(answer(described, tables)) as (url, _):
        views = ksql_views(classic, url, servers=kafka.address, registry=registry_url, prefix="k_")
    assert [view.name for view in views] == ["ORDERS", "SEEN", "ODD", "old"]
    assert [view.error is None for view in views] == [True, True, False, True]
    assert classic.sql("SELECT SUM(TOTAL), COUNT(*) FROM k_ORDERS").collect()[0][1] == 3
    assert set(classic.table("k_old").columns) > {"ROWKEY", "V"}
    for name in ("k_ORDERS", "k_SEEN", "k_old"):
        classic.catalog.dropTempView(name)


def test_page(classic, kafka, registry_url, topic, tmp_path, monkeypatch):
    """docs/ksql.md goes from a statement to a DataFrame."""
    monkeypatch.chdir(tmp_path)
    names = {"spark": classic}
    clicks = kafka.create(f"clicks-{topic}")
    described = [source("CLICKS", [field("URL", "STRING"), field("SECONDS", "INTEGER")], "", topic=clicks)]
    with serving(answer(described)) as (url, _):
        for block in blocks(ROOT / "docs" / "ksql.md"):
            for there, here in (
                ("http://registry:8081", registry_url),
                ("http://ksqldb:8088", url),
                ("broker:9092", kafka.address),
                ("'orders'", f"'{topic}'"),
                ("'clicks'", f"'{clicks}'"),
            ):
                block = block.replace(there, here)
            exec(compile(block, "docs/ksql.md", "exec"), names)
