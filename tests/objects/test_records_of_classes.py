"""Records that are no dicts: mappings, dataclasses, NamedTuples and the like, in every codec and serde."""

import dataclasses
import inspect
import json
import sys
import types
from collections import UserDict
from typing import Any, ClassVar, NamedTuple

import pyarrow as pa
import pytest
from cases import cases

from kcodec import (
    AvroCodec,
    ConfigError,
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


@cases("name", CODECS)
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


@cases("name", CODECS)
def test_what_does_not_fit_is_refused(name, impl):
    codec = CODECS[name]()
    for value in (Order("seven", []), Order(7, [Item("a", object())]), object()):
        with pytest.raises((EncodeError, TypeError)):
            written(codec, value)


class Model:
    """What pydantic's classes have of what is looked at: a signature of aliases, and a setting for each direction."""

    model_config: ClassVar[dict[str, bool]] = {}
    __pydantic_fields__: ClassVar = {
        "order_id": types.SimpleNamespace(serialization_alias="orderId"),
        "note": types.SimpleNamespace(serialization_alias=None),
    }
    __signature__ = inspect.Signature(
        [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in ("orderId", "note")]
    )

    def __init__(self, note, **given):
        self.note = note
        ((self.given, self.order_id),) = given.items()


class Named(Model):
    model_config: ClassVar = {"populate_by_name": True, "serialize_by_alias": True}


def of_names(*names):
    kinds = {"note": "string"}
    fields = [{"name": name, "type": kinds.get(name, "long")} for name in names]
    return AvroCodec(json.dumps({"type": "record", "name": "R", "fields": fields}))


def test_aliases_of_pydantic(impl):
    """They are read and written as the settings of the class have it."""
    by_name, by_alias = of_names("order_id", "note"), of_names("orderId", "note")
    data = by_name.encode_one(Model("x", orderId=7))
    assert (
        data == by_alias.encode_one(Named("x", orderId=7)) == by_name.encode_one({"order_id": 7, "note": "x"})
    )
    for wrong, value in ((by_alias, Model("x", orderId=7)), (by_name, Named("x", orderId=7))):
        with pytest.raises(EncodeError, match="unknown_field"):
            wrong.encode_one(value)
    assert by_alias.decode_one(data, into=Model).given == "orderId"
    assert by_alias.decode_one(data, into=Named).given == "orderId"
    assert by_name.decode_one(data, into=Named).given == "order_id"
    with pytest.raises(ConfigError, match="Model does not take the field order_id: did you mean 'orderId'"):
        by_name.decode_one(data, into=Model)


@dataclasses.dataclass
class Tagged:
    tags: Any


TAGS = {
    "avro": AvroCodec(
        {
            "type": "record",
            "name": "R",
            "fields": [{"name": "tags", "type": {"type": "map", "values": "int"}}],
        }
    ),
    "json": JsonCodec("tags MAP<STRING, INT>"),
    "protobuf": ProtobufCodec('syntax = "proto3"; message R { map<string, int32> tags = 1; }'),
    "columns": ConnectJsonCodec(
        pa.struct([("tags", pa.map_(pa.string(), pa.int32()))]), schemas_enable=False
    ),
}


@cases("name", TAGS)
def test_maps_of_classes_are_dicts(name, impl):
    """Unless it is said what they are; without a class they are pairs."""
    codec = TAGS[name]
    data = codec.encode_list([{"tags": {"a": 1}}])[0]
    for _ in range(2):
        assert codec.decode_one(data) == codec.decode_one(data, maps="pairs") == {"tags": [("a", 1)]}
        assert codec.decode_one(data, into=Tagged) == Tagged({"a": 1})
        assert codec.decode_list([data], into=Tagged) == [Tagged({"a": 1})]
        assert codec.decode_one(data, into=Tagged, maps="pairs") == Tagged([("a", 1)])


def test_maps_of_classes_in_a_serde(impl):
    serde = Serde("AVRO", "memory://maps-of-classes", topic="tags", schema=TAGS["avro"].schema)
    data = serde.serialize_one({"tags": {"a": 1}})
    for _ in range(2):
        assert (
            serde.deserialize_one(data) == serde.deserialize_one(data, maps="pairs") == {"tags": [("a", 1)]}
        )
        assert serde.deserialize_one(data, into=Tagged) == Tagged({"a": 1})
        assert serde.deserialize_one(data, into=Tagged, maps="pairs") == Tagged([("a", 1)])
    for read in (serde.deserialize_one, TAGS["avro"].decode_one):
        with pytest.raises(ConfigError, match=r"into=Tagged\(tags=1\) is not a class"):
            read(data, into=Tagged(1))
    with pytest.raises(TypeError, match=r"deserialize_one\(\) got an unexpected keyword argument 'map'"):
        serde.deserialize_one(data, map="dict")


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
