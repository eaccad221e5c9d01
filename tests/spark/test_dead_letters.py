"""Messages that could not be read, as those of a topic for them."""

import pytest
from pyspark.sql import functions as F

from kcodec import ConfigError
from kcodec_spark import dead_letters, from_avro, to_avro

SCHEMA = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}]}
OPTIONS = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_error"}
SOURCE = """key binary, value binary, topic string, partition int, offset long,
    headers array<struct<key: string, value: binary>>"""


def messages(spark):
    rows = [
        (b"a", b"\x02", "orders", 3, 70, None),
        (b"b", b"\x80", "orders", 3, 71, None),
        (None, b"\x02\x02", "orders", 4, 7, [("trace", b"1")]),
        (b"c", None, "orders", 4, 8, None),
    ]
    return spark.createDataFrame(rows, SOURCE).coalesce(1)


def told(row):
    return {header.key: bytes(header.value) for header in row.headers}


@pytest.mark.parametrize("error", ["_error", "r._error"])
def test_letters_say_where_they_come_from_and_what_is_wrong(spark, error):
    decoded = messages(spark).select("*", from_avro("value", SCHEMA, OPTIONS).alias("r"))
    letters = dead_letters(decoded, error)
    assert letters.columns == ["key", "value", "headers"]
    first, second = letters.collect()
    assert (first.key, first.value) == (b"b", b"\x80")
    assert told(first) == {
        "error.code": b"truncated",
        "error.reason": b"the input ends inside this value",
        "error.path": b"id",
        "error.byte": told(first)["error.byte"],
        "error.topic": b"orders",
        "error.partition": b"3",
        "error.offset": b"71",
    }
    assert (second.key, second.value) == (None, b"\x02\x02")
    assert second.headers[0] == ("trace", b"1")
    assert told(second)["error.code"] == b"trailing_bytes"


def test_values_that_were_decoded_in_place(spark):
    """As `kcodec_kafka` gives them: the error has the bytes, and a decoded key is none that a sink takes."""
    decoded = messages(spark).withColumn("value", from_avro("value", SCHEMA, OPTIONS))
    letters = dead_letters(decoded)
    assert [(row.key, row.value) for row in letters.collect()] == [(b"b", b"\x80"), (None, b"\x02\x02")]
    assert told(letters.first())["error.offset"] == b"71"
    assert dead_letters(decoded.withColumn("key", F.struct("key"))).columns == ["value", "headers"]


def test_keys_that_were_decoded_in_place(spark):
    """Their bytes are those of the key, not of the value."""
    flags = {**SCHEMA, "fields": [{"name": "flag", "type": "boolean"}]}
    decoded = messages(spark).withColumn("key", from_avro("key", flags, OPTIONS))
    for error in ("_error", "key._error"):
        found = [(row.key, row.value) for row in dead_letters(decoded, error).collect()]
        assert found == [(b"a", b"\x02"), (b"b", b"\x80"), (b"c", None)]
    both = decoded.withColumn("value", from_avro("value", SCHEMA, OPTIONS))
    with pytest.raises(ConfigError, match=r"key\._error has the bytes of keys, .*: read value as bytes"):
        dead_letters(both, "key._error")
    assert [row.value for row in dead_letters(both, "value._error").collect()] == [b"\x80", b"\x02\x02"]


def test_as_many_columns_as_there_are(spark):
    decoded = messages(spark).select(from_avro("value", SCHEMA, OPTIONS).alias("r")).select("r.*")
    assert [row.value for row in dead_letters(decoded).collect()] == [b"\x80", b"\x02\x02"]
    assert dead_letters(decoded).columns == ["value", "headers"]
    written = spark.range(1).select(
        "id", to_avro(F.struct(F.lit("x").alias("id")), SCHEMA, options=OPTIONS).alias("w")
    )
    (row,) = dead_letters(written.select("id", "w.*")).collect()
    assert row.value is None
    assert told(row)["error.code"] == b"type_mismatch"


def test_fields_of_the_record_are_not_the_source(spark):
    fields = [
        {"name": name, "type": kind}
        for name, kind in (
            ("value", "string"), ("key", "bytes"), ("topic", "string"), ("offset", "long"),
            ("headers", {"type": "array", "items": "string"}),
        )
    ]  # fmt: skip
    read = from_avro("value", {**SCHEMA, "fields": fields}, OPTIONS).alias("r")
    letters = dead_letters(messages(spark).where("value is not null").select(read).select("r.*"))
    rows = letters.collect()
    assert [(row.key, bytes(row.value)) for row in rows] == [
        (None, b"\x02"), (None, b"\x80"), (None, b"\x02\x02"),
    ]  # fmt: skip
    assert not {"error.topic", "error.offset"} & told(rows[0]).keys()


@pytest.mark.parametrize("place", ["r.*", "r"])
def test_values_beside_keys_that_could_not_be_read(spark, place):
    flags = {**SCHEMA, "fields": [{"name": "flag", "type": "boolean"}]}
    read = from_avro("key", flags, OPTIONS).alias("r")
    letters = dead_letters(messages(spark).select("*", read).select("key", "value", "offset", place))
    found = [(row.key, row.value, told(row)["error.offset"]) for row in letters.collect()]
    assert found == [(b"a", b"\x02", b"70"), (b"b", b"\x80", b"71"), (b"c", None, b"8")]


def test_names_with_dots(spark):
    decoded = messages(spark).select(from_avro("value", SCHEMA, OPTIONS).alias("or.`der"))
    for error in ("_error", "or.`der._error"):
        assert [row.value for row in dead_letters(decoded, error).collect()] == [b"\x80", b"\x02\x02"]


def test_which_column_it_is_must_be_clear(spark):
    column = from_avro("value", SCHEMA, OPTIONS)
    frame = messages(spark).select(column.alias("a"), column.alias("b"))
    with pytest.raises(ConfigError, match=r"several error columns are called _error: a\._error, b\._error"):
        dead_letters(frame)
    with pytest.raises(ConfigError, match="there is no error column wrong: in mode PERMISSIVE, columnName"):
        dead_letters(frame, "wrong")
    with pytest.raises(TypeError, match="name of a column"):
        dead_letters(frame, F.col("a"))
