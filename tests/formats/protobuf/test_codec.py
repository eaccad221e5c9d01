"""ProtobufCodec: schemas and messages chosen, types and options, what is refused, what hostile rows cost."""

import datetime
import pickle
from decimal import Decimal

import pyarrow as pa
import pytest
from cases import cases

import kcodec
from kcodec import ConfigError, DecodeError, EncodeError, ProtobufCodec, SchemaError
from kcodec.formats.protobuf.exported.descriptor_bytes import write_descriptor_set
from kcodec.formats.protobuf.messages.wire import BYTES, write_tag, write_varint
from kcodec.formats.protobuf.schema import ProtobufSchema
from kcodec_spark import SparkLayout

SHOP = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/wrappers.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/any.proto";
import "google/protobuf/field_mask.proto";
import "google/protobuf/empty.proto";
import "google/type/date.proto";
import "google/type/timeofday.proto";
import "google/type/decimal.proto";
import "confluent/type/decimal.proto";
message Order {
  uint32 u = 1; uint64 v = 2; fixed64 f = 3; Color color = 4; repeated Color colors = 5;
  oneof way { string road = 6; Ship ship = 7; }
  enum Color { RED = 0; BLUE = 2; }
  message Ship { string name = 1; repeated int32 stops = 2; }
}
message Known {
  google.protobuf.Timestamp at = 1; google.protobuf.Duration took = 2; google.protobuf.Int64Value count = 3;
  google.protobuf.Struct extra = 4; google.protobuf.Any any = 5; google.protobuf.FieldMask mask = 6;
  google.protobuf.Empty empty = 7; google.type.Date day = 8; google.type.TimeOfDay time = 9;
  google.type.Decimal price = 10; confluent.type.Decimal exact = 11; repeated google.protobuf.Value values = 12;
  map<string, google.protobuf.Timestamp> times = 13; repeated google.protobuf.StringValue names = 14;
}
"""
TREE = """
syntax = "proto3";
message Tree { int32 v = 1; repeated Tree below = 2; Leaf leaf = 3; }
message Leaf { int32 v = 1; }
"""


def row(codec, *rows, **options):
    return codec.decode([bytes.fromhex(each) for each in rows], **options).to_pylist()


# Schemas and messages


def test_messages_are_chosen_by_name_and_indexes():
    assert ProtobufCodec(SHOP, "shop.Known").arrow_type == ProtobufCodec(SHOP, [1]).arrow_type
    assert ProtobufCodec(SHOP, "Ship").arrow_type == ProtobufCodec(SHOP, [0, 0]).arrow_type
    assert ProtobufCodec(SHOP).arrow_type == ProtobufCodec(SHOP, "Order").arrow_type
    with pytest.raises(SchemaError, match="Nothing"):
        ProtobufCodec(SHOP, "Nothing")


def test_a_generated_class_is_a_schema():
    pytest.importorskip("google.protobuf")
    from google.protobuf.duration_pb2 import Duration

    codec = ProtobufCodec(Duration, well_known=())
    assert codec.decode([Duration(seconds=3).SerializeToString()]).to_pylist() == [{"seconds": 3, "nanos": 0}]


def test_a_schema_is_given_back():
    pytest.importorskip("google.protobuf")
    from google.protobuf import descriptor_pb2, message_factory

    codec = ProtobufCodec(SHOP)
    assert ProtobufCodec(codec.schema).arrow_type == ProtobufCodec(codec.descriptor_set).arrow_type
    files = descriptor_pb2.FileDescriptorSet.FromString(codec.descriptor_set).file
    order = message_factory.GetMessages(files)["shop.Order"](u=7, road="n")
    assert codec.decode([order.SerializeToString()])[0].as_py()["u"] == 7


def test_files_import_each_other():
    codec = ProtobufCodec(
        {
            "main.proto": 'syntax = "proto3"; import "dir/other.proto"; message M { other.N n = 1; }',
            "dir/other.proto": 'syntax = "proto3"; package other; message N { int32 a = 1; }',
        }
    )
    assert row(codec, "0a020805") == [{"n": {"a": 5}}]


def test_entries_of_maps_are_never_delimited(impl):
    from google.protobuf import descriptor_pb2, message_factory

    text = (
        'edition = "2023"; option features.message_encoding = DELIMITED;'
        "message M { map<int32, V> m = 1; V v = 2; } message V { int32 a = 1; map<string, V> n = 3; }"
    )
    schema = ProtobufSchema.parse(text)
    files = descriptor_pb2.FileDescriptorSet.FromString(write_descriptor_set(schema)).file
    made = message_factory.GetMessages(files)["M"]
    data = made(m={1: {"a": 7, "n": {"k": {"a": 8}}}}, v={"a": 9}).SerializeToString()
    for source in (text, write_descriptor_set(schema), made):
        codec = ProtobufCodec(source, "M", recursive_depth=2)
        array = codec.decode([data])
        assert array[0].as_py()["m"] == [(1, {"a": 7, "n": [("k", {"a": 8})]})]
        assert array[0].as_py()["v"]["a"] == 9
        assert codec.encode(array).to_pylist() == [data]


def test_a_reader_takes_what_protobuf_allows(impl):
    old = 'syntax = "proto3"; message M { int32 a = 1; string b = 2; bool gone = 3; int64 one = 4; }'
    new = (
        'syntax = "proto3"; message M { int64 a = 1; bytes b = 2; repeated int64 one = 4; string added = 5; }'
    )
    codec = ProtobufCodec(old, reader_schema=new)
    assert row(codec, "08ffffffffffffffffff01" + "12026162" + "1801" + "2009") == [
        {"a": -1, "b": b"ab", "one": [9], "added": ""}
    ]
    with pytest.raises(SchemaError, match="double"):
        ProtobufCodec(old, reader_schema='syntax = "proto3"; message M { double a = 1; }')


# Types and options


def test_unsigned_numbers(impl):
    data = "08ffffffff0f" + "10ffffffffffffffffff01" + "19ffffffffffffffff"
    wide = row(ProtobufCodec(SHOP), data)[0]
    assert (wide["u"], wide["v"], wide["f"]) == (2**32 - 1, Decimal(2**64 - 1), Decimal(2**64 - 1))
    native = ProtobufCodec(SHOP, unsigned="native")
    assert row(native, data)[0]["v"] == 2**64 - 1
    signed = ProtobufCodec(SHOP, unsigned="signed")
    assert row(signed, data)[0]["u"] == row(signed, data)[0]["f"] == -1
    for codec in (ProtobufCodec(SHOP), native, signed):
        assert codec.encode(codec.decode([bytes.fromhex(data)]))[0].as_py().hex() == data
    with pytest.raises(EncodeError, match="range"):
        ProtobufCodec(SHOP).encode(pa.array([{"u": -1}]))


def test_enums(impl):
    names = ProtobufCodec(SHOP)
    assert row(names, "2002" + "2a0300022a") == [
        {"u": 0, "v": 0, "f": 0, "color": "BLUE", "colors": ["RED", "BLUE", "42"], "road": None, "ship": None}
    ]
    numbers = ProtobufCodec(SHOP, enums="number")
    assert row(numbers, "202a")[0]["color"] == 42
    strict = ProtobufCodec(SHOP, unknown_enums="error")
    with pytest.raises(DecodeError) as caught:
        row(strict, "2a0300022a")
    assert (caught.value.code, caught.value.path, caught.value.offset) == ("enum_index", "colors[2]", 4)
    assert names.encode(pa.array([{"color": "42"}]))[0].as_py().hex() == "202a"
    with pytest.raises(EncodeError, match="symbol"):
        names.encode(pa.array([{"color": "PINK"}]))
    with pytest.raises(EncodeError, match="symbol"):
        strict.encode(pa.array([{"color": "42"}]))


def test_oneofs(impl):
    codec = ProtobufCodec(SHOP, "Order", oneofs="case")
    rows = row(codec, "32016e", "32016e" + "3a030a0161" + "1000", "3a030a0161" + "3203" + "616263", "")
    assert [(each["road"], each["ship"], each["way"]) for each in rows] == [
        ("n", None, "road"),
        (None, {"name": "a", "stops": []}, "ship"),
        ("abc", None, "road"),
        (None, None, None),
    ]
    with pytest.raises(EncodeError) as caught:
        codec.encode(pa.array([{"road": "n", "ship": {"name": "s"}}]))
    assert caught.value.code == "union_members"


@pytest.mark.parametrize("nested", [False, True])
def test_the_column_of_a_case_names_the_member_that_is_set(impl, nested):
    """It is not written, so what it says has to stand in the members' columns."""
    oneof = "oneof c { string s = 1; int64 i = 2; bytes name_and_more = 3; }"
    outer = f"message M {{ repeated N n = 1; }} message N {{ {oneof} }}"
    codec = ProtobufCodec(f'syntax = "proto3"; {outer if nested else f"message M {{ {oneof} }}"}')

    def encoded(rows, kind=None):
        column = pa.array(rows, pa.struct(kind) if kind else None)
        if nested:
            offsets = pa.array(range(len(rows) + 1), pa.int32())
            column = pa.StructArray.from_arrays([pa.ListArray.from_arrays(offsets, column)], ["n"])
        values, errors = codec.encode(column, errors="report")
        found = [None if value is None else value[2 * nested :].hex() for value in values.to_pylist()]
        return found, errors.select(["row", "path", "code", "reason"]).to_pylist()

    rows = [
        {"c": "s", "s": "x", "i": None},
        {"c": "i", "s": None, "i": 0},
        {"c": None, "s": None, "i": 1},
        {"c": None, "s": None, "i": None},
        {"c": "b", "s": None, "i": None},
        {"c": "s", "s": None, "i": None},
        {"c": "s", "s": None, "i": 1},
        {"c": "", "s": "x", "i": None},
        {"c": "name_and_more", "s": None, "i": None},
    ]
    path = "n[0].c" if nested else "c"
    reason = "this names the member of c that is set: s, i, name_and_more"
    bad = {"path": path, "code": "union_members", "reason": f"{reason}; there is no column name_and_more"}
    good = ["0a0178", "1000", "1001", ""]
    # More rows than stand in a block, so that good ones are written by blocks.
    assert encoded(rows[:4] * 200)[0] == good * 200
    found, errors = encoded(rows)
    assert found == [*good, *[None] * 5]
    assert errors == [{"row": row, **bad} for row in range(4, 9)]
    for kind in (pa.string(), pa.large_string(), pa.binary(), pa.dictionary(pa.int32(), pa.string())):
        bad["reason"] = f"{reason}; there is no column s or i or name_and_more"
        assert encoded([{"c": "b"}, {"c": "s"}, {"c": None}], [("c", kind)]) == (
            [None, None, ""],
            [{"row": row, **bad} for row in range(2)],
        )
    assert encoded([{"c": None, "i": 1}], [("c", pa.null()), ("i", pa.int64())]) == (["1001"], [])
    assert encoded([{"c": 1}])[1][0] | {"row": 0} == {
        "row": 0,
        "path": path,
        "code": "type_mismatch",
        "reason": "int64 cannot be written as the name of a member of c",
    }


