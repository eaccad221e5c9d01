"""Messages that are one value of a column, such as Struct as JSON text, between their bytes and that value.

The kernels read and write their bytes; see ``"raw"`` of `kcodec.formats.protobuf.plans.plan.FieldNode`. Dates, times
and decimals that are as usual are then converted together, all else one by one, by the rules that are here.
"""

import datetime
import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple, NoReturn

import pyarrow as pa

from kcodec._impl import kernel
from kcodec._lazy import compute as pc
from kcodec.columns.arrays.given import sound
from kcodec.columns.arrays.nested import rebuild, replace_rows
from kcodec.columns.arrays.values import NUMBER
from kcodec.columns.faults import nulled
from kcodec.columns.types.plain import PER_SECOND, WHOLE_DECIMALS, is_bytes, is_list, is_text, list_of
from kcodec.errors import Fault
from kcodec.formats.protobuf.descriptor import FieldType, MessageType
from kcodec.formats.protobuf.json.reader import from_json
from kcodec.formats.protobuf.json.writer import to_json
from kcodec.formats.protobuf.known_columns import KnownColumn
from kcodec.formats.protobuf.messages.message import Message, read_message, write_message
from kcodec.formats.protobuf.messages.wire import MAX_DEPTH
from kcodec.formats.protobuf.types import reading_of
from kcodec.objects.make_py import make_date, make_time
from kcodec.objects.taken import days, micros_of_day
from kcodec.plan.failure import RowError

_EPOCH = datetime.date(1970, 1, 1).toordinal()
#: What is converted here, of the readings that types have.
_CONVERTED = ("json", "date", "time_of_day", "decimal")
#: A message of text, as which columns of numbers are written.
_DECIMAL_TEXT = "google.type.Decimal"
_DECIMALS = (_DECIMAL_TEXT, "confluent.type.Decimal")
#: How far from the point the digits of a decimal may stand.
_MAX_SCALE = 1000
#: How many digits it may have, which are as many as Python reads and prints: more take time by their square.
_MAX_DIGITS = 4300
#: The least number that has more.
_TOO_LONG = 10**_MAX_DIGITS
#: Messages that hold what a document of JSON does.
_TREES = ("google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue")
#: Values that are worth to be converted together.
_FEWEST = 16
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


class _Lost(NamedTuple):
    """A value that cannot be converted: its place in the array, and why."""

    place: int
    error: RowError


def _holds(message: MessageType, names: set[str]) -> bool:
    """Return whether a message of one of these names stands anywhere below a message."""
    seen: set[str] = set()
    pending = [message]
    while pending:
        each = pending.pop()
        if each.name in seen:
            continue
        seen.add(each.name)
        below = [field.message for field in each.fields if field.message is not None]
        if any(inner.name in names for inner in below):
            return True
        pending += below
    return False


