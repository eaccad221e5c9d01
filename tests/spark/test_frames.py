"""Whole DataFrames, decoded and encoded."""

import pyarrow as pa
import pytest

from kcodec import AvroCodec, JsonCodec
from kcodec_spark import decode, encode, from_avro


def test_types_that_spark_has_under_others(spark):
    """Spark takes what comes in this way as it is, and reads no arrays but of its own types."""
    kind = pa.struct(
        [
            ("large", pa.large_list(pa.large_string())),
            ("three", pa.list_(pa.uint16())),
            ("at", pa.list_(pa.timestamp("ms", "UTC"))),
            ("scores", pa.map_(pa.string(), pa.large_list(pa.int8()))),
        ]
    )
    text = b'{"large":["a",null],"three":[1,2,65535],"at":["2026-01-31T12:00:00Z"],"scores":{"x":[1]}}'
    frame = spark.createDataFrame([(text,), (None,)], "value binary")
    decoded = decode(frame, {"row": ("value", JsonCodec(kind))})
    assert decoded.schema["row"].dataType.simpleString() == (
        "struct<large:array<string>,three:array<int>,at:array<timestamp>,scores:map<string,array<tinyint>>>"
    )
    first, second = decoded.collect()
    assert (first.row.large, first.row.three, first.row.scores) == (["a", None], [1, 2, 65535], {"x": [1]})
    assert (len(first.row.at), second.row) == (1, None)
    again = encode(decoded.select("row.large", "value"), {"text": ("large", JsonCodec("ARRAY<STRING>"))})
    assert [row.text for row in again.collect()] == [b'["a",null]', None]


INNER = {
    "type": "record",
    "name": "I",
    "fields": [{"name": "at", "type": {"type": "int", "logicalType": "time-millis"}}],
}
OUTER = {
    "type": "record",
    "name": "R",
    "fields": [
        {"name": "inner", "type": ["null", INNER]},
        {"name": "text", "type": "string"},
        {"name": "by", "type": {"type": "map", "values": "string"}},
    ],
}


@pytest.mark.parametrize("wide", ["true", "false"])
def test_offsets_as_wide_as_sparks(spark, wide):
    """Arrow's cast, which Spark would do, refuses fields that are never null in records that are."""
    rows = [{"inner": None, "text": "a", "by": {"k": "v"}}, {"inner": {"at": 5}, "text": "b", "by": {}}, None]
    small, large = AvroCodec(OUTER), AvroCodec(OUTER, large=True)
    frame = spark.createDataFrame(pa.table({"value": small.encode(rows)}))
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", wide)
    try:
        for codec in (small, large):
            for decoded in (
                frame.select(from_avro("value", codec).alias("row")),
                decode(frame, {"row": ("value", codec)}, keep=[]),
            ):
                found = [row and row.asDict(recursive=True) for (row,) in decoded.collect()]
                assert found == rows
    finally:
        spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "false")


def test_columns_of_any_name(spark):
    """Spark itself gives no columns with such names to functions of batches."""
    codec = AvroCodec('"long"')
    frame = spark.createDataFrame(pa.table({"a.b": [1], "c `d` E": [b"\x02"], "value": [b"\x04"]}))
    decoded = decode(frame, {"f.g": ("C `d` e", codec), "h": ("value", codec)}, keep=["a.b", "value"])
    assert decoded.columns == ["a.b", "value", "f.g", "h"]
    assert decoded.collect() == [(1, b"\x04", 1, 2)]
    assert encode(decoded, {"i j": ("f.g", codec)}, keep=["A.b"]).collect() == [(1, b"\x02")]
