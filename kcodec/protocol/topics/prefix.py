"""The first bytes of records of internal topics, which hold their type and version, for whole columns at once."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

_VIEWS = (pa.binary_view(), pa.string_view())

#: Bytes of a view: the length, then the value itself, or its first four bytes and its place.
_VIEW = 16


class VarintPrefix(NamedTuple):
    """The three numbers that values start with in the topics that have no keys, and where their messages begin.

    Rows that end inside the numbers are `truncated`; those with a number of more than five bytes are `overlong`.
    """

    frame: Any
    type: Any
    version: Any
    starts: Any
    truncated: Any
    overlong: Any


def int16_prefix(array: pa.Array) -> tuple[Any, Any]:
    r"""Read the big-endian int16 that each payload starts with, and the lengths of the payloads.

    Numbers are 0 for null rows and those of less than two bytes, lengths 0 for null rows.

    >>> [column.tolist() for column in int16_prefix(pa.array([b"\0\2group", b"\0", None]))]
    [[2, 0, 0], [7, 1, 0]]
    """
    if array.type in _VIEWS:
        views = np.frombuffer(array.buffers()[1], np.uint8)
        views = views[array.offset * _VIEW : (array.offset + len(array)) * _VIEW].reshape(-1, _VIEW)
        lengths = views[:, :4].copy().view(np.int32)[:, 0].astype(np.int64)
        numbers = views[:, 4:6].copy().view(">i2")[:, 0]
    else:
        data, starts, lengths = _placed(array)
        numbers = _bytes(data, starts).astype(np.int16) << 8 | _bytes(data, starts + 1)
    if array.null_count:
        lengths = np.where(array.is_valid().to_numpy(zero_copy_only=False), lengths, 0)
    return np.where(lengths < 2, np.int16(0), numbers.astype(np.int16)), lengths


def varint_prefix(array: pa.Array) -> VarintPrefix:
    r"""Read the three unsigned varints that each value starts with; what is read of null rows means nothing.

    >>> found = varint_prefix(pa.array([b"\1\x82\1\3..", b"\1"]))
    >>> found.type.tolist()[0], found.starts.tolist()[0], found.truncated.tolist()
    (130, 4, [False, True])
    """
    data, begins, lengths = _placed(array)
    ends, at = begins + lengths, begins
    truncated = np.zeros(len(array), bool)
    overlong = np.zeros(len(array), bool)
    numbers = []
    for _ in range(3):
        value = np.zeros(len(array), np.int64)
        more = ~(truncated | overlong)
        for shift in range(0, 35, 7):
            truncated |= more & (at >= ends)
            more &= ~truncated
            byte = np.where(more, _bytes(data, at), 0).astype(np.int64)
            value |= (byte & 0x7F) << shift
            at = at + more
            more &= byte > 0x7F
        overlong |= more
        numbers.append(value & 0xFFFFFFFF)
    frame, kind, version = numbers
    return VarintPrefix(frame, kind, version, (at - begins).astype(np.int32), truncated, overlong)


def _placed(array: pa.Array) -> tuple[Any, Any, Any]:
    """Return the bytes of a column, where each payload starts in them, and its length."""
    if array.type not in (pa.binary(), pa.string(), pa.large_binary(), pa.large_string()):
        array = array.cast(pa.large_binary())
    kind = np.int64 if array.type in (pa.large_binary(), pa.large_string()) else np.int32
    _, offsets, data = array.buffers()
    if not len(array):
        return np.zeros(0, np.uint8), np.zeros(0, np.int64), np.zeros(0, np.int64)
    ends = np.frombuffer(offsets, kind)[array.offset : array.offset + len(array) + 1].astype(np.int64)
    return np.frombuffer(b"" if data is None else data, np.uint8), ends[:-1], np.diff(ends)


def _bytes(data: Any, at: Any) -> Any:
    """Return the bytes at some places; anything for places behind the last."""
    return data.take(at, mode="clip") if len(data) else np.zeros(len(at), np.uint8)
