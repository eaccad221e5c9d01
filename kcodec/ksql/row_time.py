"""The time of rows, where a statement takes it from a column."""

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kcodec.codec import report
from kcodec.errors import ConfigError, DecodeError, Fault, SchemaError, one_line
from kcodec.java.datetimes import DateTimePattern, check_zone
from kcodec.ksql.statement import Statement

__all__ = ["RowTime", "milliseconds_of", "row_time"]


@dataclass(frozen=True)
class RowTime:
    """The column that the time of rows is taken from; a text has a `pattern`, and a zone if it names none."""

    column: str
    base: str
    pattern: str | None
    timezone: str

    def read(self, values: pa.Array) -> tuple[pa.Array, list[Fault]]:
        """Return milliseconds; a null has none."""
        if self.base == "BIGINT":
            return values, []
        if self.base == "TIMESTAMP":
            return milliseconds_of(values), []
        assert self.pattern is not None
        pattern = DateTimePattern(self.pattern)
        # Each text is read once.
        encoded = pc.dictionary_encode(values)
        times: list[int | None] = []
        reasons: dict[int, str] = {}
        for number, text in enumerate(encoded.dictionary.to_pylist()):
            try:
                times.append(pattern.milliseconds(text, self.timezone))
            except ValueError as error:
                times.append(None)
                reasons[number] = f"by the pattern {one_line(self.pattern, 80)}: {error}"
        found = pa.array(times, pa.int64()).take(encoded.indices)
        if not reasons:
            return found, []
        rows = enumerate(encoded.indices.to_pylist())
        return found, [
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
