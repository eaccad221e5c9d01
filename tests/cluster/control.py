"""What an administrator does: topics, leaders, replicas, records that go; asked of confluent-kafka and by requests."""

import functools
import json
import socket
import time
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from artifacts import artifacts
from confluent_kafka import ElectionType, KafkaException, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from ports import HOST
from processes import until

from kcodec.kafka.messages import definitions
from kcodec.protocol import Connection, Definitions, load

_SECONDS = 20
_REASSIGN, _QUOTAS = "AlterPartitionReassignmentsRequest", "AlterClientQuotasRequest"


class Control:
    """Changes topics and who leads them. What the cluster refuses, as it may while it has a fault, is an error."""

    def __init__(self, address: str) -> None:
        self._admin = AdminClient({"bootstrap.servers": address, "log_level": 0})

    def create(self, topic: str, partitions: int = 1, replicas: int = 3, **settings: Any) -> None:
        config = {name.replace("_", "."): str(value) for name, value in settings.items()}
        made = self._admin.create_topics([NewTopic(topic, partitions, replicas, config=config)])
        made[topic].result(_SECONDS)

    def create_everywhere(self, topic: str, partitions: int, ports: Iterable[int]) -> None:
        """Create a topic, and wait until all brokers know it: those at these ports."""
        self.create(topic, partitions)
        for port in ports:
            until(lambda port=port: len(self.partitions(topic, port)) == partitions)

    def delete(self, topic: str) -> None:
        self._admin.delete_topics([topic])[topic].result(_SECONDS)

    def grow(self, topic: str, partitions: int) -> None:
        self._admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(_SECONDS)

    def delete_records(self, topic: str, offsets: dict[int, int]) -> None:
        wanted = [TopicPartition(topic, partition, offset) for partition, offset in offsets.items()]
        end = time.monotonic() + _SECONDS
        while True:
            try:
                for each in self._admin.delete_records(wanted).values():
                    each.result(_SECONDS)
                return
            except KafkaException as error:
                # It takes for the leader who was that when it asked last.
                if "NOT_LEADER" not in str(error) or time.monotonic() > end:
                    raise
                time.sleep(0.5)
                self._admin.list_topics(topic, _SECONDS)

    def partitions(self, topic: str, port: int) -> dict[int, tuple[int, list[int], list[int]]]:
        """Ask a broker for the leader of each partition, its replicas, and those in sync."""
        body = {"topics": [{"name": topic}], "allowAutoTopicCreation": False}
        (found,) = _ask(port, "MetadataRequest", 8, body, definitions())["topics"]
        return {
            each["partitionIndex"]: (each["leaderId"], each["replicaNodes"], each["isrNodes"])
            for each in found["partitions"]
        }

    def elect(self, places: Iterable[tuple[str, int]], *, is_unclean: bool = False) -> None:
        """Have the first replicas lead, or any at all."""
        kind = ElectionType.UNCLEAN if is_unclean else ElectionType.PREFERRED
        for error in (
            self._admin.elect_leaders(kind, [TopicPartition(*each) for each in places])
            .result(_SECONDS)
            .values()
        ):
            # Many lead already.
            if error is not None and error.name() != "ELECTION_NOT_NEEDED":
                raise KafkaException(error)

    def reassign(self, topic: str, replicas: dict[int, list[int]], port: int) -> None:
        """Move partitions to other replicas, the first of which is to lead."""
        partitions = [{"partitionIndex": n, "replicas": to} for n, to in replicas.items()]
        body = {"timeoutMs": 1000 * _SECONDS, "topics": [{"name": topic, "partitions": partitions}]}
        answer = _ask(port, _REASSIGN, 0, body, _definitions(_REASSIGN))
        failed = [answer["errorCode"]] + [
            each["errorCode"] for topic in answer["responses"] for each in topic["partitions"]
        ]
        if any(failed):
            raise OSError(f"partitions of {topic} do not move: {json.dumps(answer)}")

    def set_broker(self, number: int, name: str, value: str) -> None:
        """Change a setting of a broker that runs."""
        entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        changed = ConfigResource(ResourceType.BROKER, str(number), incremental_configs=[entry])
        for each in self._admin.incremental_alter_configs([changed]).values():
            each.result(_SECONDS)

    def set_password(self, user: str, password: str) -> None:
        """Give a user of SCRAM another password."""
        info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        changed = UserScramCredentialUpsertion(user, info, password=password.encode())
        for each in self._admin.alter_user_scram_credentials([changed]).values():
            each.result(_SECONDS)

    def limit(self, client: str, port: int, **rates: float) -> None:
        """Give the clients of an id a quota, such as consumer_byte_rate."""
        entity = [{"entityType": "client-id", "entityName": client}]
        ops = [{"key": name, "value": rate, "remove": False} for name, rate in rates.items()]
        body = {"entries": [{"entity": entity, "ops": ops}], "validateOnly": False}
        (answer,) = _ask(port, _QUOTAS, 0, body, _definitions(_QUOTAS))["entries"]
        if answer["errorCode"]:
            raise OSError(f"no quota for {client}: {answer}")


@functools.cache
def _definitions(name: str) -> Definitions:
    """Return the definitions of a request that no client sends, from Kafka's own archive."""
    archive = next(Path(artifacts(), "broker").glob("kafka-clients-*.jar"))
    with zipfile.ZipFile(archive) as jar:
        names = (name, name.replace("Request", "Response"))
        return load([jar.read(f"common/message/{each}.json").decode() for each in names])


def _ask(port: int, name: str, version: int, body: dict[str, Any], known: Definitions) -> dict[str, Any]:
    connection = Connection(known)
    with socket.create_connection((HOST, port), _SECONDS) as peer:
        peer.sendall(connection.write_request(name, version, body, client_id="tests"))
        stream = peer.makefile("rb")
        size = int.from_bytes(stream.read(4), "big")
        return connection.read_response(stream.read(size)).body
