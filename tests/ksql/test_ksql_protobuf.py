"""Protobuf of any schema in ksqlDB's columns."""

import datetime

import pyarrow as pa
import pytest
from cases import cases
from ksql_codecs import COLUMNS, EMPTY, UTC, codec_of, framed, registered

from kcodec import DecodeError, KsqlCodec, SchemaError
from kcodec.registry.memory import MemoryRegistry

PROTO = """
    syntax = "proto3"; package shop; import "google/type/date.proto"; import "google/protobuf/wrappers.proto";
    import "google/protobuf/timestamp.proto";
    message Skip { Skip again = 1; }
    message Order {
      uint32 id = 1; uint64 big = 2; sint32 small = 3; float ratio = 4; enum Color { RED = 0; BLUE = 1; }
      Color color = 5; google.type.Date day = 6; google.protobuf.Timestamp at = 7; map<int32, string> names = 8;
      repeated Line lines = 9; oneof choice { int32 x = 10; string y = 11; } optional int32 maybe = 12; Skip skip = 13;
      google.protobuf.Int32Value boxed = 14;
      message Line { string sku = 1; repeated int64 counts = 2; bool gift = 3; }
    }
"""


def test_any_message_is_read_into_the_columns(impl):
    from kcodec import ProtobufCodec

    registry = MemoryRegistry()
    number = registered(registry, PROTO, "PROTOBUF")
    given = ProtobufCodec(PROTO, "shop.Order", fields=[
        "id", "big", "small", "ratio", "color", "day", "at", "names", "lines", "y", "maybe", "boxed",
    ])  # fmt: skip
    message = {
        "id": (1 << 32) - 1, "big": (1 << 64) - 1, "small": -3, "ratio": 1e10, "color": "BLUE",
        "day": datetime.date(2024, 2, 29), "at": datetime.datetime(1970, 1, 1, 0, 0, 1, 2345, UTC),
        "names": [(5, "five")], "lines": [{"sku": "a", "counts": [1, 2], "gift": True}], "y": "why", "boxed": 9,
    }  # fmt: skip
    body = given.encode(pa.array([message], given.arrow_type)).to_pylist()[0]
    codec = codec_of(
        "PROTOBUF",
        "ID BIGINT, BIG BIGINT, SMALL STRING, RATIO STRING, COLOR STRING, DAY DATE, AT TIMESTAMP, "
        "NAMES MAP<STRING, STRING>, "
        "LINES ARRAY<STRUCT<GIFT BOOLEAN, SKU STRING>>, CHOICE_0 STRUCT<X INT, Y STRING>, MAYBE INT, "
        "BOXED BIGINT, NOTHING INT",
        registry=registry,
    )
    # The second message of the text.
    found = codec.decode([framed(number, body, b"\x02\x02"), framed(number, b"", b"\x02\x02")]).to_pylist()
    assert found[0] == {
        "ID": (1 << 32) - 1, "BIG": -1, "SMALL": "-3", "RATIO": "1.0E10", "COLOR": "BLUE",
        "DAY": datetime.date(2024, 2, 29), "AT": datetime.datetime(1970, 1, 1, 0, 0, 1, 2000, UTC),
        "NAMES": [("5", "five")], "LINES": [{"GIFT": True, "SKU": "a"}], "CHOICE_0": {"X": None, "Y": "why"},
        "MAYBE": None, "BOXED": 9, "NOTHING": None,
    }  # fmt: skip
    assert found[1]["CHOICE_0"] is None
    assert found[1]["ID"] == 0


