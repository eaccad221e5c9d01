"""Connect's JSON in columns of given types: times, unusual ones, wider ones."""

import datetime
import json
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from cases import cases
from connect_rows import DECIMAL, codes, rows, struct

from kcodec import ConfigError, ConnectJsonCodec, ConnectSchema, DecodeError, EncodeError, SchemaError


def test_an_arrow_type_drives(impl):
    kind = pa.struct(
        [
            pa.field("id", pa.int64(), nullable=False),
            ("price", pa.decimal128(9, 2)),
            ("at", pa.timestamp("ms", "UTC")),
            ("day", pa.date32()),
            ("clock", pa.time64("us")),
            ("raw", pa.binary()),
            ("counts", pa.map_(pa.int32(), pa.int64())),
        ]
    )
    codec = ConnectJsonCodec(kind, schemas_enable=False)
    assert codec.arrow_type == kind
    data = b'{"id":1,"price":1.5,"at":1000,"day":1,"clock":5,"raw":"AQI=","counts":[[1,2],[3,null]]}'
    array = codec.decode([data])
    row = array.to_pylist()[0]
    assert row["price"] == Decimal("1.50")
    assert row["clock"].microsecond == 5000
    assert row["counts"] == [(1, 2), (3, None)]
    written = codec.encode(array)[0].as_py()
    assert json.loads(written) == {**json.loads(data), "price": "AJY="}
    assert ConnectJsonCodec().decode(ConnectJsonCodec().encode(array)).to_pylist()[0]["raw"] == b"\x01\x02"
    with pytest.raises(SchemaError, match="Connect has no type for Arrow's"):
        ConnectJsonCodec(pa.struct([("a", pa.duration("s"))]))
    with pytest.raises(SchemaError, match="a: Connect has no fields without a name"):
        ConnectJsonCodec(pa.struct([("a", pa.struct([("", pa.int64())]))]))


@pytest.mark.parametrize("compat", [None, "connect"])
def test_columns_that_are_read_as_plainer_ones(compat, impl):
    kind = pa.struct(
        [
            ("a", pa.dictionary(pa.int8(), pa.string())),
            ("b", pa.list_(pa.large_binary(), 2)),
            ("c", pa.map_(pa.string(), pa.uint64())),
            ("d", pa.timestamp("s")),
            ("e", pa.decimal32(5, 2) if hasattr(pa, "decimal32") else pa.decimal128(5, 2)),
            ("f", pa.string_view()),
            ("g", pa.date64()),
        ]
    )
    codec = ConnectJsonCodec(kind, schemas_enable=False, compat=compat)
    values = ['{"a":"x","b":["AQ==","Ag=="],"c":{"k":18446744073709551615},"d":1500,"e":1.5,"f":"y","g":1}']
    array = codec.decode(values)
    assert array.type == codec.arrow_type
    assert [str(field.type) for field in array.type] == [
        "large_string",
        "large_list<item: large_binary>",
        "map<large_string, decimal128(20, 0)>",
        "timestamp[ms]",
        "decimal128(5, 2)",
        "large_string",
        "date64[ms]",
    ]
    assert array.to_pylist()[0]["c"] == [("k", Decimal(2**64 - 1))]
    assert codec.decode(codec.encode(array)).equals(array)


@pytest.mark.parametrize("compat", [None, "connect"])
def test_times_as_integers(compat, impl):
    schema = struct(
        **{
            name.lower(): {"type": kind, "name": f"org.apache.kafka.connect.data.{name}"}
            for name, kind in (("Date", "int32"), ("Time", "int32"), ("Timestamp", "int64"))
        }
    )
    payload = {"date": -1, "time": 86_400_000, "timestamp": 2**60}
    kind = pa.struct([("date", pa.int32()), ("time", pa.int32()), ("timestamp", pa.int64())])
    array = ConnectJsonCodec(kind, compat=compat).decode(rows((schema, payload)))
    assert array.to_pylist() == [payload]
    writer = ConnectJsonCodec(schema, schemas_enable=False, compat=compat)
    if compat is None:
        assert json.loads(writer.encode(array)[0].as_py()) == payload
    else:
        with pytest.raises(
            EncodeError, match=r"date: Invalid type for Date, expected Date but was class java.lang"
        ):
            writer.encode(array)


@pytest.mark.parametrize("compat", [None, "connect"])
def test_logical_types_are_not_read_as_each_other(compat, impl):
    kinds = {"Date": pa.date32(), "Time": pa.time32("ms"), "Timestamp": pa.timestamp("us", "UTC")}
    for name, other in (("Date", "Time"), ("Time", "Timestamp"), ("Timestamp", "Date")):
        schema = {"type": "int64", "name": f"org.apache.kafka.connect.data.{name}"}
        codec = ConnectJsonCodec(kinds[other], compat=compat)
        assert codec.decode(rows((schema, 0)), errors="report")[1]["code"].to_pylist() == ["unresolvable"]
    array, report = ConnectJsonCodec(
        struct(a={**DECIMAL, "type": "map", "keys": DECIMAL, "values": DECIMAL}),
        schemas_enable=False,
        compat=compat,
    ).decode([b'{"a":{}}', b'{"a":"AJw="}', b'{"a":1.5}', b'{"a":"!"}'], errors="report")
    found = [row and row["a"] for row in array.to_pylist()]
    # Java reads them too, and then finds that they are no maps.
    assert found == [None, *([Decimal("1.56"), Decimal("1.50")] if compat is None else [None, None]), None]
    assert codes(report)[0] == ([0, 3] if compat is None else [0, 1, 2, 3])


