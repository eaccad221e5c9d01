"""Single values between Connect's classes and Arrow columns, for rows that the JSON engine does not handle."""

import bisect
from decimal import Decimal
from typing import Any

import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.columns.arrays.casts import FINER
from kcodec.columns.types.plain import MILLIS_PER_DAY, PER_SECOND, is_bytes, is_list, is_text, list_of
from kcodec.formats.connect.json_reader import Expansion
from kcodec.formats.connect.model import DATE, TIME, TIMESTAMP
from kcodec.formats.connect.schema import ConnectSchema
from kcodec.formats.connect.values import Float32, Int8, Int16, Int32, Map, Millis, Struct
from kcodec.java.numbers import format_java_decimal, round_to_float
from kcodec.plan.failure import RowError, prefix

_LOGICAL = {DATE: pa.types.is_date, TIME: pa.types.is_time, TIMESTAMP: pa.types.is_timestamp}
_INTEGERS = {8: Int8, 16: Int16, 32: Int32, 64: int}


def column_value(
    value: Any,
    writer: ConnectSchema,
    reader: ConnectSchema,
    field: pa.Field,
    expansion: Expansion | None = None,
) -> Any:
    """Convert a value of Connect to what `pyarrow.array` takes for a column: times are integers in the column's unit.

    Decimals are whole numbers, for a column of the type that is `unscaled`. The value is of the schema `writer`,
    and read as `reader`, whose defaults `expansion` bounds. A value that the column cannot hold without loss is a
    `RowError`.
    """
    if value is None:
        if field.nullable:
            return None
        if reader.default is None or reader.optional:
            raise RowError("null_value", reason="a null stands where the schema has no null")
        value, writer = reader.default if expansion is None else expansion.default(reader), reader
    kind, types = field.type, pa.types
    if isinstance(value, Struct):
        if types.is_struct(kind) and reader.type == "struct":
            return {part.name: _member(value, writer, reader, part, expansion) for part in kind}
    elif isinstance(value, Map):
        if types.is_map(kind) and reader.type == "map":
            keys, items = zip(writer.parts, reader.parts, strict=True)
            return [
                (
                    _below(f"[{i}].key", key, *keys, kind.key_field, expansion),
                    _below(f"[{i}].value", item, *items, kind.item_field, expansion),
                )
                for i, (key, item) in enumerate(value)
            ]
    elif isinstance(value, list):
        if is_list(kind) and reader.type == "array":
            return [
                _below(f"[{i}]", item, writer.parts[0], reader.parts[0], kind.value_field, expansion)
                for i, item in enumerate(value)
            ]
    else:
        if isinstance(value, Millis) and types.is_integer(kind):
            value = int(value) // (MILLIS_PER_DAY if writer.name == DATE else 1)
        same = not isinstance(value, Millis) or _LOGICAL[writer.name or ""](kind)
        converted = _scalar(value, kind) if same else None
        if converted is not None:
            return converted
    raise RowError("unresolvable", reason=f"{writer.name or writer.type} is not read as {kind}")


def _member(
    value: Struct, writer: ConnectSchema, reader: ConnectSchema, part: pa.Field, expansion: Expansion | None
) -> Any:
    wanted = reader.fields[part.name]
    own = writer.fields.get(part.name, wanted)
    return _below(part.name, value.get(part.name), own, wanted, part, expansion)


def _below(
    step: str,
    value: Any,
    writer: ConnectSchema,
    reader: ConnectSchema,
    field: pa.Field,
    expansion: Expansion | None,
) -> Any:
    try:
        return column_value(value, writer, reader, field, expansion)
    except RowError as error:
        raise error.within(step) from None


