"""Answers that no broker gives end in values or in an error, and in time."""

import pickle
import socket
import struct
import threading
import time
import tracemalloc
from contextlib import suppress

import pyarrow as pa
import pytest
from fake_broker import HOST, FakeCluster, filled, knows, tells_writers
from hypothesis import given, settings
from hypothesis import strategies as st
from tries import tries

from kcodec.errors import KafkaError, KafkaTimeoutError, KcodecError
from kcodec.kafka import create_topic, read, write
from kcodec.kafka.connection.cluster import Cluster, TopicPartition
from kcodec.kafka.connection.settings import Settings

HOSTILE = settings(max_examples=tries(25), deadline=None)
QUICK = {
    "request.timeout.ms": 300,
    "default.api.timeout.ms": 300,
    "retry.backoff.ms": 5,
    "retry.backoff.max.ms": 20,
    "fetch.max.wait.ms": 5,
}
#: Where all answers come, however busy the machine is.
PATIENT = {**QUICK, "request.timeout.ms": 10_000}


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


@HOSTILE
@given(
    name=st.sampled_from(
        ["ApiVersions", "Metadata", "InitProducerId", "Produce", "AddPartitionsToTxn", "EndTxn"]
    ),
    data=st.binary(max_size=60),
)
def test_any_answer_ends_in_offsets_or_an_error(name, data):
    with FakeCluster({"t": 1}) as cluster:
        cluster.brokers[0].hooks[name] = lambda body: data
        start = time.monotonic()
        with suppress(KcodecError):
            rows = pa.table({"value": [b"1"] * 5})
            write(rows, "t", servers=cluster.address, config=QUICK, transactional_id="me")
        assert time.monotonic() - start < 6


@pytest.mark.parametrize("offset", [(1 << 63) - 1, (1 << 63) - 5])
def test_offsets_of_what_is_written_that_are_none(offset):
    with FakeCluster({"t": 1}) as cluster:
        tells_writers(cluster.brokers[0], baseOffset=offset)
        with pytest.raises(
            KafkaError, match=f"broker {cluster.address} answers for t-0 with the offset {offset}, "
        ):
            write(pa.table({"value": [b"1"] * 5}), "t", servers=cluster.address, config=QUICK)


@pytest.mark.parametrize("offset", [-2, -(1 << 63)])
def test_offsets_of_partitions_that_are_none(offset):
    with filled() as cluster:

        def lies(body):
            answer = cluster.brokers[0]._ListOffsets(body)
            answer["topics"][0]["partitions"][0]["offset"] = offset
            return answer

        cluster.brokers[0].hooks["ListOffsets"] = lies
        with pytest.raises(KafkaError, match=f"broker 0 answers for t-0 with the offset {offset}"):
            read("t", servers=cluster.address, config=QUICK)


@pytest.mark.parametrize(
    ("base", "delta"), [((1 << 63) - 1, 0), ((1 << 63) - 2, 1), ((1 << 63) - 2, 5), (7, -1)]
)
def test_offsets_of_batches_that_are_none(base, delta):
    with filled(counts=(5,)) as cluster:
        _, _, data = cluster.logs["t", 0][0]
        data = base.to_bytes(8, "big") + data[8:23] + delta.to_bytes(4, "big", signed=True) + data[27:]
        cluster.logs["t", 0] = [(0, 4, data)]
        with pytest.raises(KafkaError, match=f"t-0: the batch at offset {base} is to end {delta} behind it"):
            read("t", servers=cluster.address, config=QUICK).read_all()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("port", [1, -1, 70_000])
@pytest.mark.parametrize("host", ["", ".", "a..b", "x" * 70, "a\0b", "\ud7ff" * 30, HOST])
def test_places_that_are_none(host, port):
    """Brokers tell where others are."""

    def told(answer, *names):
        return lambda body: {**answer(body), **dict(zip(names, (host, port), strict=True))}

    with filled() as cluster:
        broker = cluster.brokers[0]
        broker.hooks["FindCoordinator"] = told(broker._FindCoordinator, "host", "port")
        with pytest.raises(KafkaError):
            write(
                pa.table({"value": [b"1"]}), "t", servers=cluster.address, config=QUICK, transactional_id="me"
            )
        place = {"nodeId": 0, "host": host, "port": port, "rack": None}
        broker.hooks["Metadata"] = lambda body: {**broker._Metadata(body), "brokers": [place]}
        with pytest.raises(KafkaError):
            read("t", servers=cluster.address, config=QUICK)


