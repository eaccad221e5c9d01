"""Columns of Kafka bytes to Arrow columns and back.

The names below are loaded when they are first used: importing the package imports nothing but its errors.
"""

import importlib
from typing import TYPE_CHECKING, Any

from kcodec.errors import (
    CODES,
    ArrayError,
    CapacityError,
    ConfigError,
    DecodeError,
    EncodeError,
    KafkaError,
    KafkaTimeoutError,
    KcodecError,
    RegistryError,
    SchemaError,
)

if TYPE_CHECKING:
    from kcodec import kafka, ksql, plan, protocol, registry, wire
    from kcodec.formats.avro.codec import AvroCodec
    from kcodec.formats.avro.types import TypeOptions
    from kcodec.formats.connect.codec import ConnectJsonCodec
    from kcodec.formats.connect.schema import ConnectSchema
    from kcodec.formats.debezium.unwrap import unwrap
    from kcodec.formats.decimals import DecimalCodec
    from kcodec.formats.json.codec import JsonCodec
    from kcodec.formats.json_schema.codec import JsonSchemaCodec
    from kcodec.formats.protobuf.codec import ProtobufCodec
    from kcodec.formats.protobuf.types import ProtobufOptions
    from kcodec.plan import Limits
    from kcodec.protocol.message.codec import MessageCodec
    from kcodec.serde.ksql import KsqlCodec
    from kcodec.serde.serde import Serde

__all__ = [
    "CODES",
    "ArrayError",
    "AvroCodec",
    "CapacityError",
    "ConfigError",
    "ConnectJsonCodec",
    "ConnectSchema",
    "DecimalCodec",
    "DecodeError",
    "EncodeError",
    "JsonCodec",
    "JsonSchemaCodec",
    "KafkaError",
    "KafkaTimeoutError",
    "KcodecError",
    "KsqlCodec",
    "Limits",
    "MessageCodec",
    "ProtobufCodec",
    "ProtobufOptions",
    "RegistryError",
    "SchemaError",
    "Serde",
    "TypeOptions",
    "kafka",
    "ksql",
    "plan",
    "protocol",
    "registry",
    "unwrap",
    "wire",
]

__version__ = "0.1.0"

_MODULES = {
    "AvroCodec": "kcodec.formats.avro.codec",
    "ConnectJsonCodec": "kcodec.formats.connect.codec",
    "ConnectSchema": "kcodec.formats.connect.schema",
    "JsonCodec": "kcodec.formats.json.codec",
    "JsonSchemaCodec": "kcodec.formats.json_schema.codec",
    "KsqlCodec": "kcodec.serde.ksql",
    "DecimalCodec": "kcodec.formats.decimals",
    "Limits": "kcodec.plan",
    "MessageCodec": "kcodec.protocol.message.codec",
    "ProtobufCodec": "kcodec.formats.protobuf.codec",
    "ProtobufOptions": "kcodec.formats.protobuf.types",
    "Serde": "kcodec.serde.serde",
    "TypeOptions": "kcodec.formats.avro.types",
    "unwrap": "kcodec.formats.debezium.unwrap",
}
_SUBPACKAGES = ("kafka", "ksql", "plan", "protocol", "registry", "wire")


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return importlib.import_module(f"kcodec.{name}")
    if name in _MODULES:
        value = globals()[name] = getattr(importlib.import_module(_MODULES[name]), name)
        return value
    raise AttributeError(f"module 'kcodec' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
