"""Whole DataFrames, decoded and encoded."""

import pyarrow as pa

from kcodec import JsonCodec
from kcodec_spark import decode, encode


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
