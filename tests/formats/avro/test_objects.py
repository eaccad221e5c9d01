"""Avro's values one by one: the objects and the faults of columns, on both implementations."""

import collections
import contextlib
import dataclasses
import datetime
import json
import uuid
import zoneinfo
from decimal import Decimal
from typing import NamedTuple

import pyarrow as pa
import pytest
from cases import cases
from hypothesis import assume, given
from hypothesis import strategies as st
from side_by_side import NoObject, exact
from strategies import avro_payloads, avro_readers, avro_schemas, damaged
from vector_files import read_vectors

from kcodec import AvroCodec, ConfigError, DecodeError, EncodeError, Limits
from kcodec.errors import SchemaError

UTC = datetime.timezone.utc
ORDER_ID = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")
LIMITS = Limits(max_depth=5, max_zero_byte_items=50, max_expansion=300)
LINES = read_vectors("avro_vectors.jsonl.gz")


def of_column(column):
    """Return the rows of a column as objects; NoObject for one that Python cannot hold."""
    rows = []
    for row in column:
        try:
            rows.append(exact(row.as_py()))
        except (NoObject, OverflowError, ValueError):
            rows.append(NoObject)
    return rows


def same_objects(codec, payloads):
    """Check that objects are those of columns, and so are the faults, but for years and nanoseconds."""
    column, expected = codec.decode(payloads, errors="report")
    objects, report = codec.decode_list(payloads, errors="report")
    faults = {fault["row"]: fault for fault in report.to_pylist()}
    assert report.schema == expected.schema
    for fault in expected.to_pylist():
        assert faults.pop(fault["row"]) == fault
        with pytest.raises(DecodeError) as caught:
            codec.decode_one(payloads[fault["row"]])
        found = [getattr(caught.value, name) for name in ("offset", "path", "code", "reason")]
        assert found == [fault[name] for name in ("offset", "path", "code", "reason")]
    for row, (value, wanted) in enumerate(zip(objects, of_column(column), strict=True)):
        if wanted is NoObject:
            assert faults.pop(row)["code"] in ("out_of_range", "inexact")
        else:
            assert exact(value) == wanted
            if row not in expected["row"].to_pylist():
                assert exact(codec.decode_one(payloads[row])) == wanted
    assert not faults


def record(*fields):
    return {"type": "record", "name": "R", "fields": [{"name": name, "type": kind} for name, kind in fields]}


