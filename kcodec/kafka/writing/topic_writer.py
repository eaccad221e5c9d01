"""Columns into topics."""

import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from kcodec._daemon_threads import Threads
from kcodec._lazy import compute as pc
from kcodec.arguments import FormatLike, Servers, Tables
from kcodec.columns.arrays.casts import cast_rows
from kcodec.columns.arrays.given import sound
from kcodec.columns.arrays.nested import plain_array, unpack
from kcodec.columns.stream import reader_of
from kcodec.columns.types.plain import is_bytes
from kcodec.errors import ConfigError, EncodeError, check_choice, check_functions, check_kind, is_whole
from kcodec.kafka.connection.cluster import Cluster, TopicPartition
from kcodec.kafka.connection.settings import Settings
from kcodec.kafka.offsets import Range
from kcodec.kafka.payload_format import PayloadFormat
from kcodec.kafka.views import size_of
from kcodec.kafka.writing.partitioner import Partitioner
from kcodec.kafka.writing.producer import Producer
from kcodec.protocol.batch.compression import CODECS
from kcodec.protocol.batch.schema import HEADERS
from kcodec.protocol.batch.write import BatchFields, check_headers, produced_batches

_PARTS = ("key", "value", "headers", "timestamp")
#: Rows that are encoded together, and about how many bytes of columns.
_MOST_ROWS, _FEWEST_ROWS = 1 << 16, 1 << 10
_BYTES = 16 << 20
#: Rows of a partition that rather stay where they are, on average, than are gathered.
_LONG_RUN = 1 << 9
#: They compress faster than networks take it.
_MOST_THREADS = 4
#: What threads get to end in: they have a few batches to compress, and nothing to send.
_END_SECONDS = 5.0
_MAX_SEQUENCE = 0x7FFFFFFF


class Written(NamedTuple):
    """Where records were written: the first offset of each partition of each topic, and the one behind the last.

    `ranges` are what `kcodec.kafka.read` takes to read them. Records of others may stand in between.

    Attributes
    ----------
    start, end : dict
        Offsets by partition, by topic.

    Examples
    --------
    >>> Written({"orders": {0: 10}}, {"orders": {0: 13}}).ranges
    [Range(topic='orders', partition=0, start=10, end=13)]
    """

    start: dict[str, dict[int, int]]
    end: dict[str, dict[int, int]]

    @property
    def ranges(self) -> list[Range]:
        """Where records were written, as ranges."""
        return [
            Range(topic, number, start, self.end[topic][number])
            for topic, by in self.start.items()
            for number, start in by.items()
        ]


