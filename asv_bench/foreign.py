"""Records that nobody tuned for: ``python asv_bench/foreign.py --seeds 200`` prints how many times faster kcodec is.

A seed draws a type and its rows: 1 to 200 fields, nested up to 4 deep, text of 0 to 300 bytes, lists and maps of 0 to
30 items, shares of nulls, numbers of all sizes. Each is read and written beside the best peer that can do it, in turn,
on one thread. A ratio is the median time of that peer by kcodec's. Readers that make Python objects are left to
``peers/``: they take a hundred times as long, and leave nothing in the caches to whoever comes next.
"""

import io
import json
import math
import random
import statistics
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.json
from rounds import command_line, interleaved

import kcodec

Runs = dict[str, Callable[[], Any]]

#: Bytes that the rows of a seed have in all, about.
PAYLOAD = 1 << 20
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SCALARS = {
    "long": pa.int64(),
    "int": pa.int32(),
    "double": pa.float64(),
    "float": pa.float32(),
    "boolean": pa.bool_(),
    "text": pa.string(),
    "bytes": pa.binary(),
    "timestamp": pa.timestamp("us", "UTC"),
    "date": pa.date32(),
    "decimal": pa.decimal128(18, 4),
}
#: What a format has no plain type for, or its peers read as another one.
LACKING = {
    "AVRO": (),
    "PROTOBUF": ("decimal", "date"),
    "JSON": ("decimal", "date", "bytes", "timestamp", "map"),
}
LETTERS = {"ascii": "abcdefghij klmnop", "mixed": "abcdéf ghü€jk", "wide": "日本語𝄞テキスト"}