def test_dates_and_times_are_numbers_too(impl):
    """Connect has days of dates, and milliseconds of times and timestamps, whatever column reads them."""
    registry = MemoryRegistry()
    text = """
        syntax = "proto3"; import "google/type/date.proto"; import "google/type/timeofday.proto";
        import "google/protobuf/timestamp.proto";
        message M {
          google.type.Date d = 1; google.type.TimeOfDay t = 2; google.protobuf.Timestamp w = 3;
          repeated google.protobuf.Timestamp ws = 4; map<string, google.type.TimeOfDay> ts = 5;
        }
    """
    number = registered(registry, text, "PROTOBUF")
    time, moment = (
        b"\x08\x01\x10\x02\x18\x03",
        b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x10\xc0\x8f\xae\xdc\x03",
    )
    good = (
        b"\x0a\x07\x08\xe8\x0f\x10\x02\x18\x1d\x12\x06" + time + b"\x1a\x11" + moment
        + b"\x22\x11" + moment + b"\x2a\x0b\x0a\x01k\x12\x06" + time
    )  # fmt: skip
    rows = [framed(number, each, b"\0") for each in (good, b"", good.replace(b"\x18\x1d", b"\x18\x1e"))]
    wanted = {
        "INT": [19782, 3723000, None, None, [("k", 3723000)]],
        "BIGINT": [19782, 3723000, -1, [-1], [("k", 3723000)]],
        "STRING": ["19782", "3723000", "-1", ["-1"], [("k", "3723000")]],
    }
    for kind, values in wanted.items():
        columns = f"D {kind}, T {kind}, TS MAP<STRING, {kind}>"
        columns += "" if kind == "INT" else f", W {kind}, WS ARRAY<{kind}>"
        codec = codec_of("PROTOBUF", columns, registry=registry)
        array, report = codec.decode(rows, errors="report")
        found = dict(zip(("D", "T", "W", "WS", "TS"), values, strict=True))
        empty = {"D": None, "T": None, "W": None, "WS": [], "TS": []}
        names = [column.name for column in codec.columns]
        assert array.to_pylist() == [
            {name: found[name] for name in names},
            {name: empty[name] for name in names},
            None,
        ]
        assert report.select(["row", "path", "code"]).to_pylist() == [
            {"row": 2, "path": "D", "code": report["code"][0].as_py()}
        ]
    others = codec_of("PROTOBUF", "D TIME, T DATE, W STRUCT<X INT>", registry=registry)
    assert others.decode(rows[:1], errors="report")[1]["code"].to_pylist() == ["unresolvable"]
    times, dates = codec_of("PROTOBUF", "D TIME, T DATE", registry=registry).decode(rows[:1]).flatten()
    assert times.to_pylist() == [datetime.time(0, 0, 19, 782000)]
    assert dates.cast(pa.int32()).to_pylist() == [3723000]


@pytest.mark.parametrize("name", ["PROTOBUF", "PROTOBUF_NOSR"])
def test_times_in_maps_are_read_where_there_are_no_rows(impl, name):
    options = {"registry": MemoryRegistry(), "topic": "t"} if name == "PROTOBUF" else {}
    codec = KsqlCodec(name, "S STRUCT<M MAP<STRING, MAP<STRING, TIMESTAMP>>>", **options)
    assert codec.decode(pa.array([], pa.binary())).to_pylist() == []
    good = codec.encode(pa.array([{"S": None}])).to_pylist()[0]
    with pytest.raises(DecodeError, match="row 0"):
        codec.decode([good + b"\x0a\x05"])


def test_protobuf_has_no_nulls_but_of_messages(impl):
    codec = codec_of("PROTOBUF", COLUMNS)
    found = codec.decode(codec.encode(pa.array([EMPTY], codec.arrow_type))).to_pylist()[0]
    defaults = {"B": False, "I": 0, "L": 0, "D": 0.0, "S": "", "Y": b"", "A": [], "M": []}
    assert found == {**EMPTY, **defaults}


@pytest.mark.parametrize("nullable", ["OPTIONAL", "WRAPPER"])
def test_nullable_representations(impl, nullable):
    properties = {"VALUE_PROTOBUF_NULLABLE_REPRESENTATION": nullable}
    codec = codec_of("PROTOBUF", "I INT, S STRING, R STRUCT<L BIGINT>", properties=properties)
    rows = [{"I": None, "S": "", "R": {"L": None}}, {"I": 0, "S": None, "R": None}]
    assert codec.decode(codec.encode(pa.array(rows, codec.arrow_type))).to_pylist() == rows
    assert {"OPTIONAL": "optional int32 I", "WRAPPER": "google.protobuf.Int32Value I"}[
        nullable
    ] in codec.schema


WRAPPED = """
    syntax = "proto3"; import "google/protobuf/wrappers.proto";
    message M {
      google.protobuf.Int32Value i = 1; repeated google.protobuf.StringValue s = 2;
      map<string, google.protobuf.UInt32Value> m = 3; In in = 4; message In { google.protobuf.BytesValue b = 1; }
    }
"""


