"""What is in a topic, found out by looking at the last of its records."""

import html
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import pyarrow as pa

from kcodec import registry as registries
from kcodec._lazy import compute as pc
from kcodec.columns.shown import html_table, shortened, text_table
from kcodec.columns.types.ddl import ddl_text
from kcodec.columns.types.plain import is_list, plain_type
from kcodec.errors import ConfigError, KcodecError, RegistryError, SchemaError, check_kind, is_whole
from kcodec.formats.connect.codec import ConnectJsonCodec
from kcodec.formats.derived import schema_of
from kcodec.formats.json.codec import JsonCodec
from kcodec.formats.schema_format import schema_format
from kcodec.kafka.connection.settings import Settings
from kcodec.kafka.offsets import Range
from kcodec.kafka.reading.topic_reader import read
from kcodec.kafka.topics.looks import Look, looks_of
from kcodec.kafka.topics.topic_list import list_topics
from kcodec.kafka.views import size_of
from kcodec.protocol.batch.schema import HEADERS
from kcodec.registry.base import RegisteredSchema, SchemaRegistry
from kcodec.serde.serde import Serde

#: Of the records that are looked at.
_MOST_BYTES = 32 << 20
#: Schemas that a registry is asked for.
_MOST_SCHEMAS = 50
#: Formats that are known from the frame alone.
_OF_FRAMES = {
    "SINGLE_OBJECT": "AVRO",
    "AZURE": "AVRO",
    "AZURE_JSON": "JSON_SR",
    "AZURE_JSON_PYTHON": "JSON_SR",
    "AZURE_SCHEMA_ID": "JSON_SR",
}
_MOST_FIELDS = 200
_EXAMPLES = 3
_MOST_PARTITIONS = 12
_COLUMNS = {
    "key": pa.binary(),
    "value": pa.binary(),
    "headers": HEADERS,
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": pa.timestamp("us", "UTC"),
}
_FIELDS = pa.schema(
    [
        ("field", pa.string()),
        ("type", pa.string()),
        ("nulls", pa.float64()),
        ("examples", pa.list_(pa.string())),
    ]
)


