"""Topics whose keys and values have other frames than Confluent's, against a broker of the tests' own."""

import uuid
import zlib

import pyarrow as pa
import pytest
from fake_broker import FAST, FakeCluster

from kcodec import ConfigError, Serde, registry
from kcodec.frames import Frame
from kcodec.kafka import follow, read, write

SCHEMA = '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]}'
GUID = "01234567-89ab-cdef-fedc-ba9876543210"
ROWS = [{"id": 1}, None, {"id": 2}]
#: Frames of a user's own, and what the registry has as id.
OWN = {
    Frame(b"K"): 7,
    Frame(b"\xca\xfe", 4, compression="zlib"): 7,
    Frame(b"\xca\xfe", 8): 1 << 40,
    Frame(b"K", 8, "bytes", "zlib"): "0123456789abcdef",
    Frame(b"", 16, "bytes"): GUID,
    Frame(b"K", 16, "bytes", "none"): GUID,
    Frame(b"v1-", 16, "hex", header="own-{side}"): GUID,
}
TABLE = pa.table({"value": pa.array(ROWS, pa.struct([pa.field("id", pa.int64(), False)]))})


class Source:
    """A registry of one schema, whose id is a GUID or a number."""

    def __init__(self, schema_id):
        self.schema_id = schema_id

    def schema(self, schema_id):
        return {self.schema_id: SCHEMA}[schema_id]

    def register(self, subject, schema):
        return self.schema_id

    def latest(self, subject):
        return self.schema_id, SCHEMA


@pytest.fixture
def cluster():
    with FakeCluster({"orders": 1}) as made:
        yield made


def value(frame):
    """Return the format of values with a frame, as `kcodec.kafka` takes it, and what its registry has as id."""
    numbers = {"APICURIO": 1 << 40, "APICURIO_GLOBAL_ID": 3, **OWN}
    made = {"format": "AVRO", "schema": SCHEMA, "frame": frame}
    if frame in ("SINGLE_OBJECT", "NONE"):
        return made
    return {**made, "registry": registry.of(Source(numbers.get(frame, GUID)))}


@pytest.mark.parametrize(
    "frame",
    [
        "GLUE",
        "GLUE_ZLIB",
        "APICURIO",
        "APICURIO_GLOBAL_ID",
        "SINGLE_OBJECT",
        "AZURE",
        "AZURE_SCHEMA_ID",
        "NONE",
        *OWN,
    ],
    ids=str,
)
def test_written_and_read(cluster, frame):
    place = {"servers": cluster.address, "config": FAST}
    write(TABLE, "orders", value=value(frame), **place)
    records = read("orders", value=value(frame), columns=["value", "headers"], **place).read_all()
    assert records["value"].to_pylist() == ROWS
    header = Serde(**{**value(frame), "topic": "orders"}).frame.header_of(is_key=False)
    assert [[name for name, _ in map(dict.values, each)] for each in records["headers"].to_pylist()] == (
        [[header], [], [header]] if header else [[], [], []]
    )
    with follow("orders", start="earliest", value=value(frame), **place) as batches:
        assert batches.poll(timeout=5)["value"].to_pylist() == ROWS


def test_bombs_cost_their_own_rows(cluster):
    place = {"servers": cluster.address, "config": FAST}
    serde = Serde(**value("GLUE_ZLIB"), topic="orders")
    good = serde.serialize_one({"id": 1})
    bomb = good[:18] + zlib.compress(bytes((1 << 26) + 100_000))
    write(pa.table({"value": [bomb, good, bomb]}), "orders", **place)
    reader, report = read("orders", value=value("GLUE"), errors="report", columns=["value"], **place)
    assert reader.read_all()["value"].to_pylist() == [None, {"id": 1}, None]
    told = {"code": "size_limit", "schema_id": GUID}
    assert report.table().select(["offset", "code", "schema_id"]).to_pylist() == [
        {"offset": 0, **told},
        {"offset": 2, **told},
    ]


def test_a_header_names_the_message(cluster):
    text = 'syntax = "proto3"; package shop; message Other { } message R { int64 id = 1; }'
    handle = registry.open("memory://kafka-message-header")
    made = {"format": "PROTOBUF", "registry": handle, "frame": "APICURIO_CONTENT_ID", "schema": text}
    place = {"servers": cluster.address, "config": FAST}
    given = pa.array([[("own", b"1")], None, None], pa.map_("string", "binary"))
    write(TABLE.append_column("headers", given), "orders", value={**made, "message": "shop.R"}, **place)
    columns = ["value", "headers"]
    records = read("orders", value={**made, "message": "R"}, columns=columns, **place).read_all()
    assert records["value"].to_pylist() == ROWS
    named = [("apicurio.value.contentId", bytes(7) + b"\x01"), ("apicurio.protobuf.type", b"R")]
    headers = [[tuple(header.values()) for header in row] for row in records["headers"].to_pylist()]
    assert headers == [[("own", b"1"), *named], [], named]
    # Both messages, of which each value says which one it is.
    both = read("orders", value={**made, "message": ["R", "Other"]}, columns=["value"], **place).read_all()
    assert [row and row["shop.R"] for row in both["value"].to_pylist()] == ROWS


def test_reports_have_ids_as_text(cluster):
    place = {"servers": cluster.address, "config": FAST}
    broken = b"\x03\x00" + uuid.UUID(GUID).bytes + b"\x80"
    other = b"\x03\x00" + bytes(16)
    write(pa.table({"value": [broken, other, b"\0\0\0\0\x07x"]}), "orders", **place)
    reader, report = read("orders", value=value("GLUE"), errors="report", **place)
    assert reader.read_all().num_rows == 3
    assert report.table().select(["code", "schema_id"]).to_pylist() == [
        {"code": "truncated", "schema_id": GUID},
        {"code": "unknown_schema_id", "schema_id": str(uuid.UUID(int=0))},
        {"code": "frame_magic", "schema_id": None},
    ]
    assert "looks like Confluent's frame: frame=CONFLUENT" in report.faults[2].reason
    plain, none = read("orders", errors="report", **place)
    assert (plain.read_all().num_rows, none.table().schema.field("schema_id").type) == (3, pa.int64())


def test_a_frame_that_needs_a_registry(cluster):
    given = {"format": "AVRO", "schema": SCHEMA, "frame": "GLUE"}
    with pytest.raises(ConfigError, match="value needs a registry"):
        read("orders", value=given, servers=cluster.address, config=FAST)
