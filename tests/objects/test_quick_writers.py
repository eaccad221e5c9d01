"""Objects that are written without columns, and those that are left to them; `same_encode` compares both on others."""

import datetime
import gc
import math
import tracemalloc
from decimal import Decimal

import pyarrow as pa
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from side_by_side import NotPlain, left_to_columns

from kcodec import ConfigError, EncodeError, JsonCodec, JsonSchemaCodec, ProtobufCodec, Serde
from kcodec._impl import kernel
from kcodec.formats.json.plan import json_plan
from kcodec.objects.by_columns import ColumnWriter
from kcodec.serde import write

UTC = datetime.timezone.utc
PROTOBUF = ProtobufCodec(
    """
    syntax = "proto3";
    import "google/protobuf/duration.proto";
    import "google/protobuf/timestamp.proto";
    import "google/protobuf/wrappers.proto";
    message Order {
      int64 id = 1; optional string note = 2; repeated sint32 numbers = 3; repeated string tags = 4;
      map<string, uint64> counts = 5; Place place = 6; google.protobuf.Timestamp at = 7; Kind kind = 8;
      google.protobuf.StringValue name = 9; oneof which { bool yes = 10; double share = 11; } fixed32 last = 300;
      float single = 12; bytes data = 13; uint32 small = 14; map<sint64, Place> places = 15;
      google.protobuf.Duration took = 16; repeated Place others = 17; map<bool, string> flags = 18;
      message Place { string city = 1; Place inner = 2; }
      enum Kind { NONE = 0; SOME = 1; BELOW = -1; }
    }
""",
    recursive_depth=3,
)
ORDER = {
    "id": -1,
    "note": "",
    "numbers": [-1, 2**31 - 1],
    "tags": ["a", "é" * 100],
    "counts": [("x", Decimal(2**64 - 1)), ("\uffff", 0), ("😀", 7), ("x", 1)],
    "place": {"city": "Zürich" * 30, "inner": {"city": "", "inner": None}},
    "at": datetime.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
    "kind": "BELOW",
    "name": "",
    "yes": None,
    "share": 0.25,
    "last": 2**32 - 1,
    "single": 0.1,
    "data": b"\0\xff",
    "small": 7,
    "places": [(-1, {"city": "a"}), (-(2**63), {}), (5, {"city": None})],
    "took": datetime.timedelta(days=-3, microseconds=5),
    "others": [{}, {"city": "x"}],
    "flags": {True: "yes", False: ""},
}


JSON_TYPE = pa.struct(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("name", pa.string()),
        ("price", pa.decimal128(9, 2)),
        ("at", pa.timestamp("ms", "UTC")),
        ("local", pa.timestamp("us")),
        ("day", pa.date32()),
        ("time", pa.time32("s")),
        ("score", pa.float32()),
        ("real", pa.float64()),
        ("data", pa.binary()),
        ("key", pa.binary(2)),
        ("tags", pa.list_(pa.string())),
        ("counts", pa.map_(pa.string(), pa.uint64())),
        ("places", pa.map_(pa.int8(), pa.struct([("city", pa.string())]))),
        ("place", pa.struct([("city", pa.string()), pa.field("zip", pa.uint16(), nullable=False)])),
        ("flag", pa.bool_()),
    ]
)
JSON = JsonCodec(JSON_TYPE)
DOCUMENT = {
    "id": -(2**63),
    "name": 'by "hand" é\n\x01😀' + "\\" * 90,
    "price": Decimal("-12.5"),
    "at": datetime.datetime(1969, 5, 1, 10, 0, 0, 1000, UTC),
    "local": datetime.datetime(9999, 12, 31, 23, 59, 59, 999999),
    "day": datetime.date(1, 2, 28),
    "time": datetime.time(23, 59, 59),
    "score": 0.1,
    "real": 5e-324,
    "data": b"\xff\x00",
    "key": b"ab",
    "tags": ["a", None, ""],
    "counts": {"x": 2**64 - 1, "": None},
    "places": [(-1, {"city": "Zürich"}), (-1, None)],
    "place": {"city": None, "zip": 65535},
    "flag": False,
}
SCHEMA = JsonSchemaCodec(
    {
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "name": {"type": ["string", "null"]},
            "day": {"type": "string", "format": "date"},
            "at": {"type": "string", "format": "date-time"},
            "real": {"type": "number"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "places": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"city": {"type": "string"}, "zip": {"type": ["integer", "null"]}},
                    "required": ["city"],
                },
            },
            "place": {"type": "object", "properties": {"string": {"type": "string"}, "b": {"type": "null"}}},
            "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
            "any": {},
            "either": {"type": ["string", "integer"]},
        },
        "required": ["id", "name"],
    }
)
PROPERTIES = {
    "id": 7,
    "name": None,
    "day": datetime.date(2024, 2, 29),
    "at": datetime.datetime(2024, 5, 1, 10, 0, 0, 1, UTC),
    "real": 1e300,
    "tags": ["a", "b"],
    "places": [{"city": "x", "zip": None}, {"zip": 8000, "city": "😀"}],
    "place": {"string": "x", "b": None},
    "counts": {"a": 1},
}
CASES = pytest.mark.parametrize(
    ("codec", "value"),
    [(PROTOBUF, ORDER), (JSON, DOCUMENT), (SCHEMA, PROPERTIES)],
    ids=["protobuf", "json", "json_schema"],
)


