"""Record batches to columns: what a segment file, a fetch response or a produce request holds."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from kcodec._impl import kernel
from kcodec.codec import report
from kcodec.columns.stream import stream
from kcodec.errors import CODES, ConfigError, DecodeError, Fault, check_booleans, check_choice, is_whole
from kcodec.protocol.batch.compression import CompressionError, Expanded, SizeLimitError
from kcodec.protocol.batch.partition_files import open_file
from kcodec.protocol.batch.schema import HEADER, record_schema

_CHOICES = {
    "control": ("skip", "keep", "only"),
    "partial": ("stop", "error"),
    "errors": ("raise", "skip", "report"),
}
#: Bytes of batches that become one chunk of a table: they are still in the processor's cache when they are read again
#: after their checksum.
_WINDOW = 4 << 20
#: Bytes that compressed batches of one chunk may expand to before the next chunk is begun.
_EXPANDED = 16 << 20
#: Records of a batch that are read together. Real ones have fewer, but bytes that compress well may say millions.
_MOST_ROWS = 1 << 19
#: What a record takes of the columns beside what is in its key, value and headers.
_ROW_BYTES = 92
#: Offsets into a buffer of views have 31 bits.
_MAX_VIEWED = 0x7FFFFFFF
#: Bytes of a file that are read at a time.
_READ = 8 << 20
_EMPTY = pa.py_buffer(b"")
#: As many zeros as a scan takes for the end: the bytes of a batch before those that its length counts.
_ZEROS = pa.py_buffer(bytes(12))


class BatchOptions(NamedTuple):
    """How batches are read; see `read_batches`."""

    check_crc: bool = True
    control: str = "skip"
    partial: str = "stop"
    errors: str = "raise"
    views: bool = True
    max_decompressed: int = 1 << 30

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> BatchOptions:
        """Return options given by name; raise `ConfigError` if there is no such option."""
        for name in options:
            if name not in cls._fields:
                raise ConfigError(f"option {name!r} is not one of {', '.join(cls._fields)}")
        return cls(**options)

    def check(self) -> None:
        """Raise `ConfigError` if a value is not one of its option's choices."""
        for name, choices in _CHOICES.items():
            check_choice(name, getattr(self, name), choices)
        check_booleans(check_crc=self.check_crc, views=self.views)
        if not is_whole(self.max_decompressed) or self.max_decompressed < 0:
            raise ConfigError(f"max_decompressed={self.max_decompressed!r} is not a number of bytes")


