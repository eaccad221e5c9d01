"""The fast way: columns by programs of the JSON engine, one for each schema that rows have.

Rows are read in runs that have not too many different schemas. What a program refuses is a fault here: whether
JsonConverter takes it is a matter of `kcodec.formats.connect.exact`.
"""

import contextlib
import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

import pyarrow as pa

from kcodec._impl import kernel
from kcodec._kept import Kept
from kcodec._lazy import compute as pc
from kcodec.columns.arrays.casts import cast_rows, code_of
from kcodec.columns.faults import Faults, Way, joined, null_rows
from kcodec.columns.types.exact import ExactType
from kcodec.columns.types.fields import chosen
from kcodec.errors import CODES, Fault, SchemaError
from kcodec.formats.connect.arrow import widen
from kcodec.formats.connect.plan import (
    ABSENT,
    Beyond,
    PlanOptions,
    decode_plan,
    decoded_type,
    encode_plan,
    encoded_type,
)
from kcodec.formats.connect.schema import ConnectSchema, arrow_type
from kcodec.formats.json.kernel import kernel as json_kernel
from kcodec.formats.json.objects.kernel import object_reader, object_writer
from kcodec.formats.json.plan import decodable
from kcodec.objects.form import ObjectForm
from kcodec.objects.kernel import Reader, Writer
from kcodec.plan import Limits, Plan

__all__ = [
    "MAX_TEXTS",
    "NO_SCHEMA",
    "FastReader",
    "FastWriter",
    "NullColumns",
    "TargetColumns",
    "Writing",
    "as_bytes",
]

#: Bytes of the schemas whose readings are kept, or met in one block of rows: each makes a hundred bytes of them.
MAX_TEXTS = 4 << 20

NO_SCHEMA = "the row has no schema, and none was given to read it as"


class SchemaReading(NamedTuple):
    """How rows of one schema are read; without a program, code and reason say why.

    The schema is None if its text is not one. The kind is that of the columns that the program makes: they are widened
    where the target's are wider.
    """

    schema: ConnectSchema | None
    program: Any
    code: str = ""
    reason: str = ""
    kind: pa.DataType | None = None


class TargetColumns:
    """The columns that rows are read into, with the readings of up to `max_readings` schemas that rows have.

    The row loop reads into the type `inner`, whose wide decimals are text in the type `kind` of the columns.
    """

    def __init__(
        self,
        schema: ConnectSchema,
        kind: pa.DataType,
        inner: pa.DataType,
        options: PlanOptions,
        limits: Limits,
        max_readings: int,
    ) -> None:
        self.schema = schema
        self.kind = kind
        self.inner = inner
        self._options = options
        self._limits = limits
        self._readings: Kept[tuple[str, bytes], SchemaReading] = Kept(max_readings, _size, MAX_TEXTS)
        self._programs: Kept[tuple[str, Plan], Any] = Kept(max_readings)

    def plan(self, writer: ConnectSchema | None = None) -> Plan:
        """Return the plan by which rows of a schema, by default the target's own, are read."""
        return decode_plan(writer or self.schema, self.schema, self.inner, self._options)

    def reading(self, text: bytes) -> SchemaReading:
        """Return how rows with the text of a schema are read; without a text, the schema is the target's own."""
        module = json_kernel()
        return self._readings.get((module.__name__, text), lambda: self._compiled(module, text))

    def _compiled(self, module: Any, text: bytes) -> SchemaReading:
        # A null without a schema is a null, whatever the schema of other rows.
        bare = replace(self.schema, optional=True, default=None) if text == b"null" else None
        writer = self.schema if not text else bare
        try:
            writer = writer or ConnectSchema.from_json(text, replace_null=self._options.replace_null)
            plan = self.plan(writer)
            # Rows whose schemas differ in nothing that is read have one program, and are read together.
            key = (module.__name__, plan)
            program = self._programs.get(key, lambda: module.Program(plan, self._limits))
            return SchemaReading(writer, program, kind=plan.arrow_type)
        except (SchemaError, Beyond) as error:
            return SchemaReading(
                writer, None, "schema_error" if writer is None else "unresolvable", _shown(error)
            )


class NullColumns(TargetColumns):
    """The column of nulls that rows are read into if none of them has a schema with an Arrow type.

    `check` raises `SchemaError` for the text of a schema that has no Arrow type.
    """

    def __init__(self, options: PlanOptions, limits: Limits, check: Callable[[bytes], object]) -> None:
        super().__init__(ConnectSchema("string", optional=True), pa.null(), pa.null(), options, limits, 1)
        self._check = check

    def reading(self, text: bytes) -> SchemaReading:
        """Return how rows with the text of a schema are read: only rows without a schema have a program."""
        if text != b"null":
            try:
                self._check(text)
            except SchemaError as error:
                return SchemaReading(None, None, "schema_error", _shown(error))
        return super().reading(text)


#: Rows of a run after the first.
_MIN_WINDOW = 1024