def _scalar(value: Any, kind: pa.DataType) -> Any:
    """Convert a value that has no parts; None if the column does not take its kind."""
    types = pa.types
    if isinstance(value, bool):
        return value if types.is_boolean(kind) else None
    if isinstance(value, Millis):
        return _instant(value, kind)
    if isinstance(value, int):
        if types.is_floating(kind):
            return round_to_float(value) if types.is_float32(kind) else float(value)
        return _within(int(value), kind) if types.is_integer(kind) else None
    if isinstance(value, float):
        fits = types.is_float64(kind) or (types.is_float32(kind) and isinstance(value, Float32))
        return float(value) if fits else None
    if isinstance(value, Decimal):
        return _decimal(value, kind) if types.is_decimal(kind) else None
    if isinstance(value, str):
        if not is_text(kind):
            return None
        try:
            value.encode()
        except UnicodeEncodeError:
            message = "half of a surrogate pair stands alone, which Arrow cannot hold"
            raise RowError("lone_surrogate", reason=message) from None
        return value
    if types.is_fixed_size_binary(kind) and not types.is_decimal(kind):
        if len(value) != kind.byte_width:
            raise RowError("fixed_size", reason=f"{len(value)} bytes are not {kind.byte_width}")
        return value
    return value if is_bytes(kind) else None


def _within(value: int, kind: pa.DataType) -> int:
    signed = not pa.types.is_unsigned_integer(kind)
    low = -(1 << (kind.bit_width - 1)) if signed else 0
    if not low <= value < low + (1 << kind.bit_width):
        raise RowError("out_of_range", reason=f"{value} is outside the range of {kind}")
    return value


def _instant(value: Millis, kind: pa.DataType) -> int | None:
    if pa.types.is_date32(kind):
        amount, remainder = divmod(int(value), MILLIS_PER_DAY)
    elif pa.types.is_date64(kind):
        amount, remainder = int(value), 0
    elif pa.types.is_time(kind) or pa.types.is_timestamp(kind):
        amount, remainder = divmod(int(value) * PER_SECOND[kind.unit], 1000)
    else:
        return None
    end = 1 << (kind.bit_width - 1)
    low = -end
    if pa.types.is_time(kind):
        # Connect has 24:00, Arrow has not.
        low, end = 0, 86_400 * PER_SECOND[kind.unit]
    if remainder:
        raise RowError("inexact", reason=f"{int(value)} ms is not a whole number of {kind}")
    if not low <= amount < end:
        raise RowError("out_of_range", reason=f"{int(value)} ms is outside the range of {kind}")
    return amount


def _decimal(value: Decimal, kind: pa.DataType) -> Decimal:
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits)).lstrip("0")
    shift = exponent + kind.scale
    kept = text[: max(len(text) + shift, 0)] if shift < 0 else text
    if text[len(kept) :].strip("0"):
        raise RowError(
            "inexact",
            reason=f"{format_java_decimal(value)} has more than {kind.scale} digits behind the point",
        )
    if kept and len(kept) + max(shift, 0) > kind.precision:
        raise RowError("decimal_precision", reason=f"{format_java_decimal(value)} does not fit {kind}")
    if not kept:
        return Decimal(0)
    return Decimal((sign, tuple(map(int, kept + "0" * max(shift, 0))), 0))


def unscaled(kind: pa.DataType) -> pa.DataType:
    """Return a type of the same layout with whole numbers for decimals: Arrow does not take all others from Python.

    >>> unscaled(pa.list_(pa.decimal128(9, -3)))
    ListType(list<item: decimal128(9, 0)>)
    """
    types = pa.types

    def item(field: pa.Field) -> pa.Field:
        return field.with_type(unscaled(field.type))

    if types.is_decimal(kind):
        make = pa.decimal256 if types.is_decimal256(kind) else pa.decimal128
        return make(kind.precision, 0)
    if types.is_struct(kind):
        return pa.struct([item(field) for field in kind])
    if types.is_map(kind):
        return pa.map_(item(kind.key_field), item(kind.item_field))
    return list_of(item(kind.value_field), kind) if is_list(kind) else kind


