"""What reading holds and asks for: bytes, rows, threads, and what a process loads."""

import os
import random
import subprocess
import sys
import threading
import time

import pyarrow as pa
import pytest
from fake_broker import PLACE, FakeCluster, filled
from topic_rows import offsets

import kcodec
from kcodec.errors import KafkaError
from kcodec.kafka import read
from kcodec.protocol import write_batches
from kcodec.protocol.batch import read as batch_reading


def test_a_reader_that_takes_its_time(fast):
    """What is not asked for meanwhile is not late, nor what other partitions leave no room for."""
    sizes = {"fetch.max.bytes": 1000, "max.partition.fetch.bytes": 1000, "default.api.timeout.ms": 200}
    with filled(counts=[20] * 6, partitions=3) as cluster:
        reader = read("t", servers=cluster.address, columns=["offset"], config={**fast, **sizes})
        rows = len(reader.read_next_batch())
        time.sleep(0.5)
        assert rows + sum(len(each) for each in reader) == 360


@pytest.mark.parametrize("limits", [(1_000, 2_000), (2_000, 1_000)])
def test_a_fetch_asks_for_no_more_than_its_limits(fast, limits):
    asked = []
    with filled() as cluster:
        cluster.brokers[0].hooks["Fetch"] = asked.append
        config = dict(zip(("fetch.max.bytes", "max.partition.fetch.bytes"), limits, strict=True))
        assert offsets(cluster, {**fast, **config}) == list(range(35))
    assert {body["maxBytes"] for body in asked} == {limits[0]}
    assert {body["topics"][0]["partitions"][0]["partitionMaxBytes"] for body in asked} == {1_000}


@pytest.mark.parametrize(("size", "requests"), [(1_000, 1), (20_000, 2)])
def test_a_range_is_sent_little_beyond_its_end(fast, size, requests):
    """Brokers know of no end, so it is by what offsets take that they are asked for so many bytes."""
    one = write_batches(pa.table({"value": [random.Random(1).randbytes(size)]}))
    sent = []
    with FakeCluster({"t": 1}) as cluster:
        for _ in range(100):
            cluster.append(PLACE, one)

        def counted(body):
            answer = cluster.brokers[0]._Fetch(body)
            asked = body["topics"][0]["partitions"][0]["partitionMaxBytes"]
            sent.append((len(answer["responses"][0]["partitions"][0]["records"]), asked, body["minBytes"]))
            return answer

        cluster.brokers[0].hooks["Fetch"] = counted
        config = {**fast, "fetch.min.bytes": 1 << 20}
        assert offsets(cluster, config, start={"t": {0: 50}}, end={"t": {0: 60}}) == list(range(50, 60))
    assert len(sent) == requests
    assert sum(records for records, _, _ in sent) <= max(2 * 10 * len(one), 64 << 10)
    # Else the broker would wait for more than it is to send.
    assert all(fewest <= asked for _, asked, fewest in sent)


def cut(cluster):
    """Have a broker cut the first batch of a response too, which Kafka's own sends whole."""

    def answer(body):
        made = cluster.brokers[0]._Fetch(body)
        wanted = body["topics"][0]["partitions"][0]["partitionMaxBytes"]
        part = made["responses"][0]["partitions"][0]
        part["records"] = part["records"][:wanted]
        return made

    cluster.brokers[0].hooks["Fetch"] = answer


@pytest.mark.parametrize("given", [{}, {"start": {"t": {0: 12}}, "end": {"t": {0: 17}}}])
def test_batches_that_are_cut_are_asked_for_anew(short, given):
    one = write_batches(pa.table({"value": [random.Random(1).randbytes(100_000)] * 2}))
    with FakeCluster({"t": 1}) as cluster:
        for _ in range(10):
            cluster.append(PLACE, one)
        cut(cluster)
        config = {**short, "max.partition.fetch.bytes": 1_000}
        assert offsets(cluster, config, **given) == list(range(20))[slice(12, 17) if given else slice(20)]
        config["receive.message.max.bytes"] = config["fetch.max.bytes"] = 50_000
        with pytest.raises(KafkaError, match=r"t-0: the batch at offset \d+ is larger than 50000 bytes"):
            offsets(cluster, config, **given)


def test_memory_is_bounded_by_what_is_fetched(fast):
    """Nothing is fetched beyond what waits: one response being decoded, and the next."""
    with filled(counts=[50] * 100) as cluster:
        small = {**fast, "max.partition.fetch.bytes": 2_000, "fetch.max.bytes": 2_000}
        reader = read("t", servers=cluster.address, columns=["offset"], config=small)
        rows = len(reader.read_next_batch())
        time.sleep(0.3)
        assert cluster.brokers[0].asked.count("Fetch") <= 3
        assert rows + reader.read_all().num_rows == 5_000


@pytest.mark.parametrize("left", ["before it is read", "while it is read", "as it cannot be made"])
def test_a_reader_that_is_left_ends_its_threads(fast, left):
    def fetching():
        return [each for each in threading.enumerate() if each.name.startswith("kcodec-fetch")]

    with filled(counts=[50] * 100) as cluster:
        place = {"servers": cluster.address, "config": {**fast, "max.partition.fetch.bytes": 2_000}}
        if left == "as it cannot be made":
            serde = {"format": "AVRO", "registry": "memory://kafka-left"}
            with pytest.raises(kcodec.errors.KcodecError):
                read("t", value=serde, **place)
        else:
            reader = read("t", columns=["offset"], **place)
            if left == "while it is read":
                reader.read_next_batch()
            assert fetching()
            del reader
        end = time.monotonic() + 5
        while fetching():
            assert time.monotonic() < end
            time.sleep(0.02)


FORKED = """
import os
import signal
import sys
import warnings

from kcodec.errors import KafkaError
from kcodec.kafka import follow, read

warnings.simplefilter("ignore", DeprecationWarning)  # of forking where threads run
place = {"servers": sys.argv[1], "config": {"max.partition.fetch.bytes": 2_000}}
reader = read("t", columns=["offset"], **place)
rows = len(reader.read_next_batch())
with follow("t", start="earliest", group="g", **place) as follower:
    assert len(follower.poll(5))
    follower.commit()
    child = os.fork()
    if not child:
        signal.alarm(10)
        for ask in (reader.read_next_batch, lambda: follower.poll(5)):
            try:
                ask()
            except KafkaError as error:
                assert "only in the process that made it" in str(error)
            else:
                os._exit(1)
        follower.commit()
        follower.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert rows + reader.read_all().num_rows == 5_000
    assert len(follower.poll(5))
    follower.commit()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_reader_in_a_forked_child():
    """It has none of the threads, and leaves the connections to its parent."""
    with filled(counts=[50] * 100) as cluster:
        code = [sys.executable, "-c", FORKED, cluster.address]
        done = subprocess.run(code, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        # Of each the one to any broker, and the one to fetch, by which offsets are asked for, too; and of the follower
        # the one to the coordinator of its group. The child commits by two of its own.
        assert len(cluster.brokers[0].sockets) == 7


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


def test_batches_of_many_records_are_read_in_parts(fast, monkeypatch):
    monkeypatch.setattr(batch_reading, "_MOST_ROWS", 3)
    with filled() as cluster:
        reader = read("t", servers=cluster.address, config=fast, columns=["offset"])
        sizes = [len(each) for each in reader]
        assert max(sizes) == 3
        assert sum(sizes) == 35
