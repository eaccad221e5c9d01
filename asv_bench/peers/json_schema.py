#!/usr/bin/env python3
"""Framed documents of a JSON Schema to columns: kcodec beside confluent-kafka, in one process and one thread.

    python asv_bench/peers/json_schema.py [--rows 20000] [--rounds 5]

The documents are those of the JSON benchmarks: 15 fields, about 300 bytes. All contestants take turns; the median of
their rounds counts. Columns of ``JsonCodec``, from documents without a frame, show what the schema costs;
confluent-kafka's ``JSONDeserializer`` makes a dict of each value, and needs ``confluent-kafka[json]``. With validation
on, both check every document by the schema; the deserializer's own default is on.
"""

import sys
from pathlib import Path

# Where this script stands, the name of another would hide the standard library's module.
sys.path.remove(str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import json
from typing import Any

import pyarrow as pa
from benchmarks.json_documents import TYPE, documents
from benchmarks.json_schema import FRAME, SCHEMA
from rounds import Contestants, command_line, measure

import kcodec


def _deserializer(validate: bool) -> Any:
    """Return confluent-kafka's deserializer of values framed with the id 1."""
    from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
    from confluent_kafka.schema_registry.json_schema import JSONDeserializer
    from confluent_kafka.serialization import MessageField, SerializationContext

    client = SchemaRegistryClient.new_client({"url": "mock://peers"})
    client.register_schema("t-value", Schema(json.dumps(SCHEMA), "JSON"))
    deserializer = JSONDeserializer(None, schema_registry_client=client, conf={"validate": validate})
    context = SerializationContext("t", MessageField.VALUE)
    return lambda value: deserializer(value, context)


def contestants(rows: int) -> Contestants:
    """Return what decodes, and how many rows it decodes."""
    plain = documents(rows)
    framed = pa.array([FRAME + value for value in plain.to_pylist()], pa.binary())
    registry = kcodec.registry.open("memory://json-schema-peers")
    registry.register("t-value", kcodec.registry.Schema(json.dumps(SCHEMA), "JSON"))
    serde = kcodec.Serde("JSON_SR", registry, topic="t")
    validating = kcodec.Serde("JSON_SR", registry, topic="t", config={"json.fail.invalid.schema": True})
    by_schema, by_type = kcodec.JsonSchemaCodec(SCHEMA), kcodec.JsonCodec(TYPE)
    few = framed.slice(0, max(1, rows // 20))
    one_by_one = few.to_pylist()
    unvalidated, validated = _deserializer(False), _deserializer(True)
    return {
        "kcodec.JsonCodec, no frame": (lambda: by_type.decode(plain), rows),
        "kcodec.JsonSchemaCodec, no frame": (lambda: by_schema.decode(plain), rows),
        "kcodec.Serde": (lambda: serde.deserialize(framed), rows),
        "confluent-kafka": (lambda: [unvalidated(value) for value in one_by_one], len(one_by_one)),
        "kcodec.Serde, validating": (lambda: validating.deserialize(few), len(few)),
        "confluent-kafka, validating": (lambda: [validated(value) for value in one_by_one], len(one_by_one)),
    }


def main() -> None:
    """Print the table."""
    parser = command_line(__doc__, rows=20_000, rounds=5)
    arguments = parser.parse_args()
    best = measure(contestants(arguments.rows), arguments.rounds)
    print(f"{arguments.rows} documents, median of {arguments.rounds} rounds, one thread")
    for name, taken in best.items():
        print(f"{name:40} {taken:9.0f} ns/row")
    by_type, by_schema, plain, theirs, validating, validated = best.values()
    print(f"the schema's columns take {by_schema / by_type:.2f} of those of the type")
    print(f"kcodec is faster {theirs / plain:.0f}x without validation, {validated / validating:.0f}x with it")


if __name__ == "__main__":
    main()
