"""What reading does with what brokers do: a broker of the tests' own takes each part."""

import random
import re
import socket
import struct
import subprocess
import sys
import threading
import time

import pyarrow as pa
import pytest
from fake_broker import CLOSE, HOST, NOT_LEADER, FakeCluster
from hypothesis import given, settings
from hypothesis import strategies as st

import kcodec
from kcodec.errors import ConfigError, KafkaError, KafkaTimeoutError, KcodecError
from kcodec.kafka import Range, RecordError, follow, list_topics, plan, read, write
from kcodec.protocol import write_batches

PLACE = ("t", 0)


def batch(first, count, codec="none", **columns):
    values = [f"value {number}".encode() for number in range(first, first + count)]
    columns = {name: [value] * count for name, value in columns.items()}
    table = pa.table({"value": pa.array(values, pa.binary()), **columns})
    return write_batches(table, base_offset=first, codec=codec)


def filled(counts=(10, 5, 20), brokers=1, partitions=1):
    cluster = FakeCluster({"t": partitions}, brokers)
    for partition in range(partitions):
        first = 0
        for count in counts:
            cluster.put(("t", partition), batch(first, count))
            first += count
    return cluster


def offsets(cluster, fast, **given):
    found = read("t", servers=cluster.address, columns=["offset"], config=fast, **given).read_all()
    return found["offset"].to_pylist()


def test_ranges_begin_and_end_inside_batches(fast):
    with filled() as cluster:
        assert offsets(cluster, fast) == list(range(35))
        assert offsets(cluster, fast, start={"t": {0: 12}}, end={"t": {0: 17}}) == list(range(12, 17))
        assert offsets(cluster, fast, start=-3) == [32, 33, 34]
        assert [tuple(each) for each in plan("t", servers=cluster.address, config=fast)] == [("t", 0, 0, 35)]


def test_offsets_that_compaction_has_left_out(fast):
    """Gaps, a batch whose last offset is behind its last record, and one of which nothing is left."""
    with FakeCluster({"t": 1}) as cluster:
        table = pa.table({"value": [b"a", b"b"], "offset": [3, 7]})
        cluster.put(PLACE, write_batches(table))
        sparse = bytearray(write_batches(pa.table({"value": [b"c"], "offset": [10]})))
        sparse[23:27] = (5).to_bytes(4, "big")
        cluster.put(PLACE, _sealed(sparse))
        empty = bytearray(write_batches(pa.table({"value": [b"c"], "offset": [16]}))[:61])
        empty[8:12] = (49).to_bytes(4, "big")
        empty[23:27] = (3).to_bytes(4, "big")
        empty[57:61] = bytes(4)
        cluster.put(PLACE, _sealed(empty))
        assert cluster.end(PLACE) == 20
        assert offsets(cluster, fast) == [3, 7, 10]
        assert offsets(cluster, fast, start={"t": {0: 4}}) == [7, 10]
        follower = follow("t", servers=cluster.address, start="earliest", config=fast)
        while follower.poll(0.2) is not None:
            pass
        assert follower.positions == {"t": {0: 20}}
        follower.close()


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


def _sealed(data):
    from kcodec.wire import crc32c

    data[17:21] = struct.pack(">I", crc32c(bytes(data[21:])))
    return data


@pytest.mark.parametrize("errors", ["raise", "null", "report"])
def test_a_damaged_batch_costs_that_batch(fast, errors):
    with filled() as cluster:
        _, last, data = cluster.logs[PLACE][1]
        cluster.logs[PLACE][1] = (10, last, data[:-3] + bytes([data[-3] ^ 1]) + data[-2:])
        place = {"servers": cluster.address, "columns": ["offset"], "config": fast, "errors": errors}
        if errors == "raise":
            reader = read("t", **place)
            with pytest.raises(RecordError, match="crc_mismatch: t-0, offset 10, batch, byte 17") as info:
                reader.read_all()
            assert (info.value.position, info.value.column) == (10, None)
            # What stands behind it has not been read: that is no end.
            with pytest.raises(RecordError, match="offset 10"):
                reader.read_next_batch()
            return
        found = read("t", **place)
        reader, report = found if errors == "report" else (found, None)
        assert reader.read_all()["offset"].to_pylist() == [*range(10), *range(15, 35)]
        if report is not None:
            (row,) = report.table().to_pylist()
            assert (row["topic"], row["partition"], row["offset"], row["column"]) == ("t", 0, 10, None)
            assert (row["code"], row["byte"]) == ("crc_mismatch", 17)
        unchecked = {**place, "config": {**fast, "check.crcs": "false"}, "errors": "raise"}
        assert read("t", **unchecked).read_all().num_rows == 35