def test_messages_that_wrap_a_scalar_are_that_scalar(impl):
    registry = MemoryRegistry()
    number = registered(registry, WRAPPED, "PROTOBUF", subject="t-value")
    values = [framed(number, bytes.fromhex("0a020807 1200 12030a0161 1a050a016b1200 22040a020a00"), b"\0")]
    values.append(framed(number, b"", b"\0"))
    codec = KsqlCodec("PROTOBUF", registry=registry, topic="t")
    columns = "`I` INTEGER, `S` ARRAY<STRING>, `M` MAP<STRING, BIGINT>, `IN` STRUCT<`B` BYTES>"
    assert ", ".join(map(str, codec.columns)) == columns
    assert codec.decode(values).to_pylist() == [
        {"I": 7, "S": ["", "a"], "M": [("k", 0)], "IN": {"B": b""}},
        {"I": None, "S": [], "M": [], "IN": None},
    ]
    old = KsqlCodec("PROTOBUF", registry=registry, topic="t", properties={"unwrapPrimitives": "false"})
    assert str(old.columns[0]) == "`I` STRUCT<`VALUE` INTEGER>"
    assert old.decode(values).to_pylist()[0]["IN"] == {"B": {"VALUE": b""}}


def test_messages_that_wrap_a_scalar_are_written_where_the_schema_has_them(impl):
    registry = MemoryRegistry()
    number = registered(registry, WRAPPED, "PROTOBUF")
    properties = {"VALUE_SCHEMA_ID": number}
    codec = KsqlCodec("PROTOBUF", "`i` INT", registry=registry, topic="t", properties=properties)
    written = codec.encode(pa.array([{"i": 0}, {"i": None}]))
    assert written.to_pylist() == [framed(number, b"\x0a\x00", b"\0"), framed(number, b"", b"\0")]
    assert codec.decode(written).to_pylist() == [{"i": 0}, {"i": None}]


def test_unsigned_numbers_are_written_as_they_are_read(impl):
    text = """
        syntax = "proto3"; import "google/protobuf/wrappers.proto";
        message M {
          uint64 u = 1; repeated fixed64 f = 2; map<string, uint64> m = 3; google.protobuf.UInt64Value w = 4;
          oneof o { uint64 a = 5; }
        }
    """
    registry = MemoryRegistry()
    number = registered(registry, text, "PROTOBUF")
    codec = KsqlCodec("PROTOBUF", registry=registry, topic="t", properties={"VALUE_SCHEMA_ID": number})
    rows = [
        {"o_0": {"a": -3}, "u": -1, "f": [-(1 << 63), 1], "m": [("k", -2)], "w": -1},
        {"o_0": None, "u": 7, "f": [], "m": [], "w": None},
    ]
    written = codec.encode(pa.array(rows, codec.arrow_type))
    assert written[0].as_py()[6:17].hex() == "08ffffffffffffffffff01"
    assert codec.decode(written).to_pylist() == rows


def test_oneofs_are_written_as_they_are_read(impl):
    text = """
        syntax = "proto3"; message M { string n = 1; oneof o { int32 a = 2; string b = 3; In c = 4; }
        message In { oneof p { int32 x = 1; bool y = 2; } int32 z = 3; } repeated In l = 5; oneof q { bool t = 6; } }
    """
    registry = MemoryRegistry()
    number = registered(registry, text, "PROTOBUF")
    codec = KsqlCodec("PROTOBUF", registry=registry, topic="t", properties={"VALUE_SCHEMA_ID": number})
    assert [column.name for column in codec.columns] == ["o_0", "q_1", "n", "l"]
    rows = [
        {"n": "a"},
        {"o_0": {"a": 0}, "q_1": {"t": False}, "n": ""},
        {"o_0": {"b": ""}, "n": ""},
        {"o_0": {"c": {"p_0": {"x": 0}, "z": 0}}, "n": ""},
        {"n": "", "l": [{"p_0": {"x": 7}, "z": 1}, {"z": 2}, {"p_0": {"y": True}, "z": 0}]},
        None,
    ]
    array = pa.array(rows, codec.arrow_type)
    written = codec.encode(array)
    bodies = ["0a0161", "10003000", "1a00", "22020800", "2a04080718012a0218022a021001"]
    assert written.to_pylist() == [framed(number, bytes.fromhex(body), b"\0") for body in bodies] + [None]
    rows = [row and {"l": [], **row} for row in rows]
    assert codec.decode(written) == pa.array(rows, codec.arrow_type)
    # A column that is not given is null.
    assert codec.encode(pa.array([{"n": "a"}])) == written[:1]
    wrong = [{"o_0": {"a": 1, "b": "x"}}, {"o_0": {}}, {"l": [{"z": 1}, {"p_0": {}}]}, {"n": "a"}]
    array, report = codec.encode(pa.array(wrong, codec.arrow_type), errors="report")
    assert array.is_valid().to_pylist() == [False, False, False, True]
    assert report.select(["row", "path", "code"]).to_pylist() == [
        {"row": 0, "path": "o_0", "code": "union_members"},
        {"row": 1, "path": "o_0", "code": "union_members"},
        {"row": 2, "path": "l[1].p_0", "code": "union_members"},
    ]