def test_a_topic_without_partitions():
    with FakeCluster({"t": 1}) as cluster:
        broker = cluster.brokers[0]

        def none(body):
            answer = broker._Metadata(body)
            answer["topics"][0]["partitions"] = []
            return answer

        broker.hooks["Metadata"] = none
        place = {"servers": cluster.address, "config": QUICK}
        with pytest.raises(KafkaError, match="topic 't': LEADER_NOT_AVAILABLE"):
            write(pa.table({"value": [b"1"]}), "t", **place)
        with pytest.raises(KafkaError, match="topic 't': LEADER_NOT_AVAILABLE"):
            read("t", **place)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "head",
    [b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\0\0\0\0", b"\0\0\0\4\0\0\0\7", b"HTTP/1.1 400\r\n", b""],
)
def test_frames_that_are_none(short, head):
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
            read("t", servers=f"{HOST}:{server.getsockname()[1]}", config=short)


def test_a_throttle_of_days():
    """One answer that asks not to be called for 24 days costs the time of one call, not that of each one after it."""
    with filled() as cluster:
        broker = cluster.brokers[0]
        broker.hooks["ListOffsets"] = lambda body: {
            **broker._ListOffsets(body),
            "throttleTimeMs": (1 << 31) - 1,
        }

        def nothing(body):
            answer = broker._Fetch(body)
            answer["responses"][0]["partitions"][0]["records"] = b""
            return answer

        broker.hooks["Fetch"] = nothing
        start = time.monotonic()
        with pytest.raises(KafkaTimeoutError, match="nothing came for offset 0"):
            read("t", servers=cluster.address, config=QUICK).read_all()
        assert time.monotonic() - start < 2.5


def test_a_throttle_without_an_end():
    """A broker that only ever asks not to be asked has nothing to say in the time of a few calls."""
    with filled() as cluster:
        broker = cluster.brokers[0]

        def later(body):
            answer = broker._Fetch(body)
            answer["responses"][0]["partitions"][0]["records"] = b""
            return {**answer, "throttleTimeMs": 100}

        broker.hooks["Fetch"] = later
        start = time.monotonic()
        with pytest.raises(KafkaTimeoutError, match="nothing came for offset 0"):
            read("t", servers=cluster.address, config=QUICK).read_all()
        assert time.monotonic() - start < 2.5
        # Once is what brokers do whose clients read too much.
        counts = iter(range(2))
        broker.hooks["Fetch"] = lambda body: later(body) if next(counts, 1) < 1 else None
        assert read("t", servers=cluster.address, config=QUICK).read_all().num_rows == 35


@pytest.mark.parametrize("sasl", [False, True])
def test_first_answers_that_are_too_large(sasl):
    """Before it is known who answers, an answer becomes few objects."""
    config = dict(QUICK)
    if sasl:
        login = {"sasl.mechanism": "PLAIN", "sasl.username": "me", "sasl.password": "sesame"}
        config |= {"security.protocol": "SASL_PLAINTEXT", **login}
    count = 200_000
    large = bytes(2) + struct.pack(">i", count) + b"\0\1\0\0\0\5" * count
    with filled() as cluster:
        cluster.brokers[0].hooks["SaslHandshake" if sasl else "ApiVersions"] = lambda body: large
        with pytest.raises(KafkaError, match=f"a response of {len(large) + 4} bytes is no broker's first"):
            read("t", servers=cluster.address, config=config)


