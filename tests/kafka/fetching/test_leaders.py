"""What reading does where leaders change: records that are lost by it, and replicas that are nearer."""

import pyarrow as pa
import pytest
from fake_broker import CLOSE, NOT_LEADER, OUT_OF_RANGE, PLACE, FakeCluster, knows

from kcodec.errors import KafkaError
from kcodec.kafka import Range, follow, read
from kcodec.protocol import write_batches


def append(cluster, values):
    cluster.append(PLACE, write_batches(pa.table({"value": [each.encode() for each in values]})))


@pytest.fixture
def cluster():
    """Two brokers, and a topic of five records in two batches."""
    with FakeCluster({"t": 1}, brokers=2) as made:
        append(made, "abc")
        append(made, "de")
        yield made


def replace(cluster, leader=1):
    """Have a broker lead that has three of the five records; it gets five others."""
    cluster.elect(PLACE, leader, end=3)
    append(cluster, "vwxyz")


def following(cluster, config, **given):
    place = {"servers": cluster.address, "config": config, "columns": ["offset", "value"]}
    return follow("t", start="earliest", **place, **given)


def take(follower, count):
    """Return so many records: their first offset, and their values."""
    found = []
    while len(found) < count:
        batch = follower.poll(10)
        found += zip(batch["offset"].to_pylist(), batch["value"].to_pylist(), strict=True)
    offsets, values = zip(*found, strict=True)
    assert list(offsets) == list(range(offsets[0], offsets[0] + count))
    return offsets[0], b"".join(values).decode()


@pytest.mark.parametrize("leader", [0, 1])
def test_records_that_were_read_and_are_gone_are_told(cluster, fast, leader):
    """Whether another broker leads, or the same one again."""
    with following(cluster, fast) as follower:
        assert take(follower, 5) == (0, "abcde")
        replace(cluster, leader)
        with pytest.raises(KafkaError, match=r"t-0: it was read up to offset 5.* from offset 3 on") as caught:
            take(follower, 1)
        assert caught.value.name == "LOG_TRUNCATED"


@pytest.mark.parametrize("reset", ["earliest", "latest"])
def test_reading_goes_on_where_the_log_was_cut_off(cluster, fast, reset):
    with following(cluster, {**fast, "auto.offset.reset": reset}, errors="report") as follower:
        assert take(follower, 5) == (0, "abcde")
        replace(cluster)
        assert take(follower, 5) == (3, "vwxyz")
        assert follower.positions == {"t": {0: 8}}
        (fault,) = follower.report.faults
        assert (fault.offset, fault.code) == (3, "log_truncated")
        assert fault.reason == "what was read at the offsets 3 to 4 is no longer there"


def test_a_read_between_two_leaders(cluster, fast):
    """What was fetched already is given; what follows is not what was asked for."""
    for _ in range(10):
        append(cluster, "f" * 20)
    small = {**fast, "max.partition.fetch.bytes": 60, "fetch.max.bytes": 60}
    reader = read("t", servers=cluster.address, columns=["value"], config=small)
    found = sum(reader.read_next_batch().num_rows for _ in range(2))
    assert found == 5
    cluster.elect(PLACE, 1, end=3)
    append(cluster, "v" * 300)
    with pytest.raises(KafkaError, match="LOG_TRUNCATED"):
        reader.read_all()


@pytest.mark.parametrize("versions", [{}, {"OffsetForLeaderEpoch": -1}, {"Metadata": 5}])
def test_leaders_that_have_all_that_was_read(cluster, fast, versions):
    """Old brokers do not tell consumers where epochs end, or no epochs at all."""
    for broker in cluster.brokers:
        knows(broker, **versions)
    with following(cluster, fast) as follower:
        assert take(follower, 5) == (0, "abcde")
        for leader in (1, 1, 0):
            cluster.elect(PLACE, leader)
            append(cluster, "fg")
            assert take(follower, 2)[1] == "fg"
    asked = [name for broker in cluster.brokers for name in broker.asked]
    assert asked.count("OffsetForLeaderEpoch") == (0 if versions else 3)


