"""Topics without an end: what a follower gives, where it stands, and partitions that come and go."""

import re
import threading
import time

import pyarrow as pa
import pytest
from fake_broker import CLOSE, PLACE, FakeCluster, batch, filled, knows

import kcodec
from kcodec.errors import ConfigError, KafkaError
from kcodec.kafka import RecordError, follow
from kcodec.protocol import write_batches


def test_following_does_not_pass_over_what_cannot_be_read(fast):
    with FakeCluster({"t": 2}) as cluster:
        for place in (PLACE, ("t", 1)):
            for value in (b'{"id":1}', b'{"id":', b'{"id":3}'):
                cluster.append(place, write_batches(pa.table({"value": [value]})))
        options = {"servers": cluster.address, "value": kcodec.JsonCodec("id BIGINT"), "config": fast}
        follower = follow("t", start={"t": {0: 0, 1: 2}}, **options)
        found = []
        with pytest.raises(RecordError) as caught:
            found.extend(each.num_rows for each in follower)
        assert caught.value.position == 1
        assert follower.positions["t"][0] == 0
        cluster.append(PLACE, write_batches(pa.table({"value": [b"{}"]})))
        with pytest.raises(RecordError):
            follower.poll(0.1)
        follower.close()
        with follow("t", start=follower.positions, errors="null", **options) as rest:
            while rest.positions != {"t": {0: 4, 1: 3}}:
                found.append(rest.poll(10).num_rows)
        assert sum(found) == 5


@pytest.mark.parametrize("timeout", [None, "1", True, float("nan")])
def test_times_that_are_no_numbers(fast, timeout):
    with FakeCluster({"t": 1}) as cluster, follow("t", servers=cluster.address, config=fast) as follower:
        with pytest.raises(ConfigError, match="timeout is a number of seconds, not "):
            follower.poll(timeout)
        assert follower.poll(0) is None


def test_partitions_that_are_added_are_followed(fast):
    """From their first offset, also where a pattern found no topic at first."""
    settings = {**fast, "metadata.max.age.ms": 50}
    with FakeCluster({}) as cluster:
        followers = [
            follow(
                re.compile("t|u"), servers=cluster.address, start="latest", columns=["topic"], config=settings
            ),
        ]
        assert followers[0].poll(0.1) is None
        add(cluster, "t", 0)
        assert followers[0].poll(10).column("topic").to_pylist() == ["t"] * 5
        followers.append(
            follow("t", servers=cluster.address, start="latest", columns=["topic"], config=settings)
        )
        assert followers[1].poll(0.1) is None
        add(cluster, "t", 1)
        add(cluster, "u", 0)
        for follower, ends in zip(
            followers, ({"t": {0: 5, 1: 5}, "u": {0: 5}}, {"t": {0: 5, 1: 5}}), strict=True
        ):
            end = time.monotonic() + 10
            while follower.positions != ends:
                assert time.monotonic() < end, follower.positions
                follower.poll(0.1)
            follower.close()


def test_a_topic_that_is_found_later_tells_the_columns(fast):
    """Also where one that was there at first has told nothing yet."""
    settings = {**fast, "metadata.max.age.ms": 50}
    for topics in ({}, {"a": 1}):
        serde = kcodec.Serde("AVRO", f"memory://kafka-found-{len(topics)}", topic="b", schema='"long"')
        with FakeCluster(topics) as cluster:
            place = {"servers": cluster.address, "config": settings, "columns": ["topic", "value"]}
            value = {"format": "AVRO", "registry": f"memory://kafka-found-{len(topics)}"}
            with follow("^[ab]$", value=value, **place) as follower:
                assert follower.poll(0.1) is None
                cluster.logs["b", 0] = []
                cluster.leaders["b", 0] = 0
                cluster.put(("b", 0), write_batches(pa.table({"value": serde.serialize(pa.array([7]))})))
                assert follower.poll(10).to_pylist() == [{"topic": "b", "value": 7}]


@pytest.mark.parametrize("brokers", [1, 2])
def test_a_topic_of_a_pattern_that_is_deleted(fast, caplog, brokers):
    """The others are read on, and one that is made again is read from its beginning."""
    settings = {**fast, "metadata.max.age.ms": 200}
    names = {"a": 2, "b": 2}

    def add(cluster, topic, partition, first, count):
        cluster.leaders[topic, partition] = partition % brokers
        cluster.logs.setdefault((topic, partition), [])
        cluster.put((topic, partition), batch(first, count))

    def delete(cluster, topic):
        for log in (cluster.logs, cluster.leaders):
            for place in [each for each in log if each[0] == topic]:
                del log[place]

    def until(follower, positions):
        end = time.monotonic() + 10
        while follower.positions != positions:
            assert time.monotonic() < end, follower.positions
            follower.poll(0.1)

    with FakeCluster(names, brokers) as cluster:
        for topic in names:
            for partition in (0, 1):
                add(cluster, topic, partition, 0, 5)
        place = {"servers": cluster.address, "start": "earliest", "config": settings}
        with follow("^[ab]$", **place) as follower, follow(["a", "b"], **place) as named:
            for each in (follower, named):
                until(each, {"a": {0: 5, 1: 5}, "b": {0: 5, 1: 5}})
            with cluster.lock:
                delete(cluster, "a")
            until(follower, {"b": {0: 5, 1: 5}})
            assert "a-0 is deleted, and no longer followed" in caplog.text
            with pytest.raises(KafkaError, match="topic 'a': UNKNOWN_TOPIC_OR_PARTITION"):
                until(named, {})
            add(cluster, "b", 1, 5, 3)
            until(follower, {"b": {0: 5, 1: 8}})
            assert follower.lag == 0
            add(cluster, "a", 0, 0, 2)
            until(follower, {"a": {0: 2}, "b": {0: 5, 1: 8}})
            with cluster.lock:
                delete(cluster, "a")
                delete(cluster, "b")
            until(follower, {})
            began = time.monotonic()
            assert follower.poll(0.2) is None
            assert time.monotonic() - began > 0.1
            add(cluster, "b", 0, 0, 1)
            until(follower, {"b": {0: 1}})


