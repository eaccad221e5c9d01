"""The internal topics of a broker, read from its own segment files, say what its admin API says."""

import contextlib
import uuid

import pyarrow as pa
import pytest
from artifacts import artifacts
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient
from processes import until

from kcodec import MessageCodec
from kcodec.protocol import decode_topic, load, read_segment
from kcodec_spark import consumer_lag, decode_consumer_offsets

SECONDS = 60

#: States of a transaction, as its log has them.
COMPLETE_COMMIT, COMPLETE_ABORT = 4, 5


@contextlib.contextmanager
def consuming(kafka, topic, group):
    """Join a group and read a message of each partition's; nothing is committed."""
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.address,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    message = consumer.poll(SECONDS)
    assert message is not None
    assert message.error() is None
    try:
        yield consumer
    finally:
        consumer.close()


def transaction(kafka, topic, name, consumer, offset, *, commit):
    """Write a message and move a group on, and commit or abort both."""
    producer = Producer({"bootstrap.servers": kafka.address, "transactional.id": name})
    producer.init_transactions(SECONDS)
    producer.begin_transaction()
    producer.produce(topic, name.encode(), partition=0)
    producer.flush(SECONDS)
    place = [TopicPartition(topic, 0, offset)]
    producer.send_offsets_to_transaction(place, consumer.consumer_group_metadata(), SECONDS)
    (producer.commit_transaction if commit else producer.abort_transaction)(SECONDS)


@pytest.fixture
def story(kafka, topic):
    """Let a group commit, a transaction commit, and another abort."""
    group, good, bad = (f"{what}-{uuid.uuid4().hex[:8]}" for what in ("group", "good", "bad"))
    producer = Producer({"bootstrap.servers": kafka.address})
    for partition in (0, 1):
        for number in range(10):
            producer.produce(topic, str(number).encode(), partition=partition)
    assert producer.flush(SECONDS) == 0
    with consuming(kafka, topic, group) as consumer:
        places = [TopicPartition(topic, partition, 4, metadata="so far") for partition in (0, 1)]
        consumer.commit(offsets=places, asynchronous=False)
        transaction(kafka, topic, good, consumer, 7, commit=True)
        transaction(kafka, topic, bad, consumer, 9, commit=False)
    return group, good, bad


@pytest.fixture(scope="module")
def definitions():
    return load(sorted((artifacts() / "broker").glob("kafka-*-coordinator-[0-9]*.jar")))


def records(broker, topic, **options):
    """Read all segments of a topic's only partition."""
    paths = sorted((broker.folder / "data" / f"{topic}-0").glob("*.log"))
    assert paths
    return pa.concat_tables([read_segment(path, control="keep", **options) for path in paths])


def test_offsets_of_groups(kafka, broker, topic, story, definitions):
    group, _, _ = story
    rows = records(broker, "__consumer_offsets", isolation="read_committed")
    table = decode_topic("__consumer_offsets", rows["key"], rows["value"], definitions=definitions)
    committed = {}
    for kind, row in zip(table["kind"].to_pylist(), table["OffsetCommit"].to_pylist(), strict=True):
        if row is not None and row["key"]["group"] == group:
            assert kind == "record"
            committed[row["key"]["topic"], row["key"]["partition"]] = row["value"]
    admin = AdminClient({"bootstrap.servers": kafka.address})
    asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result(SECONDS)
    said = {(place.topic, place.partition): place.offset for place in asked.topic_partitions}
    assert (
        {place: value["offset"] for place, value in committed.items()}
        == said
        == {(topic, 0): 7, (topic, 1): 4}
    )
    # confluent-kafka writes the zero that ends the text in C, too.
    assert committed[topic, 1]["metadata"].rstrip("\0") == "so far"
    # The offsets of both transactions came with markers, and those of the one that was aborted are there, too.
    everything = records(broker, "__consumer_offsets")
    table = decode_topic("__consumer_offsets", everything["key"], everything["value"])
    assert table["kind"].to_pylist().count("marker") >= 2
    assert 9 in [row["value"]["offset"] for row in table["OffsetCommit"].to_pylist() if row and row["value"]]
    assert "error" not in table["kind"].to_pylist()