@given(st.data())
def test_objects_of_any_bytes(data):
    text = data.draw(avro_schemas())
    reader = data.draw(st.one_of(st.none(), avro_readers(text)))
    trailing = data.draw(st.booleans())
    codec = AvroCodec(text, reader, limits=LIMITS, trailing=trailing)
    payload = avro_payloads(codec._writer.schema, canonical=False).flatmap(damaged)
    payloads = data.draw(st.lists(st.one_of(st.none(), payload), max_size=4))
    answers = []
    for implementation in ("native", "pure"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("KCODEC_IMPL", implementation)
            same_objects(codec, payloads)
            objects, report = codec.decode_list(payloads, errors="report", maps="dict", unions="value")
            answers.append((exact(objects), report.to_pylist()))
    # Where columns say nothing, the two implementations still agree.
    assert answers[0] == answers[1]


def test_objects_of_the_vectors(impl):
    read = 0
    for line in LINES:
        writer = line.get("writer") or line["schema"]
        depth = 12 if "recursive" in line["id"] else None
        try:
            codec = AvroCodec(writer, line.get("reader"), wide_decimals="string", recursive_depth=depth)
        except SchemaError:
            continue
        rows = line.get("rows") or [line["row"]]
        same_objects(codec, [bytes.fromhex(row) for row in rows])
        read += len(rows)
    assert read > 1500


PLACE = {
    "type": "record",
    "name": "P",
    "fields": [{"name": "city", "type": "string"}, {"name": "zip", "type": "int"}],
}
FIELDS = {
    "kind": {"type": "enum", "name": "K", "symbols": ["one", "two"]},
    "place": ["null", PLACE],
    "by": {"type": "map", "values": ["null", "double"]},
    "gone": {"type": "array", "items": {"type": "map", "values": ["null", "string", "long"]}},
    "any": ["null", "string", "long", "K"],
    "raw": {"type": "fixed", "name": "F", "size": 3},
    "last": {"type": "array", "items": "P"},
}
VISIT = {
    "kind": "two",
    "place": {"city": "Zürich", "zip": 8001},
    "by": {"a": 1.5, "b": None, "": -0.0},
    "gone": [{"x": "text", "y": None}, {}, {"z": 1 << 40}],
    "any": "two",
    "raw": b"raw",
    "last": [{"city": "", "zip": -1}, {"city": "Basel", "zip": 4001}],
}


def test_a_row_damaged_anywhere(impl):
    """Read whole, some of its fields, and as a record with defaults that drops a list."""
    schema = record(*FIELDS.items())
    reader = record(*((name, kind) for name, kind in FIELDS.items() if name != "gone"))
    reader["fields"].append({"name": "more", "type": ["P", "null"], "default": {"city": "x", "zip": 1}})
    codec = AvroCodec(schema)
    row = codec.encode_one(VISIT, unions="value")
    assert codec.decode_one(row, unions="value", maps="dict") == VISIT
    payloads = [row[:cut] + damage for cut in range(len(row) + 1) for damage in (b"", b"\0", b"\xff" * 12)]
    payloads += [row[:at] + b"\x7f" + row[at + 1 :] for at in range(len(row))]
    for each in (codec, AvroCodec(schema, reader), AvroCodec(schema, fields=["kind", "place.zip", "last"])):
        same_objects(each, payloads)


@given(st.data())
def test_objects_are_written_as_columns_are(data):
    codec = AvroCodec(data.draw(avro_schemas()))
    payloads = data.draw(st.lists(avro_payloads(codec._writer.schema), min_size=1, max_size=3))
    column, faults = codec.decode(payloads, errors="report")
    # A union of nothing has no values.
    assume(not len(faults))
    if NoObject in of_column(column):
        return
    objects = codec.decode_list(payloads)
    written = codec.encode(column, as_list=True)
    for implementation in ("native", "pure"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("KCODEC_IMPL", implementation)
            assert codec.encode_list(objects) == written
            dicts = codec.decode_list(payloads, maps="dict")
            assert exact(codec.decode_list(codec.encode_list(dicts), maps="dict")) == exact(dicts)


MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
NANOS = {"type": "long", "logicalType": "timestamp-nanos"}
LOCAL = {"type": "long", "logicalType": "local-timestamp-micros"}
DATE = {"type": "int", "logicalType": "date"}
CLOCK = {"type": "int", "logicalType": "time-millis"}
MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}
FIXED_MONEY = {"type": "fixed", "name": "M", "size": 2, "logicalType": "decimal", "precision": 4, "scale": 2}
BERLIN = datetime.timezone(datetime.timedelta(hours=2))


@cases(
    ("kind", "value"),
    [
        ("int", 7.0),
        ("int", Decimal(7)),
        ("long", -(1 << 63)),
        ("float", 0.1),
        ("float", 3),
        ("double", float("-inf")),
        ("bytes", bytearray(b"ab")),
        ("bytes", "é"),
        ("string", "é" * 2000),
        (["int", "long"], 1 << 40),
        (["float", "double"], 0.1),
        (["float", "double"], 0.5),
        (["null", "int", "string"], {"member0": None, "member1": "a"}),
        (MONEY, 7),
        (MONEY, Decimal("-1.50000")),
        (MONEY, Decimal("1E+2")),
        (FIXED_MONEY, Decimal("-0.01")),
        (DATE, datetime.date(1, 1, 1)),
        (DATE, datetime.datetime(2020, 2, 29)),
        (CLOCK, datetime.time(23, 59, 59, 999000)),
        (MILLIS, datetime.datetime(1969, 12, 31, 23, 59, 59, 999000, UTC)),
        (MILLIS, datetime.datetime(2020, 1, 1, 5, tzinfo=BERLIN)),
        (MILLIS, datetime.datetime(2020, 1, 1)),
        (MILLIS, 1_700_000_000_000),
        (MILLIS, -7),
        (NANOS, 7),
        (CLOCK, 86_399_999),
        (NANOS, datetime.datetime(2020, 1, 1, 1, 2, 3, 4)),
        (LOCAL, datetime.datetime(1900, 1, 1)),
        (LOCAL, datetime.datetime(2020, 1, 1, tzinfo=UTC)),
        (LOCAL, datetime.datetime(2020, 1, 1, tzinfo=zoneinfo.ZoneInfo("Etc/UTC"))),
        ({"type": "array", "items": "int"}, (1, 2)),
        ({"type": "array", "items": "int"}, []),
        ({"type": "map", "values": "int"}, {"a": 1, "b": 2}),
        ({"type": "map", "values": "int"}, [("a", 1), ("a", 2)]),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B"),
        (["null", {**record(("x", ["null", "int"])), "name": "S"}], {"x": None}),
    ],
    ids=str,
)
def test_a_value_is_written_as_in_a_column(kind, value, impl):
    codec = AvroCodec(record(("f", kind)))
    assert codec.encode_one({"f": value}) == codec.encode([{"f": value}]).to_pylist()[0]
    assert codec.encode_list([{"f": value}, None]) == codec.encode([{"f": value}, None]).to_pylist()


def test_a_number_for_a_time_is_what_is_written_of_it(impl):
    """As in a column of numbers; columns of timestamp-millis count microseconds."""
    rows = [{"f": 1_700_000_000_000}, {"f": -1}]
    codec = AvroCodec(record(("f", MILLIS)))
    written = codec.encode(pa.array(rows)).to_pylist()
    assert codec.encode_list(rows) == codec.encode(rows).to_pylist() == written
    assert codec.decode_one(written[0]) == {"f": datetime.datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)}


