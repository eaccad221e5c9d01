"""``kcodec topics``, against a broker of the tests' own."""

import json

import pytest


def test_topics(run, filled):
    status, out, _ = run("topics")
    first, second = (json.loads(line) for line in out.splitlines())
    assert (status, first["start"], first["end"], second["end"]) == (0, 0, 0, 3)
    assert run("topics", "orders", "-o", "table")[1].splitlines()[0].split() == [
        "topic", "partition", "leader", "start", "end", "size",
    ]  # fmt: skip


def test_a_pattern_that_no_topic_matches(run, filled):
    """A whole name has to match, as in Java's clients, and not in librdkafka."""
    assert json.loads(run("topics", "^ord.*", "-o", "json")[1].splitlines()[0])["topic"] == "orders"
    assert run("topics", "^ord") == (0, "", "kcodec topics: no topic's whole name matches '^ord'\n")


def test_the_option_of_kafkas_own_tools(run, filled, cluster, monkeypatch):
    monkeypatch.delenv("KCODEC_KAFKA_BOOTSTRAP_SERVERS")
    assert run("topics", "--bootstrap-server", cluster.address)[0] == 0


def test_what_topics_look_like(run, filled):
    status, out, _ = run("topics", "--sample", "--registry", filled)
    (row,) = (json.loads(line) for line in out.splitlines())
    assert (status, row["topic"], row["partitions"], row["records"]) == (0, "orders", 2, 3)
    assert (row["keys"], row["values"]) == ("text, null", "schema id 1")
    assert (row["value"]["format"], row["value"]["schema_ids"]) == ("AVRO", ["1"])
    assert row["value"]["columns"] == "id BIGINT NOT NULL, note STRING"
    assert row["value"]["fields"][1] == {
        "field": "note", "type": "STRING", "nulls": pytest.approx(1 / 3), "examples": ["ä", "z"],
    }  # fmt: skip
    (row,) = (json.loads(line) for line in run("topics", "--sample")[1].splitlines())
    assert (row["values"], row["value"]["format"]) == ("schema id 1", None)
    assert "without a registry" in row["value"]["problem"]
    table = run("topics", "--sample", "-o", "table")[1].splitlines()
    assert table[0].split() == ["topic", "partitions", "records", "size", "rate", "last", "keys", "values"]
    page = run("topics", "orders", "--sample", "-o", "table", "--registry", filled)[1]
    assert page.startswith("orders: 2 partitions, 3 records")
    assert "note   STRING  33%   ä, z" in page


def test_topics_without_a_leader(run, filled, cluster):
    cluster.leaders["orders", 0] = -1
    first, second = (json.loads(line) for line in run("topics")[1].splitlines())
    assert second["end"] == 3
    assert first == {"topic": "orders", "partition": 0, **dict.fromkeys(list(first)[2:])}
    status, out, _ = run("topics", "--sample")
    row = json.loads(out)
    assert (status, row["records"], row["keys"]) == (0, 3, "text, null")


def test_topics_are_made_set_and_deleted(run, cluster):
    def done(*arguments):
        status, out, errors = run("topics", *arguments)
        assert (status, errors) == (0, "")
        return [json.loads(line) for line in out.splitlines()]

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
        (("delete",), "delete takes the names of topics, and no topic is called so"),
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