@pytest.mark.parametrize("name", ["PROTOBUF", "PROTOBUF_NOSR"])
def test_entries_of_maps_have_nothing_that_is_optional(impl, name):
    options = {"registry": MemoryRegistry(), "topic": "t"} if name == "PROTOBUF" else {}
    properties = {"VALUE_PROTOBUF_NULLABLE_REPRESENTATION": "OPTIONAL"}
    codec = KsqlCodec(name, "M MAP<STRING, STRUCT<X INT>>", properties=properties, **options)
    assert "string key = 1;\n    ConnectDefault3 value = 2;" in codec.schema
    assert "optional string" not in codec.schema
    assert "optional int32 X = 1;" in codec.schema
    written = codec.encode(pa.array([{"M": [("", {"X": 0})]}], codec.arrow_type))
    assert written.to_pylist()[0].endswith(bytes.fromhex("0a0412020800"))
    assert codec.decode(written).to_pylist() == [{"M": [("", {"X": 0})]}]


def test_dates_of_java(impl):
    """Before 15 October 1582 dates are Julian; what is no day is an error of its row."""
    codec = codec_of("PROTOBUF", "E DATE")
    days = [-141_427, -141_428, -719_162, 0, 19_782]
    array = pa.array(days, pa.int32()).cast(pa.date32())
    written = codec.encode(pa.table({"E": array})).combine_chunks()
    # 15 and 4 October 1582.
    assert written[0].as_py()[6:].hex() == "0a0708ae0c100a180f"
    assert written[1].as_py()[6:].hex() == "0a0708ae0c100a1804"
    assert codec.decode(written).field("E").cast(pa.int32()).to_pylist() == days
    bad = [b"\x0a\x07\x08\xae\x0c\x10\x0a\x18\x05", b"\x0a\x07\x08\xe8\x0f\x10\x02\x18\x1e", b"\x0a\x00"]
    values = [framed(1, body, b"\0") for body in bad]
    assert codec.decode(values, errors="report")[1]["code"].to_pylist() == ["out_of_range"] * 3


def test_a_date_that_is_not_written_costs_its_row(impl):
    codec = codec_of("PROTOBUF", "E DATE, A ARRAY<DATE>, X INT")
    day, early = datetime.date(2024, 2, 29), -10_000_000
    kind = pa.struct([("E", pa.date32()), ("A", pa.list_(pa.date32())), ("X", pa.int32())])
    rows = [{"E": day, "A": [day]}, {"E": early, "A": []}, {"E": day, "A": [day, early]}, None]
    array = pa.array(rows, kind)
    for start in (0, 1):
        written, report = codec.encode(array[start:], errors="report")
        assert [each is None for each in written.to_pylist()] == [False, True, True, True][start:]
        assert report.select(["row", "path", "code"]).to_pylist() == [
            {"row": row - start, "path": path, "code": "out_of_range"}
            for row, path in ((1, "E"), (2, "A[1]"))
        ]


def test_one_of_several_messages(impl):
    registry = MemoryRegistry()
    text = 'syntax = "proto3"; message A { int32 X = 1; } message B { string Y = 1; int64 Z = 2; }'
    number = registered(registry, text, "PROTOBUF", subject="t-value")
    codec = codec_of("PROTOBUF", None, registry=registry, properties={"VALUE_SCHEMA_FULL_NAME": "B"})
    assert [str(column) for column in codec.columns] == ["`Y` STRING", "`Z` BIGINT"]
    written = codec.encode(pa.array([{"Y": "a", "Z": 1}])).to_pylist()
    assert written == [framed(number, b"\x0a\x01a\x10\x01", b"\x02\x02")]
    assert codec.decode(written).to_pylist() == [{"Y": "a", "Z": 1}]
    assert registry.subjects() == ["t-value"]
    # Names that Connect gives choose none.
    codec = codec_of(
        "PROTOBUF", None, registry=registry, properties={"VALUE_SCHEMA_FULL_NAME": "ConnectDefault2"}
    )
    assert [str(column) for column in codec.columns] == ["`X` INTEGER"]