def plain_writer(codec):
    """What writes a codec's objects without columns."""
    plan = codec.encode_plan(codec.arrow_type) if codec is not JSON else json_plan(JSON_TYPE, "encode")
    name, options = (
        ("protobuf", {}) if isinstance(codec, ProtobufCodec) else ("json", {"fills": codec is JSON})
    )
    module = kernel(f"formats.{name}.objects._write", "native")
    return module.object_writer(plan, left_to_columns, **options)


def by_column(codec, value):
    """What a column of a value is written as."""
    return ColumnWriter(codec.encode).encode_one(value)


@CASES
def test_what_is_plain_takes_no_columns(codec, value):
    """All fields, each alone, and nothing in it; the order of keys does not matter."""
    first = {"id": value["id"]}
    alone = [first | {name: each} for name, each in value.items()]
    nothing = [first | {name: None} for name in value if name != "id"]
    for each in (value, dict(reversed([*value.items()])), *alone, *nothing):
        wanted = by_column(codec, each)
        assert plain_writer(codec).encode_one(each) == wanted
        assert plain_writer(codec).encode_one(each, b"frame") == b"frame" + wanted


LEFT = [
    (PROTOBUF, value)
    for value in (
        {"id": 1.0},
        {"id": True},
        {"id": 2**63},
        {"numbers": [2**31]},
        {"numbers": (1, 2)},
        {"numbers": [None]},
        {"tags": [b"a"]},
        {"tags": "ab"},
        {"note": "\ud800"},
        {"note": 1},
        {"counts": {"a": -1}},
        {"counts": {"a": Decimal("1.0")}},
        {"counts": {"a": Decimal(2**64)}},
        {"counts": [("a", None)]},
        {"counts": [["a", 1]]},
        {"counts": {None: 1}},
        {"place": [("city", "a")]},
        {"place": {"town": "a"}},
        {"at": 5},
        {"at": datetime.date(2024, 1, 1)},
        {"at": datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))},
        {"kind": "OTHER"},
        {"kind": "7"},
        {"kind": 1},
        {"yes": True, "share": 0.5},
        {"yes": 1},
        {"share": 2**53 + 1},
        {"share": Decimal(1)},
        {"single": 1e300},
        {"single": math.nan},
        {"single": 2**24 + 1},
        {"data": bytearray(b"a")},
        {"small": -1},
        {"small": 2**32},
        {"took": datetime.timedelta.max},
        {"ident": 1},
        {1: 1},
        [("id", 1)],
        7,
    )
]
LEFT += [
    (JSON, {"id": 1, **value})
    for value in (
        {"id": True},
        {"id": 2**63},
        {"id": None},
        {"name": b"a"},
        {"name": "\ud800"},
        {"price": 1},
        {"price": Decimal("0.001")},
        {"price": Decimal("12345678.00")},
        {"price": Decimal("NaN")},
        {"at": datetime.datetime(2024, 1, 1, 0, 0, 0, 1)},
        {"at": 7},
        {"local": datetime.datetime(2024, 1, 1, tzinfo=UTC)},
        {"day": datetime.datetime(2024, 1, 1)},
        {"time": datetime.time(0, 0, 0, 1)},
        {"time": datetime.time(tzinfo=UTC)},
        {"score": math.inf},
        {"score": 1e300},
        {"score": 2**24 + 1},
        {"real": math.nan},
        {"real": Decimal(1)},
        {"data": "ab"},
        {"key": b"abc"},
        {"tags": ("a",)},
        {"tags": "ab"},
        {"counts": {"a": -1}},
        {"counts": {"a": 2**64}},
        {"counts": [("a",)]},
        {"places": {"a": None}},
        {"places": {128: None}},
        {"place": {"city": "x"}},
        {"place": {"zip": None}},
        {"place": {"zip": 1, "town": 1}},
        {"flag": 1},
        {"ident": 1},
    )
]
LEFT += [(JSON, {}), (JSON, 7), (JSON, [("id", 1)])]
LEFT += [
    (SCHEMA, value)
    for value in (
        {},
        {"id": None},
        {"any": "{}"},
        {"either": {"string": "a"}},
        {"place": {"string": "x"}},
        {"places": [{"city": "a", "zip": 1}, {"city": "b"}]},
        {"places": [{"zip": 1}]},
        {"counts": {"a": None}},
        {"tags": [None]},
        {"real": math.inf},
        {"day": "2024-01-01"},
    )
]


