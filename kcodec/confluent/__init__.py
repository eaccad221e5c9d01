"""The serializers and deserializers of confluent-kafka, several times as fast: the same names, arguments and answers.

The names below are loaded when they are first used, and so is ``confluent_kafka``, which they need.
"""

from typing import TYPE_CHECKING

from kcodec._lazy import lazy_names

if TYPE_CHECKING:
    from kcodec.confluent.avro import AvroDeserializer, AvroSerializer
    from kcodec.confluent.json_schema import JSONDeserializer, JSONSerializer
    from kcodec.confluent.protobuf import ProtobufDeserializer, ProtobufSerializer

__all__ = [
    "AvroDeserializer",
    "AvroSerializer",
    "JSONDeserializer",
    "JSONSerializer",
    "ProtobufDeserializer",
    "ProtobufSerializer",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        ".avro": ["AvroDeserializer", "AvroSerializer"],
        ".json_schema": ["JSONDeserializer", "JSONSerializer"],
        ".protobuf": ["ProtobufDeserializer", "ProtobufSerializer"],
    },
)
