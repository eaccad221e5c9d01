"""Columns that are decoded: rows, fields, sizes, ids, threads."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa

from axes.axis import Axis, record
from kcodec import AvroCodec, Serde, registry
from kcodec.registry import Schema

_TEXT = {"type": "record", "name": "R", "fields": [{"name": "f", "type": "string"}]}


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
    held = registry.open(f"memory://{count}")
    made = [
        held.register(f"s{number}", Schema(json.dumps(record(1, f"R{number}")), "AVRO")).id
        for number in range(count)
    ]
    serde = Serde("AVRO", held, reader_schema=record(1))
    payloads = pa.array([b"\0" + made[row % count].to_bytes(4, "big") + b"\2" for row in range(100_000)])
    serde.deserialize(payloads)
    return lambda: serde.deserialize(payloads)


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
    "threads": Axis("decode 50,000 rows in each thread", (1, 2, 4, 8, 16, 32), threads),
}