def test_well_known_types_are_values(impl):
    codec = ProtobufCodec(SHOP, "Known")
    rows = [
        {
            "at": datetime.datetime(2026, 1, 2, 3, 4, 5, 678, datetime.timezone.utc),
            "took": datetime.timedelta(seconds=-1, microseconds=-5),
            "count": 0,
            "extra": '{"a":[1.0,null,{"b":"c"}]}',
            "any": {"type_url": "x/y", "value": b"z"},
            "mask": ["a.b", "c"],
            "empty": {},
            "day": datetime.date(2026, 11, 22),
            "time": datetime.time(23, 59, 59, 999999),
            "price": "1.50",
            "exact": "-12.340",
            "values": ["1.0", '"x"', "null"],
            "times": [("k", datetime.datetime(1969, 12, 31, tzinfo=datetime.timezone.utc))],
            "names": ["", "n"],
        },
        dict.fromkeys(codec.arrow_type.names),
    ]
    rows[1] |= {"values": [], "times": [], "names": []}
    array = pa.array(rows, codec.arrow_type)
    values = codec.encode(array)
    assert codec.decode(values).to_pylist() == rows
    plain = ProtobufCodec(SHOP, "Known", well_known=(), recursive_depth=3)
    assert plain.decode(values)[0].as_py()["at"] == {"seconds": 1767323045, "nanos": 678000}
    assert plain.decode(values)[0].as_py()["count"] == {"value": 0}


