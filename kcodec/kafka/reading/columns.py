"""Fetched batches as the columns that are asked for: those of Spark's Kafka source, with keys and values decoded."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from kcodec._impl import kernel
from kcodec._lazy import compute as pc
from kcodec.codec import check_errors
from kcodec.columns.faults import null_rows
from kcodec.columns.types.fields import field_path
from kcodec.errors import ConfigError, DecodeError, Fault
from kcodec.kafka.connection.cluster import TopicPartition
from kcodec.kafka.connection.settings import Settings
from kcodec.kafka.fetching.committed import CommittedPiece
from kcodec.kafka.fetching.fetcher import Piece
from kcodec.kafka.payload_format import PayloadFormat
from kcodec.kafka.report import ReadReport, RecordError, RecordFault
from kcodec.protocol.batch.read import BatchOptions, BatchSource
from kcodec.protocol.batch.schema import HEADERS

#: Without columns of their own choice, users get these; ``headers`` only if they ask for them.
COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
_TYPES = {
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestampType": pa.int32(),
    "headers": HEADERS,
}
_PAYLOADS = ("key", "value")


class _Column(NamedTuple):
    """A column that is asked for: its name, where it comes from, and the path within a key or value."""

    name: str
    source: str
    path: tuple[str, ...] = ()

    @property
    def is_all(self) -> bool:
        return self.path == ("*",)


def _chosen(columns: Any) -> list[_Column]:
    if columns is None:
        columns = COLUMNS
    if isinstance(columns, str) or not isinstance(columns, (Mapping, Sequence)):
        raise ConfigError("columns are a list of names, or a mapping of new names to them")
    pairs = list(columns.items()) if isinstance(columns, Mapping) else [(None, each) for each in columns]
    found = []
    for name, text in pairs:
        source, *path = text.split(".") if isinstance(text, str) else [""]
        if source not in (*_PAYLOADS, *_TYPES) or (path and source not in _PAYLOADS) or not all(path):
            known = ", ".join((*COLUMNS, "headers"))
            raise ConfigError(f"column {text!r} is neither one of {known} nor a field such as value.id")
        if name is not None and not isinstance(name, str):
            raise ConfigError(f"columns: {name!r} is not a name for the column {text!r}")
        if "*" in path and (len(path) > 1 or name not in (None, text)):
            raise ConfigError(
                f"column {text!r}: {source}.* stands for all fields, by their own names, in a mapping as well"
            )
        found.append(_Column((path[-1] if path else source) if name is None else name, source, tuple(path)))
    if not found:
        raise ConfigError("columns= is empty")
    return found


def _fields(chosen: list[_Column], source: str) -> list[str] | None:
    """Return the fields of a key or value that are asked for; None for all of them."""
    paths = [each.path for each in chosen if each.source == source]
    if not paths or any(path in ((), ("*",)) for path in paths):
        return None
    return [".".join(path) for path in dict.fromkeys(paths)]


class Columns:
    """How batches become columns.

    `schema` is that of the columns, None while the type of keys or values depends on the first of them. As long as
    these are null, so are the columns that are made of them, and no field of ``value.*`` is known.

    Making it checks what was asked for, without asking brokers or registries; `begin` names the topics.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        key: Any,
        value: Any,
        columns: Any,
        isolation: str,
        errors: str,
        report: ReadReport,
    ) -> None:
        check_errors(errors)
        self._topics: Sequence[str] = ()
        self._chosen = _chosen(columns)
        self._committed = isolation == "read_committed"
        self._errors = errors
        self._report = report
        self._check_crc = settings.check_crcs
        self._formats = {
            source: PayloadFormat(given, settings, source == "key", _fields(self._chosen, source))
            for source, given in (("key", key), ("value", value))
            if any(each.source == source for each in self._chosen)
        }
        #: Of records as they are, what `columns` reads.
        self.needed = _needed(self._chosen)
        report.text_ids = any(each.has_text_ids for each in self._formats.values())
        self.schema: pa.Schema | None = None
        #: Of keys and values, where the schema is known.
        self._types: dict[str, pa.DataType] = {}
        #: Until then: of which topic a key or value has been seen, and of what type it was.
        self._seen: dict[str, tuple[str, pa.DataType]] = {}

    def begin(self, topics: Sequence[str]) -> "Columns":
        """Find out what is known of the columns of topics before their first record; return the same columns."""
        # Without a topic, what is known without one.
        self._topics = topics or [""]
        self._look()
        return self

    @property
    def offset_name(self) -> str | None:
        """Name of the column that holds the offsets; None if there is none."""
        return next((each.name for each in self._chosen if each.source == "offset"), None)

    def _look(self) -> None:
        types = self._known_types()
        if len(types) == len(self._formats):
            self._fix(types)

    def _known_types(self) -> dict[str, pa.DataType]:
        """Return the types of keys and values that were known from the start or have been seen."""
        types = {}
        for source, format in self._formats.items():
            found = {each: format.arrow_type(each) for each in self._topics}
            seen = source in self._seen
            if seen:
                topic, kind = self._seen[source]
                if found.get(topic) is None:
                    found[topic] = kind
            known = {each: kind for each, kind in found.items() if kind is not None}
            if not known or (len(known) < len(found) and not seen):
                continue
            first, *others = known
            for other in others:
                if known[other] != known[first]:
                    raise ConfigError(f"{source}s of {other!r} have other columns than those of {first!r}")
            types[source] = known[first]
        return types

    def _fix(self, types: dict[str, pa.DataType]) -> None:
        self.schema = self._schema_of(types)
        self._types = types

    def _schema_of(self, types: Mapping[str, pa.DataType]) -> pa.Schema:
        """Return the schema of columns whose keys and values have these types."""
        fields: list[pa.Field] = []
        for each in self._chosen:
            if each.source in _TYPES:
                fields.append(pa.field(each.name, _TYPES[each.source]))
            elif each.is_all:
                fields += _children(types[each.source], each.source)
            else:
                fields.append(pa.field(each.name, _at_path(types[each.source], each)))
        if not fields:
            # A batch without columns would have no rows.
            fields = [pa.field(self._chosen[0].source, pa.null())]
        for name, count in Counter(field.name for field in fields).items():
            if count > 1:
                raise ConfigError(
                    f"two columns are called {name!r}: give names, columns={{'new name': 'value.id', ...}}; "
                    "in Spark, read value and select its fields"
                )
        return pa.schema(fields)

    def fix_schema(self) -> pa.Schema:
        """Return the schema, with the null type for keys or values that have all been null."""
        if self.schema is None:
            self._fix({**dict.fromkeys(self._formats, pa.null()), **self._known_types()})
        assert self.schema is not None
        return self.schema

    def read(self, piece: Piece) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Return the wanted records of a piece, and for each batch the offset of the record behind it."""
        for records in self.records(piece):
            yield self.columns(piece.place, records), records.column("offset")[-1].as_py() + 1

    def records(self, piece: Piece) -> Iterator[pa.RecordBatch]:
        """Return the wanted records of a piece as they are, of which `columns` makes the columns."""
        keep = None
        if self._committed and len(piece.aborted):
            committed = CommittedPiece(piece)
            keep = committed.keep
            for offset in committed.unread:
                reason = "the key of the marker at the end of a transaction does not say what it is"
                self._fault(RecordFault(*piece.place, offset, None, None, "", "invalid_batch", reason))
        source = BatchSource(BatchOptions(check_crc=self._check_crc, errors="report"), keep)
        seen = 0
        for records in source.buffer(piece.records):
            seen = self._damaged(piece, source.faults, seen)
            yield from _wanted(records, piece)
        self._damaged(piece, source.faults, seen)

    def _damaged(self, piece: Piece, faults: list[Fault], seen: int) -> int:
        """Raise or report faults of batches, of which some have been seen; return their number."""
        if len(faults) > seen:
            scan = kernel("protocol.batch._kernel").scan(piece.records, 0, piece.records.size, False)
            offsets, positions = (scan.headers()[name].tolist() for name in ("offset", "position"))
        for fault in faults[seen:]:
            byte = None if fault.offset is None else fault.offset - positions[fault.row]
            self._fault(RecordFault(*piece.place, offsets[fault.row], None, byte, *fault[2:5]))
        return len(faults)

    def _fault(self, fault: RecordFault) -> None:
        if self._errors == "raise":
            raise RecordError(fault)
        if self._errors == "report":
            self._report.faults.append(fault)

    def columns(self, place: TopicPartition, records: pa.RecordBatch) -> pa.RecordBatch:
        """Return the columns of some records of a partition."""
        decoded = {source: self._decode(place, records, source) for source in self._formats}
        if self.schema is None:
            for source, array in decoded.items():
                if not pa.types.is_null(array.type):
                    self._seen.setdefault(source, (place.topic, array.type))
            self._look()
        known = self._types or {source: kind for source, (_, kind) in self._seen.items()}
        for source, kind in known.items():
            if pa.types.is_null(decoded[source].type):
                decoded[source] = null_rows(len(records), kind)
        arrays: list[pa.Array] = []
        for each in self._chosen:
            if each.source in decoded:
                whole = decoded[each.source]
                if pa.types.is_null(whole.type):
                    arrays += [] if each.is_all else [whole]
                elif each.is_all:
                    arrays += whole.flatten() if pa.types.is_struct(whole.type) else [whole]
                else:
                    path = field_path(whole.type, each.path) or list(each.path)
                    arrays.append(pc.struct_field(whole, path) if path else whole)
            else:
                arrays.append(_plain(place, records, each.source))
        if not arrays:
            arrays = [pa.nulls(len(records))]
        schema = self.schema
        if schema is None:
            schema = self._schema_of({source: array.type for source, array in decoded.items()})
        for array, field in zip(arrays, schema, strict=True):
            if array.type != field.type:
                raise ConfigError(
                    f"column {field.name!r} of {place} is {array.type}, not {field.type} as before: give the "
                    "schema to read"
                )
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _decode(self, place: TopicPartition, records: pa.RecordBatch, source: str) -> pa.Array:
        format = self._formats[source]
        payloads = records.column(source)
        if format.is_bytes:
            return payloads.cast(pa.binary())
        try:
            found = format.decode(place.topic, payloads, records.column("headers"), self._errors)
        except DecodeError as error:
            offset = records.column("offset")[error.row].as_py()
            raise RecordError(
                RecordFault(
                    *place,
                    offset,
                    source,
                    error.offset,
                    error.path,
                    error.code,
                    error.reason,
                    error.schema_id,
                )
            ) from error
        if self._errors != "report":
            return found
        array, table = found
        offsets = records.column("offset")
        for row, byte, path, code, reason, schema_id in zip(*table.to_pydict().values(), strict=True):
            where = (*place, offsets[row].as_py())
            self._fault(RecordFault(*where, source, byte, path, code, reason, schema_id))
        return array


def _needed(chosen: list[_Column]) -> list[str]:
    # The offset for what is said of errors, headers for the frames that are in them.
    needed = {"offset", "headers", *(each.source for each in chosen)} - {"topic", "partition"}
    return sorted("timestamp_type" if each == "timestampType" else each for each in needed)


def _wanted(records: pa.RecordBatch, piece: Piece) -> Iterator[pa.RecordBatch]:
    """Return the runs of records within the wanted offsets: nearly always one."""
    # Not to_numpy, which loads pandas where that is installed.
    column = records.column("offset")
    offsets = np.frombuffer(column.buffers()[1], np.int64, column.offset + len(column))[column.offset :]
    inside = offsets >= piece.start
    if piece.end is not None:
        inside &= offsets < piece.end
    if inside.all():
        yield records
        return
    edges = np.flatnonzero(np.diff(inside.astype(np.int8), prepend=0, append=0))
    for first, last in edges.reshape(-1, 2).tolist():
        yield records.slice(first, last - first)


def _plain(place: TopicPartition, records: pa.RecordBatch, source: str) -> pa.Array:
    rows = len(records)
    if source == "topic":
        text = place.topic.encode()
        return pa.repeat(_scalar(_TYPES["topic"], np.array([0, len(text)], np.int32), text), rows)
    if source == "partition":
        return pa.repeat(_scalar(_TYPES["partition"], np.array([place.partition], np.int32)), rows)
    if source == "timestamp":
        return _micros(records.column("timestamp"))
    if source == "timestampType":
        return records.column("timestamp_type").cast(pa.int32())
    return records.column(source)


def _scalar(kind: pa.DataType, *buffers: Any) -> pa.Scalar:
    """Return the value of an array of one; pa.scalar loads pandas where that is installed."""
    return pa.Array.from_buffers(kind, 1, [None, *map(pa.py_buffer, buffers)])[0]


def _micros(timestamps: pa.Array) -> pa.Array:
    try:
        return timestamps.cast(_TYPES["timestamp"])
    except pa.ArrowInvalid:
        # Of a producer that wrote something else for milliseconds: beyond the year 294247.
        numbers = timestamps.cast(pa.int64())
        most = (1 << 63) // 1000 - 1
        fits = pc.and_(pc.less_equal(numbers, most), pc.greater_equal(numbers, -most))
        return pc.if_else(fits, timestamps, pa.scalar(None, timestamps.type)).cast(_TYPES["timestamp"])


def completed(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch that was made before the schema was known: what is not there, or null, has no values.

    >>> batch = pa.record_batch({"offset": [7], "id": pa.nulls(1)})
    >>> schema = pa.schema([("offset", pa.int64()), ("id", pa.int32()), ("note", pa.string())])
    >>> completed(batch, schema).to_pylist()
    [{'offset': 7, 'id': None, 'note': None}]
    """
    if batch.schema == schema:
        return batch
    there = dict(zip(batch.schema.names, batch.columns, strict=True))
    nulls = pa.nulls(len(batch))
    arrays = []
    for field in schema:
        array = there.get(field.name, nulls)
        arrays.append(null_rows(len(batch), field.type) if pa.types.is_null(array.type) else array)
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _children(kind: pa.DataType, source: str) -> list[pa.Field]:
    if pa.types.is_null(kind):
        return []
    if pa.types.is_struct(kind):
        return [pa.field(each.name, each.type) for each in kind]
    raise ConfigError(f"column '{source}.*': the {source} is {kind}, not a struct")


def _at_path(kind: pa.DataType, column: _Column) -> pa.DataType:
    if pa.types.is_null(kind):
        return kind
    path = field_path(kind, column.path)
    for name in column.path if path is None else path:
        index = kind.get_field_index(name) if pa.types.is_struct(kind) else -1
        if index < 0:
            has = f"has {', '.join(each.name for each in kind)}" if pa.types.is_struct(kind) else f"is {kind}"
            raise ConfigError(
                f"column '{column.source}.{'.'.join(column.path)}': there is no {name!r}, it {has}"
            )
        kind = kind.field(index).type
    return kind
