"""What is found out of a topic by looking at its records."""

from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pytest
from cases import cases
from fake_broker import FakeCluster

import kcodec
from kcodec.errors import ConfigError, KafkaError, SchemaError
from kcodec.kafka import inspect, read, write
from kcodec.kafka.topics.looks import look, looks_of
from kcodec.protocol import write_batches
from kcodec.wire import crc32c


@pytest.fixture
def cluster():
    with FakeCluster({"t": 2}) as made:
        yield made


@pytest.fixture
def place(cluster, fast):
    return {"servers": cluster.address, "config": fast}


@pytest.mark.parametrize("format", ["AVRO", "PROTOBUF", "JSON_SR"])
@pytest.mark.parametrize("frame", [None, "APICURIO", "CONFLUENT_HEADER"])
def test_values_with_a_schema(place, format, frame):
    registry = kcodec.registry.open(f"memory://inspect-{format}-{frame}")
    serde = kcodec.Serde(format, registry, topic="t", frame=frame)
    rows = [{"id": 1, "items": [{"sku": "a"}, {"sku": "b"}]}, {"id": None, "items": []}, None]
    write(pa.table({"key": [b"a", b"b", b"a"], "value": pa.array(rows)}), "t", value=serde, **place)
    found = inspect("t", registry=registry, **place)
    assert (found.topic, found.records, found.sampled, found.damaged) == ("t", 3, 3, 0)
    assert found.size == sum(found.partitions["size"].to_pylist()) > 61
    assert (found.key.format, found.key.distinct, found.key.sizes) == ("TEXT", 2, (1, 1, 1))
    value = found.value
    ids = [registry.get(1).guid] if frame == "CONFLUENT_HEADER" else [1]
    assert (value.format, value.frame, value.schema_ids) == (format, frame or "CONFLUENT", ids)
    assert (value.nulls, value.problem) == (1, "")
    assert value.schema == registry.get(1).schema.text
    fields = {row["field"]: row for row in value.fields.to_pylist()}
    assert (fields["id"]["type"], fields["items[].sku"]["examples"]) == ("BIGINT", ["a", "b"])
    # What reads them is at hand.
    assert read("t", value=value.codec, **place).read_all()["value"].null_count == 1
    # Without a registry, what the bytes say is left.
    unknown = inspect("t", **place).value
    assert (unknown.format, unknown.schema_ids, unknown.codec) == (None, ids, None)
    with pytest.raises(SchemaError, match="without a registry it is not known what these schemas are"):
        unknown.schema_as()


def test_a_registry_without_the_schema(place):
    write(pa.table({"value": [b"\0\0\0\0\x07\x02"]}), "t", **place)
    found = inspect("t", registry="memory://inspect-empty", **place).value
    assert (found.format, found.schema_ids) == (None, [7])
    assert "schema 7: " in found.problem
    assert "schema 7: " in repr(found)


def test_plain_json(place):
    documents = [b'{"id": 1, "at": "2026-01-02T00:00:00Z"}', b'{"id": 2, "note": "<b>"}', b"{", None]
    write(pa.table({"value": documents}), "t", **place)
    value = inspect("t", **place).value
    assert value.looks == {"JSON": 2, "text like JSON": 1, "null": 1}
    assert value.schema_as() == "id BIGINT, at TIMESTAMP, note STRING"
    assert '"name": "Order"' in value.schema_as("AVRO", name="Order")
    assert '"title":"Order"' in value.schema_as("JSON_SR", name="Order")
    assert value.fields.to_pylist()[2] == {
        "field": "note",
        "type": "STRING",
        "nulls": 0.5,
        "examples": ["<b>"],
    }
    found = read("t", value=value.codec, columns=["value.id"], errors="null", **place).read_all()
    assert sorted(filter(None, found["id"].to_pylist())) == [1, 2]
    shown = inspect("t", **place)._repr_html_()
    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown


@pytest.mark.parametrize(
    ("values", "format", "arrow_type"),
    [
        ([b"a", "ä".encode()], "TEXT", pa.string()),
        ([b"\xff\xfe\xff\xff", b"\0\0\0\x05"], "INT", pa.int32()),
        ([b"\xff" * 8], "BIGINT", pa.int64()),
        ([b"\xff\0"], "BYTES", pa.binary()),
        ([b'{"schema": {"type": "int64", "optional": true}, "payload": 5}'], "CONNECT_JSON", pa.int64()),
        ([None], None, None),
        ([], None, None),
    ],
)
def test_other_payloads(place, values, format, arrow_type):
    write(
        pa.table({"key": pa.array(values, pa.binary()), "value": pa.array(values, pa.binary())}), "t", **place
    )
    found = inspect("t", **place)
    for side in (found.key, found.value):
        assert (side.format, side.arrow_type, side.problem) == (format, arrow_type, "")
    rows = read("t", key=found.key.codec, value=found.value.codec, **place).read_all()
    assert len(rows) == len(values)
    assert repr(found).startswith("t: 2 partitions, ")