def test_aborted_transactions(fast):
    """The broker names producers and first offsets; the markers say where they end."""
    with FakeCluster({"t": 1}) as cluster:
        marker = {"control": True}

        def ends(first, producer, kind):
            table = pa.table(
                {
                    "key": pa.array([struct.pack(">hh", 0, kind)]),
                    "value": pa.array([bytes(6)]),
                    "producer_id": [producer],
                    "producer_epoch": pa.array([0], pa.int16()),
                    "transactional": [True],
                    **{name: [value] for name, value in marker.items()},
                }
            )
            cluster.put(PLACE, write_batches(table, base_offset=first))

        def writes(first, count, producer):
            cluster.put(PLACE, batch(first, count, producer_id=producer, transactional=True))

        writes(0, 3, 1)
        writes(3, 2, 2)
        writes(5, 1, 1)
        ends(6, 1, 0)
        writes(7, 2, 2)
        ends(9, 2, 1)
        writes(10, 2, 1)
        ends(12, 1, 1)
        writes(13, 4, 1)
        ends(17, 1, 0)
        cluster.aborted[PLACE] = [(1, 0, 6), (1, 13, 17)]
        committed = [3, 4, 7, 8, 10, 11]
        assert offsets(cluster, fast) == committed
        for size in (1, 150, 400):
            config = {**fast, "max.partition.fetch.bytes": size, "fetch.max.bytes": size}
            assert offsets(cluster, config) == committed
        everything = [*range(6), 7, 8, 10, 11, *range(13, 17)]
        assert offsets(cluster, fast, isolation="read_uncommitted") == everything


@pytest.mark.parametrize("key", [b"\0\0\0", b"", None, b"\xff\xff\0\0"])
def test_markers_that_cannot_be_read(fast, key):
    """Java's consumers stop there; what comes behind one, which they seek to, is not of the transaction."""
    with FakeCluster({"t": 1}) as cluster:

        def ends(first, key):
            columns = {"key": pa.array([key], pa.binary()), "value": [bytes(6)], "producer_id": [1]}
            flags = {"transactional": [True], "control": [True]}
            cluster.put(PLACE, write_batches(pa.table({**columns, **flags}), base_offset=first))

        def writes(first, count):
            cluster.put(PLACE, batch(first, count, producer_id=1, transactional=True))

        writes(0, 3)
        ends(3, key)
        writes(4, 2)
        ends(6, struct.pack(">hh", 0, 1))
        cluster.aborted[PLACE] = [(1, 0, 3)]
        with pytest.raises(RecordError, match="invalid_batch: t-0, offset 3, batch: the key of the marker"):
            offsets(cluster, fast)
        assert offsets(cluster, fast, errors="null") == [4, 5]
        reader, report = read("t", servers=cluster.address, config=fast, errors="report")
        assert reader.read_all()["offset"].to_pylist() == [4, 5]
        assert [(each.offset, each.column, each.code) for each in report.faults] == [
            (3, None, "invalid_batch")
        ]
        assert offsets(cluster, fast, isolation="read_uncommitted") == [0, 1, 2, 4, 5]


def test_markers_of_unknown_types_end_nothing(fast):
    """As in Java's consumers."""
    with FakeCluster({"t": 1}) as cluster:
        for first, kind in ((2, 9), (5, 0)):
            cluster.put(PLACE, batch(first - 2, 2, producer_id=1, transactional=True))
            columns = {"key": [struct.pack(">hh", 0, kind)], "value": [bytes(6)], "producer_id": [1]}
            flags = {"transactional": [True], "control": [True]}
            cluster.put(PLACE, write_batches(pa.table({**columns, **flags}), base_offset=first))
        cluster.put(PLACE, batch(6, 2, producer_id=1, transactional=True))
        cluster.aborted[PLACE] = [(1, 0, 5)]
        assert offsets(cluster, fast) == [6, 7]


