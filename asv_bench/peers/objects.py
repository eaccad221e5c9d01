#!/usr/bin/env python3
"""Values one by one, to Python objects and back: kcodec beside others who do that, in one thread.

    python asv_bench/peers/objects.py [--rows 1000] [--rounds 15] [--schemas flat nested small two protobuf json ...]
    python asv_bench/peers/objects.py --memory 10000000

Avro is read and written beside fastavro and confluent-kafka, Protobuf beside Google's library (to and from dicts by
``MessageToDict`` and ``ParseDict``), JSON beside orjson, with and without decimals (which orjson reads as floats, and
writes as text), and JSON Schema beside confluent-kafka, without validation and with it. ``--memory`` reads and writes
so many values, and prints what Python has allocated meanwhile.

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

import datetime
import functools
import gc
import importlib.util
import io
import json
import tracemalloc
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import fastavro
import orjson
import pyarrow as pa
from benchmarks import avro_records
from benchmarks.avro_records import record
from confluent_kafka.schema_registry import SchemaRegistryClient, json_schema
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.json_format import MessageToDict, ParseDict
from rounds import Contestants, command_line, measure

import kcodec
import kcodec.confluent

#: How many times faster kcodec is to be than who does the same.
BARS = {
    "decode_one": ("fastavro.schemaless_reader", 6),
    # What is kept takes memory that is not in the caches: both keep it.
    "decode_list": ("list of fastavro.schemaless_reader", 8),
    "encode_one": ("fastavro.schemaless_writer", 4),
    "encode_list": ("fastavro.schemaless_writer", 5),
    "deserialize_one": ("AvroDeserializer", 8),
    "serialize_one": ("AvroSerializer", 5),
    "protobuf decode_one": ("MessageToDict(FromString())", 10),
    "protobuf decode_list": ("MessageToDict(FromString())", 10),
    # At most 1.5 times the time of orjson.
    "json decode_one": ("orjson.loads", 0.67),
    "json decode_list": ("orjson.loads", 0.67),
    "protobuf deserialize_one": ("MessageToDict(FromString())", 10),
    "JSON_SR deserialize_one": ("confluent JSONDeserializer", 8),
    "protobuf encode_one": ("ParseDict().SerializeToString()", 5),
    "protobuf encode_list": ("ParseDict().SerializeToString()", 5),
    "protobuf serialize_one": ("confluent ProtobufSerializer of ParseDict()", 5),
    "JSON_SR serialize_one": ("confluent JSONSerializer", 8),
    "kcodec JSONDeserializer": ("confluent JSONDeserializer", 8),
    "kcodec JSONSerializer": ("confluent JSONSerializer", 8),
    "kcodec JSONDeserializer, validate": ("confluent JSONDeserializer, validate", 2),
    "kcodec JSONSerializer, validate": ("confluent JSONSerializer, validate", 2),
}
_PROTO = """
syntax = "proto3";
import "google/protobuf/timestamp.proto";
message Small {
  int64 id = 1; string name = 2; bool active = 3; double score = 4; optional string note = 5; int32 count = 6;
  google.protobuf.Timestamp at = 7; repeated string tags = 8; Place place = 9;
  message Place { string city = 1; int32 zip = 2; }
}
"""
_PLACE = pa.struct([("city", pa.string()), ("zip", pa.int32())])
_DOCUMENT = pa.struct(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("active", pa.bool_()),
        ("score", pa.float64()),
        ("note", pa.string()),
        ("count", pa.int32()),
        ("tags", pa.list_(pa.string())),
        ("place", _PLACE),
    ]
)
_JSON_SCHEMA = {
    "title": "Two",
    "type": "object",
    "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
    "required": ["id"],
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

    runs = {
        "fastavro.schemaless_reader": _each(read, payloads),
        "decode_one": _each(codec.decode_one, payloads),
        "list of fastavro.schemaless_reader": lambda: [read(payload) for payload in payloads],
        "decode_list": lambda: codec.decode_list(payloads),
        "decode, to_pylist": lambda: codec.decode(payloads).to_pylist(),
        "fastavro.schemaless_writer": _each(write, objects),
        "encode_one": _each(codec.encode_one, objects),
        "encode_list": lambda: codec.encode_list(objects),
        "AvroDeserializer": _each(lambda value: deserializer(value, context), theirs),
        "deserialize_one": _each(serde.deserialize_one, framed),
        "AvroSerializer": _each(lambda value: serializer(value, context), objects),
        "serialize_one": _each(serde.serialize_one, objects),
    }
    return {name: (run, len(objects)) for name, run in runs.items()}


def _each(act: Callable[[Any], Any], values: list) -> Callable[[], None]:
    def run() -> None:
        for value in values:
            act(value)

    return run


def protobuf_contestants(objects: list[dict]) -> Contestants:
    """Return what reads messages as dicts."""
    codec = kcodec.ProtobufCodec(_PROTO)
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(codec.descriptor_set).file:
        pool.Add(file)
    message = message_factory.GetMessageClass(pool.FindMessageTypeByName("Small"))
    values = [{name: each[name] for name in each if name != "price"} for each in objects]
    payloads = codec.encode_list(values)
    assert codec.decode_list(payloads) == codec.decode(payloads).to_pylist()
    serde = kcodec.Serde("PROTOBUF", "memory://objects-protobuf", topic="t", schema=_PROTO)
    framed = serde.serialize(values, as_list=True)
    assert [serde.deserialize_one(value) for value in framed] == codec.decode_list(payloads)
    assert [serde.serialize_one(value) for value in values] == framed
    # What JSON has for a timestamp.
    printed = [{**each, "at": each["at"].isoformat()} for each in values]
    assert [ParseDict(each, message()).SerializeToString(deterministic=True) for each in printed] == payloads
    client = SchemaRegistryClient.new_client({"url": "mock://objects-protobuf"})
    serializer = ProtobufSerializer(message, client)
    context = SerializationContext("t", MessageField.VALUE)
    runs = {
        "MessageToDict(FromString())": _each(lambda data: MessageToDict(message.FromString(data)), payloads),
        "FromString": _each(message.FromString, payloads),
        "protobuf decode_one": _each(codec.decode_one, payloads),
        "protobuf decode_list": lambda: codec.decode_list(payloads),
        "protobuf deserialize_one": _each(serde.deserialize_one, framed),
        "ParseDict().SerializeToString()": _each(
            lambda value: ParseDict(value, message()).SerializeToString(), printed
        ),
        "protobuf encode_one": _each(codec.encode_one, values),
        "protobuf encode_list": lambda: codec.encode_list(values),
        "confluent ProtobufSerializer of ParseDict()": _each(
            lambda value: serializer(ParseDict(value, message()), context), printed
        ),
        "protobuf serialize_one": _each(serde.serialize_one, values),
    }
    return {name: (run, len(payloads)) for name, run in runs.items()}


def json_contestants(objects: list[dict], decimals: bool) -> Contestants:
    """Return what reads documents."""
    kind = _DOCUMENT
    if decimals:
        kind = pa.struct([*kind, pa.field("price", pa.decimal128(12, 2))])
    codec = kcodec.JsonCodec(kind)
    values = [{field.name: each[field.name] for field in kind} for each in objects]
    payloads = codec.encode_list(values)
    assert codec.decode_list(payloads) == values
    assert decimals or [orjson.loads(data) for data in payloads] == values
    runs = {
        "orjson.loads": _each(orjson.loads, payloads),
        "json decode_one": _each(codec.decode_one, payloads),
        "json decode_list": lambda: codec.decode_list(payloads),
        "orjson.dumps": _each(functools.partial(orjson.dumps, default=str), values),
        "json encode_one": _each(codec.encode_one, values),
        "json encode_list": lambda: codec.encode_list(values),
    }
    return {name: (run, len(payloads)) for name, run in runs.items()}


def json_schema_contestants(rows: int) -> Contestants:
    """Return confluent-kafka's serializers for JSON Schema and those in their place."""
    client = SchemaRegistryClient.new_client({"url": "mock://objects-json"})
    context = SerializationContext("t", MessageField.VALUE)
    text = json.dumps(_JSON_SCHEMA)
    values = [{"id": row, "name": f"n{row}"} for row in range(rows)]
    runs = {}
    for validates in (False, True):
        ending = ", validate" if validates else ""
        conf = {"validate": validates}
        for name, home in (("confluent", json_schema), ("kcodec", kcodec.confluent)):
            serializer = home.JSONSerializer(text, client, conf=conf)
            deserializer = home.JSONDeserializer(text, schema_registry_client=client, conf=conf)
            framed = [serializer(value, context) for value in values]
            assert [deserializer(data, context) for data in framed] == values
            # What the loop is to call, not the last one made.
            writes = functools.partial(lambda call, value: call(value, context), serializer)
            reads = functools.partial(lambda call, value: call(value, context), deserializer)
            runs[f"{name} JSONSerializer{ending}"] = _each(writes, values)
            runs[f"{name} JSONDeserializer{ending}"] = _each(reads, framed)
    serde = kcodec.Serde("JSON_SR", "memory://objects-json", topic="t", schema=text)
    framed = serde.serialize(values, as_list=True)
    assert [serde.deserialize_one(value) for value in framed] == values
    assert [serde.serialize_one(value) for value in values] == framed
    runs["JSON_SR deserialize_one"] = _each(serde.deserialize_one, framed)
    runs["JSON_SR serialize_one"] = _each(serde.serialize_one, values)
    return {name: (run, rows) for name, run in runs.items()}


