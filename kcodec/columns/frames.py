"""The Confluent frame of every row of a column: which schema, and where the payload starts."""

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from kcodec._impl import kernel
from kcodec.errors import Fault
from kcodec.wire._varint_py import write

__all__ = [
    "Indexes",
    "KeyedFrames",
    "common_frame",
    "decode_frames",
    "frame_prefix",
    "framed_rows",
    "payload_start",
]


class Indexes(enum.IntEnum):
    """What stands between frame and payload to name a message."""

    NONE = 0
    #: Varints with zigzag, as Confluent's serializers write them.
    ZIGZAG = 1
    #: Varints without, as its Python serializer did up to 1.7, and with ``use.deprecated.format`` later.
    PLAIN = 2


class KeyedFrames(NamedTuple):
    """What the frames of a column say.

    Per row, `selector` has an int32 index into `keys`, -1 for a null row or -2 for a bad frame, and `starts` the int32
    byte at which the payload starts, 0 where there is none. `keys` are the distinct schema ids (0 to 2**32 - 1) and
    GUIDs (16 bytes) in the order they appear; with message indexes, pairs of these and a tuple of at least one index.
    """

    selector: bytearray
    starts: bytearray
    keys: list[Any]
    faults: Sequence[Fault]


def decode_frames(values: pa.Array, indexes: int = Indexes.NONE) -> KeyedFrames:
    r"""Read the frame of each row, and message indexes behind it, which are one of `Indexes`; no payload is copied.

    Examples
    --------
    >>> decode_frames(pa.array([b"\x00\x00\x00\x00\x07abc", None, b"{}"], pa.binary())).keys
    [7]
    >>> decode_frames(pa.array([b"\x00\x00\x00\x00\x07\x04\x02\x00"]), indexes=True).keys
    [(7, (1, 0))]
    """
    return KeyedFrames(*kernel("columns._frames").decode_frames(values, indexes))


def common_frame(values: pa.Array, indexes: int = Indexes.NONE) -> tuple[bytes, Any] | None:
    r"""Return the frame of the first row and its key, if some other rows that are looked at have the same frame.

    Examples
    --------
    >>> common_frame(pa.array([None, b"\x00\x00\x00\x00\x07abc", b"\x00\x00\x00\x00\x07", None], pa.binary()))
    (b'\x00\x00\x00\x00\x07', 7)
    """
    frame: tuple[bytes, Any] | None = kernel("columns._frames").common_frame(values, indexes)
    return frame


def framed_rows(values: pa.Array, rows: pa.Array) -> list[tuple[int, int]]:
    r"""Find, among rows whose numbers are given, those that look framed: 0, a small id, a payload.

    Returns the position among the numbers, and the id, of each.

    Examples
    --------
    >>> values = pa.array([b"\x00\x00\x00\x00\x07abc", b"{}", b"\x00\x00\x00\x00\x09abc"])
    >>> framed_rows(values, pa.array([1, 2]))
    [(1, 9)]
    """
    numbers = memoryview(rows.buffers()[1]).cast("B").cast("q")[rows.offset : rows.offset + len(rows)]
    found: list[tuple[int, int]] = kernel("columns._frames").framed_rows(values, numbers)
    return found


def payload_start(starts: Any, row: int) -> int:
    r"""Return where the payload of a row starts, by what `kcodec.plan.kernel.RowKernel.decode` takes.

    >>> payload_start(b"\x00\x00\x00\x00\x07", 3), payload_start(None, 3)
    (5, 0)
    """
    if starts is None or isinstance(starts, bytes):
        return len(starts or b"")
    start: int = memoryview(starts).cast("B").cast("i")[row]
    return start


def frame_prefix(key: int | bytes, indexes: Sequence[int] = (), kind: int = Indexes.ZIGZAG) -> bytes:
    """Return what a payload stands behind: the frame of a schema id or GUID, and message indexes if there are any.

    Examples
    --------
    >>> frame_prefix(7).hex(), frame_prefix(7, (0,)).hex()
    ('0000000007', '000000000700')
    >>> frame_prefix(7, (1,)).hex(), frame_prefix(7, (1,), Indexes.PLAIN).hex()
    ('00000000070202', '00000000070101')
    """
    if kind == Indexes.PLAIN and list(indexes) not in ([], [0]):
        return frame_prefix(key) + b"".join(map(write, (len(indexes), *indexes)))
    prefix: bytes = kernel("columns._frames").frame_prefix(key, indexes)
    return prefix