def test_leaders_move(fast):
    with filled(counts=[5] * 40, brokers=2, partitions=2) as cluster:
        first, second = cluster.brokers
        small = {**fast, "max.partition.fetch.bytes": 700}
        fetches = []

        def moves(body):
            fetches.append(body)
            if len(fetches) == 5:
                cluster.leaders["t", 0] = 1

        first.hooks["Fetch"] = moves
        found = read("t", servers=cluster.address, columns=["partition", "offset"], config=small).read_all()
        rows = sorted((row["partition"], row["offset"]) for row in found.to_pylist())
        assert rows == [(partition, offset) for partition in (0, 1) for offset in range(200)]
        assert second.asked.count("Fetch") > 5


def test_connections_that_break_and_brokers_that_restart(fast):
    with filled(counts=[5] * 40) as cluster:
        (broker,) = cluster.brokers
        small = {**fast, "max.partition.fetch.bytes": 700}
        seen = []

        def breaks(body):
            seen.append(body)
            return CLOSE if len(seen) % 3 == 0 else None

        broker.hooks["Fetch"] = breaks
        assert offsets(cluster, small) == list(range(200))
        broker.hooks.clear()
        reader = read("t", servers=cluster.address, columns=["offset"], config=small)
        found = reader.read_next_batch()["offset"].to_pylist()
        broker.stop()
        threading.Timer(0.5, broker.start).start()
        assert found + reader.read_all()["offset"].to_pylist() == list(range(200))


def test_one_of_two_brokers_is_down_at_the_start(fast):
    with filled() as cluster, socket.socket() as unused:
        unused.bind((HOST, 0))
        servers = f"{HOST}:{unused.getsockname()[1]},{cluster.address}"
        assert read("t", servers=servers, config=fast).read_all().num_rows == 35


def test_what_an_application_draws_by_its_seed_stays(fast):
    """Tries are paused at random, and brokers taken at random: by a generator of kcodec's own."""
    with filled(brokers=2) as cluster:
        cluster.brokers[0].hooks["Metadata"] = lambda body: CLOSE
        random.seed(7)
        before = random.getstate()
        assert offsets(cluster, fast) == list(range(35))
        assert random.getstate() == before


def silent(_):
    return False


@pytest.mark.parametrize("name", ["ApiVersions", "Metadata", "ListOffsets", "Fetch"])
def test_a_broker_that_says_nothing(fast, name):
    with filled() as cluster:
        cluster.brokers[0].hooks[name] = silent
        start = time.monotonic()
        with pytest.raises(KafkaTimeoutError, match="timed out"):
            offsets(cluster, fast)
        assert time.monotonic() - start < 10


def test_a_broker_that_never_has_what_it_says_to_have(fast):
    with filled() as cluster:

        def nothing(body):
            answer = cluster.brokers[0]._Fetch(body)
            answer["responses"][0]["partitions"][0]["records"] = b""
            return answer

        cluster.brokers[0].hooks["Fetch"] = nothing
        with pytest.raises(KafkaTimeoutError, match="t-0: nothing came for offset 0, before its end at 35"):
            offsets(cluster, fast)
        # It is not asked as fast as it answers.
        assert cluster.brokers[0].asked.count("Fetch") < 400


