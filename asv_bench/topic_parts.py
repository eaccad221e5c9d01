"""What ``end_to_end.py`` measures of topics, beside confluent-kafka: reading, writing, memory, the console."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from rounds import interleaved
from spark_peers import DISTINCT, SCHEMA, records

import kcodec
from kcodec import kafka
from kcodec.kafka.connection.cluster import Cluster, TopicPartition
from kcodec.kafka.connection.settings import Settings
from kcodec.kafka.writing.producer import Producer
from kcodec.protocol.batch.write import BatchFields, produced_batches

CODECS = ("none", "lz4", "zstd")
PARTITIONS = 2
TEXT = json.dumps(SCHEMA)
#: Messages that are read one by one.
SINGLE = 20_000
#: Messages taken from the consumer at once: the best of 1,000 to 100,000.
BATCH = 20_000
#: Settings of confluent-kafka's consumer that read a topic fast. By default it pauses for a second whenever its queue
#: was full (`fetch.queue.backoff.ms`), which is most of the time that it takes on a machine near its broker.
TUNED = {"fetch.queue.backoff.ms": 1, "queued.max.messages.kbytes": 1 << 20}


def columns(rows: int) -> pa.Table:
    """Make the columns that are written: the same records again and again."""
    chunks = [records()] * -(-rows // DISTINCT)
    return pa.Table.from_struct_array(pa.chunked_array(chunks)).slice(0, rows)


def make_topic(broker: str, topic: str) -> None:
    """Make a topic."""
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": broker})
    admin.create_topics([NewTopic(topic, PARTITIONS)])[topic].result(30)


def new_topic(broker: str, name: str) -> str:
    """Make a topic of a name like this that nobody has."""
    topic = f"{name}-{uuid.uuid4().hex[:8]}"
    make_topic(broker, topic)
    return topic


def produce(broker: str, topic: str, values: list[bytes], rows: int, codec: str = "none") -> None:
    """Produce values, which repeat, with confluent-kafka, whose batches are then those that are read."""
    from confluent_kafka import Producer

    settings = {"linger.ms": 50, "queue.buffering.max.messages": 2_000_000, "compression.type": codec}
    producer = Producer({"bootstrap.servers": broker, **settings})
    for row in range(rows):
        producer.produce(topic, values[row % len(values)], partition=row % PARTITIONS)
        if not row % 10_000:
            producer.poll(0)
    assert producer.flush(300) == 0


def fill(broker: str, registry: str, rows: int, codec: str) -> str:
    """Produce the values to a new topic."""
    topic = new_topic(broker, f"topics-{codec}")
    serde = kcodec.Serde("AVRO", registry, topic="topics", schema=TEXT)
    produce(broker, topic, serde.serialize(records()).to_pylist(), rows, codec)
    return topic


def consumer_of(broker: str, topic: str, tuned: bool = True) -> Any:
    """Make a consumer of all partitions, at their beginning."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": broker,
            "group.id": uuid.uuid4().hex,
            "enable.auto.commit": False,
            **(TUNED if tuned else {}),
        }
    )
    consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
    return consumer


def consume(
    broker: str,
    topic: str,
    rows: int,
    then: Callable[[list[Any]], Any] | None = None,
    *,
    tuned: bool = True,
) -> None:
    """Read a topic with confluent-kafka's consumer, and do something with each batch of values."""
    consumer = consumer_of(broker, topic, tuned)
    left = rows
    while left:
        messages = consumer.consume(min(left, BATCH), 5)
        values = [message.value() for message in messages]
        if then is not None and values:
            then(values)
        left -= len(messages)
    consumer.close()


def read(broker: str, topic: str, serde: Any, rows: int) -> None:
    """Read a topic into 15 columns."""
    found = 0
    for batch in kafka.read(topic, servers=broker, value=serde, columns=["value.*"]):
        found += len(batch)
        assert batch.num_columns == len(SCHEMA["fields"])
    assert found == rows


