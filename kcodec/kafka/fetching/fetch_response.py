"""Fetch responses, read in place: only the content of record sets is large, and it is not copied.

The fields are those of `messages.definitions`, in order::

    int32 throttle | v7+: int16 error, int32 session | topics: int16 length, name; v13+: uuid | partitions:
    int32 index | int16 error | int64 high watermark | int64 last stable offset | v5+: int64 log start
    | aborted transactions: (int64 producer id, int64 first offset) | v11+: int32 preferred replica
    | int32 size, records

From version 12 on lengths and counts are uvarints, one more than they are, and tags end the message, each topic, each
partition and each aborted transaction: uvarint count | (uvarint tag | uvarint size | value)*.
"""

import struct
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from kcodec.errors import CODES, DecodeError
from kcodec.protocol.message.headers import skip_tags
from kcodec.wire.single import read as read_varint

#: The first versions of fetches with compact forms, and with ids of topics in the place of their names.
FLEXIBLE, WITH_IDS = 12, 13

_INT16, _INT32 = struct.Struct(">h"), struct.Struct(">i")
_PARTITION = struct.Struct(">ihqq")
_ABORTED = np.dtype([("producer", ">i8"), ("first", ">i8")])
_PAIR = struct.Struct(">qq")
_TAGGED_ABORTED = np.dtype([("producer", ">i8"), ("first", ">i8"), ("tags", "u1")])
#: Bytes that a topic, and a partition, have at least: without and with compact forms.
_TOPIC, _LEAST = (6, 3), (30, 37)
_MAX_TEXT, _MAX_COUNT = 0x7FFF, 0x7FFFFFFF


class Fetched(NamedTuple):
    """What a response holds of one partition.

    `aborted` are producers and the first offsets of their aborted transactions, as an array of two columns. `preferred`
    is the broker of which the consumer is to fetch instead, -1 if it is this one.
    """

    topic: str
    partition: int
    error: int
    high_watermark: int
    stable: int
    preferred: int
    aborted: Any
    records: pa.Buffer


class _Response:
    def __init__(self, buffer: pa.Buffer, is_flexible: bool) -> None:
        self.buffer = buffer
        self.view = memoryview(buffer).cast("B")
        self.at = 0
        self.is_flexible = is_flexible

    def unpack(self, kind: struct.Struct) -> tuple[int, ...]:
        return kind.unpack(self.take(kind.size))

    def take(self, size: int) -> memoryview:
        if size > len(self.view) - self.at:
            raise self.error("truncated")
        self.at += size
        return self.view[self.at - size : self.at]

    def uvarint(self) -> int:
        value, after, code = read_varint(self.view, self.at, 32)
        if code:
            raise self.error(code)
        self.at = after
        return value

    def length(self, kind: struct.Struct, nullable: bool = False) -> int:
        """Read a length or count; 0 for null."""
        length = self.uvarint() - 1 if self.is_flexible else self.unpack(kind)[0]
        if length == -1 and nullable:
            return 0
        if length < 0:
            raise self.error("negative_length")
        return length

    def count(self, least: int, most: int, nullable: bool = False) -> int:
        """Read the count of an array; its items take at least so many bytes, and there may be at most so many."""
        count = self.length(_INT32, nullable)
        if count * least > len(self.view) - self.at or count > most:
            raise self.error("block_count")
        return count

    def text(self) -> str:
        size = self.length(_INT16)
        if size > _MAX_TEXT:
            raise self.error("string_length")
        try:
            return bytes(self.take(size)).decode()
        except UnicodeDecodeError:
            raise self.error("invalid_utf8") from None

    def aborted(self) -> Any:
        kind = _TAGGED_ABORTED if self.is_flexible else _ABORTED
        count = self.count(kind.itemsize, _MAX_COUNT, nullable=True)
        found = np.frombuffer(self.view, kind, count, self.at)
        if self.is_flexible and found["tags"].any():
            # Of a broker that has more to say of transactions than is known here.
            pairs = np.empty((count, 2), np.int64)
            for row in range(count):
                pairs[row] = self.unpack(_PAIR)
                self.tags()
            return pairs
        self.at += found.nbytes
        return np.stack([found["producer"], found["first"]], axis=1).astype(np.int64)

    def tags(self) -> None:
        """Skip tagged fields, in versions that have them: none is known."""
        if self.is_flexible:
            self.at = skip_tags(self.view, self.at)

    def slice(self) -> pa.Buffer:
        size = self.length(_INT32, nullable=True)
        self.take(size)
        return self.buffer.slice(self.at - size, size)

    def error(self, code: str) -> DecodeError:
        return DecodeError(0, self.at, "", code, CODES[code])


def read_fetch_response(
    buffer: pa.Buffer, version: int, most: int = _MAX_COUNT, names: Mapping[bytes, str] = MappingProxyType({})
) -> tuple[int, int, list[Fetched]]:
    """Return the throttle time, the error and the partitions of a response; `DecodeError` if it is none.

    Neither topics nor partitions may be more than `most`: as many as were asked for. `names` are those of topics by
    their ids; any other is called by its id.
    """
    is_flexible, has_ids = version >= FLEXIBLE, version >= WITH_IDS
    reader = _Response(buffer, is_flexible)
    (throttle,) = reader.unpack(_INT32)
    error = 0
    if version >= 7:
        (error,) = reader.unpack(_INT16)
        reader.unpack(_INT32)
    found: list[Fetched] = []
    for _ in range(reader.count(_TOPIC[is_flexible], most)):
        if has_ids:
            topic_id = bytes(reader.take(16))
            topic = names.get(topic_id) or topic_id.hex()
        else:
            topic = reader.text()
        for _ in range(reader.count(_LEAST[is_flexible], most - len(found))):
            partition, code, high_watermark, stable = reader.unpack(_PARTITION)
            if version >= 5:
                # Where the log starts.
                reader.take(8)
            aborted = reader.aborted()
            preferred = reader.unpack(_INT32)[0] if version >= 11 else -1
            records = reader.slice()
            reader.tags()
            found.append(Fetched(topic, partition, code, high_watermark, stable, preferred, aborted, records))
        reader.tags()
    reader.tags()
    if reader.at != len(reader.view):
        raise reader.error("trailing_bytes")
    return throttle, error, found
