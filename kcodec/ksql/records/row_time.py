"""The time of rows, where a statement takes it from a column."""

import re
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.codec import report
from kcodec.columns.arrays.nested import replace_rows
from kcodec.columns.types.plain import MILLIS_PER_DAY
from kcodec.errors import ConfigError, DecodeError, Fault, SchemaError, one_line
from kcodec.ksql.records.datetime_parts import check_zone
from kcodec.ksql.records.datetimes import DateTimePattern
from kcodec.ksql.statement.statement import Statement


@dataclass(frozen=True)
class RowTime:
    """The column that the time of rows is taken from; a text has a `pattern`, and a zone if it names none."""

    column: str
    base: str
    pattern: str | None
    timezone: str

    def read(self, values: pa.Array) -> tuple[pa.Array, list[Fault]]:
        """Return milliseconds; null for a null."""
        if self.base == "BIGINT":
            return values, []
        if self.base == "TIMESTAMP":
            return milliseconds_of(values), []
        assert self.pattern is not None
        pattern = DateTimePattern(self.pattern)
        times = _of_layout(values, pattern, self.timezone)
        if times is None:
            times = pa.nulls(len(values), pa.int64())
        rest = pc.indices_nonzero(pc.and_(times.is_null(), values.is_valid()))
        if not len(rest):
            return times, []
        # Each text is read once.
        encoded = pc.dictionary_encode(values.take(rest))
        found: list[int | None] = []
        reasons: dict[int, str] = {}
        for number, text in enumerate(encoded.dictionary.to_pylist()):
            try:
                found.append(pattern.milliseconds(text, self.timezone))
            except ValueError as error:
                found.append(None)
                reasons[number] = f"by the pattern {one_line(self.pattern, 80)}: {error}"
        read = pa.array(found, pa.int64()).take(encoded.indices)
        times = replace_rows(times, rest.to_pylist(), read) if len(rest) < len(values) else read
        if not reasons:
            return times, []
        rows = zip(rest.to_pylist(), encoded.indices.to_pylist(), strict=True)
        return times, [
            Fault(row, None, self.column, "invalid_time", reasons[number])
            for row, number in rows
            if number in reasons
        ]

    def __call__(self, values: pa.Array, *, errors: str = "raise") -> Any:
        """Return milliseconds as codecs do."""
        found, faults = self.read(values)
        if errors == "report":
            return found, report(faults)
        if faults and errors == "raise":
            raise DecodeError(*faults[0])
        return found


def row_time(statement: Statement, timezone: str) -> RowTime | None:
    """Return what the time of rows is taken from; None if it is that of records."""
    try:
        zone = check_zone(timezone)
    except ValueError as error:
        raise ConfigError(f"timezone: {error}") from None
    name = statement.timestamp
    if name is None:
        return None
    bases = {column.name: column.type.base for column in statement.columns}
    if name not in bases:
        raise SchemaError(
            f"The TIMESTAMP column set in the WITH clause does not exist in the schema: '{name}'"
        )
    return RowTime(name, bases[name], statement.timestamp_format, zone)


def milliseconds_of(times: pa.Array) -> pa.Array:
    """Return the milliseconds of timestamps; what is finer is cut off, towards the past."""
    numbers = times.cast(pa.int64())
    if times.type.unit in ("s", "ms"):
        return pc.multiply_checked(numbers, 1000 if times.type.unit == "s" else 1)
    scale = 1000 if times.type.unit == "us" else 1_000_000
    found = pc.divide(numbers, scale)
    # Division cuts off towards zero.
    return pc.subtract(found, pc.less(numbers, pc.multiply(found, scale)).cast(pa.int64()))


#: Fields of layouts whose texts are read all at once, and their greatest values; the least are 0, of dates 1.
_MOST = {
    "year_of_era": 9999,
    "year": 9999,
    "month": 12,
    "day": 31,
    "hour": 23,
    "minute": 59,
    "second": 59,
    "nano": 999_999_999,
}
#: The year 2037.
_KNOWN = 2_114_380_800_000


def _of_layout(values: pa.Array, pattern: DateTimePattern, timezone: str) -> pa.Array | None:
    """Return milliseconds of the texts that have the layout of the pattern, and nulls for others.

    They are those that `DateTimePattern.milliseconds` returns. None if the pattern has no layout of a whole date.
    """
    import numpy as np

    layout = pattern.layout
    if layout is None:
        return None
    names = {name for name, _ in layout} - {"", "offset"}
    if not names <= _MOST.keys() or not {"month", "day"} < names or len(names & {"year_of_era", "year"}) != 1:
        return None
    regex = "".join(f"[0-9]{{{part}}}" if isinstance(part, int) else re.escape(part) for _, part in layout)
    fits = pc.match_substring_regex(values, f"^{regex}$")
    rows = pc.indices_nonzero(fits)
    # A date may end with a line break, which $ does not count.
    texts = values.take(rows)
    parts: dict[str, np.ndarray] = dict.fromkeys(_MOST, np.zeros(len(rows), np.int64))
    good = np.asarray(pc.equal(pc.utf8_length(texts), sum(_width(part) for _, part in layout)))
    at = 0
    for name, part in layout:
        if isinstance(part, int):
            numbers = np.asarray(pc.utf8_slice_codeunits(texts, at, at + part).cast(pa.int64()))
            if name == "nano":
                numbers = numbers * 10 ** (9 - part)
            elif part == 2 and name in ("year_of_era", "year"):
                numbers = numbers + 2000
            least = 1 if name in ("year_of_era", "year", "month", "day") else 0
            good &= (numbers >= least) & (numbers <= _MOST[name])
            parts[name] = numbers
        at += _width(part)
    parts = {name: numbers[good] for name, numbers in parts.items()}
    rows = np.asarray(rows)[good]
    months = (parts["year_of_era"] + parts["year"] - 1970) * 12 + parts["month"] - 1
    first, behind = ((months + step).astype("M8[M]").astype("M8[D]").astype(np.int64) for step in (0, 1))
    days = np.minimum(first + parts["day"], behind) - 1
    seconds = parts["hour"] * 3600 + parts["minute"] * 60 + parts["second"]
    times = days * MILLIS_PER_DAY + seconds * 1000 + parts["nano"] // 1_000_000
    if layout[-1][0] != "offset" and timezone not in ("UTC", "GMT", "UT"):
        # Arrow does not know the rules of zones for all times to come.
        known = (times >= 0) & (times < _KNOWN)
        rows, times = rows[known], times[known]
        local = pa.array(times, pa.timestamp("ms"))
        try:
            moments = pc.assume_timezone(local, timezone, ambiguous="earliest", nonexistent="earliest")
            # Where clocks are set forward, Java moves times too, by as much.
            same = np.asarray(pc.equal(pc.local_timestamp(moments), local))
        except pa.ArrowInvalid:
            return None
        rows, times = rows[same], np.asarray(moments.cast(pa.int64()))[same]
    found = np.zeros(len(values), np.int64)
    missing = np.ones(len(values), np.bool_)
    found[rows], missing[rows] = times, False
    return pa.array(found, pa.int64(), mask=missing)


def _width(part: str | int) -> int:
    return part if isinstance(part, int) else len(part)