def test_following_goes_on_where_partitions_cannot_be_looked_for(fast):
    settings = {**fast, "metadata.max.age.ms": 1}
    with filled((5,)) as cluster, follow("t", servers=cluster.address, config=settings) as follower:
        cluster.brokers[0].hooks["Metadata"] = lambda body: CLOSE
        assert follower.poll(0.1) is None
        cluster.put(PLACE, batch(5, 3))
        assert len(follower.poll(10)) == 3


def add(cluster, topic, partition):
    """Add a partition that has five records."""
    with cluster.lock:
        cluster.leaders[topic, partition] = 0
        cluster.logs[topic, partition] = []
        cluster.put((topic, partition), batch(0, 5))


def test_follow_and_commit(fast):
    with filled(counts=[5, 5], partitions=2) as cluster:
        place = {"servers": cluster.address, "config": fast, "columns": ["partition", "offset"]}
        with follow("t", start="earliest", group="g", **place) as follower:
            rows = []
            while len(rows) < 20:
                rows += follower.poll(30).to_pylist()
            assert follower.poll(0.1) is None
            assert follower.positions == {"t": {0: 10, 1: 10}}
            follower.commit()
            assert follower.lag == 0
            cluster.put(PLACE, batch(10, 3))
            assert next(follower)["offset"].to_pylist() == [10, 11, 12]
            assert follower.positions == {"t": {0: 13, 1: 10}}
        assert cluster.committed == {("g", "t", 0): 10, ("g", "t", 1): 10}
        # What was not committed comes again.
        with follow("t", group="g", **place) as follower:
            assert follower.positions == {"t": {0: 10, 1: 10}}
            assert next(follower)["offset"].to_pylist() == [10, 11, 12]
            follower.commit({"t": {0: 12}})
            for positions in ({"t": {0: "x"}}, {"t": 5}, 5):
                with pytest.raises(ConfigError, match="offsets are"):
                    follower.commit(positions)
        assert cluster.committed["g", "t", 0] == 12
        with follow("t", **place) as follower:
            assert follower.poll(0.1) is None
            with pytest.raises(ConfigError, match="needs a group"):
                follower.commit()


@pytest.mark.parametrize("name", ["OffsetFetch", "OffsetCommit"])
@pytest.mark.parametrize("partition", [None, 1 << 23])
def test_coordinators_that_answer_for_others(fast, name, partition):
    with filled() as cluster:
        broker = cluster.brokers[0]

        def others(body):
            answer = getattr(broker, f"_{name}")(body)
            places = answer["topics"][0]["partitions"]
            places[:] = [] if partition is None else [{**places[0], "partitionIndex": partition}]
            return answer

        broker.hooks[name] = others
        config = {**fast, "default.api.timeout.ms": 200}
        with (
            pytest.raises(KafkaError, match="broker 0 answers for other partitions than it was asked for"),
            follow("t", group="g", servers=cluster.address, config=config) as follower,
        ):
            follower.commit()


@pytest.mark.parametrize(("isolation", "lag"), [("read_committed", 0), ("read_uncommitted", 15)])
def test_lag_behind_what_can_be_read(fast, isolation, lag):
    """Nobody is behind a transaction that is open, but who reads uncommitted records."""
    with filled() as cluster:

        def opened(body):
            answer = cluster.brokers[0]._Fetch(body)
            answer["responses"][0]["partitions"][0] |= {"highWatermark": 50, "lastStableOffset": 35}
            return answer

        cluster.brokers[0].hooks["Fetch"] = opened
        place = {"servers": cluster.address, "config": fast, "isolation": isolation}
        with follow("t", start="earliest", **place) as follower:
            while follower.positions["t"][0] < 35:
                follower.poll(10)
            assert follower.lag == lag


