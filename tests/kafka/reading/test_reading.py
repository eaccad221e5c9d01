"""What reading does with what brokers do: a broker of the tests' own takes each part."""

import random
import re
import socket
import struct
import threading
import time

import pyarrow as pa
import pytest
from fake_broker import CLOSE, HOST, NOT_LEADER, PLACE, FakeCluster, batch, filled, knows
from topic_rows import offsets

import kcodec
from kcodec.errors import ConfigError, KafkaError, KafkaTimeoutError
from kcodec.kafka import Range, RecordError, find_ranges, follow, list_topics, read
from kcodec.kafka.fetching.cursor import Cursor
from kcodec.protocol import write_batches


def test_ranges_begin_and_end_inside_batches(fast):
    with filled() as cluster:
        assert offsets(cluster, fast) == list(range(35))
        assert offsets(cluster, fast, start={"t": {0: 12}}, end={"t": {0: 17}}) == list(range(12, 17))
        assert offsets(cluster, fast, start=-3) == [32, 33, 34]
        assert [tuple(each) for each in find_ranges("t", servers=cluster.address, config=fast)] == [
            ("t", 0, 0, 35)
        ]


def test_a_broker_has_one_connection_to_fetch_and_to_ask_for_offsets(fast):
    with filled(brokers=3, partitions=6) as cluster:
        assert len(offsets(cluster, fast)) == 6 * 35
        # And one for what any broker answers.
        assert sum(len(broker.sockets) for broker in cluster.brokers) == 3 + 1
        with follow("t", servers=cluster.address, start="earliest", config=fast) as follower:
            for _ in range(6):
                assert follower.poll(5) is not None
        assert sum(len(broker.sockets) for broker in cluster.brokers) == 2 * (3 + 1)


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


@pytest.mark.parametrize("errors", ["raise", "null"])
def test_a_damaged_header_ends_reading(fast, errors):
    """The next batch could start anywhere."""
    with filled() as cluster:
        _, last, data = cluster.logs[PLACE][1]
        cluster.logs[PLACE][1] = (10, last, data[:16] + b"\x09" + data[17:])
        reader = read("t", servers=cluster.address, columns=["offset"], config=fast, errors=errors)
        assert reader.read_next_batch()["offset"].to_pylist() == list(range(10))
        with pytest.raises(RecordError, match=r"^invalid_batch: t-0, offset 10, batch, byte 16: ") as info:
            reader.read_all()
        assert (info.value.position, info.value.column) == (10, None)


@pytest.mark.timeout(30)
def test_aborted_transactions_by_the_ten_thousand(fast):
    """Of one producer, in one response: what a batch belongs to is looked up, not searched for."""
    count = 20_000
    columns = {"value": [bytes(6)], "producer_id": [1], "transactional": [True]}
    data = write_batches(pa.table(columns))
    marker = write_batches(pa.table({**columns, "key": [struct.pack(">hh", 0, 0)], "control": [True]}))
    with FakeCluster({"t": 1}) as cluster:
        for first in range(0, 2 * count, 2):
            cluster.put(PLACE, first.to_bytes(8, "big") + data[8:])
            cluster.put(PLACE, (first + 1).to_bytes(8, "big") + marker[8:])
        cluster.put(PLACE, (2 * count).to_bytes(8, "big") + data[8:])
        # Not in order, as nothing says that brokers have one.
        cluster.aborted[PLACE] = [(1, first, first + 1) for first in range(0, 2 * count, 2)][::-1]
        assert offsets(cluster, fast) == [2 * count]


@pytest.mark.timeout(30)
def test_damaged_batches_by_the_ten_thousand(fast):
    count = 50_000
    data = batch(0, 1)
    with FakeCluster({"t": 1}) as cluster:
        for first in range(count):
            cluster.put(PLACE, first.to_bytes(8, "big") + data[8:-1] + b"\1")
        reader, report = read("t", servers=cluster.address, config=fast, errors="report")
        assert reader.read_all().num_rows == 0
    assert [each.offset for each in report.faults] == list(range(count))
    assert {each.byte for each in report.faults} == {17}


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
def test_a_broker_that_says_nothing(short, name):
    with filled() as cluster:
        cluster.brokers[0].hooks[name] = silent
        start = time.monotonic()
        with pytest.raises(KafkaTimeoutError, match="timed out"):
            offsets(cluster, short)
        assert time.monotonic() - start < 10