@pytest.mark.parametrize(
    "batches",
    [
        [(0, 6), (3, 5), (8, 12)],
        [(0, 5), (0, 5), (5, 15)],
        [(0, 5), (10, 5), (5, 5), (15, 5)],
        [(0, 10), (2, 3), (10, 10)],
        [(0, 5), (-1, 5), (5, 15)],
        [(0, 5), ((1 << 63) - 1, 1), (5, 15)],
    ],
)
def test_batches_out_of_order(fast, batches):
    """They would be lost, or read twice."""
    with FakeCluster({"t": 1}) as cluster:
        for first, count in batches:
            data = (first & (1 << 64) - 1).to_bytes(8, "big") + batch(0, count)[8:]
            cluster.logs[PLACE].append((first, first + count - 1, data))
        config = {**fast, "default.api.timeout.ms": 300}
        for errors in ("raise", "null"):
            with pytest.raises(
                KafkaTimeoutError, match=r"t-0: the batch at offset -?\d+ comes behind that of"
            ):
                offsets(cluster, config, errors=errors)


def test_a_partition_that_fails_takes_nothing_of_others_with_it(fast):
    with filled(counts=[20] * 6, partitions=2) as cluster:
        broker, times = cluster.brokers[0], [0]

        def again(body):
            answer = broker._Fetch(body)
            for each in answer["responses"][0]["partitions"]:
                if each["partitionIndex"] == 1 and times[0] < 3 and each["records"]:
                    each["records"] = b"\xff" * 8 + batch(0, 1)[8:]
                    times[0] += 1
            return answer

        broker.hooks["Fetch"] = again
        assert sorted(offsets(cluster, fast)) == sorted([*range(120)] * 2)
        assert times == [3]


def test_a_reader_that_takes_its_time(fast):
    """What is not asked for meanwhile is not late, nor what other partitions leave no room for."""
    sizes = {"fetch.max.bytes": 1000, "max.partition.fetch.bytes": 1000, "default.api.timeout.ms": 200}
    with filled(counts=[20] * 6, partitions=3) as cluster:
        reader = read("t", servers=cluster.address, columns=["offset"], config={**fast, **sizes})
        rows = len(reader.read_next_batch())
        time.sleep(0.5)
        assert rows + sum(len(each) for each in reader) == 360


def test_a_partition_without_leader(fast):
    with filled(partitions=2) as cluster:
        cluster.leaders["t", 1] = -1
        with pytest.raises(KafkaTimeoutError, match=r"t-1: LEADER_NOT_AVAILABLE \(after tries for 2000 ms\)"):
            offsets(cluster, fast)
        # The other one is read meanwhile.
        reader = read([Range("t", 0, 0, 35), Range("t", 1, 0, 35)], servers=cluster.address, config=fast)
        assert sum(len(reader.read_next_batch()) for _ in range(1)) == 35
        cluster.leaders["t", 1] = 0
        assert reader.read_all().num_rows == 35


def test_a_topic_that_is_deleted_while_it_is_read(fast):
    with filled(counts=[5] * 10) as cluster:
        small = {**fast, "max.partition.fetch.bytes": 400}
        reader = read("t", servers=cluster.address, config=small)
        reader.read_next_batch()
        cluster.logs.clear()
        cluster.leaders.clear()
        with pytest.raises(KafkaError, match=r"UNKNOWN_TOPIC_OR_PARTITION|NOT_LEADER"):
            reader.read_all()


def test_a_topic_that_grows_while_it_is_read(fast):
    with filled(counts=[5] * 10) as cluster:
        reader = read("t", servers=cluster.address, columns=["offset"], config=fast)
        cluster.put(PLACE, batch(50, 10))
        assert reader.read_all()["offset"].to_pylist() == list(range(50))


def test_offsets_that_go_away_while_they_are_read(fast):
    with filled(counts=[5] * 10) as cluster:
        small = {**fast, "max.partition.fetch.bytes": 200}

        def cut(config):
            cluster.starts.clear()
            reader, report = read(
                "t", servers=cluster.address, columns=["offset"], config=config, errors="report"
            )
            found = reader.read_next_batch()["offset"].to_pylist()
            cluster.starts[PLACE] = 30
            found += reader.read_all()["offset"].to_pylist()
            return found, report

        with pytest.raises(KafkaError, match=r"t-0, offset .*: OFFSET_OUT_OF_RANGE"):
            cut(small)
        found, report = cut({**small, "auto.offset.reset": "earliest"})
        assert found[-20:] == list(range(30, 50))
        (fault,) = report.faults
        assert fault.code == "offset_out_of_range"
        assert fault.reason == f"the offsets {found[-21] + 1} to 29 are no longer there"