def test_columns_that_a_chosen_message_lacks(impl):
    """Names of messages are taken as they are when written, and in upper case when inferred."""
    registry = MemoryRegistry()
    text = 'syntax = "proto3"; message A { int32 x = 1; } message B { A A = 1; }'
    registered(registry, text, "PROTOBUF", subject="t-value")
    codec = codec_of("PROTOBUF", None, registry=registry, properties={"VALUE_SCHEMA_FULL_NAME": "B"})
    with pytest.raises(SchemaError, match="Schema from Schema Registry misses field with name: X"):
        codec.encode(pa.array([{"A": {"X": 1}}]))


@pytest.mark.parametrize("meta", ['import "confluent/meta.proto";', ""])
def test_parameters_of_fields(impl, meta):
    """The option is a map where the text imports it, and else what it looks like."""
    registry = MemoryRegistry()
    params = '{ params: [{ key: "precision", value: "5" }, { key: "scale", value: "2" }] }'
    text = f"""syntax = "proto3"; import "confluent/type/decimal.proto"; {meta} message M {{
        confluent.type.Decimal d = 1 [(confluent.field_meta) = {params}];
        int32 i = 2 [(confluent.field_meta) = {{ params: [{{ key: "connect.type", value: "int8" }}] }}];
    }}"""
    number = registered(registry, text, "PROTOBUF", subject="t-value")
    codec = KsqlCodec("PROTOBUF", registry=registry, topic="t")
    assert ", ".join(map(str, codec.columns)) == "`D` DECIMAL(5, 2), `I` INTEGER"
    body = b"\x0a\6\x0a\2\x01\x05\x18\2\x10\7"
    (row,) = codec.decode([framed(number, body, b"\0")]).to_pylist()
    assert (str(row["D"]), row["I"]) == ("2.61", 7)


def test_oneofs_of_messages_within_others(impl):
    registry = MemoryRegistry()
    text = """syntax = "proto3"; message M {
        A one = 1; repeated A many = 2; map<string, A> named = 3; repeated OwnEntry own = 4; oneof o { A a = 5; }
        message A { oneof p { int32 x = 1; B b = 2; } int32 y = 3; }
        message B { oneof q { string s = 1; bool t = 2; } }
        message OwnEntry { string key = 1; A value = 2; }
    }"""
    number = registered(registry, text, "PROTOBUF", subject="t-value")
    codec = KsqlCodec("PROTOBUF", registry=registry, topic="t", properties={"VALUE_SCHEMA_ID": number})
    a = "STRUCT<`p_0` STRUCT<`x` INTEGER, `b` STRUCT<`q_0` STRUCT<`s` STRING, `t` BOOLEAN>>>, `y` INTEGER>"
    types = [f"STRUCT<`a` {a}>", a, f"ARRAY<{a}>", f"MAP<STRING, {a}>", f"MAP<STRING, {a}>"]
    assert [str(column.type) for column in codec.columns] == types
    x, b, y = b"\x08\1", b"\x12\3\x0a\1s", b"\x18\2"
    entry = b"\x0a\1k\x12\2" + y
    body = b"".join(
        bytes([number << 3 | 2, len(part)]) + part
        for number, part in ((1, x + y), (2, b), (2, b""), (3, entry), (4, entry), (5, b))
    )
    got_b = {"p_0": {"x": None, "b": {"q_0": {"s": "s", "t": None}}}, "y": 0}
    got_y = {"p_0": None, "y": 2}
    full = {
        "o_0": {"a": got_b}, "one": {"p_0": {"x": 1, "b": None}, "y": 2}, "many": [got_b, {"p_0": None, "y": 0}],
        "named": [("k", got_y)], "own": [("k", got_y)],
    }  # fmt: skip
    rows = [framed(number, body, b"\0"), None, framed(number, b"\x12\0", b"\0")]
    column = codec.decode(rows).to_pylist()
    assert column[:2] == [full, None]
    assert column[2] == {
        "o_0": None,
        "one": None,
        "many": [{"p_0": None, "y": 0}],
        "named": [],
        "own": [],
    }
    some = KsqlCodec("PROTOBUF", "MANY ARRAY<STRUCT<P_0 STRUCT<B STRUCT<Q_0 STRUCT<S STRING>>>>>",
                     registry=registry, topic="t")  # fmt: skip
    assert some.decode(rows[:1]).to_pylist() == [
        {"MANY": [{"P_0": {"B": {"Q_0": {"S": "s"}}}}, {"P_0": None}]}
    ]


