"""ksqlDB's formats whose schemas are in a registry: columns through an embedded one and back."""

import datetime
import itertools
import json
import pickle
import struct
from decimal import Decimal

import pyarrow as pa
import pytest
from contracts import comparable

from kcodec import ConfigError, DecodeError, EncodeError, KsqlCodec, SchemaError
from kcodec.registry import Config, Reference, Schema
from kcodec.registry.memory import MemoryRegistry

FORMATS = ("AVRO", "PROTOBUF", "JSON_SR")
UTC = datetime.UTC
COLUMNS = """B BOOLEAN, I INT, L BIGINT, D DOUBLE, N DECIMAL(10, 2), S STRING, Y BYTES, T TIME, E DATE, W TIMESTAMP,
    A ARRAY<STRING>, M MAP<STRING, BIGINT>, R STRUCT<X INT, `y` ARRAY<STRUCT<Z DATE, N DECIMAL(5, 1)>>>"""
ROW = {
    "B": True,
    "I": -7,
    "L": 1 << 40,
    "D": 1.5,
    "N": Decimal("-12345678.90"),
    "S": "é😀",
    "Y": b"\0\xff",
    "T": datetime.time(23, 59, 59, 999000),
    "E": datetime.date(1969, 12, 31),
    "W": datetime.datetime(2024, 2, 29, 12, 0, 0, 123000, UTC),
    "A": ["a", ""],
    "M": [("k", 1), ("", -1)],
    "R": {"X": 1, "y": [{"Z": datetime.date(2000, 1, 1), "N": Decimal("0.5")}]},
}
EMPTY = {**dict.fromkeys(ROW), "A": [], "M": []}


def framed(number, body, indexes=b""):
    return struct.pack(">bI", 0, number) + indexes + body


def codec_of(name, columns, **options):
    options.setdefault("registry", MemoryRegistry())
    return KsqlCodec(name, columns, topic="t", **options)


def registered(registry, text, kind="AVRO", references=(), subject="any"):
    text = text if isinstance(text, str) else json.dumps(text)
    return registry.register(subject, Schema(text, kind, references)).id


def record(*fields, name="R"):
    return {"type": "record", "name": name, "fields": [{"name": each, "type": kind} for each, kind in fields]}


# Rows --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*FORMATS, "PROTOBUF_NOSR"])
def test_columns_there_and_back(impl, name):
    options = {"registry": None} if name == "PROTOBUF_NOSR" else {}
    nullable = {"VALUE_PROTOBUF_NULLABLE_REPRESENTATION": "OPTIONAL"} if "PROTOBUF" in name else {}
    codec = codec_of(name, COLUMNS, properties=nullable, **options)
    rows = pa.array([ROW, None, EMPTY], codec.arrow_type)
    written = codec.encode(rows)
    assert written[1].as_py() is None
    assert comparable(codec.decode(written)) == comparable(rows)
    chunks = codec.decode(pa.chunked_array([written, written]))
    assert comparable(chunks.chunk(1)) == comparable(rows)


def test_the_schema_is_registered_under_the_topic(impl):
    for name, kind in zip(FORMATS, ("AVRO", "PROTOBUF", "JSON"), strict=True):
        registry = MemoryRegistry()
        codec = KsqlCodec(name, "ID BIGINT", registry=registry, topic="orders")
        assert registry.subjects() == []
        codec.encode(pa.array([{"ID": 1}]))
        assert registry.subjects() == ["orders-value"]
        found = registry.get_version("orders-value")
        assert found.schema.type == kind
        assert found.schema.text == codec.schema
        keys = KsqlCodec(name, "ID BIGINT KEY", registry=registry, topic="orders", key=True)
        keys.encode(pa.array([{"ID": 1}]))
        assert registry.subjects() == ["orders-key", "orders-value"]


def test_nothing_is_registered_for_nulls(impl):
    registry = MemoryRegistry()
    codec = KsqlCodec("AVRO", "ID BIGINT", registry=registry, topic="orders")
    assert codec.encode(pa.array([None, None], codec.arrow_type)).to_pylist() == [None, None]
    assert registry.subjects() == []


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


def test_columns_are_given_in_any_form(impl):
    codec = codec_of("AVRO", "ID BIGINT, TOTAL DECIMAL(6,2), AT TIMESTAMP, DAY DATE, CLOCK TIME")
    table = pa.table(
        {
            "clock": pa.array([86_399_999], pa.int32()),
            "day": pa.array([datetime.date(2020, 1, 2)], pa.date64()),
            "at": pa.array([1_000_000_000], pa.timestamp("ns")),
            "total": ["1.5"],
            "id": pa.array([7], pa.uint8()),
        }
    )
    (row,) = codec.decode(codec.encode(table)).to_pylist()
    assert row == {
        "ID": 7,
        "TOTAL": Decimal("1.50"),
        "AT": datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC),
        "DAY": datetime.date(2020, 1, 2),
        "CLOCK": datetime.time(23, 59, 59, 999000),
    }


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    ("columns", "value", "path", "code"),
    [
        ("A DECIMAL(3, 1)", Decimal("1.25"), "A", "inexact"),
        ("A DECIMAL(3, 1)", Decimal("1000.0"), "A", "decimal_precision"),
        ("A INT", 1 << 31, "A", "out_of_range"),
        ("A TIMESTAMP", datetime.datetime(2020, 1, 1, 0, 0, 0, 1, UTC), "A", "inexact"),
    ],
)
def test_values_that_do_not_fit_cost_their_row(impl, name, columns, value, path, code):
    codec = codec_of(name, columns)
    written, report = codec.encode(pa.array([{"A": None}, {"A": value}, {"A": None}]), errors="report")
    assert [row is None for row in written.to_pylist()] == [False, True, False]
    assert report.select(["row", "path", "code"]).to_pylist() == [{"row": 1, "path": path, "code": code}]
    with pytest.raises(EncodeError):
        codec.encode(pa.array([{"A": value}]))


@pytest.mark.parametrize("name", FORMATS)
def test_integers_that_are_no_times(impl, name):
    """Spark has times as milliseconds of the day."""
    codec = codec_of(name, "T TIME, R ARRAY<STRUCT<U TIME>>")
    rows = [{"T": 5, "R": [{"U": 1}]}, {"T": -1, "R": None}, {"T": None, "R": [{"U": 0}, {"U": 86_400_001}]}]
    kind = pa.struct([("T", pa.int32()), ("R", pa.list_(pa.struct([("U", pa.int64())])))])
    written, report = codec.encode(pa.array(rows, kind), errors="report")
    assert [row is None for row in written.to_pylist()] == [False, True, True]
    assert report.select(["path", "code"]).to_pylist() == [
        {"path": "T", "code": "out_of_range"},
        {"path": "R[1].U", "code": "out_of_range"},
    ]


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


