"""``kcodec groups``, against a broker of the tests' own."""

import json

import pytest

from kcodec import kafka
from kcodec.errors import ConfigError, KafkaError


def rows(run, *arguments):
    status, out, errors = run("groups", *arguments)
    assert (status, errors) == (0, "")
    return [json.loads(line) for line in out.splitlines()]


def test_groups_and_their_lag(run, filled, cluster):
    assert rows(run) == []
    cluster.committed["totals", "orders", 1] = 1
    cluster.committed["totals", "gone", 0] = 5
    cluster.members["live"] = ["a", "b"]
    assert rows(run) == [
        {"group": "live", "state": "Stable", "members": 2},
        {"group": "totals", "state": "Empty", "members": 0},
    ]
    assert rows(run, "totals") == [
        {"topic": "gone", "partition": 0, "committed": 5, "start": None, "end": None, "lag": None},
        {"topic": "orders", "partition": 1, "committed": 1, "start": 0, "end": 3, "lag": 2},
    ]
    assert [each["client"] for each in rows(run, "live", "--members")] == ["a", "b"]
    table = run("groups", "totals", "-o", "table")[1].splitlines()
    assert table[0].split() == ["topic", "partition", "committed", "start", "end", "lag"]


def test_offsets_are_set(run, filled, cluster):
    cluster.committed["totals", "orders", 1] = 1
    reset = ("totals", "--topic", "orders", "--reset")
    wanted = [
        {"topic": "orders", "partition": 0, "committed": None, "offset": 0},
        {"topic": "orders", "partition": 1, "committed": 1, "offset": 3},
    ]
    assert rows(run, *reset, "latest", "--dry-run") == wanted
    assert cluster.committed == {("totals", "orders", 1): 1}
    assert rows(run, *reset, "latest") == wanted
    assert cluster.committed == {("totals", "orders", 0): 0, ("totals", "orders", 1): 3}
    # Partitions that are not named keep what they have.
    assert rows(run, *reset, '{"orders": {"1": 2}}') == [{**wanted[1], "committed": 3, "offset": 2}]
    assert cluster.committed == {("totals", "orders", 0): 0, ("totals", "orders", 1): 2}
    assert [each["offset"] for each in rows(run, *reset, "-1")] == [0, 2]
    assert [each["offset"] for each in rows(run, *reset, "2000-01-01")] == [0, 0]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--members",), "--members and --reset are for one group"),
        (("totals", "--dry-run"), "--topic and --dry-run are for --reset"),
        (("totals", "--reset", "earliest"), "--reset needs --topic NAME"),
        (("totals", "--reset", "soon", "--topic", "orders"), "--reset 'soon' is not earliest, latest, -N"),
        (("live", "--reset", "earliest", "--topic", "orders"), "group 'live' has 1 member (it is Stable)"),
        (("totals", "--reset", "earliest", "--topic", "none"), "topic 'none'"),
    ],
)
def test_what_cannot_be_done(run, filled, cluster, arguments, reason):
    cluster.members["live"] = ["a"]
    status, out, errors = run("groups", *arguments)
    assert (status, out) == (2, "")
    assert reason in errors
    assert cluster.committed == {}


@pytest.mark.parametrize(("more", "what"), [((), "offsets"), (("--members",), "members")])
def test_a_group_of_which_nothing_is_known(run, more, what):
    status, out, errors = run("groups", "totlas", *more)
    assert (status, out) == (0, "")
    assert errors == f"kcodec groups: 'totlas' has no {what}; without a name all groups are listed\n"


def test_errors_of_brokers(cluster):
    place = {"servers": cluster.address, "config": {"default.api.timeout.ms": 1000}}
    broker = cluster.brokers[0]
    broker.hooks["DescribeGroups"] = lambda body: {
        "throttleTimeMs": 0,
        "groups": [
            {
                "errorCode": 30,
                "groupId": name,
                "groupState": "",
                "protocolType": "",
                "protocolData": "",
                "members": [],
            }
            for name in body["groups"]
        ],
    }
    with pytest.raises(KafkaError, match="group 'totals'"):
        kafka.group_members("totals", **place)
    # One that is not told of does not hide the others.
    cluster.members["totals"] = ["a"]
    assert kafka.list_groups(**place).to_pylist() == [{"group": "totals", "state": None, "members": None}]
    with pytest.raises(ConfigError, match="dry_run"):
        kafka.reset_offsets("totals", "orders", "earliest", dry_run="no", **place)
    broker.hooks["DescribeGroups"] = lambda body: {"throttleTimeMs": 0, "groups": []}
    with pytest.raises(KafkaError, match="does not answer for it"):
        kafka.group_members("totals", **place)
