"""Records that could not be decoded, put aside as they are: in a Parquet file, or in a topic."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kcodec.errors import ConfigError

if TYPE_CHECKING:
    import pyarrow as pa

    from kcodec.kafka.offsets import Range
    from kcodec.kafka.report import RecordFault

_FILE = ".parquet"
#: What is read of a record, and which of it is written.
_PLACE = ("topic", "partition", "offset")
_PARTS = ("key", "value", "headers", "timestamp")
#: Records between two letters that are read, too, rather than asking the broker twice.
_NEAR = 1000


class DeadLetters:
    """Where records go that could not be decoded: a Parquet file, by its name's end, or a topic; to be closed.

    They are read once more, for what was decoded does not have their bytes. What is wrong stands in further headers, as
    of `kcodec_spark.dead_letters`.
    """

    def __init__(
        self, place: str, topics: Sequence[str], config: dict[str, Any], isolation: str | None
    ) -> None:
        self._is_file = place.lower().endswith(_FILE)
        self._place = place
        self._config = config
        self._isolation = isolation
        self._stack = ExitStack()
        self._writer: Any = None
        for each in topics:
            # Followed, each of its letters would be the next record that cannot be decoded.
            if not self._is_file and (re.fullmatch(each, place) if each.startswith("^") else each == place):
                raise ConfigError(f"--dead-letters {place}: the topic is one of those that are read")

    def __enter__(self) -> DeadLetters:  # noqa: PYI034 (Self is of Python 3.11)
        if not self._is_file:
            from kcodec.kafka.reading.topic_reader import find_ranges

            # A topic that is not there is an error before anything is read.
            find_ranges(self._place, config=self._config)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._stack:
            if self._is_file and kind is None and self._writer is None:
                self._open()

    def add(self, faults: list[RecordFault]) -> None:
        """Put the records of some faults aside; those of batches have none."""
        from kcodec.kafka.reading.topic_reader import read

        found: dict[tuple[str, int, int], RecordFault] = {}
        for fault in faults:
            if fault.column is not None:
                found.setdefault(fault[:3], fault)
        if not found:
            return
        reader = read(
            list(_ranges(sorted(found))),
            columns=[*_PARTS, *_PLACE],
            errors="null",
            config=self._config,
            isolation=self._isolation,
        )
        for batch in reader:
            places = zip(*(batch[name].to_pylist() for name in _PLACE), strict=True)
            rows = [(row, found[place]) for row, place in enumerate(places) if place in found]
            if rows:
                self._write(batch.take([row for row, _ in rows]), [fault for _, fault in rows])

    def _write(self, batch: pa.RecordBatch, faults: list[RecordFault]) -> None:
        import pyarrow as pa

        headers = [
            [*(given or ()), *_facts(fault)]
            for given, fault in zip(batch["headers"].to_pylist(), faults, strict=True)
        ]
        letters = batch.select(_PARTS).set_column(2, "headers", pa.array(headers, batch["headers"].type))
        if self._is_file:
            if self._writer is None:
                self._open()
            self._writer.write_batch(letters)
        else:
            from kcodec.kafka.writing.topic_writer import write

            write(letters, self._place, config=self._config)

    def _open(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        from kcodec.protocol.batch.schema import HEADERS

        kinds = (pa.binary(), pa.binary(), HEADERS, pa.timestamp("us", "UTC"))
        schema = pa.schema(list(zip(_PARTS, kinds, strict=True)))
        self._writer = self._stack.enter_context(pq.ParquetWriter(Path(self._place), schema))


def _ranges(places: list[tuple[str, int, int]]) -> Iterator[Range]:
    """Yield ranges that have all of some places, which are sorted, and little else."""
    from kcodec.kafka.offsets import Range

    topic, partition, start = places[0]
    end = start + 1
    for place in places[1:]:
        if place[:2] != (topic, partition) or place[2] > end + _NEAR:
            yield Range(topic, partition, start, end)
            topic, partition, start = place
        end = place[2] + 1
    yield Range(topic, partition, start, end)


def _facts(fault: RecordFault) -> list[dict[str, Any]]:
    """Return what is wrong with a record, as headers."""
    facts = {
        "code": fault.code,
        "reason": fault.reason,
        "path": fault.path or None,
        "byte": fault.byte,
        "schema_id": fault.schema_id,
        "topic": fault.topic,
        "partition": fault.partition,
        "offset": fault.offset,
        "column": fault.column,
    }
    return [
        {"key": f"error.{name}", "value": str(fact).encode()}
        for name, fact in facts.items()
        if fact is not None
    ]