@pytest.mark.parametrize("name", FORMATS)
def test_times_may_be_cut_off(impl, name):
    codec = codec_of(name, "A TIMESTAMP, T TIME", round="truncate")
    times = pa.array([1_999_999], pa.int64()).view(pa.time64("ns"))
    table = pa.table({"A": pa.array([-1], pa.timestamp("us", "UTC")), "T": times})
    found = codec.decode(codec.encode(table)).combine_chunks()
    assert found.field("A").cast(pa.int64()).to_pylist() == [-1000]
    assert found.field("T").cast(pa.int32()).to_pylist() == [1]


# Keys, wrapping, windows -------------------------------------------------------------------------------


def test_names_of_keys(impl):
    registry = MemoryRegistry()
    options = {"registry": registry, "topic": "t", "key": True}
    one = KsqlCodec("AVRO", "K STRUCT<A INT> KEY", source="MY_TABLE", **options)
    assert json.loads(one.schema)["name"] == "MyTableKey"
    assert json.loads(one.schema)["fields"][0]["name"] == "A"
    two = KsqlCodec(
        "AVRO", "A INT KEY, B INT KEY", properties={"KEY_SCHEMA_FULL_NAME": "shop.Key"}, **options
    )
    assert json.loads(two.schema)["namespace"] == "shop"
    assert [field["name"] for field in json.loads(two.schema)["fields"]] == ["A", "B"]


@pytest.mark.parametrize(
    ("sql", "value", "body"),
    [
        ("BYTES", b"\1\2", b"\1\2"),
        ("DECIMAL(4, 2)", Decimal("-1.5"), b"\xff\x6a"),
        ("STRING", "ab", b"\x04ab"),
        ("TIMESTAMP", datetime.datetime(1970, 1, 1, 0, 0, 0, 1000, UTC), b"\x02"),
    ],
)
def test_bare_keys_of_avro(impl, sql, value, body):
    """Payloads of the root type bytes have no length."""
    codec = codec_of("AVRO", f"K {sql} KEY", key=True)
    written = codec.encode(pa.array([{"K": value}, {"K": None}, None], codec.arrow_type)).to_pylist()
    assert written == [framed(1, body), None, None]
    assert codec.decode(written).to_pylist() == [{"K": value}, None, None]


def test_bare_decimals_fit_or_not(impl):
    registry = MemoryRegistry()
    number = registered(registry, {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 3})
    codec = codec_of("AVRO", "K DECIMAL(4, 2) KEY", key=True, registry=registry)
    array, report = codec.decode([framed(number, bytes([5, 220])), framed(number, b"\1")], errors="report")
    assert array.to_pylist() == [{"K": Decimal("1.50")}, None]
    assert report["code"].to_pylist() == ["inexact"]


def test_bare_columns_of_protobuf_without_a_registry(impl):
    codec = KsqlCodec("PROTOBUF_NOSR", "K INT KEY", key=True)
    written = codec.encode(pa.array([{"K": 5}, {"K": 0}, {"K": None}]))
    assert written.to_pylist() == [b"\x08\x05", b"", None]
    assert codec.decode(written).to_pylist() == [{"K": 5}, {"K": 0}, None]
    with pytest.raises(SchemaError, match="Unsupported root schema of type ARRAY"):
        KsqlCodec("PROTOBUF_NOSR", "K ARRAY<INT> KEY", key=True)


KEYS = ("KAFKA", "JSON", "DELIMITED", *FORMATS, "PROTOBUF_NOSR")


@pytest.mark.parametrize("name", KEYS)
def test_windowed_keys(impl, name):
    registry = MemoryRegistry() if name in FORMATS else None
    options = {"key": True, "registry": registry, "topic": "t" if registry else None}
    plain = KsqlCodec(name, "K BIGINT KEY", **options)
    row = {"K": 7, "WINDOWSTART": 10_000, "WINDOWEND": 20_000}
    inner = plain.encode(pa.array([{"K": 7}])).to_pylist()[0]
    session = KsqlCodec(name, "K BIGINT KEY", window="session", **options)
    written = session.encode(pa.array([row, None], session.arrow_type))
    assert written.to_pylist() == [inner + struct.pack(">qq", 20_000, 10_000), None]
    assert session.decode(written).to_pylist() == [row, None]
    times = KsqlCodec(name, "K BIGINT KEY", window="HOPPING", window_size="10 seconds", **options)
    written = times.encode(pa.array([{"K": 7, "WINDOWSTART": 10_000}]))
    assert written.to_pylist() == [inner + struct.pack(">q", 10_000)]
    values = [*written.to_pylist(), b"", b"short", inner + struct.pack(">q", (1 << 63) - 2)]
    array, report = times.decode(values, errors="report")
    assert array.to_pylist() == [
        row,
        None,
        None,
        {"K": 7, "WINDOWSTART": (1 << 63) - 2, "WINDOWEND": (1 << 63) - 1},
    ]
    assert report.select(["row", "code"]).to_pylist() == [{"row": 2, "code": "truncated"}]
    assert pickle.loads(pickle.dumps(times)).decode(written).to_pylist() == [row]


def test_windowed_keys_need_their_window(impl):
    codec = KsqlCodec("KAFKA", "K STRING KEY", key=True, window="SESSION")
    written, report = codec.encode(pa.array([{"K": "a", "WINDOWSTART": 1}]), errors="report")
    assert written.to_pylist() == [None]
    assert report.select(["path", "code"]).to_pylist() == [{"path": "WINDOWEND", "code": "null_value"}]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": "SESSION", "window_size": 5}, "'WINDOW_SIZE' should not be set for SESSION windows."),
        ({"window": "TUMBLING"}, "TUMBLING windows require 'WINDOW_SIZE'"),
        ({"window": "SLIDING"}, "Unknown window type: SLIDING"),
        ({"window": "HOPPING", "window_size": "10"}, "'WINDOW_SIZE'"),
        ({"window": "HOPPING", "window_size": 0}, "'WINDOW_SIZE'"),
        ({"window_size": 5}, "WINDOW_TYPE is not set"),
        ({"window": "SESSION", "key": False}, "values have no window"),
    ],
)
def test_wrong_windows(options, message):
    with pytest.raises(ConfigError, match=message):
        KsqlCodec("KAFKA", "K STRING", **{"key": True, **options})


# Schemas of others -------------------------------------------------------------------------------------


