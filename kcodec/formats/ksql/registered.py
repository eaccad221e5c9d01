"""Payloads of registered schemas as a statement's columns: what is the same for all languages of schemas."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kcodec.columns.casts import cast_rows
from kcodec.columns.nested import unpack
from kcodec.errors import CODES, Fault, SchemaError
from kcodec.formats.ksql.coercion import coerced
from kcodec.formats.ksql.json_reader import MILLIS_PER_DAY
from kcodec.formats.ksql.plan import code_of, match_fields, written_type
from kcodec.formats.ksql.source import Reading, Source, reading
from kcodec.formats.ksql.types import RowOptions, SqlType, arrow_type
from kcodec.formats.schema_format import SchemaDecoder
from kcodec.plan.failure import prefix

__all__ = ["ColumnDecoder", "Reader", "missing_field", "prepared", "read_as"]


class Reader(NamedTuple):
    """How the payloads of a writer's schema are read: what is decoded, and what becomes of that.

    Writers with equal keys are read together.
    """

    key: str
    reading: Reading
    decoder: SchemaDecoder
    program: Any


def read_as(rows: RowOptions, source: Source) -> Reading:
    """Return how a schema is read as rows, or raise `SchemaError` where no row of it can be."""
    found = reading(rows.kind, source)
    if found.problem:
        raise SchemaError(found.problem)
    return found


def missing_field(name: str) -> SchemaError:
    """Return why columns are not written as a schema that was chosen."""
    return SchemaError(f"Schema from Schema Registry misses field with name: {name}")


class ColumnDecoder(SchemaDecoder):
    """The columns of a statement, for payloads of any writer's schema.

    `make` returns the reader of a parsed schema and the message indexes of its payloads.
    """

    def __init__(self, text: str, rows: RowOptions, make: Callable[[Any, tuple[int, ...]], Reader]) -> None:
        self.text = text
        self.arrow_type = arrow_type(rows.kind, large=rows.large)
        self._make = make

    def program(self, writer: Any, indexes: tuple[int, ...] = ()) -> Reader:
        """Return the reader of a writer's schema."""
        return self._make(writer, indexes)

    def decode(
        self, values: pa.Array, programs: Sequence[Any], *, selector: Any, starts: Any, stop: bool
    ) -> tuple[pa.Array, list[Fault]]:
        """Decode an array; the rows of writers that are not alike are decoded apart, and put in order again."""
        groups: dict[str, list[int]] = {}
        for number, program in enumerate(programs):
            if program is not None:
                groups.setdefault(program.key, []).append(number)
        if len(groups) == 1:
            return self._decode(values, programs, selector, starts, stop)
        numbers = np.frombuffer(selector, np.int32)[: len(values)]
        places = np.full(len(values), -1, np.int64)
        parts: list[pa.Array] = []
        faults: list[Fault] = []
        done = 0
        for group in groups.values():
            rows = np.flatnonzero(np.isin(numbers, group))
            chosen = [program if number in group else None for number, program in enumerate(programs)]
            begin = None if starts is None else np.frombuffer(starts, np.int32)[: len(values)][rows]
            part, found = self._decode(values.take(pa.array(rows)), chosen, numbers[rows], begin, stop)
            faults += [fault._replace(row=int(rows[fault.row])) for fault in found]
            parts.append(pa.nulls(len(rows), self.arrow_type) if stop and found else part)
            places[rows] = np.arange(done, done + len(rows))
            done += len(rows)
        order = pa.array(places, mask=places < 0)
        return pa.concat_arrays(parts).take(order), sorted(faults, key=lambda fault: fault.row)

    def _decode(
        self, values: pa.Array, programs: Sequence[Any], selector: Any, starts: Any, stop: bool
    ) -> tuple[pa.Array, list[Fault]]:
        """Decode the rows of writers that are read together."""
        first = next(program for program in programs if program is not None)
        inner = [None if program is None else program.program for program in programs]
        array, faults = first.decoder.decode(values, inner, selector=selector, starts=starts, stop=stop)
        if stop and faults:
            # What was decoded is not known then; a row before it may be lost.
            before = faults[0].row
            array, _ = first.decoder.decode(
                values.slice(0, before), inner, selector=selector, starts=starts, stop=False
            )
            _, lost = coerced(array, first.reading, self.arrow_type)
            return array, lost or faults
        array, lost = coerced(array, first.reading, self.arrow_type)
        return array, sorted([*faults, *lost], key=lambda fault: fault.row) if lost else faults