class _Run(NamedTuple):
    """Rows, and the reading of each; without selector, starts and ends, the only reading reads all rows as they are."""

    values: pa.Array
    selector: Any
    starts: Any
    ends: Any
    readings: list[SchemaReading]
    faults: Sequence[Fault]


class FastReader:
    """Reads columns of rows into the columns of a target; a run has programs for at most `max_schemas` schemas."""

    def __init__(
        self,
        options: PlanOptions,
        limits: Limits,
        *,
        enveloped: bool,
        max_schemas: int,
        fields: Sequence[str] | None,
        precision: int,
        wide_decimals: str,
        large: bool,
    ) -> None:
        self._options = options
        self._limits = limits
        self._enveloped = enveloped
        self._max_schemas = max_schemas
        self._fields = fields
        self._precision = precision
        self._wide = wide_decimals
        self._large = large
        self._targets: Kept[bytes, TargetColumns] = Kept()

    def target(self, schema: object) -> TargetColumns:
        """Return the columns of a schema in any form; `SchemaError` if it has none."""
        if isinstance(schema, (pa.DataType, pa.Schema)):
            kind = chosen(pa.struct(list(schema)) if isinstance(schema, pa.Schema) else schema, self._fields)
            made = ConnectSchema.from_arrow(kind, nullable=True)
            kind = inner = decodable(decoded_type(kind))
        else:
            made = ConnectSchema.from_json(schema, replace_null=self._options.replace_null)
            if self._fields is not None:
                made = made.select(self._fields)
            kind, inner = (
                arrow_type(made, self._precision, wide, self._large, self._options.debezium)
                for wide in (self._wide, "engine")
            )
        return TargetColumns(made, kind, inner, self._options, self._limits, self._max_schemas)

    def first(
        self, chunks: Sequence[pa.Array], strange: Callable[[bytes], bytes] | None = None
    ) -> TargetColumns:
        """Return the columns of the first schema in a column of envelopes.

        Of a row that is no plain envelope, `strange` returns the text of the schema; without one, it has none.
        """
        scan = kernel("formats.connect._envelope").scan
        passed = {b"null"}
        for chunk in chunks:
            for row in pc.indices_nonzero(chunk.is_valid()):
                data = as_bytes(chunk[row.as_py()])
                found = scan(data)
                text = b"null"
                if not found.code:
                    text = data[found.schema : found.schema_end]
                elif strange is not None:
                    text = strange(data)
                if text in passed:
                    continue
                try:
                    return self._targets.get(text, functools.partial(self.target, text))
                except SchemaError:
                    passed.add(text)
        # All rows are null, or faults.
        return NullColumns(self._options, self._limits, self.target)

    def object_reader(
        self, target: TargetColumns | None, text: bytes, columns: Reader, form: ObjectForm
    ) -> Reader | None:
        """Return what reads payloads beside the text of a schema as Python objects; `columns` reads the others.

        Without a target, that is the schema's own. None if they are only read as columns.
        """
        try:
            target = target or self._targets.get(text, functools.partial(self.target, text))
            reading = target.reading(text)
            if reading.program is None or not reading.kind == target.inner == target.kind:
                return None
            return object_reader(target.plan(reading.schema), self._limits, columns, form)
        except SchemaError:
            return None

    def read(self, target: TargetColumns, values: pa.Array, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
        """Read an array of rows as the target's ``inner``; with `stop`, up to the first fault."""
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
                    return part, faults[0]
            parts.append(part)
            start += len(run.values)
            # Where a run ends for its many schemas, the next one is not going to be much longer.
            window = max(4 * len(run.values), _MIN_WINDOW)
        return (parts[0] if len(parts) == 1 else pa.concat_arrays(parts)), joined(faults)

    def _split(self, target: TargetColumns, values: pa.Array) -> _Run:
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

    def _read_run(self, target: TargetColumns, run: _Run, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
        array, found = self._decode(target, run, stop)
        unread = _unread(run)
        if not found and not unread:
            return array, run.faults
        told = Faults.of(joined(found)).told(self._way(target))
        return array, joined([run.faults, self._with_envelopes(run, joined([told, unread]))])

    def _decode(self, target: TargetColumns, run: _Run, stop: bool) -> tuple[pa.Array, list[Sequence[Fault]]]:
        """Read the rows by their programs, once for each type that these give the target's columns."""
        array: pa.Array | None = None
        faults: list[Sequence[Fault]] = []
        # Most columns have one schema, and the hash of a wide type takes as long as a few rows.
        distinct = {id(reading.kind): reading.kind for reading in run.readings if reading.kind is not None}
        for kind in set(distinct.values()) if len(distinct) > 1 else distinct.values():
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
            part, lost = (part, []) if kind == target.inner else widen(part, target.inner)
            # Beneath the nulls of rows that failed may be what was read of them before.
            failed = {fault.row for fault in found} if lost else set()
            paths = {row: path for row, path in reversed(lost) if row not in failed}
            if paths:
                inexact = CODES["inexact"]
                faults.append([Fault(row, None, paths[row], "inexact", inexact) for row in sorted(paths)])
            if paths or array is not None:
                kept = part.is_valid()
                if paths:
                    kept = pa.array(
                        [valid and row not in paths for row, valid in enumerate(kept.to_pylist())]
                    )
                # Rows of other schemas are null in it.
                part = pc.if_else(kept, part, null_rows(len(part), target.inner) if array is None else array)
            array = part
        return null_rows(len(run.values), target.inner) if array is None else array, faults

    def _way(self, target: TargetColumns) -> Callable[[str, str, str], Way]:
        """Return how faults of the row loop are described: with the names of the schema."""
        if self._enveloped and isinstance(target, NullColumns):
            return lambda path, code, reason: (_named(path), "schema_error", NO_SCHEMA)
        return lambda path, code, reason: (_named(path), code, reason)

    def _with_envelopes(self, run: _Run, faults: Sequence[Fault]) -> Sequence[Fault]:
        """Return faults of rows, or why they are not envelopes although they began like the row before."""
        if not self._enveloped:
            return faults
        columns = Faults.of(faults)
        unlike = kernel("formats.connect._envelope").unlike(run.values, columns.rows.to_pylist())
        return joined([columns.without(unlike.rows), unlike]) if unlike else faults


def _named(path: str) -> str:
    return path.replace(ABSENT, "")


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


def as_bytes(value: pa.Scalar) -> bytes:
    """Return a payload, which may be of text."""
    data = value.as_py()
    return data.encode() if isinstance(data, str) else data


def _size(key: tuple[str, bytes]) -> int:
    return len(key[1])


def _shown(error: Exception) -> str:
    """Return an error's words as reports hold them: names of JSON may hold halves of surrogate pairs."""
    return str(error).encode(errors="backslashreplace").decode()


# Writing --------------------------------------------------------------------------------------------


class Writing(NamedTuple):
    """How columns of an Arrow type are written: as which schema, cast to which type, by which program.

    Without a program rows are converted one by one. The text is that of the schema, where envelopes have one.
    """

    schema: ConnectSchema
    text: str
    kind: pa.DataType
    program: Any

    def cast(self, array: pa.Array) -> tuple[pa.Array, list[Fault]]:
        """Cast columns to what the program writes; rows that would lose something have a fault."""
        return cast_rows(array, self.kind, _code_of)


class FastWriter:
    """Writes columns as rows of a schema, or without one, as rows of the schema that their type has."""

    def __init__(
        self,
        schema: ConnectSchema | None,
        options: PlanOptions,
        limits: Limits,
        *,
        enveloped: bool,
        large: bool,
    ) -> None:
        self._schema = schema
        self._options = options
        self._limits = limits
        self._enveloped = enveloped
        self._large = large
        self._writings: Kept[tuple[str, ExactType], Writing] = Kept()

    def plan(self, kind: pa.DataType) -> Plan:
        """Return the plan by which columns of an Arrow type are written; `Beyond` if there is none."""
        schema = self._schema_of(kind)
        return encode_plan(schema, encoded_type(schema, kind, self._options), self._options)

    def _schema_of(self, kind: pa.DataType) -> ConnectSchema:
        return ConnectSchema.from_arrow(kind, nullable=True) if self._schema is None else self._schema

    def writing(self, kind: pa.DataType) -> Writing:
        """Return how columns of an Arrow type are written."""
        module = json_kernel()

        def make() -> Writing:
            schema = self._schema_of(kind)
            inner = encoded_type(schema, kind, self._options)
            program, text = None, ""
            with contextlib.suppress(Beyond):
                program = module.Program(encode_plan(schema, inner, self._options), self._limits)
            if self._enveloped:
                decimal_format = "NUMERIC" if self._options.numeric else "BASE64"
                text = schema.to_text(decimal_format, replace_null=self._options.replace_null)
            return Writing(schema, text, inner, program)

        return self._writings.get((module.__name__, ExactType(kind)), make)

    def object_writer(self, kind: pa.DataType, columns: Writer) -> Writer:
        """Return what writes Python objects as columns of a type are written; `columns` writes them by these."""
        writing = self.writing(kind)
        if writing.program is None or writing.kind != kind:
            return columns
        before, behind = self._around(writing)
        plan = encode_plan(writing.schema, kind, self._options)
        return object_writer(plan, columns, fills=True, before=before, behind=behind)

    def write(self, plain: pa.Array, writing: Writing, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
        """Write columns of the type that the writing casts to."""
        prefix, suffix = self._around(writing)
        return json_kernel().encode(
            plain, writing.program, prefix=prefix, suffix=suffix, large=self._large, stop=stop
        )

    def _around(self, writing: Writing) -> tuple[bytes, bytes]:
        """Return what stands before a payload, and what behind it."""
        return (f'{{"schema":{writing.text},"payload":'.encode(), b"}") if self._enveloped else (b"", b"")


def _code_of(value: pa.Array, kind: pa.DataType) -> str:
    """Return the code of why a value cannot be cast to what is written; text may not be a number."""
    given = value[0].as_py()
    with contextlib.suppress(InvalidOperation):
        if not isinstance(given, str) or Decimal(given).is_finite():
            return code_of(value, kind)
    return "invalid_number"
