"""ksqlDB's codecs with an embedded registry, and what is registered there."""

import datetime
import json
import struct
from decimal import Decimal

from kcodec import KsqlCodec
from kcodec.registry import Schema
from kcodec.registry.memory import MemoryRegistry

FORMATS = ("AVRO", "PROTOBUF", "JSON_SR")
UTC = datetime.timezone.utc
#: What the columns of a union of JSON are called, with their numbers behind.
ONE_OF = "io.confluent.connect.json.OneOf.field."
COLUMNS = """B BOOLEAN, I INT, L BIGINT, D DOUBLE, N DECIMAL(10, 2), S STRING, Y BYTES, T TIME, E DATE, W TIMESTAMP,
    A ARRAY<STRING>, M MAP<STRING, BIGINT>, R STRUCT<X INT, `y` ARRAY<STRUCT<Z DATE, N DECIMAL(5, 1)>>>"""
ROW = {
    "B": True,
    "I": -7,
    "L": 1 << 40,
    "D": 1.5,
    "N": Decimal("-12345678.90"),
    "S": "é😀",
    "Y": b"\0\xff",
    "T": datetime.time(23, 59, 59, 999000),
    "E": datetime.date(1969, 12, 31),
    "W": datetime.datetime(2024, 2, 29, 12, 0, 0, 123000, UTC),
    "A": ["a", ""],
    "M": [("k", 1), ("", -1)],
    "R": {"X": 1, "y": [{"Z": datetime.date(2000, 1, 1), "N": Decimal("0.5")}]},
}
EMPTY = {**dict.fromkeys(ROW), "A": [], "M": []}


def framed(number, body, indexes=b""):
    return struct.pack(">bI", 0, number) + indexes + body


def codec_of(name, columns, **options):
    options.setdefault("registry", MemoryRegistry())
    return KsqlCodec(name, columns, topic="t", **options)


def registered(registry, text, kind="AVRO", references=(), subject="any"):
    text = text if isinstance(text, str) else json.dumps(text)
    return registry.register(subject, Schema(text, kind, references)).id


def record(*fields, name="R"):
    return {"type": "record", "name": name, "fields": [{"name": each, "type": kind} for each, kind in fields]}