class BatchSource:
    """Batches that are read once, from the first to the last, in chunks.

    `keep` chooses the batches of a scan that are read: it takes the number of the first one and the scan, and returns
    a byte for each batch. `faults` is what was wrong with the batches so far, unless it was raised, and `count` their
    number.
    """

    def __init__(self, options: BatchOptions, keep: Callable[[int, Any], bytes | None] | None = None) -> None:
        options.check()
        self.options = options
        self.keep = keep
        self.faults: list[Fault] = []
        self.count = 0
        self._kernel = kernel("protocol.batch._kernel")

    def buffer(
        self, data: pa.Buffer, position: int = 0, last: bool = True
    ) -> Generator[pa.RecordBatch, None, tuple[int, str]]:
        """Read what a buffer holds, which is at a position in its file: record batches of the schema `record_schema`.

        If the buffer is the last of the file, a batch that is cut there is partial, not to be continued. Returned are
        the bytes of whole batches, and why it ended there, as `Batches.stop`.
        """
        start = 0
        while True:
            scan = self._kernel.scan(data, start, _WINDOW, self.options.check_crc)
            keep = self.keep(self.count, scan) if self.keep else None
            scan.select(self.options.control, keep)
            for records in self.decode(scan, data, position):
                if len(records):
                    yield records
            self.count += len(scan)
            start = scan.end
            if scan.stop in CODES:
                self._fault(Fault(self.count, position + scan.stop_at, "", scan.stop, CODES[scan.stop]))
                return start, scan.stop
            if scan.stop == "partial" and last and self.options.partial == "error":
                self._fault(Fault(self.count, position + start, "", "truncated", CODES["truncated"]))
            if scan.stop:
                return start, str(scan.stop)

    def decode(self, scan: Any, data: pa.Buffer, position: int) -> Iterator[pa.RecordBatch]:
        """Read the wanted batches of a scan, whose buffer is at a position in its file."""
        limit = min(self.options.max_decompressed, _MAX_VIEWED)
        first = 0
        expanded: Expanded | None = None
        for number, codec, magic, start, end in scan.compressed():
            if expanded is None:
                expanded = Expanded(limit)
            elif expanded.size >= min(_EXPANDED, limit):
                yield from self._chunk(scan, first, number, data, expanded.finish(), position)
                first, expanded = number, Expanded(limit)
            try:
                scan.expand(number, *expanded.append(codec, data.slice(start, end - start), magic))
            except SizeLimitError:
                scan.fail(number, "size_limit")
            except CompressionError:
                scan.fail(number, "compression")
        content = expanded.finish() if expanded is not None else _EMPTY
        yield from self._chunk(scan, first, len(scan), data, content, position)

    def _chunk(
        self, scan: Any, first: int, last: int, data: pa.Buffer, expanded: pa.Buffer, position: int
    ) -> Iterator[pa.RecordBatch]:
        """Read some batches together, but those of very many records by themselves."""
        for number, is_expanded, at, start, count in scan.large(first, last, _MOST_ROWS):
            yield self._records(scan, first, number, data, expanded, position)
            first = number + 1
            if is_expanded and count > self.options.max_decompressed // _ROW_BYTES:
                at += position + HEADER.size
                self._fault(Fault(self.count + number, at, "", "size_limit", CODES["size_limit"]))
                continue
            # A batch that is bad has no records, so that it is read to its end before its first ones are given out.
            place = scan, number, start, count, data, expanded, position
            if all(records is not None for records in self._parts(*place)):
                yield from self._parts(*place)
        yield self._records(scan, first, last, data, expanded, position)

    def _parts(
        self,
        scan: Any,
        number: int,
        start: int,
        count: int,
        data: pa.Buffer,
        expanded: pa.Buffer,
        position: int,
    ) -> Iterator[Any]:
        """Read the records of one batch in parts; None stands for those that are bad, and ends it."""
        at = start
        for done in range(0, count, _MOST_ROWS):
            rows = min(count - done, _MOST_ROWS)
            scan.part(number, at, rows, done + rows < count)
            before = len(self.faults)
            records = self._records(scan, number, number + 1, data, expanded, position, done)
            if len(self.faults) > before:
                yield None
                break
            yield records
            at = scan.reached(number)
        scan.part(number, start, count, False)

    def _records(
        self,
        scan: Any,
        first: int,
        last: int,
        data: pa.Buffer,
        expanded: pa.Buffer,
        position: int,
        done: int = 0,
    ) -> pa.RecordBatch:
        """Read batches together; of one that is read in parts, so many records were read before."""
        records, faults = self._kernel.records(
            scan, first, last, data, expanded, self.count, self.options.views
        )
        for number, at, record, code in faults:
            path = f"records[{done + record}]" if record >= 0 else ""
            self._fault(Fault(self.count + number, position + at, path, code, CODES[code]))
        return records

    def _fault(self, fault: Fault) -> None:
        if self.options.errors == "raise":
            raise DecodeError(*fault)
        self.faults.append(fault)


def read_batches(
    buffer: Any,
    *,
    check_crc: bool = True,
    control: str = "skip",
    partial: str = "stop",
    errors: str = "raise",
    views: bool = True,
    max_decompressed: int = 1 << 30,
) -> Any:
    r"""Read the records of record batches into columns.

    Magic 0, 1 and 2, every codec. What a batch says of all of its records stands beside each of them. Batches of zero
    bytes up to the end, as in preallocated segments, are its end.

    Parameters
    ----------
    buffer : buffer or pyarrow.Buffer
        Batches, back to back.
    check_crc : bool
        Whether to compare the checksums: CRC-32C of magic 2, CRC-32 before.
    control : {"skip", "keep", "only"}
        What becomes of control batches, such as the markers of transactions.
    partial : {"stop", "error"}
        What becomes of a batch that is cut by the end of the buffer: it is left out, as at the end of a fetch response,
        or it is an error, ``truncated``.
    errors : {"raise", "skip", "report"}
        What becomes of a batch that cannot be read: an exception; its records are left out; or that and a row of the
        report. Reading ends at a header that is invalid, because the next batch could start anywhere.
    views : bool
        Keys and values are views of the buffer, or of what compressed batches were expanded to: nothing is copied, and
        that memory stays as long as they do. Otherwise they are copied into ``binary`` columns.
    max_decompressed : int
        Bytes to which the compressed batches that are read in one step (a few MiB of them, or one) may expand, and that
        the columns of one which has more than 524,288 records may take, 92 for each. Streams read that one in parts.

    Returns
    -------
    pyarrow.Table
        One row a record, of the schema `record_schema`: ``offset``, ``timestamp`` (milliseconds; null where the record
        has none), ``timestamp_type`` (-1 none, 0 CreateTime, 1 LogAppendTime), ``key``, ``value``, ``headers``,
        ``partition_leader_epoch``, ``producer_id``, ``producer_epoch``, ``sequence`` (-1: none), ``transactional``,
        ``control_type`` (null for data), and ``batch``, the row of its batch in what `list_batches` returns. With
        ``errors="report"`` a pair of it and the report, whose ``row`` is the batch, whose ``offset`` the position in
        the buffer, and whose ``path`` names the record.

    Raises
    ------
    DecodeError
        A batch that cannot be read, with ``errors="raise"``: ``crc_mismatch``, ``invalid_batch``, ``compression``,
        ``size_limit``, ``truncated``, ``block_count`` (of records), ``block_size`` (of a record) and others. In a
        compressed batch the offset is where its compressed part starts.
    ConfigError
        An option is not one of these.

    Examples
    --------
    >>> from kcodec.protocol import read_batches, write_batches
    >>> batches = write_batches(pa.table({"key": [b"a", None], "value": [b"1", b"2"]}), compression="zstd")
    >>> read_batches(batches).select(["offset", "key", "value"]).to_pylist()
    [{'offset': 0, 'key': b'a', 'value': b'1'}, {'offset': 1, 'key': None, 'value': b'2'}]
    """
    source = BatchSource(BatchOptions(check_crc, control, partial, errors, views, max_decompressed))
    records = pa.Table.from_batches(source.buffer(_buffer(buffer)), record_schema(views))
    return (records, report(source.faults)) if errors == "report" else records