@pytest.mark.parametrize("name", ["ApiVersions", "Metadata", "ListOffsets"])
def test_many_brokers_that_say_nothing(fast, name):
    """Who waits for an answer waits no longer than it was said."""
    with filled(brokers=6) as cluster:
        for broker in cluster.brokers:
            broker.hooks[name] = silent
        config = {**fast, "request.timeout.ms": 30_000, "default.api.timeout.ms": 1_000}
        start = time.monotonic()
        with pytest.raises(KafkaTimeoutError, match="timed out"):
            offsets(cluster, config)
        assert time.monotonic() - start < 5


def test_brokers_of_several_versions(fast):
    """One tells the leader's epoch, which the other does not ask for."""
    with filled(brokers=2) as cluster:
        knows(cluster.brokers[0], Fetch=8)
        assert offsets(cluster, fast) == list(range(35))
        knows(cluster.brokers[0], Fetch=3)
        start = time.monotonic()
        with pytest.raises(
            KafkaError, match="FetchRequest: UNSUPPORTED_VERSION: versions 4 to 3 are"
        ) as info:
            offsets(cluster, fast)
        assert info.value.code == 35
        knows(cluster.brokers[0], ListOffsets=-1)
        with pytest.raises(KafkaError, match=r"ListOffsetsRequest: UNSUPPORTED_VERSION$"):
            offsets(cluster, fast)
        assert time.monotonic() - start < 1.5, "it is not tried again"


def test_quotas(fast):
    """Time in which a broker wants not to be asked is not that of a try."""
    with filled() as cluster:
        (broker,) = cluster.brokers
        answers = [{**broker._Fetch({"topics": [], "maxBytes": 0}), "throttleTimeMs": 900}, CLOSE]
        broker.hooks["Fetch"] = lambda body: answers.pop(0) if answers else None
        assert offsets(cluster, {**fast, "default.api.timeout.ms": 800}) == list(range(35))


def test_a_broker_that_never_has_what_it_says_to_have(short):
    with filled() as cluster:

        def nothing(body):
            answer = cluster.brokers[0]._Fetch(body)
            answer["responses"][0]["partitions"][0]["records"] = b""
            return answer

        cluster.brokers[0].hooks["Fetch"] = nothing
        with pytest.raises(KafkaTimeoutError, match="t-0: nothing came for offset 0, before its end at 35"):
            offsets(cluster, short)
        # It is not asked as fast as it answers.
        assert cluster.brokers[0].asked.count("Fetch") < 400


def test_the_last_error_is_told_at_the_end_of_the_time(fast, monkeypatch):
    """Though the time may be over between the error and the next look at it."""

    def fail(cursor, error, may_be_deleted):
        failed(cursor, error, may_be_deleted)
        cursor.deadline.end = time.monotonic() - 0.001

    failed = Cursor.fail
    monkeypatch.setattr(Cursor, "fail", fail)
    with FakeCluster({"t": 1}) as cluster:
        for data in (batch(0, 5), batch(0, 5)):
            cluster.logs[PLACE].append((0, 4, data))
        with pytest.raises(KafkaTimeoutError, match="t-0: the batch at offset 0 follows that of 0 to 4"):
            offsets(cluster, fast)


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
                KafkaTimeoutError, match=r"t-0: the batch at offset -?\d+ (follows that of|is to end)"
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


def test_a_partition_without_leader(short):
    with filled(partitions=2) as cluster:
        cluster.leaders["t", 1] = -1
        with pytest.raises(KafkaTimeoutError, match=r"t-1: LEADER_NOT_AVAILABLE \(after tries for 2000 ms\)"):
            offsets(cluster, short)
        # The other one is read meanwhile.
        reader = read([Range("t", 0, 0, 35), Range("t", 1, 0, 35)], servers=cluster.address, config=short)
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


