"""Single documents that are validated: read and written as others are if they are valid; columns do all others."""

from typing import Any

from kcodec.errors import EncodeError
from kcodec.formats.json_schema.validation import Validator
from kcodec.objects.each import AloneReader, EachWriter
from kcodec.objects.kernel import Reader, Writer


class ValidReader(AloneReader):
    """Reads documents; `columns` say what is wrong with those that are not valid."""

    def __init__(self, reader: Reader, validator: Validator, columns: Reader) -> None:
        super().__init__(columns)
        self._read = reader.decode_one
        self._violation = validator.violation

    def decode_one(self, data: Any, start: int = 0) -> Any:
        """Read one document."""
        value = self._read(data, start)
        if data is None or (type(data) is bytes and self._violation(data[start:] if start else data) is None):
            return value
        return super().decode_one(data, start)


class ValidWriter(EachWriter):
    """Writes documents; `columns` leave out other nulls of those that are not valid, or say what is wrong."""

    def __init__(self, writer: Writer, validator: Validator, columns: Writer) -> None:
        super().__init__(columns.encode_one)
        self._write = writer.encode_one
        self._violation = validator.violation

    def encode_one(self, value: Any, prefix: bytes = b"") -> bytes | None:
        """Write one document."""
        try:
            made = self._write(value, prefix)
        except EncodeError:
            made = None
        if made is not None and self._violation(made[len(prefix) :]) is None:
            return made
        return self._encode(value, prefix)
