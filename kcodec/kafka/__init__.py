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
        "Follower": ".reading.follower",
        "Inspection": ".inspection",
        "Range": ".offsets",
        "ReadReport": ".report",
        "RecordError": ".report",
        "Written": ".writing.topic_writer",
        "create_topic": ".topics.topic_admin",
        "delete_topics": ".topics.topic_admin",
        "follow": ".reading.follower",
        "group_lag": ".groups.group_list",
        "group_members": ".groups.group_list",
        "inspect": ".inspection",
        "limit_ranges": ".offsets",
        "list_groups": ".groups.group_list",
        "list_topics": ".topics.topic_list",
        "partition_of": ".writing.partitioner",
        "find_ranges": ".reading.topic_reader",
        "positions_json": ".offsets",
        "read": ".reading.topic_reader",
        "read_positions": ".offsets",
        "records": ".reading.one_by_one",
        "reset_offsets": ".groups.group_list",
        "set_topic_settings": ".topics.topic_admin",
        "split_ranges": ".offsets",
        "topic_groups": ".groups.group_list",
        "topic_settings": ".topics.topic_admin",
        "write": ".writing.topic_writer",
    },
)
