"""Messages that tests of codecs have in common."""

from kcodec.protocol.spec.message import MessageSpec

COMMIT = MessageSpec.parse("""{"type": "data", "name": "Commit", "validVersions": "0-4", "flexibleVersions": "4+",
    "fields": [
    {"name": "Offset", "type": "int64", "versions": "0+"},
    {"name": "LeaderEpoch", "type": "int32", "versions": "3+", "default": "-1", "ignorable": true},
    {"name": "Metadata", "type": "string", "versions": "0+"},
    {"name": "CommitTimestamp", "type": "int64", "versions": "0+"},
    {"name": "ExpireTimestamp", "type": "int64", "versions": "1", "default": "-1"},
    {"name": "TopicId", "type": "uuid", "versions": "4+", "taggedVersions": "4+", "tag": 0}]}""")

TREE = MessageSpec.parse("""{"type": "data", "name": "Tree", "validVersions": "0-1", "flexibleVersions": "1+",
    "fields": [
    {"name": "Topics", "type": "[]Topic", "versions": "0+", "fields": [
        {"name": "Name", "type": "string", "versions": "0+", "nullableVersions": "1+"},
        {"name": "Partitions", "type": "[]Partition", "versions": "0+", "fields": [
            {"name": "Index", "type": "int32", "versions": "0+"},
            {"name": "Replicas", "type": "[]int32", "versions": "0+", "nullableVersions": "0+"}]}]},
    {"name": "Cursor", "type": "Cursor", "versions": "1+", "nullableVersions": "1+", "default": "null", "fields": [
        {"name": "At", "type": "int32", "versions": "1+"}]},
    {"name": "Note", "type": "bytes", "versions": "1+", "taggedVersions": "1+", "tag": 0}]}""")

TOPICS = {
    "topics": [
        {"name": "a", "partitions": [{"index": 1, "replicas": [1, 2]}, {"index": 2, "replicas": None}]},
        {"name": "b", "partitions": []},
    ]
}