@cases(
    ("package", "name", "fields", "data", "value"),
    [
        ("google.type", "Date", "string x = 1;", "0a0161", {"x": "a"}),
        ("google.type", "TimeOfDay", "int32 hours = 1;", "0805", {"hours": 5}),
        ("google.type", "Decimal", "", "", {}),
        (
            "confluent.type",
            "Decimal",
            "bytes value = 1; int32 scale = 3;",
            "0a0105",
            {"value": b"\5", "scale": 0},
        ),
        ("google.protobuf", "Timestamp", "string text = 1;", "0a0161", {"text": "a"}),
        ("google.protobuf", "Int64Value", "", "", {}),
        ("google.protobuf", "Struct", "int32 v = 1;", "0805", {"v": 5}),
    ],
)
def test_messages_of_well_known_names_may_have_other_fields(impl, package, name, fields, data, value):
    codec = ProtobufCodec(
        f'syntax = "proto3"; package {package}; message M {{ {name} v = 1; }} message {name} {{ {fields} }}'
    )
    payload = f"0a{len(data) // 2:02x}{data}"
    assert row(codec, payload) == [{"v": value}]
    assert codec.encode(pa.array([{"v": value}], codec.arrow_type))[0].as_py().hex() == payload


def test_times_are_exact_or_cut(impl):
    # 1 s and 1,500 ns; 5,000,000 s and -1 ns.
    rows = ["0a05080110dc0b", "0a1008c096b10210ffffffffffffffffff01"]
    for data, code in zip(rows, ("inexact", "out_of_range"), strict=True):
        with pytest.raises(DecodeError) as caught:
            row(ProtobufCodec(SHOP, "Known"), data)
        assert (caught.value.code, caught.value.path) == (code, "at")
    cut = ProtobufCodec(SHOP, "Known", round="truncate")
    assert row(cut, rows[0])[0]["at"].microsecond == 1
    whole = ProtobufCodec(SHOP, "Known", unit="ns")
    assert whole.decode([bytes.fromhex(rows[0])]).field("at").cast(pa.int64()).to_pylist() == [1_000_001_500]


