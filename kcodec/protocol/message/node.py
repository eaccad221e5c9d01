"""What the steps of plans of Kafka's messages do: numbers are big-endian, lengths stand before what they count.

"Compact" lengths and counts are uvarints of one more, and 0 for null.
"""

import enum
from dataclasses import dataclass

from kcodec.plan.node import Node


class Op(enum.Enum):
    """What a node does; the last ones take no bytes of a payload that is read."""

    BOOLEAN = "boolean"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    UINT16 = "uint16"
    UINT32 = "uint32"
    FLOAT64 = "float64"
    UUID = "uuid"  #: 16 bytes
    SHORT_STRING = "short_string"  #: int16 length, UTF-8
    COMPACT_STRING = "compact_string"
    SIZED_BYTES = "sized_bytes"  #: int32 length, bytes
    COMPACT_BYTES = "compact_bytes"
    RECORD = "record"  #: the children, one after the other
    COUNTED_ARRAY = "counted_array"  #: int32 count, that many of children[0]
    COMPACT_ARRAY = "compact_array"
    NULLABLE = "nullable"  #: children[0], whose length or count also may say that ``column`` is null
    NULLABLE_RECORD = "nullable_record"  #: int8 -1 for null, or 1 and children[0]
    TAGGED_RECORD = "tagged_record"  #: uvarint 0 for null, or 1 and children[0]
    TAG_SECTION = "tag_section"  #: the children, by tag; ``column`` holds unknown ones
    TAG = "tag"  #: tag ``size``: uvarint tag, uvarint bytes, children[0]; children[1] is its default

    UNSET = "unset"  #: ``column`` must be at the default children[0], or it is ``code``, ``reason``
    ABSENT = "absent"  #: the nullable ``column`` is null
    DEFAULT = "default"  #: children[0] reads ``data`` instead of the row; written: ``data``, whatever the columns hold
    FAIL = "fail"  #: this value is an error of its row: ``code``, ``reason``


@dataclass(frozen=True, slots=True)
class KafkaNode(Node):
    """One step of a plan of a message."""

    op: Op
    children: "tuple[KafkaNode, ...]" = ()
    #: TAG: its number.
    size: int = 0
    #: DEFAULT: the bytes that children[0] reads, or that are written. When encoding, of what has a column: the bytes
    #: written where there is no value.
    data: bytes = b""

    def notes(self) -> list[str]:
        """Return the number of a tag, and the bytes of a default."""
        notes = [f"size {self.size}"] * (self.size != 0)
        return notes + [self.data.hex() or "(empty)"] * (self.op is Op.DEFAULT)
