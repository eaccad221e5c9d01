"""Struct, Value and ListValue of google.protobuf as text of JSON, in plain Python."""

import pyarrow as pa

from kcodec.formats.protobuf.descriptor import MessageType
from kcodec.formats.protobuf.json.writer import to_json
from kcodec.formats.protobuf.messages.message import read_message
from kcodec.plan.failure import RowError

__all__ = ["texts"]


def texts(values: pa.Array, message: MessageType, depth: int) -> pa.Array:
    """Return messages of a type as text, as bytes with 64-bit offsets; nulls for those that are wrong.

    The compiled twin leaves out more: all that is rare. Messages may be nested `depth` levels deep.
    """
    made: list[bytes | None] = []
    for value in values.to_pylist():
        text = None
        if value is not None:
            try:
                text = to_json(read_message(message, value, depth=depth), {}).encode()
            except RowError:
                text = None
        made.append(text)
    return pa.array(made, pa.large_binary())
