"""Schemas and columns that the benchmarks share, made with a fixed seed."""

import functools
import json
import random
from decimal import Decimal

import pyarrow as pa

import kcodec

from . import ROWS

_MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
_MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 18, "scale": 4}
_WORDS = ["alpha", "beta", "gamma", "kafka", "spark", "arrow", "column", "orchid", "Zürich", "crème", "東京"]


def record(name: str, *fields: tuple) -> dict:
    """Make a record's schema of (name, type) pairs; a third item is the default."""
    keys = ("name", "type", "default")
    return {"type": "record", "name": name, "fields": [dict(zip(keys, f, strict=False)) for f in fields]}


FLAT = record(
    "Tick",
    ("ts", _MILLIS),
    ("symbol", "string"),
    ("price", "double"),
    ("size", "int"),
    ("seq", "long"),
    ("venue", "string"),
    ("bid", ["null", "double"], None),
    ("ask", ["null", "double"], None),
    ("condition", ["null", "string"], None),
    ("auction", "boolean"),
)
_ADDRESS = record("Address", ("street", "string"), ("city", "string"), ("lat", "double"))
_LINE = record("Line", ("sku", "string"), ("quantity", "int"), ("price", "double"))
_STATUS = {"type": "enum", "name": "Status", "symbols": ["NEW", "PAID", "SHIPPED", "CANCELLED"]}
NESTED = record(
    "Order",
    ("id", "long"),
    ("status", _STATUS),
    ("created", _MILLIS),
    ("email", ["null", "string"], None),
    ("total", _MONEY),
    ("discount", ["null", _MONEY], None),
    ("quantity", "int"),
    ("address", _ADDRESS),
    ("tags", {"type": "array", "items": "string"}),
    ("attributes", {"type": "map", "values": "string"}),
    ("lines", {"type": "array", "items": _LINE}),
    ("device", "string"),
)
#: What NESTED is read as: fewer fields in another order, one promoted, two new.
EVOLVED = record(
    "Order",
    ("device", "string"),
    ("id", "long"),
    ("status", _STATUS),
    ("quantity", "long"),
    ("address", _ADDRESS),
    ("source", "string", "kafka"),
    ("region", ["null", "string"], None),
)
SCHEMAS = {"flat": FLAT, "nested": NESTED}


def _tick(r: random.Random, row: int) -> dict:
    price = r.uniform(10, 900)
    return {
        "ts": (1_700_000_000_000 + row * 3) * 1000,
        "symbol": r.choice(("AAPL", "NESN.SW", "SAP.DE", "7203.T")),
        "price": price,
        "size": r.randrange(1, 5000),
        "seq": 900_000_000 + row,
        "venue": r.choice(("XNAS", "XETR", "XSWX")),
        "bid": price - 0.01 if r.random() < 0.8 else None,
        "ask": price + 0.01 if r.random() < 0.8 else None,
        "condition": r.choice("@FT") if r.random() < 0.3 else None,
        "auction": r.random() < 0.01,
    }


def _order(r: random.Random, row: int) -> dict:
    line = lambda: {"sku": f"SKU-{r.randrange(10**5):05d}", "quantity": r.randrange(9), "price": r.random()}  # noqa: E731
    return {
        "id": 10_000_000_000 + row,
        "status": r.choice(_STATUS["symbols"]),
        "created": (1_700_000_000_000 + row * 37) * 1000,
        "email": f"user{r.randrange(10**6)}@example.com" if r.random() < 0.8 else None,
        "total": Decimal(r.randrange(100, 10**8)).scaleb(-4),
        "discount": Decimal(r.randrange(10**5)).scaleb(-4) if r.random() < 0.4 else None,
        "quantity": r.randrange(1, 200),
        "address": {
            "street": f"{r.randrange(999)} {r.choice(_WORDS)} street",
            "city": r.choice(_WORDS),
            "lat": r.random(),
        },
        "tags": r.choices(_WORDS, k=r.randrange(4)),
        "attributes": [(key, r.choice(_WORDS)) for key in r.sample(("utm", "ref", "ab"), r.randrange(3))],
        "lines": [line() for _ in range(r.randrange(1, 4))],
        "device": f"{r.getrandbits(64):016x}-{r.getrandbits(48):012x}",
    }


@functools.cache
def codec(name: str) -> kcodec.AvroCodec:
    """Return the codec of a case."""
    return kcodec.AvroCodec(json.dumps(SCHEMAS[name]))


@functools.cache
def array(name: str) -> pa.StructArray:
    """Return the columns of a case."""
    r = random.Random(7)
    make = {"flat": _tick, "nested": _order}[name]
    return pa.array([make(r, row) for row in range(ROWS)], codec(name).arrow_type)


@functools.cache
def payloads(name: str) -> pa.BinaryArray:
    """Return the bytes of a case."""
    return codec(name).encode(array(name))


@functools.cache
def registry() -> "kcodec.registry.SchemaRegistry":
    """Return a registry with NESTED, the same with a field more, and EVOLVED, under ``orders-value``."""
    opened = kcodec.registry.open("memory://benchmarks")
    for schema in (NESTED, wider(), EVOLVED):
        opened.register("orders-value", kcodec.registry.Schema(json.dumps(schema)))
    return opened


def wider() -> dict:
    """Return NESTED with a further field."""
    return {**NESTED, "fields": [*NESTED["fields"], {"name": "channel", "type": "string", "default": "web"}]}


@functools.cache
def framed(ids: int) -> pa.BinaryArray:
    """Return framed orders of one schema id, or of two that alternate."""
    one = kcodec.Serde("AVRO", registry(), topic="orders", schema=json.dumps(NESTED)).serialize(
        array("nested")
    )
    if ids == 1:
        return one
    other = kcodec.Serde("AVRO", registry(), topic="orders", schema=json.dumps(wider()))
    column = pa.concat_arrays([one, other.serialize(array("nested"))])
    return column.take(pa.array([row + row % 2 * ROWS for row in range(ROWS)]))
