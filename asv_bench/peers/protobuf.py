"""kcodec's entries for a benchmark of Protobuf decoders that offers a case as bytes.

A case has ``fds_bytes`` (a FileDescriptorSet), ``payloads`` and ``framed`` (lists of bytes), ``arrow_payloads`` and
``arrow_framed`` (the same as Arrow arrays). `contestants` gives functions that return record batches, `encoders`
functions that return binary arrays.
"""

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from callers import callers

import kcodec

_MESSAGE = "shop.OrderEvent"
#: The same message under a second name, for topics that hold several.
_SCHEMA = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
enum Status { NEW = 0; PAID = 1; PICKED = 2; SHIPPED = 3; DELIVERED = 4; CANCELLED = 5; }
message Address { string street = 1; string city = 2; string zip = 3; string country = 4; double lat = 5;
  double lon = 6; }
message Item { string sku = 1; int32 qty = 2; double price = 3; }
"""
_FIELDS = """{
  int64 order_id = 1; int64 customer_id = 2; Status status = 3; google.protobuf.Timestamp created_at = 4;
  google.protobuf.Timestamp updated_at = 5; string currency = 6; string channel = 7; optional string email = 8;
  optional string note = 9; int64 total = 10; optional int64 discount = 11; int32 quantity = 12; double weight = 13;
  optional double score = 14; bool is_gift = 15; Address address = 16; repeated string tags = 17;
  map<string, string> attrs = 18; repeated Item items = 19; string device_id = 20; }
"""


#: Shows the columns of a struct without nulls as a batch; nothing is copied.
_batch = pa.RecordBatch.from_struct_array


def _codec(case: Any) -> kcodec.ProtobufCodec:
    """Return a codec with the reference's types: enums as numbers, times in nanoseconds."""
    return kcodec.ProtobufCodec(case.fds_bytes, _MESSAGE, enums="number", unit="ns")


def contestants(case: Any) -> dict[str, Any]:
    """Return what decodes."""
    codec = _codec(case)
    registry = kcodec.registry.open("memory://protobuf-peers")
    text = f"{_SCHEMA} message OrderEvent {_FIELDS} message OrderCopy {_FIELDS}"
    number = registry.register("t-value", kcodec.registry.Schema(text, "PROTOBUF")).id
    prefix = b"\0" + number.to_bytes(4, "big")
    # Of the messages Address, Item, OrderEvent and OrderCopy, the third and the fourth.
    first, second = prefix + b"\2\4", prefix + b"\2\6"
    one = pa.array([first + payload for payload in case.payloads], pa.binary())
    two = pa.array(
        [(second if row % 2 else first) + each for row, each in enumerate(case.payloads)], pa.binary()
    )
    options = kcodec.ProtobufOptions(enums="number", unit="ns")
    settings = {"options": options, "topic": "t"}
    serde = kcodec.Serde("PROTOBUF", registry, **settings)
    both = kcodec.Serde("PROTOBUF", registry, config={"protobuf.any.message": True}, **settings)

    return {
        "kcodec decode, 1 thread": lambda: _batch(codec.decode(case.arrow_payloads)),
        "kcodec decode from list[bytes]": lambda: _batch(codec.decode(case.payloads)),
        "kcodec decode, 1 caller that goes on": callers(codec.decode, case.arrow_payloads, 1),
        "kcodec decode, 2 callers that go on": callers(codec.decode, case.arrow_payloads, 2),
        "kcodec serde, framed, 1 message": lambda: _batch(serde.deserialize(one)),
        "kcodec serde, framed, 2 interleaved messages": lambda: _batch(both.deserialize(two)),
    }


def encoders(case: Any) -> dict[str, Any]:
    """Return what encodes."""
    codec = _codec(case)
    own = codec.decode(case.arrow_payloads)
    return {
        "kcodec encode, 1 thread": lambda: codec.encode(own),
        "kcodec encode, 1 caller that goes on": callers(codec.encode, own, 1),
        "kcodec encode, 2 callers that go on": callers(codec.encode, own, 2),
    }