@dataclass(frozen=True, repr=False)
class Payloads:
    """What the keys, or the values, of a topic are.

    Attributes
    ----------
    looks : dict
        What they look like, the most frequent first, and how many: ``{"schema id 7": 190, "null": 10}``.
    format : str or None
        Of most of them: ``"AVRO"``, ``"PROTOBUF"``, ``"JSON_SR"``, ``"CONNECT_JSON"``, ``"JSON"``, ``"TEXT"``,
        ``"INT"``, ``"BIGINT"`` or ``"BYTES"``. None where all are null, or no registry has told of the schema
        that is named.
    frame : str or None
        Name of the frame in front of them, or in a header.
    schema_ids : list
        Ids of schemas, as numbers, or as text where they are not numbers.
    schema : str or None
        Text of the newest of these schemas, as the registry has it.
    arrow_type : pyarrow.DataType or None
        Of the decoded column: by the schema, or as the documents of plain JSON have it.
    codec : object
        What `read` takes as ``key=`` or ``value=`` to decode them; None for bytes and text.
    fields : pyarrow.Table
        A row for each field: ``field``, ``type`` (DDL), ``nulls`` (their share) and ``examples``.
    nulls : int
        How many are null: as values, those delete.
    distinct : int
        How many different ones there are.
    sizes : tuple of int
        Bytes of the smallest, of all by their number, and of the largest that is not null.
    problem : str
        Why there are no fields, in words; empty if there are some.
    """

    looks: dict[str, int]
    format: str | None
    frame: str | None
    schema_ids: list[Any]
    schema: str | None
    arrow_type: pa.DataType | None
    codec: Any
    fields: pa.Table
    nulls: int
    distinct: int
    sizes: tuple[int, int, int]
    problem: str = ""

    def schema_as(self, format: str = "DDL", *, name: str = "", namespace: str = "") -> str:
        """Return a schema of the columns, as `kcodec.schema_of` does.

        Raises
        ------
        SchemaError
            If they are not known.
        """
        if self.arrow_type is None:
            raise SchemaError(self.problem or "there is nothing to see of what they are")
        return schema_of(self.arrow_type, format, name=name, namespace=namespace)

    @property
    def summary(self) -> str:
        """What they are, in one line."""
        parts = [self.format or ("a schema that is not known" if self.schema_ids else "nothing")]
        if self.frame:
            parts.append(f"frame {self.frame}")
        if self.schema_ids:
            ids = ", ".join(map(str, self.schema_ids[:5])) + (", ..." if len(self.schema_ids) > 5 else "")
            parts.append(f"schema{'s' * (len(self.schema_ids) > 1)} {ids}")
        parts.append(", ".join(f"{text} ({count})" for text, count in list(self.looks.items())[:5]))
        if self.distinct:
            smallest, mean, largest = self.sizes
            parts += [f"{smallest} to {largest} bytes, {mean} on average", f"{self.distinct} different"]
        return "; ".join(part for part in parts if part)

    def __repr__(self) -> str:
        lines = [self.summary]
        if self.problem:
            lines.append(f"  {self.problem}")
        if len(self.fields):
            lines.append(text_table(_NAMES, self._rows(), "  "))
        return "\n".join(lines)

    def _rows(self) -> Iterator[list[str]]:
        for row in self.fields.to_pylist():
            yield [
                row["field"] or "(all of it)",
                row["type"],
                f"{row['nulls']:.0%}",
                ", ".join(row["examples"]),
            ]

    def _repr_html_(self) -> str:
        table = html_table(_NAMES, self._rows()) if len(self.fields) else html.escape(self.problem)
        return f"<p>{html.escape(self.summary)}</p>{table}"


_NAMES = ("field", "type", "null", "examples")
_SHOWN = ("partition", "leader", "start", "end", "size")


@dataclass(frozen=True, repr=False)
class Inspection:
    """What is in a topic: printed, it is a page to read, and in a notebook a table.

    Attributes
    ----------
    topic : str
        Its name.
    partitions : pyarrow.Table
        As of `list_topics`.
    records : int
        Offsets between the first and the last; no more than these are records.
    size : int or None
        Bytes of all logs; None if brokers do not tell.
    rate : float or None
        Records a second, between the first and the last that were looked at; None if these do not tell.
    last : datetime or None
        Time of the newest record.
    sampled : int
        Records that were looked at.
    damaged : int
        Batches among them that could not be read.
    key, value : Payloads
        What keys and values are.
    """

    topic: str
    partitions: pa.Table
    records: int
    size: int | None
    rate: float | None
    last: datetime | None
    sampled: int
    damaged: int
    key: Payloads
    value: Payloads

    @property
    def summary(self) -> str:
        """What it is, in one line."""
        parts = [
            _count(len(self.partitions), "partition"),
            _count(self.records, "record"),
        ]
        if self.size is not None:
            parts.append(f"{self.size:,} bytes")
        if self.rate is not None:
            parts.append(f"{self.rate:,.3g} a second")
        if self.last is not None:
            parts.append(f"the last of {self.last.isoformat(timespec='seconds')}")
        if self.damaged:
            parts.append(f"{self.damaged} damaged batches")
        return f"{self.topic}: {', '.join(parts)}; {self.sampled:,} looked at"

    def __repr__(self) -> str:
        parts = [self.summary]
        if len(self.partitions) <= _MOST_PARTITIONS:
            parts.append(text_table(_SHOWN, self._rows(), "  "))
        return "\n".join([*parts, f"key: {self.key!r}", f"value: {self.value!r}"])

    def _rows(self) -> Iterator[list[str]]:
        for row in self.partitions.to_pylist():
            yield ["" if row[name] is None else str(row[name]) for name in _SHOWN]

    def _repr_html_(self) -> str:
        sides = "".join(
            f"<h4>{name}</h4>{payloads._repr_html_()}"
            for name, payloads in (("key", self.key), ("value", self.value))
        )
        shown = html_table(_SHOWN, self._rows()) if len(self.partitions) <= _MOST_PARTITIONS else ""
        return f"<p>{html.escape(self.summary)}</p>{shown}{sides}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


