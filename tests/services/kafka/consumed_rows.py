"""The records of a topic as rows: by confluent-kafka's consumer, and of a reader, which has the same."""

import uuid

from confluent_kafka import Consumer, TopicPartition

#: All columns that a reader has.
ALL = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers"]


def consumed(address, topic, isolation="read_committed"):
    """Read a topic with confluent-kafka: rows as `read` has them."""
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": uuid.uuid4().hex,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": isolation,
            "enable.partition.eof": True,
        }
    )
    partitions = consumer.list_topics(topic, 30).topics[topic].partitions
    consumer.assign([TopicPartition(topic, each, 0) for each in partitions])
    rows, ended = [], set()
    while len(ended) < len(partitions):
        for message in consumer.consume(10_000, 1):
            if message.error() is not None:
                ended.add(message.partition())
                continue
            kind, time = message.timestamp()
            rows.append(
                {
                    "key": message.key(),
                    "value": message.value(),
                    "topic": message.topic(),
                    "partition": message.partition(),
                    "offset": message.offset(),
                    "timestamp": time,
                    "timestampType": kind - 1,
                    "headers": [{"key": key, "value": value} for key, value in message.headers() or []],
                }
            )
    consumer.close()
    return sorted(rows, key=place)


def place(row):
    return row["partition"], row["offset"]


def rows_of(reader):
    rows = reader.read_all().to_pylist()
    for row in rows:
        row["timestamp"] = row["timestamp"] and round(row["timestamp"].timestamp() * 1000)
    return sorted(rows, key=place)
