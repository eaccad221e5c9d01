"""Kafka's own messages: definitions, record batches and internal topics.

The names below are loaded when they are first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kcodec.protocol.batch import list_batches, read_batches, stream_batches
    from kcodec.protocol.batch_write import write_batches
    from kcodec.protocol.definitions import Definitions, load
    from kcodec.protocol.evolution import Violation, check_evolution
    from kcodec.protocol.framing import Connection, Exchange, join_frames, split_frames
    from kcodec.protocol.message import MessageCodec
    from kcodec.protocol.message_records import expand_records
    from kcodec.protocol.segment import read_segment, stream_segment
    from kcodec.protocol.spec import FieldSpec, FieldType, MessageSpec, SpecError, StructSpec
    from kcodec.protocol.topics import TopicCodec, decode_topic
    from kcodec.protocol.versions import Versions

__all__ = [
    "Connection",
    "Definitions",
    "Exchange",
    "FieldSpec",
    "FieldType",
    "MessageCodec",
    "MessageSpec",
    "SpecError",
    "StructSpec",
    "TopicCodec",
    "Versions",
    "Violation",
    "check_evolution",
    "decode_topic",
    "expand_records",
    "join_frames",
    "list_batches",
    "load",
    "read_batches",
    "read_segment",
    "split_frames",
    "stream_batches",
    "stream_segment",
    "write_batches",
]

_MODULES = {
    "Connection": "framing",
    "Definitions": "definitions",
    "Exchange": "framing",
    "FieldSpec": "spec",
    "FieldType": "spec",
    "MessageCodec": "message",
    "MessageSpec": "spec",
    "SpecError": "spec_json",
    "StructSpec": "spec",
    "TopicCodec": "topics",
    "Versions": "versions",
    "Violation": "evolution",
    "check_evolution": "evolution",
    "decode_topic": "topics",
    "expand_records": "message_records",
    "join_frames": "framing",
    "list_batches": "batch",
    "load": "definitions",
    "read_batches": "batch",
    "read_segment": "segment",
    "split_frames": "framing",
    "stream_batches": "batch",
    "stream_segment": "segment",
    "write_batches": "batch_write",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value = globals()[name] = getattr(importlib.import_module(f"kcodec.protocol.{_MODULES[name]}"), name)
        return value
    raise AttributeError(f"module 'kcodec.protocol' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
