"""Columns of a registered schema's types, as the columns that a statement declares: a whole column at a time.

What is given is in the form of a `Reading`: structs have the fields that it names, others are left alone. Where the
types are the same nothing is copied; the rest is what ksqlDB makes of Connect's values, exactly or not at all.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcodec.errors import CODES, Fault
from kcodec.formats.decimals import DecimalCodec
from kcodec.formats.json.kernel import kernel as json_kernel
from kcodec.formats.ksql.json_reader import MILLIS_PER_DAY
from kcodec.formats.ksql.proto_values import days_of_parts, millis_of_parts
from kcodec.formats.ksql.source import Reading
from kcodec.plan.failure import prefix
from kcodec.plan.node import Form, Node, Op, Plan

__all__ = ["coerced"]


class _Lost(NamedTuple):
    """A value that is no value of the column: its place in the array, its path below, and why."""

    place: int
    path: str
    code: str
    reason: str


_Leaf = Callable[[pa.Array, Reading, pa.DataType], tuple[pa.Array, list[_Lost]]]


def coerced(array: pa.Array, reading: Reading, kind: pa.DataType) -> tuple[pa.Array, list[Fault]]:
    """Return an array as a type, null where a value is lost, and the faults of these rows."""
    if reading.problem:
        return pa.nulls(len(array), kind), _refused(array, reading.problem)
    if array.type == kind and reading.is_whole:
        return array, []
    result, lost = _value(array, reading, kind)
    if not lost:
        return result, []
    first: dict[int, _Lost] = {}
    for each in lost:
        first.setdefault(each.place, each)
    faults = [Fault(row, None, first[row].path, first[row].code, first[row].reason) for row in sorted(first)]
    bad = np.zeros(len(array), np.bool_)
    bad[list(first)] = True
    return pc.if_else(pa.array(bad), pa.scalar(None, kind), result), faults


def _refused(array: pa.Array, reason: str) -> list[Fault]:
    rows = pc.indices_nonzero(array.is_valid()).to_pylist()
    return [Fault(row, None, "", "unresolvable", reason) for row in rows]


def _value(array: pa.Array, reading: Reading, kind: pa.DataType) -> tuple[pa.Array, list[_Lost]]:
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
    leaf: _Leaf = _LEAVES[base]
    return leaf(array, reading, kind)


def _struct(array: pa.Array, reading: Reading, kind: pa.DataType) -> tuple[pa.Array, list[_Lost]]:
    parts: list[pa.Array] = []
    lost: list[_Lost] = []
    for below, field in zip(reading.parts, kind, strict=True):
        if below.field is None:
            parts.append(pa.nulls(len(array), field.type))
        elif below.problem:
            parts.append(pa.nulls(len(array), field.type))
            places = pc.indices_nonzero(array.is_valid()).to_pylist()
            lost += [_Lost(place, field.name, "unresolvable", below.problem) for place in places]
        else:
            part, found = _value(array.field(below.field), below, field.type)
            parts.append(part)
            if found:
                valid = array.is_valid()
                lost += [
                    each._replace(path=prefix(field.name, each.path))
                    for each in found
                    if valid[each.place].as_py()
                ]
    return pa.Array.from_buffers(kind, len(array), [_validity(array)], children=parts), lost


def _list(array: pa.Array, reading: Reading, kind: pa.DataType) -> tuple[pa.Array, list[_Lost]]:
    items = array.values
    part, lost = _items(items, reading.parts[0], kind.value_type)
    buffers = [_validity(array), array.buffers()[1]]
    return pa.Array.from_buffers(kind, len(array), buffers, children=[part]), _owned(array, lost, "")


def _items(items: pa.Array, reading: Reading, kind: pa.DataType) -> tuple[pa.Array, list[_Lost]]:
    if reading.problem:
        # Of each item, nulls too.
        lost = [_Lost(place, "", "unresolvable", reading.problem) for place in range(len(items))]
        return pa.nulls(len(items), kind), lost
    return _value(items, reading, kind)


def _map(array: pa.Array, reading: Reading, kind: pa.DataType) -> tuple[pa.Array, list[_Lost]]:
    entries = array.values
    key, item = entries.field(0), entries.field(1)
    keys, lost = _items(key, reading.parts[0], kind.key_type)
    items, found = _items(item, reading.parts[1], kind.item_type)
    lost = _owned(array, lost, ".key") + _owned(array, found, ".value")
    if keys.null_count:
        nulls = pc.indices_nonzero(pc.is_null(keys)).to_pylist()
        missing = [_Lost(place, "", "null_value", "a key of a map is null") for place in nulls]
        lost = sorted(lost + _owned(array, missing, ".key"))
        keys = pc.fill_null(keys, "" if pa.types.is_string(keys.type) else pa.scalar("", keys.type))
    whole = pa.StructArray.from_arrays([keys, items], fields=[kind.key_field, kind.item_field])
    result = pa.Array.from_buffers(kind, len(array), [_validity(array), _offsets(array)], children=[whole])
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


def _owned(array: pa.Array, lost: list[_Lost], step: str) -> list[_Lost]:
    """Return what is lost of the items of lists as what is lost of the lists, those that are null aside."""
    if not lost:
        return []
    offsets, valid = array.offsets.to_numpy(), array.is_valid().to_pylist()
    owners = np.searchsorted(offsets, [each.place for each in lost], "right") - 1
    return [
        each._replace(place=owner, path=prefix(f"[{each.place - offsets[owner]}]{step}", each.path))
        for each, owner in zip(lost, owners.tolist(), strict=True)
        if 0 <= owner < len(valid) and valid[owner]
    ]


def _validity(array: pa.Array) -> pa.Buffer | None:
    """Return the bitmap of an array that is no slice."""
    assert not array.offset
    return array.buffers()[0] if array.null_count else None


# Leaves ---------------------------------------------------------------------------------------------


def _cast(array: pa.Array, reading: Reading, kind: pa.DataType) -> tuple[pa.Array, list[_Lost]]:
    return array.cast(kind), []


def _text(array: pa.Array, reading: Reading, kind: pa.DataType) -> tuple[pa.Array, list[_Lost]]:
    """Print numbers and booleans as Java's ``String.valueOf`` does."""
    if not pa.types.is_floating(array.type):
        return array.cast(kind), []
    module = json_kernel()
    node = Node(Op.JSON_FLOAT, 0, forms=Form.NULL | Form.NONFINITE)
    program = module.Program(Plan("TEXT", "encode", array.type, node))
    printed, _ = module.encode(array, program)
    plain = pc.replace_substring(printed.cast(pa.string()), '"', "")
    # A null is text for JSON.
    return pc.if_else(array.is_valid(), plain, None).cast(kind), []


