"""How cost grows with the work: one axis at a time, what each step takes and the slope on paper with two logarithms.

    .venv/bin/python asv_bench/growth.py [--axes rows fields ...] [--most 100000] [--plot docs/growth.svg]

Times are those of the processor, of all threads of this process, so that others disturb them less; of each point the
best of three. A slope of 1 is cost in proportion to the work, one near 0 a cost that does not depend on it. It is
the slope of the last three points, where what each call costs anyway weighs least. Of the last point, the memory that
its work took at most is told too. Where another library does the same, it is measured beside. `--most` leaves out
larger points.
"""

import argparse
import itertools
import json
import multiprocessing
import re
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from plot_growth import picture, slope

from kcodec import AvroCodec, Serde, kafka, registry
from kcodec.registry import Config, Schema

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "kafka"))

ROUNDS = 3
_SCOPES = itertools.count()


class Axis(NamedTuple):
    """What grows, its points, what makes the work of a point, and what makes that of the best peer."""

    title: str
    points: tuple[int, ...]
    prepare: Callable[[int], Callable[[], Any]]
    peer: str = ""
    prepare_peer: Callable[[int], Callable[[], Any]] | None = None
    #: Whether a call leaves all as it was, so that short ones can be timed together.
    repeats: bool = True


class Found(NamedTuple):
    """What was measured of an axis: points with seconds, those of the peer, and bytes at the last point."""

    points: list[tuple[int, float]]
    peer: list[tuple[int, float]]
    memory: int


def record(fields: int, name: str = "R") -> dict[str, Any]:
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": f"f{number}", "type": "long"} for number in range(fields)],
    }


def fresh() -> Any:
    """Return a registry in memory that nothing is in."""
    return registry.open(f"memory://{next(_SCOPES)}")


def rows(count: int) -> Callable[[], Any]:
    codec = AvroCodec(record(10))
    payloads = pa.array([bytes(range(0, 20, 2))] * count)
    codec.decode(payloads[:1])
    return lambda: codec.decode(payloads)


def _by_pyruhvro(values: list[bytes], schema: dict[str, Any]) -> Callable[[], Any]:
    import pyruhvro

    text = json.dumps(schema)
    return lambda: pyruhvro.deserialize_array(values, text)


def rows_by_pyruhvro(count: int) -> Callable[[], Any]:
    return _by_pyruhvro([bytes(range(0, 20, 2))] * count, record(10))


def fields_by_pyruhvro(count: int) -> Callable[[], Any]:
    return _by_pyruhvro([bytes(count)] * 100, record(count))


_TEXT = {"type": "record", "name": "R", "fields": [{"name": "f", "type": "string"}]}


def size(count: int) -> Callable[[], Any]:
    codec = AvroCodec(_TEXT)
    payloads = codec.encode([{"f": "x" * count}])
    return lambda: codec.decode(payloads)


def size_by_pyruhvro(count: int) -> Callable[[], Any]:
    return _by_pyruhvro(AvroCodec(_TEXT).encode([{"f": "x" * count}]).to_pylist(), _TEXT)


def threads(count: int) -> Callable[[], Any]:
    codec = AvroCodec(record(10))
    payloads = pa.array([bytes(range(0, 20, 2))] * 50_000)
    pool = ThreadPoolExecutor(count)
    return lambda: list(pool.map(codec.decode, [payloads] * count))


def fields(count: int) -> Callable[[], Any]:
    codec = AvroCodec(record(count))
    payloads = pa.array([bytes(count)] * 100)
    codec.decode(payloads[:1])
    return lambda: codec.decode(payloads)


def codecs(count: int) -> Callable[[], Any]:
    return lambda: AvroCodec(record(count)).decode([bytes(count)])


def depth(count: int) -> Callable[[], Any]:
    schema: Any = "long"
    for level in range(count):
        schema = {"type": "record", "name": f"R{level}", "fields": [{"name": "f", "type": schema}]}
    codec = AvroCodec(schema)
    payloads = pa.array([b"\2"] * 10_000)
    codec.decode(payloads[:1])
    return lambda: codec.decode(payloads)


def ids(count: int) -> Callable[[], Any]:
    held = fresh()
    made = [
        held.register(f"s{number}", Schema(json.dumps(record(1, f"R{number}")), "AVRO")).id
        for number in range(count)
    ]
    serde = Serde("AVRO", held, reader_schema=record(1))
    payloads = pa.array([b"\0" + made[row % count].to_bytes(4, "big") + b"\2" for row in range(100_000)])
    serde.deserialize(payloads)
    return lambda: serde.deserialize(payloads)


def versions(count: int) -> Callable[[], Any]:
    held = fresh()
    names = itertools.count()

    def register() -> None:
        schema = {**record(1), "doc": str(next(names))}
        held.register("subject", Schema(json.dumps(schema), "AVRO"))

    held.set_config(Config(compatibility="NONE"))
    for _ in range(count):
        register()
    return register


def subjects(count: int) -> Callable[[], Any]:
    held = fresh()
    schema = Schema(json.dumps(record(1)), "AVRO")
    for number in range(count):
        held.register(f"s{number}", schema)
    names = itertools.count(count)
    return lambda: held.register(f"s{next(names)}", schema)


def in_a_file(count: int) -> Callable[[], Any]:
    """Register one more subject in a file, of which a commit is on disk."""
    folder = tempfile.TemporaryDirectory()
    held = registry.open(f"sqlite:///{folder.name}/registry.db")
    schema = Schema(json.dumps(record(1)), "AVRO")
    for number in range(count):
        held.register(f"s{number}", schema)
    names = itertools.count(count)
    return lambda kept=folder: held.register(f"s{next(names)}", schema)