def test_a_broker_that_throttles(fast):
    with filled() as cluster:

        def slow(body):
            answer = cluster.brokers[0]._Fetch(body)
            answer["throttleTimeMs"] = 300
            return answer

        cluster.brokers[0].hooks["Fetch"] = slow
        small = {**fast, "max.partition.fetch.bytes": 250}
        start = time.monotonic()
        assert offsets(cluster, small) == list(range(35))
        assert time.monotonic() - start > 0.3


def test_memory_is_bounded_by_what_is_fetched(fast):
    """Nothing is fetched beyond what waits: one response being decoded, and the next."""
    with filled(counts=[50] * 100) as cluster:
        small = {**fast, "max.partition.fetch.bytes": 2_000, "fetch.max.bytes": 2_000}
        reader = read("t", servers=cluster.address, columns=["offset"], config=small)
        rows = len(reader.read_next_batch())
        time.sleep(0.3)
        assert cluster.brokers[0].asked.count("Fetch") <= 3
        assert rows + reader.read_all().num_rows == 5_000


def test_a_reader_that_is_left_ends_its_threads(fast):
    with filled(counts=[50] * 100) as cluster:
        before = threading.active_count()
        small = {**fast, "max.partition.fetch.bytes": 2_000}
        reader = read("t", servers=cluster.address, columns=["offset"], config=small)
        reader.read_next_batch()
        del reader
        end = time.monotonic() + 5
        while any(each.name.startswith("kcodec-fetch") for each in threading.enumerate()):
            assert time.monotonic() < end, (before, threading.enumerate())
            time.sleep(0.02)


LIGHT = """
import sys
import pyarrow as pa
import kcodec
from kcodec import kafka

codec = kcodec.AvroCodec('"long"')
place = {"servers": sys.argv[1]}
columns = ["key", "value", "topic", "partition", "offset", "timestamp"]
reader = kafka.read("t", **place, value=codec, columns=columns)
assert reader.read_all().num_rows == 2
with kafka.follow("t", **place, start="earliest", value=codec) as follower:
    assert follower.poll(5).num_rows == 2
assert "pandas" not in sys.modules, "pandas was loaded"
"""


def test_reading_loads_no_pandas():
    # It takes longer to load than all that reads, and pyarrow drops an interruption that comes meanwhile.
    pytest.importorskip("pandas")
    with FakeCluster({"t": 1}) as cluster:
        cluster.put(PLACE, write_batches(pa.table({"value": [b"\2", b"\4"]})))
        code = [sys.executable, "-c", LIGHT, cluster.address]
        done = subprocess.run(code, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_columns(fast):
    serde = kcodec.Serde("AVRO", "memory://kafka-columns", topic="t", schema='"long"', is_key=True)
    record = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "a", "type": "long"}, {"name": "b", "type": "string"}],
    }
    values = kcodec.Serde("AVRO", "memory://kafka-columns", topic="t", schema=record)
    rows = pa.array([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}])
    table = pa.table({"key": serde.serialize(pa.array([7, 8])), "value": values.serialize(rows)})
    with FakeCluster({"t": 1, "u": 1}) as cluster:
        cluster.put(PLACE, write_batches(table))
        place = {"servers": cluster.address, "config": fast}
        named = {"format": "AVRO", "registry": "memory://kafka-columns", "reader_schema": "latest"}

        def columns(chosen, topics="t", **formats):
            return read(topics, columns=chosen, **place, **formats).read_all().to_pydict()

        for value in (values, named, {**named, "options": kcodec.TypeOptions()}):
            assert columns(["value.b", "offset"], value=value) == {"b": ["x", "y"], "offset": [0, 1]}
            assert columns(["key", "value.*"], key=serde, value=value) == {
                "key": [7, 8],
                "a": [1, 2],
                "b": ["x", "y"],
            }
            assert columns({"z": "value.a"}, value=value) == {"z": [1, 2]}
            assert columns(["value"], value=value) == {"value": rows.to_pylist()}
        assert columns(["key"]) == {"key": table["key"].to_pylist()}
        for chosen, message in (
            (["nothing"], "column 'nothing' is none of key, value, topic"),
            (["offset.x"], "column 'offset.x' is none of"),
            (["value.c"], "has no field c"),
            (["value.a.x"], "a is not a record, so it has no field x"),
            (["key.*"], "the key is int64, not a struct"),
            (["value.a", "value.a"], "two columns are called 'a'"),
            ([], "columns= is empty"),
            ({"x": "value.*"}, "stands for all fields"),
            ("value", "a list of names"),
        ):
            with pytest.raises(ConfigError, match=message):
                columns(chosen, key=serde, value=values)
        with pytest.raises(ConfigError, match=r"needs a registry: .* on the command line --registry URL"):
            columns(["value"], value="AVRO")
        with pytest.raises(ConfigError, match="format 'AVOR' is none"):
            columns(["value"], value="AVOR")
        with pytest.raises(ConfigError, match="isolation='dirty'"):
            read("t", isolation="dirty", **place)
        with pytest.raises(ConfigError, match="errors='ignore'"):
            read("t", errors="ignore", **place)
        assert columns(["value"], topics="u", value=values) == {"value": []}