@cases(
    ("kind", "value", "code", "path"),
    [
        ("int", 1 << 31, "out_of_range", "f"),
        ("long", 1 << 63, "out_of_range", "f"),
        ("int", True, "type_mismatch", "f"),
        ("int", 1.5, "inexact", "f"),
        ("int", float("nan"), "out_of_range", "f"),
        ("int", "7", "type_mismatch", "f"),
        ("int", None, "null_value", "f"),
        ("float", 1e300, "out_of_range", "f"),
        ("double", (1 << 53) + 1, "inexact", "f"),
        ("boolean", 1, "type_mismatch", "f"),
        ("null", 1, "type_mismatch", "f"),
        (["null"], 1, "type_mismatch", "f"),
        (["null"], {}, "type_mismatch", "f"),
        ("string", b"\xff", "invalid_utf8", "f"),
        ("string", "\ud800", "invalid_utf8", "f"),
        ("string", 7, "type_mismatch", "f"),
        ({"type": "fixed", "name": "F", "size": 2}, b"a", "fixed_size", "f"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "B", "unknown_symbol", "f"),
        (MONEY, Decimal("0.001"), "inexact", "f"),
        (MONEY, Decimal("1E+999999"), "decimal_precision", "f"),
        (MONEY, Decimal("NaN"), "type_mismatch", "f"),
        (MONEY, 1.5, "type_mismatch", "f"),
        (DATE, datetime.datetime(2020, 1, 1, 1), "inexact", "f"),
        (CLOCK, datetime.time(0, 0, 0, 1), "inexact", "f"),
        (CLOCK, 86_400_000, "out_of_range", "f"),
        (MILLIS, datetime.datetime(2020, 1, 1, 0, 0, 0, 1), "inexact", "f"),
        (MILLIS, "2020-01-01", "type_mismatch", "f"),
        (LOCAL, datetime.datetime(2020, 1, 1, tzinfo=BERLIN), "type_mismatch", "f"),
        (NANOS, datetime.datetime(9999, 1, 1), "out_of_range", "f"),
        ({"type": "array", "items": "int"}, [1, "b"], "type_mismatch", "f[1]"),
        ({"type": "array", "items": "int"}, "ab", "type_mismatch", "f"),
        (
            {"type": "array", "items": {"type": "array", "items": "int"}},
            [[], [1, 2, None]],
            "null_value",
            "f[1][2]",
        ),
        ({"type": "map", "values": "int"}, {"a": None}, "null_value", "f[0].value"),
        ({"type": "map", "values": "int"}, {7: 1}, "type_mismatch", "f[0].key"),
        (["int", "string"], {"member0": 1, "member1": "a"}, "union_members", "f"),
        (["int", "string"], {"member2": 1}, "unknown_field", "f"),
        (["int", "string"], {}, "union_members", "f"),
        (["int", "long"], None, "null_value", "f"),
        (["int", "long"], 1 << 63, "out_of_range", "f"),
    ],
    ids=str,
)
def test_a_value_that_cannot_be_written(kind, value, code, path, impl):
    codec = AvroCodec(record(("f", kind)))
    with pytest.raises(EncodeError) as caught:
        codec.encode_one({"f": value})
    assert (caught.value.code, caught.value.path, caught.value.offset) == (code, path, None)
    written, report = codec.encode_list([None, {"f": value}], errors="report")
    assert written == [None, None]
    assert [(row["row"], row["code"], row["path"]) for row in report.to_pylist()] == [(1, code, path)]