def test_members_of_groups(kafka, broker, topic, story, definitions):
    group, _, _ = story
    rows = records(broker, "__consumer_offsets")
    table = decode_topic("__consumer_offsets", rows["key"], rows["value"], definitions=definitions)
    found = [
        row
        for row in table["GroupMetadata"].to_pylist()
        if row and row["key"]["group"] == group and row["value"]
    ]
    member = next(value["members"][0] for value in (row["value"] for row in found) if value["members"])
    assert found[-1]["value"]["protocolType"] == "consumer"
    clients = load(next((artifacts() / "broker").glob("kafka-clients-*.jar")))
    subscription = MessageCodec.for_versions(clients["ConsumerProtocolSubscription"], header="version")
    assert subscription.decode_one(member["subscription"])["topics"] == [topic]
    assignment = MessageCodec.for_versions(clients["ConsumerProtocolAssignment"], header="version")
    assigned = assignment.decode_one(member["assignment"])["assignedPartitions"]
    assert assigned == [{"topic": topic, "partitions": [0, 1]}]


def states(rows, names):
    """Read the last state of some transactions."""
    table = decode_topic("__transaction_state", rows["key"], rows["value"])
    logs = {row["key"]["transactionalId"]: row["value"] for row in table["TransactionLog"].to_pylist() if row}
    return {name: logs[name]["transactionStatus"] for name in names if logs.get(name)}


def test_transactions(kafka, broker, topic, story, definitions):
    _, good, bad = story
    done = {good: COMPLETE_COMMIT, bad: COMPLETE_ABORT}
    # The coordinator answers before the last of its records is written.
    until(lambda: states(records(broker, "__transaction_state"), done) == done, SECONDS)
    rows = records(broker, "__transaction_state")
    table = decode_topic("__transaction_state", rows["key"], rows["value"], definitions=definitions)
    builtin = decode_topic("__transaction_state", rows["key"], rows["value"])
    for given, known in zip(
        table["TransactionLog"].to_pylist(), builtin["TransactionLog"].to_pylist(), strict=True
    ):
        assert given["key"] == known["key"]
        # Newer brokers only add tagged fields.
        if known["value"]:
            assert known["value"].items() <= {name: given["value"][name] for name in known["value"]}.items()
    values = records(broker, topic, isolation="read_committed")["value"].to_pylist()
    assert good.encode() in values
    assert bad.encode() not in values


def test_metadata(kafka, broker, topic, shared):
    definitions = load(shared / "kafka-messages" / "metadata")
    rows = records(broker, "__cluster_metadata")
    table = decode_topic("__cluster_metadata", rows["key"], rows["value"], definitions=definitions)
    assert set(table["kind"].to_pylist()) <= {"record", "marker", "unknown_type", "unknown_version"}
    topics = {row["name"]: row["topicId"] for row in table["TopicRecord"].to_pylist() if row}
    admin = AdminClient({"bootstrap.servers": kafka.address})
    described = admin.describe_topics(TopicCollection([topic]))[topic].result(SECONDS)
    identity = described.topic_id
    halves = (identity.get_most_significant_bits(), identity.get_least_significant_bits())
    assert topics[topic] == b"".join(half.to_bytes(8, "big", signed=True) for half in halves)


@pytest.fixture
def internal(spark):
    """Let Spark read internal topics, which it otherwise leaves out, whatever is subscribed to."""
    setting = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"
    spark.conf.set(setting, "true")
    yield
    spark.conf.unset(setting)


def test_lag(spark, kafka, topic, story):
    group, _, _ = story
    found = consumer_lag(spark, kafka.address, group)
    assert found.columns == ["group", "topic", "partition", "committed", "end", "lag"]
    rows = [tuple(row) for row in found.orderBy("partition").collect()]
    # Partition 0 also has the message of each transaction, behind ten others. A broker answers a commit before it has
    # written the marker, which stands before the second of these messages, or behind it.
    end = rows[0][4]
    assert end in (12, 13)
    assert rows == [(group, topic, 0, 7, end, end - 7), (group, topic, 1, 4, 10, 6)]
    everyone = consumer_lag(spark, kafka.address)
    assert everyone.where(everyone["group"] == group).count() == 2
    assert consumer_lag(spark, kafka.address, "nobody").count() == 0
    setting = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"
    assert spark.conf.get(setting) == "false"


@pytest.mark.usefixtures("internal")
def test_spark_reads_what_groups_committed(spark, kafka, topic, story):
    group, _, _ = story
    offsets = decode_consumer_offsets(kafka.source(spark.read, "__consumer_offsets"))
    mine = offsets.where(f"kind = 'record' AND OffsetCommit.key.group = '{group}'")
    print(offsets.groupBy("kind", "type", "OffsetCommit.key.group").count().collect(), offsets.count())
    rows = mine.select("offset", "OffsetCommit.key.partition", "OffsetCommit.value.offset").collect()
    latest = {partition: committed for _, partition, committed in sorted(rows)}
    # Spark reads what is not committed unless it is told otherwise.
    assert latest == {0: 9, 1: 4}
