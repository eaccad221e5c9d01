"""Rows of bytes: the last ones of a column are read as those in the midst of a large one are."""

import pyarrow as pa
import pytest
from cases import cases

import kcodec
from kcodec.registry.memory import MemoryRegistry

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
    rows = [{"a": 3 ** (at % 39), "b": text, "c": [at / 2] * (at % 4)} for at, text in enumerate(texts)]
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


def same_with_nulls(read, rows):
    """Read rows whose nulls are left out, and the same in other layouts, over bytes, and where the nulls stay."""
    values = pa.array(rows, pa.binary())
    column, report = read(values)
    assert column.null_count >= values.null_count
    column.validate(full=True)
    few = pa.chunked_array([values.slice(at, 100) for at in range(0, len(rows), 100)])
    pieces, found = read(few)
    assert (pieces.combine_chunks(), found) == (column, report)
    for kind in (pa.large_binary(), pa.binary_view()):
        assert read(values.cast(kind)) == (column, report)
    covered = pa.array([b"beneath" if row is None else row for row in rows], pa.binary())
    validity = pa.array([row is not None for row in rows]).buffers()[1]
    over = pa.Array.from_buffers(pa.binary(), len(rows), [validity, *covered.buffers()[1:]])
    assert over.equals(values)
    assert read(over) == (column, report)
    behind = pa.concat_arrays(
        [pa.array([None, b"?", b"?"], pa.binary()), values, pa.array([b"?"], pa.binary())]
    )
    assert read(behind.slice(3, len(rows))) == (column, report)


@pytest.mark.parametrize("every", [1, 2, 3, 50])
def test_null_rows_among_many(codec, every):
    """Columns that begin and end with them or not, with rows that fail between."""
    rows = payloads(codec, ["é" * (at % 9) for at in range(700)])
    rows[::every] = [None] * len(rows[::every])
    rows[200:220] = [None if row is None else row[:-1] for row in rows[200:220]]

    def read(values):
        return codec.decode(values, errors="report")

    same_with_nulls(read, rows)
    same_with_nulls(read, rows[1:])
    same_with_nulls(read, [*rows, None])


@pytest.mark.parametrize("told", [1, 99, 101])
def test_null_rows_that_are_miscounted(codec, told):
    rows = pa.array([None, *payloads(codec, "ab")] * 100, pa.binary())
    miscounted = pa.Array.from_buffers(rows.type, len(rows), rows.buffers(), told)
    assert codec.decode(miscounted).to_pylist() == codec.decode(rows).to_pylist()


@pytest.mark.parametrize("format", ["AVRO", "PROTOBUF", "JSON_SR"])
def test_null_rows_among_several_schema_ids(impl, format):
    registry = MemoryRegistry()
    framed = []
    for added in ([], [("d", pa.string())]):
        schema = kcodec.schema_of(pa.schema([*SCHEMA, *added]), format, name="Row")
        serde = kcodec.Serde(format, registry, topic=f"orders{len(added)}", schema=schema)
        rows = [{"a": at, "b": "é" * (at % 9), "c": [0.5] * (at % 4)} for at in range(300)]
        framed.append(serde.serialize(pa.array(rows, TYPE)).to_pylist())
    rows = [row for both in zip(*framed, strict=True) for row in both]
    rows[::3] = [None] * 200
    rows[7::40] = [row and row[: 1 + at % 8] for at, row in enumerate(rows[7::40])]
    serde = kcodec.Serde(
        format, registry, topic="orders0", schema=kcodec.schema_of(SCHEMA, format, name="Row")
    )
    same_with_nulls(lambda values: serde.deserialize(values, errors="report"), rows)
