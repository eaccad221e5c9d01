"""Dates, times of day and decimals that are messages, as whole columns.

What is not as usual is left out: `kcodec.formats.protobuf.conversions` has the rules, and converts it by itself.
"""

from collections.abc import Callable

import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.columns.arrays.slices import placed, sliced, unscaled, unsliced
from kcodec.columns.types.plain import PER_SECOND, is_text
from kcodec.formats.protobuf.descriptor import MessageType
from kcodec.formats.protobuf.kernel import kernel
from kcodec.formats.protobuf.plans.encode_plan import encode_plan
from kcodec.formats.protobuf.plans.plan import decode_plan
from kcodec.formats.protobuf.types import ProtobufOptions
from kcodec.plan import Limits
from kcodec.plan.programs import Programs
from kcodec.wire.decimal import decimals_from_text, decimals_to_text

#: What a message of one value can hold: fields, but no messages.
_LIMITS = Limits(max_depth=1)
#: Of an unscaled value: fewer than the digits that it may have.
_MAX_BYTES = 1700
_MAX_SCALE = 1000
#: Scales of the decimals in one column that are worth a pass each.
_MAX_SCALES = 16
#: Digits that a decimal of Arrow holds.
_DIGITS = 38
#: Days from the first of March of the year 0 to 1970.
_EPOCH = 719_468


class KnownColumn:
    """A type of message that is read as one value: a ``date``, a ``time_of_day`` or a ``decimal``."""

    def __init__(self, message: MessageType, reading: str) -> None:
        self._reading = reading
        self._names = [field.name for field in message.by_number.values()]
        options = ProtobufOptions(well_known=(), unsigned="native")
        plan, self._kind = decode_plan(message, options)
        self._decode = Programs(plan, _LIMITS)
        self._encode = Programs(encode_plan(message, self._kind, options), _LIMITS)

    def decoded(self, array: pa.Array, kind: pa.DataType) -> pa.Array:
        """Return the values of messages' bytes, as far as they are usual, and nulls for the others."""
        module = kernel()
        parts, _ = module.decode(array, [self._decode.compiled(module)])
        return _READERS[self._reading](*(pc.struct_field(parts, name) for name in self._names), kind)

    def encoded(self, array: pa.Array) -> pa.Array | None:
        """Return values as messages' bytes, as far as they are usual, and nulls for the others; None if none are."""
        found = _WRITERS[self._reading](array)
        if found is None:
            return None
        module = kernel()
        fields = [self._kind.field(name) for name in self._names]
        filled = [
            pc.fill_null(part, b"" if pa.types.is_binary(field.type) else 0).cast(field.type)
            for part, field in zip(found, fields, strict=True)
        ]
        parts = pa.StructArray.from_arrays(
            filled, fields=fields, mask=pc.or_(array.is_null(), found[0].is_null())
        )
        return module.encode(parts, self._encode.compiled(module), large=True)[0]


def _between(low: int, array: pa.Array, high: int) -> pa.Array:
    return pc.and_(pc.greater_equal(array, low), pc.less_equal(array, high))


def _all(*conditions: pa.Array) -> pa.Array:
    made = conditions[0]
    for each in conditions[1:]:
        made = pc.and_(made, each)
    return made


def _rest(array: pa.Array, divisor: int) -> pa.Array:
    return pc.subtract(array, pc.multiply(pc.divide(array, divisor), divisor))


# Messages read ----------------------------------------------------------------------------------------


def _dates(year: pa.Array, month: pa.Array, day: pa.Array, kind: pa.DataType) -> pa.Array:
    usual = _all(_between(1, year, 9999), _between(1, month, 12), _between(1, day, 31))
    year, month, day = (pc.if_else(usual, part, None) for part in (year, month, day))
    # Years are counted from March, so that the leap day is their last.
    early = pc.less_equal(month, 2)
    since = pc.subtract(year, early.cast(pa.int32()))
    leaps = pc.add(pc.subtract(pc.divide(since, 4), pc.divide(since, 100)), pc.divide(since, 400))
    months = pc.add(month, pc.if_else(early, 9, -3).cast(pa.int32()))
    of_year = pc.divide(pc.add(pc.multiply(months, 153), 2), 5)
    days = pc.add(pc.add(pc.multiply(since, 365), leaps), pc.add(of_year, day))
    made = pc.subtract(days, _EPOCH + 1).cast(pa.int32()).view(kind)
    # The 31st of April is the first of May.
    return pc.if_else(pc.equal(pc.day(made), day), made, None)


