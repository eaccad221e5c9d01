"""The Confluent prefix of every row of a column: which schema, and where the payload starts."""

from typing import Any, NamedTuple

import pyarrow as pa

from kcodec._impl import kernel
from kcodec.errors import Fault

__all__ = ["Frames", "split"]


class Frames(NamedTuple):
    """What the frames of a column say.

    Attributes
    ----------
    selector : bytearray of int32
        Per row: index into `keys`; -1 for a null row, -2 for a bad frame.
    starts : bytearray of int32
        Per row: the byte at which the payload starts; 0 where there is none.
    keys : list of int or bytes
        The distinct schema ids (0 to 2**32 - 1) and schema GUIDs (16 bytes), in the order they appear.
    faults : list of Fault
        The bad frames: ``frame_truncated`` or ``frame_magic``.
    """

    selector: bytearray
    starts: bytearray
    keys: list[Any]
    faults: list[Fault]


def split(values: pa.Array) -> Frames:
    r"""Read the frame of each row.

    Parameters
    ----------
    values : pyarrow.Array
        Binary or string of any layout. A row is ``00``, the schema id in four bytes (big-endian), payload; or
        ``01``, the schema's GUID in 16 bytes, payload.

    Returns
    -------
    Frames
        No payload is copied.

    Examples
    --------
    >>> split(pa.array([b"\x00\x00\x00\x00\x07abc", None, b"{}"], pa.binary())).keys
    [7]
    """
    return Frames(*kernel("columns._frames").split(values))
