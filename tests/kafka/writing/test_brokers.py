"""What writing does with what brokers do: nothing is lost, nothing written twice, and the order stays."""

import os
import threading
import time
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from fake_broker import CLOSE, NOT_LEADER, PATIENT, FakeCluster, knows, tells_writers
from topic_rows import SMALL, numbers, values

from kcodec.errors import KafkaError, KafkaTimeoutError
from kcodec.kafka import write
from kcodec.kafka.connection.channel import Channel
from kcodec.kafka.connection.cluster import TopicPartition


@pytest.mark.parametrize("fault", ["lost answer", "lost request", "error", "corrupt", "stale"])
def test_nothing_is_lost_and_nothing_twice(fast, fault):
    """Every third request fails, before or after the broker has taken it."""
    with FakeCluster({"t": 2}, brokers=2) as cluster:
        seen = []

        def fails(broker):
            def hook(body):
                seen.append(body)
                if len(seen) % 3:
                    return None
                if fault == "lost request":
                    return CLOSE
                if fault == "lost answer":
                    broker._Produce(body)
                    return CLOSE
                if fault == "stale":
                    place = body["topicData"][0]["name"], body["topicData"][0]["partitionData"][0]["index"]
                    cluster.leaders[place] = 1 - broker.number
                    return None
                answer = {"responses": [], "throttleTimeMs": 0}
                for topic in body["topicData"]:
                    errors = [
                        {
                            "index": each["index"], "errorCode": 2 if fault == "corrupt" else 19,
                            "baseOffset": -1, "logAppendTimeMs": -1,
                            "logStartOffset": 0, "recordErrors": [], "errorMessage": "too few",
                        }
                        for each in topic["partitionData"]
                    ]  # fmt: skip
                    answer["responses"].append({"name": topic["name"], "partitionResponses": errors})
                return answer

            return hook

        for broker in cluster.brokers:
            broker.hooks["Produce"] = fails(broker)
        config = {**fast, **SMALL, "delivery.timeout.ms": 20_000}
        table = numbers(4_000).append_column("where", pa.array([number % 2 for number in range(4_000)]))
        written = write(table, "t", servers=cluster.address, partition="where", config=config)
        for partition in range(2):
            assert values(cluster, partition) == list(range(partition, 4_000, 2))
        assert written.end == {"t": {0: 2_000, 1: 2_000}}
        assert len(seen) > 10


def test_a_broker_that_restarts(fast):
    with FakeCluster({"t": 1}) as cluster:
        (broker,) = cluster.brokers
        seen = []

        def restarts(body):
            seen.append(body)
            if len(seen) == 4:
                threading.Thread(target=lambda: (broker.stop(), time.sleep(0.3), broker.start())).start()
                time.sleep(0.1)
                return CLOSE
            return None

        broker.hooks["Produce"] = restarts
        config = {**fast, **SMALL, "delivery.timeout.ms": 10_000}
        write(numbers(4_000), "t", servers=cluster.address, config=config)
        assert values(cluster) == list(range(4_000))


def test_time_outs(short):
    with FakeCluster({"t": 1}) as cluster:
        broker = cluster.brokers[0]
        for name in ("Produce", "InitProducerId", "Metadata"):
            broker.hooks = {name: lambda body: False}
            start = time.monotonic()
            with pytest.raises(KafkaTimeoutError):
                write(numbers(10), "t", servers=cluster.address, config=short)
            assert time.monotonic() - start < 10


def test_a_broker_that_stops_while_it_is_written_to(fast):
    """Those that are left know who leads instead; nothing else is asked of the one that has stopped."""
    with FakeCluster({"t": 1}, brokers=4) as cluster:
        stopped = cluster.brokers[0]

        def stop(body):
            stopped.hooks = dict.fromkeys(("Produce", "Metadata", "ApiVersions"), lambda body: False)
            cluster.leaders["t", 0] = 1
            return False

        stopped.hooks["Produce"] = stop
        # Were it asked again, its second silence would end behind the time.
        config = {**fast, "request.timeout.ms": 3_000, "delivery.timeout.ms": 5_900}
        write(numbers(100), "t", servers=f"127.0.0.1:{stopped.port}", config=config)
        assert values(cluster) == list(range(100))