def test_protobuf(fast):
    registry = "memory://kafka-protobuf"
    text = 'syntax = "proto3"; message M { int64 id = 1; string note = 2; }'
    serde = kcodec.Serde("PROTOBUF", registry, topic="t", schema=text)
    with FakeCluster({"t": 1}) as cluster:
        place = {"servers": cluster.address, "config": fast}
        write(pa.table({"id": [1, 2], "note": ["a", "b"]}), "t", value=serde, **place)
        named = {"format": "PROTOBUF", "registry": registry}
        for value in (serde, named):
            found = read("t", value=value, columns=["value.note", "offset"], **place).read_all()
            assert found.to_pydict() == {"note": ["a", "b"], "offset": [0, 1]}


def test_nulls_before_the_first_value(fast):
    """As long as nothing else is there, they tell no type."""
    text = 'syntax = "proto3"; message R { int64 id = 1; message P { string city = 1; } P place = 3; }'
    for name, known in (("one", {}), ("two", {"schema": text, "reader_schema": text})):
        registry = f"memory://kafka-nulls-{name}"
        serde = kcodec.Serde("PROTOBUF", registry, topic="t", schema=text)
        nulls = write_batches(pa.table({"value": pa.nulls(3, pa.binary())}))
        value = write_batches(pa.table({"value": serde.serialize(pa.array([{"id": 7}]))}), base_offset=3)
        with FakeCluster({"t": 1}) as cluster:
            place = {"servers": cluster.address, "config": {**fast, "max.partition.fetch.bytes": 1}}
            place["value"] = {"format": "PROTOBUF", "registry": registry, **known}
            cluster.put(PLACE, nulls)
            found = read("t", columns=["value.id", "offset"], **place).read_all()
            assert found.to_pydict() == {"id": [None] * 3, "offset": [0, 1, 2]}
            with follow("t", start="earliest", columns=["value.*", "offset"], **place) as follower:
                assert follower.poll(10).to_pydict() == {"offset": [0, 1, 2]}
                assert follower.schema is None
                cluster.put(PLACE, value)
                assert follower.poll(10).to_pylist() == [{"id": 7, "place": None, "offset": 3}]
                cluster.put(
                    PLACE, write_batches(pa.table({"value": pa.nulls(1, pa.binary())}), base_offset=4)
                )
                assert follower.poll(10).to_pylist() == [{"id": None, "place": None, "offset": 4}]
            for columns, row in (
                (["value.id"], {"id": 7}),
                (["value"], {"value": {"id": 7, "place": None}}),
                (["value.*"], {"id": 7, "place": None}),
            ):
                found = read("t", columns=columns, **place).read_all().to_pylist()
                assert found == [*[dict.fromkeys(row)] * 3, row, dict.fromkeys(row)]