@cases(
    ("data", "wrong"),
    [
        # A member of a oneof gives way to another, the first entry of a key to the second.
        ("0a020a00" + "1001", None),
        ("0a081206108094ebdc03" + "1001", None),
        ("1a0408011200" + "1a06080112020801", None),
        ("220a08011206108094ebdc03" + "220408011200", None),
        ("0a020a00", ("missing_required", "a.items[0].x", 4)),
        ("0a081206108094ebdc03", ("out_of_range", "a.at", 10)),
        ("1a06080112020801" + "1a0408011200", ("missing_required", "by_id[1].value.x", 14)),
        ("1a0408021200" + "1a06080112020801", ("missing_required", "by_id[0].value.x", 6)),
        # What cannot be read comes first, wherever it stands.
        ("1a0408011200" + "08", ("truncated", "", 7)),
    ],
)
def test_only_what_is_left_is_checked(impl, data, wrong):
    """What is required and when times are in range is asked of what a message holds in the end, as Java does."""
    codec = ProtobufCodec(
        """
        syntax = "proto2";
        import "google/protobuf/timestamp.proto";
        message M {
          oneof choice { A a = 1; int32 b = 2; }
          map<int32, R> by_id = 3;
          map<int32, google.protobuf.Timestamp> times = 4;
        }
        message A { repeated R items = 1; optional google.protobuf.Timestamp at = 2; }
        message R { required int32 x = 1; }
        """
    )
    _, faults = codec.decode([bytes.fromhex(data)], errors="report")
    assert [(each["code"], each["path"], each["offset"]) for each in faults.to_pylist()] == [wrong] * (
        wrong is not None
    )


def test_a_value_that_cannot_be_converted_costs_its_row(impl):
    codec = ProtobufCodec(SHOP, "Known")
    # A date of the month 13, and a Value that is not a number of JSON.
    bad = ["42060801100d1801", "620911000000000000f87f"]
    array, faults = codec.decode([bytes.fromhex(each) for each in [*bad, ""]], errors="report")
    assert array.is_valid().to_pylist() == [False, False, True]
    assert faults.column("path").to_pylist() == ["day", "values[0].number_value"]


@pytest.mark.parametrize("message", ["google", "confluent"])
def test_columns_of_numbers_are_written_as_decimals(impl, message):
    codec = ProtobufCodec(
        f"""syntax = "proto3"; import "{message}/type/decimal.proto";
        message M {{ {message}.type.Decimal d = 1; repeated {message}.type.Decimal l = 2; }}"""
    )
    for texts, kind in (
        (["-1.50", None, "0.07"], pa.decimal128(9, 2)),
        (["1.50", "123456789012345678901234567890123456789.00", None], pa.decimal256(50, 2)),
        (["7", None, "-8"], pa.int64()),
    ):
        column = pa.array(texts).cast(kind)
        lists = pa.ListArray.from_arrays([0, 1, 1, 1], column.drop_null())
        found = codec.decode(codec.encode(pa.table({"d": column, "l": lists}))).to_pylist()
        assert [each["d"] for each in found] == texts
        assert found[0]["l"] == [each for each in texts if each is not None][:1]


