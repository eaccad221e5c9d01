"""Topics as columns, in and out, without an object per record.

The names below are loaded when they are first used.
"""

from typing import TYPE_CHECKING

from kcodec._lazy import lazy_names

if TYPE_CHECKING:
    from kcodec.kafka.follower import Follower, follow
    from kcodec.kafka.offsets import Range, limit_ranges, positions_json, read_positions, split_ranges
    from kcodec.kafka.one_by_one import records
    from kcodec.kafka.partitioner import partition_of
    from kcodec.kafka.report import ReadReport, RecordError
    from kcodec.kafka.topic_list import list_topics
    from kcodec.kafka.topic_reader import plan, read
    from kcodec.kafka.topic_writer import Written, write

__all__ = [
    "Follower",
    "Range",
    "ReadReport",
    "RecordError",
    "Written",
    "follow",
    "limit_ranges",
    "list_topics",
    "partition_of",
    "plan",
    "positions_json",
    "read",
    "read_positions",
    "records",
    "split_ranges",
    "write",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Follower": ".follower",
        "Range": ".offsets",
        "ReadReport": ".report",
        "RecordError": ".report",
        "Written": ".topic_writer",
        "follow": ".follower",
        "limit_ranges": ".offsets",
        "list_topics": ".topic_list",
        "partition_of": ".partitioner",
        "plan": ".topic_reader",
        "positions_json": ".offsets",
        "read": ".topic_reader",
        "read_positions": ".offsets",
        "records": ".one_by_one",
        "split_ranges": ".offsets",
        "write": ".topic_writer",
    },
)
