"""Rows of many megabytes and columns of more than 2 GiB, in every format."""

import json
import mmap
import re
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
from cases import cases

from kcodec import (
    AvroCodec,
    CapacityError,
    ConnectJsonCodec,
    ConnectSchema,
    DecimalCodec,
    JsonCodec,
    JsonSchemaCodec,
    KsqlCodec,
    MessageCodec,
    ProtobufCodec,
    Serde,
)
from kcodec.columns.arrays import given
from kcodec.columns.arrays import values as array_values
from kcodec.protocol import load

SIZE = 20_000_000
TEXT = "x" * SIZE
NUMBERS = list(range(500_000))

MESSAGE = {
    "type": "data",
    "name": "M",
    "validVersions": "0",
    "flexibleVersions": "0+",
    "fields": [
        {"name": "a", "type": "bytes", "versions": "0+"},
        {"name": "b", "type": "[]int64", "versions": "0+"},
    ],
}


def record(a: str, b: str) -> str:
    fields = [{"name": "a", "type": a}, {"name": "b", "type": {"type": "array", "items": b}}]
    return json.dumps({"type": "record", "name": "R", "fields": fields})


COLUMNS = pa.struct([("a", pa.string()), ("b", pa.list_(pa.int64()))])
ROWS = {
    "AVRO": (lambda: AvroCodec(record("string", "long")), {"a": TEXT, "b": NUMBERS}),
    "JSON": (lambda: JsonCodec(COLUMNS), {"a": '"\\\u0001é' * (SIZE // 5), "b": NUMBERS}),
    "JSON_SR": (
        lambda: JsonSchemaCodec({"type": "object", "properties": {"a": {"type": "string"}}}),
        {"a": TEXT},
    ),
    "PROTOBUF": (
        lambda: ProtobufCodec('syntax="proto3"; message M { string a = 1; repeated int64 b = 2; }'),
        {"a": TEXT, "b": NUMBERS},
    ),
    "CONNECT_JSON": (
        lambda: ConnectJsonCodec(
            ConnectSchema.from_json({"type": "struct", "fields": [{"field": "a", "type": "string"}]})
        ),
        {"a": TEXT},
    ),
    "KSQL JSON": (lambda: KsqlCodec("JSON", "A STRING, B ARRAY<BIGINT>"), {"A": TEXT, "B": NUMBERS}),
    "KSQL JSON, compat": (lambda: KsqlCodec("JSON", "A STRING", compat="ksqldb"), {"A": TEXT}),
    "DELIMITED": (lambda: KsqlCodec("DELIMITED", "A STRING, B INT"), {"A": TEXT + '",\n', "B": 7}),
    "KAFKA": (lambda: KsqlCodec("KAFKA", "A STRING"), {"A": TEXT}),
    "MESSAGE": (
        lambda: MessageCodec(load([json.dumps(MESSAGE)])["M"], 0),
        {"a": TEXT.encode(), "b": NUMBERS},
    ),
}


@cases("format", ROWS)
def test_a_row_of_many_megabytes(format):
    make, row = ROWS[format]
    codec = make()
    column = pa.array([row, None], codec.arrow_type)
    payloads = codec.encode(column)
    assert len(payloads[0].as_buffer()) >= SIZE
    assert codec.decode(payloads).equals(column)
    # What is cut costs its row, and no more than that; a shorter text is a text, and the last column may be missing.
    cut = pa.array([payloads[0].as_py()[:-1], payloads[0].as_py()])
    found, report = codec.decode(cut, errors="report")
    if format not in ("KAFKA", "DELIMITED"):
        assert report["row"].to_pylist() == [0]
    assert found[1].as_py() == column[0].as_py()


def untouched(*sizes: int, kind: pa.DataType | None = None) -> pa.Array:
    """Return payloads of zeros whose memory is not there until it is read."""
    ends = [sum(sizes[:count]) for count in range(len(sizes) + 1)]
    offsets = pa.array(ends, pa.int64()).buffers()[1]
    data = pa.py_buffer(mmap.mmap(-1, ends[-1]))
    return pa.Array.from_buffers(kind or pa.large_binary(), len(sizes), [None, offsets, data])


@pytest.mark.parametrize(
    "codec",
    [
        KsqlCodec("KAFKA", "A STRING"),
        KsqlCodec("KAFKA", "A BYTES"),
        DecimalCodec(2, 9),
    ],
    ids=str,
)
def test_what_32_bits_do_not_address_is_refused_before_it_is_read(codec):
    with pytest.raises(CapacityError, match="more than 2 GiB in one call"):
        codec.decode(untouched(1 << 30, 1 << 30, 1))


def test_a_slice_that_stands_behind_2_gib():
    column = untouched(1 << 31, 3, kind=pa.large_string()).slice(1)
    assert JsonCodec(pa.string()).encode(column).to_pylist() == [b'"\\u0000\\u0000\\u0000"']
    row = pa.StructArray.from_arrays([column], ["A"])
    assert KsqlCodec("KAFKA", "A STRING").encode(row).to_pylist() == [b"\0\0\0"]


def beyond(payload: bytes | str, rows: int) -> pa.Array:
    """Return a column that has the same payload in each row, and in memory once."""
    kind = pa.string_view() if isinstance(payload, str) else pa.binary_view()
    _, views, *data = pa.array([payload], kind).buffers()
    return pa.Array.from_buffers(kind, rows, [None, pa.py_buffer(views.to_pybytes() * rows), *data])


def has_memory(needed: int) -> bool:
    """Return whether Linux tells of so many bytes that nobody uses; elsewhere nobody tells."""
    told = Path("/proc/meminfo")
    found = re.search(r"MemAvailable:\s+(\d+)", told.read_text()) if told.exists() else None
    return found is not None and int(found[1]) << 10 > needed


PIECE = "x" * 8_000_000
WIDE = {
    "AVRO": lambda large: AvroCodec('"string"', large=large),
    "JSON_SR": lambda large: JsonSchemaCodec({"type": "string"}, large=large),
    "PROTOBUF": lambda large: ProtobufCodec('syntax="proto3"; message M { string a = 1; }', large=large),
    "KAFKA": lambda large: KsqlCodec("KAFKA", "A STRING", large=large),
    "DELIMITED": lambda large: KsqlCodec("DELIMITED", "A STRING", large=large),
}


@pytest.mark.large
@pytest.mark.skipif(not has_memory(10 << 30), reason="10 GiB of free memory are needed")
@pytest.mark.parametrize("format", WIDE)
def test_columns_beyond_2_gib(format):
    narrow, wide = WIDE[format](False), WIDE[format](True)
    row = PIECE if pa.types.is_string(narrow.arrow_type) else {narrow.arrow_type.field(0).name: PIECE}
    column = beyond(narrow.encode(pa.array([row], narrow.arrow_type))[0].as_py(), 300)
    with pytest.raises(CapacityError, match="2 GiB"):
        narrow.decode(column)
    # Each chunk is a call of its own.
    decoded = narrow.decode(pa.chunked_array([column[:150], column[150:]]))
    assert decoded.chunk(1)[149].as_py() == row
    del decoded
    decoded = wide.decode(column)
    assert decoded.nbytes > 1 << 31
    assert decoded[299].as_py() == row
    encoded = wide.encode(decoded)
    assert encoded.type == pa.large_binary()
    assert encoded[299].as_py() == column[299].as_py()
    with pytest.raises(CapacityError, match="2 GiB"):
        narrow.encode(decoded)


@pytest.mark.large
@pytest.mark.skipif(not has_memory(10 << 30), reason="10 GiB of free memory are needed")
@pytest.mark.parametrize("layout", ["view", "dictionary", "runs"])
def test_columns_beyond_2_gib_that_are_cast(layout):
    column = {
        "view": lambda: beyond(PIECE, 300),
        "dictionary": lambda: pa.DictionaryArray.from_arrays(pa.array([0] * 300, pa.int8()), [PIECE]),
        "runs": lambda: pa.RunEndEncodedArray.from_arrays(pa.array([300], pa.int32()), [PIECE]),
    }[layout]()
    row = pa.StructArray.from_arrays([column], ["A"])
    for codec in (JsonCodec(pa.string()), AvroCodec('"string"')):
        with pytest.raises(CapacityError, match="more than 2 GiB"):
            codec.encode(column)
    for format in ("KAFKA", "DELIMITED", "JSON"):
        with pytest.raises(CapacityError, match="more than 2 GiB"):
            KsqlCodec(format, "A STRING").encode(row)


@pytest.mark.large
@pytest.mark.skipif(not has_memory(10 << 30), reason="10 GiB of free memory are needed")
def test_text_that_could_take_more_than_2_gib_and_does_not():
    """Escaped, each character would take six bytes."""
    column = beyond("x" * 6_000_000, 64)
    assert JsonCodec(pa.string()).encode(column)[63].as_buffer().size == 6_000_002
    row = pa.StructArray.from_arrays([beyond(TEXT, 40)], ["A"])
    assert KsqlCodec("DELIMITED", "A STRING").encode(row)[39].as_buffer().size == SIZE


@pytest.mark.large
@pytest.mark.skipif(not has_memory(10 << 30), reason="10 GiB of free memory are needed")
def test_frames_take_a_column_of_bytes_beyond_2_gib():
    serde = Serde("AVRO", "memory://large-bytes", topic="t", schema='"bytes"')
    column = beyond(b"x" * ((1 << 31) // 300), 300)
    with pytest.raises(CapacityError, match="rows are too many"):
        serde.serialize(column)
    with pytest.raises(CapacityError, match="2 GiB"):
        serde.deserialize(beyond(serde.serialize(column[:1])[0].as_py(), 300))


def test_a_list_that_no_array_holds(impl, monkeypatch):
    """Arrow gives it in chunks, and so does whoever reads or writes it."""

    def in_chunks(values, kind=None, **options):
        whole = pa.array(values, kind, **options)
        return (
            pa.chunked_array([whole[:2], whole[2:]])
            if isinstance(values, list) and len(values) > 2
            else whole
        )

    module = SimpleNamespace(**vars(pa))
    module.array = in_chunks
    monkeypatch.setattr(given, "pa", module)
    monkeypatch.setattr(array_values, "pa", module)
    monkeypatch.setattr(given, "kernel", lambda _: SimpleNamespace(binary_array=lambda *_, **__: None))
    codec = AvroCodec('"string"')
    serde = Serde("AVRO", "memory://long-lists", topic="t", schema='"string"')
    for encode, decode in ((codec.encode, codec.decode), (serde.serialize, serde.deserialize)):
        encoded = encode(["a", "b", None, "d"])
        assert encoded.num_chunks == 2
        assert encode(["a", "b", None, "d"], as_list=True) == encoded.to_pylist()
        decoded = decode([*encoded.to_pylist(), b"\2"], errors="report")
        assert (decoded[0].num_chunks, decoded[0].to_pylist()) == (2, ["a", "b", None, "d", None])
        assert decoded[1]["row"].to_pylist() == [4]
    with pytest.raises(TypeError, match="row 3 of the list does not fit"):
        codec.encode(["a", "b", None, 5])
    document = ["{}", None, "[1]", "5"]
    assert JsonCodec(pa.int64()).decode(document, errors="null").to_pylist() == [None, None, None, 5]


@pytest.mark.large
@pytest.mark.skipif(not has_memory(10 << 30), reason="10 GiB of free memory are needed")
def test_lists_beyond_2_gib(impl):
    """The list holds one object several times."""
    codec = AvroCodec('"bytes"')
    payload = codec.encode([b"x" * 300_000_000], as_list=True)[0]
    decoded = codec.decode([payload] * 8)
    assert decoded.nbytes > 1 << 31
    assert [len(decoded[row].as_buffer()) for row in range(8)] == [300_000_000] * 8
    text = "x" * 300_000_000
    encoded = AvroCodec(record("string", "long")).encode([{"a": text, "b": [1]}] * 8)
    assert (len(encoded), encoded.nbytes > 1 << 31) == (8, True)