class Drawn:
    """A type and rows of it.

    Parameters
    ----------
    seed : int
        What all is drawn from.
    lacking : tuple of str
        Kinds of values that are left out.
    """

    def __init__(self, seed: int, lacking: tuple[str, ...]) -> None:
        self.random = random.Random(seed)
        self.lacking = lacking
        self.kinds: dict[str, int] = {}
        count = round(math.exp(self.random.uniform(0, math.log(200))))
        depth = self.random.randint(0, 4)
        fields = [self._field(f"f{number}", depth, max(1, 40 // count)) for number in range(count)]
        self.type = pa.struct([field for field, _ in fields])
        first = self._row(fields)
        size = len(repr(first))
        self.rows = [first] + [self._row(fields) for _ in range(max(50, min(20_000, PAYLOAD // size)))]
        kinds = ", ".join(f"{kind} {number}" for kind, number in sorted(self.kinds.items()))
        self.shape = f"{count} fields, depth {depth}, {len(self.rows)} rows: {kinds}"

    def _row(self, fields: list[tuple[pa.Field, Callable[[], Any]]]) -> dict[str, Any]:
        return {field.name: value() for field, value in fields}

    def _field(self, name: str, depth: int, width: int) -> tuple[pa.Field, Callable[[], Any]]:
        """Draw a field and what makes its values; nested ones have at most `width` fields."""
        kind, value = self._kind(depth, width)
        # Protobuf's lists and maps are never null.
        if self.random.random() < 0.5 or pa.types.is_nested(kind):
            return pa.field(name, kind, False), value
        share = self.random.choice([0, 0.02, 0.3, 0.9])
        draw = self.random.random
        return pa.field(name, kind), lambda: None if draw() < share else value()

    def _kind(self, depth: int, width: int) -> tuple[pa.DataType, Callable[[], Any]]:
        r = self.random
        if depth and r.random() < 0.4:
            shape = r.choice([each for each in ("struct", "list", "map") if each not in self.lacking])
            self.kinds[shape] = self.kinds.get(shape, 0) + 1
            if shape == "struct":
                fields = [
                    self._field(f"n{number}", depth - 1, max(1, width // 2))
                    for number in range(r.randint(1, min(8, width + 1)))
                ]
                return pa.struct([field for field, _ in fields]), lambda: self._row(fields)
            most = r.choice([1, 4, 30])
            if shape == "list":
                # Of lists of lists Protobuf has none.
                kind, value = self._scalar() if r.random() < 0.5 else self._record(depth, width)
                return pa.list_(pa.field("item", kind, False)), lambda: [
                    value() for _ in range(r.randint(0, most))
                ]
            kind, value = self._scalar()
            keys = [f"key{number}" for number in range(most)]
            return pa.map_(pa.string(), pa.field("value", kind, False)), lambda: [
                (key, value()) for key in keys[: r.randint(0, most)]
            ]
        return self._scalar()

    def _record(self, depth: int, width: int) -> tuple[pa.DataType, Callable[[], Any]]:
        fields = [
            self._field(f"n{number}", depth - 1, max(1, width // 2))
            for number in range(self.random.randint(1, 4))
        ]
        return pa.struct([field for field, _ in fields]), lambda: self._row(fields)

    def _scalar(self) -> tuple[pa.DataType, Callable[[], Any]]:
        r = self.random
        kind = r.choice([each for each in SCALARS if each not in self.lacking])
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        bits = r.choice([5, 13, 31] if kind == "int" else [5, 13, 31, 62])
        letters = LETTERS[r.choice(["ascii", "ascii", "ascii", "mixed", "wide"])]
        longest = r.choice([0, 8, 30, 300])
        values: dict[str, Callable[[], Any]] = {
            "boolean": lambda: r.random() < 0.5,
            "double": lambda: r.choice([r.random() * 1e6, round(r.random() * 100, 2)]),
            "float": lambda: r.randint(-1000, 1000) / 8,
            "text": lambda: "".join(r.choices(letters, k=r.randint(0, longest))),
            "bytes": lambda: r.randbytes(r.randint(0, longest)),
            "timestamp": lambda: EPOCH + timedelta(microseconds=r.getrandbits(50)),
            "date": lambda: date(1970, 1, 1) + timedelta(days=r.randint(0, 30_000)),
            "decimal": lambda: Decimal(r.randint(-(1 << bits), 1 << bits)).scaleb(-4) % 10**13,
        }
        return SCALARS[kind], values.get(kind, lambda: r.randint(-(1 << bits), (1 << bits) - 1))


def container(schema: Any, values: list[bytes]) -> bytes:
    """Return a file of one block of values."""
    import fastavro

    file = io.BytesIO()
    fastavro.writer(file, schema, [])
    head, payload, longs = file.getvalue(), b"".join(values), kcodec.AvroCodec('"long"')
    counts = longs.encode(pa.array([len(values), len(payload)])).to_pylist()
    # Header and blocks end with the same 16 bytes.
    return head + b"".join(counts) + payload + head[-16:]


def avro(drawn: Drawn) -> Iterator[tuple[str, Runs]]:
    """Yield what reads and what writes rows as Avro."""
    import fastavro
    import pyruhvro
    from polars_avro._avro_rs import AvroSource

    array = pa.array(drawn.rows, drawn.type)
    text = kcodec.schema_of(pa.schema(list(drawn.type)), name="Row")
    codec = kcodec.AvroCodec(text)
    values = codec.encode(array)
    listed = values.to_pylist()
    schema = fastavro.parse_schema(json.loads(text))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.avro")
        path.write_bytes(container(schema, listed))
        yield (
            "decode",
            {
                "kcodec": lambda: codec.decode(values),
                "pyruhvro": lambda: pyruhvro.deserialize_array(listed, text),
                "arrow-avro": lambda: [
                    pa.record_batch(each)
                    for each in AvroSource([str(path)], False, False).batch_iter(32_768, None)
                ],
            },
        )
    runs: Runs = {"kcodec": lambda: codec.encode(array)}
    batch = attempt(lambda: pyruhvro.deserialize_array(listed, text))
    if batch is not None:
        runs["pyruhvro"] = lambda: pyruhvro.serialize_record_batch(batch, text, 1)
    yield "encode", runs


def protobuf(drawn: Drawn) -> Iterator[tuple[str, Runs]]:
    """Yield what reads and what writes rows as Protobuf."""
    from google.protobuf import descriptor_pb2, descriptor_pool
    from ptars import HandlerPool

    array = pa.array(drawn.rows, drawn.type)
    text = kcodec.schema_of(pa.schema(list(drawn.type)), "PROTOBUF", name="Row")
    codec = kcodec.ProtobufCodec(text, "Row")
    values = codec.encode(array)
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(codec.descriptor_set).file:
        pool.Add(file)
    descriptor = pool.FindMessageTypeByName("Row")
    peer = HandlerPool([descriptor.file]).get_for_message(descriptor)
    yield (
        "decode",
        {
            "kcodec": lambda: codec.decode(values),
            "ptars": lambda: peer.array_to_record_batch(values),
        },
    )
    batch = attempt(lambda: peer.array_to_record_batch(values))
    runs: Runs = {"kcodec": lambda: codec.encode(array)}
    if batch is not None:
        runs["ptars"] = lambda: peer.record_batch_to_array(batch)
    yield "encode", runs


def plain_json(drawn: Drawn) -> Iterator[tuple[str, Runs]]:
    """Yield what reads rows as JSON."""
    import orjson

    array = pa.array(drawn.rows, drawn.type)
    codec = kcodec.JsonCodec(drawn.type)
    values = pa.array([orjson.dumps(row) for row in drawn.rows], pa.binary())
    lines = b"\n".join(values.to_pylist())
    reading = pa.json.ReadOptions(use_threads=False, block_size=len(lines) + 1)
    parsing = pa.json.ParseOptions(explicit_schema=pa.schema(list(drawn.type)))
    yield (
        "decode",
        {
            "kcodec": lambda: codec.decode(values),
            "pyarrow.json": lambda: pa.json.read_json(io.BytesIO(lines), reading, parsing),
        },
    )
    yield "encode", {"kcodec": lambda: codec.encode(array)}


FORMATS = {"AVRO": avro, "PROTOBUF": protobuf, "JSON": plain_json}


def attempt(run: Callable[[], Any]) -> Any:
    """Return what a peer gives; None for what it cannot do: some panic, which is no Exception."""
    try:
        return run()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return None


def rows_of(found: Any) -> int:
    """Return how many rows there are in an array, a batch or a table, or in a list of these."""
    return sum(map(len, found)) if isinstance(found, list) else len(found)


def medians(runs: Runs, rows: int, rounds: int) -> dict[str, float]:
    """Time what gives all rows, in turn; return the median seconds of each."""
    able = {}
    for name, run in runs.items():
        found = attempt(run)
        if found is not None and rows_of(found) == rows:
            able[name] = run
    return interleaved(able, rounds, warm=False)


def main() -> None:
    """Print quantiles of ratios for each format and direction, and the ten worst with their shapes."""
    parser = command_line(__doc__, rounds=9)
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=list(FORMATS))
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    given = parser.parse_args()
    pa.set_cpu_count(1)
    for name in given.formats:
        found: dict[str, list[tuple[float, str]]] = {}
        for seed in range(given.first, given.first + given.seeds):
            drawn = Drawn(seed, LACKING[name])
            for direction, runs in FORMATS[name](drawn):
                seconds = medians(runs, len(drawn.rows), given.rounds)
                peers = {each: took for each, took in seconds.items() if each != "kcodec"}
                if peers:
                    best = min(peers, key=peers.__getitem__)
                    ratio = peers[best] / seconds["kcodec"]
                    found.setdefault(direction, []).append((ratio, f"{best}, seed {seed}: {drawn.shape}"))
        for direction, ratios in found.items():
            ratios.sort()
            only = [ratio for ratio, _ in ratios]
            print(
                f"{name} {direction}: of {given.seeds} seeds {len(only)} beside a peer; least {only[0]:.2f}, "
                f"5 % {only[len(only) // 20]:.2f}, median {statistics.median(only):.2f}"
            )
            for ratio, shape in ratios[:10]:
                print(f"  {ratio:.2f} {shape}")


if __name__ == "__main__":
    main()
