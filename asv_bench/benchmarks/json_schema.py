"""JSON Schema: decode beside plain JSON, encode, validation, unions, unknown properties, framed values, schemas."""

import json

import pyarrow as pa

import kcodec

from . import ROWS
from .json_documents import TYPE, documents

_CONNECT = {"title": "org.apache.kafka.connect.data.Decimal", "connect.version": 1, "connect.type": "bytes"}


def _decimal(scale: int, precision: int) -> dict:
    parameters = {"scale": str(scale), "connect.decimal.precision": str(precision)}
    return {"type": "number", **_CONNECT, "connect.parameters": parameters}


#: The schema of `json_documents.TYPE`.
SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Order",
    "type": "object",
    "properties": {
        "order": {"type": "integer"},
        "customer": {"type": "string"},
        "email": {"type": "string", "format": "email"},
        "created": {"type": "integer"},
        "status": {"enum": ["NEW", "PAID", "SHIPPED", "CANCELLED"]},
        "amount": _decimal(4, 18),
        "tax": _decimal(2, 12),
        "quantity": {"type": "integer", "connect.type": "int32", "minimum": 1},
        "score": {"type": "number"},
        "gift": {"type": "boolean"},
        "address": {
            "type": "object",
            "properties": {
                "street": {"type": "string", "maxLength": 100},
                "city": {"type": "string"},
                "zip": {"type": "integer", "connect.type": "int32"},
            },
        },
        "tags": {"type": "array", "items": {"type": ["string", "null"]}},
        "note": {"oneOf": [{"type": "null"}, {"type": "string"}]},
        "ratio": {"type": "number"},
        "device": {"type": "string", "pattern": "^[0-9a-f]{8}$"},
    },
}
FRAME = b"\0\0\0\0\1"


class Codec:
    """The documents of the JSON benchmarks, by their schema and by their Arrow type."""

    params = (["schema", "type"],)
    param_names = ("by",)

    def setup(self, by: str) -> None:
        self.codec = kcodec.JsonSchemaCodec(SCHEMA) if by == "schema" else kcodec.JsonCodec(TYPE)
        self.values = documents(ROWS)
        self.array = self.codec.decode(self.values)

    def time_decode(self, by: str) -> None:
        self.codec.decode(self.values)

    def time_encode(self, by: str) -> None:
        self.codec.encode(self.array)

    def peakmem_decode(self, by: str) -> None:
        self.codec.decode(self.values)


class Validation:
    """The same documents validated, a tenth of them."""

    def setup(self) -> None:
        self.codec = kcodec.JsonSchemaCodec(SCHEMA, validate=True)
        self.values = documents(max(1, ROWS // 10))
        self.array = self.codec.decode(self.values)

    def time_decode(self) -> None:
        self.codec.decode(self.values)

    def time_encode(self) -> None:
        self.codec.encode(self.array)


class Places:
    """One property of a schema."""

    params = (["union", "json text", "unknown"],)
    param_names = ("of",)

    def setup(self, of: str) -> None:
        schema, text, arguments = {
            "union": ({"type": ["integer", "string"]}, '{"v":%d,"w":"x"}', {}),
            "json text": ({}, '{"v":{"a":[%d]}}', {}),
            "unknown": ({"type": "integer"}, '{"v":%d,"more":[1,2]}', {"unknown": "keep"}),
        }[of]
        self.codec = kcodec.JsonSchemaCodec({"properties": {"v": schema}}, **arguments)
        self.values = pa.array([text % row for row in range(ROWS)], pa.string())
        self.array = self.codec.decode(self.values)

    def time_decode(self, of: str) -> None:
        self.codec.decode(self.values)

    def time_encode(self, of: str) -> None:
        self.codec.encode(self.array.slice(0, max(1, ROWS // 10)) if of != "union" else self.array)


class Framed:
    """Framed documents of one id."""

    def setup(self) -> None:
        self.serde = kcodec.Serde("JSON_SR", "memory://bench-json-schema", topic="t", schema=SCHEMA)
        self.serde.serialize(kcodec.JsonSchemaCodec(SCHEMA).decode(documents(1)))
        self.values = pa.array([FRAME + value for value in documents(ROWS).to_pylist()], pa.binary())
        self.array = self.serde.deserialize(self.values)

    def time_deserialize(self) -> None:
        self.serde.deserialize(self.values)

    def time_serialize(self) -> None:
        self.serde.serialize(self.array)


class Schemas:
    """What it takes to make a codec."""

    params = ([15, 1000],)
    param_names = ("properties",)

    def setup(self, properties: int) -> None:
        wide = {"properties": {f"p{number}": {"type": "integer"} for number in range(properties)}}
        self.text = json.dumps(SCHEMA if properties == 15 else wide)

    def time_codec(self, properties: int) -> None:
        kcodec.JsonSchemaCodec(self.text)
