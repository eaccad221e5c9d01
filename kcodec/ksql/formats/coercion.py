"""Columns of a registered schema's types, as the columns that a statement declares: a whole column at a time.

What is given is in the form of a `Reading`: structs have the fields that it names, others are left alone. Where the
types are the same nothing is copied; the rest is what ksqlDB makes of Connect's values, exactly or not at all.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.columns.faults import refused
from kcodec.columns.types.plain import MILLIS_PER_DAY
from kcodec.errors import Fault
from kcodec.formats.decimals import DecimalCodec
from kcodec.formats.json.kernel import kernel as json_kernel
from kcodec.formats.json.node import Form, JsonNode, Op
from kcodec.ksql.formats.faults import of_field, of_items, without_rows
from kcodec.ksql.formats.protobuf.values import days_of_parts, millis_of_parts
from kcodec.ksql.formats.reading import Reading
from kcodec.plan.node import Plan

_Leaf = Callable[[pa.Array, Reading, pa.DataType], tuple[pa.Array, list[Fault]]]


def coerced(array: pa.Array, reading: Reading, kind: pa.DataType) -> tuple[pa.Array, list[Fault]]:
    """Return an array as a type, null where a value is lost, and the faults of these rows."""
    if reading.problem:
        return pa.nulls(len(array), kind), refused(array.is_valid(), "unresolvable", reading.problem)
    if array.type == kind and reading.is_whole:
        return array, []
    return without_rows(*_value(array, reading, kind))


def _value(array: pa.Array, reading: Reading, kind: pa.DataType) -> tuple[pa.Array, list[Fault]]:
    base = reading.kind.base
    if base == "STRUCT":
        return _struct(array, reading, kind)
    if base == "ARRAY":
        return _list(array, reading, kind)
    if base == "MAP":
        return _map(array, reading, kind)
    if array.type == kind:
        return array, []
    if pa.types.is_unsigned_integer(array.type):
        # Java has those of 64 bits as signed ones.
        array = array.view(pa.int64()) if array.type.bit_width == 64 else array.cast(pa.int64())
    if pa.types.is_timestamp(array.type):
        # Those of Protobuf, which are milliseconds for Connect, and have been cut off to them.
        array = pc.divide(array.cast(pa.int64()), 1000)
    leaf: _Leaf = _LEAVES[base]
    if not pa.types.is_struct(array.type) or base == "DECIMAL":
        return leaf(array, reading, kind)
    # Protobuf has messages of parts for what are days and milliseconds for Connect.
    numbers, bad = (days_of_parts if array.type.num_fields == 3 else millis_of_parts)(array)
    array, lost = leaf(numbers, reading, kind)
    return array, sorted([*refused(bad), *lost])


def _struct(array: pa.Array, reading: Reading, kind: pa.DataType) -> tuple[pa.Array, list[Fault]]:
    parts: list[pa.Array] = []
    lost: list[Fault] = []
    if reading.union is not None:
        array, lost = reading.union(array)
    for below, field in zip(reading.parts, kind, strict=True):
        if below.field is None:
            parts.append(pa.nulls(len(array), field.type))
        elif below.problem:
            parts.append(pa.nulls(len(array), field.type))
            found = refused(array.is_valid(), "unresolvable", below.problem)
            lost += of_field(array, found, field.name)
        else:
            given = array.field(below.field)
            part, found = _value(given, below, field.type)
            if below.default is not None and given.null_count:
                missing = pc.and_(array.is_valid(), given.is_null())
                stands, wrong = _value(
                    pa.array([below.default.as_py()], below.default.type), below, field.type
                )
                if stands[0].is_valid:
                    part = pc.if_else(missing, stands[0], part)
                found = [
                    *found,
                    *(each for fault in wrong for each in refused(missing, fault.code, fault.reason)),
                ]
            parts.append(part)
            lost += of_field(array, found, field.name)
    return pa.Array.from_buffers(kind, len(array), [validity(array)], children=parts), lost


def _list(array: pa.Array, reading: Reading, kind: pa.DataType) -> tuple[pa.Array, list[Fault]]:
    items = array.values
    part, lost = _items(items, reading.parts[0], kind.value_type)
    buffers = [validity(array), array.buffers()[1]]
    return pa.Array.from_buffers(kind, len(array), buffers, children=[part]), of_items(array, lost)


def _items(items: pa.Array, reading: Reading, kind: pa.DataType) -> tuple[pa.Array, list[Fault]]:
    if reading.problem:
        # Of each item, nulls too.
        every = pa.array(np.ones(len(items), np.bool_))
        return pa.nulls(len(items), kind), refused(every, "unresolvable", reading.problem)
    return _value(items, reading, kind)


def _map(array: pa.Array, reading: Reading, kind: pa.DataType) -> tuple[pa.Array, list[Fault]]:
    entries = array.values
    key, item = entries.field(0), entries.field(1)
    keys, lost = _items(key, reading.parts[0], kind.key_type)
    items, found = _items(item, reading.parts[1], kind.item_type)
    lost = of_items(array, lost, ".key") + of_items(array, found, ".value")
    if key.null_count and not reading.parts[0].problem:
        missing = refused(key.is_null(), "null_value", "a key of a map is null")
        lost = sorted(lost + of_items(array, missing, ".key"))
    if keys.null_count:
        keys = pc.fill_null(keys, pa.scalar("", keys.type))
    whole = pa.StructArray.from_arrays([keys, items], fields=[kind.key_field, kind.item_field])
    result = pa.Array.from_buffers(kind, len(array), [validity(array), _offsets(array)], children=[whole])
    if not pa.types.is_map(array.type) or key.type != keys.type:
        result = _without_duplicates(result)
    return result, lost


def _offsets(array: pa.Array) -> pa.Buffer:
    """Return the offsets of lists or maps, as maps have them."""
    if pa.types.is_large_list(array.type):
        return array.offsets.cast(pa.int32()).buffers()[1]
    return array.buffers()[1]


def _without_duplicates(array: pa.Array) -> pa.Array:
    """Drop all entries of a map but the last of each key."""
    offsets = array.offsets.to_numpy()
    owners = np.repeat(np.arange(len(array)), np.diff(offsets))
    encoded = array.keys.dictionary_encode()
    pairs = owners * max(len(encoded.dictionary), 1) + encoded.indices.to_numpy()
    if pc.count_distinct(pa.array(pairs)).as_py() == len(pairs):
        return array
    _, last = np.unique(pairs[::-1], return_index=True)
    kept = np.sort(len(pairs) - 1 - last)
    starts = np.searchsorted(kept, offsets).astype(np.int32)
    entries = pa.StructArray.from_arrays(
        [part.take(pa.array(kept)) for part in (array.keys, array.items)],
        fields=[array.type.key_field, array.type.item_field],
    )
    buffers = [array.buffers()[0], pa.py_buffer(starts)]
    return pa.Array.from_buffers(array.type, len(array), buffers, children=[entries])


def validity(array: pa.Array) -> pa.Buffer | None:
    """Return the validity bitmap of an array that is not a slice."""
    assert not array.offset
    return array.buffers()[0] if array.null_count else None


# Leaves ---------------------------------------------------------------------------------------------


def _cast(array: pa.Array, reading: Reading, kind: pa.DataType) -> tuple[pa.Array, list[Fault]]:
    return array.cast(kind), []


def _text(array: pa.Array, reading: Reading, kind: pa.DataType) -> tuple[pa.Array, list[Fault]]:
    """Print numbers and booleans as Java's ``String.valueOf`` does."""
    if not pa.types.is_floating(array.type):
        return array.cast(kind), []
    module = json_kernel()
    node = JsonNode(Op.JSON_FLOAT, 0, forms=Form.NULL | Form.NONFINITE)
    program = module.Program(Plan("TEXT", "encode", array.type, node))
    printed, _ = module.encode(array, program)
    plain = pc.replace_substring(printed.cast(pa.string()), '"', "")
    # A null is text for JSON.
    return pc.if_else(array.is_valid(), plain, None).cast(kind), []


