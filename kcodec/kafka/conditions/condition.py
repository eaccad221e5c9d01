"""Conditions on the columns of records, and for which rows they hold: as Spark answers them.

A condition that meets a null is null itself, unless it asks for nulls, and holds for no row then. NaN equals itself and
is greater than all other numbers, -0.0 equals 0.0, and numbers of different types are compared exactly.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.columns.types.plain import is_bytes, is_text
from kcodec.errors import ConfigError

__all__ = [
    "NEGATED",
    "AnyOf",
    "Compare",
    "Condition",
    "Every",
    "Holds",
    "IsNull",
    "Not",
    "OneOf",
    "Path",
    "Text",
    "mask",
    "number_of",
    "paths",
    "scalar_of",
    "units_of",
]

#: The names of a column and of the fields below it.
Path: TypeAlias = tuple[str, ...]
#: Returns the column at a path.
Find: TypeAlias = Callable[[Path], pa.Array]

#: The comparisons there are, and what each becomes behind a `Not`.
NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


#: Arrow's functions of them.
_FUNCTIONS = {
    "==": "equal",
    "!=": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}


class Compare(NamedTuple):
    """A column compared with a value, which is not None."""

    path: Path
    op: str
    value: Any


class OneOf(NamedTuple):
    """A column has one of some values, none of which is None."""

    path: Path
    values: tuple[Any, ...]


class IsNull(NamedTuple):
    """A column is null."""

    path: Path


class Holds(NamedTuple):
    """A column of booleans is true."""

    path: Path


class Text(NamedTuple):
    """A column of text begins with, ends with, has or is like a text; `how` is the name of Arrow's function."""

    path: Path
    how: str
    value: str


class Not(NamedTuple):
    """A condition does not hold."""

    part: "Condition"


class Every(NamedTuple):
    """All conditions hold."""

    parts: "tuple[Condition, ...]"


class AnyOf(NamedTuple):
    """One of some conditions holds."""

    parts: "tuple[Condition, ...]"


Condition: TypeAlias = Compare | OneOf | IsNull | Holds | Text | Not | Every | AnyOf


def paths(condition: Condition) -> Iterable[Path]:
    """Yield the paths of the columns that a condition reads."""
    if isinstance(condition, (Every, AnyOf)):
        for part in condition.parts:
            yield from paths(part)
    elif isinstance(condition, Not):
        yield from paths(condition.part)
    else:
        yield condition.path


def mask(condition: Condition, find: Find) -> pa.Array:
    """Return for each row whether a condition holds: true, false or null.

    `find` returns the column at a path. One that it does not find, or that cannot be compared with a value, is a
    `ConfigError`.

    >>> column = pa.array([1, None, 3])
    >>> mask(Not(Compare(("id",), ">", 1.5)), lambda path: column).to_pylist()
    [True, None, False]
    """
    if isinstance(condition, Every):
        return reduce(pc.and_kleene, (mask(part, find) for part in condition.parts))
    if isinstance(condition, AnyOf):
        return reduce(pc.or_kleene, (mask(part, find) for part in condition.parts))
    if isinstance(condition, Not):
        return pc.invert(mask(condition.part, find))
    column = find(condition.path)
    if isinstance(condition, IsNull):
        return pc.is_null(column)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        if isinstance(condition, Compare):
            return _compared(column, condition.op, condition.value)
        if isinstance(condition, OneOf):
            return _one_of(column, condition.values)
        if isinstance(condition, Text):
            return getattr(pc, condition.how)(_text(column), condition.value)
    except (pa.ArrowException, OverflowError, TypeError, UnicodeError) as error:
        raise ConfigError(f"{'.'.join(condition.path)}: {error}") from None
    if not pa.types.is_boolean(column.type):
        raise ConfigError(f"{'.'.join(condition.path)} is {column.type}, which neither holds nor does not")
    return column


def _compared(column: pa.Array, op: str, value: Any) -> pa.Array:
    kind = column.type
    if _is_exact(kind):
        return _compared_exact(column, op, number_of(value, kind))
    if pa.types.is_floating(kind):
        return _compared_floating(column.cast(pa.float64()), op, _float(value, kind))
    return _apply(op, column, scalar_of(value, kind))


def _one_of(column: pa.Array, values: Iterable[Any]) -> pa.Array:
    kind = column.type
    found: Sequence[Any]
    if _is_exact(kind):
        units = (units_of(number_of(each, kind), _scale(kind)) for each in values)
        low, high = _limits(kind)
        found = [_of_units(each, kind) for each, is_whole in units if is_whole and low <= each <= high]
    elif pa.types.is_floating(kind):
        # Zeros of either sign are one number here.
        column, found = pc.add(column.cast(pa.float64()), 0.0), [_float(each, kind) + 0.0 for each in values]
    else:
        found = [scalar_of(each, kind) for each in values]
    wanted = pa.array([each.as_py() if isinstance(each, pa.Scalar) else each for each in found], column.type)
    # Arrow takes nulls for values.
    return pc.if_else(pc.is_valid(column), pc.is_in(column, wanted), _NULL)


def _text(column: pa.Array) -> pa.Array:
    if not is_text(column.type):
        raise TypeError(f"{column.type} is not text")
    return column


_NULL = pa.scalar(None, pa.bool_())


def _constant(column: pa.Array, truth: bool) -> pa.Array:
    return pc.if_else(pc.is_valid(column), pa.scalar(truth), _NULL)


