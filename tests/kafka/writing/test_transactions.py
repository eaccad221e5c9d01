"""What is written in transactions: all of it or nothing."""

import time

import pyarrow as pa
import pytest
from fake_broker import FakeCluster
from topic_rows import SMALL, numbers

import kcodec
from kcodec.errors import EncodeError, KafkaError
from kcodec.kafka import write


def test_transactions(fast):
    """Partitions are made part of it before anything is written, and it ends once."""
    with FakeCluster({"t": 2}) as cluster:
        broker = cluster.brokers[0]
        ended = []

        def ends(body):
            ended.append(body["committed"])

        broker.hooks["EndTxn"] = ends
        place = {"servers": cluster.address, "config": {**fast, **SMALL}, "transactional_id": "me"}
        write(numbers(1_000), "t", **place)
        assert ended == [True]
        assert broker.asked.index("AddPartitionsToTxn") < broker.asked.index("Produce")
        assert all(cluster.records(("t", partition))["transactional"].to_pylist() for partition in range(2))
        serde = kcodec.Serde("AVRO", "memory://kafka-transactions", topic="t", schema='"int"')
        bad = pa.table({"value": [*range(70_000), 1 << 40]})
        with pytest.raises(EncodeError):
            write(bad, "t", value=serde, **place)
        assert ended == [True, False]
        tries = []

        def busy(body):
            tries.append(body)
            return (
                None
                if len(tries) > 3
                else {"throttleTimeMs": 0, "errorCode": 51, "producerId": -1, "producerEpoch": 0}
            )

        broker.hooks["InitProducerId"] = busy
        write(numbers(10), "t", **place)
        assert (len(tries), ended) == (4, [True, False, True])


def test_partitions_that_others_keep_out_of_a_transaction(fast):
    """Which of them are at fault comes first, wherever the broker has it."""
    with FakeCluster({"t": 2}) as cluster:
        broker, codes = cluster.brokers[0], [(55, 3), (55, 29)]

        def fails(body):
            answer = broker._AddPartitionsToTxn(body)
            found = answer["resultsByTopicV3AndBelow"][0]["resultsByPartition"]
            found.sort(key=lambda each: each["partitionIndex"])
            for each, code in zip(found, codes.pop(0), strict=True):
                each["partitionErrorCode"] = code
            return answer

        broker.hooks["AddPartitionsToTxn"] = fails
        table = numbers(2).append_column("where", [[0, 1]])
        place = {"servers": cluster.address, "config": fast, "transactional_id": "me"}
        with pytest.raises(KafkaError, match="t-1: TOPIC_AUTHORIZATION_FAILED"):
            write(table, "t", partition="where", **place)
        assert not codes


@pytest.mark.parametrize("where", ["Produce", "AddPartitionsToTxn", "EndTxn"])
def test_a_lost_transaction_tells_why(fast, where):
    """Brokers abort those that last too long, and say no more than that the producer is an old one."""
    with FakeCluster({"t": 1}) as cluster:
        broker = cluster.brokers[0]

        def fenced(body):
            if where == "EndTxn":
                return {"throttleTimeMs": 0, "errorCode": 90}
            answer = getattr(broker, f"_{where}")(body)
            if where == "Produce":
                answer["responses"][0]["partitionResponses"][0]["errorCode"] = 47
            else:
                answer["resultsByTopicV3AndBelow"][0]["resultsByPartition"][0]["partitionErrorCode"] = 90
            return answer

        broker.hooks[where] = fenced
        place = {"servers": cluster.address, "config": {**fast, "transaction.timeout.ms": 1500}}
        with pytest.raises(KafkaError, match=r"took longer than transaction.timeout.ms \(1500\), or another"):
            write(numbers(10), "t", transactional_id="me", **place)


def test_transactions_are_aborted_behind_what_is_under_way(fast):
    with FakeCluster({"t": 1}) as cluster:
        broker = cluster.brokers[0]
        ended = []

        def ends(body):
            ended.append((body["committed"], len(cluster.logs["t", 0])))

        def slow(body):
            time.sleep(0.3)

        broker.hooks.update(Produce=slow, EndTxn=ends)
        serde = kcodec.Serde("AVRO", "memory://kafka-aborted", topic="t", schema='"int"')
        # A busy machine may take its time: nothing is to be sent again.
        patient = {"request.timeout.ms": 20_000, "default.api.timeout.ms": 40_000}
        place = {"servers": cluster.address, "config": {**fast, **SMALL, **patient}, "transactional_id": "me"}
        with pytest.raises(EncodeError):
            write(pa.table({"value": [*range(70_000), 1 << 40]}), "t", value=serde, **place)
        time.sleep(0.5)
        assert ended == [(False, len(cluster.logs["t", 0]))]