def test_a_group_starts_again_where_the_log_was_cut_off(cluster, fast):
    """What was committed says of which leader it is."""
    with following(cluster, fast, group="g") as follower:
        take(follower, 5)
        follower.commit()
    assert cluster.committed_epochs == {("g", "t", 0): 0}
    replace(cluster)
    with (
        following(cluster, fast, group="g") as follower,
        pytest.raises(KafkaError, match=r"t-0: it was read up to offset 5.* from offset 3 on"),
    ):
        take(follower, 1)
    patient = {**fast, "auto.offset.reset": "earliest"}
    with following(cluster, patient, group="g") as follower:
        assert take(follower, 5) == (3, "vwxyz")
        # Within a batch, and behind it.
        follower.commit({"t": {0: 4}})
        assert cluster.committed_epochs == {("g", "t", 0): 1}
        follower.commit()
        assert cluster.committed_epochs == {("g", "t", 0): 1}
        # Before what was read last nothing is known.
        follower.commit({"t": {0: 1}})
        assert cluster.committed_epochs == {("g", "t", 0): -1}
    # Commits that are repeated keep what is known.
    cluster.committed.update({("g", "t", 0): 8})
    cluster.committed_epochs.update({("g", "t", 0): 1})
    with following(cluster, fast, group="g") as follower:
        follower.commit()
    assert cluster.committed_epochs == {("g", "t", 0): 1}


def test_an_epoch_that_no_leader_knows(cluster, fast):
    """Nothing can be said of what was read: where offsets that are gone may be left out, too, it is an error."""
    for broker in cluster.brokers:
        end = {"partition": 0, "errorCode": 0, "leaderEpoch": -1, "endOffset": -1}
        answer = {"throttleTimeMs": 0, "topics": [{"topic": "t", "partitions": [end]}]}
        broker.hooks["OffsetForLeaderEpoch"] = lambda body, answer=answer: answer
    with following(cluster, {**fast, "auto.offset.reset": "earliest"}) as follower:
        take(follower, 5)
        cluster.elect(PLACE, 1)
        with pytest.raises(KafkaError, match=r"up to offset 5.* from an unknown offset on"):
            take(follower, 1)


def out_of_touch(broker, metadata):
    """Have a broker know nothing of what was elected since, so that it takes itself for the leader of `PLACE`."""
    end = {"partition": 0, "errorCode": 0, "leaderEpoch": -1, "endOffset": -1}
    start = {"partitionIndex": 0, "errorCode": 0, "timestamp": -1, "offset": 0, "leaderEpoch": 0}
    ends = {"throttleTimeMs": 0, "topics": [{"topic": "t", "partitions": [end]}]}
    starts = {"throttleTimeMs": 0, "topics": [{"name": "t", "partitions": [start]}]}
    broker.hooks.update(
        {
            "Metadata": lambda body: metadata,
            "OffsetForLeaderEpoch": lambda body: ends,
            "ListOffsets": lambda body: starts,
        }
    )


def test_a_broker_that_slept_tells_of_an_earlier_leader(cluster, fast):
    """It knows no epoch of those who led meanwhile, which is no loss of what they have written."""
    first, second = cluster.brokers
    with following(cluster, fast) as follower:
        assert take(follower, 5) == (0, "abcde")
        before = first._Metadata({"topics": [{"name": "t"}]})
        cluster.elect(PLACE, 1)
        append(cluster, "fg")
        assert take(follower, 2) == (5, "fg")
        out_of_touch(first, before)
        # The next metadata are the first broker's.
        second.hooks["Metadata"] = lambda body: CLOSE
        second.hooks["Fetch"] = lambda body: second.hooks.pop("Fetch") and CLOSE
        append(cluster, "hi")
        assert take(follower, 2) == (7, "hi")
        assert first.asked.count("OffsetForLeaderEpoch") == 0


