"""The columns that record batches are read into."""

import struct

import pyarrow as pa

#: Bits of a batch's attributes; the lowest three are its codec.
TRANSACTIONAL, CONTROL_BATCH, DELETE_HORIZON = 16, 32, 64

#: What a batch of magic 2 starts with: base offset, length, leader epoch, magic, crc, attributes, last offset delta,
#: base timestamp, max timestamp, producer id, producer epoch, base sequence, count.
HEADER = struct.Struct(">qiibIhiqqqhii")

#: What a scan tells of a batch: fields and NumPy types. Magic 0 and 1 have -1 where they have nothing; their offset is
#: that of the last record. ``crc_valid`` is -1 if it was not compared.
BATCH_HEADER = [
    ("position", "i8"),
    ("size", "i4"),
    ("magic", "i1"),
    ("attributes", "u1"),
    ("offset", "i8"),
    ("last_delta", "i4"),
    ("base_timestamp", "i8"),
    ("max_timestamp", "i8"),
    ("leader_epoch", "i4"),
    ("producer_id", "i8"),
    ("producer_epoch", "i2"),
    ("base_sequence", "i4"),
    ("count", "i4"),
    ("crc", "u4"),
    ("crc_valid", "i1"),
]

#: Names of the types of control records, as Kafka's ControlRecordType spells them; the rest is UNKNOWN.
CONTROL_TYPES = (
    "ABORT",
    "COMMIT",
    "LEADER_CHANGE",
    "SNAPSHOT_HEADER",
    "SNAPSHOT_FOOTER",
    "KRAFT_VERSION",
    "KRAFT_VOTERS",
    "UNKNOWN",
)

#: Names of the timestamp types -1, 0 and 1, as Kafka's TimestampType prints them.
TIMESTAMP_TYPES = {-1: "NoTimestampType", 0: "CreateTime", 1: "LogAppendTime"}

TIMESTAMP = pa.timestamp("ms", "UTC")
CONTROL = pa.dictionary(pa.int8(), pa.string())
HEADERS = pa.list_(
    pa.field(
        "item",
        pa.struct([pa.field("key", pa.string(), nullable=False), ("value", pa.binary())]),
        nullable=False,
    )
)

#: One row a record.
RECORDS = pa.schema(
    [
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", TIMESTAMP),
        pa.field("timestamp_type", pa.int8(), nullable=False),
        pa.field("key", pa.binary_view()),
        pa.field("value", pa.binary_view()),
        pa.field("headers", HEADERS, nullable=False),
        pa.field("partition_leader_epoch", pa.int32(), nullable=False),
        pa.field("producer_id", pa.int64(), nullable=False),
        pa.field("producer_epoch", pa.int16(), nullable=False),
        pa.field("sequence", pa.int32(), nullable=False),
        pa.field("transactional", pa.bool_(), nullable=False),
        pa.field("control_type", CONTROL),
        pa.field("batch", pa.int32(), nullable=False),
    ]
)

#: One row a batch.
BATCHES = pa.schema(
    [
        pa.field("position", pa.int64(), nullable=False),
        pa.field("size", pa.int32(), nullable=False),
        pa.field("magic", pa.int8(), nullable=False),
        pa.field("compression", pa.string()),
        pa.field("base_offset", pa.int64()),
        pa.field("last_offset", pa.int64(), nullable=False),
        pa.field("count", pa.int32()),
        pa.field("timestamp_type", pa.int8(), nullable=False),
        pa.field("base_timestamp", TIMESTAMP),
        pa.field("max_timestamp", TIMESTAMP),
        pa.field("delete_horizon", TIMESTAMP),
        pa.field("partition_leader_epoch", pa.int32(), nullable=False),
        pa.field("producer_id", pa.int64(), nullable=False),
        pa.field("producer_epoch", pa.int16(), nullable=False),
        pa.field("base_sequence", pa.int32(), nullable=False),
        pa.field("last_sequence", pa.int32(), nullable=False),
        pa.field("transactional", pa.bool_(), nullable=False),
        pa.field("control", pa.bool_(), nullable=False),
        pa.field("crc", pa.uint32(), nullable=False),
        pa.field("crc_valid", pa.bool_()),
    ]
)


def record_schema(views: bool = True) -> pa.Schema:
    """Return the columns of records; keys and values are views (``binary_view``), or copies (``binary``)."""
    if views:
        return RECORDS
    view, copy = pa.binary_view(), pa.binary()
    return pa.schema([field.with_type(copy) if field.type == view else field for field in RECORDS])
