"""``kcodec consume --dead-letters``: records that cannot be decoded, put aside."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fake_broker import FAST, FakeCluster
from kafka_orders import ROWS

from kcodec.kafka import read, write

BAD = b"\2bad bytes"
FACTS = {
    "error.code": b"frame_magic",
    "error.reason": b"the first byte is not a known magic byte",
    "error.byte": b"0",
    "error.topic": b"orders",
    "error.partition": b"1",
    "error.offset": b"3",
    "error.column": b"value",
}


@pytest.fixture
def cluster():
    with FakeCluster({"orders": 2, "orders-dead": 1}) as made:
        yield made


@pytest.fixture
def damaged(filled, cluster):
    """Put two records that are no Avro behind those that are, with a good one between them."""
    headers = pa.array([[("trace", b"7")], None], pa.map_("string", "binary"))
    rows = pa.table({"key": [b"k", None], "value": [BAD, b"\0\0\0\0\1\2\0"], "headers": headers})
    write(rows, "orders", partition=1, servers=cluster.address, config=FAST)
    write(pa.table({"value": [b"\0\0\0\0\x63"]}), "orders", partition=1, servers=cluster.address, config=FAST)
    return "consume", "orders", "--value", "avro", "--registry", filled, "--columns", "value"


def facts(letter):
    return {header["key"]: header["value"] for header in letter["headers"]}


def check(letters):
    first, second = letters
    assert (first["key"], first["value"], second["value"]) == (b"k", BAD, b"\0\0\0\0\x63")
    assert facts(first) == {"trace": b"7", **FACTS}
    assert facts(second)["error.schema_id"] == b"99"
    assert facts(second)["error.offset"] == b"5"


@pytest.mark.parametrize(
    "more", [(), ("--follow", "--from", "earliest", "--group", "g", "-n", "6")], ids=" ".join
)
def test_a_topic(run, damaged, cluster, more):
    status, out, errors = run(*damaged, "--dead-letters", "orders-dead", *more)
    assert (status, len(out.splitlines()), errors.count("\n")) == (1, 6, 2)
    check(
        read("orders-dead", servers=cluster.address, columns=["key", "value", "headers"])
        .read_all()
        .to_pylist()
    )


def test_a_file_that_is_written_again(run, damaged, cluster, tmp_path):
    file = tmp_path / "letters.parquet"
    assert run(*damaged, "--dead-letters", file)[0] == 1
    letters = pq.read_table(file)
    check(letters.to_pylist())
    assert run("produce", "orders-dead", "--file", file)[0] == 0
    again = read("orders-dead", servers=cluster.address, columns=letters.column_names).read_all()
    assert again.to_pylist() == letters.to_pylist()


def test_a_record_with_two_faults_is_one_letter(run, damaged, cluster):
    (*words, _, _) = damaged
    assert run(*words, "--key", "avro", "--dead-letters", "orders-dead")[0] == 1
    found = read("orders-dead", servers=cluster.address, columns=["headers"]).read_all().to_pylist()
    columns = [(facts(each)["error.offset"], facts(each)["error.column"]) for each in found]
    assert columns == [(b"0", b"key"), (b"1", b"key"), (b"3", b"key"), (b"5", b"value")]


def test_faults_far_from_each_other(run, damaged, cluster, monkeypatch):
    monkeypatch.setattr("kcodec.cli.dead_letters._NEAR", 0)
    assert run(*damaged, "--dead-letters", "orders-dead")[0] == 1
    check(
        read("orders-dead", servers=cluster.address, columns=["key", "value", "headers"])
        .read_all()
        .to_pylist()
    )


def test_nothing_to_put_aside(run, filled, tmp_path):
    file = tmp_path / "letters.parquet"
    words = ("consume", "orders", "--value", "avro", "--registry", filled, "--columns", "value")
    status, out, _ = run(*words, "--dead-letters", file)
    assert (status, [json.loads(line)["value"] for line in out.splitlines()]) == (0, ROWS)
    assert pq.read_table(file).num_rows == 0


@pytest.mark.parametrize(
    ("topic", "place", "message"),
    [
        ("orders", "orders", "--dead-letters orders: the topic is one of those that are read"),
        ("^ord.*", "orders-dead", "--dead-letters orders-dead: the topic is one of those that are read"),
        ("orders", "none", "topic 'none': UNKNOWN_TOPIC_OR_PARTITION"),
    ],
)
def test_places_that_are_refused(run, cluster, topic, place, message):
    status, out, errors = run("consume", topic, "--dead-letters", place)
    assert (status, out, errors) == (2, "", f"kcodec consume: {message}\n")


def test_a_topic_that_only_begins_as_a_pattern_does_is_not_read(run, cluster):
    assert run("consume", "^orders", "--dead-letters", "orders-dead")[::2] == (0, "")