def _decimal(array: pa.Array, reading: Reading, kind: pa.DataType) -> tuple[pa.Array, list[_Lost]]:
    """Bring decimals, or their unscaled bytes, to the scale of the column."""
    codec = DecimalCodec(kind.scale, kind.precision)
    faults: list[Fault] = []
    is_bytes = not pa.types.is_struct(array.type) and not pa.types.is_decimal(array.type)
    if is_bytes and reading.scale != kind.scale:
        array, faults = DecimalCodec(reading.scale, 76)._decode(array, False)
    decoded, found = codec._decode(array, False)
    lost = [_Lost(fault.row, "", fault.code, fault.reason) for fault in sorted([*faults, *found])]
    return decoded.cast(kind), lost


def _refuse(bad: pa.Array, code: str = "out_of_range") -> list[_Lost]:
    if not pc.any(bad).as_py():
        return []
    return [_Lost(place, "", code, CODES[code]) for place in pc.indices_nonzero(bad).to_pylist()]


_MAX_MILLIS = (2**63 - 1) // 1000


def _timestamp(array: pa.Array, reading: Reading, kind: pa.DataType) -> tuple[pa.Array, list[_Lost]]:
    millis = array.cast(pa.int64())
    bad = pc.or_(pc.greater(millis, _MAX_MILLIS), pc.less(millis, -_MAX_MILLIS))
    lost = _refuse(bad)
    if lost:
        millis = pc.if_else(bad, None, millis)
    return pc.multiply(millis, 1000).cast(kind), lost


def _date(array: pa.Array, reading: Reading, kind: pa.DataType) -> tuple[pa.Array, list[_Lost]]:
    if not pa.types.is_struct(array.type):
        return array.cast(pa.int32()).cast(kind), []
    days, bad = days_of_parts(array)
    return days.cast(kind), _refuse(bad)


def _time(array: pa.Array, reading: Reading, kind: pa.DataType) -> tuple[pa.Array, list[_Lost]]:
    if pa.types.is_struct(array.type):
        millis, bad = millis_of_parts(array)
        return millis.cast(kind), _refuse(bad)
    millis = array.cast(pa.int32())
    bad = pc.or_(pc.less(millis, 0), pc.greater_equal(millis, MILLIS_PER_DAY))
    lost = _refuse(bad)
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
