"""Any columns of ksqlDB through its registered formats and back, and damaged payloads on both implementations."""

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from side_by_side import comparable, on_both

from kcodec import KsqlCodec, SchemaError
from kcodec.ksql.types import SqlColumn, SqlField, SqlType
from kcodec.registry import Schema
from kcodec.registry.memory import MemoryRegistry

DAY = 86_400_000
LEAVES = ("BOOLEAN", "INTEGER", "BIGINT", "DOUBLE", "STRING", "BYTES", "TIME", "DATE", "TIMESTAMP", "DECIMAL")
NAMES = ("A", "B", "c", "D_1")


@st.composite
def records(draw, depth):
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
    return SqlType("STRUCT", fields=tuple(SqlField(name, draw(types(depth))) for name in names))


@st.composite
def types(draw, depth, lists=True):
    """Types, without lists and maps if these stand in such: Protobuf and Connect have none there."""
    base = draw(st.sampled_from([*LEAVES, *["STRUCT"] * depth, *["MAP", "ARRAY"] * (depth * lists)]))
    if base == "DECIMAL":
        precision = draw(st.integers(1, 50))
        return SqlType("DECIMAL", precision, draw(st.integers(0, precision)))
    if base == "STRUCT":
        return draw(records(depth - 1))
    if base in ("ARRAY", "MAP"):
        key = SqlType("STRING") if base == "MAP" else None
        return SqlType(base, key=key, item=draw(types(depth - 1, lists=False)))
    return SqlType(base)


def values(kind, nulls):
    """Values as integers, bytes and text that Arrow's storage types take."""
    base = kind.base
    leaf = {
        "BOOLEAN": st.booleans(),
        "INTEGER": st.integers(-(1 << 31), (1 << 31) - 1),
        "BIGINT": st.integers(-(1 << 63), (1 << 63) - 1),
        "DOUBLE": st.floats(allow_nan=False, allow_infinity=False),
        "STRING": st.text(st.characters(codec="utf-8"), max_size=5),
        "BYTES": st.binary(max_size=5),
        "TIME": st.integers(0, DAY - 1),
        "DATE": st.integers(-719_000, 2_900_000),
        "TIMESTAMP": st.integers(-62_000_000_000_000, 250_000_000_000_000).map(lambda millis: millis * 1000),
    }
    if base in leaf:
        made = leaf[base]
    elif base == "DECIMAL":
        limit = 10**kind.precision - 1
        made = st.integers(-limit, limit).map(lambda number: (number, kind.scale))
    elif base == "ARRAY":
        made = st.lists(values(kind.item, False), max_size=3)
    elif base == "MAP":
        made = st.dictionaries(st.text("ab", max_size=2), values(kind.item, False), max_size=3).map(
            lambda entries: list(entries.items())
        )
    else:
        made = st.fixed_dictionaries({field.name: values(field.type, nulls) for field in kind.fields})
    return st.none() | made if nulls and base not in ("ARRAY", "MAP") else made


def arrow(rows, kind, target):
    """Make an array of such values."""
    base = kind.base
    if base == "STRUCT":
        parts = [
            arrow([None if row is None else row[field.name] for row in rows], field.type, below.type)
            for field, below in zip(kind.fields, target, strict=True)
        ]
        return pa.StructArray.from_arrays(
            parts, fields=list(target), mask=pa.array([row is None for row in rows], pa.bool_())
        )
    if base in ("ARRAY", "MAP"):
        offsets = [0]
        for row in rows:
            offsets.append(offsets[-1] + len(row or ()))
        flat = [item for row in rows for item in row or ()]
        mask = pa.array([row is None for row in rows], pa.bool_())
        if base == "ARRAY":
            items = arrow(flat, kind.item, target.value_type)
            return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items, mask=mask)
        keys = pa.array([key for key, _ in flat], pa.string())
        items = arrow([item for _, item in flat], kind.item, target.item_type)
        return pa.MapArray.from_arrays(pa.array(offsets, pa.int32()), keys, items)
    if base == "DECIMAL":
        width = target.bit_width // 8
        data = b"".join((0 if row is None else row[0]).to_bytes(width, "little", signed=True) for row in rows)
        valid = pa.array([row is not None for row in rows], pa.bool_()).buffers()[1]
        return pa.Array.from_buffers(target, len(rows), [valid, pa.py_buffer(data)])
    if base in ("TIME", "DATE"):
        return pa.array(rows, pa.int32()).cast(target)
    if base == "TIMESTAMP":
        return pa.array(rows, pa.int64()).cast(target)
    return pa.array(rows, target)


