"""Protobuf columns: decode, encode, projection, messages that alternate, rows that are bad, schemas that are parsed."""

import functools
import random

import pyarrow as pa

import kcodec

from . import ROWS

FLAT = """
syntax = "proto3";
message Tick {
  int64 ts = 1; string symbol = 2; double price = 3; sint32 size = 4; uint64 seq = 5; string venue = 6;
  optional double bid = 7; optional double ask = 8; optional string condition = 9; bool auction = 10;
}
"""
NESTED = """
syntax = "proto3";
import "google/protobuf/timestamp.proto";
message Order {
  int64 id = 1; Status status = 2; google.protobuf.Timestamp created = 3; optional string email = 4; int64 total = 5;
  int32 quantity = 6; Address address = 7; repeated string tags = 8; map<string, string> attributes = 9;
  repeated Line lines = 10; repeated int32 sizes = 11; oneof way { string road = 12; int64 ship = 13; }
  enum Status { NEW = 0; PAID = 1; SHIPPED = 2; CANCELLED = 3; }
  message Address { string street = 1; string city = 2; double lat = 3; }
  message Line { string sku = 1; int32 quantity = 2; double price = 3; }
}
message Copy { Order order = 1; }
"""
SCHEMAS = {"flat": FLAT, "nested": NESTED}
_WORDS = ["alpha", "beta", "gamma", "kafka", "spark", "arrow", "column", "orchid", "Zürich", "crème", "東京"]


def _flat(random: random.Random, row: int) -> dict:
    return {
        "ts": 1_700_000_000_000 + row * 137,
        "symbol": random.choice(_WORDS),
        "price": random.uniform(1, 500),
        "size": random.randint(-1000, 1000),
        "seq": row,
        "venue": random.choice(_WORDS),
        "bid": random.uniform(1, 500) if random.random() < 0.7 else None,
        "ask": random.uniform(1, 500) if random.random() < 0.7 else None,
        "condition": random.choice(_WORDS) if random.random() < 0.3 else None,
        "auction": random.random() < 0.1,
    }


def _nested(random: random.Random, row: int) -> dict:
    return {
        "id": row << 20,
        "status": random.choice(["NEW", "PAID", "SHIPPED", "CANCELLED"]),
        "created": 1_700_000_000_000_000 + row,
        "email": f"{random.choice(_WORDS)}@example.org" if random.random() < 0.6 else None,
        "total": random.randint(0, 10**7),
        "quantity": random.randint(0, 300),
        "address": {
            "street": " ".join(random.choices(_WORDS, k=3)),
            "city": random.choice(_WORDS),
            "lat": 47.1,
        },
        "tags": random.choices(_WORDS, k=random.randint(0, 4)),
        "attributes": [(word, word.upper()) for word in random.sample(_WORDS, random.randint(0, 3))],
        "lines": [
            {
                "sku": f"S-{random.randint(0, 9999)}",
                "quantity": random.randint(1, 9),
                "price": random.uniform(1, 99),
            }
            for _ in range(random.randint(0, 3))
        ],
        "sizes": random.choices(range(100_000), k=random.randint(0, 6)),
        "road": random.choice(_WORDS) if row % 2 else None,
        "ship": None if row % 2 else row,
    }


@functools.cache
def codec(schema: str) -> kcodec.ProtobufCodec:
    """Return the codec of a schema."""
    return kcodec.ProtobufCodec(SCHEMAS[schema])


@functools.cache
def array(schema: str) -> pa.Array:
    """Return messages as columns."""
    numbers = random.Random(17)
    make = _flat if schema == "flat" else _nested
    return pa.array([make(numbers, row) for row in range(ROWS)], codec(schema).arrow_type)


@functools.cache
def payloads(schema: str) -> pa.Array:
    """Return messages as bytes."""
    return codec(schema).encode(array(schema))


class Codec:
    """Plain payloads."""

    params = (["flat", "nested"],)
    param_names = ("schema",)

    def setup(self, schema: str) -> None:
        self.codec, self.values, self.array = codec(schema), payloads(schema), array(schema)

    def time_decode(self, schema: str) -> None:
        self.codec.decode(self.values)

    def time_encode(self, schema: str) -> None:
        self.codec.encode(self.array)

    def time_make(self, schema: str) -> None:
        kcodec.ProtobufCodec(SCHEMAS[schema]).decode([None])


