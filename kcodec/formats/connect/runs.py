"""Columns read by the programs of their rows' schemas, in runs of rows that have not too many different schemas."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from kcodec._impl import kernel
from kcodec._lazy import compute as pc
from kcodec.columns.faults import Faults, Way, joined
from kcodec.columns.nested import cast_leaves
from kcodec.errors import CODES, Fault
from kcodec.formats.connect.arrow import unscaled, widen
from kcodec.formats.connect.plan import ABSENT, PlanOptions
from kcodec.formats.connect.rows import RowConverter
from kcodec.formats.connect.target import MAX_TEXTS, NO_SCHEMA, NullTarget, Reading, Target
from kcodec.formats.json.kernel import kernel as json_kernel
from kcodec.formats.json.reread import reread

__all__ = ["RunReader"]

#: Rows of a run after the first.
_MIN_WINDOW = 1024

#: Faults that the converter does not judge again: bounds of the codec's own.
_BOUNDS = frozenset(["depth_limit", "size_limit"])


class _Run(NamedTuple):
    """Rows, and the reading of each; without selector, starts and ends, the only reading reads all rows as they are."""

    values: pa.Array
    selector: Any
    starts: Any
    ends: Any
    readings: list[Reading]
    faults: Sequence[Fault]


class RunReader:
    """Reads columns of rows into the columns of a target; a run has programs for at most `max_schemas` schemas.

    With ``options.exact``, `rows` reads rows that the row loop refused once more.
    """

    def __init__(
        self, rows: RowConverter, options: PlanOptions, *, enveloped: bool, max_schemas: int
    ) -> None:
        self._rows = rows
        self._exact = options.exact
        self._final = _BOUNDS | {"duplicate_key"} if options.unique else _BOUNDS
        self._enveloped = enveloped
        self._max_schemas = max_schemas

    def read(self, target: Target, values: pa.Array, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
        """Read an array of rows; with `stop`, up to the first fault."""
        parts: list[pa.Array] = []
        faults: list[Faults] = []
        start = 0
        window = len(values)
        while not parts or start < len(values):
            run = self._split(target, values.slice(start, window))
            part, found = self._read_run(target, run, stop)
            if len(run.values) == len(values):
                return part, found
            if found:
                faults.append(Faults.of(found).placed(start))
                if stop:
                    return pa.nulls(0, target.kind), faults[0]
            parts.append(part)
            start += len(run.values)
            # Where a run ends for its many schemas, the next one is not going to be much longer.
            window = max(4 * len(run.values), _MIN_WINDOW)
        return (parts[0] if len(parts) == 1 else pa.concat_arrays(parts)), joined(faults)

    def _split(self, target: Target, values: pa.Array) -> _Run:
        """Take the rows at the head of an array that have no more schemas than a run may have."""
        if not self._enveloped:
            return _Run(values, None, None, None, [target.reading(b"")], [])
        selector, starts, ends, texts, faults, count = kernel("formats.connect._envelope").split(
            values, self._max_schemas
        )
        kept = _together(texts)
        if kept < len(texts):
            # The first row that has another one.
            numbers = memoryview(selector).cast("B").cast("i")
            count = next(row for row in range(count) if numbers[row] >= kept)
            selector, starts, ends = selector[: 4 * count], starts[: 4 * count], ends[: 4 * count]
            faults = [fault for fault in faults if fault.row < count]
        readings = [target.reading(text) for text in texts[:kept]]
        return _Run(values.slice(0, count), selector, starts, ends, readings, faults)

    def _read_run(self, target: Target, run: _Run, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
        array, found = self._decode(target, run, stop and not self._exact)
        if found:
            found = Faults.of(found).told(self._way(target))
        faults = joined([run.faults, self._with_envelopes(run, joined([found, _unread(run)]))])
        if self._exact and faults:

            def read(data: bytes, row: int) -> Any:
                return self._rows.read(data, target)

            open_faults = [fault for fault in faults if fault.code not in self._final]
            final = [fault for fault in faults if fault.code in self._final]
            kind = unscaled(target.inner)
            array, left = reread(run.values, array, open_faults, read, stop=stop, kind=kind)
            faults = joined([left, final])
        return array if stop and faults else _cast(array, target), faults

    def _decode(self, target: Target, run: _Run, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
        """Read the rows by their programs, once for each type that these give the target's columns."""
        array = pa.nulls(len(run.values), target.inner)
        faults: list[Sequence[Fault]] = []
        for kind in {reading.kind for reading in run.readings if reading.kind is not None}:
            part, found = json_kernel().decode(
                run.values,
                [reading.program if reading.kind == kind else None for reading in run.readings],
                selector=run.selector,
                starts=run.starts,
                ends=run.ends,
                stop=stop,
            )
            if found:
                faults.append(found)
                if stop:
                    continue
            part, lost = widen(part, target.inner)
            # Beneath the nulls of rows that failed may be what was read of them before.
            failed = {fault.row for fault in found} if lost else set()
            paths = {row: path for row, path in reversed(lost) if row not in failed}
            if paths:
                inexact = CODES["inexact"]
                faults.append([Fault(row, None, paths[row], "inexact", inexact) for row in sorted(paths)])
            if paths or array.null_count < len(array):
                kept = part.is_valid()
                if paths:
                    kept = pa.array(
                        [valid and row not in paths for row, valid in enumerate(kept.to_pylist())]
                    )
                # Rows of other schemas are null in it.
                part = pc.if_else(kept, part, array)
            array = part
        return array, joined(faults)

    def _way(self, target: Target) -> Callable[[str, str, str], Way]:
        """Return how faults of the row loop are described: with the names of the schema."""
        if self._enveloped and isinstance(target, NullTarget):
            return lambda path, code, reason: (_named(path), "schema_error", NO_SCHEMA)
        return lambda path, code, reason: (_named(path), code, reason)

    def _with_envelopes(self, run: _Run, faults: Sequence[Fault]) -> Sequence[Fault]:
        """Return faults of rows, or why they are not envelopes although they began like the row before."""
        if not self._enveloped or not faults:
            return faults
        columns = Faults.of(faults)
        unlike = kernel("formats.connect._envelope").unlike(run.values, columns.rows.to_pylist())
        return joined([columns.without(unlike.rows), unlike]) if unlike else faults


def _named(path: str) -> str:
    return path.replace(ABSENT, "")


def _cast(array: pa.Array, target: Target) -> pa.Array:
    return array if target.kind == target.inner else cast_leaves(array, target.kind)


def _together(texts: Sequence[bytes]) -> int:
    """Return how many schemas of a block of rows are read at once: one, or as many as `MAX_TEXTS` allows."""
    left = MAX_TEXTS
    for number, text in enumerate(texts):
        left -= len(text)
        if left < 0 and number:
            return number
    return len(texts)


def _unread(run: _Run) -> list[Fault]:
    """Return faults of the rows whose schema has no program."""
    without = {number: reading for number, reading in enumerate(run.readings) if reading.program is None}
    if not without:
        return []
    selector = [0] * len(run.values) if run.selector is None else memoryview(run.selector).cast("i")
    return [
        Fault(row, 0, "", without[number].code, without[number].reason)
        for row, number in enumerate(selector)
        if number in without and run.values[row].is_valid
    ]