def _times(
    hours: pa.Array, minutes: pa.Array, seconds: pa.Array, nanos: pa.Array, kind: pa.DataType
) -> pa.Array:
    usual = _all(
        _between(0, hours, 23),
        _between(0, minutes, 59),
        _between(0, seconds, 59),
        _between(0, nanos, 10**9 - 1),
    )
    step = 1 if kind.unit == "ns" else 1000
    if step > 1:
        usual = pc.and_(usual, pc.equal(_rest(nanos, step), 0))
    of_day = pc.add(pc.multiply(pc.add(pc.multiply(hours.cast(pa.int64()), 60), minutes), 60), seconds)
    total = pc.add(pc.multiply(of_day, 10**9 // step), pc.divide(nanos, step))
    return pc.if_else(usual, total, None).view(kind)


def _decimals(values: pa.Array, precision: pa.Array, scales: pa.Array, kind: pa.DataType) -> pa.Array:
    usual = _all(_between(0, scales, _MAX_SCALE), _between(0, pc.binary_length(values), _MAX_BYTES))
    scales = pc.if_else(usual, scales, None)
    found = scales.unique().drop_null().to_pylist()
    if not 0 < len(found) <= _MAX_SCALES:
        return pa.nulls(len(scales), kind)
    parts, places = [], []
    for scale in found:
        rows = pc.indices_nonzero(pc.fill_null(pc.equal(scales, scale), False))
        text = decimals_to_text(*sliced(values.take(rows)), scale, plain=True)
        parts.append(unsliced(text, pa.string()))
        places.append(rows)
    return placed(pa.concat_arrays(parts), pa.concat_arrays(places), len(scales)).cast(kind)


_READERS: dict[str, Callable[..., pa.Array]] = {"date": _dates, "time_of_day": _times, "decimal": _decimals}


# Values written ---------------------------------------------------------------------------------------


def _date_parts(array: pa.Array) -> list[pa.Array] | None:
    if not pa.types.is_date32(array.type):
        return None
    usual = _between(1 - 719_163, array.view(pa.int32()), 2_932_896)
    dates = pc.if_else(usual, array, None)
    return [pc.year(dates), pc.month(dates), pc.day(dates)]


def _time_parts(array: pa.Array) -> list[pa.Array] | None:
    unit = PER_SECOND[array.type.unit]
    counts = array.view(pa.int64() if array.type.bit_width == 64 else pa.int32()).cast(pa.int64())
    counts = pc.if_else(_between(0, counts, 86_400 * unit - 1), counts, None)
    seconds = pc.divide(counts, unit)
    minutes = pc.divide(seconds, 60)
    nanos = pc.multiply(_rest(counts, unit), 10**9 // unit)
    return [pc.divide(minutes, 60), _rest(minutes, 60), _rest(seconds, 60), nanos]


def _decimal_parts(array: pa.Array) -> list[pa.Array] | None:
    types = pa.types
    if is_text(array.type):
        return _number_parts(array)
    if types.is_integer(array.type):
        array = array.cast(pa.decimal128(20, 0))
    if not types.is_decimal128(array.type) and not types.is_decimal256(array.type):
        return None
    return [*unscaled(array), pa.repeat(array.type.scale, len(array))]


def _number_parts(array: pa.Array) -> list[pa.Array]:
    usual = pc.and_(
        pc.match_substring_regex(array, r"^[+-]?[0-9]+(\.[0-9]*)?$"),
        pc.less_equal(pc.binary_length(array), _DIGITS),
    )
    rows = pc.indices_nonzero(pc.fill_null(usual, False))
    text = array.take(rows).cast(pa.string())
    point = pc.find_substring(text, ".")
    behind = pc.subtract(pc.subtract(pc.binary_length(text), point), 1)
    scales = pc.if_else(pc.less(point, 0), 0, behind)
    whole = pc.replace_substring(text, ".", "", max_replacements=1)
    digits = pc.utf8_ltrim(whole, "+-0")
    # Zero has one digit.
    parts = (
        unsliced(decimals_from_text(*sliced(whole), 0), pa.binary()),
        pc.max_element_wise(pc.binary_length(digits), 1),
        scales,
    )
    return [placed(part, rows, len(array)) for part in parts]


_WRITERS: dict[str, Callable[[pa.Array], list[pa.Array] | None]] = {
    "date": _date_parts,
    "time_of_day": _time_parts,
    "decimal": _decimal_parts,
}
