"""What works while the cluster has its faults: writers, readers, followers; each a thread that keeps what it did."""

import random
import threading
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from ledger import ABORTED, ACKNOWLEDGED, UNKNOWN, WRITER, Call, Ledger, Rows, numbers, rows

from kcodec import KcodecError, kafka

COLUMNS = ["partition", "offset", "value"]
_SCHEMA = pa.schema({"key": pa.binary(), "value": pa.binary()})


class Work(threading.Thread):
    """A thread that works until it is told to stop; `error` is what ended it before."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self.is_over = threading.Event()
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.work()
        except BaseException as error:
            self.error = error

    def work(self) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        self.is_over.set()


class Stopped(Exception):
    """Data that break off."""


class Writer(Work):
    """Writes numbers to a topic, a call after the other; with a transactional id one of five calls breaks off."""

    def __init__(
        self,
        number: int,
        topic: str,
        address: str,
        ledger: Ledger,
        transactional_id: str | None = None,
        pause: float = 0.1,
        config: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(f"writer {number}")
        self.number = number
        self.topic = topic
        self.address = address
        self.ledger = ledger
        self.transactional_id = transactional_id
        self.pause = pause
        self.config = config or {}
        self.next = number * WRITER
        self.random = random.Random(number)

    def work(self) -> None:
        while not self.is_over.is_set():
            self.write(self.random.randrange(100, 2_000))
            self.is_over.wait(self.pause)

    def write(self, count: int) -> Call:
        first, self.next = self.next, self.next + count
        breaks_off = self.transactional_id is not None and self.random.random() < 0.2
        data = self._broken_off(first, count) if breaks_off else numbers(first, count)
        outcome, text = ACKNOWLEDGED, ""
        try:
            kafka.write(
                data,
                self.topic,
                servers=self.address,
                config=self.config,
                transactional_id=self.transactional_id,
            )
        except Stopped:
            outcome = ABORTED
        except KcodecError as error:
            outcome, text = UNKNOWN, f"{type(error).__name__}: {error}"
        call = Call(self.topic, first, self.next, outcome, text)
        self.ledger.add(call)
        return call

    def _broken_off(self, first: int, count: int) -> pa.RecordBatchReader:
        def batches() -> Iterator[pa.RecordBatch]:
            yield from numbers(first, count).cast(_SCHEMA).to_batches(max_chunksize=500)
            raise Stopped

        return pa.RecordBatchReader.from_batches(_SCHEMA, batches())


class Reader(Work):
    """Reads the last records of a topic again and again, from a start to an end."""

    def __init__(self, topic: str, address: str, isolation: str, seed: int) -> None:
        super().__init__(f"reader of {topic}, {isolation}")
        self.topic = topic
        self.address = address
        self.isolation = isolation
        self.random = random.Random(seed)
        #: The ranges of each call, and what came.
        self.reads: list[tuple[list[kafka.Range], Rows]] = []

    def work(self) -> None:
        while not self.is_over.is_set():
            self.read()
            self.is_over.wait(1)

    def read(self) -> None:
        back = self.random.randrange(1, 5_000)
        ranges = [
            each._replace(start=max(each.start, each.end - back))
            for each in kafka.plan(self.topic, servers=self.address, isolation=self.isolation)
        ]
        got = kafka.read(ranges, servers=self.address, isolation=self.isolation, columns=COLUMNS)
        self.reads.append((ranges, rows(list(got))))


class Following(Work):
    """Follows topics; when it is told to stop, it reads on up to the end."""

    def __init__(self, topics: Any, address: str, **options: Any) -> None:
        super().__init__(f"follower of {topics}")
        self.follower = kafka.follow(
            topics, servers=address, start="earliest", columns=["topic", *COLUMNS], **options
        )
        self.start_at = self.follower.positions
        self.batches: list[pa.RecordBatch] = []

    def work(self) -> None:
        with self.follower:
            while True:
                is_last = self.is_over.is_set()
                batch = self.follower.poll(3 if is_last else 0.5)
                if batch is not None:
                    self.batches.append(batch)
                elif is_last and not self.follower.lag:
                    return

    def rows(self, topic: str) -> Rows:
        """Return what was read of a topic."""
        return rows([batch.filter(pa.compute.equal(batch["topic"], topic)) for batch in self.batches])
