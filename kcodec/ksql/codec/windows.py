"""Keys of windowed tables: the key in its format, and behind it when the window starts and, of a session, ends.

=========  ============================================================
time       key, start of the window
session    key, end of the window, start of the window
=========  ============================================================

Both times are milliseconds in 8 bytes, big-endian, as Kafka Streams writes them.
"""

from typing import NamedTuple

import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.columns.arrays.casts import cast_rows
from kcodec.columns.arrays.nested import unpack
from kcodec.columns.faults import nulled, refused
from kcodec.errors import ConfigError, Fault, SchemaError, one_line
from kcodec.java.numbers import parse_java_integer
from kcodec.ksql.formats.primitive import turn

#: The pseudo columns of windowed keys.
COLUMNS = ("WINDOWSTART", "WINDOWEND")

_TIME = ("TUMBLING", "HOPPING")
_SESSION = "SESSION"
_MAX = (1 << 63) - 1
#: Nanoseconds of the units of durations.
_UNITS = {
    "NANOSECONDS": 1,
    "MICROSECONDS": 10**3,
    "MILLISECONDS": 10**6,
    "SECONDS": 10**9,
    "MINUTES": 60 * 10**9,
    "HOURS": 3600 * 10**9,
    "DAYS": 86400 * 10**9,
}


class Windowed(NamedTuple):
    """An array of keys without their windows; rows that are too short for one are null, and faults."""

    keys: pa.Array
    starts: pa.Array
    ends: pa.Array
    faults: list[Fault]


class Windows(NamedTuple):
    """The windows of a table; those of a session have no `size`, in milliseconds."""

    size: int | None

    def split(self, values: pa.Array) -> Windowed:
        """Take the windows off keys; nothing at all is a null key, as for Kafka Streams."""
        values = values.cast(pa.large_binary())
        trailer = 8 if self.size is not None else 16
        lengths = pc.binary_length(values)
        fits = pc.fill_null(pc.greater_equal(lengths, trailer), False)
        short = pc.fill_null(pc.and_(pc.greater(lengths, 0), pc.less(lengths, trailer)), False)
        faults = refused(short, "truncated", offset=0)
        if fits.false_count:
            values = nulled(values, pc.invert(fits))
        keys = pc.binary_slice(values, 0, -trailer)
        windows = pc.binary_slice(values, -trailer, 2**31 - 1)
        last = _numbers(windows, trailer - 8)
        if self.size is None:
            return Windowed(keys, last, _numbers(windows, 0), faults)
        size = pa.scalar(self.size, pa.int64())
        over = pc.greater(last, _MAX - self.size)
        ends = pc.if_else(over, _MAX, pc.add(pc.if_else(over, 0, last), size))
        return Windowed(keys, last, ends, faults)

    def join(self, keys: pa.Array, starts: pa.Array, ends: pa.Array | None) -> tuple[pa.Array, list[Fault]]:
        """Append windows to keys; a key without a window cannot be written, a null key stays null.

        Windows are milliseconds, or timestamps.
        """
        times = {"WINDOWEND": ends, "WINDOWSTART": starts} if self.size is None else {"WINDOWSTART": starts}
        given: list[pa.Array] = []
        faults: list[Fault] = []
        for name, each in times.items():
            part, lost = _millis_of(pa.nulls(len(keys)) if each is None else unpack(each), name)
            reasons = {fault.row: fault._replace(path=name) for fault in lost}
            missing = pc.and_(keys.is_valid(), part.is_null())
            found = refused(missing, "null_value", "a windowed key has no window", path=name)
            faults += [reasons.get(fault.row, fault) for fault in found]
            given.append(part)
        parts = [_bytes(part).cast(keys.type) for part in given]
        joined = pc.binary_join_element_wise(keys, *parts, pa.scalar(b"", keys.type))
        return joined, sorted(faults, key=lambda fault: fault.row)


def _millis_of(times: pa.Array, name: str) -> tuple[pa.Array, list[Fault]]:
    """Return times as milliseconds, and faults for those that are none."""
    if not pa.types.is_timestamp(times.type):
        return bigints(times, name)
    found, lost = cast_rows(times, pa.timestamp("ms", times.type.tz))
    return found.cast(pa.int64()), lost


