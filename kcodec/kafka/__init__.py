"""Topics as columns, in and out, without an object per record.

The names below are loaded when they are first used.
"""

from typing import TYPE_CHECKING

from kcodec._lazy import lazy_names

if TYPE_CHECKING:
    from kcodec.kafka.follower import Follower, follow
    from kcodec.kafka.group_list import group_lag, group_members, list_groups, reset_offsets, topic_groups
    from kcodec.kafka.inspection import Inspection, inspect
    from kcodec.kafka.offsets import Range, limit_ranges, positions_json, read_positions, split_ranges
    from kcodec.kafka.one_by_one import records
    from kcodec.kafka.partitioner import partition_of
    from kcodec.kafka.report import ReadReport, RecordError
    from kcodec.kafka.topic_admin import create_topic, delete_topics, set_topic_settings, topic_settings
    from kcodec.kafka.topic_list import list_topics
    from kcodec.kafka.topic_reader import find_ranges, read
    from kcodec.kafka.topic_writer import Written, write

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
        "Follower": ".follower",
        "Inspection": ".inspection",
        "Range": ".offsets",
        "ReadReport": ".report",
        "RecordError": ".report",
        "Written": ".topic_writer",
        "create_topic": ".topic_admin",
        "delete_topics": ".topic_admin",
        "follow": ".follower",
        "group_lag": ".group_list",
        "group_members": ".group_list",
        "inspect": ".inspection",
        "limit_ranges": ".offsets",
        "list_groups": ".group_list",
        "list_topics": ".topic_list",
        "partition_of": ".partitioner",
        "find_ranges": ".topic_reader",
        "positions_json": ".offsets",
        "read": ".topic_reader",
        "read_positions": ".offsets",
        "records": ".one_by_one",
        "reset_offsets": ".group_list",
        "set_topic_settings": ".topic_admin",
        "split_ranges": ".offsets",
        "topic_groups": ".group_list",
        "topic_settings": ".topic_admin",
        "write": ".topic_writer",
    },
)
