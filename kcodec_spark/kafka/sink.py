"""Writing topics: what is found out when a query is planned, and what its tasks do."""

import functools
import itertools
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kcodec import kafka
from kcodec.errors import ConfigError
from kcodec.kafka.connection.settings import Settings
from kcodec_spark.kafka.formats import FORMAT_OPTIONS, encoder, format_of
from kcodec_spark.kafka.options import Given
from kcodec_spark.workers.udf import refuse_variants

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

#: What the columns of these names are, as in Spark's own sink; a value without a column of its own is all others.
_PARTS = ("key", "value", "headers", "topic", "partition")
_KEPT = 32


@dataclass(frozen=True)
class Sink:
    """How rows are written."""

    topic: str | None
    #: Settings of Kafka's client.
    config: Mapping[str, Any] = field(repr=False)
    key: Any
    value: Any
    #: Name -> column of the rows that are written, and the names of those that make the value.
    taken: Mapping[str, str]
    fields: tuple[str, ...] | None

    def write(self, batches: Iterator[pa.RecordBatch]) -> None:
        """Write the rows of a task, and wait until the brokers have them."""
        taken = (
            batch.select(list(self.taken.values())).rename_columns(list(self.taken))
            for batch in batches
            if len(batch)
        )
        first = next(taken, None)
        if first is None:
            return
        refuse_variants(pa.struct(list(first.schema)))
        kafka.write(
            pa.RecordBatchReader.from_batches(first.schema, itertools.chain([first], taken)),
            self.topic,
            key=self.key,
            value=self.value,
            columns=self._columns(),
            partition="partition" if "partition" in self.taken else None,
            config=self.config,
        )

    def _columns(self) -> dict[str, Any]:
        parts: dict[str, Any] = {name: name for name in ("key", "value", "headers") if name in self.taken}
        return parts if self.fields is None else {**parts, "value": list(self.fields)}


def make(options: Mapping[str, str], schema: "StructType") -> bytes:
    """Return the sink that options ask for, pickled; the registry is asked for schemas."""
    given = Given(options, True, FORMAT_OPTIONS)
    Settings.of(given.config)
    columns = {_named(field.name): field.name for field in schema.fields}
    kinds = {_named(field.name): field.dataType for field in schema.fields}
    if len(kinds) < len(schema.fields):
        raise ConfigError("two columns have the same name")
    topic = given.text("topic")
    topics = [] if topic is None else [topic]
    formats = {part: format_of(given, part) for part in ("key", "value")}
    fields = None
    taken = [name for name in _PARTS if name in kinds and not (name == "topic" and topic is not None)]
    if "value" not in kinds:
        if formats["value"] is None:
            raise ConfigError(
                f"there is no column value, only {', '.join(columns.values())}: give value.format to write them"
            )
        fields = tuple(name for name in kinds if name not in _PARTS)
        taken += fields
    if topic is None and "topic" not in kinds:
        raise ConfigError("give the option topic, or a column of that name")
    if formats["key"] is not None and "key" not in kinds:
        raise ConfigError("key.format: there is no column key")
    _check_types(kinds, formats)
    key, value = (
        None if name is None else encoder(given, part, name, topics) for part, name in formats.items()
    )
    return pickle.dumps(
        Sink(topic, given.config, key, value, {name: columns[name] for name in taken}, fields)
    )


def _named(column: str) -> str:
    """Return the part that a column is, which Spark finds without regard to case, or its own name."""
    return column.lower() if column.lower() in _PARTS else column


@functools.lru_cache(maxsize=_KEPT)
def load(sink: bytes) -> Sink:
    """Return a sink that was pickled, once for each process."""
    return pickle.loads(sink)


def _check_types(kinds: "Mapping[str, DataType]", formats: Mapping[str, str | None]) -> None:
    """Raise if a column has another type than Spark's own sink takes."""
    texts = ("string", "binary")
    wanted: dict[str, tuple[str, ...]] = {"topic": ("string",), "partition": ("int",)}
    wanted |= {part: texts for part, name in formats.items() if name is None}
    wanted["headers"] = ("array<struct<key:string,value:binary>>",)
    for name, known in wanted.items():
        kind = kinds.get(name)
        if kind is not None and kind.simpleString() not in known:
            raise ConfigError(f"column {name} is {kind.simpleString()}, not {' or '.join(known)}")