def test_any_avro_record_is_read_into_the_columns(impl):
    registry = MemoryRegistry()
    number = registered(
        registry,
        record(
            ("skipped", {"type": "array", "items": "string"}),
            ("id", "int"),
            ("Flag", "boolean"),
            ("color", {"type": "enum", "name": "C", "symbols": ["RED", "BLUE"]}),
            ("ratio", "float"),
            ("price", {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 4}),
            ("at", ["null", {"type": "long", "logicalType": "timestamp-micros"}]),
            ("tags", {"type": "map", "values": "long"}),
            ("either", ["null", "string", record(("x", "int"), name="Point")]),
            ("day", {"type": "int", "logicalType": "date"}),
            ("hash", {"type": "fixed", "name": "H", "size": 2}),
        ),
    )
    body = b"".join(
        (
            b"\x02\x02a\x00", b"\x0e", b"\x01", b"\x02", struct.pack("<f", 0.1), b"\x04\x3a\x98", b"\x02\xd0\x0f",
            b"\x02\x02k\x06\x00", b"\x04\x09", b"\x02", b"\xab\xcd",
        )
    )  # fmt: skip
    codec = codec_of(
        "AVRO",
        "ID BIGINT, FLAG STRING, COLOR STRING, RATIO STRING, PRICE DECIMAL(8, 2), AT TIMESTAMP, "
        "TAGS MAP<STRING, STRING>, "
        "EITHER STRUCT<`string` STRING, POINT STRUCT<X BIGINT>>, DAY INT, HASH BYTES, MISSING ARRAY<INT>",
        registry=registry,
    )
    assert codec.decode([framed(number, body), None]).to_pylist() == [
        {
            "ID": 7,
            "FLAG": "true",
            "COLOR": "BLUE",
            "RATIO": "0.1",
            "PRICE": Decimal("1.50"),
            # ksqlDB does not know microseconds.
            "AT": datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC),
            "TAGS": [("k", "3")],
            "EITHER": {"string": None, "POINT": {"X": -5}},
            "DAY": 1,
            "HASH": b"\xab\xcd",
            "MISSING": None,
        },
        None,
    ]


def test_names_match_as_they_are_or_in_upper_case(impl):
    """The last field counts, also before an exact one; a quoted name is only matched as it is."""
    registry = MemoryRegistry()
    number = registered(registry, record(("ID", "int"), ("id", "int"), ("Id", "int")))
    codec = codec_of("AVRO", "ID INT", registry=registry)
    assert codec.decode([framed(number, b"\x02\x04\x06")]).to_pylist() == [{"ID": 3}]
    quoted = codec_of("AVRO", "`id` INT, `iD` INT, ID INT", registry=registry)
    assert quoted.decode([framed(number, b"\x02\x04\x06")]).to_pylist() == [{"id": 2, "iD": None, "ID": 3}]


def test_dots_in_names(impl):
    codec = codec_of("AVRO", "`a.b` INT, `R` STRUCT<`x.y` STRING>")
    assert [field["name"] for field in json.loads(codec.schema)["fields"]] == ["a_b", "R"]
    rows = [{"a.b": 1, "R": {"x.y": "z"}}]
    assert codec.decode(codec.encode(pa.array(rows))).to_pylist() == rows


def test_types_that_are_not_read_cost_their_row(impl):
    registry = MemoryRegistry()
    inner = record(("x", ["null", "string"]), name="I")
    number = registered(registry, record(("a", "int"), ("rows", {"type": "array", "items": inner})))
    codec = codec_of("AVRO", "A INT, ROWS ARRAY<STRUCT<X INT>>", registry=registry)
    values = [framed(number, b"\x02\x00"), framed(number, b"\x02\x02\x00\x00")]
    array, report = codec.decode(values, errors="report")
    assert array.to_pylist() == [{"A": 1, "ROWS": []}, None]
    assert report.to_pylist() == [
        {
            "row": 1,
            "offset": None,
            "path": "ROWS[0].X",
            "code": "unresolvable",
            "reason": "Cannot deserialize type string as type int32 for path: ->ROWS->ARRAY->X",
            "schema_id": number,
        }
    ]
    with pytest.raises(DecodeError) as error:
        codec.decode(values)
    assert (error.value.row, error.value.path) == (1, "ROWS[0].X")


def test_a_root_of_another_type_is_no_schema_of_the_columns(impl):
    registry = MemoryRegistry()
    number = registered(registry, '"string"')
    codec = codec_of("AVRO", "A INT", registry=registry)
    _, report = codec.decode([framed(number, b"\x02a")], errors="report")
    assert report["code"].to_pylist() == ["schema_error"]
    assert "Cannot deserialize type string as type struct" in report["reason"][0].as_py()


@pytest.mark.parametrize("name", FORMATS)
def test_rows_of_many_schemas_keep_their_order(impl, name):
    registry = MemoryRegistry()
    first = KsqlCodec(name, "A INT", registry=registry, topic="first")
    second = KsqlCodec(name, "A BIGINT, B STRING", registry=registry, topic="second")
    other = KsqlCodec(name, "A STRING, C DOUBLE", registry=registry, topic="third")
    reader = KsqlCodec(name, "A STRING, B STRING", registry=registry)
    rows = [
        first.encode(pa.array([{"A": 1}]))[0],
        second.encode(pa.array([{"A": 2, "B": "b"}]))[0],
        other.encode(pa.array([{"A": "3", "C": 1.0}]))[0],
    ]
    values = pa.array([row.as_py() for row in rows] * 3 + [None, b"\0\0\0\1\0\0\0"])
    array, report = reader.decode(values, errors="report")
    wanted = [{"A": "1", "B": None}, {"A": "2", "B": "b"}, {"A": "3", "B": None}]
    assert array.to_pylist() == [*wanted * 3, None, None]
    assert report.select(["row", "code"]).to_pylist() == [{"row": 10, "code": "unknown_schema_id"}]
    array.validate(full=True)


def test_the_first_bad_row_of_many_schemas(impl):
    registry = MemoryRegistry()
    texts = registered(registry, record(("a", "string")))
    longs = registered(registry, record(("a", {"type": "long"}), name="L"), subject="other")
    reader = KsqlCodec("AVRO", "A STRING", registry=registry)
    values = [framed(longs, b"\x02"), framed(texts, b"\x04a"), framed(longs, b"")]
    with pytest.raises(DecodeError) as error:
        reader.decode(values)
    assert error.value.row == 1
    assert reader.decode(values, errors="report")[1]["row"].to_pylist() == [1, 2]


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
        "BOXED STRUCT<VALUE BIGINT>, NOTHING INT",
        registry=registry,
    )
    # The second message of the text.
    found = codec.decode([framed(number, body, b"\x02\x02"), framed(number, b"", b"\x02\x02")]).to_pylist()
    assert found[0] == {
        "ID": (1 << 32) - 1, "BIG": -1, "SMALL": "-3", "RATIO": "1.0E10", "COLOR": "BLUE",
        "DAY": datetime.date(2024, 2, 29), "AT": datetime.datetime(1970, 1, 1, 0, 0, 1, 2000, UTC),
        "NAMES": [("5", "five")], "LINES": [{"GIFT": True, "SKU": "a"}], "CHOICE_0": {"X": None, "Y": "why"},
        "MAYBE": None, "BOXED": {"VALUE": 9}, "NOTHING": None,
    }  # fmt: skip
    assert found[1]["CHOICE_0"] is None
    assert found[1]["ID"] == 0


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


