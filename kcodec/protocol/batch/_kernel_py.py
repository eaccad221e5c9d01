"""Record batches in plain Python: the specification of the compiled twin.

A buffer is scanned for batches first; what their records are is read from them, or from what their compressed part
has been expanded to, in a second step.

What all batches start with, big-endian, and what follows in magic 2 and in magic 0 and 1::

    int64 base offset | int32 length of what follows it | 4 bytes | int8 magic
    2:    61 bytes in all, with the fields of `HEADER`, then the records
    0, 1: uint32 crc in the 4 bytes; int8 attributes | 1: int64 timestamp | int32 size, key | int32 size, value

A message of magic 0 and 1 is a batch of itself; if it is compressed its value is a set of messages.

A record of magic 2; sizes and deltas are zigzag varints, a size of -1 is a null::

    size | int8 attributes | timestamp delta | offset delta | key | value | number of headers | headers: key, value
"""

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from kcodec.protocol.batch.schema import BATCH_HEADER, CONTROL_TYPES, HEADER, record_schema
from kcodec.wire.buffers._crc32c_py import of_buffer as crc32c
from kcodec.wire.single import read

__all__ = ["Batches", "records", "scan"]

_MESSAGE = struct.Struct(">qiIbb")
_LOG_OVERHEAD = 12
_SMALLEST = 14
_SMALLEST_RECORD = 7
_LOG_APPEND, _TRANSACTIONAL, _CONTROL = 8, 16, 32


class _Bad(Exception):
    """Bytes that are not a batch: code and position."""


@dataclass
class _Batch:
    position: int
    size: int
    magic: int
    attributes: int
    offset: int
    crc: int
    crc_valid: int
    start: int
    end: int
    last_delta: int = 0
    base_timestamp: int = -1
    max_timestamp: int = -1
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    leader_epoch: int = -1
    count: int = 1
    expanded: bool = False
    code: str = ""
    fault_at: int = 0
    wanted: bool = True
    #: Whether other records follow those that are to be read, and where these end.
    partial: bool = False
    reached: int = 0

    @property
    def codec(self) -> int:
        return self.attributes & 7

    @property
    def timestamp_type(self) -> int:
        return self.attributes >> 3 & 1 if self.magic else -1

    def fail(self, code: str, at: int) -> None:
        if not self.code:
            self.code, self.fault_at = code, at


class Batches:
    """The batches that one scan found.

    `end` is the position after the last one, and `stop` says why the scan ended there: empty if it found as much as it
    should; ``end``, ``partial`` (of a batch), ``zeros`` (nothing else up to the end) or the code of what is wrong with
    the next batch at `stop_at`, so that what follows it is not known.
    """

    def __init__(self) -> None:
        self.found: list[_Batch] = []
        self.end = 0
        self.stop = ""
        self.stop_at = 0

    def __len__(self) -> int:
        return len(self.found)

    def select(self, control: str, keep: Any = None) -> None:
        """Choose which batches are wanted: by their kind (``skip``, ``keep``, ``only``), and one byte a batch."""
        for number, batch in enumerate(self.found):
            is_control = bool(batch.attributes & _CONTROL) and batch.magic == 2
            batch.wanted = (control == "keep" or is_control == (control == "only")) and (
                keep is None or bool(memoryview(keep)[number])
            )

    def compressed(self) -> list[tuple[int, int, int, int, int]]:
        """List what is to be expanded: number of the batch, codec, magic, start and end."""
        return [
            (number, batch.codec, batch.magic, batch.start, batch.end)
            for number, batch in enumerate(self.found)
            if batch.wanted and not batch.code and batch.codec
        ]

    def expand(self, number: int, start: int, end: int) -> None:
        """Record where the expanded records of a batch stand."""
        batch = self.found[number]
        batch.start, batch.end, batch.expanded = start, end, True

    def fail(self, number: int, code: str) -> None:
        """Record that a batch could not be expanded."""
        self.found[number].fail(code, self.found[number].start)

    def large(self, first: int, last: int, most: int) -> list[tuple[int, bool, int, int, int]]:
        """List the batches that are read in parts: number, whether it was expanded, position, start, records."""
        return [
            (number, batch.expanded, batch.position, batch.start, batch.count)
            for number, batch in enumerate(self.found[first:last], first)
            if batch.wanted
            and not batch.code
            and batch.magic == 2
            # Others are refused for their count.
            and most < batch.count <= (batch.end - batch.start) // _SMALLEST_RECORD
        ]

    def part(self, number: int, start: int, count: int, partial: bool) -> None:
        """Have only some records of a batch be read, behind which there may be more."""
        batch = self.found[number]
        batch.start, batch.count, batch.partial = start, count, partial

    def reached(self, number: int) -> int:
        """Return where the records end that were read of a batch."""
        return self.found[number].reached

    def headers(self) -> Any:
        """Return the headers as a NumPy array of the fields of `BATCH_HEADER`."""
        rows = [tuple(getattr(batch, name) for name, _ in BATCH_HEADER) for batch in self.found]
        return np.array(rows, BATCH_HEADER)


