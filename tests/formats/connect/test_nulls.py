"""Nulls of Connect's JSON: defaults, tombstones, columns of nulls."""

from decimal import Decimal

import pyarrow as pa
import pytest
from cases import cases
from connect_rows import DECIMAL, codes, rows, struct

from kcodec import CODES, ConnectJsonCodec, EncodeError, Limits
from kcodec.formats.connect import plan as connect_plan


@pytest.mark.parametrize("compat", [None, "connect"])
def test_a_given_schema_has_its_own_defaults(compat, impl):
    reader = struct(
        a={"type": "int32"}, b={"type": "string", "default": "none"}, c={"type": "int8", "optional": True}
    )
    writer = struct(a={"type": "int32"}, b={"type": "string", "optional": True})
    lacking = struct(a={"type": "int32"})
    codec = ConnectJsonCodec(reader, compat=compat)
    found = codec.decode(rows((writer, {"a": 1, "b": None}), (lacking, {"a": 2, "b": 7}), (reader, {"a": 3})))
    assert found.to_pylist() == [{"a": n, "b": "none", "c": None} for n in (1, 2, 3)]


@cases("compat", [None, "connect"])
@cases("replace", [True, False])
def test_nulls_and_defaults(compat, replace, impl):
    schema = struct(
        a={"type": "int32", "default": 7},
        b={"type": "string", "optional": True, "default": "x"},
        c={**DECIMAL, "default": "AJw="},
        d={"type": "array", "items": {"type": "int8"}, "default": [1, 2]},
    )
    codec = ConnectJsonCodec(schema, schemas_enable=False, replace_null_with_default=replace, compat=compat)
    values = [b'{"a":null,"b":null,"c":null,"d":null}', b"{}", b'{"a":1,"b":"y","c":0,"d":[]}']
    full = {"a": 1, "b": "y", "c": Decimal("0.00"), "d": []}
    array, report = codec.decode(values, errors="report")
    if replace:
        wanted = {"a": 7, "b": "x", "c": Decimal("1.56"), "d": [1, 2]}
        assert array.to_pylist() == [wanted, wanted, full]
        kind = pa.struct([field.with_nullable(True) for field in array.type])
        nulls = pa.array([{"a": None, "b": None, "c": None, "d": None}], kind)
        assert codec.encode(nulls).to_pylist() == [b'{"a":7,"b":"x","c":"AJw=","d":[1,2]}']
        assert codec.encode(pa.array([{"a": 1}], pa.struct([("a", pa.int32())]))).to_pylist() == [
            b'{"a":1,"b":"x","c":"AJw=","d":[1,2]}'
        ]
    else:
        assert array.to_pylist() == [None, None, full]
        assert set(report["code"].to_pylist()) <= {"null_value", "missing_key"}


@pytest.mark.parametrize("compat", [None, "connect"])
def test_no_payload_reaches_a_field_that_its_schema_lacks(compat, impl):
    codec = ConnectJsonCodec(struct(x={"type": "int8", "default": 5}), compat=compat)
    payload = {"x": 7, "\0x": 7, connect_plan.ABSENT[:5] + "x": 7}
    assert codec.decode(rows((struct(), payload))).to_pylist() == [{"x": 5}]
    bounded = ConnectJsonCodec(
        struct(x={"type": "string", "default": "text"}), compat=compat, limits=Limits(max_expansion=3)
    )
    _, report = bounded.decode(rows((struct(), {})), errors="report")
    assert (report["path"].to_pylist(), report["code"].to_pylist()) == (["x"], ["size_limit"])


@pytest.mark.parametrize("compat", [None, "connect"])
def test_defaults_do_not_multiply(compat, impl):
    nested = {"type": "string", "default": "x" * 1000}
    for _ in range(4):
        nested = {"type": "array", "items": nested, "default": [None] * 1000}
    good = rows(({"type": "int32"}, 1))
    array, report = ConnectJsonCodec(compat=compat).decode(rows((nested, None)) + good, errors="report")
    assert array.to_pylist() == [None, 1]
    assert report["reason"].to_pylist() == [CODES["size_limit"]]


