"""Streams and tables of ksqlDB as DataFrames, over records that something else has read."""

import datetime

import pytest
from pyspark.errors import PythonException

from kcodec import ConfigError, SchemaError
from kcodec_spark import dead_letters, from_ksql, read_ksql, select_ksql, write_ksql
from kcodec_spark.ksql.topics import _codecs, _payloads, _written_names

UTC = datetime.timezone.utc
STREAM = """
CREATE STREAM orders (id BIGINT KEY, `Customer` STRING, total DECIMAL(10,2), paid TIMESTAMP,
    trace BYTES HEADER('trace'), url STRING)
  WITH (kafka_topic='orders', key_format='KAFKA', value_format='JSON');
"""
RECORDS = (
    "key binary, value binary, partition int, offset bigint, timestamp timestamp, "
    "headers array<struct<key:string,value:binary>>"
)
TIME = datetime.datetime(2024, 1, 2, 3, 4, 5, 678901, UTC)


def records(spark, *rows):
    """Make a frame of records: key, value and headers."""
    data = [
        (key, value, 0, offset, TIME, [(name, content) for name, content in headers] or None)
        for offset, (key, value, headers) in enumerate(rows)
    ]
    return spark.createDataFrame(data, RECORDS).coalesce(1).sort("offset")


def key(number):
    return number.to_bytes(8, "big")


def collected(frame):
    return [row.asDict(recursive=True) for row in frame.collect()]


def test_columns_of_a_stream(spark):
    frame = records(
        spark,
        (key(7), b'{"Customer":"Ada","TOTAL":1.5,"PAID":1700000000123}', [("trace", b"a"), ("trace", b"b")]),
        (None, None, []),
    )
    found = select_ksql(frame, STREAM)
    assert found.columns == [
        "ID", "Customer", "TOTAL", "PAID", "TRACE", "URL", "ROWTIME", "ROWPARTITION", "ROWOFFSET",
    ]  # fmt: skip
    assert [kind for _, kind in found.dtypes] == [
        "bigint", "string", "decimal(10,2)", "timestamp", "binary", "string", "bigint", "int", "bigint",
    ]  # fmt: skip
    first, second = collected(found.drop("PAID"))
    assert (first["ID"], first["Customer"], str(first["TOTAL"]), first["TRACE"]) == (7, "Ada", "1.50", b"b")
    assert first["ROWTIME"] == 1704164645678
    times = select_ksql(frame, STREAM, row_time="timestamp").selectExpr("unix_millis(ROWTIME)")
    assert times.first()[0] == 1704164645678
    assert second == {
        **dict.fromkeys(first), "ROWTIME": 1704164645678, "ROWPARTITION": 0, "ROWOFFSET": 1,
    }  # fmt: skip


def test_all_headers_and_no_keys(spark):
    statement = """CREATE STREAM s (v INT, hs ARRAY<STRUCT<key STRING, value BYTES>> HEADERS)
        WITH (kafka_topic='s', value_format='JSON');"""
    frame = records(spark, (b"anything", b'{"V":1}', [("a", b"1"), ("b", None)]), (None, b'{"V":2}', []))
    rows = collected(select_ksql(frame, statement).select("V", "HS"))
    assert rows == [
        {"V": 1, "HS": [{"KEY": "a", "VALUE": b"1"}, {"KEY": "b", "VALUE": None}]},
        {"V": 2, "HS": []},
    ]


@pytest.mark.parametrize(
    ("kind", "more", "text", "time"),
    [
        ("BIGINT", "", "5", 5),
        ("TIMESTAMP", "", "-1", -1),
        ("STRING", ", timestamp_format='yyyy-MM-dd HH:mm'", '"2024-01-02 03:04"', 1704161040000),
    ],
)
def test_time_of_a_column(spark, kind, more, text, time):
    statement = (
        f"CREATE STREAM s (ts {kind}) WITH (kafka_topic='s', value_format='JSON', timestamp='ts'{more});"
    )
    frame = records(spark, (None, b'{"TS":%s}' % text.encode(), []), (None, None, []))
    found = select_ksql(frame, statement, timezone="Europe/Paris")
    assert [row["ROWTIME"] for row in collected(found)] == [time, None]


