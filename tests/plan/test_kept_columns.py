"""Columns that are kept for the next call: they have room for what that one holds, whatever the last one held."""

import json

import pyarrow as pa
import pytest

from kcodec import AvroCodec, JsonCodec, Limits, ProtobufCodec

# So few bytes that columns ask for the room of each item.
LIMITS = Limits(max_expansion=1000)
LIST = {
    "type": "record",
    "name": "R",
    "fields": [{"name": "v", "type": {"type": "array", "items": ["null", "int"]}}],
}
MESSAGE = 'syntax = "proto3"; message R { repeated N v = 1; message N { optional int32 x = 1; } }'
CODECS = {
    "AVRO": (lambda: AvroCodec(json.dumps(LIST), limits=LIMITS), 5),
    "PROTOBUF": (lambda: ProtobufCodec(MESSAGE, "R", limits=LIMITS), {"x": 5}),
    "JSON": (lambda: JsonCodec(pa.struct([("v", pa.list_(pa.int32()))]), limits=LIMITS), 5),
}


# What was written past the end shows to the sanitizers, or to the allocator.
@pytest.mark.parametrize("format", CODECS)
def test_many_items_after_many_rows(impl, format):
    make, item = CODECS[format]
    codec = make()
    rows = codec.encode([{"v": [item]}] * 2000)
    items = codec.encode([{"v": [item] * 2000}])
    for _ in range(3):
        assert codec.decode(rows).field("v").value_lengths().unique().to_pylist() == [1]
        assert codec.decode(items).to_pylist() == [{"v": [item] * 2000}]