@pytest.mark.parametrize("name", ["Produce", "Metadata"])
@pytest.mark.timeout(20)
def test_batches_are_not_waited_for_behind_their_time(fast, name):
    """Whatever a request may take."""
    with FakeCluster({"t": 1}) as cluster:
        (broker,) = cluster.brokers

        def lose(body):
            broker.hooks = {name: lambda body: False}
            return CLOSE

        broker.hooks["Produce"] = lose
        config = {
            **fast,
            "request.timeout.ms": 60_000,
            "default.api.timeout.ms": 60_000,
            "delivery.timeout.ms": 300,
        }
        with pytest.raises(KafkaTimeoutError):
            write(numbers(100), "t", servers=cluster.address, config=config)


def test_an_outage_that_is_longer_than_any_other_call_may_take(fast):
    with FakeCluster({"t": 2}, brokers=2) as cluster:

        def all_stop():
            for broker in cluster.brokers:
                broker.hooks.clear()
                broker.stop()
            time.sleep(0.6)
            for broker in cluster.brokers:
                broker.start()

        def stop(body):
            for broker in cluster.brokers:
                broker.hooks["Produce"] = lambda body: CLOSE
            threading.Thread(target=all_stop).start()
            return CLOSE

        for broker in cluster.brokers:
            broker.hooks["Produce"] = stop
        config = {**fast, **SMALL, "default.api.timeout.ms": 250, "delivery.timeout.ms": 20_000}
        write(numbers(1_000), "t", servers=cluster.address, config=config, partition=0)
        assert values(cluster) == list(range(1_000))


@pytest.mark.parametrize("code", [29, 87, 47])
def test_errors_that_do_not_pass(fast, code):
    with FakeCluster({"t": 1}) as cluster:
        tells_writers(cluster.brokers[0], errorCode=code)
        with pytest.raises(KafkaError) as info:
            write(numbers(10), "t", servers=cluster.address, config=fast)
        assert info.value.code == code


@pytest.mark.parametrize("codec", ["none", "zstd", "gzip"])
@pytest.mark.parametrize("more", [{}, {"enable.idempotence": "false"}, {"transactional.id": "me"}])
def test_batches_that_are_too_large_are_split(fast, codec, more):
    """In order, each record once, with its key, headers and time, and with sequences that go on."""
    random = np.random.default_rng(1)
    sent = pa.table(
        {
            "key": [b"%d" % row for row in range(300)],
            "value": [random.bytes(1_000) for _ in range(300)],
            "headers": [[("n", b"%d" % row)] for row in range(300)],
            "timestamp": pa.array(range(1_000, 1_300), pa.timestamp("ms", "UTC")),
        },
        schema=pa.schema(
            [
                ("key", pa.binary()),
                ("value", pa.binary()),
                ("headers", pa.map_(pa.string(), pa.binary())),
                ("timestamp", pa.timestamp("ms", "UTC")),
            ]
        ),
    )
    with FakeCluster({"t": 1}) as cluster:
        cluster.too_large = 100_000
        place = {"servers": cluster.address, "compression": codec, "config": {**fast, **more}}
        written = write(sent, "t", **place)
        assert (written.start, written.end) == ({"t": {0: 0}}, {"t": {0: 300}})
        found = cluster.records(("t", 0))
        assert found["key"].to_pylist() == sent["key"].to_pylist()
        assert found["value"].to_pylist() == sent["value"].to_pylist()
        assert found["timestamp"].cast(pa.int64()).to_pylist() == list(range(1_000, 1_300))
        assert [[*each[0].values()] for each in found["headers"].to_pylist()] == [
            ["n", b"%d" % row] for row in range(300)
        ]
        idempotent = "enable.idempotence" not in more
        assert found["sequence"].to_pylist() == (list(range(300)) if idempotent else [-1] * 300)
        assert set(found["transactional"].to_pylist()) == {"transactional.id" in more}
        assert cluster.brokers[0].asked.count("Produce") < 12


def test_what_a_topic_takes_is_known_from_then_on(fast):
    with FakeCluster({"t": 1}) as cluster:
        cluster.too_large = 40_000
        rows = pa.table({"value": [bytes(1_000)] * 2_000})
        parts = pa.RecordBatchReader.from_batches(rows.schema, rows.to_batches(max_chunksize=500))
        write(parts, "t", compression="none", servers=cluster.address, config=fast)
        refused = cluster.brokers[0].asked.count("Produce") - len(cluster.logs["t", 0])
        assert len(cluster.records(("t", 0))) == 2_000
        assert refused < 30


