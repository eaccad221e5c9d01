"""Topics as columns, without an end."""

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from typing import Any

import numpy as np
import pyarrow as pa

from kcodec.arguments import FormatLike, Position, Selection, Servers, Topics
from kcodec.columns.shown import html_page, text_page
from kcodec.columns.stream import Lasting
from kcodec.errors import ConfigError, KafkaError
from kcodec.kafka.connection.cluster import Cluster, TopicPartition
from kcodec.kafka.connection.settings import Settings
from kcodec.kafka.fetching.fetcher import Fetcher, Piece
from kcodec.kafka.groups.group import Committed, commit_offsets, fetch_commits
from kcodec.kafka.offsets import (
    Range,
    check_positions,
    is_pattern,
    plan_ranges,
    positions_of,
    read_positions,
    topics_of,
)
from kcodec.kafka.reading.columns import Columns
from kcodec.kafka.reading.one_by_one import records
from kcodec.kafka.reading.topic_reader import check_isolation, note_lost
from kcodec.kafka.report import ReadReport

__all__ = ["Follower", "follow"]

logger = logging.getLogger(__name__)


def follow(
    topics: Topics,
    *,
    servers: "Servers | None" = None,
    start: Position = "latest",
    group: str | None = None,
    key: "FormatLike | None" = None,
    value: "FormatLike | None" = None,
    columns: "Selection | None" = None,
    isolation: str | None = None,
    errors: str = "raise",
    config: Mapping[str, Any] | None = None,
) -> "Follower":
    """Read topics as they grow.

    Parameters
    ----------
    topics, servers, key, value, columns, isolation, errors, config
        As for `read`, but for ranges. Partitions that are added later, and topics that a pattern finds later, are read
        from their first offset; they are looked for every ``metadata.max.age.ms`` (5 minutes). A topic that is deleted,
        or made anew under its name, is an error, unless a pattern has found it: then it leaves the positions, and the
        others are read on.
        Partitions of a group's other members are read, too: to share partitions among members is what
        confluent-kafka's consumer is for.
    start : str, datetime, int or mapping
        As for `read`.
    group : str, optional
        Name of the group whose offsets `Follower.commit` writes; where it has offsets, they come before `start`. By
        default ``group.id`` of `config`.

    Returns
    -------
    Follower
        An iterator of batches; to be closed, also by ``with``.

    Raises
    ------
    ConfigError, KafkaError
        As for `read`.

    Examples
    --------
    >>> from kcodec import JsonCodec, kafka
    >>> with kafka.follow("orders", servers="broker:9092", value=JsonCodec("id BIGINT")) as batches: # doctest: +SKIP
    ...     for batch in batches:
    ...         print(batch.num_rows, batches.lag)
    """
    settings = Settings.of(config, servers, group=group)
    isolation = check_isolation(isolation, settings)
    check_positions(start)
    cluster = Cluster(settings)
    try:
        return Follower(cluster, topics, start, isolation, errors, key=key, value=value, columns=columns)
    except BaseException:
        cluster.close()
        raise


