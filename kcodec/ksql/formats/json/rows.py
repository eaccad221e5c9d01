"""ksqlDB's JSON: documents as ksqlDB reads and writes them."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from kcodec._kept import Kept
from kcodec._lazy import compute as pc
from kcodec.columns.faults import joined
from kcodec.columns.types.exact import ExactType
from kcodec.errors import CODES, Fault, SchemaError
from kcodec.formats.json.kernel import kernel as json_kernel
from kcodec.formats.json.objects.kernel import object_reader, object_writer
from kcodec.formats.json.reread import reread
from kcodec.ksql.formats.json.plan import cast_written, decode_plan, encode_plan, is_ambiguous, written_type
from kcodec.ksql.formats.json.reader import read_row
from kcodec.ksql.types import RowOptions, SqlType
from kcodec.objects.form import ObjectForm
from kcodec.objects.kernel import Reader, Writer
from kcodec.plan import Plan


class JsonRows:
    """How rows of some columns stand in JSON."""

    def __init__(self, options: RowOptions) -> None:
        if not _string_keys(options.kind):
            raise SchemaError("JSON only supports MAP types with STRING keys")
        self._options = options
        self._ambiguous = options.compatible and is_ambiguous(options.kind)
        self.plan = decode_plan(
            options.kind, wrapped=options.wrapped, compatible=options.compatible, large=options.large
        )
        self.arrow_type = self.plan.arrow_type
        self._programs: Kept[tuple[str, pa.DataType | None], Any] = Kept()
        self._written_types: Kept[ExactType, pa.DataType] = Kept()

    def decode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
        """Read an array of payloads; see the kernel of JSON."""
        if self._ambiguous:
            # One key may be several columns, which the row loop does not know.
            nulls = pa.nulls(len(array), self.arrow_type)
            rows = pc.indices_nonzero(array.is_valid()).to_pylist()
            every = [Fault(row, None, "", "json_type", CODES["json_type"]) for row in rows]
            return reread(array, nulls, every, self._reread, stop=stop)
        module = json_kernel()
        program = self._program(module, None)
        decoded, faults = module.decode(array, [program], stop=stop and not self._options.compatible)
        if faults and self._options.compatible:
            return reread(array, decoded, faults, self._reread, stop=stop)
        return decoded, faults

    def object_reader(self, columns: Reader, form: ObjectForm) -> Reader:
        """Return what reads rows as Python objects; `columns` reads those that are not plain."""
        if self._ambiguous:
            return columns
        return object_reader(self.plan, self._options.limits, columns, form)

    def object_writer(self, columns: Writer) -> Writer:
        """Return what writes Python objects as rows; `columns` writes those that are not plain."""
        kind = written_type(self._options.kind, self.arrow_type)
        if kind != self.arrow_type:
            return columns
        return object_writer(self._written(kind), columns, fills=True)

    def _reread(self, data: bytes, row: int) -> Any:
        return read_row(data, self._options.kind, wrapped=self._options.wrapped)

    def encode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
        """Write an array; see the kernel of JSON."""
        given = array.type
        kind = self._written_types.get(ExactType(given), lambda: written_type(self._options.kind, given))
        module = json_kernel()
        plain, lost = cast_written(array, self._options.kind, kind)
        encoded, faults = module.encode(
            plain, self._program(module, kind), large=self._options.large, stop=stop
        )
        return encoded, joined([lost, faults])

    def _program(self, module: Any, kind: pa.DataType | None) -> Any:
        """Return the program that writes a type, or with None the one that reads."""

        def make() -> Any:
            return module.Program(self.plan if kind is None else self._written(kind), self._options.limits)

        return self._programs.get((module.__name__, kind), make)

    def _written(self, kind: pa.DataType) -> Plan:
        return encode_plan(self._options.kind, kind, floor=self._options.floor)


def _string_keys(kind: SqlType) -> bool:
    return (kind.key is None or kind.key.base == "STRING") and all(map(_string_keys, kind.parts))