def test_a_decimal_of_very_many_digits_costs_its_row(impl):
    codec = ProtobufCodec(SHOP, "Known", fields=["exact"])
    longest = "-" + "9" * 4300
    values = pa.array([{"exact": longest}, {"exact": longest + "9"}, {"exact": "1"}])
    written, faults = codec.encode(values, errors="report")
    assert [(each["row"], each["path"], each["code"]) for each in faults.to_pylist()] == [
        (1, "exact", "out_of_range")
    ]
    assert codec.decode(written).field("exact").to_pylist() == [longest, None, "1"]
    plain = ProtobufCodec(SHOP, "Known", well_known=("structs",))
    numbers = [1 << (1 << 14), -1 << (1 << 20)]
    unscaled = [each.to_bytes(each.bit_length() // 8 + 1, "big", signed=True) for each in numbers]
    rows = plain.encode(pa.array([{"exact": {"value": each}} for each in unscaled])).to_pylist()
    array, faults = codec.decode([*rows, b""], errors="report")
    assert faults.column("code").to_pylist() == ["out_of_range"] * 2
    assert array.is_valid().to_pylist() == [False, False, True]


DAY = 86_400_000


@cases(
    ("name", "kind", "numbers", "codes"),
    [
        ("day", pa.date32(), [2932896, 2932897, -719162, 2**31 - 1], ["", "out_of_range"] * 2),
        ("day", pa.date64(), [DAY, 2**62, -DAY, DAY + 1], ["", "inexact", "", "inexact"]),
        ("day", pa.timestamp("s"), [86400, 86401], ["", "inexact"]),
        ("day", pa.timestamp("ms", "UTC"), [DAY, None], ["type_mismatch", ""]),
        ("time", pa.time32("s"), [0, 86399, 86400, -1], ["", "", "out_of_range", "out_of_range"]),
        ("time", pa.time64("ns"), [86400 * 10**9 - 1, 2**62], ["", "out_of_range"]),
        ("time", pa.int32(), [1, None], ["type_mismatch", ""]),
        ("exact", pa.bool_(), [True, None], ["type_mismatch", ""]),
        ("exact", pa.date32(), [1, None], ["type_mismatch", ""]),
        ("extra", pa.int64(), [1, None], ["type_mismatch", ""]),
        ("extra", pa.binary(), [b"\xff", None], ["type_mismatch", ""]),
        ("day", pa.string(), ["2024-05-01", None], ["type_mismatch", ""]),
        ("time", pa.string_view(), ["12:00:00", None], ["type_mismatch", ""]),
        ("time", pa.binary(), [b"", None], ["type_mismatch", ""]),
        ("exact", pa.binary(3), [b"1.5", None], ["type_mismatch", ""]),
    ],
)
def test_only_days_and_times_of_a_day_are_written_as_such(impl, name, kind, numbers, codes):
    stored = {32: pa.int32(), 64: pa.int64()}[kind.bit_width] if pa.types.is_temporal(kind) else kind
    column = pa.array(numbers, stored)
    column = column if kind == stored else column.view(kind)
    codec = ProtobufCodec(SHOP, "Known")
    faults = codec.encode(pa.StructArray.from_arrays([column], [name]), errors="report")[1].to_pylist()
    found = {each["row"]: (each["path"], each["code"]) for each in faults}
    assert found == {row: (name, code) for row, code in enumerate(codes) if code}


def test_text_that_becomes_a_message_is_read_strictly(impl):
    codec = ProtobufCodec(SHOP, "Known")

    def codes(name, *texts):
        column = pa.array(texts, pa.binary()).view(pa.string())
        found = codec.encode(pa.StructArray.from_arrays([column], [name]), errors="report")[1]
        return {each["row"]: each["code"] for each in found.to_pylist()}

    assert codes("extra", b"{}", b'{"a": "\xff"}') == {1: "invalid_utf8"}
    numbers = [b"1_000", b" 1", b"\xef\xbc\x91", b"1\n", b".", b"NaN", b""]
    assert codes("exact", *numbers) == dict.fromkeys(range(len(numbers)), "invalid_number")
    assert codes("exact", b"\xff", b"1e9999999999999999999") == {0: "invalid_utf8", 1: "out_of_range"}
    assert codes("exact", b"+1.50", b".5", b"5.", b"-1E+3") == {}


def test_recursive_messages_have_a_depth(impl):
    with pytest.raises(SchemaError, match="recursive_depth"):
        ProtobufCodec(TREE)
    codec = ProtobufCodec(TREE, recursive_depth=2)
    assert row(codec, "0801" + "120a" + "0802" + "12020803" + "1a020804") == [
        {"v": 1, "below": [{"v": 2, "leaf": {"v": 4}}], "leaf": None}
    ]


def test_depth_counts_what_becomes_one_value(impl):
    """A Struct is as deep in the whole message as it would be if its fields were columns."""
    codec = ProtobufCodec(
        """
        syntax = "proto3";
        import "google/protobuf/struct.proto";
        message M { google.protobuf.Struct s = 1; N n = 2; map<int32, google.protobuf.Struct> m = 3; }
        message N { repeated google.protobuf.Struct s = 1; }
        """
    )

    def inside(number, data):
        out = bytearray()
        write_tag(out, number, BYTES)
        write_varint(out, len(data))
        return bytes(out + data)

    struct = b""
    for _ in range(32):
        # A Struct of an entry of a Value: three levels.
        struct = inside(1, inside(2, inside(5, struct)))
    deeper = inside(1, inside(2, inside(5, struct)))
    rows = [
        inside(1, deeper),
        inside(2, inside(1, struct)),
        inside(2, inside(1, deeper)),
        inside(3, inside(2, deeper)),
    ]
    _, faults = codec.decode(rows, errors="report")
    found = [(each["row"], each["path"][:7], each["code"]) for each in faults.to_pylist()]
    assert found == [(2, "n.s[0].", "depth_limit"), (3, "m[0].va", "depth_limit")]


def test_fields_are_chosen(impl):
    codec = ProtobufCodec(SHOP, fields=["ship.stops", "u"])
    assert row(codec, "0805" + "32016e" + "3a060a0161" + "120107") == [{"u": 5, "ship": {"stops": [7]}}]
    # What is not asked for is not looked into.
    assert row(codec, "3201ff") == [{"u": 0, "ship": None}]
    with pytest.raises(ConfigError, match="did you mean 'stops'"):
        ProtobufCodec(SHOP, fields=["ship.stop"])


def test_unknown_fields_come_back(impl):
    codec = ProtobufCodec(TREE, recursive_depth=2, unknown_fields="keep")
    data = "0801" + "1a04" + "0802" + "4803" + "a20601ff" + "48ffffffffffffffffff01"
    array = codec.decode([bytes.fromhex(data)])
    assert array[0].as_py()["leaf"]["_unknown_fields"] == bytes.fromhex("4803")
    assert array[0].as_py()["_unknown_fields"].hex() == "48ffffffffffffffffff01" + "a20601ff"
    assert codec.encode(array)[0].as_py().hex() == data[:16] + "48ffffffffffffffffff01" + "a20601ff"


@cases(
    ("given", "code"),
    [
        ("28", "truncated"),
        ("2a0561", "truncated"),
        ("0b", "truncated"),
        ("00", "invalid_tag"),
        ("070100", "invalid_tag"),
        ("2c", "invalid_tag"),
        ("2b280134", "invalid_tag"),
        ("2d000000", "truncated"),
        ("2880808080808080808080", "varint_overlong"),
        ("0b" * 101 + "0c" * 101, "depth_limit"),
        ("2801" + "ff", "truncated"),
    ],
)
def test_unknown_fields_that_are_none_are_errors_of_their_rows(impl, given, code):
    codec = ProtobufCodec(
        'syntax = "proto3"; message M { N n = 1; repeated N l = 2; map<string, N> m = 3; } message N { int32 a = 1; }',
        unknown_fields="keep",
    )
    good, bad = ({"_unknown_fields": bytes.fromhex(each)} for each in ("2b28012c3001", given))
    rows = [{"n": good}, bad, good, {"n": bad}, {"l": [good, bad]}, {"m": {"k": bad}}, {"m": {"k": good}}]
    encoded, report = codec.encode(pa.array(rows, codec.arrow_type), errors="report")
    assert [bytes.hex(each) if each is not None else None for each in encoded.to_pylist()] == [
        "0a062b28012c3001", None, "2b28012c3001", None, None, None, "1a0b0a016b12062b28012c3001",
    ]  # fmt: skip
    assert [(each["row"], each["path"], each["code"]) for each in report.to_pylist()] == [
        (1, "_unknown_fields", code),
        (3, "n._unknown_fields", code),
        (4, "l[1]._unknown_fields", code),
        (5, "m[0].value._unknown_fields", code),
    ]


@cases("given", [5, 2.5, [b"x"], {"a": b"x"}])
def test_unknown_fields_are_bytes(impl, given):
    codec = ProtobufCodec(SHOP, unknown_fields="keep")
    with pytest.raises(EncodeError) as caught:
        codec.encode(pa.array([{"u": 1, "_unknown_fields": given}]))
    assert (caught.value.code, caught.value.path) == ("type_mismatch", "_unknown_fields")
    assert codec.encode(pa.array([{"u": 1, "_unknown_fields": None}])).to_pylist() == [b"\x08\x01"]


@pytest.mark.parametrize(
    "options",
    [
        {"enums": "names"},
        {"unsigned": "yes"},
        {"unit": "ms"},
        {"recursive_depth": 0},
        {"fields": "u"},
        {"well_known": ["dates", "money"]},
        {"large": 1},
    ],
    ids=lambda options: next(iter(options)),
)
def test_options_are_checked(options):
    with pytest.raises(ConfigError, match=next(iter(options))):
        ProtobufCodec(SHOP, **options)


@cases("count", [63, 64, 65, 130])
def test_wide_messages_have_what_they_lack(impl, count):
    fields = " ".join(f"string f{number} = {number};" for number in range(1, count + 1))
    codec = ProtobufCodec(f'syntax = "proto3"; message M {{ {fields} }}')
    rows = [b"", b"\x0a\x01a", b"".join(bytes([8 * number + 2, 1, 97]) for number in range(1, 16))]
    last = b"\x92\x08\x01z" if count == 130 else b""
    for payload in [*rows, last]:
        array = codec.decode([payload])
        array.validate(full=True)
        found = array[0].as_py()
        assert sum(map(len, found.values())) == len(payload) // 3
        assert set(found.values()) <= {"", "a", "z"}


# What hostile rows cost


def test_a_message_that_comes_a_million_times_is_merged(impl):
    count = 1_000_000 if impl == "native" else 2_000
    codec = ProtobufCodec(SHOP)
    data = b"\x3a\x03\x12\x01\x07" * count
    assert codec.decode([data]).field("ship").field("stops").value_lengths().to_pylist() == [count]


def test_many_items_of_no_bytes(impl):
    codec = ProtobufCodec(TREE, recursive_depth=2)
    count = 100_000 if impl == "native" else 1_000
    assert codec.decode([b"\x12\x00" * count]).field("below").value_lengths().to_pylist() == [count]


def test_names_of_enums_are_counted(impl):
    name = "N" * 10_000
    codec = ProtobufCodec(
        f'syntax = "proto3"; message M {{ repeated E e = 1; }} enum E {{ {name} = 0; }}',
        limits=kcodec.Limits(max_expansion=1 << 20),
    )
    array, faults = codec.decode([b"\x0a\x32" + bytes(50), b"\x0a\xe8\x07" + bytes(1000)], errors="report")
    assert array.is_valid().to_pylist() == [True, False]
    assert faults.column("code").to_pylist() == ["size_limit"]


def test_a_map_holds_a_key_once(impl):
    codec = ProtobufCodec('syntax = "proto3"; message M { map<int32, string> m = 1; }')
    entries = "0a05080112" + "0161" + "0a05080212" + "0162" + "0a05080112" + "0163"
    assert row(codec, entries) == [{"m": [(1, "c"), (2, "b")]}]
    many = b"".join(b"\x0a\x02\x08" + bytes([number % 100]) for number in range(10_000))
    assert len(codec.decode([many])[0].as_py()["m"]) == 100


def test_bytes_of_a_fixed_size(impl):
    codec = ProtobufCodec(
        'syntax = "proto3"; message M { bytes b = 1; repeated bytes many = 2; map<string, bytes> by = 3; }'
    )
    row = {"b": b"ab", "many": [b"cd", b"ef"], "by": [("k", b"gh")]}
    sized = pa.binary(2)
    kind = pa.struct([("b", sized), ("many", pa.list_(sized)), ("by", pa.map_(pa.string(), sized))])
    assert codec.decode(codec.encode(pa.array([row, None], kind))).to_pylist() == [row, None]


def test_a_wrapper_is_named_by_its_field(impl):
    codec = ProtobufCodec(
        'syntax = "proto3"; import "google/protobuf/wrappers.proto"; message M { google.protobuf.Int32Value n = 1; }'
    )
    _, report = codec.encode(pa.table({"n": ["x"]}), errors="report")
    assert [(row["path"], row["code"]) for row in report.to_pylist()] == [("n", "type_mismatch")]


def test_messages_without_fields_are_written_as_spark_has_them(impl):
    text = 'syntax = "proto3"; message M { E e = 1; repeated E r = 2; map<int32, E> m = 3; } message E { }'
    codec = kcodec.ProtobufCodec(text, layout=SparkLayout())
    values = pa.array([bytes.fromhex("0a00 1200 1200 1a0408011200"), b"", None], pa.binary())
    column = codec.decode(values)
    empty = {"__dummy_field_in_empty_struct": None}
    assert column[0].as_py() == {"e": empty, "r": [empty, empty], "m": [(1, empty)]}
    assert codec.encode(column).equals(values)
    _, report = codec.encode(pa.array([{"e": {"__dummy_field_in_empty_struct": "x"}}]), errors="report")
    assert report.select(["path", "code"]).to_pylist() == [
        {"path": "e.__dummy_field_in_empty_struct", "code": "type_mismatch"}
    ]
    root = kcodec.ProtobufCodec(text, "E", layout=SparkLayout())
    assert root.encode(root.decode([b"", None])).to_pylist() == [b"", None]


def test_sparks_layout_upcasts_varints_wherever_they_stand(impl):
    text = """
    syntax = "proto3";
    import "google/protobuf/wrappers.proto";
    message M {
      uint32 u = 1; fixed32 f = 2; uint64 l = 3; fixed64 g = 4; repeated uint32 r = 5; map<uint32, uint64> m = 6;
      google.protobuf.UInt32Value w = 7; repeated google.protobuf.UInt64Value wr = 8;
    }
    """
    top = b"\xff\xff\xff\xff\x0f"
    most = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
    data = b"".join(
        (b"\x08" + top, b"\x15" + b"\xff" * 4, b"\x18" + most, b"\x21" + b"\xff" * 8, b"\x2a\x05" + top,
         b"\x32\x11\x08" + top + b"\x10" + most, b"\x3a\x06\x08" + top, b"\x42\x0b\x08" + most)
    )  # fmt: skip
    wide, long = 2**32 - 1, Decimal(2**64 - 1)
    expected = {
        "u": wide,
        "f": -1,
        "l": long,
        "g": -1,
        "r": [wide],
        "m": [(wide, long)],
        "w": wide,
        "wr": [long],
    }
    codec = ProtobufCodec(text, unsigned="signed", layout=SparkLayout(upcast_unsigned=True))
    assert codec.decode([data, None]).to_pylist() == [expected, None]
    assert codec.decode(codec.encode(codec.decode([data]))).to_pylist() == [expected]
    kept = ProtobufCodec(text, unsigned="signed", layout=SparkLayout())
    assert kept.decode([data]).to_pylist()[0]["m"] == [(-1, -1)]


def test_a_layout_belongs_to_its_codec():
    text = 'syntax = "proto3"; message M { int32 a = 1; }'
    codec = ProtobufCodec(text, layout=SparkLayout())
    assert pickle.loads(pickle.dumps(codec)) == codec == ProtobufCodec(text, layout=SparkLayout())
    assert codec not in (ProtobufCodec(text), ProtobufCodec(text, layout=SparkLayout(True)))
    assert codec.select(["a"]).arrow_type == pa.struct([pa.field("a", pa.int32())])
    for wrong in ("spark", "columns", True):
        with pytest.raises(ConfigError, match="SparkLayout"):
            ProtobufCodec(text, layout=wrong)
    with pytest.raises(ConfigError, match="unsigned='wide_varints'"):
        ProtobufCodec(text, unsigned="wide_varints")


def test_that_a_time_has_no_zone_is_told(impl):
    text = """syntax = "proto3"; import "google/protobuf/timestamp.proto";
        message M { google.protobuf.Timestamp at = 1; }"""
    column = pa.array([{"at": 1}], pa.struct([("at", pa.timestamp("us"))]))
    _, report = ProtobufCodec(text).encode(column, errors="report")
    assert report["reason"].to_pylist() == [
        "timestamp[us] cannot be written as google.protobuf.Timestamp: it has no time zone, and "
        "timestamp[us, tz=UTC] has one"
    ]


def test_how_dicts_are_maps_is_told(impl):
    codec = ProtobufCodec('syntax = "proto3"; message M { map<string, string> labels = 1; }')
    rows = [{"labels": {"a": "b"}}]
    _, report = codec.encode(pa.Table.from_pylist(rows), errors="report")
    assert report["reason"].to_pylist() == [
        "struct<a: string> cannot be written as a map, which pa.Table.from_pylist(rows, pa.schema(codec.arrow_type)) "
        "makes of dicts"
    ]
    written = codec.encode(pa.Table.from_pylist(rows, pa.schema(codec.arrow_type)))
    assert written.to_pylist() == [codec.encode_one(rows[0])]