def _buffer(data: Any) -> pa.Buffer:
    return data if isinstance(data, pa.Buffer) else pa.py_buffer(data)


def stream_batches(source: Any, *, window: int = _READ, **options: Any) -> pa.RecordBatchReader:
    """Read the records of a file of any size, in memory that does not depend on it.

    Parameters
    ----------
    source : path, binary file or pyarrow.NativeFile
        Batches, back to back.
    window : int
        Bytes read at a time; a batch that is larger is read whole.
    **options
        Those of `read_batches`; ``errors`` is ``raise`` or ``skip``.

    Returns
    -------
    pyarrow.RecordBatchReader
        The same columns in the same order.

    Raises
    ------
    ConfigError
        If an option is not one of these.
    DecodeError
        While it is read, as for `read_batches`.

    Examples
    --------
    >>> import io
    >>> from kcodec.protocol import write_batches
    >>> file = io.BytesIO(write_batches(pa.table({"value": [b"1", b"2"]})))
    >>> stream_batches(file).read_all().num_rows
    2
    """
    chosen = BatchOptions.of(options)
    if chosen.errors == "report":
        raise ConfigError("errors='report' is not for streams: raise or skip")
    if not is_whole(window) or window < 1:
        raise ConfigError(f"window={window!r} is not a number of bytes")
    chunks = chunks_of(source, BatchSource(chosen), window)
    return stream(record_schema(chosen.views), chunks)


def chunks_of(source: Any, batches: BatchSource, window: int = _READ) -> Iterator[Any]:
    """Read a path, buffer or file chunk by chunk: what the `decode` of the batches gives."""
    if isinstance(source, (str, os.PathLike)):
        with open_file(source, None) as file:
            yield from chunks_of(file, batches, window)
        return
    if not hasattr(source, "read"):
        yield from batches.buffer(_buffer(source))
        return
    remainder, position, size, is_last = _EMPTY, 0, window, False
    while not is_last:
        data = _read(source, remainder, size)
        is_last = data.size == remainder.size
        used, stop = yield from batches.buffer(data, position, last=is_last)
        if stop in CODES:
            return
        # Of zeros it is enough to keep that there are some.
        remainder = _ZEROS if stop == "zeros" else data.slice(used)
        position += used
        # A batch larger than the window is read by twice as much each time, whatever its header says.
        size = max(window, remainder.size)


def _read(file: Any, remainder: pa.Buffer, size: int) -> pa.Buffer:
    """Return what is left of the bytes read before, and up to `size` more."""
    if not isinstance(file, pa.NativeFile):
        more = file.read(size)
        return pa.py_buffer(remainder.to_pybytes() + more if remainder.size else more)
    # In the memory pool, whose pages are used again when the chunks before are gone.
    buffer = pa.allocate_buffer(remainder.size + size)
    view = memoryview(buffer).cast("B")
    view[: remainder.size] = memoryview(remainder).cast("B")
    return buffer.slice(0, remainder.size + file.readinto(view[remainder.size :]))
