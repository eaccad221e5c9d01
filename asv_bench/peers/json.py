#!/usr/bin/env python3
"""JSON documents to Arrow and back, and Connect's envelopes: kcodec beside others, in one process and one thread.

    python asv_bench/peers/json.py [--rows 50000] [--rounds 7] [--shapes [NAME ...]]

All contestants take turns; the median of their rounds counts. pyarrow.json reads one document a line, which its input
already is, with its threads switched off.

The first table has documents of several shapes (benchmarks/json_shapes.py). simdjson only parses there, without any
column. The other tables go into one of them, orders: 15 fields, two of them decimals, and about 300 bytes.

Like for like is what gives the same columns for any document: pyarrow.json, and the standard library's json with
Decimal for numbers that have a point. orjson cannot: it makes a double of every such number before anyone sees its
digits. Either its decimals stay doubles, which are other columns; or they are made from the shortest text of the
double, which gives the same columns here, as these decimals have less than 16 digits, and wrong ones beyond that. The
last column of the tables tells what gave the columns that kcodec gave.
"""

import sys
from pathlib import Path

# Where this script stands, its name would hide the standard library's module.
sys.path.remove(str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import decimal
import json
from collections.abc import Callable
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json
import simdjson
from benchmarks.json_documents import TYPE, documents
from benchmarks.json_shapes import SHAPES, shape
from rounds import Contestants, command_line, measure

import kcodec

_DECIMALS = [field.name for field in TYPE if pa.types.is_decimal(field.type)]
_FLOATS = [field.name for field in TYPE if pa.types.is_floating(field.type)]


def _with_doubles(kind: pa.StructType) -> pa.StructType:
    """Return a type with doubles for decimals."""
    fields = [field.with_type(pa.float64()) if pa.types.is_decimal(field.type) else field for field in kind]
    return pa.struct(fields)


def _pyarrow(values: pa.BinaryArray, kind: pa.StructType) -> Callable[[], Any]:
    lines = pa.py_buffer(b"\n".join(values.to_pylist()) + b"\n")
    reading = pyarrow.json.ReadOptions(use_threads=False, block_size=1 << 24)
    parsing = pyarrow.json.ParseOptions(
        explicit_schema=pa.schema(list(kind)), unexpected_field_behavior="ignore"
    )
    return lambda: pyarrow.json.read_json(pa.BufferReader(lines), reading, parsing).to_struct_array()


def _by_text(rows: list[bytes]) -> pa.Array:
    """Return columns with decimals that are right up to 15 digits."""
    loaded = []
    for row in rows:
        document = orjson.loads(row)
        for name in _DECIMALS:
            document[name] = decimal.Decimal(repr(document[name]))
        loaded.append(document)
    return pa.array(loaded, TYPE)


def _exactly(rows: list[bytes]) -> pa.Array:
    """Return columns with exact decimals."""
    loaded = []
    for row in rows:
        document = json.loads(row, parse_float=decimal.Decimal)
        for name in _FLOATS:
            document[name] = float(document[name])
        loaded.append(document)
    return pa.array(loaded, TYPE)


def contestants(values: pa.BinaryArray) -> Contestants:
    """Return what decodes."""
    codec = kcodec.JsonCodec(TYPE)
    few = values.slice(0, max(1, len(values) // 10)).to_pylist()
    return {
        "kcodec": (lambda: codec.decode(values), len(values)),
        "pyarrow.json": (_pyarrow(values, TYPE), len(values)),
        "orjson + pa.array, decimals as doubles": (
            lambda: pa.array([orjson.loads(row) for row in few], _with_doubles(TYPE)),
            len(few),
        ),
        "orjson + pa.array, decimals up to 15 digits": (lambda: _by_text(few), len(few)),
        "json + pa.array, any decimals": (lambda: _exactly(few), len(few)),
        "orjson.loads alone": (lambda: [orjson.loads(row) for row in few], len(few)),
    }


def of_shape(name: str, rows: int) -> Contestants:
    """Return what decodes documents of a shape; orjson makes doubles of decimals, which is the least it can do."""
    kind, values = shape(name, rows)
    codec, parser = kcodec.JsonCodec(kind), simdjson.Parser()
    doubles = _with_doubles(kind)
    few = values.slice(0, max(1, len(values) // 10)).to_pylist()

    def parse() -> None:
        for row in few:
            parser.parse(row)

    return {
        "kcodec": (lambda: codec.decode(values), len(values)),
        "pyarrow.json": (_pyarrow(values, kind), len(values)),
        "orjson + pa.array": (lambda: pa.array([orjson.loads(row) for row in few], doubles), len(few)),
        "simdjson, parsing alone": (parse, len(few)),
    }


def shapes(names: list[str], rows: int, rounds: int) -> None:
    """Print the table of the shapes."""
    print(f"| {'shape':14} | bytes | kcodec, ns | GB/s | pyarrow.json | orjson + pa.array | simdjson alone |")
    print("|---|---|---|---|---|---|---|")
    for name in names:
        runs = of_shape(name, rows)
        values = shape(name, rows).values
        size = sum(map(len, values.to_pylist())) / len(values)
        own, *others = measure(runs, rounds).values()
        # orjson has no exact decimals.
        exact = not any(pa.types.is_decimal(field.type) for field in shape(name, rows).type)
        if any(not equal for each, equal in same(runs).items() if exact or each == "pyarrow.json"):
            raise SystemExit(f"{name}: others give other columns")
        ratios = [f"{taken / own:.1f}x" for taken in others]
        print(
            f"| {name:14} | {size:.0f} | {own:.0f} | {size / own:.2f} | " + " | ".join(ratios) + " |",
            flush=True,
        )


def encoders(values: pa.BinaryArray) -> Contestants:
    """Return what encodes."""
    codec = kcodec.JsonCodec(TYPE)
    array = codec.decode(values)
    few = array.slice(0, max(1, len(array) // 10))
    return {
        "kcodec": (lambda: codec.encode(array), len(array)),
        "orjson.dumps of to_pylist()": (
            lambda: [orjson.dumps(row, default=str) for row in few.to_pylist()],
            len(few),
        ),
    }


def envelopes(values: pa.BinaryArray) -> Contestants:
    """Return what decodes Connect's envelopes, which all have the same schema, and what that is made of."""
    schema = kcodec.ConnectSchema.from_arrow(TYPE)
    before = b'{"schema":' + schema.to_text().encode() + b',"payload":'
    enveloped = pa.array([before + value + b"}" for value in values.to_pylist()], pa.binary())
    whole = kcodec.ConnectJsonCodec()
    alone = kcodec.ConnectJsonCodec(schema, schemas_enable=False)
    return {
        "kcodec": (lambda: whole.decode(enveloped), len(values)),
        "the payloads alone": (lambda: alone.decode(values), len(values)),
        f"comparing the {len(before)} bytes before them": (
            lambda: pc.starts_with(enveloped, before),
            len(values),
        ),
    }


def same(runs: Contestants) -> dict[str, bool]:
    """Return of each whether it gives what kcodec gives."""
    given = {name: run() for name, (run, _) in runs.items()}
    expected = given["kcodec"]
    return {
        name: value.equals(expected.slice(0, len(value)))
        for name, each in given.items()
        for value in [pa.concat_arrays(each.chunks) if isinstance(each, pa.ChunkedArray) else each]
        if isinstance(value, pa.Array)
    }


def main() -> None:
    """Print the tables."""
    parser = command_line(__doc__, rows=50_000, rounds=7)
    parser.add_argument("--shapes", nargs="*", choices=SHAPES, help="only the table of shapes, and these")
    arguments = parser.parse_args()
    pa.set_cpu_count(1)
    print(f"{arguments.rows} documents, median of {arguments.rounds} rounds, one thread")
    shapes(arguments.shapes or list(SHAPES), arguments.rows, arguments.rounds)
    if arguments.shapes is not None:
        return
    steady, shuffled = documents(arguments.rows), documents(arguments.rows, True)
    size = steady.nbytes / arguments.rows - 4
    print(f"\norders, {size:.0f} bytes")
    for title, runs in (
        ("decode, keys in a steady order", contestants(steady)),
        ("decode, keys shuffled per document", contestants(shuffled)),
        ("encode", encoders(steady)),
    ):
        best, equal = measure(runs, arguments.rounds), same(runs)
        print(f"\n{title:45} {'ns/row':>9} {'MB/s':>7} {'kcodec is faster by':>20} {'same columns':>13}")
        for name, taken in best.items():
            given = {True: "yes", False: "no", None: "-"}[equal.get(name)]
            print(
                f"{name:45} {taken:9.0f} {size / taken * 1000:7.0f} {taken / best['kcodec']:19.1f}x {given:>13}"
            )
    best = measure(envelopes(steady), arguments.rounds)
    whole, alone, compared = best.values()
    print(f"\n{'decode of Connect envelopes':45} {'ns/row':>9}")
    for name, taken in best.items():
        print(f"{name:45} {taken:9.0f}")
    print(f"{'kcodec takes, of both others together':45} {whole / (alone + compared):8.2f}x")


if __name__ == "__main__":
    main()
