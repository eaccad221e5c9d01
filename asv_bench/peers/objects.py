#!/usr/bin/env python3
"""Avro values one by one, to Python objects and back: kcodec beside fastavro and confluent-kafka, in one thread.

    python asv_bench/peers/objects.py [--rows 1000] [--rounds 15] [--schemas flat nested small two]

``flat`` and ``nested`` are the records of the Avro benchmarks, ``nested`` with decimals and a map; ``small`` has ten
fields with a decimal, a timestamp, a list and a record; ``two`` is a record of two fields. With the file of the
peers' benchmark that `peers/avro.py` is the plugin for (``--peers FILE``), also its records ``full``, ``nodec`` and
``flat``. Each contestant gets the same values, and what it makes is compared before it is timed. All take turns; the
median of their rounds counts. Loops drop each object before the next is made; lists keep all of theirs.
"""

import sys
from pathlib import Path

# Where this script stands, the name of another would hide the standard library's module.
sys.path.remove(str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import argparse
import datetime
import importlib.util
import io
import json
from decimal import Decimal
from typing import Any

import fastavro
from benchmarks import avro_records
from benchmarks.avro_records import record
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from rounds import Contestants, measure

import kcodec

#: How many times faster kcodec is to be than who does the same.
BARS = {
    "decode_one": ("fastavro.schemaless_reader", 6),
    "decode_list": ("fastavro.schemaless_reader", 8),
    "encode_one": ("fastavro.schemaless_writer", 4),
    "encode_list": ("fastavro.schemaless_writer", 5),
    "deserialize_one": ("AvroDeserializer", 8),
    "serialize_one": ("AvroSerializer", 5),
}
_MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}
SMALL = record(
    "Small",
    ("id", "long"),
    ("name", "string"),
    ("active", "boolean"),
    ("score", "double"),
    ("note", ["null", "string"], None),
    ("count", "int"),
    ("price", _MONEY),
    ("at", {"type": "long", "logicalType": "timestamp-millis"}),
    ("tags", {"type": "array", "items": "string"}),
    ("place", record("Place", ("city", "string"), ("zip", "int"))),
)
TWO = record("Two", ("id", "long"), ("name", "string"))


def cases(rows: int, peers: str | None) -> dict[str, tuple[dict, list[dict]]]:
    """Return schemas by name, and objects of each."""
    start = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
    small = [
        {
            "id": 10_000_000 + row,
            "name": f"customer {row}",
            "active": row % 3 == 0,
            "score": row / 7,
            "note": None if row % 2 else "by hand",
            "count": row % 90,
            "price": Decimal(row * 37 % 10**6).scaleb(-2),
            "at": start + datetime.timedelta(milliseconds=row * 1234),
            "tags": ["new", "sale", "öko"][: row % 4],
            "place": {"city": "Zürich", "zip": 8000 + row % 100},
        }
        for row in range(rows)
    ]
    found = {"small": (SMALL, small), "two": (TWO, [{"id": row, "name": f"n{row}"} for row in range(rows)])}
    for name, schema in avro_records.SCHEMAS.items():
        codec = avro_records.codec(name)
        payloads = avro_records.payloads(name)[:rows].to_pylist()
        found[name] = schema, codec.decode_list(payloads, maps="dict")
    if peers is not None:
        module = _loaded(peers)
        found["peers: full"] = module.order_schema(True), module.gen_orders(rows, True)
        found["peers: nodec"] = module.order_schema(False), module.gen_orders(rows, False)
        found["peers: flat"] = module.FLAT, module.gen_flat(rows)
    return found


def _loaded(path: str) -> Any:
    spec = importlib.util.spec_from_file_location("avro_peers", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def contestants(name: str, schema: dict, objects: list[dict]) -> Contestants:
    """Return what reads and writes the objects, and how many there are."""
    text = json.dumps(schema)
    parsed = fastavro.parse_schema(schema)
    codec = kcodec.AvroCodec(text)
    payloads = codec.encode_list(objects)

    def read(payload: bytes) -> Any:
        return fastavro.schemaless_reader(io.BytesIO(payload), parsed, None)

    def write(value: dict) -> bytes:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, value)
        return out.getvalue()

    client = SchemaRegistryClient.new_client({"url": "mock://objects"})
    serializer = AvroSerializer(client, text)
    deserializer = AvroDeserializer(client, text)
    context = SerializationContext("t", MessageField.VALUE)
    registry = kcodec.registry.open(f"memory://{name.replace(': ', '-')}")
    serde = kcodec.Serde("AVRO", registry, topic="t", schema=text)
    theirs = [serializer(value, context) for value in objects]
    framed = [serde.serialize_one(value) for value in objects]
    decoded = codec.decode_list(payloads, maps="dict")
    assert decoded == [read(payload) for payload in payloads] == objects
    assert decoded == [deserializer(value, context) for value in theirs]
    assert decoded == [serde.deserialize_one(value, maps="dict") for value in framed]
    assert payloads == [write(value) for value in objects]

    def each(act: Any, values: list) -> Any:
        def run() -> None:
            for value in values:
                act(value)

        return run

    runs = {
        "fastavro.schemaless_reader": each(read, payloads),
        "decode_one": each(codec.decode_one, payloads),
        "decode_list": lambda: codec.decode_list(payloads),
        "decode, to_pylist": lambda: codec.decode(payloads).to_pylist(),
        "fastavro.schemaless_writer": each(write, objects),
        "encode_one": each(codec.encode_one, objects),
        "encode_list": lambda: codec.encode_list(objects),
        "AvroDeserializer": each(lambda value: deserializer(value, context), theirs),
        "deserialize_one": each(serde.deserialize_one, framed),
        "AvroSerializer": each(lambda value: serializer(value, context), objects),
        "serialize_one": each(serde.serialize_one, objects),
    }
    return {name: (run, len(objects)) for name, run in runs.items()}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--schemas", nargs="*")
    parser.add_argument("--peers", metavar="FILE")
    arguments = parser.parse_args()
    for name, (schema, objects) in cases(arguments.rows, arguments.peers).items():
        if arguments.schemas and name not in arguments.schemas:
            continue
        taken = measure(contestants(name, schema, objects), arguments.rounds)
        print(f"{name}: {len(objects)} values, median of {arguments.rounds} rounds, one thread")
        for each, nanoseconds in taken.items():
            told = ""
            if each in BARS:
                peer, bar = BARS[each]
                told = f"{taken[peer] / nanoseconds:6.1f}x {peer} (at least {bar}x)"
            print(f"  {each:28} {nanoseconds:9.0f} ns  {told}")


if __name__ == "__main__":
    main()