def write(
    data: Tables,
    topic: str | None = None,
    *,
    servers: "Servers | None" = None,
    key: "FormatLike | None" = None,
    value: "FormatLike | None" = None,
    columns: Mapping[str, Any] | None = None,
    partition: int | str | None = None,
    compression: str | None = None,
    transactional_id: str | None = None,
    progress: Callable[[int], object] | None = None,
    config: Mapping[str, Any] | None = None,
) -> Written:
    """Write columns as the records of a topic, and wait until brokers have them.

    All replicas in sync have to have them (``acks=all``), a batch that is sent again is not written twice
    (``enable.idempotence``), and the records of a partition keep their order: these are the defaults.

    Parameters
    ----------
    data : pyarrow.Table, RecordBatch, RecordBatchReader, a data frame, iterator of batches, dicts, or dict of lists
        Frames of pandas and polars, lazy ones too, and what else has Arrow's C interface, such as relations of DuckDB.
        A row for each record. A reader is written as it is read.
    topic : str, optional
        It must exist. By default each row's is in the column ``topic``.
    servers, config
        As for `read`.
    key, value : Codec, Serde, str, mapping or None
        What the columns are encoded with, as for `read`; None if they are bytes or text already.
    columns : mapping, optional
        What the parts of records are made of: ``"key"``, ``"value"``, ``"headers"`` and ``"timestamp"``, each a
        column's name or, for a struct of them, a list of names. By default the columns of these names; if there is
        none called ``value``, the value is a struct of all columns.
    partition : int or str, optional
        The partition, or the column that holds it. By default, and where that is null, it is that of the key, as Java's
        producer chooses it (murmur2 of the encoded key); records without a key become batches of about the same size,
        each for the next partition.
    compression : {"zstd", "lz4", "snappy", "gzip", "none"}, optional
        By default ``compression.type`` of `config`, else zstd.
    transactional_id : str, optional
        All records become visible together, for those who read committed ones, or none does.
    progress : callable, optional
        Called while it is written with how many rows are on their way to brokers, and at the end once these have all.

    Returns
    -------
    Written
        The first offset in each partition, and the one behind the last.

    Raises
    ------
    EncodeError
        If a row cannot be encoded; ``row`` counts from the first one. Rows before it may be written, but for a
        transaction.
    KafkaError
        If brokers refuse, fail, or do not answer in time (``delivery.timeout.ms``).
    ConfigError
        As for `read`, and if the data has not the columns that are asked for.
    TypeError
        If the data is no table.

    Examples
    --------
    >>> from kcodec import JsonCodec, kafka
    >>> rows = pa.table({"key": [b"a"], "value": pa.array([{"id": 1}])})
    >>> kafka.write(rows, "orders", servers="broker:9092", value=JsonCodec("id BIGINT"))         # doctest: +SKIP
    Written(start={'orders': {0: 10}}, end={'orders': {0: 11}})
    """
    if compression is not None:
        check_choice("compression", compression, CODECS)
    if topic is not None and not isinstance(topic, str):
        raise ConfigError(f"topic={topic!r} is not a name")
    _check_parts(columns, partition)
    check_functions(progress=progress)
    settings = Settings.of(config, servers, codec=compression, transactional_id=transactional_id)
    batches = reader_of(data)
    with Cluster(settings) as cluster:
        formats = {
            name: PayloadFormat(given, settings, name == "key")
            for name, given in (("key", key), ("value", value))
        }
        writers: dict[str, _TopicWriter] = {}
        if topic is not None:
            writers[topic] = _TopicWriter(cluster, topic, formats, columns, partition)
        producer = Producer(cluster)
        outbox = _Outbox(producer)
        rows_taken = 0
        try:
            for at, part in _slices(batches):
                for name, numbers, rows in _by_topic(part, topic):
                    if name not in writers:
                        writers[name] = _TopicWriter(cluster, name, formats, columns, partition)
                    try:
                        writers[name].write(outbox, rows)
                    except EncodeError as error:
                        within = error.row if numbers is None else int(numbers[error.row])
                        raise _at_row(error, at + within) from error
                rows_taken = at + len(part)
                if progress is not None:
                    progress(rows_taken)
            outbox.flush()
            producer.end_transaction(True)
            if progress is not None:
                progress(rows_taken)
        except BaseException:
            _abort(producer)
            raise
        finally:
            outbox.close()
    start: dict[str, dict[int, int]] = {name: {} for name in writers}
    end: dict[str, dict[int, int]] = {name: {} for name in writers}
    for (name, number), (first, last) in sorted(producer.offsets().items()):
        start[name][number], end[name][number] = first, last
    return Written(start, end)


def _check_parts(columns: Any, partition: Any) -> None:
    """Refuse (`ConfigError`) what says of which columns records are made, if it is no such thing."""
    if partition is not None and not is_whole(partition) and not isinstance(partition, str):
        raise ConfigError(f"partition={partition!r} is neither a number nor the name of a column")
    if columns is None:
        return
    check_kind(Mapping, "a mapping of key, value, headers and timestamp to names", columns=columns)
    for part, given in columns.items():
        if part not in _PARTS:
            raise ConfigError(f"columns: {part!r} is not one of {', '.join(_PARTS)}")
        if not isinstance(given, (str, list, tuple)) or not all(isinstance(each, str) for each in given):
            raise ConfigError(f"columns: {part!r} is the name of a column, or a list of names, not {given!r}")


def _abort(producer: Producer) -> None:
    """End a transaction that failed, if the brokers can still be asked; otherwise it ends by its time-out."""
    if producer.transactional_id is not None:
        with suppress(Exception):
            # A batch that came behind the marker of the end would be of a transaction that nobody ends.
            producer.settle()
            producer.end_transaction(False)


def _at_row(error: EncodeError, row: int) -> EncodeError:
    return EncodeError(row, error.offset, error.path, error.code, error.reason, error.schema_id)


