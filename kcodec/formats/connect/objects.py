"""Rows of Connect's JSON as Python objects: by the program of the schema that each has."""

from collections.abc import Callable, Sequence
from typing import Any

from kcodec._impl import kernel
from kcodec._kept import Kept
from kcodec.errors import Fault
from kcodec.objects.each import AloneReader
from kcodec.objects.kernel import Reader

#: Schemas whose readers are kept.
_MAX_READERS = 100


class NotPlain(Exception):
    """What reads payloads leaves one to columns."""


class LeftToColumns:
    """Stands for the columns of a payload, which are those of its envelope; see `kcodec.objects.kernel.Reader`."""

    told = True

    def decode_one(self, data: Any, start: int = 0) -> Any:
        """Leave the payload to what has its envelope."""
        raise NotPlain

    def decode_list(
        self, values: list[Any], starts: Sequence[int] | None = None, stop: bool = False
    ) -> tuple[list[Any], list[Fault]]:
        """Leave the payloads to what has their envelopes."""
        raise NotPlain


class EnvelopeReader(AloneReader):
    """Reads envelopes one by one; see `kcodec.objects.kernel.Reader`.

    `of_schema` makes, for the text of a schema, what reads the payloads beside it, and raises `NotPlain` for what it
    does not read; it is None where `columns` read them all. Several envelopes are columns of the first one's schema.
    """

    def __init__(self, columns: Reader, of_schema: Callable[[bytes], Reader | None]) -> None:
        super().__init__(columns)
        self._of_schema = of_schema
        self._scan = kernel("formats.connect._envelope").scan
        self._readers: Kept[bytes, Reader | None] = Kept(_MAX_READERS)

    def decode_one(self, data: Any, start: int = 0) -> Any:
        """Read one envelope."""
        if type(data) is bytes and not start:
            found = self._scan(data)
            text = data[found.schema : found.schema_end]
            # Without a schema, what the codec was given says how a payload is read.
            if not found.code and text != b"null":
                reader = self._readers.get(text, lambda: self._of_schema(text))
                if reader is not None:
                    try:
                        return reader.decode_one(data[found.payload : found.payload_end])
                    except NotPlain:
                        pass
        return super().decode_one(data, start)