def test_bad_rows(spark):
    statement = """CREATE STREAM s (k INT KEY, v INT, ts STRING)
        WITH (kafka_topic='s', format='JSON', timestamp='ts', timestamp_format='yyyy');"""
    rows = [
        (b"1", b'{"V":1,"TS":"2024"}', []),
        (b"x", b'{"V":2}', []),
        (b"3", b"{", []),
        (b"4", b'{"TS":"x"}', []),
    ]
    frame = records(spark, *rows)
    with pytest.raises(PythonException, match="json_syntax"):
        select_ksql(frame.limit(2), statement).collect()
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "bad"}
    found = collected(select_ksql(frame, statement, options=options))
    assert [(row["K"], row["V"], row["ROWTIME"]) for row in found] == [
        (1, 1, 1704067200000), (None, 2, None), (3, None, None), (4, None, None),
    ]  # fmt: skip
    assert [row["bad"] and (row["bad"]["code"], row["bad"]["bytes"]) for row in found] == [
        None, ("json_syntax", b"x"), ("truncated", b"{"), None,
    ]  # fmt: skip


def test_dead_letters_of_bad_rows(spark):
    """The bytes of keys are not taken for those of values."""
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "bad"}
    frame = records(spark, (b"x", b'{"V":2}', []), (b"3", b"{", []))
    keyed = "CREATE STREAM s (k INT KEY, v INT) WITH (kafka_topic='s', format='JSON');"
    found = select_ksql(frame, keyed, options=options)
    with pytest.raises(ConfigError, match=r"bad has the bytes of keys and of values, .* with from_ksql"):
        dead_letters(found, "bad")
    with pytest.raises(ConfigError, match="with from_ksql"):
        dead_letters(found.where("K is null").select("bad", "K"), "bad")
    alone = select_ksql(frame, keyed.replace("k INT KEY, ", ""), options=options)
    assert [row.value for row in dead_letters(alone, "bad").collect()] == [b"{"]
    read = frame.select("*", from_ksql("value", "JSON", "v INT", options=options).alias("r"))
    assert [(row.key, row.value) for row in dead_letters(read, "bad").collect()] == [(b"3", b"{")]


def test_windows(spark):
    statement = """CREATE TABLE t (k STRING PRIMARY KEY, n BIGINT)
        WITH (kafka_topic='t', value_format='JSON', window_type='Hopping', window_size='10 seconds');"""
    found = select_ksql(records(spark, (b"a" + key(60000), b'{"N":1}', [])), statement).drop("ROWTIME")
    assert collected(found) == [
        {"K": "a", "WINDOWSTART": 60000, "WINDOWEND": 70000, "N": 1, "ROWPARTITION": 0, "ROWOFFSET": 0}
    ]


def test_registry(spark, tmp_path):
    import kcodec

    url = f"sqlite:///{tmp_path}/schemas.db"
    statement = "CREATE STREAM s (k INT KEY, v STRING) WITH (kafka_topic='s', format='AVRO');"
    with pytest.raises(ConfigError, match="registry= is missing"):
        select_ksql(records(spark), statement)
    written = kcodec.ksql.Records(statement, registry=url).write(kcodec_table())
    rows = [(row["key"], row["value"], []) for row in written.to_pylist()]
    # Columns come from the registry.
    bare = "CREATE STREAM s WITH (kafka_topic='s', format='AVRO');"
    found = select_ksql(records(spark, *rows), bare, registry=url)
    assert collected(found.select("ROWKEY", "V")) == [{"ROWKEY": 1, "V": "one"}, {"ROWKEY": 2, "V": None}]


def kcodec_table():
    import pyarrow as pa

    return pa.table({"k": [1, 2], "v": ["one", None]})


def payloads(frame, statement, **options):
    found, codecs = _codecs(statement, None, None, options, None, None)
    return frame.select(*_payloads(found, codecs, _written_names(frame.columns, found, codecs)))


