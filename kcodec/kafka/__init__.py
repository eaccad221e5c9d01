"""Topics as columns, in and out, without an object per record.

The names below are loaded when they are first used.
"""

from typing import TYPE_CHECKING

from kcodec._lazy import lazy_names

if TYPE_CHECKING:
    from kcodec.kafka.groups.group_list import (
        group_lag,
        group_members,
        list_groups,
        reset_offsets,
        topic_groups,
    )
    from kcodec.kafka.inspection import Inspection, inspect
    from kcodec.kafka.offsets import Range, limit_ranges, positions_json, read_positions, split_ranges
    from kcodec.kafka.reading.follower import Follower, follow
    from kcodec.kafka.reading.one_by_one import records
    from kcodec.kafka.reading.topic_reader import find_ranges, read
    from kcodec.kafka.report import ReadReport, RecordError
    from kcodec.kafka.topics.topic_admin import (
        create_topic,
        delete_topics,
        set_topic_settings,
        topic_settings,
    )
    from kcodec.kafka.topics.topic_list import list_topics
    from kcodec.kafka.writing.partitioner import partition_of
    from kcodec.kafka.writing.topic_writer import Written, write

__all__ = [
    "Follower",
    "Inspection",
    "Range",
    "ReadReport",
    "RecordError",
    "Written",
    "create_topic",
    "delete_topics",
    "find_ranges",
    "follow",
    "group_lag",
    "group_members",
    "inspect",
    "limit_ranges",
    "list_groups",
    "list_topics",
    "partition_of",
    "positions_json",
    "read",
    "read_positions",
    "records",
    "reset_offsets",
    "set_topic_settings",
    "split_ranges",
    "topic_groups",
    "topic_settings",
    "write",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        ".groups.group_list": ["group_lag", "group_members", "list_groups", "reset_offsets", "topic_groups"],
        ".inspection": ["Inspection", "inspect"],
        ".offsets": ["Range", "limit_ranges", "positions_json", "read_positions", "split_ranges"],
        ".reading.follower": ["Follower", "follow"],
        ".reading.one_by_one": ["records"],
        ".reading.topic_reader": ["find_ranges", "read"],
        ".report": ["ReadReport", "RecordError"],
        ".topics.topic_admin": ["create_topic", "delete_topics", "set_topic_settings", "topic_settings"],
        ".topics.topic_list": ["list_topics"],
        ".writing.partitioner": ["partition_of"],
        ".writing.topic_writer": ["Written", "write"],
    },
)
