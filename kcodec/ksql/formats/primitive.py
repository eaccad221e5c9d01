"""ksqlDB's KAFKA, a single value by Kafka's own serializers; and NONE, nothing at all.

=======  ==================================
INTEGER  4 bytes, big-endian
BIGINT   8 bytes, big-endian
DOUBLE   8 bytes, big-endian, IEEE 754
STRING   UTF-8
BYTES    the bytes
=======  ==================================
"""

import struct
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import pyarrow as pa

from kcodec._impl import kernel
from kcodec._lazy import compute as pc
from kcodec.columns.arrays.casts import cast_rows
from kcodec.columns.arrays.nested import cast_leaf
from kcodec.errors import CODES, Fault, SchemaError
from kcodec.formats.json.reread import reread
from kcodec.java.utf8 import decode_utf8
from kcodec.ksql.formats.json.plan import code_of, written_type
from kcodec.ksql.types import RowOptions, SqlColumn, arrow_type
from kcodec.objects.each import AloneReader, EachWriter
from kcodec.objects.kernel import Reader, Writer
from kcodec.plan.failure import RowError

_SERIALIZERS = {"INTEGER": "Integer", "BIGINT": "Long", "DOUBLE": ""}


class _Plain(NamedTuple):
    """How a value of Python's own class is read and written."""

    kind: type
    read: Callable[[bytes], Any]
    write: Callable[[Any], bytes]


def _plain_number(kind: type, layout: str) -> _Plain:
    packed = struct.Struct(layout)
    return _Plain(kind, lambda data: packed.unpack(data)[0], packed.pack)


_PLAIN = {
    "INTEGER": _plain_number(int, ">i"),
    "BIGINT": _plain_number(int, ">q"),
    "DOUBLE": _plain_number(float, ">d"),
    "STRING": _Plain(str, bytes.decode, str.encode),
    "BYTES": _Plain(bytes, bytes, bytes),
}


class VoidRows:
    """Rows without columns: whatever the bytes are, they are null."""

    plan = None

    def __init__(self, options: RowOptions) -> None:
        if options.kind.fields or not options.wrapped:
            names = ", ".join(map(str, options.kind.fields)) or options.kind
            raise SchemaError(
                f"The 'NONE' format can only be used when no columns are defined. Got: [{names}]"
            )
        self.arrow_type = pa.struct([])
        self._encoded_type = pa.large_binary() if options.large else pa.binary()

    def decode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, list[Fault]]:
        """Return as many nulls."""
        return pa.nulls(len(array), self.arrow_type), []

    def encode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, list[Fault]]:
        """Return as many nulls."""
        return pa.nulls(len(array), self._encoded_type), []