class Conversions:
    """The values of a message type's columns that are converted from and to bytes.

    `readings` is what types are read as that are not read as messages, and `types` what an Any may hold.
    """

    def __init__(
        self, message: MessageType, readings: Mapping[str, str], types: Mapping[str, MessageType]
    ) -> None:
        self.message = message
        self.readings = readings
        self.types = types
        converted = {name for name, reading in readings.items() if reading in _CONVERTED}
        self._columns: dict[str, KnownColumn] = {}
        self.needed = _holds(message, converted | ({_DECIMAL_TEXT} & readings.keys()))

    def given(self, kind: pa.DataType) -> pa.DataType:
        """Return the type of the columns, in which texts that are decimals are fields of `NUMBER`."""
        names = {name for name in _DECIMALS if name in self.readings}
        return self._given(kind, self.message) if _holds(self.message, names) else kind

    def _given(self, kind: pa.DataType, message: MessageType) -> pa.DataType:
        if not pa.types.is_struct(kind):
            return kind
        known = message.by_name
        return pa.struct(
            [self._given_field(each, known[each.name]) if each.name in known else each for each in kind]
        )

    def _given_field(self, given: pa.Field, field: FieldType) -> pa.Field:
        kind = given.type
        if field.repeated and pa.types.is_map(kind):
            assert field.message is not None
            item = self._given_value(kind.item_field, field.message.by_number[2])
            return given.with_type(pa.map_(kind.key_field, item))
        if field.repeated and is_list(kind):
            return given.with_type(list_of(self._given_value(kind.value_field, field), kind))
        return self._given_value(given, field)

    def _given_value(self, given: pa.Field, field: FieldType) -> pa.Field:
        message = field.message
        if message is None:
            return given
        if is_text(given.type):
            is_number = message.name in _DECIMALS and reading_of(message, self.readings)
            return given.with_metadata(NUMBER) if is_number else given
        return given.with_type(self._given(given.type, message))

    def decoded(self, array: pa.Array, kind: pa.DataType, *, stop: bool) -> tuple[pa.Array, list[Fault]]:
        """Convert the bytes in an array of messages; the result is of a type that only differs in these."""
        if array.type == kind:
            return array, []
        return self._faults(*self._message(array, self.message, kind, MAX_DEPTH), stop)

    def encoded(self, array: pa.Array, *, stop: bool) -> tuple[pa.Array, list[Fault]]:
        """Convert the values in an array of messages to bytes."""
        if not self.needed:
            return array, []
        return self._faults(*self._message(sound(array), self.message, None, MAX_DEPTH), stop)

    @staticmethod
    def _faults(array: pa.Array, lost: list[_Lost], stop: bool) -> tuple[pa.Array, list[Fault]]:
        """Make rows null in which a value cannot be converted."""
        first = {each.place: each.error for each in reversed(lost)}
        faults = [first[row].fault(row) for row in sorted(first)]
        if faults and not stop:
            bad = pa.array([row in first for row in range(len(array))])
            array = nulled(array, bad)
        return array, faults

    def object_of(self, message: MessageType, kind: pa.DataType, level: int) -> Callable[[bytes], Any] | None:
        """Return what makes a Python object of a message's bytes, as its column does; None where only that does.

        It raises `RowError` for a message that cannot be converted. `level` is how many messages are around it, but for
        the outermost one.
        """
        reading, depth = reading_of(message, self.readings), MAX_DEPTH - level - 1
        if reading == "time_of_day" and kind.unit != "us":
            return None
        of = _OBJECTS[reading]
        if message.name in _TREES:
            texts = kernel("formats.protobuf.json._struct").texts

            def text(data: bytes) -> Any:
                found = texts(pa.array([data], pa.large_binary()), message, depth)[0].as_py()
                return self._read(reading, message, data, kind, depth) if found is None else found.decode()

            return text
        return lambda data: of(self._read(reading, message, data, kind, depth))

    def bytes_of(self, message: MessageType, kind: pa.DataType, level: int) -> Callable[[Any], bytes] | None:
        """Return what makes the bytes of a message of a Python object; see `object_of`.

        What it makes raises `RowError`, also for an object that is not quite of the usual type.
        """
        reading = reading_of(message, self.readings)
        if not kind.equals(_USUAL[reading]):
            return None
        if message.name in _TREES:
            messages = kernel("formats.protobuf.json._struct").messages

            def tree(value: Any) -> bytes:
                data = _held(reading, value)
                found = messages(pa.array([data], pa.large_binary()), message, MAX_DEPTH)[0].as_py()
                return self._write(reading, message, data, kind) if found is None else found

            return tree
        return lambda value: self._write(reading, message, _held(reading, value), kind)

    def _message(
        self, array: pa.Array, message: MessageType, kind: pa.DataType | None, depth: int
    ) -> tuple[pa.Array, list[_Lost]]:
        """Convert the fields of messages, which may be nested so deep."""
        if not pa.types.is_struct(array.type):
            return array, []
        parts, lost = [], []
        for number, field in enumerate(array.type):
            part = array.field(number)
            known = message.by_name.get(field.name)
            if known is not None:
                below = None if kind is None else kind.field(number).type
                part, found = self._field(part, known, below, depth)
                valid = array.is_valid()
                lost += [
                    _Lost(place, error.within(field.name)) for place, error in found if valid[place].as_py()
                ]
            parts.append(part)
        return (rebuild(array, parts) if parts else array), lost

    def _field(
        self, array: pa.Array, field: FieldType, kind: pa.DataType | None, depth: int
    ) -> tuple[pa.Array, list[_Lost]]:
        types = pa.types
        if not field.repeated:
            return self._value(array, field, kind, depth)
        if field.is_map and types.is_map(array.type):
            assert field.message is not None
            below = None if kind is None else kind.item_type
            keys, items = array.values.field(0), array.values.field(1)
            # An entry is a message, which counts.
            items, found = self._value(items, field.message.by_number[2], below, depth - 1)
            step = "].value"
            result = rebuild(array, [rebuild(array.values, [keys, items])])
        elif is_list(array.type):
            below = None if kind is None else kind.value_type
            items, found = self._value(array.values, field, below, depth)
            step = "]"
            result = rebuild(array, [items])
        else:
            return array, []
        if not found:
            return result, []
        owners = self._owners(array)
        lost = [
            _Lost(owners[place][0], error.within(f"[{owners[place][1]}{step}"))
            for place, error in found
            if place in owners
        ]
        return result, lost

    @staticmethod
    def _owners(array: pa.Array) -> dict[int, tuple[int, int]]:
        """Return the list that each item belongs to, and its place there."""
        offsets = array.offsets.to_pylist()
        return {
            item: (row, item - offsets[row])
            for row in range(len(array))
            if array[row].is_valid
            for item in range(offsets[row], offsets[row + 1])
        }

    def _value(
        self, array: pa.Array, field: FieldType, kind: pa.DataType | None, depth: int
    ) -> tuple[pa.Array, list[_Lost]]:
        message = field.message
        if message is None:
            return array, []
        reading = "" if field.type == "group" else reading_of(message, self.readings)
        if kind is None and reading and message.name in _DECIMALS and pa.types.is_decimal(array.type):
            array = _spelled(array)
        if reading == "inner":
            if message.name == _DECIMAL_TEXT and (
                pa.types.is_decimal(array.type) or pa.types.is_integer(array.type)
            ):
                array = array.cast(pa.string())
            return self._field(array, message.fields[0], kind, depth - 1)
        if reading in ("", "timestamp", "duration") or pa.types.is_struct(array.type):
            return self._message(array, message, kind, depth - 1)
        known = self._known(array, message, reading)
        if kind is not None:
            made = None if known is None else known.decoded(array, kind)
            if message.name in _TREES:
                made = kernel("formats.protobuf.json._struct").texts(array, message, depth - 1).cast(kind)
            return _each(array, kind, lambda data: self._read(reading, message, data, kind, depth - 1), made)
        if _WRITTEN[reading](array.type):
            made = None if known is None else known.encoded(array)
            if message.name in _TREES:
                made = kernel("formats.protobuf.json._struct").messages(array, message, MAX_DEPTH)
            return _each(
                array, pa.large_binary(), lambda value: self._write(reading, message, value, array.type), made
            )
        if is_text(array.type) or is_bytes(array.type):
            # To the plan, which comes after, bytes are a message that was converted.
            reason = f"{array.type} cannot be written as {message.name}"
            return _each(array, pa.large_binary(), lambda _: _refuse(reason))
        # Nulls are none, and of what is left the plan says what is wrong.
        return array, []

    def _known(self, array: pa.Array, message: MessageType, reading: str) -> KnownColumn | None:
        """Return what converts an array together; None where that is not worth its while."""
        if reading == "json" or len(array) - array.null_count < _FEWEST:
            return None
        if message.name not in self._columns:
            self._columns[message.name] = KnownColumn(message, reading)
        return self._columns[message.name]

    def _read(self, reading: str, message: MessageType, data: bytes, kind: pa.DataType, depth: int) -> Any:
        found = read_message(message, data, depth=depth)
        if reading == "json":
            return to_json(found, self.types)
        return _READERS[reading](found, kind)

    def _write(self, reading: str, message: MessageType, value: Any, kind: pa.DataType) -> bytes:
        if reading == "json":
            return write_message(from_json(value, message, self.types))
        found = Message(message)
        for number, part in zip(message.by_number, _WRITERS[reading](value, kind), strict=True):
            if part:
                found.set(message.by_number[number], part)
        return write_message(found)


