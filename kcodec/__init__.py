"""Columns of Kafka bytes to Arrow columns and back.

The names below are loaded when they are first used: importing the package imports nothing but its errors.
"""

from typing import TYPE_CHECKING

from kcodec._lazy import lazy_names
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
from kcodec.formats.table import codec_names

if TYPE_CHECKING:
    from kcodec import confluent, frames, kafka, ksql, plan, protocol, registry, wire
    from kcodec.columns.built.memory import release_unused
    from kcodec.formats.avro.codec import AvroCodec
    from kcodec.formats.avro.schema.types import AvroOptions
    from kcodec.formats.connect.codec import ConnectJsonCodec
    from kcodec.formats.connect.schema import ConnectSchema
    from kcodec.formats.debezium.unwrap import unwrap
    from kcodec.formats.decimals import DecimalCodec
    from kcodec.formats.derived import schema_of
    from kcodec.formats.json.codec import JsonCodec
    from kcodec.formats.json_schema.codec import JsonSchemaCodec
    from kcodec.formats.json_schema.types import JsonSchemaOptions
    from kcodec.formats.protobuf.codec import ProtobufCodec
    from kcodec.formats.protobuf.types import ProtobufOptions
    from kcodec.ksql.codec.codec import KsqlCodec
    from kcodec.objects.rows import column, rows
    from kcodec.plan import Limits
    from kcodec.protocol.message.codec import MessageCodec
    from kcodec.serde.serde import Serde

__all__ = [
    "CODES",
    "ArrayError",
    "AvroCodec",
    "AvroOptions",
    "CapacityError",
    "ConfigError",
    "ConnectJsonCodec",
    "ConnectSchema",
    "DecimalCodec",
    "DecodeError",
    "EncodeError",
    "JsonCodec",
    "JsonSchemaCodec",
    "JsonSchemaOptions",
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
    "column",
    "confluent",
    "frames",
    "kafka",
    "ksql",
    "plan",
    "protocol",
    "registry",
    "release_unused",
    "rows",
    "schema_of",
    "unwrap",
    "wire",
]

__version__ = "0.3.0"

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        ".": ["confluent", "frames", "kafka", "ksql", "plan", "protocol", "registry", "wire"],
        ".columns.built.memory": ["release_unused"],
        ".formats.avro.schema.types": ["AvroOptions"],
        ".formats.connect.schema": ["ConnectSchema"],
        ".formats.debezium.unwrap": ["unwrap"],
        ".formats.decimals": ["DecimalCodec"],
        ".formats.derived": ["schema_of"],
        ".formats.json.codec": ["JsonCodec"],
        ".formats.json_schema.types": ["JsonSchemaOptions"],
        ".formats.protobuf.types": ["ProtobufOptions"],
        ".objects.rows": ["column", "rows"],
        ".plan": ["Limits"],
        ".protocol.message.codec": ["MessageCodec"],
        ".serde.serde": ["Serde"],
    },
    codec_names(),
)