@pytest.mark.parametrize("kind", [None, pa.time32("s"), pa.time64("us")])
def test_the_end_of_the_day_is_no_time(impl, kind):
    codec = ConnectJsonCodec(kind or ConnectSchema.time(), schemas_enable=False, compat="connect")
    array, report = codec.decode([b"86399000", b"86400000", b"86400001"], errors="report")
    assert array.to_pylist() == [datetime.time(23, 59, 59), None, None]
    assert report["code"].to_pylist() == ["out_of_range"] * 2
    assert report["reason"].to_pylist() == [
        f"86400000 ms is outside the range of {array.type}",
        "Time values must use number of milliseconds greater than 0 and less than 86400000",
    ]
    whole = ConnectJsonCodec(ConnectSchema.time(), schemas_enable=False, compat="connect")
    assert whole.encode(pa.array([86_399_999], pa.time32("ms"))).to_pylist() == [b"86399999"]


def test_the_end_of_the_day_as_an_integer(impl):
    schema = ConnectSchema("struct", fields={"a": ConnectSchema.time()})
    row = b'{"schema":%s,"payload":{"a":86400000}}' % schema.to_text().encode()
    for compat in (None, "connect"):
        codec = ConnectJsonCodec(pa.struct([pa.field("a", pa.int32())]), compat=compat)
        assert codec.decode([row]).to_pylist() == [{"a": 86_400_000}]


def test_the_schema_of_a_row_bounds_it_in_wider_columns(impl):
    values = rows(
        ({"type": "double"}, 1.5),
        ({"type": "int8"}, 300),
        ({"type": "int8"}, 1.5),
        ({"type": "int32"}, 9e99),
        ({"type": "float"}, 1e39),
        ({"type": "float"}, 0.1),
        ({"type": "int64"}, 2**53 + 1),
        ({"type": "int64"}, 2**53),
    )
    strict = ConnectJsonCodec({"type": "double"})
    array, report = strict.decode(values, errors="report")
    narrow = float(np.float32(0.1))
    assert array.to_pylist() == [1.5, None, None, None, None, narrow, None, 2.0**53]
    wrong = ["out_of_range", "inexact", "out_of_range", "out_of_range", "inexact"]
    assert codes(report) == ([1, 2, 3, 4, 6], wrong)
    for some, row in ((values, 1), (values[6:], 0), ([values[5], values[0], *values[3:]], 2)):
        with pytest.raises(DecodeError) as caught:
            strict.decode(some)
        assert caught.value.row == row
    lenient = ConnectJsonCodec({"type": "double"}, compat="connect").decode(values).to_pylist()
    assert lenient == [1.5, 44, 1, 0, float("inf"), narrow, 2.0**53, 2.0**53]
    single = rows(({"type": "int32"}, 2**24 + 1), ({"type": "int16"}, 7))
    array, report = ConnectJsonCodec({"type": "float"}).decode(single, errors="report")
    assert (array.to_pylist(), codes(report)) == ([None, 7.0], ([0], ["inexact"]))
    assert ConnectJsonCodec({"type": "float"}, compat="connect").decode(single).to_pylist() == [2.0**24, 7.0]


def test_numbers_widen_within_other_values(impl):
    def record(number, **more):
        return struct(
            a={"type": "array", "items": {"type": number}},
            m={"type": "map", "keys": {"type": "string"}, "values": {"type": number}, "optional": True},
            **more,
        )

    reader = record("double", new={"type": "string", "default": "d"})
    writer = record("int64", old={"type": "int8"})
    values = rows(
        (reader, {"a": [0.5], "m": None, "new": "n"}),
        (writer, {"a": [1], "m": {"k": 2}, "old": "passed over"}),
        (writer, {"a": [1, 2**53 + 1]}),
        (writer, {"a": [], "m": {"k": 2**60 + 1}}),
    )
    array, report = ConnectJsonCodec(reader).decode(values, errors="report")
    assert array.to_pylist()[:2] == [
        {"a": [0.5], "m": None, "new": "n"},
        {"a": [1.0], "m": [("k", 2.0)], "new": "d"},
    ]
    assert codes(report) == ([2, 3], ["inexact"] * 2)
    assert report["path"].to_pylist() == ["a[1]", "m[0].value"]
    # Nulls around fields that have none, and rows that are bad in themselves.
    nested = [struct(o={**record(number), "optional": True}) for number in ("double", "int64")]
    values = rows(
        (nested[1], {"o": None}),
        (nested[1], {"o": {"a": [2**53 + 1]}}),
        (nested[1], {"o": {"a": [1.5]}}),
        (nested[0], {"o": {"a": [1.5]}}),
        (nested[1], {"o": {"a": [2**60]}}),
    )
    array, report = ConnectJsonCodec(nested[0]).decode([None, *values], errors="report")
    array.validate(full=True)
    fields = [{"o": None}, None, None, {"o": {"a": [1.5], "m": None}}, {"o": {"a": [2.0**60], "m": None}}]
    assert array.to_pylist() == [None, *fields]
    assert codes(report) == ([2, 3], ["inexact"] * 2)
    assert report["path"].to_pylist() == ["o.a[0]"] * 2


