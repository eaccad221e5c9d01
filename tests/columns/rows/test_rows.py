"""Rows of bytes: the last ones of a column are read as those in the midst of a large one are."""

import pyarrow as pa
import pytest
from cases import cases

import kcodec

TYPE = pa.struct([("a", pa.int64()), ("b", pa.string()), ("c", pa.list_(pa.float32()))])
SCHEMA = pa.schema(list(TYPE))
BINARY = [pa.binary(), pa.large_binary(), pa.binary_view()]


@pytest.fixture(params=["avro", "protobuf", "json"])
def codec(request, impl):
    if request.param == "json":
        return kcodec.JsonCodec(TYPE)
    if request.param == "avro":
        return kcodec.AvroCodec(kcodec.schema_of(SCHEMA, name="Row"))
    return kcodec.ProtobufCodec(kcodec.schema_of(SCHEMA, "PROTOBUF", name="Row"), "Row")


def payloads(codec, texts):
    rows = [{"a": 3**at, "b": text, "c": [at / 2] * (at % 4)} for at, text in enumerate(texts)]
    return codec.encode(pa.array(rows, TYPE)).to_pylist()


@cases("kind", BINARY, ids=str)
@cases("largest", [0, 20, 70, 9000])
def test_the_last_rows_of_a_column(codec, kind, largest):
    """Whole ones, cut ones, one of no bytes and a null; the last as large as what is moved, and larger."""
    found = payloads(codec, ["x" * (at % 9) for at in range(38)] + ["y" * largest] * 2)
    rows = [*found[:30], b"", found[30][:-1], None, *found[31:], found[-1][:-2], found[-1]]
    alone = codec.decode(pa.array(rows, kind), errors="report")
    amid = codec.decode(pa.array([*rows, b"?" * 100], kind).slice(0, len(rows)), errors="report")
    assert alone == amid
    whole = codec.decode(pa.array(found, kind))
    assert whole.equals(codec.decode(pa.array([*found, b"?" * 100], kind).slice(0, len(found))))


def test_rows_of_a_width_and_of_no_bytes(codec):
    """A column of equal width; one without a byte."""
    (row, _) = payloads(codec, ["abc", ""])
    values = pa.array([row] * 20, pa.binary(len(row)))
    assert codec.decode(values).to_pylist() == codec.decode(values.cast(pa.binary())).to_pylist()
    assert codec.decode(pa.array([b""] * 600), errors="null") == codec.decode(
        pa.array([b""] * 600 + [b"?" * 100]).slice(0, 600), errors="null"
    )
