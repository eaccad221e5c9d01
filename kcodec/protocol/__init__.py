"""Kafka's own messages: definitions, record batches and internal topics.

The names below are loaded when they are first used.
"""

from typing import TYPE_CHECKING

from kcodec._lazy import lazy_names

if TYPE_CHECKING:
    from kcodec.protocol.batch.headers import list_batches
    from kcodec.protocol.batch.message_records import expand_records
    from kcodec.protocol.batch.read import read_batches, stream_batches
    from kcodec.protocol.batch.segment import read_segment, stream_segment
    from kcodec.protocol.batch.write import write_batches
    from kcodec.protocol.connection import Connection, Exchange, OpenedResponse, join_messages, split_messages
    from kcodec.protocol.message.codec import MessageCodec
    from kcodec.protocol.spec.definitions import Definitions, load
    from kcodec.protocol.spec.evolution import Violation, check_evolution
    from kcodec.protocol.spec.json import SpecError
    from kcodec.protocol.spec.message import MessageSpec
    from kcodec.protocol.spec.model import FieldSpec, FieldType, StructSpec
    from kcodec.protocol.spec.versions import Versions
    from kcodec.protocol.topics.codec import TopicCodec, decode_topic

__all__ = [
    "Connection",
    "Definitions",
    "Exchange",
    "FieldSpec",
    "FieldType",
    "MessageCodec",
    "MessageSpec",
    "OpenedResponse",
    "SpecError",
    "StructSpec",
    "TopicCodec",
    "Versions",
    "Violation",
    "check_evolution",
    "decode_topic",
    "expand_records",
    "join_messages",
    "list_batches",
    "load",
    "read_batches",
    "read_segment",
    "split_messages",
    "stream_batches",
    "stream_segment",
    "write_batches",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        ".batch.headers": ["list_batches"],
        ".batch.message_records": ["expand_records"],
        ".batch.read": ["read_batches", "stream_batches"],
        ".batch.segment": ["read_segment", "stream_segment"],
        ".batch.write": ["write_batches"],
        ".connection": ["Connection", "Exchange", "OpenedResponse", "join_messages", "split_messages"],
        ".message.codec": ["MessageCodec"],
        ".spec.definitions": ["Definitions", "load"],
        ".spec.evolution": ["Violation", "check_evolution"],
        ".spec.json": ["SpecError"],
        ".spec.message": ["MessageSpec"],
        ".spec.model": ["FieldSpec", "FieldType", "StructSpec"],
        ".spec.versions": ["Versions"],
        ".topics.codec": ["TopicCodec", "decode_topic"],
    },
)