def _slices(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield parts of the rows, shorter ones where rows are large, each with the number of its first row."""
    first = 0
    for given in batches:
        batch = pa.RecordBatch.from_arrays(list(map(sound, given.columns)), schema=given.schema)
        # Columns of views may count the bytes of others too: so there are some rows in any case.
        rows = min(max(len(batch) * _BYTES // max(size_of(batch), 1), _FEWEST_ROWS), _MOST_ROWS)
        for at in range(0, len(batch), rows):
            yield first + at, batch.slice(at, rows)
        first += len(batch)


def _by_topic(batch: pa.RecordBatch, topic: str | None) -> Iterator[tuple[str, Any, pa.RecordBatch]]:
    """Return the rows of each topic, without its column; and their numbers, None if they are all."""
    if topic is not None:
        yield topic, None, batch
        return
    if "topic" not in batch.schema.names:
        raise ConfigError("the data has no column 'topic', and no topic is given")
    names = plain_array(batch.column("topic"))
    if names.null_count:
        raise ConfigError("topic: the column has nulls")
    rest = batch.drop_columns(["topic"])
    found = pc.unique(names)
    for name in found.to_pylist():
        if not isinstance(name, str):
            raise ConfigError(f"topic: the column is {names.type}, not text")
        if len(found) == 1:
            yield name, None, rest
        else:
            numbers = np.flatnonzero(pc.equal(names, name).to_numpy(zero_copy_only=False))
            columns = [_taken(column, pa.array(numbers)) for column in rest.columns]
            yield name, numbers, pa.RecordBatch.from_arrays(columns, rest.schema.names)


def _taken(column: pa.Array, rows: pa.Array) -> pa.Array:
    try:
        return column.take(rows)
    except pa.ArrowNotImplementedError:
        # Of views, which polars' columns of text are, and of runs.
        return plain_array(column).take(rows)


class _Run(NamedTuple):
    """Records of a partition that stand together: the first one, and the one behind the last."""

    place: TopicPartition
    start: int
    end: int


class _TopicWriter:
    """How rows become batches of the partitions of a topic."""

    def __init__(
        self,
        cluster: Cluster,
        topic: str,
        formats: Mapping[str, PayloadFormat],
        columns: Mapping[str, Any] | None,
        partition: int | str | None,
    ) -> None:
        settings = cluster.settings
        partitions = cluster.partitions([topic])[topic]
        self._topic = topic
        self._partitions = partitions
        self._formats = formats
        self._columns = columns
        self._partition = partition
        self._partitioner = Partitioner(partitions, settings.batch_bytes)
        if isinstance(partition, int) and partition not in partitions:
            raise ConfigError(f"partition={partition}: topic {topic!r} has {len(partitions)}")

    def write(self, outbox: "_Outbox", batch: pa.RecordBatch) -> None:
        """Encode rows and put their batches into the outbox."""
        records = self._records(batch)
        runs, order = self._runs(batch, records)
        outbox.producer.add_to_transaction({run.place for run in runs})
        try:
            outbox.add(records if order is None else records.take(pa.array(order)), runs)
        except EncodeError as error:
            if order is None:
                raise
            raise _at_row(error, int(order[error.row])) from error

    def _records(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        rows = len(batch)
        found = self._found(batch)
        arrays: dict[str, pa.Array] = {}
        headers = found.get("headers")
        if headers is not None:
            headers = plain_array(headers)
            check_headers(headers.type)
        for name in ("key", "value"):
            if name in found:
                arrays[name], header = self._formats[name].encode(self._topic, found[name])
                if header is not None:
                    headers = _with_header(headers, *header, rows)
        if headers is not None:
            arrays["headers"] = headers
        if "timestamp" in found:
            arrays["timestamp"] = _milliseconds(unpack(found["timestamp"]))
        for name in ("key", "value"):
            if name in arrays and not is_bytes(arrays[name].type):
                arrays[name] = unpack(arrays[name]).cast(pa.large_binary())
        return pa.RecordBatch.from_pydict(arrays)

    def _found(self, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        """Return the columns that the parts of records are made of."""
        names = batch.schema.names
        special = {self._partition} if isinstance(self._partition, str) else set()
        chosen: dict[str, Any] = dict(self._columns or {})
        for part in _PARTS:
            if part not in chosen and part in names and ("value" in names or "value" in chosen):
                chosen[part] = part
        if "value" not in chosen:
            taken = special | {each for each in chosen.values() if isinstance(each, str)}
            chosen["value"] = [name for name in names if name not in taken or name in _listed(self._columns)]
        elif self._columns is None:
            for name in names:
                if name not in (*_PARTS, *special):
                    known = ", ".join(_PARTS)
                    raise ConfigError(
                        f"column {name!r} is not one of {known}: leave it out, or say with columns= what it is for"
                        + "; partition='partition' writes each row to the one that it names"
                        * (name == "partition")
                    )
        if "key" not in chosen and not self._formats["key"].is_bytes:
            raise ConfigError(
                f"key: its format is given, and no column for it: say which with columns={{'key': ...}}, a name or a "
                f"list of {', '.join(names)}"
            )
        found = {}
        for part, given in chosen.items():
            wanted = [given] if isinstance(given, str) else list(given)
            for name in wanted:
                if names.count(name) != 1:
                    raise ConfigError(f"{part}: the data has no column {name!r}, it has {', '.join(names)}")
            arrays = [batch.column(name) for name in wanted]
            if isinstance(given, str):
                found[part] = arrays[0]
            else:
                fields = [batch.schema.field(name) for name in wanted]
                found[part] = pa.StructArray.from_arrays(arrays, fields=fields)
        return found

    def _runs(self, batch: pa.RecordBatch, records: pa.RecordBatch) -> tuple[list[_Run], Any]:
        """Return runs of records of a partition, and in which order records have them, None if they stay as they are.

        A partition may have several, where its records stand together in long runs already.
        """
        order = None
        if not len(records):
            found = []
        elif isinstance(self._partition, int):
            found = [(self._partition, 0, len(records))]
        elif isinstance(self._partition, str):
            found, order = _by_number(self._given(batch, records))
        elif "key" in records.schema.names and records.column("key").null_count < len(records):
            found, order = _by_number(self._partitioner.choose(*_keys_and_sizes(records)))
        else:
            found = list(self._partitioner.runs(np.cumsum(_keys_and_sizes(records)[1])))
        return [_Run(TopicPartition(self._topic, number), start, end) for number, start, end in found], order

    def _given(self, batch: pa.RecordBatch, records: pa.RecordBatch) -> Any:
        """Return the partitions given in a column, and chosen ones where the column is null."""
        if self._partition not in batch.schema.names:
            raise ConfigError(f"partition: the data has no column {self._partition!r}")
        column = unpack(batch.column(self._partition))
        if not pa.types.is_integer(column.type):
            raise ConfigError(f"partition: column {self._partition!r} has no integers")
        given = pc.drop_null(column).to_numpy()
        bad = ~np.isin(given, self._partitions)
        if bad.any():
            raise ConfigError(f"partition {given[bad][0]}: topic {self._topic!r} has {len(self._partitions)}")
        if not column.null_count:
            return given.astype(np.int32)
        chosen = self._partitioner.choose(*_keys_and_sizes(records))
        chosen[column.is_valid().to_numpy(zero_copy_only=False)] = given
        return chosen


class _Outbox:
    """Where records become batches on their way to the producer; to be closed.

    They are compressed side by side, and leave in their order as soon as they are.
    """

    def __init__(self, producer: Producer) -> None:
        settings = producer.settings
        self.producer = producer
        self._codec = settings.compression
        self._level = settings.level
        self._fields = BatchFields(
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            transactional=producer.transactional_id is not None,
        )
        #: Of the next record of each partition.
        self._sequences: dict[TopicPartition, int] = defaultdict(int)
        self._threads = min(pa.cpu_count(), _MOST_THREADS)
        self._compressors = Threads(self._threads, "kcodec-compress")
        self._sender = Threads(1, "kcodec-send")
        self._sending: deque[Future[None]] = deque()

    def add(self, records: pa.RecordBatch, runs: list[_Run]) -> None:
        """Put records behind those that their partitions have already."""
        if not runs:
            return
        starts = []
        for place, start, end in runs:
            sequence = self._sequences[place]
            self._sequences[place] = (sequence + end - start) & _MAX_SEQUENCE
            starts.append((start, sequence if self.producer.producer_id >= 0 else -1))
        batches = produced_batches(
            records,
            starts,
            max_bytes=self.producer.largest(runs[0].place.topic),
            now=time.time_ns() // 1_000_000,
            fields=self._fields,
        )
        if self._codec == "none":
            # All at once: threads that send are woken once, and take turns with this one less often.
            self.producer.send(
                [(runs[number].place, batch.finish("none", None), batch.rows) for number, batch in batches]
            )
            return
        for number, batch in batches:
            finished = self._compressors.submit(batch.finish, self._codec, self._level)
            self._sending.append(self._sender.submit(self._send, runs[number].place, finished, batch.rows))
            while self._sending and (self._sending[0].done() or len(self._sending) > 2 * self._threads):
                self._sending.popleft().result()

    def _send(self, place: TopicPartition, finished: "Future[Any]", count: int) -> None:
        self.producer.send([(place, finished.result(), count)])

    def flush(self) -> None:
        """Wait until brokers have everything."""
        while self._sending:
            self._sending.popleft().result()
        self.producer.flush()

    def close(self) -> None:
        """End all threads, also those of the producer."""
        self.producer.stop()
        # They have little left to do. An interruption of this thread may have left a future locked that one of them
        # waits for: neither this nor the interpreter's end waits for that one.
        for threads in (self._compressors, self._sender):
            threads.end(_END_SECONDS)
        self.producer.close()


def _keys_and_sizes(records: pa.RecordBatch) -> tuple[pa.Array, Any]:
    """Return the keys of records, and about how many bytes each record has."""
    sizes = np.full(len(records), 16, np.int64)
    for name in ("key", "value"):
        if name in records.schema.names:
            sizes += np.diff(_offsets(records.column(name)))
    keys = records.column("key") if "key" in records.schema.names else pa.nulls(len(records), pa.binary())
    return keys, sizes


def _offsets(column: pa.Array) -> Any:
    kind = np.int32 if column.type == pa.binary() else np.int64
    return np.frombuffer(column.buffers()[1], kind, column.offset + len(column) + 1)[column.offset :]


def _by_number(numbers: Any) -> tuple[list[tuple[int, int, int]], Any]:
    """Return runs of equal numbers, each with its number, first row and the one behind its last; and their order."""
    order = None
    edges = np.flatnonzero(np.diff(numbers)) + 1
    if len(edges) * _LONG_RUN > len(numbers):
        # Short numbers are sorted by their digits.
        order = np.argsort(numbers.astype(np.uint16) if numbers.max() < 1 << 16 else numbers, kind="stable")
        numbers = numbers[order]
        edges = np.flatnonzero(np.diff(numbers)) + 1
    starts = [0, *edges.tolist()]
    return list(zip(numbers[starts].tolist(), starts, [*starts[1:], len(numbers)], strict=True)), order


def _listed(columns: Mapping[str, Any] | None) -> set[str]:
    """Return the names that stand in lists."""
    return {name for each in (columns or {}).values() if not isinstance(each, str) for name in each}


def _milliseconds(timestamps: pa.Array) -> pa.Array:
    kind = timestamps.type
    if pa.types.is_timestamp(kind):
        timestamps, faults = cast_rows(timestamps, pa.timestamp("ms", kind.tz), floor=True)
        timestamps = timestamps.cast(pa.int64())
    elif pa.types.is_integer(kind) or pa.types.is_null(kind):
        timestamps, faults = cast_rows(timestamps, pa.int64())
    else:
        raise ConfigError(f"timestamp: the column is {kind}, neither timestamps nor milliseconds")
    if faults:
        raise EncodeError(*faults[0]._replace(path="timestamp"))
    return pc.fill_null(timestamps, pa.scalar(time.time_ns() // 1_000_000, pa.int64()))


def _with_header(headers: pa.Array | None, name: str, contents: pa.Array, rows: int) -> pa.Array:
    """Add what names a schema to the headers of records: the content of a header, or a list of several."""
    given = [None] * rows if headers is None else headers.to_pylist()
    lists = []
    for each, content in zip(given, contents.to_pylist(), strict=True):
        pairs = [
            pair if isinstance(pair, dict) else {"key": pair[0], "value": pair[1]} for pair in each or []
        ]
        added = content if isinstance(content, list) else [{"key": name, "value": content}]
        lists.append(pairs if content is None else [*pairs, *added])
    return pa.array(lists, HEADERS)