def test_a_record_that_is_too_large(fast):
    with FakeCluster({"t": 1}) as cluster:
        cluster.too_large = 100_000
        rows = pa.table({"value": [b"a", bytes(120_000), b"b"]})
        text = r"t-0: MESSAGE_TOO_LARGE: a batch of one record has 120\d\d\d bytes, more than max.message.bytes of"
        with pytest.raises(KafkaError, match=text) as caught:
            write(rows, "t", compression="none", servers=cluster.address, config=fast)
        assert caught.value.code == 10


def test_a_topic_that_is_made_anew_is_not_written_on(fast):
    """Sequences that go on from the one before would be those of the other."""
    with FakeCluster({"t": 1}) as cluster:
        broker = cluster.brokers[0]

        def remakes(body):
            if broker.asked.count("Produce") == 4:
                cluster.delete("t")
                cluster.create("t")
                answer = broker._Produce(body)
                cluster.logs["t", 0].clear()
                answer["responses"][0]["partitionResponses"][0]["errorCode"] = 6
                return answer
            return None

        broker.hooks["Produce"] = remakes
        with pytest.raises(KafkaError, match="topic 't' was deleted and made anew") as caught:
            write(numbers(5_000), "t", compression="none", servers=cluster.address, config={**fast, **SMALL})
        assert caught.value.name == "TOPIC_RECREATED"


def test_brokers_without_zstd(fast):
    with FakeCluster({"t": 1}) as cluster:
        knows(cluster.brokers[0], Produce=6)
        place = {"servers": cluster.address, "config": fast}
        write(numbers(10), "t", compression="lz4", **place)
        with pytest.raises(KafkaError, match="UNSUPPORTED_COMPRESSION_TYPE: zstd needs") as info:
            write(numbers(10), "t", **place)
        assert info.value.code == 76
        assert values(cluster) == list(range(10))


def test_connections_that_expire(monkeypatch):
    """No request is sent over one that the broker is about to end."""
    sent = Counter()
    send = Channel.send

    def counted(self, name, *given, **more):
        sent[self] += name == "ProduceRequest"
        return send(self, name, *given, **more)

    monkeypatch.setattr(Channel, "send", counted)
    monkeypatch.setattr(Channel, "is_expired", property(lambda self: sent[self] >= 3))
    with FakeCluster({"t": 1}) as cluster:
        write(numbers(20_000), "t", servers=cluster.address, compression="none", config={**PATIENT, **SMALL})
        assert values(cluster) == list(range(20_000))
    assert max(sent.values()) == 3
    assert not any(channel.is_open for channel in sent)


def test_without_idempotence(fast):
    with FakeCluster({"t": 1}) as cluster:
        for acks in ("1", "all", "0"):
            config = {**fast, **SMALL, "acks": acks, "enable.idempotence": "false"}
            write(numbers(1_000), "t", servers=cluster.address, config=config)
            end = time.monotonic() + 5
            while len(values(cluster)) < 1_000 and time.monotonic() < end:
                time.sleep(0.01)
            assert values(cluster) == list(range(1_000))
            assert "InitProducerId" not in cluster.brokers[0].asked
            cluster.logs["t", 0].clear()


def test_what_is_written_waits_for_brokers(fast):
    """Who writes faster than brokers take it has to wait: memory is bounded."""
    with FakeCluster({"t": 1}) as cluster:
        cluster.brokers[0].hooks["Produce"] = lambda body: time.sleep(0.005)
        made = []

        def batches():
            for number in range(40):
                made.append(number)
                yield pa.record_batch({"value": [bytes(1_000_000)]})

        reader = pa.RecordBatchReader.from_batches(pa.schema([("value", pa.binary())]), batches())
        most = []
        cluster.brokers[0].hooks["Produce"] = lambda body: most.append(len(made) - len(cluster.logs["t", 0]))
        write(
            reader,
            "t",
            servers=cluster.address,
            compression="none",
            config={**fast, "request.timeout.ms": 20_000},
        )
        assert len(cluster.logs["t", 0]) == 40
        assert max(most) < 40


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_rows_are_sent_before_others_come(codec, fast):
    with FakeCluster({"t": 1}) as cluster:

        def batches():
            for count in (1, 2):
                yield pa.record_batch({"value": [b"x"]})
                end = time.monotonic() + 10
                while cluster.end(("t", 0)) < count:
                    assert time.monotonic() < end
                    time.sleep(0.01)

        reader = pa.RecordBatchReader.from_batches(pa.schema([("value", pa.binary())]), batches())
        write(reader, "t", servers=cluster.address, compression=codec, config=fast)


