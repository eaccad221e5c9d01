"""Confluent frames of whole columns: what names the schema of a payload.

A frame is one magic byte and the name of a schema, then the payload::

    00  4 bytes   schema id, big-endian
    01  16 bytes  GUID of the schema

Protobuf puts message indexes between frame and payload: which message of the schema's text this is, one
number a level of nesting, as zigzag varints, their count first; the single byte 00 is short for ``[0]``.
Header framing is the same magic byte and name in a Kafka header; the payload then stands alone
(``io.confluent.kafka.serializers``).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from kcodec._impl import kernel
from kcodec.arguments import Buffer
from kcodec.errors import ConfigError
from kcodec.frames import CONFLUENT, Frame, Layout
from kcodec.wire._faults import decode_error
from kcodec.wire._framing_py import MAX_LEVELS, read_indexes, written_indexes
from kcodec.wire.slices import Growing, Slices, column, empty, narrow

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class MessageIndexes(NamedTuple):
    """Protobuf message indexes of a column: those of row i are ``values[offsets[i]:offsets[i + 1]]``.

    Attributes
    ----------
    values : numpy.ndarray of int32
        All indexes.
    offsets : numpy.ndarray of int64
        One more than there are rows. A null row has no indexes, any other at least one.

    Examples
    --------
    >>> indexes = split_frames(bytes.fromhex("0000000007 040200 ff"), [0, 9], indexes=True).indexes
    >>> indexes.values.tolist(), indexes.offsets.tolist()
    ([1, 0], [0, 2])
    """

    values: NDArray[np.int32]
    offsets: NDArray[np.int64]

    def to_list(self) -> list[list[int]]:
        """Return the indexes of each row."""
        values: list[int] = self.values.tolist()
        edges: list[int] = self.offsets.tolist()
        return [values[first:last] for first, last in pairwise(edges)]


class Frames(NamedTuple):
    """Where payloads stand in a column, and what names their schemas.

    Attributes
    ----------
    ids : numpy.ndarray of int32
        Schema ids; -1 for null rows and for rows with a GUID.
    starts : numpy.ndarray of int64
        Byte of data where the payload of each row begins; it ends where the row ends.
    guids : numpy.ndarray of uint8 or None
        16 bytes for each row, zeros where it has an id; None if no row has a GUID.
    indexes : MessageIndexes or None
        Message indexes, if they were asked for.

    Examples
    --------
    >>> frames = split_frames(bytes.fromhex("0000000007 6869"), [0, 7])
    >>> frames.ids.tolist(), frames.starts.tolist()
    ([7], [5])
    """

    ids: NDArray[np.int32] | NDArray[np.int64]
    starts: NDArray[np.int64]
    guids: NDArray[np.uint8] | None
    indexes: MessageIndexes | None


def split_frames(
    data: Buffer,
    offsets: Buffer,
    *,
    valid: Buffer | None = None,
    indexes: bool = False,
    frame: Frame = CONFLUENT,
) -> Frames:
    """Read the frame of every value of a column; payloads stay where they are.

    Parameters
    ----------
    data : buffer
        The values, one after the other.
    offsets : array of int32 or int64
        Where each value starts, and where the last one ends.
    valid : array of bool, optional
        False for null rows, which have no frame. By default none is null.
    indexes : bool, default False
        Whether message indexes follow the frame, as Protobuf has them; only of Confluent's.
    frame : kcodec.frames.Frame
        Which frame. Of others than Confluent's, ids of 8 bytes make ``ids`` a column of int64, and those that are bytes
        are the ``guids``, of 8 or 16; payloads stay compressed where the byte before the id is not 0.

    Returns
    -------
    Frames
        Ids or GUIDs, and payload positions.

    Raises
    ------
    DecodeError
        ``frame_truncated``: shorter than its frame. ``frame_magic``: another first byte. ``compression``: a byte of
        compression that is not known. Of message indexes ``varint_overlong``, ``varint_overflow``, ``negative_length``
        (their count), ``size_limit`` (more than 1024), ``out_of_range`` (one is negative). ``row`` is the index of the
        first bad value, ``offset`` its first byte.
    ConfigError
        The frame has no id in bytes, or message indexes are asked for where it has none.
    ValueError
        The offsets do not ascend within the data.

    Examples
    --------
    >>> frames = split_frames(bytes.fromhex("0000000007 6869"), [0, 7])
    >>> frames.ids.tolist(), frames.starts.tolist()
    ([7], [5])
    >>> frames = split_frames(bytes.fromhex("0000000007 040200 ff"), [0, 9], indexes=True)
    >>> frames.starts.tolist(), frames.indexes.to_list()
    ([8], [[1, 0]])
    >>> from kcodec.frames import APICURIO
    >>> split_frames(bytes.fromhex("0000000000000000 07 6869"), [0, 11], frame=APICURIO).ids.tolist()
    [7]
    """
    import numpy as np

    if frame.layout is not None:
        return _split_heads(data, offsets, valid, indexes, frame)
    source = column(data, offsets)
    flags = _flags(valid)
    split = kernel("wire._framing").split
    ids = empty(source.rows, np.int32)
    starts = empty(source.rows, np.int64)
    # Any valid list fits in this many more, so every run makes progress.
    levels = Growing(4 * (source.rows + MAX_LEVELS) if indexes else 0)
    ends = np.zeros(source.rows + 1 if indexes else 0, np.int64)
    guids = None
    row = 0
    while True:
        room = bytearray() if guids is None else guids
        row = split(source, row, flags, ids, starts, room, levels.buffer, ends)
        if row == source.rows:
            break
        if guids is None and memoryview(data).cast("B")[source.offsets[row]] == 1:
            guids = np.zeros((source.rows, 16), np.uint8)
        else:
            levels.double()
    found = MessageIndexes(levels.finish(4 * int(ends[-1])).view(np.int32), ends) if indexes else None
    return Frames(ids, starts, guids, found)


def join_frames(
    data: Buffer,
    offsets: Buffer,
    ids: Any = None,
    *,
    guids: Any = None,
    valid: Buffer | None = None,
    indexes: MessageIndexes | Sequence[int] | None = None,
    large: bool = False,
    frame: Frame = CONFLUENT,
) -> Slices:
    """Write every payload of a column behind its frame.

    Parameters
    ----------
    data : buffer
        The payloads, one after the other.
    offsets : array of int32 or int64
        Where each payload starts, and where the last one ends.
    ids : int or array of int32, optional
        One schema id for all, or one for each.
    guids : bytes or buffer, optional
        Instead of ids: 16 bytes for all, or 16 for each.
    valid : array of bool, optional
        False for null rows; they get no frame and are empty. By default none is null.
    indexes : MessageIndexes or sequence of int, optional
        Message indexes of each row, or one list for all.
    large : bool, default False
        Give 64-bit offsets.
    frame : kcodec.frames.Frame
        Which frame: of another than Confluent's, ids have its width, or ``guids`` 8 or 16 bytes each. Payloads are not
        compressed here: a frame that says so takes them as they are to stand there.

    Returns
    -------
    Slices
        The framed values.

    Raises
    ------
    EncodeError
        ``size_limit``: more than 1024 message indexes. ``out_of_range``: one is negative.
    ValueError
        The offsets do not ascend within the data; not as many ids, GUIDs or indexes as rows.
    OverflowError
        An id is outside 32 bits, or the result has more than 2 GiB and ``large`` is not set.

    Examples
    --------
    >>> framed = join_frames(b"hi!", [0, 2, 3], 7)
    >>> [value.hex(" ") for value in framed.to_list()]
    ['00 00 00 00 07 68 69', '00 00 00 00 07 21']
    """
    import numpy as np

    keys: Any
    if (ids is None) == (guids is None):
        raise TypeError("give either ids or guids")
    if frame.layout is not None:
        return _join_heads(data, offsets, ids, guids, valid, indexes, large, frame)
    source = column(data, offsets)
    if ids is not None:
        size, keys, one = 4, np.atleast_1d(_ids(ids)), np.ndim(ids) == 0
        count = len(keys)
    else:
        keys = memoryview(guids).cast("B")
        if len(keys) % 16:
            raise ValueError("guids must have 16 bytes each")
        count = len(keys) // 16
        size, one = 16, count == 1 and source.rows != 1
    if not one and count != source.rows:
        raise ValueError(f"{count} ids or GUIDs for {source.rows} rows")
    flags = _flags(valid)
    levels, level_ends = (_ids([]), np.zeros(1, np.int64)) if indexes is None else _lists(indexes)
    lists = len(level_ends) - 1
    if indexes is not None and lists not in (1, source.rows):
        raise ValueError(f"message indexes of {lists} rows for {source.rows} rows")
    room = memoryview(data).nbytes + source.rows * (1 + size) + 5 * (len(levels) + lists)
    if lists == 1:
        room += source.rows * len(written_indexes(levels[level_ends[0] : level_ends[1]].tolist(), 0))
    out = Growing(room)
    ends = empty(source.rows + 1, np.int64)
    kernel("wire._framing").join(source, flags, keys, size, one, levels, level_ends, lists, out.buffer, ends)
    return narrow(out.finish(int(ends[-1])), ends, large)


def encode_message_indexes(indexes: Sequence[int]) -> bytes:
    """Write one list of Protobuf message indexes.

    Parameters
    ----------
    indexes : sequence of int
        Position of the message on each level of nesting; none means ``[0]``.

    Returns
    -------
    bytes
        What stands between the frame and the payload.

    Raises
    ------
    EncodeError
        ``size_limit``: more than 1024. ``out_of_range``: one is negative.

    Examples
    --------
    >>> encode_message_indexes([0]).hex(), encode_message_indexes([1, 0]).hex()
    ('00', '040200')
    """
    return written_indexes(_ids(list(indexes)).tolist(), 0)


def decode_message_indexes(data: Buffer, start: int = 0) -> tuple[tuple[int, ...], int]:
    """Read one list of Protobuf message indexes.

    Parameters
    ----------
    data : buffer
        Bytes that hold it.
    start : int, default 0
        Where it begins.

    Returns
    -------
    indexes : tuple of int
        At least one.
    end : int
        The byte after it.

    Raises
    ------
    DecodeError
        As `split_frames`.
    ValueError
        The start is not within data.

    Examples
    --------
    >>> decode_message_indexes(bytes.fromhex("040200ff"))
    ((1, 0), 3)
    >>> decode_message_indexes(bytes.fromhex("00ff"))
    ((0,), 1)
    """
    view = memoryview(data).cast("B")
    if not 0 <= start <= len(view):
        raise ValueError("start is not within data")
    # No list is longer: five bytes for their count and for each.
    code, levels, size = read_indexes(bytes(view[start : start + 5 * (MAX_LEVELS + 1)]), 0)
    if code:
        raise decode_error(code, 0, 0)
    return tuple(levels or ()), start + size


def _plain_layout(indexes: Any, frame: Frame) -> Layout:
    layout = frame.layout
    if layout is None or not layout.id_size or frame.id_type == "hex":
        raise ConfigError(f"{frame!r} has no id in bytes")
    if indexes:
        raise ConfigError(f"message indexes are Confluent's, and frame is {frame!r}")
    return layout


def _split_heads(data: Buffer, offsets: Buffer, valid: Buffer, indexes: bool, frame: Frame) -> Frames:
    import numpy as np

    layout = _plain_layout(indexes, frame)
    source = column(data, offsets)
    flags = _flags(valid)
    keys = np.zeros((source.rows, layout.id_size), np.uint8)
    starts = empty(source.rows, np.int64)
    kernel("wire._framing").split_heads(source, flags, layout, keys, starts)
    ids: Any = np.full(source.rows, -1, np.int32)
    if layout.is_number:
        wide = np.dtype(f"i{layout.id_size}")
        ids = keys.view(wide.newbyteorder(">"))[:, 0].astype(wide)
        if valid is not None:
            ids[~np.asarray(valid, np.bool_)] = -1
    return Frames(ids, starts, None if layout.is_number else keys, None)


def _join_heads(
    data: Buffer,
    offsets: Buffer,
    ids: Any,
    guids: Any,
    valid: Buffer,
    indexes: Any,
    large: bool,
    frame: Frame,
) -> Slices:
    import numpy as np

    layout = _plain_layout(indexes is not None, frame)
    if layout.is_number != (guids is None):
        raise ConfigError(f"{frame!r} has {'ids' if layout.is_number else 'guids'}")
    source = column(data, offsets)
    size = layout.id_size
    if layout.is_number:
        given = np.atleast_1d(_ids(ids) if size == 4 else np.asarray(ids, np.int64))
        raw = given.astype(np.dtype(f">i{size}")).view(np.uint8)
        one = np.ndim(ids) == 0
    else:
        raw = np.frombuffer(memoryview(guids).cast("B"), np.uint8)
        if len(raw) % size:
            raise ValueError(f"guids must have {size} bytes each")
        one = len(raw) == size and source.rows != 1
    keys = raw.reshape(-1, size)
    if not one and len(keys) != source.rows:
        raise ValueError(f"{len(keys)} ids or GUIDs for {source.rows} rows")
    before = np.frombuffer(
        frame.written(0 if layout.is_number else bytes(size))[: frame.size - size], np.uint8
    )
    heads = np.hstack([np.broadcast_to(before, (len(keys), len(before))), keys])
    out = Growing(memoryview(data).nbytes + source.rows * frame.size)
    ends = empty(source.rows + 1, np.int64)
    kernel("wire._framing").join_heads(
        source, _flags(valid), np.ascontiguousarray(heads), frame.size, one, out.buffer, ends
    )
    return narrow(out.finish(int(ends[-1])), ends, large)


def _lists(indexes: MessageIndexes | Sequence[int]) -> tuple[Any, Any]:
    """Return message indexes and their offsets, as kernels take them."""
    import numpy as np

    if isinstance(indexes, MessageIndexes):
        return np.ascontiguousarray(indexes.values, np.int32), np.ascontiguousarray(indexes.offsets, np.int64)
    return _ids(list(indexes)), np.array([0, len(indexes)], np.int64)


def _ids(ids: Any) -> Any:
    """Return 32-bit ids, signed as in Java; unsigned ones above are the same bytes."""
    import numpy as np

    given = np.asarray(ids)
    if given.size == 0:
        return np.zeros(given.shape, np.int32)
    if given.dtype.kind not in "iu" or given.ndim > 1:
        raise TypeError("ids and indexes must be integers")
    if given.dtype not in (np.dtype(np.int32), np.dtype(np.uint32)) and (
        int(given.min()) < -(2**31) or int(given.max()) >= 2**32
    ):
        raise OverflowError("an id or index does not fit in 32 bits")
    return np.ascontiguousarray(given.astype(np.int64).astype(np.uint32)).view(np.int32)


def _flags(valid: Buffer) -> Any:
    if valid is None:
        return b""
    import numpy as np

    flags = np.ascontiguousarray(valid)
    if flags.dtype != np.dtype(np.bool_) or flags.ndim != 1:
        raise TypeError("valid must be a one-dimensional array of bool")
    return flags