def listing(count: int) -> Callable[[], Any]:
    held = fresh()
    schema = Schema(json.dumps(record(1)), "AVRO")
    for number in range(count):
        held.register(f"s{number}", schema)
    return held.subjects


def _brokers(topics: int, partitions: int, pipe: Any) -> None:
    from fake_broker import FakeCluster, batch

    with FakeCluster({f"t{topic}": partitions for topic in range(topics)}) as cluster:
        for topic in range(topics):
            for number in range(partitions):
                cluster.put((f"t{topic}", number), batch(0, 1))
        pipe.send(cluster.address)
        with suppress(EOFError):
            pipe.recv()


def _read(topics: int, partitions: int) -> Callable[[], Any]:
    """Read topics, of a record in each partition, from a broker of the tests in a process of its own."""
    here, there = multiprocessing.Pipe()
    multiprocessing.Process(target=_brokers, args=(topics, partitions, there), daemon=True).start()
    address, names = here.recv(), [f"t{topic}" for topic in range(topics)]
    # The pipe is kept with the work: at its end the broker ends.
    return lambda pipe=here: kafka.read(names, servers=address, columns=["offset"]).read_all()


def partitions(count: int) -> Callable[[], Any]:
    return _read(1, count)


def topics(count: int) -> Callable[[], Any]:
    return _read(count, 1)


AXES = {
    "rows": Axis(
        "decode rows of 10 fields (Avro)",
        (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000),
        rows,
        "pyruhvro",
        rows_by_pyruhvro,
    ),
    "fields": Axis(
        "decode 100 rows of fields", (1, 10, 100, 1_000, 5_000), fields, "pyruhvro", fields_by_pyruhvro
    ),
    "size": Axis(
        "decode a text of bytes", (1, 100, 10_000, 1_000_000, 50_000_000), size, "pyruhvro", size_by_pyruhvro
    ),
    "codecs": Axis("make a codec of fields", (1, 10, 100, 1_000, 5_000), codecs),
    "depth": Axis("decode 10,000 rows of nested records", (1, 4, 16, 32, 60), depth),
    "ids": Axis("deserialize 100,000 rows of schema ids", (1, 10, 100, 1_000, 10_000), ids),
    "versions": Axis("register one more version (memory)", (10, 100, 1_000, 10_000), versions, repeats=False),
    "subjects": Axis(
        "register one more subject (memory)", (10, 100, 1_000, 10_000, 100_000), subjects, repeats=False
    ),
    "listing": Axis("list subjects (memory)", (10, 100, 1_000, 10_000, 100_000), listing),
    "file": Axis("register one more subject (SQLite)", (10, 100, 1_000, 10_000), in_a_file, repeats=False),
    "partitions": Axis("read a topic of partitions, a record each", (1, 10, 100, 1_000, 4_000), partitions),
    "topics": Axis("read topics, a record each", (1, 10, 100, 1_000), topics),
    "threads": Axis("decode 50,000 rows in each thread", (1, 2, 4, 8, 16, 32), threads),
}


def measured(name: str, most: int) -> Found:
    axis = AXES[name]
    ours, peers, memory = [], [], 0
    for point in axis.points:
        if point <= most:
            work = axis.prepare(point)
            memory = _memory(work)
            ours.append((point, _seconds(work, axis.repeats)))
            if axis.prepare_peer is not None:
                peers.append((point, _seconds(axis.prepare_peer(point), axis.repeats)))
    return Found(ours, peers, memory)


def _seconds(work: Callable[[], Any], repeats: bool) -> float:
    """Return the least processor time of a call; of short work, that of one of many."""
    times, repeat = [], 1
    while len(times) < ROUNDS:
        before = time.process_time()
        for _ in range(repeat):
            work()
        taken = time.process_time() - before
        if repeats and taken < 1e-2 and repeat < 1000:
            repeat *= 10
        else:
            times.append(taken / repeat)
    return max(min(times), 1e-6)


def _memory(work: Callable[[], Any]) -> int:
    """Return the bytes that a call takes at most, as Linux tells it, or Arrow of what it gives; 0 elsewhere."""
    status, clear = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not clear.exists():
        return 0

    def kilobytes(name: str) -> int:
        return int(re.search(rf"^{name}:\s+(\d+)", status.read_text(), re.M)[1])

    clear.write_text("5")
    before, held = kilobytes("VmRSS"), pa.total_allocated_bytes()
    result = work()
    # Arrow keeps memory that is free, which Linux counts before and after.
    most = max(kilobytes("VmHWM") - before << 10, pa.total_allocated_bytes() - held)
    del result
    return max(most, 0)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--axes", nargs="+", choices=AXES, default=list(AXES))
    parser.add_argument("--most", type=int, default=1 << 60)
    parser.add_argument("--plot", type=Path, help="draw them, as SVG")
    arguments = parser.parse_args()
    drawn = []
    for name in arguments.axes:
        axis = AXES[name]
        # In a process of its own, so that it finds no memory that others have left.
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            found = pool.submit(measured, name, arguments.most).result()
        drawn.append((axis.title, axis.peer, found))
        print(
            f"{name}: {axis.title}; slope {slope(found.points):.2f}, {found.memory / 1e6:.1f} MB at the last point"
        )
        others = dict(found.peer)
        for point, seconds in found.points:
            beside = f"  {axis.peer} {others[point] * 1e3:10.3f} ms" if point in others else ""
            print(f"    {point:>10,}  {seconds * 1e3:10.3f} ms{beside}", flush=True)
    if arguments.plot:
        arguments.plot.write_text(picture(drawn), encoding="utf-8")


if __name__ == "__main__":
    main()