def test_an_error_stays(fast):
    """Also where other brokers have more."""
    with filled(counts=[5] * 40, brokers=2, partitions=2) as cluster:

        def refuses(body):
            answer = cluster.brokers[0]._Fetch(body)
            answer["responses"][0]["partitions"][0] |= {"errorCode": 29, "records": b""}
            return answer

        cluster.brokers[0].hooks["Fetch"] = refuses
        small = {**fast, "max.partition.fetch.bytes": 400}
        with follow("t", start="earliest", servers=cluster.address, config=small) as follower:
            with pytest.raises(KafkaError, match="TOPIC_AUTHORIZATION_FAILED"):
                sum(len(batch) for batch in follower)
            before = follower.positions
            time.sleep(0.2)
            for _ in range(3):
                with pytest.raises(KafkaError, match="TOPIC_AUTHORIZATION_FAILED"):
                    follower.poll(10)
            assert follower.positions == before


def test_a_follower_that_is_closed(fast):
    with filled(counts=[5]) as cluster:
        follower = follow("t", start="earliest", servers=cluster.address, config=fast)
        threading.Timer(0.2, follower.close).start()
        assert sum(len(each) for each in follower) == 5
        assert list(follower) == []
        with pytest.raises(KafkaError, match="this follower is closed"):
            follower.poll(1)


def test_positions_do_not_pass_what_was_returned(fast):
    """A batch that was fetched and not returned is not counted."""
    with (
        filled(counts=[5] * 4) as cluster,
        follow("t", start="earliest", servers=cluster.address, config=fast, columns=["offset"]) as follower,
    ):
        assert follower.positions == {"t": {0: 0}}
        first = next(follower)
        assert follower.positions == {"t": {0: first["offset"][-1].as_py() + 1}}


def remade(cluster, count, numbers=1):
    """Delete a topic, and make it anew with so many records."""
    with cluster.lock:
        cluster.delete("t")
        cluster.create("t", numbers)
        for partition in range(numbers):
            cluster.put(("t", partition), batch(0, count))


def until_it_fails(follower, may_read):
    end = time.monotonic() + 10
    while time.monotonic() < end:
        assert follower.poll(1) is None or may_read


@pytest.mark.parametrize("versions", [{}, {"Fetch": 12}, {"Fetch": 11}])
@pytest.mark.parametrize("count", [3, 12, 30])
def test_a_topic_that_is_made_anew_is_another_one(fast, versions, count):
    """Whether it has fewer records than were read, or more: none of them is passed over."""
    settings = {**fast, "metadata.max.age.ms": 50}
    with filled(counts=(5,)) as cluster:
        knows(cluster.brokers[0], **versions)
        with follow("t", start="earliest", servers=cluster.address, config=settings) as follower:
            assert len(follower.poll(10)) == 5
            remade(cluster, count)
            with pytest.raises(KafkaError, match=r"made anew|OFFSET_OUT_OF_RANGE") as caught:
                # Before it has asked which topic this is, a client that fetches by name reads on.
                until_it_fails(follower, versions)
            assert caught.value.name == "TOPIC_RECREATED" or (versions and count == 3)


def test_a_topic_of_a_pattern_that_is_made_anew_is_read_from_its_beginning(fast):
    settings = {**fast, "metadata.max.age.ms": 50}
    with filled(counts=(5,)) as cluster:
        place = {"servers": cluster.address, "config": settings, "columns": ["offset"]}
        with follow("^t", start="earliest", **place) as follower:
            assert len(follower.poll(10)) == 5
            remade(cluster, 8, numbers=2)
            found = {}
            end = time.monotonic() + 10
            while follower.positions != {"t": {0: 8, 1: 8}}:
                assert time.monotonic() < end, follower.positions
                rows = follower.poll(0.1)
                if rows is not None:
                    found.setdefault(len(rows), []).append(rows["offset"].to_pylist())
            assert found == {8: [list(range(8))] * 2}


def test_a_group_with_members_is_said_to_have_some(fast):
    with filled() as cluster:
        cluster.members["totals"] = ["a"]
        with follow("t", start="earliest", group="totals", servers=cluster.address, config=fast) as follower:
            follower.poll(10)
            with pytest.raises(KafkaError) as caught:
                follower.commit()
        assert (caught.value.code, caught.value.name) == (25, "UNKNOWN_MEMBER_ID")
        assert "group 'totals', t-0: " in str(caught.value)
        assert "the group has members, and only they commit its offsets" in str(caught.value)
        assert cluster.committed == {}


def test_positions_of_a_topic_that_was_made_anew_are_not_committed(fast):
    with filled(counts=(5,)) as cluster:
        with follow("t", start="earliest", group="g", servers=cluster.address, config=fast) as follower:
            assert len(follower.poll(10)) == 5
            follower.commit()
            assert cluster.committed == {("g", "t", 0): 5}
            cluster.committed.clear()
            remade(cluster, 30)
            with pytest.raises(KafkaError, match="topic 't' was deleted and made anew") as caught:
                follower.commit()
            assert caught.value.name == "TOPIC_RECREATED"
        assert cluster.committed == {}


def test_brokers_without_ids_of_topics(fast):
    with filled() as cluster:
        knows(cluster.brokers[0], Metadata=9)
        with follow("t", start="earliest", servers=cluster.address, config=fast) as follower:
            found = 0
            while found < 35:
                found += len(follower.poll(10))
