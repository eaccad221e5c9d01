"""Payloads as text, as the console consumers of a schema language print them and console producers read them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kcodec.errors import DecodeError
from kcodec.formats.payloads import SchemaPayloads

if TYPE_CHECKING:
    # A registry needs no Arrow.
    import pyarrow as pa


class SchemaPrinting(SchemaPayloads):
    """What consoles ask of a schema language, besides what serdes do: values as text."""

    def printer(self, schema: Any) -> Callable[[pa.Array], list[str | None]] | None:
        """Return what prints the values of an array as the language's console consumers do; None for plain JSON.

        The array holds values of a parsed schema as `decoder` makes them.
        """
        return None

    def line_reader(self, schema: Any) -> Callable[[list[bytes]], pa.Array] | None:
        """Return what reads lines that are what `printer` prints and nothing else, as columns.

        Lines that are not, or may be plain JSON as well, are null. None if the format prints plain JSON.
        """
        return None

    def console_text(self, schema: Any, value: bytes, start: int = 0, indexes: tuple[int, ...] = ()) -> str:
        """Return one payload as `json_text` does, but for nothing in it that is there for people to read."""
        return self.json_text(schema, value, start, indexes)

    def json_text(self, schema: Any, value: bytes, start: int = 0, indexes: tuple[int, ...] = ()) -> str:
        """Return one payload as JSON, as the language's console consumers print it, or as its columns have it.

        Parameters
        ----------
        schema : object
            The writer's schema, parsed.
        value : bytes
            The payload, behind its frame if it has one.
        start : int
            Where the payload begins; offsets of errors are counted from the first byte of the value.
        indexes : tuple of int
            The message indexes, if the format has any.

        Raises
        ------
        DecodeError
            With offset and path, if the bytes are no value of the schema.
        SchemaError
            If nothing that was written with the schema can be read.
        ConfigError
            As `decoder`.
        """
        import numpy as np
        import pyarrow as pa

        from kcodec.formats.json.codec import JsonCodec
        from kcodec.plan import Limits

        known = self.reading(schema, (schema, indexes)) or self
        decoder = known.decoder(schema, known.options(None), Limits(max_expansion=1 << 20))
        array, faults = decoder.decode(
            pa.array([value], pa.binary()),
            [decoder.program(schema, indexes)],
            selector=np.zeros(1, np.int32),
            starts=np.array([start], np.int32),
            stop=True,
        )
        if faults:
            raise DecodeError(*faults[0])
        printer = known.printer(schema)
        if printer is not None:
            return printer(array)[0] or "null"
        text = JsonCodec(array.type).encode(array)[0].as_py()
        return "null" if text is None else str(text, "utf-8")