def test_any_document_is_read_into_the_columns(impl):
    registry = MemoryRegistry()
    number = registered(
        registry,
        {
            "type": "object",
            "properties": {
                "id": {"type": "integer"},
                "name": {"type": ["string", "null"]},
                "price": {"type": "number", "title": "org.apache.kafka.connect.data.Decimal", "connect.type": "bytes",
                          "connect.parameters": {"scale": "2"}},
                "tags": {"type": "object", "connect.type": "map", "additionalProperties": {"type": "integer"}},
                "address": {"$ref": "#/definitions/address"},
                "ok": {"type": "boolean"},
                "kind": {"enum": ["a", "b"]},
            },
            "definitions": {"address": {"type": "object", "properties": {"zip": {"type": "string"}}}},
        },
        "JSON",
    )  # fmt: skip
    codec = codec_of(
        "JSON_SR",
        "ID STRING, NAME STRING, PRICE DECIMAL(6, 3), TAGS MAP<STRING, BIGINT>, ADDRESS STRUCT<ZIP STRING>, "
        "OK BOOLEAN, "
        "KIND STRING",
        registry=registry,
    )
    text = '{"x":[1],"id":7,"name":null,"price":1.5,"tags":{"k":1},"address":{"zip":"9"},"ok":true,"kind":"a"} tail'
    array, report = codec.decode(
        [framed(number, text.encode()), framed(number, b'{"id":"7"}')], errors="report"
    )
    assert array.to_pylist() == [
        {
            "ID": "7", "NAME": None, "PRICE": Decimal("1.500"), "TAGS": [("k", 1)], "ADDRESS": {"ZIP": "9"}, "OK": True,
            "KIND": "a",
        },
        None,
    ]  # fmt: skip
    assert report.select(["row", "path", "code"]).to_pylist() == [
        {"row": 1, "path": "id", "code": "json_type"}
    ]


def test_documents_as_ksqldb_reads_them(impl):
    """What the row loop refuses is 0, false or null, where Connect's converter has it so."""
    columns = "I INT, L BIGINT, B BOOLEAN, D DOUBLE, S STRING, N DECIMAL(4, 1), E DATE, A ARRAY<INT>"
    columns += ", M MAP<STRING, INT>"
    registry = MemoryRegistry()
    strict = codec_of("JSON_SR", columns, registry=registry)
    number = strict.register()
    lenient = codec_of("JSON_SR", columns, registry=registry, compat="ksqldb")
    bodies = {
        '{"I":1.9,"L":"7","B":1,"D":"x","S":[1]}': {"I": 1, "L": 0, "B": False, "D": 0.0},
        '{"I":"","N":"Dw=="}': {"I": 0, "N": Decimal("1.5")},
        '{"I":2147483648,"A":7,"M":[{"key":"k","value":1.5}]}': {"I": -(1 << 31), "A": [], "M": [("k", 1)]},
        '{"A":{"x":1,"y":null}}': {"A": [1, None]},
        '{"S":true,"L":1e2}': {"S": "true", "L": 100},
    }
    values = [framed(number, body.encode()) for body in bodies]
    absent = dict.fromkeys(column.name for column in lenient.columns)
    assert lenient.decode(values).to_pylist() == [{**absent, **row} for row in bodies.values()]
    assert strict.decode(values, errors="report")[1]["row"].to_pylist() == [0, 1, 2, 3]
    refused = ["1", '{"E":1.5}', '{"M":{"k":1}}', '{"M":[{"key":"k"}]}', '{"N":0.55}', '{"N":1e4}', "", "{"]
    values = [framed(number, body.encode()) for body in refused]
    array, report = lenient.decode(values, errors="report")
    assert array.null_count == len(refused)
    assert report["code"].to_pylist()[:6] == [*["json_type"] * 4, "inexact", "decimal_precision"]
    assert report["reason"][0].as_py() == "Structs should be encoded as JSON objects, but found NUMBER"
    with pytest.raises(DecodeError):
        lenient.decode(values[:1])


def test_defaults_of_properties_stand_for_nulls(impl):
    registry = MemoryRegistry()
    properties = {
        "a": {"oneOf": [{"type": "null"}, {"type": "integer", "default": 5}]},
        "b": {"type": "string", "default": "x"},
        "c": {"type": "number", "default": "wrong"},
    }
    number = registered(registry, {"type": "object", "properties": properties}, "JSON")
    codec = codec_of("JSON_SR", "A BIGINT, B STRING, C DOUBLE", registry=registry)
    values = [framed(number, body) for body in (b'{"a":null}', b'{"a":1,"b":"y","c":2}')]
    assert codec.decode(values).to_pylist() == [{"A": 5, "B": "x", "C": None}, {"A": 1, "B": "y", "C": 2.0}]


ONE_OF = "io.confluent.connect.json.OneOf.field."


