"""Kafka's own messages: columns, rows of mixed versions, rows that are bad, and one message at a time."""

import functools

import pyarrow as pa

from kcodec import MessageCodec
from kcodec.protocol import MessageSpec
from kcodec.protocol.topics.builtin_layouts import builtin_definitions

from . import ROWS

#: A message like MetadataResponse: structs in arrays in arrays, strings, UUIDs and tags.
CLUSTER = """{"type": "data", "name": "Cluster", "validVersions": "0-1", "flexibleVersions": "1+", "fields": [
    {"name": "Brokers", "type": "[]Broker", "versions": "0+", "fields": [
        {"name": "NodeId", "type": "int32", "versions": "0+"},
        {"name": "Host", "type": "string", "versions": "0+"},
        {"name": "Rack", "type": "string", "versions": "0+", "nullableVersions": "0+"}]},
    {"name": "Topics", "type": "[]Topic", "versions": "0+", "fields": [
        {"name": "Name", "type": "string", "versions": "0+"},
        {"name": "TopicId", "type": "uuid", "versions": "0+"},
        {"name": "Partitions", "type": "[]Partition", "versions": "0+", "fields": [
            {"name": "Index", "type": "int32", "versions": "0+"},
            {"name": "Leader", "type": "int32", "versions": "0+"},
            {"name": "Replicas", "type": "[]int32", "versions": "0+"},
            {"name": "Isr", "type": "[]int32", "versions": "0+"}]}]},
    {"name": "Epoch", "type": "int64", "versions": "1+", "taggedVersions": "1+", "tag": 0, "default": "-1"}]}"""


@functools.cache
def spec(name: str) -> MessageSpec:
    return MessageSpec.parse(CLUSTER) if name == "Cluster" else builtin_definitions()[name]


@functools.cache
def message(name: str, row: int) -> dict:
    if name == "OffsetCommitValue":
        return {
            "offset": 1000 + row,
            "metadata": f"m{row}" if row % 3 == 0 else "",
            "commitTimestamp": 1_700_000_000_000,
        }
    return {
        "brokers": [{"nodeId": i, "host": f"broker-{i}.example.org", "rack": None} for i in range(3)],
        "topics": [
            {
                "name": f"orders.events.topic-{topic}",
                "topicId": bytes([topic]) * 16,
                "partitions": [
                    {"index": i, "leader": i % 3, "replicas": [0, 1, 2], "isr": [0, 1, 2]} for i in range(6)
                ],
            }
            for topic in range(5)
        ],
        "epoch": row,
    }


@functools.cache
def payloads(name: str, version: int) -> pa.Array:
    codec = MessageCodec(spec(name), version)
    count = ROWS if name == "OffsetCommitValue" else ROWS // 20
    kept = {field.name for field in codec.arrow_type}
    some = [
        codec.encode_one({key: value for key, value in message(name, row).items() if key in kept})
        for row in range(100)
    ]
    return pa.array([some[row % 100] for row in range(count)], pa.binary())


class Columns:
    """Columns of one version: without tags, and with them."""

    params = (["OffsetCommitValue", "Cluster"], ["plain", "flexible"])
    param_names = ("message", "version")

    def setup(self, name: str, form: str) -> None:
        versions = spec(name).valid_versions
        version = versions.highest if form == "flexible" else versions.highest - 1
        self.codec = MessageCodec(spec(name), version)
        self.values = payloads(name, version)
        self.array = self.codec.decode(self.values)

    def time_decode(self, name: str, form: str) -> None:
        self.codec.decode(self.values)

    def time_encode(self, name: str, form: str) -> None:
        self.codec.encode(self.array)

    def time_make(self, name: str, form: str) -> None:
        MessageCodec(spec(name), self.codec.versions[0]).decode([None])


class Mixed:
    """Rows that each begin with their version."""

    def setup(self) -> None:
        self.codec = MessageCodec.for_versions(spec("OffsetCommitValue"), header="version")
        rows = [payloads("OffsetCommitValue", version).to_pylist() for version in range(5)]
        self.versions = [row % 5 for row in range(ROWS)]
        self.values = pa.array(
            [version.to_bytes(2, "big") + rows[version][row] for row, version in enumerate(self.versions)],
            pa.binary(),
        )
        self.damaged = pa.array(
            [value[:-1] if row % 10 == 0 else value for row, value in enumerate(self.values.to_pylist())],
            pa.binary(),
        )
        self.array = self.codec.decode(self.values)

    def time_decode(self) -> None:
        self.codec.decode(self.values)

    def time_decode_with_bad_rows(self) -> None:
        self.codec.decode(self.damaged, errors="null")

    def time_encode(self) -> None:
        self.codec.encode(self.array, versions=self.versions)


class One:
    """One message at a time, as dicts and as JSON."""

    params = (["OffsetCommitValue", "Cluster"],)
    param_names = ("message",)

    def setup(self, name: str) -> None:
        self.codec = MessageCodec(spec(name), spec(name).valid_versions.highest)
        self.data = payloads(name, self.codec.versions[0])[0].as_py()
        self.message = self.codec.decode_one(self.data)
        self.form = self.codec.to_json(self.message)

    def time_decode_one(self, name: str) -> None:
        self.codec.decode_one(self.data)

    def time_encode_one(self, name: str) -> None:
        self.codec.encode_one(self.message)

    def time_to_json(self, name: str) -> None:
        self.codec.to_json(self.message)

    def time_from_json(self, name: str) -> None:
        self.codec.from_json(self.form)
