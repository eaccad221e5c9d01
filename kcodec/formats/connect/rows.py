"""Rows that the row loop refuses or does not handle, read and written one by one as JsonConverter does it."""

from typing import Any

import pyarrow as pa

from kcodec._impl import kernel
from kcodec.errors import Fault
from kcodec.formats.connect.arrow import column_value, row_value
from kcodec.formats.connect.converter import JsonConverter
from kcodec.formats.connect.json_reader import Expansion
from kcodec.formats.connect.schema import ConnectSchema
from kcodec.formats.connect.target import NO_SCHEMA, NullTarget, Target
from kcodec.plan.failure import RowError

__all__ = ["RowConverter"]


class RowConverter:
    """A JsonConverter between payloads and Arrow columns."""

    def __init__(
        self, converter: JsonConverter, *, enveloped: bool, max_expansion: int, floor: bool = False
    ) -> None:
        self._floor = floor
        self._converter = converter
        self._enveloped = enveloped
        self._max_expansion = max_expansion

    def read(self, data: bytes, target: Target) -> Any:
        """Read one row to what `pyarrow.array` takes for the type that is `unscaled` of the target's ``inner``."""
        start = 0
        try:
            if not self._enveloped:
                writer, value = target.schema, self._converter.payload(target.schema, data)
            else:
                # Of its own text, as it may only begin and end like a row of another schema.
                found = kernel("formats.connect._envelope").scan(data)
                reading = None if found.code else target.reading(data[found.schema : found.schema_end])
                if isinstance(target, NullTarget):
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
            return column_value(value, writer, target.schema, field, Expansion(self._max_expansion))
        except RowError as error:
            offset = None if error.offset is None else start + error.offset
            raise RowError(error.code, offset, error.path, error.reason) from None

    def write(
        self, array: pa.Array, schema: ConnectSchema, kind: pa.DataType, *, tombstones: bool, stop: bool
    ) -> tuple[pa.Array, list[Fault]]:
        """Write the rows of an array as a binary `kind`; with `stop`, up to the first fault.

        With `tombstones` null rows stay null.
        """
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