def test_unions_of_documents(impl):
    """A value is in the struct of the first member that it is of; Connect's names of these are long."""
    registry = MemoryRegistry()
    plain = {"oneOf": [{"type": "null"}, {"type": "integer"}, {"type": "string"}]}
    objects = {
        "anyOf": [
            {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}},
            {"type": "object", "properties": {"a": {"type": "integer"}, "c": {"type": "boolean"}}},
            {"type": "integer"},
            {"type": "number"},
        ]
    }
    properties = {"p": plain, "o": objects, "l": {"type": "array", "items": {"type": ["string", "boolean"]}}}
    number = registered(registry, {"type": "object", "properties": properties}, "JSON", subject="t-value")
    inferred = KsqlCodec("JSON_SR", registry=registry, topic="t")
    upper = ONE_OF.upper()
    assert [str(column) for column in inferred.columns] == [
        f"`P` STRUCT<`{upper}0` BIGINT, `{upper}1` STRING>",
        f"`O` STRUCT<`{upper}0` STRUCT<`A` BIGINT, `B` STRING>, `{upper}1` STRUCT<`A` BIGINT, `C` BOOLEAN>, "
        f"`{upper}2` BIGINT, `{upper}3` DOUBLE>",
        f"`L` ARRAY<STRUCT<`{upper}0` STRING, `{upper}1` BOOLEAN>>",
    ]
    bodies = [
        b'{"p":7,"o":{"a":1,"c":true},"l":["x",true]}',
        b'{"p":"7","o":{"a":1},"l":[]}',
        b'{"p":null,"o":5,"l":[]}',
        b'{"o":5.5,"l":[]}',
        b'{"p":1.5,"o":1,"l":[]}',
        b'{"p":1,"o":"x","l":[]}',
        b'{"p":1,"o":{"a":"x","b":"y"},"l":[]}',
        b'{"p":1,"o":null,"l":[]}',
    ]
    values = [framed(number, body) for body in bodies]

    def read(compat):
        codec = KsqlCodec("JSON_SR", registry=registry, topic="t", compat=compat)
        array, report = codec.decode(values, errors="report")
        rows = [
            None if row is None else {name: _set(value) for name, value in row.items()}
            for row in array.to_pylist()
        ]
        return rows, report.select(["row", "path", "code"]).to_pylist()

    rows, report = read(None)
    assert rows[:4] == [
        {"P": {0: 7}, "O": {1: {"A": 1, "C": True}}, "L": [{0: "x"}, {1: True}]},
        {"P": {1: "7"}, "O": {0: {"A": 1, "B": None}}, "L": []},
        {"P": None, "O": {2: 5}, "L": []},
        {"P": None, "O": {3: 5.5}, "L": []},
    ]
    assert [each["row"] for each in report] == [4, 5, 6, 7]
    assert [each["code"] for each in report[1:]] == ["json_type", "json_type", "null_value"]
    lenient, report = read("ksqldb")
    assert lenient[:4] == rows[:4]
    assert lenient[6]["O"] == {0: {"A": 0, "B": "y"}}
    assert [each["row"] for each in report] == [4, 5, 7]


def _set(value):
    """Return the members of a union that are set, by their numbers."""
    if isinstance(value, list):
        return [_set(each) for each in value]
    if value is None:
        return None
    return {int(name.rpartition(".")[2]): member for name, member in value.items() if member is not None}


def test_members_of_unions_that_are_no_columns(impl):
    registry = MemoryRegistry()
    text = {"type": "object", "properties": {"p": {"oneOf": [{"type": "integer"}, {"type": "string"}]}}}
    number = registered(registry, text, "JSON")
    codec = codec_of("JSON_SR", f"P STRUCT<`{ONE_OF}1` STRING, OTHER INT>", registry=registry)
    values = [framed(number, body) for body in (b'{"p":1}', b'{"p":"x"}', b"{}")]
    assert codec.decode(values, errors="null").to_pylist() == [
        {"P": {f"{ONE_OF}1": None, "OTHER": None}},
        {"P": {f"{ONE_OF}1": "x", "OTHER": None}},
        {"P": None},
    ]
    wrong = codec_of("JSON_SR", f"P STRUCT<`{ONE_OF}1` INT>", registry=registry)
    assert wrong.decode(values, errors="report")[1]["code"].to_pylist() == ["unresolvable"] * 2


def test_unions_and_maps_are_written_as_the_chosen_schema_has_them(impl):
    registry = MemoryRegistry()
    properties = {
        "p": {"oneOf": [{"type": "null"}, {"type": "integer"}, {"type": "string"}]},
        "m": {"type": "object", "connect.type": "map", "additionalProperties": {"type": "integer"}},
        "n": {
            "type": "array",
            "connect.type": "map",
            "items": {"properties": {"key": {"type": "string"}, "value": {"type": "integer"}}},
        },
    }
    number = registered(registry, {"type": "object", "properties": properties}, "JSON")
    codec = KsqlCodec("JSON_SR", registry=registry, topic="t", properties={"VALUE_SCHEMA_ID": number})
    rows = [
        {"p": {f"{ONE_OF}0": 7}, "m": [("k", 1)], "n": [("k", 1)]},
        {"p": {f"{ONE_OF}1": "x"}, "m": [], "n": []},
        {"p": None, "m": None, "n": None},
        {"p": {f"{ONE_OF}0": 7, f"{ONE_OF}1": "x"}, "m": [], "n": []},
    ]
    array = pa.array(rows, codec.arrow_type)
    written, report = codec.encode(array, errors="report")
    assert written.to_pylist() == [
        framed(number, b'{"p":7,"m":{"k":1},"n":[{"key":"k","value":1}]}'),
        framed(number, b'{"p":"x","m":{},"n":[]}'),
        framed(number, b'{"p":null,"m":null,"n":null}'),
        None,
    ]
    assert report.select(["row", "path", "code"]).to_pylist() == [
        {"row": 3, "path": "p", "code": "union_members"}
    ]


def test_schemas_that_are_combined(impl):
    registry = MemoryRegistry()
    text = {
        "allOf": [
            {"$ref": "#/definitions/base"},
            {"type": "object", "properties": {"b": {"allOf": [{"type": "string"}, {"minLength": 1}]}}},
        ],
        "definitions": {"base": {"type": "object", "properties": {"a": {"type": ["integer", "null"]}}}},
    }
    number = registered(registry, text, "JSON", subject="t-value")
    codec = KsqlCodec("JSON_SR", registry=registry, topic="t")
    assert [str(column) for column in codec.columns] == ["`A` BIGINT", "`B` STRING"]
    assert codec.decode([framed(number, b'{"a":1,"b":"x"}')]).to_pylist() == [{"A": 1, "B": "x"}]


@pytest.mark.parametrize("key", ["allOf", "anyOf"])
def test_combinations_of_combinations(key):
    """Each of these refers to the next one twice; there is no end of what they come to."""
    names = [f"d{number}" for number in range(40)]
    text = {
        name: {key: [{"$ref": f"#/definitions/{below}"}] * 2} for name, below in itertools.pairwise(names)
    }
    registry = MemoryRegistry()
    document = {"$ref": "#/definitions/d0", "definitions": {**text, names[-1]: {"type": "string"}}}
    registered(
        registry, {"type": "object", "properties": {"a": document}, **document}, "JSON", subject="t-value"
    )
    with pytest.raises(SchemaError):
        KsqlCodec("JSON_SR", registry=registry, topic="t")


