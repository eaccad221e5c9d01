"""Payloads of registered schemas as a statement's columns: what is the same for all languages of schemas."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from kcodec.columns.arrays.given import without_view
from kcodec.columns.types.plain import is_list
from kcodec.errors import Fault, SchemaError
from kcodec.formats.connect.model import ConnectType
from kcodec.formats.json.kernel import JsonKernel
from kcodec.formats.payloads import SchemaDecoder
from kcodec.formats.schema_format import SchemaFormat
from kcodec.formats.tagged import ITEMS, VALUES, TaggedField
from kcodec.ksql.formats.coercion import coerced
from kcodec.ksql.formats.reading import Reading, reading
from kcodec.ksql.types import RowOptions, arrow_type
from kcodec.plan import Limits
from kcodec.plan.kernel import RowKernel
from kcodec.plan.programs import Programs


class ColumnsFormat:
    """A schema language for the columns of a statement, whatever else is given; mixed into the language."""

    rows: RowOptions | None

    @property
    def _rows(self) -> RowOptions:
        assert self.rows is not None
        return self.rows

    def is_large(self, options: Any) -> bool:
        """Return what the columns ask for."""
        return self._rows.large

    def text(self) -> str:
        """Return the schema that is registered."""
        raise NotImplementedError

    def derived_text(self, kind: pa.DataType) -> str:
        """Return `text`."""
        return self.text()


class PayloadReader(NamedTuple):
    """How the payloads of a writer's schema are read: what is decoded, and what is done to the result.

    Writers with equal keys are read together.
    """

    key: str
    reading: Reading
    decoder: SchemaDecoder
    program: Any


class ProgramDecoder(SchemaDecoder):
    """Payloads of one writer's schema, whose program is known.

    `kernel` returns the row loops that are in use, and `trailing` is whether anything may stand behind a payload.
    """

    takes_prefix = True

    def __init__(
        self,
        kernel: Callable[[], RowKernel | JsonKernel],
        program: Programs,
        *,
        trailing: bool,
        text: str = "",
    ) -> None:
        self.text = text
        self.arrow_type = program.plan.arrow_type
        self._kernel = kernel
        self._program = program
        self._trailing = trailing

    def program(self, writer: Any, indexes: tuple[int, ...] = ()) -> Programs:
        """Return the program."""
        return self._program

    def decode(
        self, values: pa.Array, programs: Sequence[Any], *, selector: Any, starts: Any, stop: bool
    ) -> tuple[pa.Array, Sequence[Fault]]:
        """Decode an array."""
        module = self._kernel()
        compiled = [None if program is None else program.compiled(module) for program in programs]
        return module.decode(
            values, compiled, selector=selector, starts=starts, trailing=self._trailing, stop=stop
        )


def read_as(rows: RowOptions, source: ConnectType) -> Reading:
    """Return how a schema is read as rows, or raise `SchemaError` where no row of it can be."""
    found = reading(rows.kind, source)
    if found.problem:
        raise SchemaError(found.problem)
    return found


def tagged_columns(language: SchemaFormat, schema: Any, kind: pa.DataType) -> list[TaggedField]:
    """Return the fields of a schema that rules may be about, where a statement's columns have their values.

    `language` is that of the schema, without the statement, and `kind` the type of the columns. As when they are read,
    capital letters make no difference; fields that no column has are left out.
    """
    options = language.options(None)
    own = language.decoder(schema, options, Limits()).arrow_type
    placed = (
        (each, _steps(each.steps, kind)) for each in language.tagged_fields(schema, schema, own, options)
    )
    return [each._replace(steps=steps) for each, steps in placed if steps is not None]


def _steps(steps: Sequence[str | int], kind: pa.DataType) -> tuple[str | int, ...] | None:
    """Return steps by the names that columns have; None if they lead nowhere."""
    found: list[str | int] = []
    for each in steps:
        if isinstance(each, str):
            names = [field.name for field in kind] if pa.types.is_struct(kind) else []
            alike = [name for name in names if name.upper() == each.upper()]
            if not alike:
                return None
            found.append(each if each in alike else alike[0])
            kind = kind.field(found[-1]).type
        elif (each == ITEMS and is_list(kind)) or (each == VALUES and pa.types.is_map(kind)):
            found.append(each)
            kind = kind.value_type if each == ITEMS else kind.item_type
        else:
            return None
    return tuple(found)


class ColumnDecoder(SchemaDecoder):
    """The columns of a statement, for payloads of any writer's schema.

    `make` returns the reader of a parsed schema and the message indexes of its payloads.
    """

    takes_prefix = True

    def __init__(
        self, text: str, rows: RowOptions, make: Callable[[Any, tuple[int, ...]], PayloadReader]
    ) -> None:
        self.text = text
        self.arrow_type = arrow_type(rows.kind, large=rows.large)
        self._make = make

    def program(self, writer: Any, indexes: tuple[int, ...] = ()) -> PayloadReader:
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
        taken = without_view(values)
        parts: list[pa.Array] = []
        faults: list[Fault] = []
        done = 0
        for group in groups.values():
            rows = np.flatnonzero(np.isin(numbers, group))
            chosen = [program if number in group else None for number, program in enumerate(programs)]
            begin = None if starts is None else np.frombuffer(starts, np.int32)[: len(values)][rows]
            part, found = self._decode(taken.take(pa.array(rows)), chosen, numbers[rows], begin, stop)
            faults += [fault._replace(row=int(rows[fault.row])) for fault in found]
            parts.append(pa.nulls(len(rows), self.arrow_type) if stop and found else part)
            places[rows] = np.arange(done, done + len(rows))
            done += len(rows)
        order = pa.array(places, mask=places < 0)
        return pa.concat_arrays(parts).take(order), sorted(faults, key=lambda fault: fault.row)

    def _decode(
        self, values: pa.Array, programs: Sequence[Any], selector: Any, starts: Any, stop: bool
    ) -> tuple[pa.Array, list[Fault]]:
        """Decode the rows of writers that can be read together."""
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