def widen(array: pa.Array, kind: pa.DataType) -> tuple[pa.Array, list[tuple[int, str]]]:
    """Convert numbers to wider types, and find the rows and paths of values that the wider type cannot hold.

    The array is as the row loop makes it: not sliced, and with values behind nulls only in rows that failed.

    >>> array, lost = widen(pa.array([[1], [2, 2**53 + 1]]), pa.list_(pa.float64()))
    >>> array[0].as_py(), lost
    ([1.0], [(1, '[1]')])
    """
    types = pa.types
    if array.type == kind:
        return array, []
    lost: list[tuple[int, str]] = []
    if types.is_floating(kind):
        wide = array.cast(kind, safe=False)
        differs = pc.fill_null(pc.not_equal(wide.cast(array.type, safe=False), array), False)
        if types.is_floating(array.type):
            # A NaN is not equal to itself.
            differs = pc.and_(differs, pc.fill_null(pc.equal(array, array), False))
        return wide, [(row, "") for row in pc.indices_nonzero(differs).to_pylist()]
    # Arrow's cast of structs refuses the nulls that stand for null rows in fields without nulls.
    parts = []
    if types.is_struct(kind):
        for number, field in enumerate(kind):
            part, found = widen(array.field(number), field.type)
            parts.append(part)
            lost += [(row, prefix(field.name, path)) for row, path in found]
        return pa.Array.from_buffers(kind, len(array), array.buffers()[:1], children=parts), lost
    part, found = widen(array.values, kind.field(0).type)
    offsets = array.offsets.to_pylist() if found else []
    for slot, path in found:
        row = bisect.bisect_right(offsets, slot) - 1
        lost.append((row, prefix(f"[{slot - offsets[row]}]", path)))
    return pa.Array.from_buffers(kind, len(array), array.buffers()[:2], children=[part]), lost


def row_value(array: pa.Array, row: int, *, floor: bool = False) -> Any:
    """Take one value of an array of plain types in the form of `kcodec.formats.connect.values`.

    Times finer than a millisecond, which Java's class cannot hold, are a `RowError` or are cut off.
    """
    kind, types = array.type, pa.types
    if types.is_null(kind) or not array[row].is_valid:
        return None
    if types.is_struct(kind):
        parts = {}
        for number, field in enumerate(kind):
            parts[field.name] = _step(field.name, array.field(number), row, floor)
        return Struct(parts)
    if types.is_map(kind):
        entries, first, last = _entries(array, row)
        keys, items = entries.field(0), entries.field(1)
        return Map(
            (_step(f"[{i - first}].key", keys, i, floor), _step(f"[{i - first}].value", items, i, floor))
            for i in range(first, last)
        )
    if is_list(kind):
        values, first, last = _entries(array, row)
        return [_step(f"[{i - first}]", values, i, floor) for i in range(first, last)]
    if types.is_date(kind) or types.is_time(kind) or types.is_timestamp(kind):
        return _millis(array[row].value, kind, floor)
    try:
        value = array[row].as_py()
    except UnicodeDecodeError:
        raise RowError("invalid_utf8") from None
    if types.is_integer(kind):
        bits = kind.bit_width * (2 if types.is_unsigned_integer(kind) else 1)
        # Unsigned ones of 64 bits are Decimals, as in the schema that is made for them.
        return Decimal(value) if bits > 64 else _INTEGERS[bits](value)
    return Float32(value) if types.is_float32(kind) else value


def _step(step: str, array: pa.Array, row: int, floor: bool) -> Any:
    try:
        return row_value(array, row, floor=floor)
    except RowError as error:
        raise error.within(step) from None


def _entries(array: pa.Array, row: int) -> tuple[pa.Array, int, int]:
    offsets = array.offsets
    return array.values, offsets[row].as_py(), offsets[row + 1].as_py()


def _millis(value: int, kind: pa.DataType, floor: bool) -> Millis:
    if pa.types.is_date32(kind):
        return Millis(value * MILLIS_PER_DAY)
    if pa.types.is_date64(kind):
        return Millis(value)
    millis, remainder = divmod(value * 1000, PER_SECOND[kind.unit])
    if remainder and not floor:
        raise RowError("inexact", reason=f"Connect's times are whole milliseconds: {FINER}")
    return Millis(millis)