def bigints(values: pa.Array, name: str) -> tuple[pa.Array, list[Fault]]:
    """Return numbers as a BIGINT, and faults for those that are none; other types are a `SchemaError`.

    >>> bigints(pa.array([7.0]), "ROWTIME")[0].to_pylist()
    [7]
    """
    types, kind = pa.types, values.type
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    if not (is_number or types.is_null(kind)):
        raise SchemaError(f"{name}: Arrow's {kind} cannot be written as BIGINT")
    return cast_rows(values, pa.int64())


def _numbers(values: pa.Array, start: int) -> pa.Array:
    """Read 8 bytes of each value."""
    part = pc.fill_null(pc.binary_slice(values, start, start + 8), bytes(8))
    _, _, data = part.buffers()
    target = pa.allocate_buffer(8 * len(part))
    turn(data, target, 8, len(part))
    numbers = pa.Array.from_buffers(pa.int64(), len(part), [None, target])
    return pc.if_else(values.is_valid(), numbers, None) if values.null_count else numbers


def _bytes(numbers: pa.Array) -> pa.Array:
    """Write numbers as 8 bytes each."""
    filled = pc.fill_null(numbers, 0)
    target = pa.allocate_buffer(8 * len(filled))
    turn(filled.buffers()[1].slice(8 * filled.offset), target, 8, len(filled))
    fixed = pa.Array.from_buffers(pa.binary(8), len(filled), [None, target])
    return pc.if_else(numbers.is_valid(), fixed.cast(pa.large_binary()), None)


def windows_of(kind: str | None, size: int | str | None) -> Windows | None:
    """Return the windows of ``WINDOW_TYPE`` and ``WINDOW_SIZE``; None without.

    >>> windows_of("tumbling", "10 SECONDS")
    Windows(size=10000)
    """
    if kind is None:
        if size is not None:
            raise ConfigError("'WINDOW_SIZE' is only for windowed keys: WINDOW_TYPE is not set")
        return None
    name = kind.upper() if isinstance(kind, str) else kind
    if name == _SESSION:
        if size is not None:
            raise ConfigError("'WINDOW_SIZE' should not be set for SESSION windows.")
        return Windows(None)
    if name not in _TIME:
        raise ConfigError(f"Unknown window type: {kind}: one of {_SESSION}, {', '.join(_TIME)}")
    if size is None:
        raise ConfigError(
            f"{name} windows require 'WINDOW_SIZE' to be provided in the WITH clause. "
            "For example: 'WINDOW_SIZE'='10 SECONDS'"
        )
    return Windows(_millis(size))


def _millis(size: int | str) -> int:
    shown = "Error in WITH clause property 'WINDOW_SIZE'"
    try:
        found = milliseconds(size) if isinstance(size, str) else size
    except SchemaError as error:
        raise ConfigError(f"{shown}: {error}: Example valid value: '10 SECONDS'") from None
    if type(found) is not int or not 0 < found <= _MAX:
        raise ConfigError(f"{shown}: {size!r} is no duration: Example valid value: '10 SECONDS'")
    return found


def milliseconds(duration: str) -> int:
    """Return the milliseconds of a duration such as ``10 SECONDS``, or raise `SchemaError`.

    >>> milliseconds("10 SECONDS"), milliseconds("1 hour")
    (10000, 3600000)
    """
    shown = f"Invalid duration: '{one_line(duration, 80)}'."
    # Java splits at each blank, and forgets empty parts at the end.
    parts = "".join(" " if each in "\t\n\v\f\r" else each for each in duration).split(" ")
    while parts and not parts[-1]:
        parts.pop()
    if len(parts) != 2:
        raise SchemaError(f"{shown} Expected 2 tokens, got: {len(parts) or 1}")
    try:
        size = parse_java_integer(parts[0], 64)
    except ValueError:
        raise SchemaError(f"{shown} Not numeric: '{one_line(parts[0], 80)}'") from None
    unit = parts[1].upper()
    scale = _UNITS.get(unit if unit.endswith("S") else unit + "S")
    if scale is None:
        units = ", ".join(_UNITS)
        raise SchemaError(
            f"{shown} Unknown time unit: '{one_line(unit, 80)}' Supported time units are: {units}"
        )
    return max(-_MAX - 1, min(_MAX, size * scale)) // 10**6