class Upb:
    """What parsing alone takes with google.protobuf, on a tenth of the rows."""

    params = (["flat", "nested"],)
    param_names = ("schema",)

    def setup(self, schema: str) -> None:
        from google.protobuf import descriptor_pb2, message_factory

        files = descriptor_pb2.FileDescriptorSet.FromString(codec(schema).descriptor_set).file
        self.parse = message_factory.GetMessages(files)["Tick" if schema == "flat" else "Order"].FromString
        values = payloads(schema)
        self.values = values.slice(0, max(1, len(values) // 10)).to_pylist()

    def time_decode(self, schema: str) -> None:
        for value in self.values:
            self.parse(value)


class Shapes:
    """Payloads in forms of their own."""

    def setup(self) -> None:
        values = payloads("nested").to_pylist()
        self.codec = codec("nested")
        self.few = kcodec.ProtobufCodec(NESTED, fields=["id", "address.city"])
        self.values = payloads("nested")
        # A field that the schema does not have stands before all others, and behind them.
        self.unknown = pa.array([b"\xa2\x06\x03abc" + value for value in values], pa.binary())
        self.behind = pa.array([value + b"\xa2\x06\x03abc" for value in values], pa.binary())
        # What a reader has whose message is older: fields that it does not know stand between those that it does.
        older = NESTED.replace("optional string email = 4;", "").replace("int32 quantity = 6;", "")
        self.older = kcodec.ProtobufCodec(older.replace("int32 quantity = 2;", ""))
        self.numbers = kcodec.ProtobufCodec('syntax = "proto3"; message M { repeated double d = 1; }')
        row = [1 / (number + 3) for number in range(768)]
        self.embeddings = self.numbers.encode(pa.array([{"d": row}] * max(1, ROWS // 100)))

    def time_decode_two_fields(self) -> None:
        self.few.decode(self.values)

    def time_decode_unknown_field_before(self) -> None:
        self.codec.decode(self.unknown)

    def time_decode_unknown_field_behind(self) -> None:
        self.codec.decode(self.behind)

    def time_decode_newer_fields(self) -> None:
        self.older.decode(self.values)

    def time_decode_embeddings(self) -> None:
        self.numbers.decode(self.embeddings)


class Messages:
    """Framed values of one message, and of two that alternate."""

    params = ([1, 2],)
    param_names = ("messages",)

    def setup(self, messages: int) -> None:
        registry = kcodec.registry.open(f"memory://asv-protobuf-{messages}")
        number = registry.register("orders-value", kcodec.registry.Schema(NESTED, "PROTOBUF")).id
        prefix = b"\0" + number.to_bytes(4, "big")
        copies = kcodec.ProtobufCodec(NESTED, "Copy")
        wrapped = copies.encode(pa.StructArray.from_arrays([array("nested")], ["order"])).to_pylist()
        plain = payloads("nested").to_pylist()
        self.values = pa.array(
            [
                prefix + (b"\2\2" + wrapped[row] if messages == 2 and row % 2 else b"\0" + plain[row])
                for row in range(len(plain))
            ],
            pa.binary(),
        )
        names = ["Order", "Copy"][:messages]
        self.serde = kcodec.Serde("PROTOBUF", registry, topic="orders", config={}, message=names)
        self.serde.deserialize(self.values)

    def time_deserialize(self, messages: int) -> None:
        self.serde.deserialize(self.values)


class BadRows:
    """Rows of which some are cut short."""

    params = ([0, 1, 10, 50],)
    param_names = ("percent",)

    def setup(self, percent: int) -> None:
        self.codec = codec("nested")
        values = payloads("nested").to_pylist()
        cut = [value[:-1] if row % 100 < percent else value for row, value in enumerate(values)]
        self.values = pa.array(cut, pa.binary())

    def time_report(self, percent: int) -> None:
        self.codec.decode(self.values, errors="report")


class Schemas:
    """A text of a thousand lines."""

    def setup(self) -> None:
        from kcodec.formats.protobuf.schema import ProtobufSchema

        self.parse = ProtobufSchema.of
        fields = "\n".join(
            f'  string field_{number} = {number} [json_name = "f{number}"];' for number in range(1, 11)
        )
        self.text = 'syntax = "proto3";\npackage big;\n' + "\n".join(
            f"// Message {number}.\nmessage M{number} {{\n{fields}\n}}" for number in range(77)
        )

    def time_parse_a_thousand_lines(self) -> None:
        self.parse(self.text)
