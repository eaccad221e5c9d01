"""Topics that are read: partitions, topics, brokers, sizes of batches, and one that has no end."""

import multiprocessing
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from axes.axis import Axis
from kcodec import kafka
from kcodec.protocol import write_batches

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "kafka"))

_RECORDS = 100_000
#: Of a batch of the topic without an end, batches of a response, and its partitions.
_IN_BATCH, _AT_ONCE, _PLACES = 10_000, 20, 10


def _serve(topics: int, partitions: int, brokers: int, in_batch: int, pipe: Any) -> None:
    """Run brokers of the tests: each partition has a batch of so many records, or all records in such batches."""
    from fake_broker import FakeCluster, batch

    with FakeCluster({f"t{topic}": partitions for topic in range(topics)}, brokers) as cluster:
        for topic in range(topics):
            for number in range(partitions):
                for data in _batches(in_batch) if in_batch else (batch(0, 1),):
                    cluster.put((f"t{topic}", number), data)
        _tell(cluster, pipe)


def _batches(in_batch: int) -> Any:
    made = bytearray(write_batches(pa.table({"value": pa.array([b"x"] * in_batch, pa.binary())})))
    for first in range(0, _RECORDS, in_batch):
        # Not within what the checksum is of.
        made[:8] = first.to_bytes(8, "big")
        yield bytes(made)


def _serve_endless(pipe: Any) -> None:
    """Run a broker whose partitions have any offset: it gives the same batches everywhere."""
    from fake_broker import FakeCluster

    made = write_batches(pa.table({"value": pa.array([b"x"] * _IN_BATCH, pa.binary())}), compression="zstd")
    with FakeCluster({"t0": _PLACES}) as cluster:
        broker = cluster.brokers[0]

        def fetch(body: dict[str, Any]) -> dict[str, Any]:
            topics = []
            for topic in body["topics"]:
                partitions = [
                    _endless(made, each["partition"], each["fetchOffset"]) for each in topic["partitions"]
                ]
                topics.append({**topic, "partitions": partitions})
            return {"throttleTimeMs": 0, "errorCode": 0, "sessionId": 0, "responses": topics}

        broker.hooks["Fetch"] = fetch
        _tell(cluster, pipe)


def _endless(made: bytes, partition: int, offset: int) -> dict[str, Any]:
    starts = range(offset - offset % _IN_BATCH, offset + _IN_BATCH * _AT_ONCE, _IN_BATCH)
    return {
        "partitionIndex": partition,
        "errorCode": 0,
        "highWatermark": 1 << 60,
        "lastStableOffset": -1,
        "logStartOffset": 0,
        "abortedTransactions": [],
        "preferredReadReplica": -1,
        "records": b"".join(part for start in starts for part in (start.to_bytes(8, "big"), made[8:])),
    }


def _tell(cluster: Any, pipe: Any) -> None:
    pipe.send(cluster.address)
    with suppress(EOFError):
        pipe.recv()


def _address(serve: Callable[..., None], *arguments: int) -> tuple[str, Any]:
    """Return the address of brokers in a process of their own, and a pipe at whose end they end."""
    here, there = multiprocessing.Pipe()
    multiprocessing.Process(target=serve, args=(*arguments, there), daemon=True).start()
    return here.recv(), here


def _read(topics: int, partitions: int, brokers: int = 1, in_batch: int = 0) -> Callable[[], Any]:
    address, pipe = _address(_serve, topics, partitions, brokers, in_batch)
    names = [f"t{topic}" for topic in range(topics)]
    return lambda kept=pipe: kafka.read(names, servers=address, columns=["offset"]).read_all()


def _opened(partitions: int, brokers: int = 1) -> str:
    """Return how many threads and sockets a reader has at most, as a further thread sees it."""
    address, kept = _address(_serve, 1, partitions, brokers, 0)
    most, done = [0, 0], threading.Event()

    def look() -> None:
        while not done.wait(1e-3):
            most[:] = max(most[0], threading.active_count()), max(most[1], _sockets())

    looking = threading.Thread(target=look)
    looking.start()
    threads, sockets = threading.active_count(), _sockets()
    kafka.read("t0", servers=address, columns=["offset"]).read_all()
    done.set()
    looking.join()
    kept.close()
    return f"{most[0] - threads} threads, {most[1] - sockets} sockets"


def _sockets() -> int:
    folder = Path("/proc/self/fd")
    found = 0
    for each in folder.iterdir() if folder.exists() else ():
        with suppress(OSError):
            found += os.readlink(each).startswith("socket:")
    return found


def partitions(count: int) -> Callable[[], Any]:
    return _read(1, count)


def topics(count: int) -> Callable[[], Any]:
    return _read(count, 1)


def brokers(count: int) -> Callable[[], Any]:
    return _read(1, count, count)


def batches(count: int) -> Callable[[], Any]:
    return _read(1, 1, in_batch=count)


def followed(count: int) -> Callable[[], Any]:
    """Follow a topic without an end until so many records have come."""
    address, pipe = _address(_serve_endless)

    def follow() -> None:
        read = 0
        with kafka.follow("t0", servers=address, start="earliest", columns=["offset"]) as follower:
            while read < count:
                batch = follower.poll(10)
                assert batch is not None
                read += len(batch)
            assert sum(follower.positions["t0"].values()) == read

    return lambda kept=pipe: follow()


AXES = {
    "partitions": Axis(
        "read a topic of partitions, a record each",
        (1, 10, 100, 1_000, 10_000),
        partitions,
        tell=lambda count: _opened(count),
    ),
    "topics": Axis("read topics, a record each", (1, 10, 100, 1_000), topics),
    "brokers": Axis(
        "read from brokers, a record of each",
        (1, 3, 10, 30, 100),
        brokers,
        tell=lambda count: _opened(count, count),
    ),
    "batches": Axis("read 100,000 records, in batches of", (1, 10, 100, 1_000, 10_000, 100_000), batches),
    "followed": Axis("follow records", (10_000_000, 100_000_000, 1_000_000_000), followed, repeats=False),
}