def _apply(op: str, column: pa.Array, value: Any) -> pa.Array:
    return getattr(pc, _FUNCTIONS[op])(column, value)


def _is_exact(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_decimal(kind))


def number_of(value: Any, kind: pa.DataType) -> Any:
    """Return the number that a column of numbers is compared with; it may be given as text."""
    if isinstance(value, str):
        return pa.scalar(value).cast(kind).as_py()
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        raise TypeError(f"{value!r} is not a number, and the column is {kind}")
    return value


def _float(value: Any, kind: pa.DataType) -> float:
    """Return a number as a column of floats has it: 0.1 is the column's 0.1."""
    number = number_of(value, kind)
    try:
        found = float(number)
    except OverflowError:
        found = math.inf if number > 0 else -math.inf
    return found if pa.types.is_float64(kind) else float(pa.scalar(found).cast(kind, safe=False).as_py())


def _compared_floating(column: pa.Array, op: str, value: float) -> pa.Array:
    if not math.isnan(value):
        found = _apply(op, column, value)
        return pc.or_(found, pc.is_nan(column)) if op in (">", ">=") else found
    if op in ("<=", ">"):
        return _constant(column, op == "<=")
    nans = pc.is_nan(column)
    return nans if op in ("==", ">=") else pc.invert(nans)


def _compared_exact(column: pa.Array, op: str, value: Any) -> pa.Array:
    """Compare whole numbers or decimals with a number that need not be one of their type."""
    kind = column.type
    units, is_whole = units_of(value, _scale(kind))
    if not is_whole:
        if op in ("==", "!="):
            return _constant(column, op == "!=")
        # Nothing lies between a number and those next to it.
        op = "<=" if op in ("<", "<=") else ">"
    low, high = _limits(kind)
    if not low <= units <= high:
        is_below = op in ("<", "<=")
        return _constant(column, op == "!=" or (op != "==" and is_below == (units > high)))
    return _apply(op, column, _of_units(units, kind))


#: Powers of ten beyond all decimals, which have 76 digits at most.
_FAR = 200


def units_of(value: Any, scale: int) -> tuple[int, bool]:
    """Return a number as a count of units of the last digit, rounded down, and whether that is exact."""
    if isinstance(value, float) and not math.isfinite(value):
        # NaN is greater than all numbers.
        return (-(10**_FAR) if value < 0 else 10**_FAR), True
    if isinstance(value, Decimal) and value:
        # As a fraction, a number such as 1e999999999 would not end.
        if value.adjusted() > _FAR:
            return (-1 if value < 0 else 1) * 10**_FAR, True
        if value.adjusted() < -_FAR:
            return (-1 if value < 0 else 0), False
    if type(value) is int and scale >= 0:
        return value * 10**scale, True
    found = Fraction(value) * Fraction(10) ** scale
    return found.numerator // found.denominator, found.denominator == 1


def _scale(kind: pa.DataType) -> int:
    return kind.scale if pa.types.is_decimal(kind) else 0


def _limits(kind: pa.DataType) -> tuple[int, int]:
    if pa.types.is_decimal(kind):
        most = 10**kind.precision - 1
        return -most, most
    if pa.types.is_unsigned_integer(kind):
        return 0, (1 << kind.bit_width) - 1
    return -(1 << kind.bit_width - 1), (1 << kind.bit_width - 1) - 1


def _of_units(units: int, kind: pa.DataType) -> pa.Scalar:
    if pa.types.is_integer(kind):
        return pa.scalar(units, kind)
    # Not scaleb, which rounds to the digits of a context.
    return pa.scalar(Decimal((int(units < 0), tuple(map(int, str(abs(units)))), -kind.scale)), kind)


def scalar_of(value: Any, kind: pa.DataType) -> pa.Scalar:
    """Return a value as one of a type; text is read as one, times without a zone are UTC then."""
    if isinstance(value, str) and not is_text(kind):
        return _parsed(value, kind)
    if not _fits(value, kind):
        raise TypeError(f"{kind} is not compared with {value!r}")
    return pa.scalar(value, kind)


def _fits(value: Any, kind: pa.DataType) -> bool:
    types = pa.types
    if types.is_boolean(kind):
        return isinstance(value, bool)
    if types.is_timestamp(kind):
        return isinstance(value, datetime) and (value.tzinfo is None) == (kind.tz is None)
    if types.is_date(kind):
        return isinstance(value, date) and not isinstance(value, datetime)
    if types.is_time(kind):
        return isinstance(value, time)
    if is_text(kind):
        return isinstance(value, str)
    return (is_bytes(kind) or types.is_fixed_size_binary(kind)) and isinstance(value, bytes)


def _parsed(text: str, kind: pa.DataType) -> pa.Scalar:
    if pa.types.is_time(kind):
        # Arrow reads times of days only.
        try:
            return pa.scalar(f"1970-01-01T{text}").cast(pa.timestamp(kind.unit)).cast(kind)
        except pa.ArrowInvalid:
            raise TypeError(f"{text!r} is not a time of a day such as 12:00:00") from None
    found = pa.scalar(text)
    try:
        return found.cast(kind)
    except pa.ArrowInvalid:
        if not pa.types.is_timestamp(kind) or kind.tz is None:
            raise
        try:
            return found.cast(pa.timestamp(kind.unit)).cast(kind)
        except pa.ArrowInvalid:
            raise TypeError(f"{text!r} is not a time such as 2026-01-31T12:00:00Z") from None