def _each(
    array: pa.Array, kind: pa.DataType, convert: Callable[[Any], Any], made: pa.Array | None = None
) -> tuple[pa.Array, list[_Lost]]:
    """Convert each value that is not made already; one that cannot be converted becomes its type's empty value."""
    if made is None and array.null_count:
        made = pa.nulls(len(array), kind)
    if made is not None:
        if made.null_count == array.null_count:
            return made, []
        left = pc.indices_nonzero(pc.and_(array.is_valid(), made.is_null()))
        others, found = _each(array.take(left), kind, convert)
        rows = left.to_pylist()
        return replace_rows(made, rows, others), [each._replace(place=rows[each.place]) for each in found]
    values: list[Any] = []
    lost: list[_Lost] = []
    if is_text(array.type):
        # What is not UTF-8 is an error of its row.
        array = array.cast(pa.large_binary())
    elif pa.types.is_temporal(array.type):
        # Times of Python have no nanoseconds, its dates end with the year 9999.
        array = array.view(pa.int64() if array.type.bit_width == 64 else pa.int32())
    text = is_text(kind)
    binary = is_bytes(kind)
    stored = kind if text or binary else pa.int32() if pa.types.is_date(kind) else pa.int64()
    for place, value in enumerate(array.to_pylist()):
        try:
            values.append(convert(value))
        except RowError as error:
            lost.append(_Lost(place, RowError(error.code, None, error.path, error.reason)))
            values.append("" if text else b"" if binary else 0)
    return pa.array(values, stored).cast(kind), lost