@cases(("codec", "value"), LEFT, ids=lambda each: repr(each) if type(each) is dict else "")
def test_objects_that_are_left_to_columns(impl, codec, value):
    """The answer, bytes or what is wrong with the value, is that of columns."""
    with pytest.raises(NotPlain):
        plain_writer(codec).encode_one(value)
    plain = {"id": 1}
    made, report = codec.encode_list([plain, None, value, plain], errors="report")
    wanted, faults = None, []
    try:
        wanted = by_column(codec, value)
        assert codec.encode_one(value) == wanted
    except EncodeError as error:
        faults = [(2, error.code, error.path)]
        with pytest.raises(EncodeError, match=error.code):
            codec.encode_one(value)
    assert [(fault["row"], fault["code"], fault["path"]) for fault in report.to_pylist()] == faults
    assert made == [by_column(codec, plain), None, wanted, by_column(codec, plain)]


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**64), 2**64),
    st.floats(),
    st.text(max_size=4),
    st.binary(max_size=4),
    st.decimals(),
    st.datetimes(timezones=st.none() | st.just(UTC)),
    st.timedeltas(),
    st.dates(),
    st.times(),
)
PLACES = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={"city": st.none() | st.text(max_size=200), "zip": st.integers(0, 9), "string": st.text()},
    ),
    lambda inner: st.fixed_dictionaries({"inner": inner}),
    max_leaves=3,
)
VALUES = st.one_of(
    SCALARS,
    PLACES,
    st.lists(SCALARS | PLACES, max_size=4),
    st.lists(st.tuples(SCALARS, SCALARS | PLACES), max_size=4),
    st.dictionaries(st.text(max_size=3) | st.integers() | st.booleans(), SCALARS | PLACES, max_size=4),
)


@CASES
@given(data=st.data())
def test_any_objects(codec, value, data):
    """What a quick writer takes is what a column takes, and is the same bytes."""
    some = data.draw(st.dictionaries(st.sampled_from([*value]), VALUES, max_size=3))
    given = {name: each for name, each in value.items() if data.draw(st.booleans())} | some
    try:
        made = plain_writer(codec).encode_one(given)
    except NotPlain:
        return
    assert made == by_column(codec, given)