def inspect(
    topic: str,
    *,
    servers: Any = None,
    sample: int = 200,
    registry: SchemaRegistry | str | None = None,
    config: Mapping[str, Any] | None = None,
) -> Inspection:
    """Look at the last records of a topic, to find out what is in it.

    Nothing is to be known of the topic before: bytes in front of keys and values, or headers, tell of frames and
    schemas, which the registry is asked for; of plain JSON the columns are those that the documents have. It is a
    guess, for want of anything in Kafka that would say it: eight bytes may be a number or anything else.

    Parameters
    ----------
    topic : str
        Its name.
    servers, config
        As for `read`.
    sample : int
        About how many records are looked at, the last of each partition; 32 MiB of them at most.
    registry : SchemaRegistry or str, optional
        By default ``schema.registry.url`` of `config`; without one, what a schema id means is not known.

    Returns
    -------
    Inspection
        Of the topic, its keys and its values.

    Raises
    ------
    ConfigError, KafkaError
        As for `read`.

    Examples
    --------
    >>> from kcodec import kafka
    >>> found = kafka.inspect("orders", servers="broker:9092")                                  # doctest: +SKIP
    >>> found                                                                                   # doctest: +SKIP
    orders: 1 partition, 1,000 records, 65,536 bytes, 12.5 a second, ...; 200 looked at
      partition  leader  start  end   size
      0          1       0      1000  65536
    key: TEXT; text (200); 1 to 3 bytes, 3 on average; 200 different
    value: JSON; JSON (200); 20 to 27 bytes, 24 on average; 200 different
      field  type    null  examples
      id     BIGINT  0%    801, 802, 803
      note   STRING  50%   a, b
    >>> kafka.read("orders", servers="broker:9092", value=found.value.codec)                    # doctest: +SKIP
    """
    check_kind(str, "the name of a topic", topic=topic)
    if not topic or topic.startswith("^"):
        raise ConfigError(f"topic={topic!r} is not the name of one topic")
    if not is_whole(sample) or sample < 1:
        raise ConfigError(f"sample={sample!r} is not a number of at least 1")
    settings = Settings.of(config, servers)
    handle = registry if registry is not None else settings.registry
    opened: Any = nullcontext(handle)
    if isinstance(handle, str):
        opened = closing(registries.open(handle, dict(settings.registry_config) or None))
    elif handle is not None:
        check_kind(SchemaRegistry, "a registry or its URL", registry=handle)
    with opened as known:
        partitions = list_topics([topic], servers=servers, config=config)
        rows = [row for row in partitions.to_pylist() if row["leader"] is not None]
        records, damaged = last_records(rows, sample, servers, config)
        headers = records["headers"].to_pylist()
        place = _Place(topic, headers, known, registry)
        key, value = (
            _payloads(place, records[name].combine_chunks(), is_key=name == "key")
            for name in ("key", "value")
        )
    sizes = [row["size"] for row in rows if row["size"] is not None]
    return Inspection(
        topic,
        partitions,
        sum(row["end"] - row["start"] for row in rows),
        sum(sizes) if sizes else None,
        _rate(records),
        pc.max(records["timestamp"]).as_py(),
        len(records),
        damaged,
        key,
        value,
    )


