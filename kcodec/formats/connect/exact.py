"""The exact way: rows one by one as JsonConverter reads and writes them, for what programs do not read."""

import contextlib
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from kcodec._impl import kernel
from kcodec._lazy import compute as pc
from kcodec.columns.arrays.nested import plain_array
from kcodec.columns.faults import joined
from kcodec.errors import Fault
from kcodec.formats.connect.arrow import column_value, row_value, unscaled
from kcodec.formats.connect.converter import JsonConverter
from kcodec.formats.connect.fast import NO_SCHEMA, NullColumns, TargetColumns
from kcodec.formats.connect.json_reader import Expansion
from kcodec.formats.connect.schema import ConnectSchema
from kcodec.formats.json.reread import reread
from kcodec.plan.failure import RowError

#: Faults that are not judged again: bounds of the codec's own.
_BOUNDS = frozenset(["depth_limit", "size_limit"])


class ExactRows:
    """A JsonConverter between payloads and Arrow columns; with `unique` a key that stands twice stays a fault."""

    def __init__(
        self, converter: JsonConverter, *, enveloped: bool, unique: bool = False, floor: bool = False
    ) -> None:
        self._floor = floor
        self._converter = converter
        self._enveloped = enveloped
        self._final = _BOUNDS | {"duplicate_key"} if unique else _BOUNDS

    def schema_text(self, data: bytes) -> bytes:
        """Return the text of the schema of a row, which may be an envelope that only Jackson takes."""
        with contextlib.suppress(RowError):
            schema = self._converter.to_connect_data(data)[0]
            return b"null" if schema is None else str(schema).encode()
        return b"null"

    def reread(
        self, target: TargetColumns, values: pa.Array, array: pa.Array, faults: Sequence[Fault], stop: bool
    ) -> tuple[pa.Array, Sequence[Fault]]:
        """Read the rows that have a fault again, into what was made of the others: the target's ``inner``."""
        final = [fault for fault in faults if fault.code in self._final]
        again = [fault for fault in faults if fault.code not in self._final]
        array, left = reread(
            values,
            array,
            again,
            lambda data, row: self.read(data, target),
            stop=stop,
            kind=unscaled(target.inner),
        )
        return array, joined([left, final])

    def read(self, data: bytes, target: TargetColumns) -> Any:
        """Read one row to what `pyarrow.array` takes for the type that is `unscaled` of the target's ``inner``."""
        start = 0
        try:
            if not self._enveloped:
                writer, value = target.schema, self._converter.payload(target.schema, data)
            else:
                # Of its own text, as it may only begin and end like a row of another schema.
                found = kernel("formats.connect._envelope").scan(data)
                reading = None if found.code else target.reading(data[found.schema : found.schema_end])
                if isinstance(target, NullColumns):
                    if self._converter.to_connect_data(data)[1] is not None:
                        raise RowError("schema_error", reason=(reading and reading.reason) or NO_SCHEMA)
                    return None
                schema = None if reading is None else reading.schema
                if schema is not None:
                    start = found.payload
                    value = self._converter.enclosed(schema, data[start : found.payload_end])
                else:
                    # What is wrong with it, or an envelope that only Jackson takes.
                    schema, value = self._converter.to_connect_data(data)
                    if schema is None:
                        raise RowError("schema_error", reason=NO_SCHEMA)
                writer = schema
            field = pa.field("", target.inner)
            return column_value(value, writer, target.schema, field, Expansion(self._converter.max_expansion))
        except RowError as error:
            offset = None if error.offset is None else start + error.offset
            raise RowError(error.code, offset, error.path, error.reason) from None

    def write(
        self, array: pa.Array, schema: ConnectSchema, kind: pa.DataType, *, tombstones: bool, stop: bool
    ) -> tuple[pa.Array, list[Fault]]:
        """Write the rows of an array as a binary `kind`; with `stop`, up to the first fault.

        With `tombstones` null rows stay null.
        """
        array = plain_array(array)
        payloads: list[bytes | None] = []
        faults: list[Fault] = []
        for row in range(len(array)):
            data = None
            if array[row].is_valid or not tombstones:
                try:
                    data = self._converter.from_connect_data(schema, row_value(array, row, floor=self._floor))
                except RowError as error:
                    faults.append(error.fault(row))
                    if stop:
                        break
            payloads.append(data)
        return pa.array(payloads, kind), faults

    def explain(self, array: pa.Array, schema: ConnectSchema, fault: Fault) -> Fault:
        """Return the fault of a row that was not written, with JsonConverter's words if it refuses the row too."""
        try:
            self._converter.from_connect_data(schema, row_value(array, fault.row, floor=self._floor))
        except RowError as error:
            return error.fault(fault.row)
        return fault

    def null(self, schema: ConnectSchema, missing: pa.Array) -> tuple[bytes | None, list[Fault]]:
        """Return what a null is written as, or the faults of the rows where it is missing if it cannot be."""
        try:
            return self._converter.from_connect_data(schema, None), []
        except RowError as error:
            return None, [error.fault(row) for row in pc.indices_nonzero(missing).to_pylist()]