def test_keys_and_values_that_are_known_one_after_the_other(fast):
    registry = "memory://kafka-known"
    keys = kcodec.Serde("AVRO", registry, topic="t", schema='"int"', is_key=True)
    key, value = keys.serialize(pa.array([1])), keys.serialize(pa.array([2]))
    nulls = pa.nulls(1, pa.binary())
    with FakeCluster({"t": 1}) as cluster:
        place = {"servers": cluster.address, "config": {**fast, "max.partition.fetch.bytes": 1}}
        # Their subjects are others.
        format = {"format": "AVRO", "registry": registry, "topic": "u"}
        for number, (one, other) in enumerate([(nulls, nulls), (key, nulls), (nulls, nulls), (nulls, value)]):
            table = pa.table({"key": one, "value": other})
            cluster.put(PLACE, write_batches(table, base_offset=number))
            found = read("t", key=format, value=format, columns=["key", "value"], **place).read_all()
            expected = [(None, None), (1, None), (None, None), (None, 2)][: number + 1]
            assert list(zip(found["key"].to_pylist(), found["value"].to_pylist(), strict=True)) == expected


def test_topics_that_are_none(fast):
    with FakeCluster({"t": 1}) as cluster:
        place = {"servers": cluster.address, "config": fast}
        serde = {"format": "AVRO", "registry": "memory://kafka-none"}
        for topics in ("^nothing.*", {}):
            assert read(topics, **place).read_all().num_rows == 0
            found = read(topics, value=serde, columns=["value", "offset"], **place).read_all()
            assert found.to_pydict() == {"value": [], "offset": []}
            found = read(topics, value=kcodec.JsonCodec("id INT"), columns=["value.id"], **place).read_all()
            assert found.schema.field("id").type == pa.int32()
        for topics in (None, [], {"t": 0}, {"t": "0"}, 5, ["t", 0]):
            with pytest.raises(ConfigError, match="topics are a name, names, a pattern"):
                read(topics, **place)
        with pytest.raises(ConfigError, match=r"the pattern '\^t.\*' is to stand alone"):
            read(["t", "^t.*"], **place)
        with pytest.raises(KafkaError, match="t-7: UNKNOWN_TOPIC_OR_PARTITION"):
            read([Range("t", 0, 0, 0), Range("t", 7, 0, 1)], **place)


def test_json_schema(fast):
    registry = "memory://kafka-json-schema"
    schema = {"properties": {"id": {"type": "integer"}, "any": {}}}
    serde = kcodec.Serde("JSON_SR", registry, topic="t", schema=schema)
    with FakeCluster({"t": 1}) as cluster:
        place = {"servers": cluster.address, "config": fast}
        write(pa.table({"id": [1, 2], "any": ["[1, 2]", None]}), "t", value=serde, **place)
        named = {"format": "JSON_SR", "registry": registry}
        for value in (serde, named):
            found = read("t", value=value, columns=["value.any", "offset"], **place).read_all()
            assert found.to_pydict() == {"any": ["[1,2]", None], "offset": [0, 1]}


def test_topics_of_different_columns_are_refused(fast):
    with FakeCluster({"t": 1, "u": 1}) as cluster:
        registry = kcodec.registry.open("memory://kafka-two-topics")
        registry.register("t-value", kcodec.registry.Schema('"long"'))
        registry.register("u-value", kcodec.registry.Schema('"string"'))
        value = {"format": "AVRO", "registry": "memory://kafka-two-topics", "reader_schema": "latest"}
        place = {"servers": cluster.address, "config": fast, "value": value}
        assert read(["t"], **place).schema.field("value").type == pa.int64()
        with pytest.raises(ConfigError, match="values of 'u' have other columns than those of 't'"):
            read(["t", "u"], **place)


def test_follow_and_commit(fast):
    with filled(counts=[5, 5], partitions=2) as cluster:
        place = {"servers": cluster.address, "config": fast, "columns": ["partition", "offset"]}
        with follow("t", start="earliest", group="g", **place) as follower:
            rows = []
            while (found := follower.poll(0.2)) is not None:
                rows += found.to_pylist()
            assert len(rows) == 20
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
        assert cluster.committed["g", "t", 0] == 12
        with follow("t", **place) as follower:
            assert follower.poll(0.1) is None
            with pytest.raises(ConfigError, match="needs a group"):
                follower.commit()


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