def test_defaults_are_bounded_in_rows_that_are_read_again(impl):
    number = {"type": "int8"}
    reader = struct(n=number, s={"type": "string", "default": "x" * 100})
    lacking, optional = struct(n=number), struct(n=number, s={"type": "string", "optional": True})
    codec = ConnectJsonCodec(
        {"type": "array", "items": reader}, compat="connect", limits=Limits(max_expansion=1000)
    )
    for writer in (reader, lacking, optional):
        schema = {"type": "array", "items": writer}
        array, report = codec.decode(
            rows((schema, [{"n": 300}] * 20), (schema, [{"n": 300}])), errors="report"
        )
        assert codes(report) == ([0], ["size_limit"])
        assert array[1].as_py() == [{"n": 44, "s": "x" * 100}]
    value = rows(({"type": "array", "items": reader}, [{"n": 300}] * 20))
    assert codec.to_schemaless(value, errors="report")[1]["code"].to_pylist() == ["size_limit"]


@pytest.mark.parametrize("compat", [None, "connect"])
def test_a_null_without_a_schema_is_a_null(compat, impl):
    for schema in ({"type": "int32"}, {"type": "int32", "default": 5}, struct(a={"type": "int8"})):
        codec = ConnectJsonCodec(schema, compat=compat)
        assert codec.decode(rows((None, None))).to_pylist() == [None]
    assert ConnectJsonCodec({"type": "int32"}, compat=compat).decode(rows((None, 7))).to_pylist() == [7]


def test_tombstones(impl):
    schema = {"type": "int32", "optional": True}
    array = pa.array([1, None], pa.int32())
    text = '{"schema":{"type":"int32","optional":true},"payload":%s}'
    assert ConnectJsonCodec(schema).encode(array).to_pylist() == [(text % 1).encode(), None]
    for codec in (ConnectJsonCodec(schema, tombstones=False), ConnectJsonCodec(schema, compat="connect")):
        assert codec.encode(array).to_pylist() == [(text % 1).encode(), (text % "null").encode()]
        assert codec.decode(codec.encode(array)).to_pylist() == [1, None]
    assert ConnectJsonCodec(schema, compat="connect", tombstones=True).encode(array)[1].as_py() is None
    required = ConnectJsonCodec({"type": "int32"}, tombstones=False)
    with pytest.raises(EncodeError, match="null_value: row 1: Conversion error: null value for field"):
        required.encode(array)
    assert codes(required.encode(array, errors="report")[1]) == ([1], ["null_value"])


@pytest.mark.parametrize("compat", [None, "connect"])
def test_columns_of_arrow_may_be_null(compat, impl):
    array = pa.array([{"a": 1}, None], pa.struct([("a", pa.int8())]))
    for codec in (ConnectJsonCodec(compat=compat), ConnectJsonCodec(array.type, compat=compat)):
        written = codec.encode(array)
        assert (written[1].as_py() is None) == (compat is None)
        assert codec.decode(written).to_pylist() == array.to_pylist()
    plain = ConnectJsonCodec(array.type, schemas_enable=False, compat=compat)
    assert plain.decode([b'{"a":1}', b"null"]).to_pylist() == array.to_pylist()


@pytest.mark.parametrize("compat", [None, "connect"])
def test_a_column_of_nulls_is_written_as_it_was_read(impl, compat):
    codec = ConnectJsonCodec(compat=compat)
    array = codec.decode([None, b'{"schema":null,"payload":null}', None])
    assert array.type == pa.null()
    assert codec.encode(array).to_pylist() == [None] * 3
    assert codec.encode(pa.chunked_array([array, array])).num_chunks == 2
    large = ConnectJsonCodec(compat=compat, large=True)
    assert large.encode(array).type == pa.large_binary()


@pytest.mark.parametrize("kind", ["int16", "double"])
def test_a_null_key_is_no_default(kind, impl):
    """Arrow has no null keys; the default stands for nulls only where the setting says so."""
    key = {"type": kind, "optional": True, "default": 1}
    (row,) = rows(({"type": "map", "keys": key, "values": {"type": "int8"}}, [[None, 1]]))
    for compat in (None, "connect"):
        codec = ConnectJsonCodec(compat=compat, replace_null_with_default=False)
        _, report = codec.decode([row], errors="report")
        assert report["code"].to_pylist() == ["null_value"]