def seconds(contestants: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Return the median of each."""
    return {name: round(each, 3) for name, each in interleaved(contestants, rounds).items()}


def one_by_one(broker: str, registry: str, topic: str) -> float:
    """Return what ``AvroDeserializer`` takes for a message, in seconds."""
    from confluent_kafka.schema_registry import SchemaRegistryClient
    from confluent_kafka.schema_registry.avro import AvroDeserializer
    from confluent_kafka.serialization import MessageField, SerializationContext

    deserialize = AvroDeserializer(SchemaRegistryClient({"url": registry, "timeout": 10}))
    context = SerializationContext(topic, MessageField.VALUE)
    taken: list[float] = []

    def then(values: list[bytes]) -> None:
        start = time.perf_counter()
        for value in values:
            deserialize(value, context)
        taken.append(time.perf_counter() - start)

    consume(broker, topic, SINGLE, then)
    return sum(taken) / SINGLE


def reading(broker: str, registry: str, topics: dict[str, str], rows: int, rounds: int) -> dict[str, Any]:
    """Measure reading, with each codec."""
    result: dict[str, Any] = {}
    serde = kcodec.Serde("AVRO", registry, topic="topics", reader_schema="latest")
    for codec, topic in topics.items():
        result[codec] = seconds(
            {
                "kcodec.kafka.read": lambda topic=topic: read(broker, topic, serde, rows),
                "consume alone": lambda topic=topic: consume(broker, topic, rows),
                "consume, Serde": lambda topic=topic: consume(broker, topic, rows, serde.deserialize),
                "consume alone, defaults": lambda topic=topic: consume(broker, topic, rows, tuned=False),
            },
            rounds,
        )
    single = one_by_one(broker, registry, topics["none"])
    result["none"]["consume, AvroDeserializer"] = round(result["none"]["consume alone"] + rows * single, 3)
    return result


def sender(broker: str, table: pa.Table, serde: kcodec.Serde) -> Callable[[], None]:
    """Return what sends batches that are there already: the time that is the broker's own."""
    topic = new_topic(broker, "sent")
    batches = []
    for number, chunk in enumerate(table.to_batches(20_000)):
        values = pa.record_batch({"value": serde.serialize(chunk.to_struct_array())})
        made = produced_batches(values, [(0, -1)], max_bytes=500_000, now=0, fields=BatchFields())
        batches += [(number % PARTITIONS, each.finish("none", None), each.rows) for _, each in made]

    def send() -> None:
        settings = Settings.of({"enable.idempotence": False, "acks": "all"}, broker)
        with Cluster(settings) as cluster:
            cluster.partitions([topic])
            producer = Producer(cluster)
            for number, parts, rows in batches:
                producer.send([(TopicPartition(topic, number), parts, rows)])
            producer.flush()
            producer.close()

    return send


def writing(broker: str, registry: str, rows: int, rounds: int) -> dict[str, float]:
    """Measure writing; rounds go on in the same topics."""
    from confluent_kafka import Producer as Confluent

    table = columns(rows)
    serde = kcodec.Serde("AVRO", registry, topic="topics", schema=TEXT)

    produced = new_topic(broker, "produced")

    def produce() -> None:
        producer = Confluent(
            {
                "bootstrap.servers": broker,
                "linger.ms": 50,
                "queue.buffering.max.messages": 2_000_000,
                "enable.idempotence": True,
            }
        )
        for chunk in table.to_struct_array().chunks:
            for value in serde.serialize(chunk).to_pylist():
                producer.produce(produced, value)
            producer.poll(0)
        assert producer.flush(300) == 0

    contestants: dict[str, Callable[[], Any]] = {
        "Serde, Producer.produce": produce,
        "batches made before, none": sender(broker, table, serde),
    }
    for codec in CODECS:
        topic = new_topic(broker, "written")
        contestants[f"kcodec.kafka.write, {codec}"] = lambda codec=codec, topic=topic: kafka.write(
            table, topic, servers=broker, value=serde, compression=codec
        )
    return seconds(contestants, rounds)


def memory(broker: str, registry: str, topics: list[str]) -> list[int]:
    """Return the peak of a process that reads a topic, in MB, for each topic."""
    program = (
        "import sys, resource, kcodec; from kcodec import kafka\n"
        "serde = kcodec.Serde('AVRO', sys.argv[2], topic='topics', reader_schema='latest')\n"
        "rows = sum(map(len, kafka.read(sys.argv[3], servers=sys.argv[1], value=serde, columns=['value.*'])))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)\n"
    )
    found = []
    for topic in topics:
        command = [sys.executable, "-c", program, broker, registry, topic]
        found.append(int(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    return found


def console(broker: str, registry: str, topic: str) -> dict[str, float]:
    """Measure ``kcodec consume`` into Parquet, and kcat if there is one."""
    with tempfile.TemporaryDirectory() as folder:
        parquet = ["-o", "parquet", "--output", f"{folder}/out.parquet", "--columns", "value.*"]
        place = ["consume", topic, "-b", broker, "--value", "avro", "--registry", registry]
        commands = {"kcodec consume": [sys.executable, "-m", "kcodec.cli.main", *place, *parquet]}
        if kcat := shutil.which("kcat"):
            commands["kcat"] = [kcat, "-b", broker, "-t", topic, "-C", "-e", "-q"]
        found = {}
        for name, command in commands.items():
            start = time.perf_counter()
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True, env=os.environ)
            found[name] = round(time.perf_counter() - start, 2)
    return found


def wanted(result: dict[str, Any]) -> None:
    """Print the ratios that are wanted, beside those that were measured."""
    none = result["reading, seconds"]["none"]
    own = none["kcodec.kafka.read"]
    lines = [
        ("reading: consume and Serde's batch loop takes 4 times as long", none["consume, Serde"] / own, 4),
        (
            "reading: consume and AvroDeserializer takes 100 times as long",
            none["consume, AvroDeserializer"] / own,
            100,
        ),
    ]
    for codec, least in (("lz4", 3.0), ("zstd", 2.5)):
        each = result["reading, seconds"][codec]
        times = each["consume alone"] / each["kcodec.kafka.read"]
        lines.append((f"reading {codec}: the consumer alone takes {least} times as long", times, least))
    write = result["writing, seconds"]
    times = write["Serde, Producer.produce"] / write["kcodec.kafka.write, none"]
    lines.append(("writing: Serde and Producer.produce take 5 times as long", times, 5))
    times = write["Serde, Producer.produce"] / write["batches made before, none"]
    lines.append(("writing: than the broker alone, they do", times, 5))
    print("\nwhat is wanted of topics")
    for text, times, least in lines:
        print(f"  {text}: {times:.1f}: {'yes' if times >= least else 'NO'}")


def topic_parts(broker: str, registry: str, rows: int, rounds: int) -> dict[str, Any]:
    """Measure all, and print it."""
    topics = {codec: fill(broker, registry, rows, codec) for codec in CODECS}
    result: dict[str, Any] = {"reading, seconds": reading(broker, registry, topics, rows, rounds)}
    for codec, each in result["reading, seconds"].items():
        print(f"\ntopic to 15 columns, {codec}")
        for name, taken in each.items():
            print(f"  {name:28} {taken:8.3f} s")
    result["writing, seconds"] = writing(broker, registry, rows, rounds)
    print("\ncolumns to topic")
    for name, taken in result["writing, seconds"].items():
        print(f"  {name:28} {taken:8.3f} s")
    ten = fill(broker, registry, 10 * rows, "none")
    result["peak memory, MB, of one and ten times the rows"] = memory(broker, registry, [topics["none"], ten])
    print(
        f"\npeak memory, one and ten times the rows: {result['peak memory, MB, of one and ten times the rows']} MB"
    )
    result["console, seconds"] = console(broker, registry, topics["none"])
    print(f"console: {result['console, seconds']}")
    wanted(result)
    return result
