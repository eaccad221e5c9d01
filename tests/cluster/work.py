"""What works while the cluster has its faults: writers, readers, followers; each a thread that keeps what it did."""

import functools
import json
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from ledger import ABORTED, ACKNOWLEDGED, UNKNOWN, WRITER, Call, Ledger, Rows, check_read, numbers, rows

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
            for each in kafka.find_ranges(self.topic, servers=self.address, isolation=self.isolation)
        ]
        got = kafka.read(ranges, servers=self.address, isolation=self.isolation, columns=COLUMNS)
        self.reads.append((ranges, rows(list(got))))


class Following(Work):
    """Follows topics, with a pause behind each batch; when it is told to stop, it reads on up to the end."""

    def __init__(self, topics: Any, address: str, pause: float = 0.0, **options: Any) -> None:
        super().__init__(f"follower of {topics}")
        self.pause = pause
        self.follow = functools.partial(
            kafka.follow, topics, servers=address, columns=["topic", *COLUMNS], **options
        )
        self.follower = self.follow(start="earliest")
        self.start_at = self.follower.positions
        self.batches: list[pa.RecordBatch] = []

    def work(self) -> None:
        with self.follower:
            while True:
                is_last = self.is_over.is_set()
                batch = self.follower.poll(3 if is_last else 0.5)
                if batch is not None:
                    self.batches.append(batch)
                    self.is_over.wait(self.pause)
                elif is_last and not self.follower.lag:
                    return

    def rows(self, topic: str) -> Rows:
        """Return what was read of a topic."""
        return rows([batch.filter(pa.compute.equal(batch["topic"], topic)) for batch in self.batches])


class Killed(Work):
    """Follows a topic in a process that is killed and started again, and goes on where its group stands."""

    def __init__(self, topic: str, address: str, folder: Path) -> None:
        super().__init__(f"killed follower of {topic}")
        self.topic = topic
        self.address = address
        self.folder = folder
        self.folder.mkdir()
        self.runs = 0

    def work(self) -> None:
        while not self.is_over.is_set():
            process = self._start()
            self.is_over.wait(random.Random(self.runs).uniform(8, 25))
            if process.poll() is not None:
                raise AssertionError(f"it has ended by itself: {process.stderr.read().decode()}")
            process.kill()
            process.wait()
        process = self._start()
        process.stdin.close()
        if process.wait(90):
            raise AssertionError(f"it has not come to the end: {process.stderr.read().decode()}")

    def _start(self) -> subprocess.Popen[bytes]:
        self.runs += 1
        script = Path(__file__).with_name("killed_follower.py")
        # The end of its input tells it to read on up to the end.
        return subprocess.Popen(
            [sys.executable, script, self.address, self.topic, self.folder / str(self.runs)],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def check(self, log: Rows) -> list[str]:
        """Return what is wrong: each run begins where one before has committed, and reads what is there."""
        wrong, known = [], [dict.fromkeys(range(6), 0)]
        union = []
        for run in range(1, self.runs + 1):
            told = self.folder / f"{run}.positions"
            lines = told.read_text().splitlines() if told.exists() else []
            if not lines:
                continue
            # What a kill has cut off is no line.
            positions = [_positions(line) for line in lines if line.endswith("}")]
            if positions[0] not in known:
                wrong.append(f"{self.name}: run {run} begins at {positions[0]}, which was not committed last")
            known = [positions[0], *positions[1:]][-2:]
            data = (self.folder / f"{run}.rows").read_bytes()
            got = Rows(*np.frombuffer(data, np.int64, len(data) // 24 * 3).reshape(-1, 3).T)
            union.append(got)
            wrong += check_read(f"{self.name}, run {run}", got, log, positions[0])
        got = np.unique(np.concatenate([each.value for each in union]))
        if len(missing := np.setdiff1d(log.value, got)):
            wrong.append(f"{self.name}: {len(missing)} records were read in no run")
        return wrong


def _positions(line: str) -> dict[int, int]:
    return {int(number): offset for number, offset in json.loads(line).items()}


class Console(Work):
    """Writes and reads by the command line."""

    def __init__(self, number: int, topic: str, address: str, ledger: Ledger) -> None:
        super().__init__(f"console {number}")
        self.writer = Writer(number, topic, address, ledger)
        self.topic = topic
        self.address = address
        self.reads: list[Rows] = []

    def work(self) -> None:
        while not self.is_over.is_set():
            first = self.writer.next
            self.writer.next += 200
            lines = "".join(f"{each}\n" for each in range(first, first + 200))
            done = self._run("produce", self.topic, input=lines)
            outcome = UNKNOWN if done.returncode else ACKNOWLEDGED
            self.writer.ledger.add(Call(self.topic, first, first + 200, outcome, done.stderr[-300:]))
            done = self._run(
                "consume", self.topic, "--from=-300", "-o=json", "--columns=partition,offset,value"
            )
            if done.returncode:
                raise AssertionError(f"consume: {done.stderr}")
            found = [json.loads(line) for line in done.stdout.splitlines()]
            columns = ([int(each[name]) for each in found] for name in COLUMNS)
            self.reads.append(Rows(*(np.array(each, np.int64) for each in columns)))
            self.is_over.wait(5)

    def _run(self, *arguments: str, input: str = "") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "kcodec.cli.main", *arguments, "-b", self.address]
        return subprocess.run(command, input=input, capture_output=True, text=True, check=False, timeout=200)

    def check(self, log: Rows) -> list[str]:
        wrong = []
        for got in self.reads:
            start = {int(each): int(got.of(each).offset[0]) for each in np.unique(got.partition)}
            wrong += check_read(self.name, got, log, start)
        return wrong