@cases(
    ("kind", "written"),
    [
        ({"type": "string", "logicalType": "uuid"}, str(ORDER_ID).encode()),
        ({"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}, ORDER_ID.bytes),
    ],
    ids=str,
)
def test_a_uuid_is_written_as_its_text_or_its_bytes(kind, written, impl):
    codec = AvroCodec(record(("f", kind)))
    data = codec.encode_one({"f": ORDER_ID})
    assert data.endswith(written)
    assert codec.encode_one(codec.decode_one(data)) == data
    assert codec.encode_list([{"f": ORDER_ID}, None]) == [data, None]


def test_the_bytes_of_a_uuid_are_not_taken_for_its_text(impl):
    codec = AvroCodec(record(("f", {"type": "string", "logicalType": "uuid"})))
    column = pa.array([b"0123456789abcdef"], pa.binary(16))
    with pytest.raises(EncodeError, match=r"cannot be written as string \(uuid\): its text is wanted"):
        codec.encode(pa.table({"f": column}))
    text = pa.array([str(ORDER_ID).encode()], pa.binary(36))
    assert codec.decode(codec.encode(pa.table({"f": text})).combine_chunks()).to_pylist() == [
        {"f": str(ORDER_ID)}
    ]


def test_a_union_says_what_its_members_are_called(impl):
    codec = AvroCodec(record(("f", ["null", "int", "string"])))
    for value, reason in (
        (
            "a",
            r"a str is no mapping of one member of the union \(member0, member1\); plain values take unions='value'",
        ),
        ({"str": "a"}, "the union has no member 'str': it has member0, member1"),
    ):
        with pytest.raises(EncodeError, match=reason):
            codec.encode_one({"f": value})
    many = AvroCodec(record(("f", [{"type": "enum", "name": f"E{n}", "symbols": ["A"]} for n in range(9)])))
    with pytest.raises(EncodeError, match=r"\(member0, .*, member7, \.\.\.\)"):
        many.encode_one({"f": 1})


def test_keys_of_records(impl):
    schema = record(("a", "int"), ("b", ["null", "int"]))
    schema["fields"].append({"name": "tags", "type": {"type": "array", "items": "int"}, "default": [3]})
    codec = AvroCodec(schema)
    assert codec.encode_one({"a": 1}) == b"\2\0\2\6\0"
    assert codec.decode_one(codec.encode_one({"a": 1})) == {"a": 1, "b": None, "tags": [3]}
    with pytest.raises(EncodeError, match="missing_key: row 0, a: the field is missing, and has no default"):
        codec.encode_one({"b": 1})
    with pytest.raises(EncodeError, match=r"unknown_field: row 0: the record has no field 'tag'.*'tags'"):
        codec.encode_one({"a": 1, "tag": []})


def test_a_wrong_default_costs_only_the_objects_that_need_it(impl):
    schema = record(("a", "int"))
    schema["fields"].append({"name": "b", "type": "int", "default": "one"})
    codec = AvroCodec({**record(("r", schema)), "name": "Outer"})
    made, report = codec.encode_list([{"r": {"a": 1, "b": 2}}, {"r": {"a": 1}}], errors="report")
    assert made == [b"\2\4", None]
    (fault,) = report.to_pylist()
    assert (fault["row"], fault["path"], fault["code"]) == (1, "r.b", "missing_key")
    assert fault["reason"] == "the field is missing, and the default of b: 'one' is not a value of int"
    with pytest.raises(EncodeError, match="unknown_field: row 0, r: the record has no field 'c'"):
        codec.encode_one({"r": {"a": 1, "c": 2}})


@pytest.mark.parametrize("change", [list.clear, lambda items: items.extend([7, 8])])
def test_a_list_that_changes_while_it_is_written(change, impl):
    """Not a payload that says to have other items than it has: as it was, or the error that Python has for dicts."""

    class Number:
        changed = False

        def __index__(self):
            if not self.changed:
                self.changed = True
                change(items)
            return 5

    codec = AvroCodec({"type": "array", "items": "long"})
    items = [1, Number(), 2]
    with contextlib.suppress(RuntimeError):
        assert codec.decode_one(codec.encode_one(items)) == [1, 5, 2]


def test_a_payload_whose_bytes_stand_apart(impl):
    codec = AvroCodec({"type": "array", "items": "long"})
    apart = memoryview(b"\x04-\x02-\x04-\x00-")[::2]
    assert codec.decode_one(apart) == [1, 2]
    assert codec.decode_list([apart]) == codec.decode([apart]).to_pylist() == [[1, 2]]


def test_a_default_is_new_each_time(impl):
    reader = record(("a", "int"))
    reader["fields"].append({"name": "tags", "type": {"type": "array", "items": "int"}, "default": [3]})
    codec = AvroCodec(record(("a", "int")), reader)
    codec.decode_one(b"\2")["tags"].append(4)
    assert codec.decode_one(b"\2") == {"a": 1, "tags": [3]}


def test_unions_by_value(impl):
    codec = AvroCodec(["null", "double", "long", "string", record(("x", "int"))])
    for value in (1, 1.0, "a", {"x": 2}):
        data = codec.encode_one(value, unions="value")
        read = codec.decode_one(data, unions="value")
        assert (type(read), read) == (type(value), value)
    assert codec.encode_one(Decimal(3), unions="value") == codec.encode_one(3, unions="value")
    with pytest.raises(EncodeError):
        codec.encode_one({"y": 2}, unions="value")


@dataclasses.dataclass
class Item:
    sku: str
    price: Decimal


@dataclasses.dataclass
class Order:
    # Not in the schema's order.
    items: list[Item]
    id: int
    first: Item | None = None


class Pair(NamedTuple):
    a: int
    b: str


def test_classes(impl):
    item = {
        "type": "record",
        "name": "I",
        "fields": [{"name": "sku", "type": "string"}, {"name": "price", "type": MONEY}],
    }
    codec = AvroCodec(
        record(("id", "long"), ("items", {"type": "array", "items": item}), ("first", ["null", "I"]))
    )
    order = Order([Item("a", Decimal("1.50")), Item("b", Decimal("0.00"))], 7, Item("c", Decimal("-1.00")))
    data = codec.encode_one(order)
    assert data == codec.encode_one(dataclasses.asdict(order))
    assert codec.decode_one(data, into=Order) == order
    assert codec.decode_list([data, None], into=Order) == [order, None]
    pair = AvroCodec(record(("a", "int"), ("b", "string")))
    assert pair.decode_one(pair.encode_one(Pair(1, "x")), into=Pair) == Pair(1, "x")
    assert pair.encode_one(collections.UserDict(a=1, b="x")) == pair.encode_one({"a": 1, "b": "x"})
    with pytest.raises(ConfigError, match="Item does not take the field a"):
        pair.decode_one(b"\2\0", into=Item)
    with pytest.raises(ConfigError, match="into=7 is not a class"):
        pair.decode_one(b"\2\0", into=7)


def test_years_and_nanoseconds(impl):
    codec = AvroCodec(record(("at", NANOS)))
    data = codec.encode(pa.array([{"at": 1_501}], pa.struct([("at", pa.int64())]))).to_pylist()[0]
    # The twin reads by columns, which do not say where in the payload a value stood.
    row = "row 0, byte 0" if impl == "native" else "row 0"
    with pytest.raises(DecodeError, match=f"inexact: {row}, at: Python's times have no nanoseconds"):
        codec.decode_one(data)
    start = datetime.datetime(1970, 1, 1, 0, 0, 0, 1, UTC)
    assert AvroCodec(record(("at", NANOS)), round="truncate").decode_one(data) == {"at": start}
    days = AvroCodec(record(("on", DATE)))
    data = days.encode(pa.array([{"on": 2_932_897}], pa.struct([("on", pa.int32())]))).to_pylist()[0]
    with pytest.raises(DecodeError, match=f"out_of_range: {row}, on: the year is not one of 1 to 9999"):
        days.decode_one(data)


def test_columns_of_payloads(impl):
    codec = AvroCodec('"int"')
    for values in (pa.array([b"\2", None]), pa.chunked_array([[b"\2"], [None]]), pa.array(["\2", None])):
        assert codec.decode_list(values) == [1, None]
    assert codec.decode_one(memoryview(b"\2")) == 1
    with pytest.raises(TypeError):
        codec.decode_one("\2")


def test_errors_and_options(impl):
    codec = AvroCodec('"int"')
    assert codec.decode_list([b"", b"\2"], errors="null") == [None, 1]
    with pytest.raises(DecodeError, match="truncated: row 1, byte 0"):
        codec.decode_list([None, b""])
    assert codec.encode_list([1 << 40, 1], errors="null") == [None, b"\2"]
    with pytest.raises(EncodeError, match="out_of_range: row 1"):
        codec.encode_list([None, 1 << 40])
    for wrong in ({"maps": "list"}, {"unions": "all"}):
        with pytest.raises(ConfigError):
            codec.decode_one(b"\2", **wrong)
    with pytest.raises(ConfigError):
        codec.encode_one(1, unions="all")
    assert json.dumps(codec.decode_one(b"\2")) == "1"


#: Fields of a record that contains itself: bytes of one without any, objects that hold one more, and their bytes.
RECURSIVE = {
    "next": (["null", "R"], None, b"\0", {"id": 2}, b"\x02\x04\0"),
    "items": ({"type": "array", "items": "R"}, {"default": []}, b"\0", [{"id": 2}], b"\x02\x04\0\0"),
    "by": ({"type": "map", "values": "R"}, {"default": {}}, b"\0", {"a": {"id": 2}}, b"\x02\x02a\x04\0\0"),
}


@pytest.mark.parametrize("name", RECURSIVE)
def test_records_that_contain_themselves(name, impl):
    """Written as deep as there are columns; below, what is absent or null is, and nothing else."""
    kind, more, empty, inner, data = RECURSIVE[name]
    field = {"name": name, "type": kind, **(more or {"default": None})}
    schema = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}, field]}
    flat, deep = (AvroCodec(schema, recursive_depth=depth) for depth in (1, 2))
    assert flat.encode_one({"id": 1}) == deep.encode_one({"id": 1}) == b"\x02" + empty
    assert deep.encode_one({"id": 1, name: inner}) == b"\x02" + data
    assert deep.decode_one(b"\x02" + data, maps="dict") == {"id": 1, name: inner}
    with pytest.raises(
        EncodeError, match=f"unknown_field: row 0, {name}: recursive_depth leaves the field out"
    ):
        flat.encode_one({"id": 1, name: inner})
    if "null" in kind:
        assert flat.encode_one({"id": 1, name: None}) == b"\x02" + empty
    made, report = flat.encode_list([{"id": 1}, {"id": 1, name: inner}, None], errors="report")
    assert (made, report["code"].to_pylist()) == ([b"\x02" + empty, None, None], ["unknown_field"])