def test_a_group_is_told_of_an_earlier_leader_first(cluster, fast):
    first, second = cluster.brokers
    before = first._Metadata({"topics": [{"name": "t"}]})
    cluster.elect(PLACE, 1)
    append(cluster, "fg")
    with following(cluster, fast, group="g") as follower:
        take(follower, 7)
        follower.commit()
    out_of_touch(first, before)
    asked = []

    def wakes(body):
        asked.append(body)
        if len(asked) > 9:
            first.hooks.clear()
        return before

    first.hooks["Metadata"] = wakes
    second.hooks["Metadata"] = lambda body: CLOSE
    append(cluster, "hi")
    with following(cluster, fast, group="g") as follower:
        assert take(follower, 2) == (7, "hi")
    assert len(asked) == 10


@pytest.mark.parametrize("code", [NOT_LEADER, 74, 75])
def test_leaders_that_change_again_while_they_are_asked(cluster, fast, code):
    left = [code, code]

    def answer(body):
        if not left:
            return None
        end = {"partition": 0, "errorCode": left.pop(), "leaderEpoch": -1, "endOffset": -1}
        return {"throttleTimeMs": 0, "topics": [{"topic": "t", "partitions": [end]}]}

    cluster.brokers[1].hooks["OffsetForLeaderEpoch"] = answer
    with following(cluster, fast) as follower:
        take(follower, 5)
        cluster.elect(PLACE, 1)
        append(cluster, "fg")
        assert take(follower, 2) == (5, "fg")
    assert not left


@pytest.mark.parametrize("partitions", [[], [1], [0, 0]])
def test_leaders_that_answer_for_others(cluster, fast, partitions):
    ends = [{"partition": each, "errorCode": 0, "leaderEpoch": 0, "endOffset": 5} for each in partitions]
    answer = {"throttleTimeMs": 0, "topics": [{"topic": "t", "partitions": ends}]}
    cluster.brokers[1].hooks["OffsetForLeaderEpoch"] = lambda body: answer
    with following(cluster, {**fast, "default.api.timeout.ms": 300}) as follower:
        take(follower, 5)
        cluster.elect(PLACE, 1)
        with pytest.raises(KafkaError, match=r"does not answer for t-0|which it was not asked for"):
            take(follower, 1)


def test_the_nearest_replica_is_read(cluster, fast):
    """Leaders know which it is, by the rack; brokers before Kafka 2.4 do not."""
    cluster.nearest = {"here": 1}
    near = {**fast, "client.rack": "here"}
    with following(cluster, near) as follower:
        assert take(follower, 5) == (0, "abcde")
        append(cluster, "fg")
        assert take(follower, 2) == (5, "fg")
    leader, replica = cluster.brokers
    assert leader.asked.count("Fetch") == 1
    assert "Fetch" in replica.asked
    # What the follower asked for when it was closed may still come.
    replica.stop()
    replica.asked.clear()
    replica.start()
    knows(leader, Fetch=10)
    for config in (fast, {**fast, "client.rack": "elsewhere"}, near):
        assert read("t", servers=cluster.address, config=config).read_all().num_rows == 7
    assert "Fetch" not in replica.asked


@pytest.mark.parametrize("code", [OUT_OF_RANGE, NOT_LEADER, 78, 9, None])
def test_a_replica_that_fails_is_left_for_the_leader(cluster, fast, code):
    """What a replica lacks, its leader may have: nothing is lost yet."""
    cluster.nearest = {"here": 1}
    _, replica = cluster.brokers

    def refuse(body):
        cluster.nearest = {}
        failed = replica._Fetch(body)
        failed["responses"][0]["partitions"][0].update(errorCode=code, records=b"")
        return failed

    with following(cluster, {**fast, "client.rack": "here"}) as follower:
        assert take(follower, 5) == (0, "abcde")
        if code is None:
            cluster.nearest = {}
            replica.stop()
        else:
            replica.hooks["Fetch"] = refuse
        append(cluster, "fg")
        assert take(follower, 2) == (5, "fg")


