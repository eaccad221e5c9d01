"""Arguments of another type than they should have: errors that name them."""

import pyarrow as pa
import pytest

import kcodec

_PROTOBUF = 'syntax = "proto3"; message P { int32 x = 1; }'


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: kcodec.ConnectJsonCodec(precision="9"), "precision='9' is not within 1 and 76"),
        (lambda: kcodec.ConnectJsonCodec(precision=9.5), "precision=9.5 is not within 1 and 76"),
        (lambda: kcodec.JsonSchemaCodec({}, fields=[1]), r"fields=\[1\] is not a list of one name or more"),
        (lambda: kcodec.JsonSchemaCodec({}, fields=5), "fields=5 is not a list of one name or more"),
        (lambda: kcodec.JsonSchemaCodec({}, "item.json"), "references='item.json' is not a mapping"),
        (lambda: kcodec.KsqlCodec("JSON", "A INT", properties="x"), "properties='x' is not a mapping"),
        (lambda: kcodec.ProtobufCodec(_PROTOBUF, 5), "message=5 is not a name, nor a list of indexes"),
        (lambda: kcodec.JsonCodec.infer([b"1"], sample="1"), "sample='1' is not a number of at least 1"),
        (lambda: kcodec.JsonCodec.infer([b"1"], sample=0), "sample=0 is not a number of at least 1"),
    ],
)
def test_they_are_refused(make, message):
    with pytest.raises(kcodec.ConfigError, match=message):
        make()


def test_single_messages_are_bytes():
    codec = kcodec.ProtobufCodec(_PROTOBUF)
    for data in (5, "text", None):
        with pytest.raises(TypeError, match="bytes-like"):
            codec.to_json(data)
    with pytest.raises(TypeError, match="bytes-like"):
        codec.from_json(5)
    assert codec.to_json(pa.py_buffer(b"\x08\x07")) == codec.to_json(bytearray(b"\x08\x07")) == '{"x":7}'
    assert codec.from_json(memoryview(b'{"x":7}')) == b"\x08\x07"
