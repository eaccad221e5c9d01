"""Struct, Value and ListValue of google.protobuf as text of JSON, and back, in plain Python."""

from collections.abc import Callable

import pyarrow as pa

from kcodec.formats.protobuf.descriptor import MessageType
from kcodec.formats.protobuf.json.reader import from_json
from kcodec.formats.protobuf.json.writer import to_json
from kcodec.formats.protobuf.messages.message import read_message, write_message
from kcodec.plan.failure import RowError

__all__ = ["messages", "texts"]


def texts(values: pa.Array, message: MessageType, depth: int) -> pa.Array:
    """Return messages of a type as text, as bytes with 64-bit offsets; nulls for those that are wrong.

    The compiled twin leaves out more: all that is rare. Messages may be nested `depth` levels deep.
    """
    return _each(values, lambda data: to_json(read_message(message, data, depth=depth), {}).encode())


def messages(values: pa.Array, message: MessageType, depth: int) -> pa.Array:
    """Return texts as messages of a type, as `texts` does the reverse; `depth` is that of all of Protobuf."""
    return _each(values, lambda data: write_message(from_json(data, message, {})))


def _each(values: pa.Array, convert: Callable[[bytes], bytes]) -> pa.Array:
    made: list[bytes | None] = []
    # Text that is not UTF-8 is no text of Python.
    for value in values.cast(pa.large_binary()).to_pylist():
        found = None
        if value is not None:
            try:
                found = convert(value)
            except RowError:
                found = None
        made.append(found)
    return pa.array(made, pa.large_binary())