def test_defaults_of_connect_stand_for_nulls(impl):
    """The default of a nullable field's type is what Connect's struct has for its null; not so that of the field."""

    def field(name, default, kind, /, **more):
        return {
            "name": name,
            "type": ["null", {"type": kind, "connect.default": default, **more}],
            "default": None,
        }

    registry = MemoryRegistry()
    point = {
        "name": "Point",
        "fields": [{"name": "x", "type": "int"}, {"name": "y", "type": ["null", "string"]}],
    }
    fields = [
        field("a", 42, "int"),
        field("b", "é", "string"),
        field("c", 1.5, "double"),
        field("d", True, "boolean"),
        field("e", "\u0001\u00f4", "bytes"),
        field("f", "\u0001\u00f4", "bytes", logicalType="decimal", precision=4, scale=2),
        field("g", 3, "int", logicalType="date"),
        field("h", 5000, "long", logicalType="timestamp-millis"),
        field("i", [1, 2], "array", items="int"),
        field("j", {"x": 1}, "record", **point),
        field("k", "no list", "array", items="int"),
        field("l", {"k": 1}, "map", values="long"),
        {"name": "m", "type": ["int", "null"], "default": 7},
    ]  # fmt: skip
    schema = {"type": "record", "name": "R", "fields": fields}
    number = registered(registry, schema)
    codec = codec_of(
        "AVRO",
        "A STRING, B STRING, C DOUBLE, D BOOLEAN, E BYTES, F DECIMAL(6, 3), G DATE, H TIMESTAMP, I ARRAY<BIGINT>, "
        "J STRUCT<X BIGINT, Y STRING>, K ARRAY<INT>, L MAP<STRING, BIGINT>, M INT",
        registry=registry,
    )
    nulls = bytes(12) + b"\x02"
    given = b"\x02\x02" + bytes(11) + b"\x02"
    expected = {
        "A": "42",
        "B": "é",
        "C": 1.5,
        "D": True,
        "E": b"\x01\xf4",
        "F": Decimal("5.000"),
        "G": datetime.date(1970, 1, 4),
        "H": datetime.datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC),
        "I": [1, 2],
        "J": {"X": 1, "Y": None},
        "K": None,
        "L": [("k", 1)],
        "M": None,
    }
    values = [framed(number, nulls), None, framed(number, given)]
    assert codec.decode(values).to_pylist() == [expected, None, {**expected, "A": "1"}]
    small = codec_of("AVRO", "F DECIMAL(2, 2)", registry=registry)
    assert small.decode(values, errors="report")[1].select(["row", "path", "code"]).to_pylist() == [
        {"row": row, "path": "F", "code": "decimal_precision"} for row in (0, 2)
    ]


def test_defaults_of_lists_and_objects_stand_for_nulls(impl):
    registry = MemoryRegistry()
    properties = {
        "a": {"type": "array", "items": {"type": "integer"}, "default": [1, 2]},
        "b": {"type": "object", "properties": {"x": {"type": "string"}}, "default": {"x": "y"}},
        "c": {"type": "array", "items": {"type": "integer"}},
    }
    number = registered(registry, {"type": "object", "properties": properties}, "JSON")
    for compat in (None, "ksqldb"):
        columns = "A ARRAY<BIGINT>, B STRUCT<X STRING>, C ARRAY<BIGINT>"
        codec = codec_of("JSON_SR", columns, registry=registry, compat=compat)
        values = [
            framed(number, body) for body in (b"{}", b'{"a":null,"b":null}', b'{"a":[],"b":{},"c":[3]}')
        ]
        given = {"A": [1, 2], "B": {"X": "y"}, "C": None}
        assert codec.decode(values).to_pylist() == [given, given, {"A": [], "B": {"X": None}, "C": [3]}]


def test_references_of_schemas(impl):
    registry = MemoryRegistry()
    registered(registry, {"type": "string"}, "JSON", subject="name")
    text = {"type": "object", "properties": {"name": {"$ref": "name.json"}}}
    number = registered(registry, text, "JSON", (Reference("name.json", "name", 1),))
    codec = codec_of("JSON_SR", "NAME STRING", registry=registry)
    assert codec.decode([framed(number, b'{"name":"a"}')]).to_pylist() == [{"NAME": "a"}]


# Inference, and schemas chosen by their ids ------------------------------------------------------------


def test_columns_are_taken_from_the_latest_schema(impl):
    registry = MemoryRegistry()
    # ksqlDB's own schema has another name, which most levels refuse.
    registry.set_config(Config("NONE"))
    registered(
        registry, record(("id", "long"), ("Tags", {"type": "array", "items": "string"})), subject="t-value"
    )
    codec = KsqlCodec("AVRO", registry=registry, topic="t")
    assert ", ".join(map(str, codec.columns)) == "`ID` BIGINT, `TAGS` ARRAY<STRING>"
    assert codec.decode(codec.encode(pa.array([{"ID": 1}]))).to_pylist() == [{"ID": 1, "TAGS": None}]
    # Its keys are given, its values are not.
    assert len(KsqlCodec("AVRO", "K INT KEY", registry=registry, topic="t").columns) == 1 + 1
    assert pickle.loads(pickle.dumps(codec)) == codec
    registry.register("t-key", Schema('"int"', "AVRO"))
    keys = KsqlCodec("AVRO", registry=registry, topic="t", key=True)
    assert str(keys.columns[0]) == "`ROWKEY` INTEGER KEY"


INFERRED = [
    (
        "AVRO",
        json.dumps(
            record(
                ("a", ["null", "int"]),
                ("d", {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 1}),
                ("m", {"type": "map", "values": "float"}),
                ("u", ["int", "string"]),
                ("t", {"type": "int", "logicalType": "time-millis"}),
                ("r", record(("x", {"type": "long", "logicalType": "timestamp-millis"}), name="I")),
            )
        ),
        "`A` INTEGER, `D` DECIMAL(5, 1), `M` MAP<STRING, DOUBLE>, `U` STRUCT<`INT` INTEGER, `STRING` STRING>, "
        "`T` TIME, "
        "`R` STRUCT<`X` TIMESTAMP>",
    ),
    (
        "PROTOBUF",
        'syntax = "proto3"; import "google/type/timeofday.proto"; message M { oneof o { int32 a = 1; bytes b = 2; } '
        "uint32 c = 3; repeated google.type.TimeOfDay d = 4; map<string, M2> e = 5; message M2 { float f = 1; } }",
        "`O_0` STRUCT<`A` INTEGER, `B` BYTES>, `C` BIGINT, `D` ARRAY<TIME>, `E` MAP<STRING, STRUCT<`F` DOUBLE>>",
    ),
    (
        "JSON_SR",
        json.dumps(
            {
                "type": "object",
                "properties": {
                    "b": {"type": "number", "connect.index": 1},
                    "a": {"oneOf": [{"type": "null"}, {"type": "integer"}], "connect.index": 0},
                    "c": {"type": "array", "items": {"type": "boolean"}},
                },
            }
        ),
        "`A` BIGINT, `B` DOUBLE, `C` ARRAY<BOOLEAN>",
    ),
]


@pytest.mark.parametrize(("name", "text", "columns"), INFERRED, ids=[name for name, _, _ in INFERRED])
def test_inferred_types(name, text, columns):
    registry = MemoryRegistry()
    registered(registry, text, {"JSON_SR": "JSON"}.get(name, name), subject="t-value")
    assert ", ".join(map(str, KsqlCodec(name, registry=registry, topic="t").columns)) == columns