def test_durations_are_structs(impl):
    """Connect has no type for them."""
    registry = MemoryRegistry()
    text = """syntax = "proto3"; import "google/protobuf/duration.proto"; import "google/protobuf/timestamp.proto";
        message M {
          google.protobuf.Duration d = 1; google.protobuf.Timestamp t = 2; oneof o { google.protobuf.Duration e = 3; }
        }"""
    number = registered(registry, text, "PROTOBUF", subject="t-value")
    codec = KsqlCodec("PROTOBUF", registry=registry, topic="t", properties={"VALUE_SCHEMA_ID": number})
    kind = "STRUCT<`seconds` BIGINT, `nanos` INTEGER>"
    assert [str(column.type) for column in codec.columns] == [f"STRUCT<`e` {kind}>", kind, "TIMESTAMP"]
    duration = b"\4\x08\5\x10\7"
    bodies = [b"\x0a" + duration + b"\x12\2\x08\1\x1a" + duration, b""]
    array = codec.decode([framed(number, body, b"\0") for body in bodies])
    assert array.field("d").to_pylist() == [{"seconds": 5, "nanos": 7}, None]
    assert array.field("o_0").to_pylist() == [{"e": {"seconds": 5, "nanos": 7}}, None]


def test_times_of_no_item_in_microseconds(impl):
    codec = KsqlCodec("PROTOBUF_NOSR", "A STRING, T ARRAY<TIME>, W ARRAY<TIMESTAMP>")
    times = pa.struct(
        [("A", pa.string()), ("T", pa.list_(pa.time64("us"))), ("W", pa.list_(pa.timestamp("us")))]
    )
    assert codec.encode(pa.array([{"A": "a", "T": [], "W": []}], times)).to_pylist() == [b"\x0a\1a"]


ENDLESS = """
syntax = "proto2";
message Endless {
  optional Endless below = 1;
  oneof choice { int32 number = 2; string text = 3; }
  map<string, Endless> maps = 4;
  optional int32 n = 5;
  optional group Grouped = 6 { optional int32 inner = 7; }
  oneof grouped { group Other = 8 { optional int32 inner = 9; } bool flag = 10; }
}
"""


@cases(
    ("columns", "row", "path"),
    [
        pytest.param("`choice_0` INT, N INT", None, "choice_0", id="no struct"),
        pytest.param("MAPS MAP<STRING, ARRAY<INT>>, N INT", {"MAPS": [], "N": 7}, None, id="no array"),
        pytest.param("Z STRING", {"Z": None}, None, id="nothing"),
        pytest.param("BELOW STRUCT<Z STRING>", {"BELOW": None}, None, id="nothing below"),
        pytest.param("GROUPED STRUCT<`inner` INT>, N INT", {"GROUPED": None, "N": 7}, None, id="no groups"),
    ],
)
def test_columns_that_a_message_has_otherwise(impl, columns, row, path):
    registry = MemoryRegistry()
    number = registered(registry, ENDLESS, "PROTOBUF")
    codec = codec_of("PROTOBUF", columns, registry=registry)
    value = framed(number, b"\x00" + b"\x28\x07\x33\x38\x05\x34")
    array, report = codec.decode([value], errors="report")
    assert array.to_pylist() == [row]
    assert report.column("path").to_pylist() == ([path] if path else [])


def test_groups_are_no_columns(impl):
    registry = MemoryRegistry()
    text = ENDLESS.replace("optional Endless", "optional int32").replace(
        "map<string, Endless>", "map<string, int32>"
    )
    registered(registry, text, "PROTOBUF", subject="t-value")
    codec = KsqlCodec("PROTOBUF", registry=registry, topic="t", compat="ksqldb")
    assert [str(column) for column in codec.columns] == [
        "`CHOICE_0` STRUCT<`NUMBER` INTEGER, `TEXT` STRING>",
        "`GROUPED_1` STRUCT<`FLAG` BOOLEAN>",
        "`BELOW` INTEGER",
        "`MAPS` MAP<STRING, INTEGER>",
        "`N` INTEGER",
    ]
