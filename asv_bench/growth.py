"""How cost grows with the work: one axis at a time, what each step takes and the slope on paper with two logarithms.

    .venv/bin/python asv_bench/growth.py [--axes rows fields ...] [--most 100000]

Times are those of the processor, of all threads of this process, so that others disturb them less; of each point the
best of three. A slope of 1 is cost in proportion to the work, one near 0 a cost that does not depend on it. It is
the slope of the last three points, where what each call costs anyway weighs least. `--most` leaves out larger points.
"""

import argparse
import itertools
import json
import math
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from kcodec import AvroCodec, Serde, kafka, registry
from kcodec.registry import Config, Schema

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "kafka"))

ROUNDS = 3
_SCOPES = itertools.count()


class Axis(NamedTuple):
    """What grows, its points, and what makes the work of a point."""

    title: str
    points: tuple[int, ...]
    prepare: Callable[[int], Callable[[], Any]]


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


def listing(count: int) -> Callable[[], Any]:
    held = fresh()
    schema = Schema(json.dumps(record(1)), "AVRO")
    for number in range(count):
        held.register(f"s{number}", schema)
    return held.subjects


def _brokers(partitions: int, pipe: Any) -> None:
    from fake_broker import FakeCluster, batch

    with FakeCluster({"t": partitions}) as cluster:
        for number in range(partitions):
            cluster.put(("t", number), batch(0, 1))
        pipe.send(cluster.address)
        pipe.recv()


def partitions(count: int) -> Callable[[], Any]:
    """Read a topic of so many partitions, of a record each, from a broker of the tests in a process of its own."""
    here, there = multiprocessing.Pipe()
    multiprocessing.Process(target=_brokers, args=(count, there), daemon=True).start()
    address = here.recv()
    # The pipe is kept with the work: at its end the broker ends.
    return lambda pipe=here: kafka.read("t", servers=address, columns=["offset"]).read_all()


AXES = {
    "rows": Axis("decode rows of 10 fields (Avro)", (1_000, 10_000, 100_000, 1_000_000), rows),
    "fields": Axis("decode 100 rows of fields", (1, 10, 100, 1_000, 5_000), fields),
    "codecs": Axis("make a codec of fields and decode a row", (1, 10, 100, 1_000, 5_000), codecs),
    "depth": Axis("decode 10,000 rows of records within each other", (1, 4, 16, 32, 60), depth),
    "ids": Axis("deserialize 100,000 rows with schema ids", (1, 10, 100, 1_000, 10_000), ids),
    "versions": Axis("register one more version (memory)", (10, 100, 1_000, 10_000), versions),
    "subjects": Axis("register one more subject (memory)", (10, 100, 1_000, 10_000, 100_000), subjects),
    "listing": Axis("list subjects (memory)", (10, 100, 1_000, 10_000, 100_000), listing),
    "partitions": Axis("read a topic of partitions, a record each", (1, 10, 100, 1_000, 4_000), partitions),
}


def measured(axis: Axis, most: int) -> Iterator[tuple[int, float]]:
    for point in axis.points:
        if point <= most:
            work = axis.prepare(point)
            times = []
            for _ in range(ROUNDS):
                before = time.process_time()
                work()
                times.append(time.process_time() - before)
            yield point, max(min(times), 1e-6)


def slope(points: list[tuple[int, float]]) -> float:
    """Return the slope of the line nearest to the last three points, both axes being logarithms."""
    pairs = [(math.log(size), math.log(seconds)) for size, seconds in points[-3:]]
    middle = [sum(each) / len(pairs) for each in zip(*pairs, strict=True)]
    across = sum((x - middle[0]) ** 2 for x, _ in pairs)
    return sum((x - middle[0]) * (y - middle[1]) for x, y in pairs) / across if across else math.nan


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--axes", nargs="+", choices=AXES, default=list(AXES))
    parser.add_argument("--most", type=int, default=1 << 60)
    arguments = parser.parse_args()
    for name in arguments.axes:
        axis = AXES[name]
        points = list(measured(axis, arguments.most))
        print(f"{name}: {axis.title}; slope {slope(points):.2f}")
        for size, seconds in points:
            print(f"    {size:>9,}  {seconds * 1e3:10.3f} ms", flush=True)


if __name__ == "__main__":
    main()
