"""Objects that are written without columns, and those that are left to them; `same_encode` compares both on others."""

import datetime
import gc
import math
import tracemalloc
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from side_by_side import NotPlain, left_to_columns

from kcodec import ConfigError, EncodeError, ProtobufCodec, Serde
from kcodec._impl import kernel
from kcodec.columns.given import column_of
from kcodec.serde.write import ColumnWriter

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


def plain_writer(codec):
    """What writes a codec's objects without columns."""
    return kernel("formats.protobuf.objects._write", "native").object_writer(
        codec.encode_plan(codec.arrow_type), left_to_columns
    )


def by_column(codec, value):
    """What a column of a value is written as."""
    return codec.encode(pa.array(column_of([value], codec.arrow_type))).to_pylist()[0]


@pytest.mark.parametrize("name", [None, *ORDER])
def test_what_is_plain_takes_no_columns(name):
    """All fields, each alone, and nothing in it; the order of keys does not matter."""
    value = ORDER if name is None else {name: ORDER[name]}
    for each in (value, dict.fromkeys(value), dict(reversed([*value.items()]))):
        wanted = by_column(PROTOBUF, each)
        assert plain_writer(PROTOBUF).encode_one(each) == wanted
        assert plain_writer(PROTOBUF).encode_one(each, b"frame") == b"frame" + wanted


@pytest.mark.parametrize(
    "value",
    [
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
    ],
    ids=repr,
)
def test_objects_that_are_left_to_columns(impl, value):
    """The answer, bytes or what is wrong with the value, is that of columns."""
    with pytest.raises(NotPlain):
        plain_writer(PROTOBUF).encode_one(value)
    values = [{"id": 1}, None, value, {"id": 2}]
    made, report = PROTOBUF.encode_list(values, errors="report")
    wanted, faults = None, []
    try:
        wanted = by_column(PROTOBUF, value)
        assert PROTOBUF.encode_one(value) == wanted
    except (EncodeError, TypeError) as error:
        faults = [(2, getattr(error, "code", "type_mismatch"), getattr(error, "path", ""))]
    assert [(fault["row"], fault["code"], fault["path"]) for fault in report.to_pylist()] == faults
    if faults:
        with pytest.raises(EncodeError, match=faults[0][1]):
            PROTOBUF.encode_one(value)
    assert made == [b"\x08\x01", None, wanted, b"\x08\x02"]


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
)
PLACES = st.recursive(
    st.fixed_dictionaries({}, optional={"city": st.none() | st.text(max_size=200)}),
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


@given(st.dictionaries(st.sampled_from([*ORDER]), VALUES, max_size=5))
def test_any_objects(value):
    """What a quick writer takes is what a column takes, and is the same bytes."""
    try:
        made = plain_writer(PROTOBUF).encode_one(value)
    except NotPlain:
        return
    assert made == by_column(PROTOBUF, value)


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
    number = st.sampled_from([0, 1, 2, 3, -1, 2**31, 2**32 - 1, 2**63, 2**64 - 1, -(2**31), -(2**63)])
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


def test_nothing_is_left_of_what_was_written():
    writer = plain_writer(PROTOBUF)
    wrong = {"place": {"city": "x" * 5000}, "id": "no"}

    def work():
        for _ in range(200):
            writer.encode_one(ORDER)
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

    def test_plain_objects_take_no_column(self, impl, monkeypatch):
        serde = Serde("PROTOBUF", "memory://quick-writer", topic="t", schema=self.SCHEMA)
        value = {"id": 7, "b": {"d": 0.5}}
        (wanted,) = serde.serialize([value], as_list=True)
        assert serde.serialize_one(value) == wanted
        if impl == "native":
            monkeypatch.delattr(ColumnWriter, "write")
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
