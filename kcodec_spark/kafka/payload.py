"""Decodes keys and values in tasks: a codec or a serde, used as the functions of this package use them."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from kcodec.frames import Frame
from kcodec_spark.options import RowsOptions
from kcodec_spark.workers.udf import corrupt_type, decode_permissive


class Payload:
    """Decodes keys or values as a codec or serde does, with what is wrong with a bad one beside it if so asked.

    It is what `kcodec.kafka.read` takes. The codec's type is known.
    """

    def __init__(self, codec: Any, rows: RowsOptions) -> None:
        self._codec = codec
        self._rows = rows
        kind = corrupt_type(codec.arrow_type, rows.corrupt_column, text_ids=self.frame.has_text_ids)
        if rows.permissive and pa.types.is_struct(kind):
            kind = pa.struct([field.with_nullable(True) for field in kind])
        self.arrow_type: pa.DataType = kind

    def __reduce__(self) -> tuple[Any, ...]:
        return Payload, (self._codec, self._rows)

    @property
    def frame(self) -> Frame:
        """What names the schema of a value, where that is no codec's."""
        return Frame.of(getattr(self._codec, "frame", None))

    def select(self, fields: Sequence[str]) -> "Payload":
        """Return what decodes nothing but some fields."""
        column = self._rows.corrupt_column
        decoded = [name for name in fields if name.split(".")[0] != column]
        rows = self._rows._replace(corrupt_column=column if len(decoded) < len(fields) else None)
        return Payload(self._codec.select(decoded) if decoded else self._codec, rows)

    def deserialize(self, values: pa.Array, errors: str, headers: pa.Array | None = None) -> Any:
        """Decode a column; in mode PERMISSIVE bad rows are nulls, and no report has them."""
        rows = self._rows
        if rows.permissive:
            array = decode_permissive(
                self._read, rows.corrupt_column, rows.null_on_registry_failure, values, headers
            )
            return (array, pa.table({})) if errors == "report" else array
        return self._read(values, headers, errors=errors)

    def _read(self, values: pa.Array, headers: pa.Array | None, *, errors: str) -> Any:
        if hasattr(self._codec, "deserialize"):
            return self._codec.deserialize(values, errors, headers)
        return self._codec.decode(values, errors)