class KafkaRows:
    """How a single column stands as Kafka's own serializers write it."""

    plan = None

    def __init__(self, options: RowOptions) -> None:
        if options.wrapped:
            names = ", ".join(map(str, options.kind.fields))
            raise SchemaError(f"The 'KAFKA' format only supports a single field. Got: [{names}]")
        if options.kind.base not in (*_SERIALIZERS, "STRING", "BYTES"):
            raise SchemaError(f"The 'KAFKA' format does not support type '{options.kind.base}'")
        self._options = options
        self.arrow_type = arrow_type(options.kind, large=options.large)
        self._encoded_type = pa.large_binary() if options.large else pa.binary()

    def decode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, list[Fault]]:
        """Read an array of payloads."""
        if self._options.kind.base in _SERIALIZERS:
            return self._numbers(array)
        plain = cast_leaf(array, pa.large_binary() if self._options.large else pa.binary())
        if self._options.kind.base == "BYTES":
            return plain, []
        text, lost = self._checked(plain)
        faults = [fault._replace(offset=0) for fault in lost]
        return reread(array, text, faults, self._text, stop=stop)

    def _checked(self, values: pa.Array) -> tuple[pa.Array, list[Fault]]:
        """Make text of bytes, of those that are UTF-8."""
        text, lost = cast_rows(values, self.arrow_type, code_of)
        code = "invalid_utf8"
        return text, [fault._replace(code=code, reason=CODES[code]) for fault in lost]

    def _text(self, data: bytes, row: int) -> str:
        try:
            return decode_utf8(data) if self._options.compatible else data.decode()
        except UnicodeDecodeError as error:
            raise RowError("invalid_utf8", error.start) from None

    def _numbers(self, array: pa.Array) -> tuple[pa.Array, list[Fault]]:
        size = self.arrow_type.bit_width // 8
        values = pa.allocate_buffer(size * len(array))
        fixed = _of_size(array, size)
        if fixed is not None:
            turn(fixed.buffers()[1].slice(size * fixed.offset), values, size, len(array))
            return pa.Array.from_buffers(self.arrow_type, len(array), [None, values]), []
        binary = array.cast(pa.large_binary())
        fits = pc.equal(pc.binary_length(binary), size)
        is_sized = pc.fill_null(fits, False)
        faults = []
        if pc.any(pc.invert(fits)).as_py():
            bad = pc.indices_nonzero(pc.fill_null(pc.invert(fits), False))
            reason = (
                f"Size of data received by {_SERIALIZERS[self._options.kind.base]}Deserializer is not {size}"
            )
            lengths = pc.binary_length(binary).take(bad)
            faults = [
                Fault(row, 0, "", "truncated" if length < size else "trailing_bytes", reason)
                for row, length in zip(bad.to_pylist(), lengths.to_pylist(), strict=True)
            ]
        # Every row has the size now, so that the values stand side by side.
        packed = pc.if_else(is_sized, binary, pa.scalar(bytes(size), pa.large_binary()))
        turn(packed.buffers()[2], values, size, len(array))
        bitmap = None if is_sized.false_count == 0 else pc.if_else(is_sized, True, None).buffers()[0]
        return pa.Array.from_buffers(self.arrow_type, len(array), [bitmap, values]), faults

    def encode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, list[Fault]]:
        """Write an array."""
        kind = self._options.kind
        plain, _ = cast_rows(array, written_type(kind, array.type), code_of)
        if kind.base == "BYTES":
            return cast_leaf(plain, self._encoded_type), []
        if kind.base == "STRING":
            text, faults = self._checked(cast_leaf(plain, self._encoded_type))
            return cast_leaf(text, self._encoded_type), faults
        numbers, lost = cast_rows(plain, self.arrow_type, code_of)
        faults = [fault._replace(code="out_of_range", reason=CODES["out_of_range"]) for fault in lost]
        size = self.arrow_type.bit_width // 8
        values = pa.allocate_buffer(size * len(array))
        bitmap = None
        if numbers.null_count:
            bitmap = pc.if_else(numbers.is_valid(), True, None).buffers()[0]
            numbers = pc.fill_null(numbers, 0)
        turn(numbers.buffers()[1].slice(size * numbers.offset), values, size, len(array))
        fixed = pa.Array.from_buffers(pa.binary(size), len(array), [bitmap, values])
        return cast_leaf(fixed, self._encoded_type), faults


class KafkaReader(AloneReader):
    """Reads rows of KAFKA one by one; see `kcodec.objects.kernel.Reader`. `columns` read what is not plain."""

    def __init__(self, column: SqlColumn, columns: Reader) -> None:
        super().__init__(columns)
        self._name = column.name
        self._plain = _PLAIN[column.type.base]

    def decode_one(self, data: Any, start: int = 0) -> Any:
        """Read one row."""
        if type(data) is bytes and not start:
            try:
                return {self._name: self._plain.read(data)}
            except (struct.error, UnicodeDecodeError):
                pass
        return super().decode_one(data, start)


class KafkaWriter(EachWriter):
    """Writes rows of KAFKA one by one; see `kcodec.objects.kernel.Writer`. `columns` write what is not plain."""

    def __init__(self, column: SqlColumn, columns: Writer) -> None:
        super().__init__(columns.encode_one)
        self._name = column.name
        self._plain = _PLAIN[column.type.base]

    def encode_one(self, value: Any, prefix: bytes = b"") -> bytes | None:
        """Write one row."""
        if type(value) is dict and len(value) == 1:
            held = value.get(self._name)
            if type(held) is self._plain.kind:
                try:
                    return prefix + self._plain.write(held)
                except (struct.error, UnicodeEncodeError):
                    pass
        return self._encode(value, prefix)


def _of_size(array: pa.Array, size: int) -> pa.Array | None:
    """Return payloads as values of a size; None if there are nulls or others among them."""
    types = pa.types
    if array.null_count or types.is_binary_view(array.type) or types.is_string_view(array.type):
        return None
    try:
        return array.cast(pa.binary(size))
    except pa.ArrowInvalid:
        return None


def turn(source: pa.Buffer, target: pa.Buffer, size: int, count: int) -> None:
    """Copy numbers from the machine's byte order to big-endian, or the reverse."""
    if count:
        kernel("wire.buffers._endian").move(
            source, 0, size, target, 0, size, count, size, sys.byteorder != "big"
        )