def test_payloads(spark):
    frame = spark.createDataFrame([(7, "Ada")], "id bigint, Customer string")
    [row] = payloads(frame, STREAM).collect()
    assert row["key"] == key(7)
    assert row["value"] == b'{"Customer":"Ada","TOTAL":null,"PAID":null,"URL":null}'
    [row] = payloads(frame.select("id"), STREAM).collect()
    assert (row["key"], row["value"]) == (key(7), b'{"Customer":null,"TOTAL":null,"PAID":null,"URL":null}')


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("id bigint, rowtime bigint", "ROWTIME: Spark's sinks do not write"),
        ("rowoffset bigint", "Inserting into column `ROWOFFSET` is not allowed"),
        ("trace binary", "Cannot insert into HEADER columns: TRACE"),
        ("totl double", "Column name `totl` does not exist: did you mean 'TOTAL'"),
        ("total double, TOTAL_ double", "Column name `TOTAL_` does not exist"),
    ],
)
def test_columns_that_are_not_written(spark, columns, message):
    with pytest.raises(SchemaError, match=message):
        payloads(spark.createDataFrame([], columns), STREAM)


def test_options(spark):
    frame = records(spark)
    with pytest.raises(ConfigError, match="unknown option 'startingOffsets'"):
        select_ksql(frame, STREAM, options={"startingOffsets": "earliest"})
    with pytest.raises(ConfigError, match="a setting of a registry without its address"):
        select_ksql(frame, STREAM, options={"confluent.schema.registry.timeout": "5"})
    with pytest.raises(ConfigError, match="the records have no offset, headers: headers need"):
        select_ksql(frame.drop("headers", "offset"), STREAM)
    with pytest.raises(ConfigError, match="timezone: 'Mars' is not a time zone"):
        select_ksql(frame, STREAM, timezone="Mars")


def test_options_of_sources(classic):
    place = {"kafka.bootstrap.servers": "127.0.0.1:1"}
    for options, message in (
        ({**place, "Subscribe": "other"}, "the statement says which topic is read"),
        ({**place, "startingOfsets": "latest"}, "(?i)unknown option .startingOfsets"),
    ):
        with pytest.raises(Exception, match=message):
            read_ksql(classic, STREAM, options=options)
    with pytest.raises(ConfigError, match="are both given"):
        read_ksql(classic, STREAM, servers="127.0.0.1:1", options=place)
    frame = classic.createDataFrame([(1,)], "id bigint")
    with pytest.raises(ConfigError, match="the statement says which topic is written"):
        write_ksql(frame, STREAM, options={**place, "topic": "other"})
    with pytest.raises(ConfigError, match="mode: a row that cannot be written fails its task"):
        write_ksql(frame, STREAM, options={**place, "mode": "PERMISSIVE"})
    with pytest.raises(SchemaError, match="Cannot insert values into read-only stream: ORDERS"):
        write_ksql(frame, STREAM.replace("CREATE", "CREATE SOURCE"), options=place)
    with pytest.raises(SchemaError, match=r"primary key column\(s\) ID is required"):
        write_ksql(
            frame.selectExpr("id AS n"),
            "CREATE TABLE t (id INT PRIMARY KEY, n BIGINT) WITH (kafka_topic='t', value_format='JSON');",
            options=place,
        )


def test_names_that_spark_would_take_apart(spark):
    statement = (
        "CREATE STREAM s (`a.b` INT, `c``d` STRUCT<`e.f` INT>) WITH (kafka_topic='s', value_format='JSON');"
    )
    frame = records(spark, (None, b'{"a.b":1,"c`d":{"e.f":2}}', []))
    found = select_ksql(frame, statement)
    assert found.columns[:2] == ["a.b", "c`d"]
    assert collected(found)[0]["c`d"] == {"e.f": 2}
    # As they were read: where that was is left out.
    [row] = payloads(found, statement).collect()
    assert row["value"] == b'{"a.b":1,"c`d":{"e.f":2}}'