def _spelled(array: pa.Array) -> pa.Array:
    """Return decimals as text where their scale is one that Arrow does not print, else as they are."""
    scale, whole = array.type.scale, WHOLE_DECIMALS.get(array.type.bit_width)
    # Beyond as many digits there is none that it prints.
    if whole is None or abs(scale) <= whole.precision:
        return array
    values = array.view(whole).to_pylist()
    spelled = [
        None if each is None else str(Decimal(each.as_tuple()._replace(exponent=-scale))) for each in values
    ]
    return pa.array(spelled, pa.string())


def _refuse(reason: str) -> NoReturn:
    raise RowError("type_mismatch", None, "", reason)


def _numbers(message: Message) -> list[int]:
    return [message.values.get(number, 0) for number in message.type.by_number]


def _read_date(message: Message, kind: pa.DataType) -> int:
    try:
        return datetime.date(*_numbers(message)).toordinal() - _EPOCH
    except ValueError:
        raise RowError(
            "out_of_range", None, "", "the date is not a whole one of the years 1 to 9999"
        ) from None


def _write_date(value: int, kind: pa.DataType) -> tuple[int, int, int]:
    days, rest = (value, 0) if pa.types.is_date32(kind) else divmod(value, 86400 * PER_SECOND[kind.unit])
    if rest:
        raise RowError("inexact")
    try:
        date = datetime.date.fromordinal(days + _EPOCH)
    except (ValueError, OverflowError):
        raise RowError("out_of_range") from None
    return date.year, date.month, date.day


def _read_time(message: Message, kind: pa.DataType) -> int:
    hours, minutes, seconds, nanos = _numbers(message)
    if not (0 <= hours < 24 and 0 <= minutes < 60 and 0 <= seconds < 60 and 0 <= nanos < 10**9):
        raise RowError("out_of_range")
    total = (hours * 3600 + minutes * 60 + seconds) * 10**9 + nanos
    value, rest = divmod(total, 1 if kind.unit == "ns" else 1000)
    if rest:
        raise RowError("inexact")
    return value


