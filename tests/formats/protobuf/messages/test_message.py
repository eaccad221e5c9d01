"""Single messages against protobuf-java: values, canonical bytes, refusals."""

import pytest
from cases import cases
from protobuf_vectors import ROWS, is_stricter, type_of, value_of

from kcodec.formats.protobuf.messages.message import Message, read_message, write_message
from kcodec.formats.protobuf.schema import ProtobufSchema
from kcodec.plan.failure import RowError

GOOD = [row for row in ROWS if "error" not in row["value"] and not is_stricter(row)]
BAD = [row for row in ROWS if "error" in row["value"] or is_stricter(row)]


def without_entries_unknown(value):
    """Maps without duplicates, and without the unknown fields of entries: what a generated class holds."""
    if isinstance(value, list):
        return [without_entries_unknown(each) for each in value]
    if not isinstance(value, dict):
        return value
    if "m" in value:
        entries = {str(entry[0]): without_entries_unknown(entry[:2]) for entry in value["m"]}
        return {"m": list(entries.values())}
    return {key: without_entries_unknown(each) for key, each in value.items()}


def expected(row):
    # A message of a oneof that another member replaced starts afresh: generated classes get that wrong.
    value = row["value"] if "encoded_generated" in row else row.get("generated", row["value"])
    return without_entries_unknown(value)


def test_counts():
    assert (len(GOOD), len(BAD)) == (255, 133)


@cases("row", GOOD, ids=lambda row: row["id"])
def test_values(row):
    message = read_message(type_of(row), bytes.fromhex(row["row"]))
    assert value_of(message) == expected(row)


@cases("row", GOOD, ids=lambda row: row["id"])
def test_bytes(row):
    message = read_message(type_of(row), bytes.fromhex(row["row"]))
    # Text that is not UTF-8 is kept as it is, as generated classes do.
    assert write_message(message).hex() == row.get("encoded", row["row"])


CODES = {
    "ended unexpectedly": {"truncated"},
    "malformed varint": {"varint_overlong"},
    "end-group tag": {"invalid_tag", "truncated"},
    "invalid tag (zero)": {"invalid_tag"},
    "invalid wire type": {"invalid_tag"},
    "invalid UTF-8": {"invalid_utf8"},
    "too many levels": {"depth_limit"},
    "negative size": {"negative_length"},
    "missing required": {"missing_required"},
}


@cases("row", BAD, ids=lambda row: row["id"])
def test_refusals(row):
    data = bytes.fromhex(row["row"])
    with pytest.raises(RowError) as caught:
        read_message(type_of(row), data)
    error = caught.value
    if is_stricter(row):
        assert error.code in ("varint_overlong", "varint_overflow")
        return
    reason = row["value"]["error"]
    codes = next(codes for part, codes in CODES.items() if part in reason)
    if "varint-10th-byte" in row["id"]:
        codes = codes | {"varint_overlong"}
    assert error.code in codes, (error.code, reason)
    if error.code == "missing_required":
        assert error.reason.endswith(reason.partition("fields: ")[2])
    else:
        assert 0 <= error.offset <= len(data)


SET = """
syntax = "proto2";
message Set { option message_set_wire_format = true; extensions 4 to max; }
message Item { extend Set { optional Item item = 100; } optional int32 a = 1; optional Set set = 2; }
message Holder { optional Set set = 1; extensions 10 to 20; }
extend Holder { repeated sint32 numbers = 10 [packed = true]; optional Item one = 11; }
"""


def test_extensions():
    holder = ProtobufSchema.parse(SET).message("Holder")
    data = bytes.fromhex("5201015a02080a")
    unknown = read_message(holder, data)
    assert (unknown.values, unknown.unknown) == ({}, data)
    known = read_message(holder, data, extensions=True)
    assert known.values[10] == [-1]
    assert known.values[11].values == {1: 10}
    assert write_message(unknown) == write_message(known) == data


def test_message_sets():
    kind = ProtobufSchema.parse(SET).message("Set")

    def read(data, extensions):
        message = read_message(kind, bytes.fromhex(data), extensions=extensions)
        return {number: item.values for number, item in message.values.items()}, write_message(message).hex()

    canonical = "0b10641a0208010c"
    for data in (canonical, "0b1a02080110640c", "a206020801", "0b18071064" + "1a020801" + "0c"):
        assert read(data, True) == ({100: {1: 1}}, canonical)
        assert read(data, False) == ({}, canonical)
    # Two items of one extension are merged, unknown ones are kept; numbers may be larger than those of fields.
    assert read("0b10641a0208010c0b10641a00" + "0c", True) == ({100: {1: 1}}, canonical)
    large = "0b10ffffffff071a0161" + "0c"
    assert read(large + canonical, False) == ({}, canonical + large)
    # Without a type, or without a message, an item is nothing.
    assert read("0b1a0208010c" + "0b10640c" + "2001", True) == ({}, "")
    for data, fault in (
        ("0b10641a0208", ("truncated", 4)),
        ("0b14", ("invalid_tag", 1)),
        ("0b1064", ("truncated", 3)),
        ("0b10641a0208000c" + "0b10641a010e0c", ("invalid_tag", 13)),
        # Java takes numbers beyond 31 bits for negative ones, which no field has.
        ("0b1080808080081a000c", ("invalid_tag", 9)),
    ):
        with pytest.raises(RowError) as caught:
            read(data, True)
        assert (caught.value.code, caught.value.offset) == fault


def test_paths():
    schema = ProtobufSchema.parse(
        'syntax = "proto3"; message M { repeated M many = 1; map<int32, M> by_id = 2; string text = 3;'
        " repeated int32 n = 4; }"
    )

    def fault(data):
        with pytest.raises(RowError) as caught:
            read_message(schema.message("M"), bytes.fromhex(data))
        return caught.value.code, caught.value.offset, caught.value.path

    assert fault("0a000a041a02ff61") == ("invalid_utf8", 6, "many[1].text")
    assert fault("12040802120012060801120220ff") == ("truncated", 13, "by_id[1].value.n[0]")
    assert fault("2203010280") == ("truncated", 4, "n[2]")


def test_cost_is_that_of_the_bytes():
    schema = ProtobufSchema.parse(
        'syntax = "proto3"; message M { M one = 1; repeated int32 n = 2; oneof o { int32 a = 3; M b = 4; } }'
    )
    kind = schema.message("M")
    merged = read_message(kind, bytes.fromhex("0a021001") * 100_000)
    assert len(merged.values[1].values[2]) == 100_000
    assert len(read_message(kind, bytes.fromhex("1001") * 100_000).values[2]) == 100_000
    assert read_message(kind, bytes.fromhex("18012200") * 50_000).values == {4: Message(kind)}