def last_records(rows: list[dict[str, Any]], sample: int, servers: Any, config: Any) -> tuple[pa.Table, int]:
    """Return about so many of the last records of partitions, and how many batches could not be read.

    ``rows`` are those of `list_topics`, of partitions that have a leader. Keys and values are bytes. Where compaction
    or transactions have left gaps, the last offsets may hold none: then it goes further back.
    """
    # What is deleted meanwhile is not looked at.
    config = {**(config or {}), "auto.offset.reset": "earliest"}
    count = math.ceil(sample / max(len(rows), 1))
    while True:
        ranges = [
            Range(row["topic"], row["partition"], max(row["start"], row["end"] - count), row["end"])
            for row in rows
            if row["start"] < row["end"]
        ]
        if not ranges:
            return pa.Table.from_arrays([pa.nulls(0, kind) for kind in _COLUMNS.values()], list(_COLUMNS)), 0
        reader, report = read(
            ranges,
            columns=list(_COLUMNS),
            isolation="read_uncommitted",
            errors="report",
            servers=servers,
            config=config,
        )
        batches, size = [], 0
        for batch in reader:
            batches.append(batch)
            size += size_of(batch)
            if size >= _MOST_BYTES:
                break
        found = pa.Table.from_batches(batches, reader.schema)
        del reader
        if len(found) or all(row["end"] - count <= row["start"] for row in rows):
            return found, len(report.faults)
        count *= 10


def _rate(records: pa.Table) -> float | None:
    """Return how many records come in a second, by the offsets and times of each partition."""
    found = records.group_by("partition").aggregate(
        [(name, how) for name in ("offset", "timestamp") for how in ("min", "max")]
    )
    rates = []
    for row in found.to_pylist():
        first, last = row["timestamp_min"], row["timestamp_max"]
        if first is not None and last > first:
            rates.append((row["offset_max"] - row["offset_min"]) / (last - first).total_seconds())
    return sum(rates) if rates else None


class _Place(NamedTuple):
    """Where payloads come from: the headers beside them, the registry at hand, and what was given for it."""

    topic: str
    headers: list[Any]
    registry: SchemaRegistry | None
    given: SchemaRegistry | str | None


class _Guess(NamedTuple):
    """What payloads are taken for."""

    array: pa.Array | None
    format: str | None
    codec: Any = None
    frame: str | None = None
    schema_ids: Sequence[Any] = ()
    schema: str | None = None
    problem: str = ""


def _payloads(place: _Place, column: pa.Array, *, is_key: bool) -> Payloads:
    looks = looks_of(column.to_pylist(), place.headers, is_key=is_key)
    kinds = Counter(each.frame or each.kind for each in looks if each.kind not in ("null", "empty"))
    guess = _Guess(None, None)
    if kinds:
        kind = kinds.most_common(1)[0][0]
        rows = [row for row, each in enumerate(looks) if kind in (each.frame, each.kind)]
        chosen = column.take(pa.array(rows, pa.int64()))
        if looks[rows[0]].frame:
            headers = pa.array([place.headers[row] for row in rows], HEADERS)
            guess = _framed(place, [looks[row] for row in rows], chosen, headers, is_key=is_key)
        else:
            guess = _plain(kind, chosen, is_key=is_key)
    lengths = pc.binary_length(column).drop_null()
    mean = round(pc.mean(lengths).as_py()) if len(lengths) else 0
    fields = itertools.islice(() if guess.array is None else _fields(guess.array, ""), _MOST_FIELDS)
    return Payloads(
        dict(Counter(each.text for each in looks).most_common()),
        guess.format,
        guess.frame,
        list(guess.schema_ids),
        guess.schema,
        None if guess.array is None else guess.array.type,
        guess.codec,
        pa.Table.from_pylist(list(fields), _FIELDS),
        column.null_count,
        len(column.unique().drop_null()),
        (pc.min(lengths).as_py() or 0, mean, pc.max(lengths).as_py() or 0),
        guess.problem,
    )


