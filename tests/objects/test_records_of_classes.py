"""Records that are no dicts: mappings, dataclasses, NamedTuples and the like, in every codec and serde."""

import dataclasses
import json
import sys
from collections import UserDict
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from kcodec import (
    AvroCodec,
    ConnectJsonCodec,
    EncodeError,
    JsonCodec,
    JsonSchemaCodec,
    KsqlCodec,
    ProtobufCodec,
    Serde,
)
from kcodec.registry.subjects import strategy


class Item(NamedTuple):
    sku: str
    price: float


@dataclasses.dataclass
class Order:
    id: int
    items: list[Any]
    first: Any = None


ITEM = {"sku": "a", "price": 1.5}
PLAIN = {"id": 7, "items": [ITEM, None], "first": ITEM}
ITEMS = pa.struct([("sku", pa.string()), ("price", pa.float64())])
TYPE = pa.struct([("id", pa.int64()), ("items", pa.list_(ITEMS)), ("first", ITEMS)])
PROTOBUF = """syntax = "proto3"; message Order { int64 id = 1; repeated Item items = 2; Item first = 3;
  message Item { string sku = 1; double price = 2; } }"""
PROPERTIES = {"sku": {"type": "string"}, "price": {"type": "number"}}
OBJECT = {"type": ["object", "null"], "properties": PROPERTIES}
JSON_SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "items": {"type": "array", "items": OBJECT},
            "first": OBJECT,
        },
    }
)
FIELDS = [{"name": "sku", "type": "string"}, {"name": "price", "type": "double"}]
AVRO = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "long"},
            {
                "name": "items",
                "type": {
                    "type": "array",
                    "items": ["null", {"type": "record", "name": "Item", "fields": FIELDS}],
                },
            },
            {"name": "first", "type": ["null", "Item"]},
        ],
    }
)
SQL = "ID BIGINT, ITEMS ARRAY<STRUCT<SKU STRING, PRICE DOUBLE>>, FIRST STRUCT<SKU STRING, PRICE DOUBLE>"
CODECS = {
    "avro": lambda: AvroCodec(AVRO),
    "json": lambda: JsonCodec(TYPE),
    "json_schema": lambda: JsonSchemaCodec(JSON_SCHEMA),
    "protobuf": lambda: ProtobufCodec(PROTOBUF, "Order"),
    "connect": lambda: ConnectJsonCodec(TYPE),
    "ksql": lambda: KsqlCodec("JSON", SQL),
    "serde of avro": lambda: Serde("AVRO", "memory://classes-1", topic="t", schema=AVRO),
    "serde of json_schema": lambda: Serde("JSON_SR", "memory://classes-2", topic="t", schema=JSON_SCHEMA),
    "serde of protobuf": lambda: Serde("PROTOBUF", "memory://classes-3", topic="t", schema=PROTOBUF),
}


def written(codec, value):
    return codec.serialize_one(value) if isinstance(codec, Serde) else codec.encode_one(value)


@pytest.mark.parametrize("name", CODECS)
def test_they_are_written_as_dicts_are(name, impl):
    codec = CODECS[name]()
    # Protobuf has no null in a list.
    items = PLAIN["items"] if "protobuf" not in name else [ITEM]
    wanted = written(codec, {**PLAIN, "items": items})
    of_classes = [Item("a", 1.5) if item else None for item in items]
    for value in (
        Order(7, of_classes, Item("a", 1.5)),
        UserDict(id=7, items=tuple(of_classes), first=UserDict(ITEM)),
        {"id": 7, "items": of_classes, "first": ITEM},
    ):
        assert written(codec, value) == wanted


@pytest.mark.parametrize("name", CODECS)
def test_what_does_not_fit_is_refused(name, impl):
    codec = CODECS[name]()
    for value in (Order("seven", []), Order(7, [Item("a", object())]), object()):
        with pytest.raises((EncodeError, TypeError)):
            written(codec, value)


LATER = """
import dataclasses


def subject(topic: Nowhere, is_key: bool, schema: Nowhere) -> str:
    return f"{topic}-of-nowhere"


@dataclasses.dataclass
class Point:
    x: int
    y: Nowhere
"""


def test_annotations_that_only_type_checkers_can_read():
    """They are texts, or from Python 3.14 on evaluated when somebody asks for them."""
    future = "" if sys.version_info >= (3, 14) else "from __future__ import annotations\n"
    names = {"__name__": __name__}
    exec(future + LATER, names)
    codec = AvroCodec(
        {"type": "record", "name": "P", "fields": [{"name": name, "type": "int"} for name in "xy"]}
    )
    point = codec.decode_one(b"\x02\x04", into=names["Point"])
    assert (point.x, point.y) == (1, 2)
    assert strategy(names["subject"])("t", False, None) == "t-of-nowhere"