@pytest.mark.parametrize("numbers", [(0, 0), (0, 1, 0), (-1,), (0, -5)])
def test_partitions_that_no_topic_has(numbers):
    with filled() as cluster:
        broker = cluster.brokers[0]

        def told(body):
            answer = broker._Metadata(body)
            (first,) = answer["topics"][0]["partitions"]
            answer["topics"][0]["partitions"] = [{**first, "partitionIndex": number} for number in numbers]
            return answer

        broker.hooks["Metadata"] = told
        text = "a broker names a partition of 't' twice, or one that is negative"
        with pytest.raises(KafkaError, match=text):
            read("t", servers=cluster.address, config=QUICK)


def test_what_brokers_say_is_one_line_of_bounded_length():
    said = "no\n2026-01-01 ERROR \x1b[31m" + "x" * 30_000
    with FakeCluster({"t": 1}) as cluster:
        cluster.brokers[0].hooks["CreateTopics"] = lambda body: {
            "throttleTimeMs": 0,
            "topics": [{"name": "u", "errorCode": 36, "errorMessage": said}],
        }
        with pytest.raises(
            KafkaError, match=r"^topic 'u': TOPIC_ALREADY_EXISTS: no 2026-01-01 ERROR"
        ) as caught:
            create_topic("u", servers=cluster.address, config=QUICK)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 1600
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_metadata_of_very_many_partitions():
    """As many as stand in 52 MB are columns, not objects: of a topic that was asked for, and of those that were not."""
    partition = bytes(2) + struct.pack(">iii", 0, 0, 0) + bytes(12)
    count = 300_000
    topic = b"\0\0\0\1t\0"
    partitions = b"".join(
        partition[:2] + struct.pack(">i", number) + partition[6:] for number in range(count)
    )
    data = bytes(4) + bytes(4) + b"\xff\xff" + bytes(4)
    one = data + struct.pack(">i", 1) + topic + struct.pack(">i", count) + partitions
    many = data + struct.pack(">i", 300_000) + b"\0\0\0\1u\0\0\0\0\0" * 300_000
    with FakeCluster({"t": 1}) as cluster:
        knows(cluster.brokers[0], Metadata=7)
        broker = cluster.brokers[0]
        broker.hooks["Metadata"] = lambda body: one
        with Cluster(Settings.of(QUICK, cluster.address)) as asked:
            before = tracemalloc_of(lambda: asked.refresh(["t"]))
            assert asked.leader(TopicPartition("t", count - 1)) == (0, 0)
            assert asked.leader(TopicPartition("t", count)) == (-1, -1)
        # The list of their numbers, and what is left of the response.
        assert before < 120 * count
        broker.hooks["Metadata"] = lambda body: many
        with pytest.raises(KafkaError, match="a broker answers for 300000 topics, and was asked for 1"):
            read("t", servers=cluster.address, config=QUICK)


def tracemalloc_of(call):
    """Return the most bytes of Python's that a call has at a time."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_fetches_of_topics_that_nobody_asked_for():
    with filled() as cluster:
        knows(cluster.brokers[0], Fetch=11)
        cluster.brokers[0].hooks["Fetch"] = lambda body: (
            bytes(10) + struct.pack(">i", 1_000_000) + bytes(6_000_000)
        )
        with pytest.raises(KafkaError, match="FetchResponse: block_count"):
            read("t", servers=cluster.address, config=QUICK).read_all()


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"errorCode": 70}, "{}: ERROR_70"),
        ({"partitionIndex": 7}, "broker {} answers for t-7, which it was not asked for (after"),
        ({"responses": True}, "{}: FetchResponse: block_count: "),
    ],
)
def test_errors_of_fetches_name_the_broker(changed, told):
    with filled() as cluster:
        broker = cluster.brokers[0]

        def lies(body):
            answer = broker._Fetch(body)
            (topic,) = answer["responses"]
            if "partitionIndex" in changed:
                topic["partitions"][0].update(changed)
            elif "responses" in changed:
                topic["partitions"] *= 2
            else:
                answer.update(changed)
            return answer

        broker.hooks["Fetch"] = lies
        with pytest.raises(KafkaError) as info:
            read("t", servers=cluster.address, config=PATIENT).read_all()
        assert str(info.value).startswith(told.format(cluster.address))