def _decimal(array: pa.Array, reading: Reading, kind: pa.DataType) -> tuple[pa.Array, list[Fault]]:
    """Bring decimals, or their unscaled bytes, to the scale of the column."""
    codec = DecimalCodec(kind.scale, kind.precision)
    faults: list[Fault] = []
    is_bytes = not pa.types.is_struct(array.type) and not pa.types.is_decimal(array.type)
    if is_bytes and reading.scale != kind.scale:
        array, faults = DecimalCodec(reading.scale, 76)._decode(array, False)
    decoded, found = codec._decode(array, False)
    lost = [fault._replace(offset=None, path="") for fault in sorted([*faults, *found])]
    return decoded.cast(kind), lost


_MAX_MILLIS = (2**63 - 1) // 1000


def _timestamp(array: pa.Array, reading: Reading, kind: pa.DataType) -> tuple[pa.Array, list[Fault]]:
    millis = array.cast(pa.int64())
    bad = pc.or_(pc.greater(millis, _MAX_MILLIS), pc.less(millis, -_MAX_MILLIS))
    lost = refused(bad)
    if lost:
        millis = pc.if_else(bad, None, millis)
    return pc.multiply(millis, 1000).cast(kind), lost


def _date(array: pa.Array, reading: Reading, kind: pa.DataType) -> tuple[pa.Array, list[Fault]]:
    return array.cast(pa.int32()).cast(kind), []


def _time(array: pa.Array, reading: Reading, kind: pa.DataType) -> tuple[pa.Array, list[Fault]]:
    millis = array.cast(pa.int32())
    bad = pc.or_(pc.less(millis, 0), pc.greater_equal(millis, MILLIS_PER_DAY))
    lost = refused(bad)
    return (pc.if_else(bad, None, millis) if lost else millis).cast(kind), lost


_LEAVES: dict[str, _Leaf] = {
    "BOOLEAN": _cast,
    "INTEGER": _cast,
    "BIGINT": _cast,
    "DOUBLE": _cast,
    "DECIMAL": _decimal,
    "STRING": _text,
    "BYTES": _cast,
    "TIME": _time,
    "DATE": _date,
    "TIMESTAMP": _timestamp,
}