def scan(data: pa.Buffer, start: int, window: int, check_crc: bool) -> Batches:
    """Find the batches of a buffer from a position on; behind `window` bytes no further batch is begun."""
    view = memoryview(data).cast("B")
    batches = Batches()
    at = start
    while True:
        batches.end = at
        left = len(view) - at
        if left == 0:
            batches.stop = "end"
            return batches
        if at - start >= window:
            return batches
        if left >= _LOG_OVERHEAD and not any(view[at : at + _LOG_OVERHEAD]) and not any(view[at:]):
            batches.stop = "zeros"
            return batches
        if left < _LOG_OVERHEAD:
            batches.stop = "partial"
            return batches
        length = int.from_bytes(view[at + 8 : at + 12], "big", signed=True)
        if length < _SMALLEST:
            batches.stop = "invalid_batch"
            batches.stop_at = at + 8
            return batches
        if left < _LOG_OVERHEAD + 5:
            batches.stop = "partial"
            return batches
        magic = int.from_bytes(view[at + 16 : at + 17], "big", signed=True)
        if not 0 <= magic <= 2:
            batches.stop = "invalid_batch"
            batches.stop_at = at + 16
            return batches
        size = _LOG_OVERHEAD + length
        if size > left:
            batches.stop = "partial"
            return batches
        batches.found.append((_modern if magic == 2 else _legacy)(view, at, size, check_crc))
        at += size


def _modern(view: memoryview, at: int, size: int, check_crc: bool) -> _Batch:
    if size < HEADER.size:
        crc = int.from_bytes(view[at + 17 : at + 21], "big")
        batch = _Batch(at, size, 2, 0, int.from_bytes(view[at : at + 8], "big", signed=True), crc, -1, at, at)
        batch.count = 0
        batch.fail("invalid_batch", at + 8)
        return batch
    (
        offset, _, leader_epoch, magic, crc, attributes, last_delta, base_timestamp, max_timestamp, producer_id,
        producer_epoch, base_sequence, count,
    ) = HEADER.unpack_from(view, at)  # fmt: skip
    valid = int(crc32c(view[at + 21 : at + size], 0) == crc) if check_crc else -1
    batch = _Batch(
        at, size, magic, attributes & 0xFF, offset, crc, valid, at + HEADER.size, at + size, last_delta,
        base_timestamp, max_timestamp, producer_id, producer_epoch, base_sequence, leader_epoch, count,
    )  # fmt: skip
    if valid == 0:
        batch.fail("crc_mismatch", at + 17)
    elif count < 0:
        batch.fail("block_count", at + 57)
    elif batch.codec > 4:
        batch.fail("compression", at + 21)
    return batch


def _legacy(view: memoryview, at: int, size: int, check_crc: bool) -> _Batch:
    offset, _, crc, magic, attributes = _MESSAGE.unpack_from(view, at)
    attributes &= 0xFF
    valid = int(zlib.crc32(view[at + 16 : at + size]) == crc) if check_crc else -1
    batch = _Batch(at, size, magic, attributes, offset, crc, valid, at + 18, at + size)
    if valid == 0:
        batch.fail("crc_mismatch", at + 12)
        return batch
    try:
        _, timestamp, _, value = _message(view, at, at + size)
        batch.base_timestamp = batch.max_timestamp = timestamp
        if batch.codec:
            if batch.codec > 3:
                raise _Bad("compression", at + 17)
            if value is None:
                raise _Bad("null_value", at + size)
            batch.start = value[0]
    except _Bad as bad:
        batch.fail(*bad.args)
    return batch


