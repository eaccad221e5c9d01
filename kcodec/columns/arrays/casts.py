"""Columns cast to another type of the same kind, where a value that would be lost costs its own row."""

from collections.abc import Callable, Iterator
from decimal import Decimal

import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.columns.arrays.nested import (
    add_columns,
    cast_unpacked,
    floor_times,
    hide_nulls,
    multiples,
    unpack,
)
from kcodec.columns.faults import nulled
from kcodec.columns.types.plain import is_list, nullable, plain_type
from kcodec.errors import CODES, Fault

#: What is said of a time that is finer than what is written.
FINER = 'the time has more digits than the type that is written; round="truncate" cuts them off'


def cast_rows(
    array: pa.Array,
    kind: pa.DataType,
    code: Callable[[pa.Array, pa.DataType], str] | None = None,
    *,
    floor: bool = False,
) -> tuple[pa.Array, list[Fault]]:
    """Cast an array; rows that would lose something become null and have a fault.

    Structs of the type may have more fields at their end, which are null. `code` returns the code of a fault, given an
    array of the one value that is lost and the type that it is cast to. With `floor`, times finer than the type are cut
    off.

    >>> found, faults = cast_rows(pa.array([[1], [2, 300]]), pa.list_(pa.int8()))
    >>> found.to_pylist(), faults[0].path, faults[0].code
    ([[1], None], '[1]', 'out_of_range')
    """
    if array.type == kind:
        return array, []
    array = add_columns(unpack(array), kind)
    if floor:
        array = floor_times(array, kind)
    try:
        return cast_unpacked(array, kind), []
    except pa.ArrowInvalid:
        # Arrow casts what is behind nulls and outside of slices too.
        array = cast_unpacked(array, nullable(plain_type(array.type)))
        array = hide_nulls(_rows(array, 0, len(array)))
        found, lost = _cast_others(array, nullable(kind), code or code_of)
        return _named(found, kind), lost