def test_the_leader_is_asked_again_for_a_replica(cluster, fast):
    """As a better one may be there by now."""
    cluster.nearest = {"here": 1}
    with following(cluster, {**fast, "client.rack": "here", "metadata.max.age.ms": 30}) as follower:
        take(follower, 5)
        leader = cluster.brokers[0]
        asked = leader.asked.count("Fetch")
        while leader.asked.count("Fetch") < asked + 3:
            assert follower.poll(0.02) is None


def test_a_new_leader_is_asked_about_what_a_replica_gave(cluster, fast):
    cluster.nearest = {"here": 1}
    with following(cluster, {**fast, "client.rack": "here"}) as follower:
        take(follower, 5)
        replace(cluster, leader=0)
        with pytest.raises(KafkaError, match="LOG_TRUNCATED"):
            take(follower, 1)


def silent(_):
    return False


def test_a_broker_that_stops_is_asked_for_nothing_else(fast):
    """It holds its connections, but answers nothing: that costs one request its time, and not the next ones theirs."""
    with FakeCluster({"t": 1}, brokers=4) as cluster:
        stopped = cluster.brokers[0]
        address = f"127.0.0.1:{stopped.port}"
        config = {**fast, "request.timeout.ms": 3_000, "default.api.timeout.ms": 5_900}
        append(cluster, "abcde")
        with follow(
            "t", servers=address, start="earliest", columns=["offset", "value"], config=config
        ) as follower:
            assert take(follower, 5) == (0, "abcde")
            stopped.hooks = dict.fromkeys(("Fetch", "Metadata", "ApiVersions"), silent)
            cluster.elect(PLACE, 1)
            append(cluster, "fg")
            assert take(follower, 2) == (5, "fg")


@pytest.fixture
def slept(cluster):
    """Have a broker wake up that takes itself for the leader, and lacks what the other one has taken since."""
    woken, _ = cluster.brokers
    cluster.elect(PLACE, 1)
    append(cluster, "fghij")

    def change(answer, *names, **fields):
        for topic in answer[names[0]]:
            for each in topic["partitions"]:
                each.update(fields)
        return answer

    def list_offsets(body):
        ends = [each["timestamp"] for topic in body["topics"] for each in topic["partitions"]]
        return change(woken._ListOffsets(body), "topics", errorCode=0, offset=5 if ends == [-1] else 0)

    def fetch(body):
        offset = body["topics"][0]["partitions"][0]["fetchOffset"]
        code = OUT_OF_RANGE if offset > 5 else 0
        return change(woken._Fetch(body), "responses", errorCode=code, records=b"", highWatermark=5)

    woken.hooks = {
        "Metadata": lambda body: change(woken._Metadata(body), "topics", leaderId=0, leaderEpoch=0),
        "ListOffsets": list_offsets,
        "Fetch": fetch,
    }
    return f"127.0.0.1:{woken.port}"


@pytest.mark.parametrize("reset", ["error", "earliest", "latest"])
def test_a_broker_that_slept_is_not_believed_to_lead(cluster, slept, fast, reset):
    place = {"servers": slept, "config": {**fast, "auto.offset.reset": reset}, "columns": ["offset", "value"]}
    reader = read([Range("t", 0, 8, 10)], **place)
    assert reader.read_all()["offset"].to_pylist() == [8, 9]
    assert read("t", start={"t": {0: 7}}, **place).read_all()["offset"].to_pylist() == [7, 8, 9]
    assert read("t", end={"t": {0: 10}}, **place).read_all().num_rows == 10
    with follow("t", start={"t": {0: 7}}, **place) as follower:
        assert take(follower, 3) == (7, "hij")


def test_offsets_that_no_leader_has(cluster, slept, fast):
    """All that can be asked are asked, and it ends."""
    place = {"servers": slept, "config": fast}
    with pytest.raises(KafkaError, match=r"t-0, offset 11: OFFSET_OUT_OF_RANGE"):
        read([Range("t", 0, 11, 12)], **place).read_all()
    with pytest.raises(KafkaError, match=r"it has the offsets 0 to 10, not 11"):
        read("t", start={"t": {0: 11}}, **place)
    with pytest.raises(KafkaError, match=r"it ends at 10, before 11"):
        read("t", end={"t": {0: 11}}, **place)