def test_a_schema_is_chosen_by_its_id(impl):
    registry = MemoryRegistry()
    text = record(("id", "long"), ("note", ["null", "string"]), name="Mine")
    text["fields"].append({"name": "extra", "type": "int", "default": 5})
    number = registered(registry, text)
    codec = codec_of("AVRO", None, registry=registry, properties={"VALUE_SCHEMA_ID": number})
    # Names are as they are.
    assert [column.name for column in codec.columns] == ["id", "note", "extra"]
    assert json.loads(codec.schema)["name"] == "Mine"
    part = codec_of("AVRO", "`id` BIGINT", registry=registry, properties={"VALUE_SCHEMA_ID": number})
    assert part.encode(pa.array([{"id": 1}])).to_pylist() == [framed(number, b"\x02\x00\x0a")]
    assert registry.subjects() == ["any"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            "ID BIGINT",
            r"columns are changed, missing or reordered: \[`ID` BIGINT\]. Schema from schema registry is",
        ),
        ("`b` INT, `a` INT", "columns are changed, missing or reordered"),
        ("`a` INT, `b` BIGINT", "columns are changed"),
    ],
)
def test_declared_columns_are_those_of_the_chosen_schema(columns, message):
    registry = MemoryRegistry()
    number = registered(registry, record(("a", "int"), ("b", "int")))
    with pytest.raises(SchemaError, match=message):
        codec_of("AVRO", columns, registry=registry, properties={"schemaId": number})


RECURSIVE = [
    ("AVRO", json.dumps(record(("a", ["null", "R"]), ("b", ["null", "R"]), ("c", "int")))),
    ("PROTOBUF", 'syntax = "proto3"; message R { R a = 1; R b = 2; int32 c = 3; }'),
    (
        "JSON_SR",
        json.dumps(
            {
                "type": "object",
                "properties": {
                    "a": {"$ref": "#"},
                    "b": {"$ref": "#"},
                    "c": {"type": "integer", "connect.type": "int32"},
                },
            }
        ),
    ),
]


@pytest.mark.parametrize(("name", "text"), RECURSIVE, ids=[name for name, _ in RECURSIVE])
def test_schemas_that_contain_themselves(impl, name, text):
    """Columns may be declared; to infer them there are too many."""
    registry = MemoryRegistry()
    registered(registry, text, {"JSON_SR": "JSON"}.get(name, name), subject="t-value")
    with pytest.raises(SchemaError, match="nested deeper than 64, or more than"):
        KsqlCodec(name, registry=registry, topic="t")
    codec = codec_of(name, "C INT, A STRUCT<A STRUCT<C INT>, X INT>", registry=registry)
    body = {
        "AVRO": b"\x02\x02\x00\x00\x0a\x00\x06\x00\x04",
        "PROTOBUF": b"\0\x0a\x04\x0a\x02\x18\x05\x18\x02",
        "JSON_SR": b'{"a":{"a":{"c":5},"c":3},"c":2}',
    }
    assert codec.decode([framed(1, body[name])]).to_pylist() == [{"C": 2, "A": {"A": {"C": 5}, "X": None}}]


def test_a_reference_to_itself():
    registry = MemoryRegistry()
    registered(registry, {"oneOf": [{"type": "null"}, {"$ref": "#"}]}, "JSON", subject="t-value")
    with pytest.raises(SchemaError, match="in circles"):
        KsqlCodec("JSON_SR", registry=registry, topic="t")


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


def test_what_is_not_inferred():
    registry = MemoryRegistry()
    with pytest.raises(
        SchemaError, match="Schema for message values on topic 't' does not exist in the Schema Registry"
    ):
        KsqlCodec("AVRO", registry=registry, topic="t")
    registered(registry, PROTO, "PROTOBUF", subject="t-value")
    with pytest.raises(SchemaError, match="You may want to set VALUE_FORMAT to 'PROTOBUF'"):
        KsqlCodec("AVRO", registry=registry, topic="t")
    with pytest.raises(
        SchemaError,
        match=r"multiple schema definitions.*\n\n- shop.Skip\n- shop.Order\n\n.*VALUE_SCHEMA_FULL_NAME",
    ):
        KsqlCodec("PROTOBUF", registry=registry, topic="t")
    with pytest.raises(ConfigError, match="needs registry="):
        KsqlCodec("AVRO")
    with pytest.raises(ConfigError, match="topic="):
        KsqlCodec("AVRO", registry=registry)
    registered(registry, '"int"', subject="bare-value")
    with pytest.raises(SchemaError, match="anonymous type"):
        KsqlCodec("AVRO", registry=registry, topic="bare")
    bare = KsqlCodec("AVRO", registry=registry, topic="bare", wrap=False)
    assert str(bare.columns[0]) == "`ROWVAL` INTEGER"
    registered(registry, record(("a", "int"), ("b", "int")), subject="two-key")
    assert [
        str(column) for column in KsqlCodec("AVRO", registry=registry, topic="two", key=True).columns
    ] == ["`ROWKEY` STRUCT<`A` INTEGER, `B` INTEGER> KEY"]


# Arguments ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "columns", "options", "message"),
    [
        ("AVRO", "M MAP<INT, INT>", {}, "Avro only supports MAPs with STRING keys"),
        ("PROTOBUF", "M MAP<INT, INT>", {}, "PROTOBUF format only supports MAP types with STRING keys"),
        ("JSON_SR", "M MAP<INT, INT>", {}, "JSON only supports MAP types with STRING keys"),
        ("PROTOBUF", "A ARRAY<ARRAY<INT>>", {}, "Array cannot be nested"),
        ("AVRO", "`1st` INT", {}, "Schema is not compatible with Avro"),
        ("PROTOBUF", "`a-b` INT", {}, "Invalid protobuf schema definition"),
        ("AVRO", "K MAP<STRING, INT> KEY", {"key": True}, "Map keys, including types that contain maps"),
    ],
)
def test_columns_that_a_format_does_not_have(name, columns, options, message):
    with pytest.raises(SchemaError, match=message):
        KsqlCodec(name, columns, **options)


