"""Python values as arrays of a type."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import pyarrow as pa

from kcodec.columns.types.plain import is_bytes, is_list, is_text
from kcodec.errors import one_line

#: Metadata of a field of text that is a number: for it decimals and integers of Python may be given. No column has it.
NUMBER = {b"kcodec": b"number"}

#: What pyarrow raises for Python values that are not of a type.
_UNFIT = (pa.ArrowException, UnicodeEncodeError, OverflowError, ValueError)


def typed(values: Sequence[Any], kind: pa.DataType | None) -> pa.Array | pa.ChunkedArray:
    """Make an array of values of a type, or of the one that they have; UUIDs and enumerations are what they hold.

    A value that is not of the type is a `TypeError`, which says which one, and where in it.

    >>> typed([UUID(int=10)], pa.string()).to_pylist()
    ['00000000-0000-0000-0000-00000000000a']
    >>> typed([["a"], ["b", {}]], pa.list_(pa.string()))
    Traceback (most recent call last):
    TypeError: row 1 of the list does not fit string at [1]: {} is no text
    """
    try:
        return pa.array(values, kind)
    except _UNFIT:
        values = [_held(value, kind) for value in values]
    try:
        return pa.array(values, kind)
    except _UNFIT as error:
        if kind is None:
            raise TypeError(f"the values of the list do not fit one type: {error}") from None
        row = _unfit(values, kind)
        path, wanted, reason = _misfit(values[row], kind, error)
        place = f" at {path}" if path else ""
        raise TypeError(
            f"row {row} of the list does not fit {one_line(wanted, 100)}{place}: {reason}"
        ) from None


def _held(value: Any, kind: pa.DataType | None, field: pa.Field | None = None) -> Any:
    """Return a value in which UUIDs, and members of an `enum.Enum`, are what they hold, where that is of the type.

    So are numbers where the type is that of a `field` of `NUMBER`.
    """
    types = pa.types
    if kind is None:
        return _bare(value)
    if isinstance(value, dict) and types.is_struct(kind):
        below = {each.name: each for each in kind}
        return {
            name: _held(each, below[name].type, below[name]) if name in below else each
            for name, each in value.items()
        }
    if types.is_map(kind):
        pairs = value.items() if isinstance(value, dict) else value
        if isinstance(pairs, str | bytes) or not isinstance(pairs, Collection):
            return value
        return [
            (_held(pair[0], kind.key_type), _held(pair[1], kind.item_type, kind.item_field))
            if isinstance(pair, (list, tuple)) and len(pair) == 2
            else pair
            for pair in pairs
        ]
    if is_list(kind) and isinstance(value, (list, tuple)):
        return [_held(each, kind.value_type, kind.value_field) for each in value]
    if field is not None and field.metadata == NUMBER and _is_number(value):
        return str(Decimal(value))
    takes_bytes = is_bytes(kind) or types.is_fixed_size_binary(kind)
    if isinstance(value, UUID):
        return str(value) if is_text(kind) else value.bytes if takes_bytes else value
    if isinstance(value, Enum):
        held = value.value
        if isinstance(held, str) and (is_text(kind) or takes_bytes):
            return held
        if isinstance(held, int) and not isinstance(held, bool) and types.is_integer(kind):
            return held
    return value


def _is_number(value: Any) -> bool:
    if isinstance(value, Decimal):
        return value.is_finite()
    return isinstance(value, int) and not isinstance(value, (bool, Enum))


def _bare(value: Any) -> Any:
    """Return a value whose type is not known, in which members of an `enum.Enum` are what they hold."""
    if isinstance(value, dict):
        return {name: _bare(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_bare(each) for each in value]
    if isinstance(value, UUID):
        raise TypeError(
            f"{value!r} may be text or bytes where no schema is given: write one of these, or give it"
        )
    return value.value if isinstance(value, Enum) else value


def _unfit(values: Sequence[Any], kind: pa.DataType) -> int:
    """Return the first of the values that are not of a type; one is not."""
    low, high = 0, len(values)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            pa.array(values[low:middle], kind)
        except _UNFIT:
            high = middle
        else:
            low = middle
    return low


def _misfit(value: Any, kind: pa.DataType, error: Exception, path: str = "") -> tuple[str, pa.DataType, str]:
    """Return the innermost place in a value that does not fit its type, the type that is wanted there, and why."""
    for part, below, place in _parts(value, kind, path):
        try:
            pa.array([part], below)
        except _UNFIT as inner:
            return _misfit(part, below, inner, place)
    if isinstance(value, Enum):
        return path, kind, f"{one_line(repr(value), 60)} holds nothing of this type"
    if is_text(kind):
        # pyarrow says that bytes are expected.
        return path, kind, f"{one_line(repr(value), 60)} is no text"
    if isinstance(value, str) and pa.types.is_temporal(kind):
        return path, kind, f"{one_line(repr(value), 60)} is text, not an object of datetime"
    return path, kind, str(error)


def _parts(value: Any, kind: pa.DataType, path: str) -> Iterator[tuple[Any, pa.DataType, str]]:
    """Yield what a value is made of, with the type that is wanted of it, and its path."""
    if pa.types.is_struct(kind) and isinstance(value, Mapping):
        for field in kind:
            if field.name in value:
                yield value[field.name], field.type, f"{path}.{field.name}".lstrip(".")
    elif pa.types.is_map(kind) and isinstance(value, list):
        for at, pair in enumerate(value):
            if isinstance(pair, tuple) and len(pair) == 2:
                yield pair[0], kind.key_type, f"{path}[{at}].key"
                yield pair[1], kind.item_type, f"{path}[{at}].value"
    elif is_list(kind) and isinstance(value, (list, tuple)):
        for at, each in enumerate(value):
            yield each, kind.value_type, f"{path}[{at}]"