def _plain(kind: str, column: pa.Array, *, is_key: bool) -> _Guess:
    """Decode payloads without a frame."""
    if kind in ("INT", "BIGINT"):
        name = "KEY" if is_key else "VALUE"
        codec = {"format": "KAFKA", "columns": f"{name} {kind}", "is_key": False}
        numbers = [int.from_bytes(each, "big", signed=True) for each in column.to_pylist()]
        return _Guess(pa.array(numbers, pa.int32() if kind == "INT" else pa.int64()), kind, codec)
    if kind == "TEXT":
        return _Guess(column.cast(pa.string()), kind)
    if kind not in ("JSON", "CONNECT_JSON"):
        return _Guess(column, kind)
    try:
        made = JsonCodec.infer(column, sample=len(column)) if kind == "JSON" else ConnectJsonCodec()
        return _Guess(made.decode(column, "null"), kind, made)
    except KcodecError as error:
        return _Guess(None, kind, problem=str(error))


def _framed(place: _Place, looks: list[Look], column: pa.Array, headers: pa.Array, *, is_key: bool) -> _Guess:
    """Decode payloads with a frame, if a registry has their schemas."""
    frame = looks[0].frame
    keys = list(dict.fromkeys(each.key for each in looks))
    guess = _Guess(
        None,
        _OF_FRAMES.get(frame),
        frame=frame,
        schema_ids=[_id_text(key) for key in keys],
        problem="without a registry it is not known what these schemas are",
    )
    if place.registry is None:
        return guess
    try:
        newest = [_schema(place.registry, key) for key in keys[-_MOST_SCHEMAS:]][-1].schema
        language = schema_format(newest.type)
        guess = guess._replace(format=language.name, schema=newest.text)
        named: dict[str, Any] = {} if frame == "CONFLUENT" else {"frame": frame}
        serde = Serde(
            language.name, place.registry, topic=place.topic, is_key=is_key, reader_schema=newest, **named
        )
        array = serde.deserialize(column, "null", headers)
    except KcodecError as error:
        return guess._replace(problem=str(error))
    given = {} if place.given is None else {"registry": place.given}
    return guess._replace(array=array, codec={"format": language.name, **given, **named}, problem="")


def _schema(registry: SchemaRegistry, key: int | bytes | None) -> RegisteredSchema:
    try:
        if isinstance(key, bytes) and len(key) == 16:
            return registry.get_by_guid(str(UUID(bytes=key)))
        if isinstance(key, int):
            return registry.get(key)
    except RegistryError as error:
        raise RegistryError(f"schema {_id_text(key)}: {error}") from error
    raise RegistryError(f"schema {_id_text(key)}: registries are not asked for fingerprints")


def _id_text(key: int | bytes | None) -> Any:
    if isinstance(key, bytes):
        return str(UUID(bytes=key)) if len(key) == 16 else key.hex()
    return key


def _fields(array: pa.Array, path: str) -> Iterator[dict[str, Any]]:
    """Yield what there is to tell of a column and of all below it."""
    if pa.types.is_struct(array.type) and array.type.num_fields:
        there = array.drop_null() if array.null_count else array
        for place, name in enumerate(array.type.names):
            yield from _fields(there.field(place), f"{path}.{name}" if path else name)
        return
    known = array.drop_null()
    yield {
        "field": path,
        "type": _type_text(array.type),
        "nulls": (len(array) - len(known)) / len(array) if len(array) else 0.0,
        "examples": _examples(known),
    }
    if is_list(plain_type(array.type)) and pa.types.is_struct(array.type.value_type):
        yield from _fields(known.flatten(), f"{path}[]")


def _type_text(kind: pa.DataType) -> str:
    try:
        return shortened(ddl_text(kind), 60)
    except SchemaError:
        return shortened(kind, 60)


def _examples(known: pa.Array) -> list[str]:
    found: dict[str, None] = {}
    for value in known:
        found.setdefault(shortened(value.as_py()))
        if len(found) == _EXAMPLES:
            break
    return list(found)