def prepared(
    array: pa.Array, kind: SqlType, *, millis: bool = False, floor: bool = False
) -> tuple[pa.Array, list[Fault]]:
    """Return columns as they are given, unpacked and in types that are written as those of SQL; lost rows are null.

    With `millis`, times are in milliseconds; what is finer is lost, or with `floor` cut off.
    """
    wanted = written_type(kind, array.type)
    plain, lost = cast_rows(array, wanted, code_of)
    if not _is_whole(plain):
        plain = unpack(plain)
    if millis and _is_finer(plain):
        plain, found = cast_rows(plain, _in_millis(plain.type), code_of, floor=floor)
        lost = sorted([*lost, *found])
    beyond = dict(reversed(_beyond(plain, kind)))
    if beyond:
        marks = np.zeros(len(plain), np.bool_)
        marks[list(beyond)] = True
        plain = pc.if_else(pa.array(marks), pa.scalar(None, plain.type), plain)
        lost += [
            Fault(row, None, path, "out_of_range", CODES["out_of_range"]) for row, path in beyond.items()
        ]
        lost.sort(key=lambda fault: fault.row)
    return plain, lost


def _beyond(array: pa.Array, kind: SqlType) -> list[tuple[int, str]]:
    """Return the rows, and the paths in them, of integers for times of the day that are none."""
    types = pa.types
    found: list[tuple[int, str]] = []
    if kind.base == "STRUCT" and types.is_struct(array.type):
        for field, place in zip(kind.fields, match_fields(kind.fields, array.type), strict=True):
            if place is not None:
                below = _beyond(array.field(place), field.type)
                found += [(row, prefix(field.name, path)) for row, path in below if array[row].is_valid]
    elif kind.base in ("ARRAY", "MAP") and array.type.num_fields:
        items, step = (array.values, "") if kind.base == "ARRAY" else (array.values.field(1), ".value")
        for place, path in _beyond(items, kind.parts[-1]):
            offsets = array.offsets.to_numpy()
            row = int(np.searchsorted(offsets, place, "right")) - 1
            found.append((row, prefix(f"[{place - offsets[row]}]{step}", path)))
    elif kind.base == "TIME" and types.is_integer(array.type):
        bad = pc.fill_null(pc.or_(pc.less(array, 0), pc.greater(array, MILLIS_PER_DAY)), False)
        if pc.any(bad).as_py():
            found = [(row, "") for row in pc.indices_nonzero(bad).to_pylist()]
    return found


def _below(array: pa.Array) -> list[pa.Array]:
    types, kind = pa.types, array.type
    if types.is_struct(kind):
        return [array.field(number) for number in range(kind.num_fields)]
    return [array.values] if types.is_list(kind) or types.is_large_list(kind) or types.is_map(kind) else []


def _is_whole(array: pa.Array) -> bool:
    """Return whether no part of an array is a slice."""
    return not array.offset and all(map(_is_whole, _below(array)))


def _is_finer(array: pa.Array) -> bool:
    """Return whether there are times in other units than milliseconds that are no whole milliseconds."""
    types, kind = pa.types, array.type
    if not (types.is_time(kind) or types.is_timestamp(kind)):
        return any(map(_is_finer, _below(array)))
    if types.is_time(kind) or kind.unit in ("s", "ns"):
        return bool(kind.unit != "ms")
    if kind.unit == "ms":
        return False
    numbers = np.frombuffer(array.buffers()[1], np.int64)[: len(array)]
    return not np.array_equal(numbers // 1000 * 1000, numbers)


def _in_millis(kind: pa.DataType) -> pa.DataType:
    types = pa.types
    if types.is_time(kind):
        return pa.time32("ms")
    if types.is_timestamp(kind):
        return pa.timestamp("ms", "UTC" if kind.tz else None)
    if types.is_struct(kind):
        return pa.struct([field.with_type(_in_millis(field.type)) for field in kind])
    if types.is_map(kind):
        return pa.map_(kind.key_field, kind.item_field.with_type(_in_millis(kind.item_type)))
    if types.is_list(kind) or types.is_large_list(kind):
        field = kind.value_field.with_type(_in_millis(kind.value_type))
        return pa.large_list(field) if types.is_large_list(kind) else pa.list_(field)
    return kind