def test_documents_of_several_kinds_have_no_columns(place):
    write(pa.table({"value": [b"{}", b"[1]"]}), "t", **place)
    value = inspect("t", **place).value
    assert (value.format, value.arrow_type) == ("JSON", None)
    assert "several kinds" in value.problem


def test_it_goes_back_where_offsets_hold_no_records(cluster, place):
    cluster.put(("t", 0), write_batches(pa.table({"value": [b"{}"], "offset": [3]})))
    # A batch of which nothing is left, and a hundred offsets behind it.
    empty = bytearray(write_batches(pa.table({"value": [b"c"], "offset": [900]}))[:61])
    empty[8:12] = (49).to_bytes(4, "big")
    empty[23:27] = (99).to_bytes(4, "big")
    empty[57:61] = bytes(4)
    empty[17:21] = crc32c(bytes(empty[21:])).to_bytes(4, "big")
    cluster.put(("t", 0), empty)
    found = inspect("t", sample=2, **place)
    assert (found.records, found.sampled, found.value.format) == (1000, 1, "JSON")


def test_rate_and_last(place):
    start = datetime(2026, 1, 2, tzinfo=timezone.utc)
    times = pa.array(
        [start + timedelta(seconds=2 * number) for number in range(11)], pa.timestamp("ms", "UTC")
    )
    write(pa.table({"value": [b"x"] * 11, "timestamp": times}), "t", partition=0, **place)
    found = inspect("t", **place)
    assert (found.rate, found.last) == (0.5, start + timedelta(seconds=20))
    assert inspect("t", sample=2, **place).sampled == 1


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"topic": "^t"}, ConfigError, "is not the name of one topic"),
        ({"topic": ["t"]}, ConfigError, "is not the name of a topic"),
        ({"topic": "t", "sample": 0}, ConfigError, "sample=0 is not a number of at least 1"),
        ({"topic": "none"}, KafkaError, "UNKNOWN_TOPIC_OR_PARTITION"),
    ],
)
def test_what_is_not_inspected(place, given, error, message):
    with pytest.raises(error, match=message):
        inspect(**given, **place)


@cases(
    ("payload", "text"),
    [
        ("0000000000000007", "int64"),
        ("0000000000ffffff", "int64"),
        ("0000000005026102", "schema id 5 or int64"),
        ("0000018cc251f400", "schema id 101570 or int64"),
        ("000000000502", "schema id 5"),
        ("000000000000000000", "schema id 0"),
        ("fffffffffffffffe", "int64 or double"),
        ("01" + "07" * 17, "schema GUID"),
        ("0300" + "07" * 17, "frame GLUE, schema 07070707-0707-0707-0707-070707070707"),
        ("0305" + "07" * 17, "frame GLUE, schema 07070707-0707-0707-0707-070707070707"),
        ("c301" + "00" * 8, "frame SINGLE_OBJECT, schema 0000000000000000"),
        ("00" + "0000000000000007" + "78", "frame APICURIO, schema id 7"),
        ("", "empty"),
    ],
)
def test_bytes_may_be_a_frame_or_a_number(payload, text):
    assert look(bytes.fromhex(payload)).text == text


def test_a_frame_in_a_header():
    headers = [
        [{"key": "apicurio.value.globalId", "value": bytes(7) + b"\x05"}],
        None,
        [{"key": "x", "value": None}],
        [{"key": "content-type", "value": b"avro/binary+" + b"0a" * 16}],
        [{"key": "content-type", "value": b"application/json+" + b"0a" * 16}],
        [{"key": "content-type", "value": b"application/json;serialization=Json+" + b"0a" * 16}],
        [{"key": "schemaId", "value": b"0a" * 16}],
    ]
    found = looks_of([b"\x02", b"\x02\xff", None, *[b"{}"] * 4], headers, is_key=False)
    assert [each.frame for each in found[3:]] == [
        "AZURE",
        "AZURE_JSON",
        "AZURE_JSON_PYTHON",
        "AZURE_SCHEMA_ID",
    ]
    assert (found[0].frame, found[0].key) == ("APICURIO_GLOBAL_ID", 5)
    assert [each.text for each in found][1:3] == ["binary", "null"]