def print_memory(count: int, objects: list[dict]) -> None:
    """Print what is allocated after each tenth of so many values, which are read and written."""
    avro = kcodec.AvroCodec(json.dumps(SMALL))
    documents = kcodec.JsonCodec(_DOCUMENT)
    messages = kcodec.ProtobufCodec(_PROTO)
    values = [{name: each[name] for name in each if name not in ("price", "at")} for each in objects]
    kinds = [(avro, objects), (documents, values), (messages, values)]
    cases = [(codec, rows, codec.encode_list(rows)) for codec, rows in kinds]
    tracemalloc.start()
    done = 0
    for tenth in range(11):
        while done < count * tenth // 10:
            for codec, rows, payloads in cases:
                for payload in payloads:
                    codec.decode_one(payload)
                codec.encode_list(rows)
                done += len(rows)
        gc.collect()
        print(f"{done:12,} values: {tracemalloc.get_traced_memory()[0]:12,} bytes", flush=True)


def _print(name: str, made: Contestants, rounds: int) -> None:
    taken = measure(made, rounds)
    print(f"{name}: median of {rounds} rounds, one thread")
    for each, nanoseconds in taken.items():
        told = ""
        if each in BARS:
            peer, bar = BARS[each]
            told = f"{taken[peer] / nanoseconds:6.1f}x {peer} (at least {bar}x)"
        print(f"  {each:35} {nanoseconds:9.0f} ns  {told}")


def main() -> None:
    """Print the table."""
    parser = command_line(__doc__, rows=1000, rounds=15)
    parser.add_argument("--schemas", nargs="*")
    parser.add_argument("--peers", metavar="FILE")
    parser.add_argument("--memory", type=int, metavar="VALUES")
    arguments = parser.parse_args()
    found = cases(arguments.rows, arguments.peers)
    small = found["small"][1]
    if arguments.memory:
        print_memory(arguments.memory, small)
        return
    others = {
        "protobuf": lambda: protobuf_contestants(small),
        "json": lambda: json_contestants(small, False),
        "json with decimals": lambda: json_contestants(small, True),
        "json schema": lambda: json_schema_contestants(arguments.rows),
    }
    for name in [*found, *others]:
        if arguments.schemas and name not in arguments.schemas:
            continue
        made = contestants(name, *found[name]) if name in found else others[name]()
        _print(name, made, arguments.rounds)


if __name__ == "__main__":
    main()