@pytest.mark.parametrize(
    ("name", "properties", "message"),
    [
        ("AVRO", {"VALUE_AVRO_SCHEMA_FULL_NAME": " "}, "fullSchemaName cannot be empty"),
        (
            "JSON",
            {"VALUE_SCHEMA_FULL_NAME": "a"},
            r"JSON does not support the following configs: \[fullSchemaName\]",
        ),
        (
            "JSON",
            {"VALUE_SCHEMA_ID": 1},
            "VALUE_FORMAT should support schema inference when VALUE_SCHEMA_ID is provided",
        ),
        ("AVRO", {"VALUE_DELIMITER": "|"}, r"AVRO does not support the following configs: \[delimiter\]"),
        (
            "AVRO",
            {"VALUE_PROTOBUF_NULLABLE_REPRESENTATION": "OPTIONAL"},
            "can only be enabled with protobuf format",
        ),
        (
            "PROTOBUF",
            {"VALUE_PROTOBUF_NULLABLE_REPRESENTATION": "x"},
            "String must be one of: OPTIONAL, WRAPPER, null",
        ),
        ("PROTOBUF", {"WRAP_SINGLE_VALUE": False}, "does not support 'WRAP_SINGLE_VALUE' set to 'false'"),
        ("DELIMITED", {"WRAP_SINGLE_VALUE": "true"}, "does not support 'WRAP_SINGLE_VALUE' set to 'true'"),
        ("AVRO", {"KEY_SCHEMA_ID": 1}, "it is for keys"),
        ("AVRO", {"VALUE_THING": 1}, "Invalid config variable"),
        ("AVRO", {"schemaId": "x"}, "is not a number"),
        ("AVRO", {"VALUE_SCHEMA_FULL_NAME": "a", "VALUE_AVRO_SCHEMA_FULL_NAME": "b"}, "Cannot supply both"),
        ("PROTOBUF_NOSR", {"VALUE_SCHEMA_FULL_NAME": "a"}, "does not support the following configs"),
    ],
)
def test_wrong_properties(name, properties, message):
    with pytest.raises(ConfigError, match=message):
        KsqlCodec(name, "A INT", properties=properties)


def test_without_a_registry_there_is_a_schema(impl):
    codec = KsqlCodec("AVRO", "A INT", properties={"VALUE_SCHEMA_FULL_NAME": "shop.Order"})
    assert json.loads(codec.schema)["connect.name"] == "shop.Order"
    with pytest.raises(ConfigError, match="registry="):
        codec.decode([b"\0\0\0\0\1\0"])
    with pytest.raises(ConfigError, match="registry="):
        codec.encode(pa.array([{"A": 1}]))
    with pytest.raises(ConfigError, match="takes no registry="):
        KsqlCodec("JSON", "A INT", registry=MemoryRegistry())


def test_headers_may_name_the_schema(impl):
    registry = MemoryRegistry()
    number = registered(registry, record(("a", "int")))
    guid = bytes.fromhex(registry.get(number).guid.replace("-", ""))
    codec = codec_of("AVRO", "A INT", registry=registry)
    assert codec.decode([b"\x04"], headers=[b"\1" + guid]).to_pylist() == [{"A": 2}]
    with pytest.raises(ConfigError, match="no schemas"):
        KsqlCodec("JSON", "A INT").decode([b"{}"], headers=[None])


def test_what_was_fetched_is_pickled(impl, monkeypatch):
    registry = MemoryRegistry()
    number = registered(registry, record(("a", "int")))
    codec = codec_of("AVRO", "A INT", registry=registry)
    codec.decode([framed(number, b"\x04")])
    again = pickle.loads(pickle.dumps(codec))

    def refuse(*arguments):
        raise AssertionError("the registry is asked")

    monkeypatch.setattr(MemoryRegistry, "get", refuse)
    assert again.decode([framed(number, b"\x04")]).to_pylist() == [{"A": 2}]
    assert again == codec
    assert repr(again) == repr(codec)


@pytest.mark.parametrize("name", FORMATS)
def test_damaged_bytes_cost_their_row(impl, name):
    codec = codec_of(name, COLUMNS)
    good = codec.encode(pa.array([ROW], codec.arrow_type)).to_pylist()[0]
    values = [good[:cut] for cut in range(len(good))] + [good[:-1] + bytes([good[-1] ^ 0xFF]), good]
    array, report = codec.decode(values, errors="report")
    array.validate(full=True)
    assert comparable(array)[-1] == comparable(codec.decode([good]))[0]
    assert set(report["row"].to_pylist()) <= set(range(len(values) - 1))


def test_schemas_are_fetched_and_registered_in_advance(impl, monkeypatch):
    registry = MemoryRegistry()
    old = registered(registry, record(("a", "int"), name="KsqlDataSourceSchema"), subject="t-value")
    registry.set_config(Config("NONE"))
    codec = codec_of("AVRO", "A BIGINT", registry=registry)
    number = codec.register()
    codec.fetch()
    again = pickle.loads(pickle.dumps(codec))

    def refuse(*arguments, **options):
        raise AssertionError("the registry is asked")

    for name in ("get", "register", "get_version", "lookup"):
        monkeypatch.setattr(MemoryRegistry, name, refuse)
    written = again.encode(pa.array([{"A": 1}])).to_pylist()
    assert again.decode([*written, framed(old, b"\x04")]).to_pylist() == [{"A": 1}, {"A": 2}]
    assert written == [framed(number, b"\x02\x02")]


@pytest.mark.parametrize("name", FORMATS)
def test_nulls_within_and_slices(impl, name):
    """Protobuf has no nulls in lists; entries of null have the default."""
    codec = codec_of(name, "A ARRAY<STRING>, M MAP<STRING, INT>, R ARRAY<STRUCT<X INT>>")
    rows = [
        {"A": ["a", None], "M": [], "R": []},
        {"A": [], "M": [("k", None)], "R": []},
        {"A": [], "M": [], "R": [None]},
    ]
    array = pa.array(rows, codec.arrow_type)
    written, report = codec.encode(array, errors="report")
    found = codec.decode(written).to_pylist()
    if name == "PROTOBUF":
        assert report.select(["path", "code"]).to_pylist() == [
            {"path": "A[1]", "code": "null_value"},
            {"path": "R[0]", "code": "null_value"},
        ]
        assert found == [None, {"A": [], "M": [("k", 0)], "R": []}, None]
    else:
        assert found == rows
    part, _ = codec.encode(pa.concat_arrays([array] * 3).slice(2, 5), errors="report")
    assert part.to_pylist() == (written.to_pylist() * 3)[2:7]


def test_columns_that_a_chosen_message_lacks(impl):
    """Names of messages are taken as they are when written, and in upper case when inferred."""
    registry = MemoryRegistry()
    text = 'syntax = "proto3"; message A { int32 x = 1; } message B { A A = 1; }'
    registered(registry, text, "PROTOBUF", subject="t-value")
    codec = codec_of("PROTOBUF", None, registry=registry, properties={"VALUE_SCHEMA_FULL_NAME": "B"})
    with pytest.raises(SchemaError, match="Schema from Schema Registry misses field with name: X"):
        codec.encode(pa.array([{"A": {"X": 1}}]))
