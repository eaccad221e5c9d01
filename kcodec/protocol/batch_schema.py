"""The columns that record batches are read into."""

import pyarrow as pa

__all__ = ["BATCHES", "CONTROL", "CONTROL_TYPES", "HEADERS", "RECORDS", "TIMESTAMP", "TIMESTAMP_TYPES"]

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
        pa.field("codec", pa.string()),
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