@pytest.mark.timeout(20)
def test_a_failure_waits_for_no_room(fast):
    """A thread that waits until brokers have taken more ends with the rest."""
    with FakeCluster({"t": 1}) as cluster:
        cluster.brokers[0].hooks["Produce"] = lambda body: time.sleep(2)

        def batches():
            for _ in range(36):
                yield pa.record_batch({"value": [os.urandom(1_000_000)]})
            raise ZeroDivisionError

        reader = pa.RecordBatchReader.from_batches(pa.schema([("value", pa.binary())]), batches())
        patience = {"request.timeout.ms": 20_000, "default.api.timeout.ms": 60_000}
        config = {**fast, **patience, "max.in.flight.requests.per.connection": 1}
        with pytest.raises(ZeroDivisionError):
            write(reader, "t", servers=cluster.address, compression="lz4", config=config)


def test_fewer_rows_are_encoded_at_once_where_they_are_large(fast, monkeypatch):
    from kcodec.kafka.writing import topic_writer

    together = []
    write_rows = topic_writer._TopicWriter.write

    def noted(self, outbox, batch):
        together.append(len(batch))
        write_rows(self, outbox, batch)

    monkeypatch.setattr(topic_writer._TopicWriter, "write", noted)
    with FakeCluster({"t": 1}) as cluster:
        write(numbers(70_000), "t", servers=cluster.address, config=fast)
        large = pa.table({"value": pa.array([bytes(20_000)] * 2_000, pa.binary_view())})
        write(large, "t", servers=cluster.address, config=fast)
    assert together == [65_536, 70_000 - 65_536, 1_024, 2_000 - 1_024]


def test_sequences_begin_again_behind_the_largest(fast, monkeypatch):
    from kcodec.kafka.writing import topic_writer

    with FakeCluster({"t": 1}) as cluster:
        init = topic_writer._Outbox.__init__

        def near_the_end(self, *given):
            init(self, *given)
            self._sequences[TopicPartition("t", 0)] = 0x7FFFFFFF - 100

        monkeypatch.setattr(topic_writer._Outbox, "__init__", near_the_end)
        write(numbers(1_000), "t", servers=cluster.address, config={**fast, **SMALL})
        assert values(cluster) == list(range(1_000))
        assert cluster.records(("t", 0))["sequence"].to_pylist()[100:102] == [0x7FFFFFFF, 0]


def test_leaders_that_refuse(fast):
    with FakeCluster({"t": 1}) as cluster:
        cluster.brokers[0]._leads = lambda place: False
        # On a machine that has much to do, one answer may take more than a second.
        config = {**fast, "request.timeout.ms": 3_000, "default.api.timeout.ms": 3_000}
        with pytest.raises(KafkaTimeoutError, match="NOT_LEADER_OR_FOLLOWER") as info:
            write(numbers(1), "t", servers=cluster.address, config=config)
        assert info.value.code == NOT_LEADER


def test_the_end_of_the_time_hides_no_answer(fast):
    """A try that the end of the time cuts off says less than what the broker answered before."""
    with FakeCluster({"t": 1}) as cluster:
        broker = cluster.brokers[0]
        broker._leads = lambda place: False
        broker.hooks["Produce"] = lambda body: None if broker.asked.count("Produce") == 1 else False
        config = {**fast, "request.timeout.ms": 20_000, "default.api.timeout.ms": 1_000}
        with pytest.raises(KafkaTimeoutError, match=r"NOT_LEADER_OR_FOLLOWER \(after tries for 1000 ms\)"):
            write(numbers(1), "t", servers=cluster.address, config=config)
