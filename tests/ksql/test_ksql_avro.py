"""Avro of any schema in ksqlDB's columns."""

import datetime
import json
import struct
from decimal import Decimal

import pyarrow as pa
import pytest
from ksql_codecs import UTC, codec_of, framed, record, registered

from kcodec import DecodeError
from kcodec.registry.memory import MemoryRegistry


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


def test_maps_of_entries(impl):
    """What Connect writes of maps whose keys are not all strings: the last entry of a key counts, a null is no key."""

    def decoded(key, *bodies):
        fields = [{"name": "key", "type": key}, {"name": "value", "type": "string"}]
        items = {"type": "record", "name": "MapEntry", "connect.internal.type": "MapEntry", "fields": fields}
        registry = MemoryRegistry()
        number = registered(registry, record(("m", {"type": "array", "items": items})))
        codec = codec_of("AVRO", "M MAP<STRING, STRING>", registry=registry)
        rows, report = codec.decode([framed(number, body) for body in bodies], errors="report")
        maps = [None if row is None else row["M"] for row in rows.to_pylist()]
        return maps, [tuple(fault.values())[:5] for fault in report.to_pylist()]

    twice = b"\x06\x02\x02a\x04\x02b\x02\x02c\x00"
    assert decoded("int", twice, b"\x00") == ([[("2", "b"), ("1", "c")], []], [])
    null = b"\x04\x02\x02\x02a\x00\x02b\x00"
    lost = (0, None, "M[1].key", "null_value", "a key of a map is null")
    assert decoded(["null", "int"], null, b"\x02\x02\x02\x02a\x00") == ([None, [("1", "a")]], [lost])
    maps, [(*where, reason)] = decoded("bytes", b"\x02\x02a\x02b\x00", b"\x00")
    assert (maps, where) == ([None, []], [0, None, "M[0].key", "unresolvable"])
    assert reason == "Cannot deserialize type bytes as type string for path: ->M->MAP_KEY"


def test_a_root_of_another_type_is_no_schema_of_the_columns(impl):
    registry = MemoryRegistry()
    number = registered(registry, '"string"')
    codec = codec_of("AVRO", "A INT", registry=registry)
    _, report = codec.decode([framed(number, b"\x02a")], errors="report")
    assert report["code"].to_pylist() == ["schema_error"]
    assert "Cannot deserialize type string as type struct" in report["reason"][0].as_py()


def test_nulls_are_written_as_the_defaults_of_their_fields(impl):
    """Those of a union with null, and of types below a field, are for others."""
    registry = MemoryRegistry()
    kinds = [
        ("a", "int", 5, "INT", b"\x0a"),
        ("b", {"type": "array", "items": "string"}, ["x"], "ARRAY<STRING>", b"\x02\x02x\x00"),
        (
            "c", {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 1}, "\u0005",
            "DECIMAL(4, 1)", b"\x02\x05",
        ),
        ("d", {"type": "int", "logicalType": "date"}, 3, "DATE", b"\x06"),
        ("e", {"type": "long", "logicalType": "timestamp-millis"}, 5000, "TIMESTAMP", b"\x90\x4e"),
        (
            "f", record(("x", "int"), ("y", ["null", "string"]), name="P"), {"x": 2, "y": None},
            "STRUCT<`x` INT, `y` STRING>", b"\x04\x00",
        ),
        ("g", {"type": "map", "values": "long"}, {"k": 3}, "MAP<STRING, BIGINT>", b"\x02\x02k\x06\x00"),
        ("h", {"type": "enum", "name": "N", "symbols": ["X", "Y"]}, "Y", "STRING", b"\x02"),
        ("i", {"type": "fixed", "name": "Z", "size": 2}, "\u0001\u00fe", "BYTES", b"\x01\xfe"),
        ("j", "string", "\u00e9", "STRING", b"\x04\xc3\xa9"),
        ("k", ["int", "null"], 7, "INT", b"\x02"),
        ("l", ["null", {"type": "int", "connect.default": 7}], None, "INT", b"\x02\x0e"),
        ("m", ["int", "null", "string"], 7, "STRUCT<`int` INT, `string` STRING>", b"\x00\x0e"),
        ("n", {"type": "int", "logicalType": "time-millis"}, 9, "TIME", b"\x12"),
    ]  # fmt: skip
    fields = [{"name": name, "type": kind, "default": default} for name, kind, default, *_ in kinds]
    number = registered(registry, {"type": "record", "name": "R", "fields": fields})
    columns = ", ".join(f"`{name}` {sql}" for name, _, _, sql, _ in kinds)
    codec = codec_of("AVRO", columns, registry=registry, properties={"VALUE_SCHEMA_ID": number})
    body = b"".join(each[-1] for each in kinds)
    for rows in (
        pa.array([dict.fromkeys(name for name, *_ in kinds)], codec.arrow_type),
        pa.array([{"a": None}], pa.struct([("a", pa.null())])),
        pa.array(
            [{"a": None, "f": None}], pa.struct([("a", pa.int16()), ("f", codec.arrow_type.field("f").type)])
        ),
    ):
        assert codec.encode(pa.concat_arrays([rows, rows])).to_pylist() == [framed(number, body)] * 2
    # Nothing of it for items, and for what is not null.
    given = {"a": 1, "b": [], "f": {"x": 3, "y": "z"}}
    part = framed(number, b"\x02\x00")
    assert codec.encode(pa.array([given], codec.arrow_type)).to_pylist()[0].startswith(part)
    array, report = codec.encode(pa.array([{"b": [None]}], codec.arrow_type), errors="report")
    assert (array.to_pylist(), report["code"].to_pylist()) == ([None], ["null_value"])


def test_unions_of_several_types_are_written(impl):
    registry = MemoryRegistry()
    union = ["null", "int", "string", record(("x", "int"), name="P")]
    number = registered(
        registry, record(("u", union), ("l", {"type": "array", "items": ["bytes", "string"]}))
    )
    codec = codec_of("AVRO", None, registry=registry, properties={"VALUE_SCHEMA_ID": number})
    assert str(codec.columns[0]) == "`u` STRUCT<`int` INTEGER, `string` STRING, `P` STRUCT<`x` INTEGER>>"
    rows = [
        {"u": {"int": 1}, "l": [{"bytes": b"b"}, {"string": "s"}]},
        {"u": {"P": {"x": 2}}, "l": []},
        {"u": None, "l": []},
        {"u": {"int": 1, "string": "s"}, "l": []},
    ]
    written, report = codec.encode(pa.array(rows, codec.arrow_type), errors="report")
    assert written.to_pylist() == [
        framed(number, b"\x02\x02\x04\x00\x02b\x02\x02s\x00"),
        framed(number, b"\x06\x04\x00"),
        framed(number, b"\x00\x00"),
        None,
    ]
    assert report.select(["row", "path", "code"]).to_pylist() == [
        {"row": 3, "path": "u", "code": "union_members"}
    ]
    assert codec.decode(written.slice(0, 1)).to_pylist()[0]["u"]["int"] == 1


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