def _write_time(value: int, kind: pa.DataType) -> tuple[int, int, int, int]:
    seconds, nanos = divmod(value * (10**9 // PER_SECOND[kind.unit]), 10**9)
    if not 0 <= seconds < 86400:
        raise RowError("out_of_range")
    return seconds // 3600, seconds // 60 % 60, seconds % 60, nanos


def _read_decimal(message: Message, kind: pa.DataType) -> str:
    """Return a confluent.type.Decimal as plain text."""
    unscaled, _, scale = (message.values.get(number) for number in message.type.by_number)
    number = int.from_bytes(unscaled or b"", "big", signed=True)
    scale = scale or 0
    if abs(scale) > _MAX_SCALE or abs(number) >= _TOO_LONG:
        raise RowError("out_of_range")
    # As Java's BigDecimal prints it: zero is not longer for its places before the point.
    digits = str(abs(number)) + ("0" * max(-scale, 0) if number else "")
    if scale > 0:
        digits = digits.rjust(scale + 1, "0")
        digits = f"{digits[:-scale]}.{digits[-scale:]}"
    return f"-{digits}" if number < 0 else digits


def _write_decimal(value: Any, kind: pa.DataType) -> tuple[bytes, int, int]:
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            raise RowError("invalid_utf8") from None
        if not _NUMBER.fullmatch(value):
            raise RowError("invalid_number")
    try:
        number = Decimal(value)
    except InvalidOperation:
        # Its exponent is beyond all that Python holds.
        raise RowError("out_of_range") from None
    sign, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        raise RowError("invalid_number")
    if abs(exponent) > _MAX_SCALE or len(digits) > _MAX_DIGITS:
        raise RowError("out_of_range")
    unscaled = int("".join(map(str, digits)))
    if sign:
        unscaled = -unscaled
    size = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
    return unscaled.to_bytes(size, "big", signed=True), len(digits), -exponent


_READERS: dict[str, Callable[[Message, pa.DataType], Any]] = {
    "date": _read_date,
    "time_of_day": _read_time,
    "decimal": _read_decimal,
}
_WRITERS: dict[str, Callable[[Any, pa.DataType], tuple[Any, ...]]] = {
    "date": _write_date,
    "time_of_day": _write_time,
    "decimal": _write_decimal,
}


def _micros(value: datetime.time) -> int:
    if value.tzinfo is not None:
        raise RowError("type_mismatch")
    return micros_of_day(value)


def _held(reading: str, value: Any) -> Any:
    """Return what a column has of an object, which has to be quite of the usual type."""
    kind, hold = _HELD[reading]
    is_number = type(value) is int or (type(value) is Decimal and value.is_finite())
    if reading == "decimal" and is_number:
        value = str(Decimal(value))
    if type(value) is not kind:
        raise RowError("type_mismatch")
    return hold(value)


#: What Python objects are made of what columns hold, by reading, and the other way.
_OBJECTS: dict[str, Callable[[Any], Any]] = {
    "json": str,
    "date": make_date,
    "time_of_day": make_time,
    "decimal": str,
}
_HELD: dict[str, tuple[type, Callable[[Any], Any]]] = {
    "json": (str, str.encode),
    "date": (datetime.date, days),
    "time_of_day": (datetime.time, _micros),
    "decimal": (str, str.encode),
}
#: The columns whose objects are written one by one.
_USUAL = {"json": pa.string(), "date": pa.date32(), "time_of_day": pa.time64("us"), "decimal": pa.string()}


def _is_day(kind: pa.DataType) -> bool:
    """Return whether a column may hold days; what was ``date64`` is a timestamp without a zone."""
    return bool(pa.types.is_date32(kind) or (pa.types.is_timestamp(kind) and kind.tz is None))


def _is_number(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_decimal(kind) or types.is_integer(kind) or types.is_floating(kind) or is_text(kind))


#: Whether a column of a type is converted when it is written, by what it holds.
_WRITTEN: dict[str, Callable[[pa.DataType], bool]] = {
    "json": is_text,
    "date": _is_day,
    "time_of_day": pa.types.is_time,
    "decimal": _is_number,
}
