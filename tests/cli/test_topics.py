"""``kcodec topics``, against a broker of the tests' own."""

import json

import pytest
from fake_broker import CLOSE

from kcodec.cli import topics


def test_topics(run, filled, cluster):
    cluster.brokers[0].hooks["DescribeLogDirs"] = lambda body: CLOSE
    status, out, _ = run("topics", "--sample")
    first, second = (json.loads(line) for line in out.splitlines())
    assert status == 0
    assert (first["start"], first["end"], first["values"]) == (0, 0, "")
    assert (second["end"], second["keys"], second["values"]) == (3, "text, null", "schema id 1")
    assert run("topics", "orders", "-o", "table")[1].splitlines()[0].split() == [
        "topic", "partition", "leader", "start", "end", "size",
    ]  # fmt: skip


def test_topics_without_a_leader(run, filled, cluster):
    cluster.brokers[0].hooks["DescribeLogDirs"] = lambda body: CLOSE
    cluster.leaders["orders", 0] = -1
    status, out, _ = run("topics", "--sample")
    first, second = (json.loads(line) for line in out.splitlines())
    assert (status, second["end"], second["keys"]) == (0, 3, "text, null")
    assert first == {"topic": "orders", "partition": 0, **dict.fromkeys(list(first)[2:])}


@pytest.mark.parametrize(
    ("payload", "look"),
    [
        ("0000000000000007", "int64"),
        ("0000000000ffffff", "int64"),
        ("0000000005026102", "schema id 5 or int64"),
        ("0000018cc251f400", "schema id 101570 or int64"),
        ("000000000502", "schema id 5"),
        ("000000000000000000", "schema id 0"),
        ("fffffffffffffffe", "int64 or double"),
    ],
)
def test_eight_bytes_may_be_a_frame_or_a_number(payload, look):
    assert topics._looks([bytes.fromhex(payload)]) == look


def test_topics_are_made_set_and_deleted(run, cluster):
    def done(*arguments):
        status, out, errors = run("topics", *arguments)
        assert (status, errors) == (0, "")
        return [json.loads(line) for line in out.splitlines()]

    cluster.brokers[0].hooks["DescribeLogDirs"] = lambda body: CLOSE
    settings = ("--set", "cleanup.policy=compact", "--set", "x=a=b")
    assert done("create", "new", "--partitions", "3", "--replicas", "1", *settings, "--dry-run") == []
    assert "new" not in cluster.ids
    assert done("create", "new", "other", "--partitions", "3", "--replicas", "1", *settings) == []
    assert [(row["topic"], row["partition"]) for row in done("new", "other")] == [
        (name, partition) for name in ("new", "other") for partition in range(3)
    ]
    found = done("config", "new")
    assert {(row["topic"], row["name"], row["value"], row["source"]) for row in found} == {
        ("new", "cleanup.policy", "compact", "topic"),
        ("new", "x", "a=b", "topic"),
        ("new", "retention.ms", "604800000", "default"),
        ("new", "secret", None, "default"),
    }
    assert done("config", "new", "--set", "retention.ms=5", "--unset", "x", "--dry-run") == []
    assert cluster.settings["new"] == {"cleanup.policy": "compact", "x": "a=b"}
    assert done("config", "new", "other", "--set", "retention.ms=5", "--unset", "x") == []
    assert (
        cluster.settings["new"]
        == cluster.settings["other"]
        == {"cleanup.policy": "compact", "retention.ms": "5"}
    )
    assert done("delete", "new", "other") == []
    assert "new" not in cluster.ids


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("create", "orders"), "topic 'orders': TOPIC_ALREADY_EXISTS: no"),
        (("create", "new", "--set", "wrong=1"), "topic 'new': INVALID_CONFIG: no"),
        (("create", "new", "--set", "wrong"), "--set takes NAME=VALUE"),
        (("create", "new", "--partitions", "0"), "partitions=0 is not a number from 1 to 32767, or -1"),
        (("create", "new", "--unset", "x"), "--unset is for kcodec topics config"),
        (("delete", "none"), "topic 'none': UNKNOWN_TOPIC_OR_PARTITION"),
        (("delete", "orders", "--dry-run"), "--dry-run is for kcodec topics create or config"),
        (("config", "none"), "topic 'none': UNKNOWN_TOPIC_OR_PARTITION"),
        (("config", "orders", "--set", "wrong=1"), "topic 'orders': INVALID_CONFIG: no such"),
        (("config", "orders", "--dry-run"), "--dry-run is for --set and --unset"),
        (("orders", "--partitions", "2"), "--partitions is for kcodec topics create or config"),
    ],
)
def test_what_is_not_done_to_topics(run, cluster, arguments, reason):
    status, out, errors = run("topics", *arguments)
    assert (status, out) == (2, "")
    assert reason in errors
    assert {topic for topic, _ in cluster.logs} == {"orders"}
