"""Fetch responses, read in place: only the content of record sets is large, and it is not copied.

The fields are those of `messages.definitions`, in order::

    int32 throttle | v7+: int16 error, int32 session | topics: int16 length, name | partitions:
    int32 index | int16 error | int64 high watermark | int64 last stable offset | v5+: int64 log start
    | aborted transactions: (int64 producer id, int64 first offset) | v11+: int32 preferred replica
    | int32 size, records
"""

import struct
from typing import NamedTuple

import pyarrow as pa

from kcodec.errors import CODES, DecodeError

__all__ = ["Fetched", "read_fetch_response"]

_INT16, _INT32 = struct.Struct(">h"), struct.Struct(">i")
_PARTITION = struct.Struct(">ihqq")
_ABORTED = struct.Struct(">qq")
_INT64 = struct.Struct(">q")


class Fetched(NamedTuple):
    """What a response holds of one partition; `aborted` are producers and the first offsets of their transactions."""

    topic: str
    partition: int
    error: int
    high_watermark: int
    stable: int
    log_start: int
    aborted: list[tuple[int, int]]
    records: pa.Buffer


class _Reader:
    def __init__(self, buffer: pa.Buffer) -> None:
        self.buffer = buffer
        self.view = memoryview(buffer)
        self.at = 0

    def unpack(self, kind: struct.Struct) -> tuple[int, ...]:
        at = self.at
        if kind.size > len(self.view) - at:
            raise self.error("truncated")
        self.at = at + kind.size
        return kind.unpack_from(self.view, at)

    def count(self, least: int, nullable: bool = False) -> int:
        """Read the count of an array whose items have so many bytes at least."""
        (count,) = self.unpack(_INT32)
        if count == -1 and nullable:
            return 0
        if count < 0:
            raise self.error("negative_length")
        if count * least > len(self.view) - self.at:
            raise self.error("block_count")
        return count

    def text(self) -> str:
        (size,) = self.unpack(_INT16)
        if size < 0:
            raise self.error("negative_length")
        if size > len(self.view) - self.at:
            raise self.error("truncated")
        self.at += size
        try:
            return bytes(self.view[self.at - size : self.at]).decode()
        except UnicodeDecodeError:
            raise self.error("invalid_utf8") from None

    def slice(self) -> pa.Buffer:
        size = self.count(1, nullable=True)
        self.at += size
        return self.buffer.slice(self.at - size, size)

    def error(self, code: str) -> DecodeError:
        return DecodeError(0, self.at, "", code, CODES[code])


def read_fetch_response(buffer: pa.Buffer, version: int) -> tuple[int, int, list[Fetched]]:
    """Return the throttle time, the error and the partitions of a response.

    Raises
    ------
    DecodeError
        If it is none.
    """
    reader = _Reader(buffer)
    (throttle,) = reader.unpack(_INT32)
    error = 0
    if version >= 7:
        (error,) = reader.unpack(_INT16)
        reader.unpack(_INT32)
    found = []
    for _ in range(reader.count(6)):
        topic = reader.text()
        for _ in range(reader.count(30)):
            partition, code, high_watermark, stable = reader.unpack(_PARTITION)
            log_start = reader.unpack(_INT64)[0] if version >= 5 else -1
            aborted = [reader.unpack(_ABORTED) for _ in range(reader.count(16, nullable=True))]
            if version >= 11:
                reader.unpack(_INT32)
            pairs = [(pair[0], pair[1]) for pair in aborted]
            found.append(
                Fetched(topic, partition, code, high_watermark, stable, log_start, pairs, reader.slice())
            )
    if reader.at != len(reader.view):
        raise reader.error("trailing_bytes")
    return throttle, error, found