@st.composite
def tables(draw):
    record = draw(records(2))
    return record, draw(st.lists(values(record, True), max_size=4))


@pytest.mark.parametrize("name", ["AVRO", "PROTOBUF", "JSON_SR"])
@given(tables())
def test_rows_come_back(name, table):
    record, rows = table
    columns = tuple(SqlColumn(field.name, field.type) for field in record.fields)
    options = {"properties": {"nullableRepresentation": "optional"}} if name == "PROTOBUF" else {}

    def act():
        codec = KsqlCodec(name, columns, registry=MemoryRegistry(), topic="t", **options)
        array = arrow(rows, record, codec.arrow_type)
        written = codec.encode(array)
        for start in range(len(array)):
            assert codec.encode(array[start:]) == written[start:]
        found = codec.decode(written)
        found.validate(full=True)
        if name != "PROTOBUF":
            assert comparable(found) == comparable(array)
        else:
            # Protobuf has lists and maps that are null as empty ones.
            assert comparable(codec.decode(codec.encode(found))) == comparable(found)
            assert [row is None for row in found.to_pylist()] == [row is None for row in rows]
        damaged = [
            row[:cut] + bytes([cut]) for row in written.to_pylist() if row for cut in range(5, len(row), 7)
        ]
        kept, report = codec.decode(damaged, errors="report")
        kept.validate(full=True)
        return written.to_pylist(), comparable(found), comparable(kept), report.drop(["reason"]).to_pylist()

    on_both(act)


# Documents of any schema ---------------------------------------------------------------------------------

LEAF_SCHEMAS = st.sampled_from(
    [
        {"type": "integer"},
        {"type": "integer", "connect.type": "int8"},
        {"type": "number"},
        {"type": "string"},
        {"type": "string", "default": "x"},
        {"type": "boolean"},
        {"type": ["string", "boolean"]},
        {"enum": ["a", 1]},
        {
            "type": "number",
            "title": "org.apache.kafka.connect.data.Decimal",
            "connect.type": "bytes",
            "connect.parameters": {"scale": "2", "connect.decimal.precision": "6"},
        },
    ]
)


def combined(below):
    properties = st.dictionaries(st.sampled_from("abc"), below, min_size=1, max_size=3)
    members = st.lists(st.just({"type": "null"}) | below, min_size=1, max_size=3)
    return (
        st.builds(lambda key, each: {key: each}, st.sampled_from(["oneOf", "anyOf", "allOf"]), members)
        | st.builds(lambda each: {"type": "object", "properties": each}, properties)
        | st.builds(lambda each: {"type": "array", "items": each, "default": [1]}, below)
        | st.builds(
            lambda each: {"type": "object", "connect.type": "map", "additionalProperties": each}, below
        )
    )


SCHEMAS = st.recursive(LEAF_SCHEMAS, combined, max_leaves=6)
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(-300, 300) | st.sampled_from([1.5, 1e3, "x", "a", 1 << 40]),
    lambda below: st.lists(below, max_size=2) | st.dictionaries(st.sampled_from("abc"), below, max_size=3),
    max_leaves=5,
)


@given(SCHEMAS, st.lists(DOCUMENTS, min_size=1, max_size=4))
def test_documents_of_any_schema(schema, documents):
    """What one implementation reads, the other reads; and what is read strictly ksqlDB reads as the same."""
    registry = MemoryRegistry()
    text = json.dumps({"type": "object", "properties": {"p": schema}})
    number = registry.register("t-value", Schema(text, "JSON")).id
    payloads = [bytes(1) + number.to_bytes(4, "big") + json.dumps({"p": each}).encode() for each in documents]

    def act(compat):
        try:
            codec = KsqlCodec("JSON_SR", registry=registry, topic="t", compat=compat)
        except SchemaError as error:
            return str(error)
        array, report = codec.decode(payloads, errors="report")
        array.validate(full=True)
        return comparable(array), report.drop(["reason"]).to_pylist()

    strict, lenient = (on_both(lambda compat=compat: act(compat)) for compat in (None, "ksqldb"))
    if not isinstance(strict, str):
        bad = {each["row"] for each in strict[1]}
        assert bad >= {each["row"] for each in lenient[1]}
        for row, (mine, other) in enumerate(zip(strict[0], lenient[0], strict=True)):
            assert row in bad or mine == other