class Follower:
    """An iterator of batches without an end, made by `follow`. It is shown as a table of where it stands.

    In a coroutine, ``async for`` gives the same batches: a thread waits for the next one, which is not begun before it
    is asked for. Where waiting is cancelled, no batch is lost or counted by `positions`: it is the next one.

    Attributes
    ----------
    report : ReadReport
        What could not be read, with ``errors="report"``; it grows until its ``faults`` are cleared.

    Examples
    --------
    >>> from kcodec import kafka
    >>> batches = kafka.follow("orders", servers="broker:9092", group="totals")                 # doctest: +SKIP
    >>> batch = batches.poll(timeout=1)                                                         # doctest: +SKIP
    >>> batches.commit()                                                                        # doctest: +SKIP
    """

    def __init__(
        self, cluster: Cluster, topics: Topics, start: Position, isolation: str, errors: str, **chosen: Any
    ) -> None:
        self._cluster = cluster
        self._group = cluster.settings.group
        self._isolation = isolation
        self._topics = topics
        self.report = ReadReport()
        self._columns = Columns(
            cluster.settings, isolation=isolation, errors=errors, report=self.report, **chosen
        )
        #: By partition, the batches before the position: where they start and end, and the epochs of their leaders.
        self._known: dict[TopicPartition, tuple[int, Any, Any]] = {}
        ranges = self._ranges(topics_of(cluster.partitions, topics), start)
        names = list(dict.fromkeys(each.topic for each in ranges))
        self._columns.begin(names)
        self._positions = positions_of(ranges)
        #: Of the topics whose positions these are.
        self._ids = {name: cluster.topic_id(name) for name in names}
        self._is_closed = False
        self._tops: dict[TopicPartition, int] = {}
        # As those of Java's clients, a pattern means the topics that there are.
        self._fetcher = Fetcher(
            cluster,
            ranges,
            isolation,
            is_endless=True,
            may_be_deleted=is_pattern(topics),
            epochs=self._epochs(positions_of(ranges)),
        )
        self._batches: Iterator[pa.RecordBatch] = iter(())
        #: Topic, partition and end of the batch that was returned last, and its records where these are taken.
        self._last = ("", 0, 0)
        #: The same of the batch that was made last, and the thread that `async for` has make one.
        self._made = self._last
        self._waiting: Future[pa.RecordBatch | None] | None = None
        self._records: Iterator[Any] = iter(())
        self._is_within = False
        self._next_look = time.monotonic() + cluster.settings.metadata_age_ms / 1000

    def _ranges(self, partitions: list[TopicPartition], start: Any) -> list[Range]:
        group = self._group
        found: dict[TopicPartition, Committed] = {}
        if group is not None:
            found = fetch_commits(self._cluster, group, partitions)
            for place, each in found.items():
                self._cluster.note_epoch(place, each.epoch)
        committed = {place: each.offset for place, each in found.items()}
        ranges, lost = plan_ranges(self._cluster, partitions, start, None, self._isolation, committed)
        note_lost(lost, self.report)
        for place, (offset, epoch) in found.items():
            self._known[place] = offset - 1, np.array([offset]), np.array([epoch])
        return ranges

    def _look(self) -> None:
        """Read partitions that were added, from their beginning."""
        self._next_look = time.monotonic() + self._cluster.settings.metadata_age_ms / 1000
        try:
            found = topics_of(self._cluster.refresh, self._topics)
        except KafkaError as error:
            # Who cannot be asked now is asked again; what that means for reading, the fetcher finds out.
            logger.warning("looking for partitions: %s", error)
            return
        added = [each for each in found if each.partition not in self._positions.get(each.topic, {})]
        if added:
            ranges = self._ranges(added, "earliest")
            for topic, by in positions_of(ranges).items():
                self._positions.setdefault(topic, {}).update(by)
                self._ids.setdefault(topic, self._cluster.topic_id(topic))
            self._fetcher.add(ranges, self._epochs(positions_of(ranges)))

    def _epochs(self, positions: Mapping[str, Mapping[int, int]]) -> dict[TopicPartition, int]:
        """Return the epochs of the leaders that took the records before positions, as far as they are known."""
        found = {}
        for topic, by in positions.items():
            for partition, position in by.items():
                place = TopicPartition(topic, partition)
                start, ends, epochs = self._known.get(place, (0, (), ()))
                at = int(np.searchsorted(ends, position))
                if start < position and at < len(ends) and epochs[at] >= 0:
                    found[place] = int(epochs[at])
        return found

    @property
    def positions(self) -> dict[str, dict[int, int]]:
        """For each partition of each topic, the offset behind the last record that was returned: a `start` of later."""
        return {topic: dict(by) for topic, by in self._positions.items()}

    @property
    def lag(self) -> int:
        """How many offsets behind those that were returned could be read when brokers last answered."""
        return sum(
            max(top - self._positions[place.topic][place.partition], 0) for place, top in self._tops.items()
        )

    @property
    def schema(self) -> pa.Schema | None:
        """Schema of the batches; None while it depends on the first of them."""
        return self._columns.schema

    def __repr__(self) -> str:
        return text_page(*self._page())

    def _repr_html_(self) -> str:
        return html_page(*self._page())

    def _page(self) -> tuple[str, Sequence[str], list[tuple[Any, ...]]]:
        """Return what is followed, and where it stands in each partition."""
        places = [TopicPartition(topic, each) for topic, by in self._positions.items() for each in by]
        group = "" if self._group is None else f" for group {self._group}"
        state = "closed" if self._is_closed else f"{self.lag:,} records behind"
        rows: list[tuple[Any, ...]] = []
        for place in places:
            at, top = self._positions[place.topic][place.partition], self._tops.get(place)
            rows.append((*place, at, "" if top is None else top, "" if top is None else max(top - at, 0)))
        title = f"Follower of {len(places)} partition{'s' * (len(places) != 1)}{group}, {state}"
        return title, ("topic", "partition", "position", "end", "lag"), rows

    def __enter__(self) -> "Follower":  # noqa: PYI034 (Self is of Python 3.11)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> "Follower":
        return self

    def __next__(self) -> pa.RecordBatch:
        while not self._is_closed:
            batch = self.poll(3600)
            if batch is not None:
                return batch
        raise StopIteration

    async def __aenter__(self) -> "Follower":  # noqa: PYI034 (Self is of Python 3.11)
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)

    def __aiter__(self) -> "Follower":
        return self

    async def __anext__(self) -> pa.RecordBatch:
        while not self._is_closed:
            waiting = self._waiting
            if waiting is None:
                self._check_records()
                waiting = self._waiting = self._next_by_a_thread()
            await _done(waiting)
            # Another task may have taken it.
            if self._waiting is waiting and not self._is_closed:
                batch = self._waited(waiting)
                if batch is not None:
                    return batch
        raise StopAsyncIteration

    def poll(self, timeout: float) -> pa.RecordBatch | None:
        """Return the next batch; None if there is none within so many seconds.

        Raises
        ------
        KafkaError, RecordError
            As `read` does while it is read, and again whenever it is called then, so that what stands behind a record
            that cannot be read is not passed over and committed. To go on, follow again from `positions`, with another
            ``errors=``.
        KafkaError
            After `close`.
        ConfigError
            If the time is no number, or `records` was left within a batch.
        """
        if self._is_closed:
            raise KafkaError("this follower is closed")
        self._check_records()
        if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or timeout != timeout:
            raise ConfigError(f"timeout is a number of seconds, not {timeout!r}")
        if self._waiting is None:
            return self._delivered(self._next(timeout))
        # Begun by an ``async for`` that was cancelled.
        waiting = self._waiting
        return self._waited(waiting) if wait([waiting], max(timeout, 0)).done else None

    def _check_records(self) -> None:
        if self._is_within:
            raise ConfigError("records() was left within a batch: take its other records first")

    def _next_by_a_thread(self) -> "Future[pa.RecordBatch | None]":
        """Have a thread make the next batch, which is not delivered yet."""
        waiting: Future[pa.RecordBatch | None] = Future()

        def run() -> None:
            try:
                waiting.set_result(self._next(3600))
            except BaseException as error:
                waiting.set_exception(error)

        # A program may end without closing the follower: it does not wait for this thread.
        threading.Thread(target=run, name="kcodec-follower", daemon=True).start()
        return waiting

    def _waited(self, waiting: "Future[pa.RecordBatch | None]") -> pa.RecordBatch | None:
        """Deliver what a thread has made."""
        self._waiting = None
        return self._delivered(waiting.result())

    def _delivered(self, batch: pa.RecordBatch | None) -> pa.RecordBatch | None:
        """Count a batch that is returned now."""
        if batch is not None:
            self._last = topic, partition, position = self._made
            self._positions[topic][partition] = position
        return batch

    def _next(self, timeout: float) -> pa.RecordBatch | None:
        """Make the next batch; None if there is none within so many seconds."""
        end = time.monotonic() + timeout
        while True:
            # Behind an error, others that were fetched with it are lost.
            batch = next(self._batches, None)
            if batch is not None:
                return batch
            if time.monotonic() >= self._next_look:
                self._look()
            pieces = self._fetcher.take(max(min(end, self._next_look) - time.monotonic(), 0))
            note_lost(self._fetcher.take_lost(), self.report)
            for place in self._fetcher.take_deleted():
                self._forget(place)
            if pieces:
                self._batches = Lasting(self._ready(pieces), KafkaError)
            elif pieces is None or time.monotonic() >= end:
                return None

    def records(self, timeout: float | None = None) -> Iterator[Any]:
        """Give the records one by one, as `kcodec.kafka.records` does.

        `positions` and `commit` count those that were given, and the one in hand: commit behind what was done with it.
        Without the column ``offset`` they count a batch when the first record behind it is asked for.

        Parameters
        ----------
        timeout : float, optional
            The records end when there is none within so many seconds. By default, they end when the follower is closed.

        Raises
        ------
        KafkaError, RecordError, ConfigError
            As `poll`.

        Examples
        --------
        >>> with kafka.follow("orders", servers="broker:9092", group="totals") as follower:      # doctest: +SKIP
        ...     for record in follower.records():
        ...         print(record.offset, record.value)
        """
        while not self._is_closed:
            # Not `yield from`: what is left of a batch when a loop is broken off is for the next one.
            for record in self._records:  # noqa: UP028
                yield record
            if self._is_closed:
                return
            start = self.positions
            batch = self.poll(3600 if timeout is None else timeout)
            if batch is not None:
                self._records = self._one_by_one(batch, start)
                self._is_within = True
            elif timeout is not None:
                return

    def _one_by_one(self, batch: pa.RecordBatch, start: dict[str, dict[int, int]]) -> Iterator[Any]:
        """Give the records of a batch; the position is behind the one in hand, where its offset is known."""
        topic, partition, end = self._last
        positions = self._positions[topic]
        positions[partition] = start.get(topic, {}).get(partition, positions[partition])
        name = self._columns.offset_name
        place = None if name is None else batch.schema.get_field_index(name)
        for record in records([batch]):
            if place is not None:
                positions[partition] = record[place] + 1
            yield record
        positions[partition] = end
        self._is_within = False

    def _ready(self, pieces: list[Piece]) -> Iterator[pa.RecordBatch]:
        for piece in pieces:
            topic, partition = piece.place
            self._tops[piece.place] = piece.top
            self._known[piece.place] = piece.start, piece.ends, piece.epochs
            for batch, position in self._columns.read(piece):
                self._made = topic, partition, position
                yield batch
            # Behind what transactions and compaction have left out, too.
            self._positions[topic][partition] = piece.next

    def _forget(self, place: TopicPartition) -> None:
        """Stop following a partition whose topic was deleted; a topic that is made again is a new one."""
        logger.warning("%s is deleted, and no longer followed", place)
        del self._positions[place.topic][place.partition]
        if not self._positions[place.topic]:
            del self._positions[place.topic]
            self._ids.pop(place.topic, None)
        self._tops.pop(place, None)
        self._known.pop(place, None)

    def commit(self, positions: Mapping[str, Mapping[int, int]] | None = None) -> None:
        """Commit positions to the group, by default the present ones; they are where it starts again.

        Raises
        ------
        ConfigError
            If there is no group, or what is given are not positions.
        KafkaError
            If the broker refuses, as it does while the group has members; or if a topic was deleted and made anew: its
            positions are none of the new one.
        """
        if self._group is None:
            raise ConfigError("commit() needs a group: follow(..., group='name')")
        given = self._positions if positions is None else read_positions(positions)
        self._cluster.check_ids({topic: self._ids.get(topic) for topic in given})
        commit_offsets(self._cluster, self._group, given, self._epochs(given))

    def close(self) -> None:
        """Stop reading, and close all connections; loops over the follower end, too."""
        self._is_closed = True
        self._fetcher.close()


async def _done(waiting: "Future[Any]") -> None:
    """Wait until a thread is done; it goes on if this is cancelled."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def tell(_: object) -> None:
        # The loop may be at its end.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(done.set)

    waiting.add_done_callback(tell)
    await done.wait()