def test_unsigned_and_unusual_columns_are_written(impl):
    array = pa.array(
        [{"u": 2**64 - 1, "h": np.float16(1.5), "f": pa.scalar(0.1, pa.float32()).as_py(), "d": "x", "t": 1}],
        pa.struct(
            [
                ("u", pa.uint64()),
                ("h", pa.float16()),
                ("f", pa.float32()),
                ("d", pa.dictionary(pa.int8(), pa.string())),
                ("t", pa.timestamp("s")),
            ]
        ),
    )
    codec = ConnectJsonCodec(schemas_enable=False, decimal_format="NUMERIC")
    assert codec.encode(array).to_pylist() == [b'{"u":18446744073709551615,"h":1.5,"f":0.1,"d":"x","t":1000}']
    finer = pa.array([1500], pa.timestamp("us"))
    with pytest.raises(EncodeError, match="inexact"):
        codec.encode(finer)
    with pytest.raises(SchemaError, match="the schema has no field x"):
        ConnectJsonCodec(struct(a={"type": "int8"})).encode(pa.array([{"a": 1, "x": 2}]))
    with pytest.raises(SchemaError, match="no column for the field a"):
        ConnectJsonCodec(struct(a={"type": "int8"})).encode(pa.array([{}], pa.struct([])))
    with pytest.raises(SchemaError, match="a: a column of string is not written as int8"):
        ConnectJsonCodec(struct(a={"type": "int8"})).encode(pa.array([{"a": "1"}]))


@cases("compat", [None, "connect"])
@cases("enveloped", [True, False])
@cases("kind", [pa.float32(), pa.float64()])
def test_what_is_not_finite_is_read_as_it_was_written(compat, enveloped, kind, impl):
    fields = [("f", kind), ("l", pa.list_(kind)), ("m", pa.map_(pa.int32(), kind))]
    rows = [
        {"f": value, "l": [value, 1.5, None], "m": [(1, value)]}
        for value in (float("nan"), float("inf"), -float("inf"), 0.5, None)
    ]
    column = pa.array(rows, pa.struct(fields))
    codec = ConnectJsonCodec(pa.schema(fields), schemas_enable=enveloped, compat=compat, nonfinite=True)
    encoded = codec.encode(column)
    assert b'"f":"NaN"' in encoded[0].as_py()
    assert str(codec.decode(encoded).to_pylist()) == str(column.to_pylist())
    plain = ConnectJsonCodec(pa.schema(fields), schemas_enable=enveloped, compat=compat)
    if compat is None:
        assert plain.decode(encoded, errors="report")[1]["code"].to_pylist() == ["json_type"] * 3
    else:
        assert plain.decode(encoded)[0]["f"].as_py() == 0.0
    assert codec != plain


@pytest.mark.parametrize("compat", [None, "connect"])
def test_floats_that_are_not_finite_widen(compat, impl):
    schema = {"type": "array", "items": {"type": "double"}}
    row = b'{"schema":{"type":"array","items":{"type":"float"}},"payload":["NaN","-Infinity",1.5]}'
    codec = ConnectJsonCodec(schema, compat=compat, nonfinite=True)
    assert str(codec.decode([row]).to_pylist()) == "[[nan, -inf, 1.5]]"
    # Other texts are none.
    for text in (b'"nan"', b'"+Infinity"', b'""', b'"1.5"', b"true"):
        found, report = codec.decode([row.replace(b'"NaN"', text)], errors="report")
        if compat is None:
            assert report["code"].to_pylist() == ["json_type"]
        else:
            assert found[0].as_py() == [0.0, -float("inf"), 1.5]
    assert str(codec.to_schemaless([row])) == "[[nan, -inf, 1.5]]"


def test_nonfinite_is_true_or_false():
    with pytest.raises(ConfigError, match="nonfinite"):
        ConnectJsonCodec(nonfinite="yes")


def test_types_that_are_nested_too_deeply():
    kind = pa.int8()
    for _ in range(3000):
        kind = pa.list_(kind)
    with pytest.raises(SchemaError, match="nested too deeply"):
        ConnectSchema.from_arrow(kind)
    with pytest.raises(SchemaError, match="nested too deeply"):
        ConnectJsonCodec(kind)
