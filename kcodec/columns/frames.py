"""The Confluent frame of every row of a column: which schema, and where the payload starts."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from kcodec._impl import kernel
from kcodec.errors import Fault

__all__ = ["KeyedFrames", "decode_frames", "frame_prefix"]


class KeyedFrames(NamedTuple):
    """What the frames of a column say.

    Attributes
    ----------
    selector : bytearray of int32
        Per row: index into `keys`; -1 for a null row, -2 for a bad frame.
    starts : bytearray of int32
        Per row: the byte at which the payload starts; 0 where there is none.
    keys : list of int, bytes or tuple
        The distinct schema ids (0 to 2**32 - 1) and schema GUIDs (16 bytes), in the order they appear; with message
        indexes, pairs of these and a tuple of at least one index.
    faults : list of Fault
        The bad frames: ``frame_truncated`` or ``frame_magic``; of message indexes ``varint_overlong``,
        ``varint_overflow``, ``negative_length`` (their count), ``size_limit`` (more than 1024) or ``out_of_range``
        (one is negative).
    """

    selector: bytearray
    starts: bytearray
    keys: list[Any]
    faults: list[Fault]


def decode_frames(values: pa.Array, indexes: bool = False) -> KeyedFrames:
    r"""Read the frame of each row.

    Parameters
    ----------
    values : pyarrow.Array
        Binary or string of any layout. A row is ``00``, the schema id in four bytes (big-endian), payload; or
        ``01``, the schema's GUID in 16 bytes, payload.
    indexes : bool
        Whether message indexes follow the frame, as Protobuf has them.

    Returns
    -------
    KeyedFrames
        No payload is copied.

    Examples
    --------
    >>> decode_frames(pa.array([b"\x00\x00\x00\x00\x07abc", None, b"{}"], pa.binary())).keys
    [7]
    >>> decode_frames(pa.array([b"\x00\x00\x00\x00\x07\x04\x02\x00"]), indexes=True).keys
    [(7, (1, 0))]
    """
    return KeyedFrames(*kernel("columns._frames").decode_frames(values, indexes))


def frame_prefix(key: int | bytes, indexes: Sequence[int] = ()) -> bytes:
    """Return what a payload stands behind.

    Parameters
    ----------
    key : int or bytes
        A schema id, or a GUID of 16 bytes.
    indexes : sequence of int
        Message indexes that follow the frame, if any.

    Raises
    ------
    EncodeError
        ``size_limit``: more than 1024 indexes. ``out_of_range``: one is negative.

    Examples
    --------
    >>> frame_prefix(7).hex(), frame_prefix(7, (0,)).hex()
    ('0000000007', '000000000700')
    """
    prefix: bytes = kernel("columns._frames").frame_prefix(key, indexes)
    return prefix
