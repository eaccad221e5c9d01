"""A stream on two workers under faults, and whether its sink has each record, and how often."""

import json
import os
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from clusters import DRIVER, Cluster
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from processes import ENDS_WITH_US, Service, until
from sinks import SINKS

HERE = Path(__file__).parent
PARTITIONS = 4
#: Records have the numbers of a phase, which are those from so many times its own number on.
PHASE = 1_000_000

_BASE = [{"name": "id", "type": "long"}, {"name": "text", "type": "string"}]
_SECONDS = 400
#: How long the broker is away.
_AWAY = 8


class Figures(NamedTuple):
    """What became of the records of a phase."""

    phase: str
    written: int
    lost: int
    twice: int


class Trial:
    """A stream into a sink, and a topic that is written meanwhile.

    Parameters
    ----------
    cluster, broker, registry
        What may have a fault: all are running.
    sink : str
        One of `SINKS`.
    folder : Path
        Of data, checkpoint and log.
    rate : int
        Records of a second.
    """

    def __init__(
        self,
        cluster: Cluster,
        broker: Service,
        registry: Service,
        sink: str,
        folder: Path,
        rate: int = 300,
    ) -> None:
        self.cluster, self.broker, self.registry = cluster, broker, registry
        self.sink, self.folder, self.rate = sink, folder, rate
        self.topic = f"rows-{sink.lower()}-{os.urandom(4).hex()}"
        #: The names of the phases, and how many records the broker has acknowledged of each.
        self.phases: list[str] = []
        self.written: Counter[int] = Counter()
        admin = AdminClient({"bootstrap.servers": broker.address})
        for topic in (self.topic, f"{self.topic}-copy"):
            admin.create_topics([NewTopic(topic, PARTITIONS)])[topic].result(_SECONDS)
        # What it cannot send it keeps, and nothing twice.
        self._producer = Producer(
            {"bootstrap.servers": broker.address, "enable.idempotence": True, "linger.ms": 5, "log_level": 0}
        )
        self._registry = SchemaRegistryClient({"url": registry.address, "timeout": 10})
        self._fields = list(_BASE)
        self._serialize = self._serializer()
        self._driver: subprocess.Popen | None = None
        given = {
            "settings": {**cluster.settings, "spark.sql.execution.arrow.maxRecordsPerBatch": "100"}
            | SINKS[sink].settings,
            "sink": sink,
            "broker": broker.address,
            "registry": registry.address,
            "topic": self.topic,
            "folder": str(folder),
            "phase": PHASE,
            "pause": 0.1,
        }
        (folder / "given").write_text(json.dumps(given))

    def start(self) -> None:
        """Start the driver."""
        with (self.folder / "driver.log").open("ab") as log:
            self._driver = subprocess.Popen(
                [
                    *ENDS_WITH_US,
                    self.cluster.python,
                    str(HERE / "stream_driver.py"),
                    str(self.folder / "given"),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env={**os.environ, **self.cluster.environment},
            )

    def faults(self) -> dict[str, Callable[[], None] | None]:
        """Return what may happen, by name."""
        return {
            "none": None,
            "executor killed": self.cluster.kill_executor,
            "worker killed": self.lose_worker,
            "driver killed": self.lose_driver,
            "registry away": self.lose_registry,
            "broker away": self.lose_broker,
        }

    def lose_worker(self) -> None:
        self.cluster.kill_worker()
        time.sleep(3)
        self.cluster.start_worker()

    def lose_driver(self) -> None:
        """Kill the driver, its JVM first, and start it again at once, as a user's supervisor does."""
        self.cluster.kill(DRIVER)
        self._driver.kill()
        self._driver.wait()
        self.start()

    def lose_broker(self) -> None:
        self.broker.kill()
        time.sleep(_AWAY)
        self.broker.start()

    def lose_registry(self) -> None:
        """Have records come with an id that no worker knows, and the registry away until the query has failed by it."""
        self._fields.append({"name": f"more{len(self._fields)}", "type": "long", "default": 0})
        serialize = self._serializer()
        failures = self._failures()
        self.registry.stop()
        self._serialize = serialize
        until(lambda: self._failures() > failures, _SECONDS)
        self.registry.start()

    def phase(self, name: str, fault: Callable[[], None] | None = None, seconds: float = 3) -> None:
        """Write records for some seconds, have the fault in the midst of them, and wait until all are through."""
        number = len(self.phases)
        self.phases.append(name)
        over = threading.Event()
        writer = threading.Thread(target=self._write, args=(number, over))
        writer.start()
        try:
            time.sleep(seconds / 2)
            if fault is not None:
                fault()
            time.sleep(seconds / 2)
        finally:
            over.set()
            writer.join()
        until(lambda: self._producer.flush(1) == 0, _SECONDS)
        until(lambda: self._committed() == sum(self.written.values()), _SECONDS)

    def finish(self) -> tuple[list[Figures], int]:
        """Stop the stream; gives what became of the records of each phase, and how often the query failed."""
        (self.folder / "stop").touch()
        assert self._driver.wait(_SECONDS) == 0, self.tail()
        found = json.loads((self.folder / "found").read_text())
        counted = self._copied() if self.sink == "kcodec_kafka" else found["phases"]
        figures = []
        for number, name in enumerate(self.phases):
            rows, ids, places = counted.get(str(number), (0, 0, 0))
            assert ids == places, f"{name}: {ids} numbers at {places} offsets"
            figures.append(Figures(name, self.written[number], self.written[number] - ids, rows - ids))
        return figures, found["failures"]

    def stop(self) -> None:
        """End what runs, as it is."""
        self.cluster.kill(DRIVER)
        if self._driver is not None and self._driver.poll() is None:
            self._driver.kill()
            self._driver.wait()

    def tail(self, lines: int = 40) -> str:
        return "\n".join((self.folder / "driver.log").read_text(errors="replace").splitlines()[-lines:])

    def _serializer(self):
        schema = json.dumps({"type": "record", "name": "Row", "fields": self._fields})
        self._registry.register_schema(f"{self.topic}-value", Schema(schema, "AVRO"))
        conf = {"subject.name.strategy.type": "TOPIC", "auto.register.schemas": False}
        serialize = AvroSerializer(self._registry, schema, conf=conf)
        context = SerializationContext(self.topic, MessageField.VALUE)
        row = {field["name"]: 0 for field in self._fields} | {"text": "x" * 50}
        # Its schema is looked up now, not while the registry is away.
        serialize({**row, "id": 0}, context)
        return lambda number: serialize({**row, "id": number}, context)

    def _write(self, phase: int, over: threading.Event) -> None:
        def acknowledged(error, _message) -> None:
            if error is None:
                self.written[phase] += 1

        began, count = time.monotonic(), 0
        while not over.is_set():
            while count < (time.monotonic() - began) * self.rate:
                number = PHASE * phase + count
                self._producer.produce(
                    self.topic,
                    self._serialize(number),
                    partition=count % PARTITIONS,
                    on_delivery=acknowledged,
                )
                count += 1
            self._producer.poll(0.02)

    def _failures(self) -> int:
        return (self.folder / "driver.log").read_text(errors="replace").count("the query failed: ")

    def _committed(self) -> int:
        """Return how many records the batches have that the checkpoint has as done."""
        assert self._driver.poll() is None, self.tail()
        done = [int(each.name) for each in (self.folder / "checkpoint" / "commits").glob("[0-9]*")]
        if not done:
            return 0
        text = (self.folder / "checkpoint" / "offsets" / str(max(done))).read_text()
        return sum(json.loads(text.splitlines()[-1])[self.topic].values())

    def _copied(self) -> dict[str, tuple[int, int, int]]:
        """Count what the other topic has, as librdkafka reads it."""
        consumer = Consumer({"bootstrap.servers": self.broker.address, "group.id": self.topic})
        copy = f"{self.topic}-copy"
        places = [TopicPartition(copy, number, 0) for number in range(PARTITIONS)]
        ends = {place.partition: consumer.get_watermark_offsets(place, 10)[1] for place in places}
        consumer.assign(places)
        rows: list[tuple[int, int, int]] = []
        while len(rows) < sum(ends.values()):
            for message in consumer.consume(1000, 10):
                assert message.error() is None, message.error()
                # The column of the partition says where a record goes, and is no part of its value.
                value = json.loads(message.value())
                rows.append((value["id"], message.partition(), value["offset"]))
        consumer.close()
        found = {}
        for phase in range(len(self.phases)):
            own = [row for row in rows if row[0] // PHASE == phase]
            found[str(phase)] = (len(own), len({row[0] for row in own}), len({row[1:] for row in own}))
        return found