def _named(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return an array with its own type again, after a cast that made all fields nullable."""
    if array.type == kind:
        return array
    if pa.types.is_struct(kind):
        parts = [_named(array.field(number), field.type) for number, field in enumerate(kind)]
        return pa.Array.from_buffers(kind, len(array), array.buffers()[:1], children=parts)
    parts = [_named(array.values, kind.field(0).type)]
    return pa.Array.from_buffers(kind, len(array), array.buffers()[:2], children=parts)


def code_of(value: pa.Array, kind: pa.DataType) -> str:
    """Return the error code of a number or time that a type cannot hold: out of range, or too many digits."""
    types = pa.types
    if types.is_decimal(kind):
        number = Decimal(value[0].as_py())
        over = number and number.adjusted() >= kind.precision - kind.scale
        return "decimal_precision" if over else "inexact"
    if types.is_time(kind) or types.is_timestamp(kind) or types.is_duration(kind):
        units = ("s", "ms", "us", "ns")
        return "inexact" if units.index(kind.unit) < units.index(value.type.unit) else "out_of_range"
    if types.is_integer(kind):
        number = value[0].as_py()
        # Of decimals, as many digits as there are: the remainder of a long one is an error.
        rest = number != number.to_integral_value() if types.is_decimal(value.type) else number % 1 > 0
        return "inexact" if rest else "out_of_range"
    return "inexact"


def _rows(array: pa.Array, start: int, stop: int) -> pa.Array:
    """Copy rows; unlike a slice, the copy has no values of other rows."""
    return array.take(pa.array(range(start, stop), pa.int64()))


class _UnclearError(Exception):
    """Which values of a type cannot be cast shows only when they are."""


def _cast_others(
    array: pa.Array, kind: pa.DataType, code: Callable[[pa.Array, pa.DataType], str]
) -> tuple[pa.Array, list[Fault]]:
    """Cast the rows that can be cast, all together if it is known which."""
    faults: dict[int, Fault] = {}
    try:
        for row, path, value, wanted in _unfit(array, kind, ""):
            if row not in faults:
                faults[row] = _fault(row, path, value, wanted, code)
        bad = pc.is_in(multiples(1, len(array), pa.int64()), pa.array(list(faults), pa.int64()))
        return cast_unpacked(nulled(array, bad), kind), [faults[row] for row in sorted(faults)]
    except (_UnclearError, pa.ArrowInvalid):
        return _cast_apart(array, kind, code)


def _unfit(array: pa.Array, kind: pa.DataType, path: str) -> Iterator[tuple[int, str, pa.Array, pa.DataType]]:
    """Yield the values of columns of numbers and times that cannot be cast: row, path, the value itself, the type."""
    types = pa.types
    if types.is_struct(kind):
        for field, part in zip(kind, array.flatten(), strict=True):
            yield from _unfit(part, field.type, f"{path}.{field.name}".lstrip("."))
        return
    if array.type == kind:
        return
    own = array.type
    if types.is_integer(own) and types.is_integer(kind):
        least, most = max(_least(own), _least(kind)), min(_most(own), _most(kind))
        bad = pc.or_(pc.less(array, pa.scalar(least, own)), pc.greater(array, pa.scalar(most, own)))
    elif types.is_decimal(own) and types.is_decimal(kind):
        bad = _changed(array, kind)
        digits = kind.precision - kind.scale
        if digits < own.precision - own.scale:
            limit = Decimal(10) ** digits
            over = pc.greater_equal(array, pa.scalar(limit, own))
            bad = pc.or_(bad, pc.or_(over, pc.less_equal(array, pa.scalar(-limit, own))))
    elif (types.is_floating(own) and types.is_integer(kind)) or any(
        is_one(own) and is_one(kind) for is_one in (types.is_timestamp, types.is_time, types.is_duration)
    ):
        bad = _changed(array, kind)
    else:
        raise _UnclearError
    for row in pc.indices_nonzero(bad).to_pylist():
        yield row, path, array.slice(row, 1), kind


def _changed(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return which values are others when they have been cast there and back."""
    return pc.not_equal(array.cast(kind, safe=False).cast(array.type, safe=False), array)


def _least(kind: pa.DataType) -> int:
    return 0 if pa.types.is_unsigned_integer(kind) else -(1 << (kind.bit_width - 1))


def _most(kind: pa.DataType) -> int:
    return (1 << (kind.bit_width - pa.types.is_signed_integer(kind))) - 1


def _fault(
    row: int, path: str, value: pa.Array, wanted: pa.DataType, code: Callable[[pa.Array, pa.DataType], str]
) -> Fault:
    found = code(value, wanted)
    finer = found == "inexact" and (pa.types.is_time(wanted) or pa.types.is_timestamp(wanted))
    return Fault(row, None, path, found, FINER if finer else CODES[found])


def _cast_apart(
    array: pa.Array, kind: pa.DataType, code: Callable[[pa.Array, pa.DataType], str]
) -> tuple[pa.Array, list[Fault]]:
    """Cast half by half, down to the rows that cannot be cast."""
    try:
        return cast_unpacked(array, kind), []
    except pa.ArrowInvalid:
        if len(array) == 1:
            return pa.nulls(1, kind), [_fault(0, *refused_value(array, kind, _cannot_be_cast), code)]
    half = len(array) // 2
    before, lost = _cast_apart(_rows(array, 0, half), kind, code)
    after, more = _cast_apart(_rows(array, half, len(array)), kind, code)
    lost += [fault._replace(row=fault.row + half) for fault in more]
    return pa.concat_arrays([before, after]), lost


def _cannot_be_cast(array: pa.Array, kind: pa.DataType) -> bool:
    try:
        cast_unpacked(array, kind)
    except pa.ArrowInvalid:
        return True
    return False


def refused_value(
    array: pa.Array, kind: pa.DataType, refuses: Callable[[pa.Array, pa.DataType], bool], path: str = ""
) -> tuple[str, pa.Array, pa.DataType]:
    """Find the first value of a single row because of which it is refused: its path, itself, and the type.

    `refuses` is asked of each part of the row, with its part of the type.

    >>> row = pa.array([{"a": [1, 300]}])
    >>> refused_value(row, row.type, lambda part, kind: "300" in str(part))[0]
    'a[1]'
    """
    types = pa.types
    if types.is_struct(kind):
        parts = [
            (f"{path}.{field.name}".lstrip("."), part, field.type)
            for field, part in zip(kind, array.flatten(), strict=True)
        ]
    elif types.is_map(kind):
        keys, items = array.keys, array.items
        parts = [(f"{path}[{n}].key", _rows(keys, n, n + 1), kind.key_type) for n in range(len(keys))]
        parts += [(f"{path}[{n}].value", _rows(items, n, n + 1), kind.item_type) for n in range(len(items))]
    elif is_list(kind):
        items = array.flatten()
        parts = [(f"{path}[{n}]", _rows(items, n, n + 1), kind.value_type) for n in range(len(items))]
    else:
        return path, array, kind
    for inner, part, wanted in parts:
        if refuses(part, wanted):
            return refused_value(part, wanted, refuses, inner)
    raise AssertionError("a value is refused, yet none of its parts is")
