"""Columns to record batches."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from kcodec._impl import kernel
from kcodec._lazy import compute as pc
from kcodec.columns.arrays.casts import cast_rows
from kcodec.columns.arrays.given import payloads, sound, sound_column
from kcodec.columns.arrays.nested import unpack
from kcodec.columns.types.plain import is_list
from kcodec.errors import CODES, ConfigError, EncodeError, is_whole
from kcodec.protocol.batch.compression import CODECS, compress
from kcodec.protocol.batch.schema import HEADER, HEADERS

_MAX_INT32 = 0x7FFFFFFF


class BatchFields(NamedTuple):
    """What all records of a batch have in common."""

    timestamp_type: int = 0
    partition_leader_epoch: int = -1
    producer_id: int = -1
    producer_epoch: int = -1
    transactional: bool = False
    control: bool = False


#: Columns whose value is that of all records of a batch.
_OF_BATCH = {
    "timestamp_type": pa.int8(),
    "partition_leader_epoch": pa.int32(),
    "producer_id": pa.int64(),
    "producer_epoch": pa.int16(),
    "transactional": pa.bool_(),
    "control": pa.bool_(),
    "batch": pa.int64(),
}
#: Columns with other values than those of their type: the lowest, the highest.
_RANGES = {"offset": (0, (1 << 63) - 1), "timestamp_type": (-1, 1)}
#: Arrow type, value without the column.
_NUMBERS: dict[str, tuple[pa.DataType, Any]] = {
    "sequence": (pa.int32(), -1),
    **{name: (kind, BatchFields._field_defaults.get(name, 0)) for name, kind in _OF_BATCH.items()},
}
#: Columns of which messages of magic 0 and 1 have nothing.
_MODERN = ("sequence", "partition_leader_epoch", "producer_id", "producer_epoch", "transactional", "control")
_COLUMNS = ("offset", "timestamp", "key", "value", "headers", "sequence", "control_type", *_OF_BATCH)


def write_batches(
    table: Any,
    *,
    compression: str = "none",
    level: int | None = None,
    max_bytes: int = 1 << 20,
    base_offset: int = 0,
    magic: int = 2,
) -> bytes:
    """Write records as record batches, as Kafka's own writer does.

    Parameters
    ----------
    table : pyarrow.Table, RecordBatch or a producer of one
        Columns as `read_batches` returns them, any of them; others are refused. Without ``offset`` the records are
        numbered, without ``timestamp`` they have none, without ``key`` or ``value`` those are null. A batch ends where
        a column changes that is of all of its records (``timestamp_type``, ``partition_leader_epoch``,
        ``producer_id``, ``producer_epoch``, ``transactional``, ``batch``), where offsets or sequences do not go on,
        and between data and control records (``control_type``, or ``control``, is set).
    compression : str
        ``none``, ``gzip``, ``snappy``, ``lz4`` or ``zstd``.
    level : int, optional
        Of gzip, lz4 and zstd.
    max_bytes : int
        Of a batch, its header included, before compression: it ends before the record that would exceed it.
    base_offset : int
        Of the first record, without a column ``offset``.
    magic : {2, 1, 0}
        0 and 1 have neither headers nor producers, 0 has no timestamps either: such columns are refused. They are for
        tests of what reads them.

    Returns
    -------
    bytes
        Batches, back to back. Without compression they are the bytes that Kafka writes.

    Raises
    ------
    EncodeError
        A header without a key, a timestamp that is not one of whole milliseconds, an offset below 0, or a record
        beyond 2 GiB.
    ConfigError
        An option is not one of these, or a column not one of batches.
    TypeError
        What was given is no table.

    Examples
    --------
    >>> batch = write_batches(pa.table({"key": [b"k"], "value": [b"v"]}))
    >>> len(batch), batch[61:].hex()
    (70, '10000000026b027600')
    """
    if magic not in (0, 1, 2):
        raise ConfigError(f"magic={magic} is not one of 0, 1, 2")
    if not is_whole(max_bytes) or not 1 <= max_bytes <= _MAX_INT32:
        raise ConfigError(f"max_bytes={max_bytes!r} is not within 1 and {_MAX_INT32}")
    if not is_whole(base_offset) or not 0 <= base_offset < 1 << 62:
        raise ConfigError(f"base_offset={base_offset!r} is not within 0 and 2^62")
    compress(compression, b"", level, magic)
    columns = _columns(table, base_offset)
    if magic < 2:
        return _write_messages(columns, compression, level, max_bytes, magic)
    return b"".join(part for each in _batches(columns, max_bytes) for part in each.finish(compression, level))


class PlainBatch(NamedTuple):
    """A batch whose records are not compressed yet, and have no header."""

    records: memoryview
    rows: int
    base_offset: int
    last_offset: int
    first_timestamp: int
    latest_timestamp: int
    sequence: int
    fields: BatchFields

    def finish(self, codec: str, level: int | None) -> tuple[bytearray, Any]:
        """Return the header and the content of the batch."""
        content = self.records if codec == "none" else compress(codec, self.records, level)
        fields = self.fields
        attributes = (
            CODECS.index(codec)
            | (fields.timestamp_type == 1) << 3
            | fields.transactional << 4
            | fields.control << 5
        )
        header = bytearray(HEADER.size)
        HEADER.pack_into(
            header, 0, self.base_offset, HEADER.size - 12 + len(content), fields.partition_leader_epoch, 2, 0,
            attributes, self.last_offset - self.base_offset, self.first_timestamp, self.latest_timestamp,
            fields.producer_id, fields.producer_epoch, self.sequence, self.rows,
        )  # fmt: skip
        crc32c = kernel("wire.buffers._crc32c").of_buffer
        struct.pack_into(">I", header, 17, crc32c(content, crc32c(memoryview(header)[21:], 0)))
        return header, content


def produced_batches(
    records: pa.RecordBatch, runs: Sequence[tuple[int, int]], *, max_bytes: int, now: int, fields: BatchFields
) -> Iterator[tuple[int, PlainBatch]]:
    """Yield the batches of records as producers send them, each numbered from 0, and the number of its run.

    The records have columns ``value``, ``key``, ``headers``, and ``timestamp``, of whole milliseconds; but for the
    first, any of them; without ``timestamp`` all have that of `now`. No batch has records of two runs, each of which
    has its first row and the sequence of that, -1 if records have none; the first run starts with row 0.
    """
    given = {name: records.column(name) for name in records.schema.names}
    timestamps = given.get("timestamp")
    headers = given.get("headers")
    breaks = bytearray(len(records))
    for row, _ in runs:
        breaks[row] = 1
    data, batches = kernel("protocol.batch._write").encode(
        given.get("key"),
        given["value"],
        None if headers is None else _headers(headers),
        None,
        None if timestamps is None else _plain(timestamps),
        breaks,
        max_bytes,
    )
    view = memoryview(data).cast("B")
    number = 0
    for first, last, start, end in batches:
        while number + 1 < len(runs) and runs[number + 1][0] <= first:
            number += 1
        rows = last - first
        earliest = latest = now
        if timestamps is not None:
            earliest, latest = timestamps[first].as_py(), pc.max(timestamps.slice(first, rows)).as_py()
        row, sequence = runs[number]
        at = sequence if sequence < 0 else (sequence + first - row) & _MAX_INT32
        yield number, PlainBatch(view[start:end], rows, 0, rows - 1, earliest, latest, at, fields)


def _columns(table: Any, base_offset: int) -> dict[str, Any]:
    """Bring the columns into the types that are written, and add those that are not there."""
    try:
        table = table if isinstance(table, (pa.Table, pa.RecordBatch)) else pa.table(table)
    except (TypeError, ValueError, pa.ArrowException) as error:
        raise TypeError(f"{type(table).__name__} is no table: {error}") from None
    for name in table.column_names:
        if name not in _COLUMNS:
            raise ConfigError(f"column {name!r} is not one of {', '.join(_COLUMNS)}")
        if table.column_names.count(name) > 1:
            raise ConfigError(f"column {name!r} is there twice")
    rows = table.num_rows

    def column(name: str) -> Any:
        if name not in table.column_names:
            return None
        found = table.column(name)
        return unpack(
            sound_column(found).combine_chunks() if isinstance(found, pa.ChunkedArray) else sound(found)
        )

    columns: dict[str, Any] = {}
    for name in ("key", "value"):
        found = column(name)
        try:
            columns[name] = pa.nulls(rows, pa.binary()) if found is None else payloads(found)[0][0]
        except TypeError as error:
            raise ConfigError(f"column {name!r}: {error}") from None
    headers = column("headers")
    columns["headers"] = None if headers is None else _headers(headers)
    offsets = column("offset")
    if offsets is None:
        import numpy as np

        offsets = pa.array(np.arange(base_offset, base_offset + rows))
    columns["offset"] = _cast("offset", offsets, pa.int64())
    columns["timestamp"] = _timestamps(column("timestamp"), rows)
    for name, (kind, value) in _NUMBERS.items():
        found = column(name)
        columns[name] = pa.repeat(pa.scalar(value, kind), rows) if found is None else _cast(name, found, kind)
    control_type = column("control_type")
    if control_type is not None:
        columns["control"] = pc.or_(columns["control"], control_type.is_valid())
    for name in ("offset", *_NUMBERS):
        if columns[name].null_count:
            raise ConfigError(f"column {name!r} has nulls")
    for name, (lowest, highest) in _RANGES.items():
        outside = pc.or_(pc.less(columns[name], lowest), pc.greater(columns[name], highest))
        row = pc.index(outside, True).as_py()
        if row >= 0:
            raise EncodeError(row, None, name, "out_of_range", CODES["out_of_range"])
    return columns


def _cast(name: str, found: Any, kind: pa.DataType) -> Any:
    try:
        return found.cast(kind)
    except pa.ArrowException as error:
        raise ConfigError(f"column {name!r} of {found.type} is not one of {kind}: {error}") from None


def _timestamps(found: Any, rows: int) -> pa.Array:
    """Bring timestamps to milliseconds; null is what Kafka writes for none, -1."""
    if found is None:
        return pa.repeat(pa.scalar(-1, pa.int64()), rows)
    if pa.types.is_timestamp(found.type):
        found, faults = cast_rows(found, pa.timestamp("ms", found.type.tz))
        if faults:
            fault = faults[0]
            # There is no option that cuts them off.
            finer = "Kafka's times are whole milliseconds: cast the column before, to timestamp('ms')"
            reason = finer if fault.code == "inexact" else fault.reason
            raise EncodeError(*fault._replace(path="timestamp", reason=reason))
    return pc.fill_null(_cast("timestamp", found, pa.int64()), -1)


def check_headers(kind: pa.DataType) -> None:
    """Refuse headers that are neither maps nor lists of keys and values: a cast leaves out what it does not know."""
    types = pa.types
    if types.is_map(kind):
        return
    pair = kind.value_type if is_list(kind) or types.is_fixed_size_list(kind) else kind
    # What has nothing but nulls, or nothing at all, has no names.
    if types.is_null(pair):
        return
    if not types.is_struct(pair) or [field.name for field in pair] != ["key", "value"]:
        raise ConfigError(
            f"headers are lists of structs of key and value, or maps, not {kind}: of Python, "
            "[{'key': 'trace', 'value': b'1'}]"
        )


def _headers(headers: pa.Array) -> tuple[pa.Buffer, pa.Array, pa.Array]:
    check_headers(headers.type)
    if pa.types.is_null(headers.type):
        headers = headers.cast(HEADERS)
    if pa.types.is_map(headers.type):
        kind = pa.list_(pa.struct([("key", headers.type.key_type), ("value", headers.type.item_type)]))
        headers = headers.cast(kind)
    headers = pc.fill_null(headers, pa.scalar([], headers.type)) if headers.null_count else headers
    kind = pa.list_(pa.struct([(each.name, each.type) for each in HEADERS.value_type]))
    headers = _cast("headers", headers, kind)
    # Keys and values of a header that is null are null.
    keys, values = headers.flatten().flatten()
    edges = pc.subtract(headers.offsets, headers.offsets[0])
    return _plain(edges), keys, values


def _plain(array: pa.Array) -> pa.Buffer:
    """Return the values of a column of numbers without nulls."""
    width = array.type.byte_width
    return array.buffers()[1].slice(array.offset * width, len(array) * width)


def _breaks(columns: dict[str, Any]) -> bytes:
    """Mark the rows at which a batch starts in any case."""
    import numpy as np

    offsets = columns["offset"].to_numpy(zero_copy_only=False)
    sequences = columns["sequence"].cast(pa.int64()).to_numpy(zero_copy_only=False)
    rows = len(offsets)
    breaks = np.zeros(rows, np.uint8)
    if rows < 2:
        return breaks.tobytes()
    steps = np.diff(offsets)
    before, after = sequences[:-1], sequences[1:]
    goes_on = np.where(before < 0, after < 0, (before + steps) & _MAX_INT32 == after)
    changed = (steps <= 0) | (steps > _MAX_INT32) | ~goes_on
    for name in _OF_BATCH:
        values = columns[name].to_numpy(zero_copy_only=False)
        changed |= values[1:] != values[:-1]
    # Deltas have 31 bits: far leaps end the batch even if each step is short.
    reach = np.cumsum(np.where(changed, 0, steps)) // (_MAX_INT32 // 2)
    changed[1:] |= reach[1:] != reach[:-1]
    breaks[1:] = changed
    return breaks.tobytes()


def _batches(columns: dict[str, Any], max_bytes: int) -> Iterator[PlainBatch]:
    offsets, timestamps = columns["offset"], columns["timestamp"]
    data, batches = kernel("protocol.batch._write").encode(
        columns["key"],
        columns["value"],
        columns["headers"],
        _plain(offsets),
        _plain(timestamps),
        _breaks(columns),
        max_bytes,
    )
    view = memoryview(data).cast("B")
    for first, last, start, end in batches:
        yield PlainBatch(
            view[start:end],
            last - first,
            offsets[first].as_py(),
            offsets[last - 1].as_py(),
            timestamps[first].as_py(),
            pc.max(timestamps.slice(first, last - first)).as_py(),
            columns["sequence"][first].as_py(),
            BatchFields(*(columns[name][first].as_py() for name in BatchFields._fields)),
        )


def _write_messages(
    columns: dict[str, Any], codec: str, level: int | None, max_bytes: int, magic: int
) -> bytes:
    """Write messages of magic 0 and 1; compressed ones hold up to so many bytes of others."""
    if columns["headers"] is not None and len(columns["headers"][1]):
        raise ConfigError(f"magic {magic} has no headers")
    for name in _MODERN if magic else ("timestamp", *_MODERN):
        none = _NUMBERS[name][1] if name in _NUMBERS else -1
        if pc.any(pc.not_equal(columns[name], none)).as_py():
            raise ConfigError(f"magic {magic} has no {name}")
    append = [kind == 1 for kind in columns["timestamp_type"].to_pylist()]
    lists = [columns[name].to_pylist() for name in ("offset", "timestamp", "key", "value")]
    rows = list(zip(*lists, append, strict=True))
    if codec == "none":
        return b"".join(_message(magic, 8 * at, offset, time, k, v) for offset, time, k, v, at in rows)
    breaks = _breaks(columns)
    out = []
    inside: list[tuple[int, int, bytes, bool]] = []
    size = 0
    for row, (offset, time, key, value, at) in enumerate(rows):
        message = _message(magic, 8 * at, offset, time, key, value)
        if inside and (breaks[row] or size + len(message) > max_bytes):
            out.append(_wrapper(magic, codec, level, inside))
            inside, size = [], 0
        inside.append((offset, time, message, at))
        size += len(message)
    if inside:
        out.append(_wrapper(magic, codec, level, inside))
    return b"".join(out)


def _wrapper(magic: int, codec: str, level: int | None, inside: list[tuple[int, int, bytes, bool]]) -> bytes:
    """Write a message that holds others, whose offsets count from the first one in magic 1."""
    base, last = inside[0][0], inside[-1][0]
    messages = b"".join(
        struct.pack(">q", offset - base if magic else offset) + message[8:]
        for offset, _, message, _ in inside
    )
    value = compress(codec, messages, level, magic)
    attributes = CODECS.index(codec) | inside[0][3] << 3
    return _message(magic, attributes, last, max(time for _, time, _, _ in inside), None, value)


def _message(
    magic: int, attributes: int, offset: int, timestamp: int, key: bytes | None, value: bytes | None
) -> bytes:
    content = (
        struct.pack(">bbq", magic, attributes, timestamp) if magic else struct.pack(">bb", 0, attributes & 7)
    )
    for part in (key, value):
        content += struct.pack(">i", -1) if part is None else struct.pack(">i", len(part)) + part
    return struct.pack(">qiI", offset, len(content) + 4, zlib.crc32(content)) + content