def test_list_topics(fast):
    with filled(partitions=2) as cluster:
        cluster.brokers[0].hooks["DescribeLogDirs"] = lambda body: CLOSE
        found = list_topics(servers=cluster.address, config=fast).to_pylist()
        row = {"topic": "t", "leader": 0, "start": 0, "end": 35, "size": None}
        assert found == [{**row, "partition": 0}, {**row, "partition": 1}]


def test_a_leader_that_refuses_for_ever(fast):
    with filled() as cluster:

        def refuses(body):
            answer = cluster.brokers[0]._Fetch(body)
            answer["responses"][0]["partitions"][0] |= {"errorCode": NOT_LEADER, "records": b""}
            return answer

        cluster.brokers[0].hooks["Fetch"] = refuses
        with pytest.raises(KafkaTimeoutError, match="NOT_LEADER_OR_FOLLOWER"):
            offsets(cluster, fast)


@pytest.mark.parametrize("code", [29, 2, 87, -1, 12345])
def test_errors_that_do_not_pass(fast, code):
    with filled() as cluster:

        def fails(body):
            answer = cluster.brokers[0]._Fetch(body)
            answer["responses"][0]["partitions"][0] |= {"errorCode": code, "records": b""}
            return answer

        cluster.brokers[0].hooks["Fetch"] = fails
        with pytest.raises(KafkaError) as info:
            offsets(cluster, fast)
        assert info.value.code == code


HOSTILE = settings(max_examples=25, deadline=None)
QUICK = {
    "request.timeout.ms": 300,
    "default.api.timeout.ms": 300,
    "retry.backoff.ms": 5,
    "retry.backoff.max.ms": 20,
    "fetch.max.wait.ms": 5,
}


def ends_in_time(cluster):
    start = time.monotonic()
    try:
        reader, _ = read("t", servers=cluster.address, config=QUICK, errors="report")
        reader.read_all()
    except KcodecError:
        pass
    assert time.monotonic() - start < 6


@HOSTILE
@given(
    name=st.sampled_from(["ApiVersions", "Metadata", "ListOffsets", "Fetch"]),
    data=st.binary(max_size=80),
)
def test_any_answer_ends_in_values_or_an_error(name, data):
    with filled() as cluster:
        cluster.brokers[0].hooks[name] = lambda body: data
        ends_in_time(cluster)


@HOSTILE
@given(
    name=st.sampled_from(["ApiVersions", "Metadata", "ListOffsets", "Fetch"]),
    at=st.integers(0, 10_000),
    bit=st.integers(0, 7),
    cut=st.one_of(st.none(), st.integers(0, 10_000)),
)
def test_a_garbled_answer_ends_in_values_or_an_error(name, at, bit, cut):
    from kcodec.kafka.messages import definitions
    from kcodec.protocol import MessageCodec

    with filled() as cluster:
        broker = cluster.brokers[0]
        spec = definitions()[f"{name}Response"]
        codec = MessageCodec(spec, spec.valid_versions.highest)

        def garbled(body):
            data = bytearray(codec.encode_one(getattr(broker, f"_{name}")(body)))
            data[at % len(data)] ^= 1 << bit
            return bytes(data if cut is None else data[: cut % len(data)])

        broker.hooks[name] = garbled
        ends_in_time(cluster)


@pytest.mark.parametrize(
    "head",
    [b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\0\0\0\0", b"\0\0\0\4\0\0\0\7", b"HTTP/1.1 400\r\n", b""],
)
def test_frames_that_are_none(fast, head):
    """A size without limits, none, the answer to another request, a web server, and a closed door."""
    with socket.create_server((HOST, 0)) as server:

        def serve():
            while True:
                try:
                    peer, _ = server.accept()
                except OSError:
                    return
                peer.recv(1000)
                peer.sendall(head)
                peer.close()

        threading.Thread(target=serve, daemon=True).start()
        with pytest.raises(KafkaError):
            read("t", servers=f"{HOST}:{server.getsockname()[1]}", config=fast)
