"""The index of a union is an int: five bytes at most, whatever the union and however it is read."""

import pyarrow as pa
from cases import cases

import kcodec

#: The index 1 with the number of bytes that each has.
LONG = {size: bytes([0x82, *[0x80] * (size - 2), 0x00]) for size in range(2, 12)}
WIDE = ["null", "int", "string"]
SCHEMAS = {
    "nullable": ["null", "int"],
    "wide": WIDE,
    "nullable field": {"type": "record", "name": "R", "fields": [{"name": "x", "type": ["null", "int"]}]},
    "wide field": {"type": "record", "name": "R", "fields": [{"name": "x", "type": WIDE}]},
    "items": {"type": "array", "items": ["null", "int"]},
}
NOTHING = {"type": "record", "name": "R", "fields": [{"name": "y", "type": "int", "default": 0}]}


def payload(name: str, index: bytes) -> bytes:
    return b"\x02" + index + b"\x02\x00" if name == "items" else index + b"\x02"


@cases("name", SCHEMAS)
@cases("skipped", [False, True])
def test_more_than_five_bytes_are_too_long(impl, name, skipped):
    schema = SCHEMAS[name]
    if skipped:
        field = schema["fields"][0]["type"] if "fields" in name or "field" in name else schema
        schema = {"type": "record", "name": "R", "fields": [{"name": "x", "type": field}]}
    codec = kcodec.AvroCodec(schema, NOTHING if skipped else None)
    plain = payload(name, b"\x02")
    for size, index in LONG.items():
        # Enough rows, with memory behind them, to be read as a block.
        values = pa.array([plain] * 50 + [payload(name, index)] + [plain] * 50)
        decoded, report = codec.decode(values, errors="report")
        if size <= 5:
            assert report.num_rows == 0, size
            assert decoded[50] == decoded[0]
        else:
            assert report["code"].to_pylist() == ["varint_overlong"], size
            assert report["row"].to_pylist() == [50]
            assert report["offset"].to_pylist() == [1 if name == "items" else 0]
            assert decoded.null_count == 1


def test_bits_beyond_an_int_are_an_overflow(impl):
    codec = kcodec.AvroCodec(WIDE)
    report = codec.decode([bytes.fromhex("828080801002")], errors="report")[1]
    assert report["code"].to_pylist() == ["varint_overflow"]