def test_offsets_behind_an_open_transaction(fast):
    """Whoever read uncommitted records may have got there: what follows comes once it is stable."""
    with filled(counts=[5] * 4) as cluster:
        (broker,) = cluster.brokers

        def stable(body):
            answer = broker._ListOffsets(body)
            for topic in answer["topics"]:
                for each in topic["partitions"]:
                    if body["isolationLevel"]:
                        each["offset"] = min(each["offset"], 8)
            return answer

        broker.hooks["ListOffsets"] = stable
        for reset in ("error", "earliest", "latest"):
            config = {**fast, "auto.offset.reset": reset}
            place = {"servers": cluster.address, "columns": ["offset"], "config": config}
            start = {"t": {0: 12}}
            assert [
                tuple(each) for each in find_ranges("t", servers=cluster.address, start=start, config=config)
            ] == [("t", 0, 12, 12)]
            assert offsets(cluster, config, start=start) == []
            with follow("t", start=start, **place) as follower:
                assert follower.positions == start
                assert follower.poll(10)["offset"].to_pylist()[0] == 12
        with pytest.raises(KafkaError, match="OFFSET_OUT_OF_RANGE: it has the offsets 0 to 20, not 21"):
            offsets(cluster, fast, start={"t": {0: 21}})
        with pytest.raises(KafkaError, match="OFFSET_OUT_OF_RANGE: it ends at 8, before 12"):
            offsets(cluster, fast, end={"t": {0: 12}})


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
        with pytest.raises(ConfigError, match="is not a pattern of text"):
            read(re.compile(b"t"), servers=cluster.address, config=fast)
        with pytest.raises(ConfigError, match="is not a pattern"):
            read("^" + "(" * 5000 + ")" * 5000, servers=cluster.address, config=fast)
        with pytest.raises(ConfigError, match=r"the pattern '\^t.\*' is to stand alone"):
            read(["t", "^t.*"], **place)
        with pytest.raises(KafkaError, match="t-7: UNKNOWN_TOPIC_OR_PARTITION"):
            read([Range("t", 0, 0, 0), Range("t", 7, 0, 1)], **place)


def test_list_topics(fast):
    with filled(partitions=2) as cluster:
        cluster.brokers[0].hooks["DescribeLogDirs"] = lambda body: CLOSE
        found = list_topics(servers=cluster.address, config=fast).to_pylist()
        row = {"topic": "t", "leader": 0, "start": 0, "end": 35, "size": None}
        assert found == [{**row, "partition": 0}, {**row, "partition": 1}]


def test_list_topics_without_a_leader(fast):
    with filled(partitions=2) as cluster:
        cluster.leaders["t", 1] = -1
        cluster.brokers[0].hooks["DescribeLogDirs"] = lambda body: CLOSE
        first, second = list_topics(servers=cluster.address, config=fast).to_pylist()
        assert (first["leader"], first["end"]) == (0, 35)
        assert second == {"topic": "t", "partition": 1, **dict.fromkeys(("leader", "start", "end", "size"))}


def test_ranges_of_one_partition(fast):
    """They come in their order; no request asks for a partition twice."""
    with filled(partitions=2) as cluster:
        asked = []
        cluster.brokers[0].hooks["Fetch"] = lambda body: asked.append(body["topics"][0]["partitions"])
        parts = [(0, 20, 35), (1, 0, 3), (0, 5, 12), (0, 12, 20), (0, 0, 2), (1, 2, 4)]
        ranges = [Range("t", *part) for part in parts]
        found = read(ranges, servers=cluster.address, columns=["partition", "offset"], config=fast).read_all()
        rows = [(row["partition"], row["offset"]) for row in found.to_pylist()]
        for partition in (0, 1):
            expected = [offset for number, *part in parts if number == partition for offset in range(*part)]
            assert [offset for number, offset in rows if number == partition] == expected
        for places in asked:
            assert len({each["partition"] for each in places}) == len(places)


def test_ranges_without_an_end(fast):
    with filled() as cluster:
        found = read([Range("t", 0, 30), Range("t", 0, 3, 5)], servers=cluster.address, config=fast)
        assert sorted(found.read_all()["offset"].to_pylist()) == [3, 4, *range(30, 35)]


def test_a_leader_that_refuses_for_ever(short):
    with filled() as cluster:

        def refuses(body):
            answer = cluster.brokers[0]._Fetch(body)
            answer["responses"][0]["partitions"][0] |= {"errorCode": NOT_LEADER, "records": b""}
            return answer

        cluster.brokers[0].hooks["Fetch"] = refuses
        with pytest.raises(KafkaTimeoutError, match="NOT_LEADER_OR_FOLLOWER"):
            offsets(cluster, short)


def test_the_end_of_the_time_hides_no_answer(fast):
    """A try that the end of the time cuts off says less than what the broker answered before."""
    with filled() as cluster:

        def refuses(body):
            if cluster.brokers[0].asked.count("Fetch") > 1:
                return False
            answer = cluster.brokers[0]._Fetch(body)
            answer["responses"][0]["partitions"][0] |= {"errorCode": NOT_LEADER, "records": b""}
            return answer

        cluster.brokers[0].hooks["Fetch"] = refuses
        config = {**fast, "request.timeout.ms": 2_000, "default.api.timeout.ms": 1_000}
        with pytest.raises(KafkaTimeoutError, match=r"NOT_LEADER_OR_FOLLOWER \(after tries for 1000 ms\)"):
            offsets(cluster, config)


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
