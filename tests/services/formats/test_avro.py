"""Avro's own encoder and decoder of single objects, in Java."""

import base64
import json

from artifacts import JAVA, SPARK_JAVA, had, jars, program, run

from kcodec import AvroOptions, Serde, registry

#: Of what a fingerprint is made, and what it leaves out: docs, defaults, aliases, orders, other properties, blanks.
ORDER = """{"type": "record", "name": "Order", "namespace": "shop", "doc": "An order.", "aliases": ["Old"],
  "x-by": "zoë",
  "fields": [
    {"name": "id", "type": {"type": "long", "logicalType": "timestamp-millis"}, "order": "ignore"},
    {"name": "by", "type": ["null", "string"], "default": null, "doc": "Who"},
    {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["NEW", "OLD"], "default": "NEW"}},
    {"name": "hash", "type": {"type": "fixed", "name": "other.Hash", "size": 2}},
    {"name": "lines", "type": {"type": "array", "items": "double"}, "default": []},
    {"name": "next", "type": ["null", "Order"], "default": null}
  ]}"""
FLAT = json.loads(ORDER)
FLAT["fields"] = [{**each, "type": "long"} if each["name"] == "id" else each for each in FLAT["fields"][:-1]]
EARLIER = {**FLAT, "fields": FLAT["fields"][:2]}
FLAT, EARLIER = json.dumps(FLAT), json.dumps(EARLIER)
ROWS = [
    {
        "id": row * 10**9,
        "by": None if row % 3 else f"zoë {row}",
        "kind": "OLD" if row % 2 else "NEW",
        "hash": b"ab",
        "lines": [row / 4] * (row % 4),
    }
    for row in range(20)
]


def java(command, *schemas, lines):
    started = had(lambda: program(JAVA / "avro" / "SingleObjects.java", jars("glue"), SPARK_JAVA))
    return run([*started, command, *schemas], lines)


def serde(*schemas):
    return Serde("AVRO", registry.of(schemas), reader_schema=schemas[0], frame="SINGLE_OBJECT")


def test_java_writes():
    by = [json.dumps({**row, "by": row["by"] and {"string": row["by"]}, "hash": "ab"}) for row in ROWS]
    early = [json.dumps({name: json.loads(line)[name] for name in ("id", "by")}) for line in by[:3]]
    values = java("write", EARLIER, lines=early) + java("write", FLAT, lines=by)
    found = serde(EARLIER, FLAT).deserialize([base64.b64decode(each) for each in values])
    assert found.to_pylist() == [{"id": row["id"], "by": row["by"]} for row in ROWS[:3] + ROWS]
    assert serde(FLAT).deserialize([base64.b64decode(each) for each in values[3:]]).to_pylist() == ROWS


def test_java_reads():
    early = [{"id": row["id"], "by": row["by"]} for row in ROWS[:3]]
    values = Serde("AVRO", schema=EARLIER, frame="SINGLE_OBJECT").serialize(early, as_list=True)
    values += Serde("AVRO", schema=FLAT, frame="SINGLE_OBJECT").serialize(ROWS, as_list=True)
    lines = [base64.b64encode(each).decode() for each in values]
    found = [json.loads(line) for line in java("read", EARLIER, FLAT, lines=lines)]
    assert found == early + [{"id": row["id"], "by": row["by"]} for row in ROWS]


def test_fingerprints():
    """Of a schema that refers to itself, with all that its fingerprint leaves out."""
    line = '{"id": 5, "by": null, "kind": "OLD", "hash": "ab", "lines": [], "next": null}'
    (value,) = java("write", ORDER, lines=[line])
    row = {"id": 5, "by": None, "kind": "OLD", "hash": b"ab", "lines": []}
    ours = Serde("AVRO", schema=ORDER, frame="SINGLE_OBJECT", options=AvroOptions(recursive_depth=1))
    assert ours.serialize_one(row) == base64.b64decode(value)
