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