def records(
    batches: Batches, first: int, last: int, data: pa.Buffer, expanded: pa.Buffer, number: int, views: bool
) -> tuple[pa.RecordBatch, list[tuple[int, int, int, str]]]:
    """Read the records of the wanted ones among some batches; `number` is the first batch of the scan in ``batch``.

    The second result is, for each bad batch, which has no records: its number in the scan, the position of what is
    wrong, which record it is in (-1: none), and the code. Positions are those in `data`: of a compressed batch where
    its compressed part starts.
    """
    rows: list[tuple[Any, ...]] = []
    faults = []
    for each in range(first, last):
        batch = batches.found[each]
        if not batch.wanted:
            continue
        source = memoryview(expanded if batch.expanded else data).cast("B")
        if batch.code:
            faults.append((each, batch.fault_at, -1, batch.code))
            continue
        found: list[tuple[Any, ...]] = []
        try:
            for row in (_records if batch.magic == 2 else _messages)(source, batch):
                found.append((*row, number + each))
            rows += found
        except _Bad as bad:
            code, at = bad.args
            compressed_at = batch.position + (61 if batch.magic == 2 else 18)
            faults.append((each, compressed_at if batch.expanded else at, len(found), code))
    return _columns(rows, record_schema(views)), faults


def _columns(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    names = pa.array(CONTROL_TYPES, pa.string())
    arrays = []
    for index, field in enumerate(schema):
        values = [row[index] for row in rows]
        if field.name == "control_type":
            arrays.append(pa.DictionaryArray.from_arrays(pa.array(values, pa.int8()), names))
        else:
            arrays.append(pa.array(values, field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _records(view: memoryview, batch: _Batch) -> Iterator[tuple[Any, ...]]:
    at, end = batch.start, batch.end
    if batch.count > (end - at) // _SMALLEST_RECORD:
        raise _Bad("block_count", batch.position + 57)
    constant = (batch.leader_epoch, batch.producer_id, batch.producer_epoch)
    transactional = bool(batch.attributes & _TRANSACTIONAL)
    for _ in range(batch.count):
        size, at = _varint(view, at, end)
        if size < 0:
            raise _Bad("negative_length", at)
        if size > end - at:
            raise _Bad("truncated", at)
        stop = at + size
        if size < 1:
            raise _Bad("truncated", at)
        timestamp_delta, at = _varint(view, at + 1, stop, 64)
        offset_delta, at = _varint(view, at, stop)
        key, at = _nullable(view, at, stop)
        value, at = _nullable(view, at, stop)
        count, at = _varint(view, at, stop)
        if count < 0:
            raise _Bad("negative_length", at)
        if count > (stop - at) // 2:
            raise _Bad("block_count", at)
        headers = []
        for _ in range(count):
            name, at = _nullable(view, at, stop)
            if name is None:
                raise _Bad("negative_length", at)
            try:
                text = name.decode()
            except UnicodeDecodeError:
                raise _Bad("invalid_utf8", at) from None
            content, at = _nullable(view, at, stop)
            headers.append({"key": text, "value": content})
        if at != stop:
            raise _Bad("block_size", at)
        timestamp = (
            batch.max_timestamp
            if batch.attributes & _LOG_APPEND
            else _int64(batch.base_timestamp + timestamp_delta)
        )
        yield (
            _int64(batch.offset + offset_delta),
            _moment(timestamp),
            batch.timestamp_type,
            key,
            value,
            headers,
            *constant,
            _sequence(batch.base_sequence, offset_delta),
            transactional,
            _control_type(key) if batch.attributes & _CONTROL else None,
        )
    batch.reached = at
    if at != end and not batch.partial:
        raise _Bad("trailing_bytes", at)


def _messages(view: memoryview, batch: _Batch) -> Iterator[tuple[Any, ...]]:
    """Read a message, or those in it."""
    if not batch.codec:
        key, timestamp, value = _content(view, batch.position, batch.position + batch.size)
        yield _legacy_row(batch, batch.offset, timestamp, key, value)
        return
    places = list(_message_set(view, batch))
    last = int.from_bytes(view[places[-1][0] : places[-1][0] + 8], "big", signed=True)
    # A producer may leave the offset of the outer message at 0: it is set by the broker.
    if batch.magic == 1 and batch.offset and batch.offset < last:
        raise _Bad("invalid_batch", places[-1][0])
    base = batch.offset - last if batch.magic == 1 and batch.offset else 0
    for at, end in places:
        offset = int.from_bytes(view[at : at + 8], "big", signed=True)
        if view[at + 16] != batch.magic:
            raise _Bad("invalid_batch", at + 16)
        if view[at + 17] & 7:
            raise _Bad("compression", at + 17)
        if batch.crc_valid == 1 and zlib.crc32(view[at + 16 : end]) != int.from_bytes(
            view[at + 12 : at + 16], "big"
        ):
            raise _Bad("crc_mismatch", at + 12)
        key, timestamp, value = _content(view, at, end)
        if batch.attributes & _LOG_APPEND and batch.magic:
            timestamp = batch.max_timestamp
        yield _legacy_row(batch, _int64(base + offset), timestamp, key, value)


def _message_set(view: memoryview, batch: _Batch) -> Iterator[tuple[int, int]]:
    at = batch.start
    if at == batch.end:
        raise _Bad("block_count", at)
    while at < batch.end:
        if batch.end - at < _LOG_OVERHEAD:
            raise _Bad("truncated", at)
        length = int.from_bytes(view[at + 8 : at + 12], "big", signed=True)
        if length < _SMALLEST:
            raise _Bad("invalid_batch", at + 8)
        if length > batch.end - at - _LOG_OVERHEAD:
            raise _Bad("truncated", at)
        yield at, at + _LOG_OVERHEAD + length
        at += _LOG_OVERHEAD + length


def _legacy_row(batch: _Batch, offset: int, timestamp: int, key: Any, value: Any) -> tuple[Any, ...]:
    return (
        offset, _moment(timestamp), batch.timestamp_type, key, value, [], -1, -1, -1, -1, False, None,
    )  # fmt: skip


def _content(view: memoryview, at: int, end: int) -> tuple[bytes | None, int, bytes | None]:
    key, timestamp, _, value = _message(view, at, end)
    return (
        None if key is None else bytes(view[slice(*key)]),
        timestamp,
        None if value is None else bytes(view[slice(*value)]),
    )


def _message(
    view: memoryview, at: int, end: int
) -> tuple[tuple[int, int] | None, int, int, tuple[int, int] | None]:
    """Read a message: where its key is, its timestamp, the end of it, and where its value is."""
    magic, place, timestamp = view[at + 16], at + 18, -1
    if magic == 1:
        if end - place < 8:
            raise _Bad("truncated", place)
        timestamp = int.from_bytes(view[place : place + 8], "big", signed=True)
        place += 8
    parts: list[tuple[int, int] | None] = []
    for _ in range(2):
        if end - place < 4:
            raise _Bad("truncated", place)
        size = int.from_bytes(view[place : place + 4], "big", signed=True)
        if size < -1:
            raise _Bad("negative_length", place)
        place += 4
        if size > end - place:
            raise _Bad("truncated", place)
        parts.append(None if size < 0 else (place, place + size))
        place += max(size, 0)
    if place != end:
        raise _Bad("block_size", place)
    return parts[0], timestamp, place, parts[1]


def _varint(view: memoryview, at: int, end: int, bits: int = 32) -> tuple[int, int]:
    """Read a zigzag varint."""
    value, after, code = read(view[:end], at, bits)
    if code:
        raise _Bad(code, at)
    return value >> 1 ^ -(value & 1), after


def _nullable(view: memoryview, at: int, end: int) -> tuple[bytes | None, int]:
    size, at = _varint(view, at, end)
    if size < -1:
        raise _Bad("negative_length", at)
    if size > end - at:
        raise _Bad("truncated", at)
    return (None, at) if size < 0 else (bytes(view[at : at + size]), at + size)


def _control_type(key: bytes | None) -> int:
    """Return the number of a control record's type in `CONTROL_TYPES`: its key is int16 version, int16 type."""
    unknown = len(CONTROL_TYPES) - 1
    if key is None or len(key) < 4:
        return unknown
    kind = int.from_bytes(key[2:4], "big")
    return min(kind, unknown)


def _sequence(base: int, delta: int) -> int:
    """Count from the sequence of the batch as Java does: after the largest comes 0, and before 0 the smallest."""
    if base < 0:
        return -1
    return (
        base + delta & 0x7FFFFFFF
        if delta >= 0
        else base + delta - 0x80000000 + (base + delta < 0) * (1 << 32)
    )


def _moment(timestamp: int) -> int | None:
    return None if timestamp == -1 else timestamp


def _int64(value: int) -> int:
    """Wrap as a Java long does."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)