@pytest.mark.parametrize(
    "options", [{"unsigned": "native"}, {"unsigned": "signed"}, {"enums": "number"}, {"unit": "ns"}], ids=str
)
@given(data=st.data())
def test_other_columns(options, data):
    codec = ProtobufCodec(
        'syntax = "proto2"; import "google/protobuf/timestamp.proto"; message M { optional uint32 a = 1;'
        "optional fixed64 b = 2; optional E e = 3; required int32 i = 4; optional google.protobuf.Timestamp t = 5;"
        "repeated uint64 l = 6 [packed = true]; enum E { ONE = 1; TWO = 2; } }",
        **options,
    )
    number = st.sampled_from(
        [Decimal(5), 0, 1, 2, 3, -1, 2**31, 2**32 - 1, 2**63, 2**64 - 1, -(2**31), -(2**63)]
    )
    value = data.draw(
        st.fixed_dictionaries(
            {"i": number},
            optional={
                "a": number,
                "b": number,
                "e": number | st.sampled_from(["ONE", "TWO", "3"]),
                "t": st.datetimes(),
                "l": st.lists(number),
            },
        )
    )
    try:
        made = plain_writer(codec).encode_one(value)
    except NotPlain:
        return
    assert made == by_column(codec, value)


def test_a_key_that_empties_the_dict_it_is_looked_for_in():
    """What a key of a user's own does while it is compared frees the values that are being written."""

    class Key(str):
        def __hash__(self):
            return hash("note")

        def __eq__(self, other):
            values.clear()
            return True

    values = {"id": 10**10, Key("x"): "a" * 1000}
    assert PROTOBUF.encode_one(values) == b""


@CASES
def test_nothing_is_left_of_what_was_written(codec, value):
    writer = plain_writer(codec)
    wrong = {"name": "x" * 5000, "id": "no"}

    def work():
        for _ in range(200):
            writer.encode_one(value)
            with pytest.raises(NotPlain):
                writer.encode_one(wrong)

    work()
    gc.collect()
    tracemalloc.start()
    try:
        work()
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        work()
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < 2_000
    finally:
        tracemalloc.stop()


class TestSerde:
    SCHEMA = 'syntax = "proto3"; message A { int64 id = 1; B b = 2; message B { double d = 1; } }'

    @pytest.mark.parametrize(
        ("name", "schema"),
        [("PROTOBUF", SCHEMA), ("JSON_SR", '{"type": "object", "properties": {"id": {"type": "integer"}}}')],
    )
    def test_plain_objects_take_no_column(self, impl, monkeypatch, name, schema):
        serde = Serde(name, f"memory://quick-writer-{name}", topic="t", schema=schema)
        value = {"id": 7}
        (wanted,) = serde.serialize([value], as_list=True)
        assert serde.serialize_one(value) == wanted
        if impl == "native":
            monkeypatch.delattr(write.FramedWriter, "write")
            assert serde.serialize_one(value) == wanted

    def test_what_is_wrong_is_told_as_of_a_column(self, impl):
        serde = Serde("PROTOBUF", "memory://quick-writer-wrong", topic="t", schema=self.SCHEMA)
        for value in ({"id": "a"}, {"ib": 1}, {"b": {"d": "x"}}, 5):
            with pytest.raises(TypeError) as wanted:
                serde.serialize([value])
            with pytest.raises(TypeError) as found:
                serde.serialize_one(value)
            assert str(found.value) == str(wanted.value)
        assert serde.serialize_one(None) is None
        with pytest.raises(ConfigError, match="unions="):
            serde.serialize_one({"id": 1}, unions="value")

    def test_values_of_the_first_of_several_messages_are_of_its_types(self, impl):
        """An integer is a double where the schema says so, whatever a column of it alone would be."""
        serde = Serde("PROTOBUF", "memory://quick-writer-several", topic="t", schema=self.SCHEMA)
        assert serde.serialize([{"b": {"d": 1}}], as_list=True) == [serde.serialize_one({"b": {"d": 1}})]
