"""A broker of a few lines that keeps batches in memory, and does what a test wants of it.

It understands what kcodec asks, by kcodec's own reading of requests, whose bytes are tested against Kafka's.
"""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress

import pyarrow as pa

from kcodec.kafka.messages import definitions
from kcodec.protocol import Connection, join_messages, read_batches, write_batches

HOST = "127.0.0.1"
#: Tries follow each other fast; nothing that is to succeed ends by time, also where a machine has much to do.
FAST = {
    "request.timeout.ms": 10_000,
    "default.api.timeout.ms": 20_000,
    "retry.backoff.ms": 10,
    "retry.backoff.max.ms": 50,
    "fetch.max.wait.ms": 20,
    "socket.connection.setup.timeout.ms": 10_000,
}
#: For what is to end by time.
SHORT = {**FAST, "request.timeout.ms": 1_000, "default.api.timeout.ms": 2_000}
#: As a user's, but for waits where there is nothing.
PATIENT = {"fetch.max.wait.ms": 20}
CLOSE = object()
OUT_OF_RANGE, NOT_LEADER, OUT_OF_ORDER, UNKNOWN_TOPIC, UNKNOWN_ID, TOO_LARGE = 1, 6, 45, 3, 100, 10
FENCED_EPOCH, UNKNOWN_EPOCH, UNKNOWN_MEMBER = 74, 75, 25
#: The first partition of the topic of `filled`.
PLACE = ("t", 0)


class FakeCluster:
    """Brokers, and who leads which partition of which topic; each partition is a list of batches."""

    def __init__(self, topics, brokers=1):
        #: (topic, partition) -> [(first offset, last offset, bytes), ...]
        self.logs = {}
        self.leaders = {}
        self.starts = {}
        #: Of the leaders of partitions, 0 if they are the first.
        self.epochs = {}
        #: By rack, the broker that leaders send its consumers to.
        self.nearest = {}
        self.aborted = {}
        self.settings = {}
        #: By group, the client ids of its members.
        self.members = {}
        #: By topic, partition and producer: first sequences and offsets of batches, and the sequence that is next.
        self.sequences = {}
        self.committed = {}
        self.committed_epochs = {}
        self.producers = 0
        self.lock = threading.RLock()
        #: Of topics; zeros are those of brokers that have none.
        self.ids = {}
        self.made = 0
        #: Bytes of a batch that are too many.
        self.too_large = 1 << 30
        self.brokers = [FakeBroker(self, number) for number in range(brokers)]
        for topic, count in topics.items():
            self.create(topic, count)

    def create(self, topic, count=1):
        with self.lock:
            self.made += 1
            self.ids[topic] = self.made.to_bytes(16, "big")
            for partition in range(count):
                self.logs[topic, partition] = []
                self.leaders[topic, partition] = partition % len(self.brokers)

    def delete(self, topic):
        with self.lock:
            del self.ids[topic]
            for place in [place for place in self.logs if place[0] == topic]:
                del self.logs[place], self.leaders[place]

    def topic_id(self, topic):
        """Return the id of a topic; those that a test makes by its log have one, too."""
        if topic not in self.ids:
            self.made += 1
            self.ids[topic] = self.made.to_bytes(16, "big")
        return self.ids[topic]

    @property
    def address(self):
        return ",".join(f"{HOST}:{broker.port}" for broker in self.brokers)

    def end(self, place):
        log = self.logs.get(place)
        return log[-1][1] + 1 if log else 0

    def append(self, place, data):
        """Append a batch; its offsets are those that come next."""
        with self.lock:
            base = self.end(place)
            data = bytearray(data)
            data[:8] = base.to_bytes(8, "big")
            data[12:16] = self.epochs.get(place, 0).to_bytes(4, "big")
            last = base + int.from_bytes(data[23:27], "big")
            self.logs[place].append((base, last, bytes(data)))
            return base

    def epoch_end(self, place, epoch):
        """Return the last epoch up to one, and where it ends."""
        written = [
            (int.from_bytes(data[12:16], "big", signed=True), last + 1) for _, last, data in self.logs[place]
        ]
        found = [each for each in written if each[0] <= epoch]
        if epoch == self.epochs.get(place, 0):
            return epoch, self.end(place)
        return max(found, default=(-1, -1))

    def elect(self, place, leader, end=None):
        """Have another broker lead a partition, which lacks what is behind an offset."""
        with self.lock:
            self.leaders[place] = leader
            self.epochs[place] = self.epochs.get(place, 0) + 1
            if end is not None:
                self.logs[place] = [each for each in self.logs[place] if each[0] < end]

    def put(self, place, data):
        """Append a batch with the offsets that it has."""
        base = int.from_bytes(data[:8], "big")
        self.logs[place].append((base, base + int.from_bytes(data[23:27], "big"), bytes(data)))

    def records(self, place):
        return read_batches(b"".join(data for _, _, data in self.logs[place]))

    def offset_at(self, place, time):
        """Return the offset of the first record of a time or later; -1 if there is none."""
        records = self.records(place)
        times = records["timestamp"].cast(pa.int64()).to_pylist()
        offsets = records["offset"].to_pylist()
        return next((offset for offset, each in zip(offsets, times, strict=True) if each >= time), -1)

    def __enter__(self):
        for broker in self.brokers:
            broker.start()
        return self

    def __exit__(self, *_):
        for broker in self.brokers:
            broker.stop()


class FakeBroker:
    """One of them. `hooks` change what it does: name of a request -> function of the body that returns None for the
    usual answer, a dictionary for another one, bytes for what stands in its place, or `CLOSE`.
    """

    def __init__(self, cluster, number):
        self.cluster = cluster
        self.number = number
        self.hooks: dict[str, Callable] = {}
        self.asked = []
        self.sockets = []
        self.port = 0

    def start(self):
        self.server = socket.create_server((HOST, self.port))
        self.port = self.server.getsockname()[1]
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def stop(self):
        with suppress(OSError):
            self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()
        for each in list(self.sockets):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self.thread.join(5)

    def _accept(self):
        while True:
            try:
                peer, _ = self.server.accept()
            except OSError:
                return
            self.sockets.append(peer)
            threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer):
        connection = Connection(definitions())
        with suppress(OSError):
            while True:
                head = self._read(peer, 4)
                request = connection.read_request(self._read(peer, int.from_bytes(head, "big")))
                name = request.spec.name.removesuffix("Request")
                self.asked.append(name)
                number = request.header["correlationId"]
                hook = self.hooks.get(name)
                answer = hook(request.body) if hook is not None else None
                if answer is None:
                    with self.cluster.lock:
                        answer = getattr(self, f"_{name}")(request.body)
                if answer is CLOSE:
                    break
                if isinstance(answer, bytes):
                    peer.sendall(join_messages([number.to_bytes(4, "big") + answer]))
                elif answer is not False:
                    peer.sendall(connection.write_response(number, answer))
        peer.close()

    def _read(self, peer, size):
        data = b""
        while len(data) < size:
            more = peer.recv(size - len(data))
            if not more:
                raise OSError
            data += more
        return data

    def _ApiVersions(self, body):
        keys = [
            {
                "apiKey": spec.api_key,
                "minVersion": spec.valid_versions.lowest,
                "maxVersion": spec.valid_versions.highest,
            }
            for spec in definitions().values()
            if spec.type == "request"
        ]
        return {"errorCode": 0, "apiKeys": keys}

    def _Metadata(self, body):
        cluster = self.cluster
        names = sorted({topic for topic, _ in cluster.logs})
        if body["topics"] is not None:
            names = [each["name"] for each in body["topics"]]
        topics = []
        for name in names:
            partitions = [
                {
                    "errorCode": 0,
                    "partitionIndex": partition,
                    "leaderId": cluster.leaders[topic, partition],
                    "leaderEpoch": cluster.epochs.get((topic, partition), 0),
                    "replicaNodes": [],
                    "isrNodes": [],
                    "offlineReplicas": [],
                }
                for topic, partition in sorted(cluster.logs)
                if topic == name
            ]
            topics.append(
                {
                    "errorCode": 0 if partitions else UNKNOWN_TOPIC,
                    "name": name,
                    "topicId": cluster.topic_id(name) if partitions else bytes(16),
                    "isInternal": name.startswith("__"),
                    "partitions": partitions,
                }
            )
        brokers = [
            {"nodeId": each.number, "host": HOST, "port": each.port, "rack": None} for each in cluster.brokers
        ]
        return {
            "throttleTimeMs": 0,
            "brokers": brokers,
            "clusterId": "c",
            "controllerId": 0,
            "topics": topics,
        }

    def _leads(self, place):
        return self.cluster.leaders.get(place) == self.number

    def _fenced(self, place, epoch):
        """Return the error of a client that knows an older epoch of the leader, or a newer one; 0 if it knows none."""
        known = self.cluster.epochs.get(place, 0)
        return 0 if epoch in (-1, known) else FENCED_EPOCH if epoch < known else UNKNOWN_EPOCH

    def _OffsetForLeaderEpoch(self, body):
        topics = []
        for topic in body["topics"]:
            partitions = []
            for each in topic["partitions"]:
                place = topic["topic"], each["partition"]
                error = 0 if self._leads(place) else NOT_LEADER
                error = error or self._fenced(place, each["currentLeaderEpoch"])
                epoch, end = self.cluster.epoch_end(place, each["leaderEpoch"]) if not error else (-1, -1)
                partitions.append(
                    {"partition": place[1], "errorCode": error, "leaderEpoch": epoch, "endOffset": end}
                )
            topics.append({"topic": topic["topic"], "partitions": partitions})
        return {"throttleTimeMs": 0, "topics": topics}

    def _ListOffsets(self, body):
        topics = []
        for topic in body["topics"]:
            partitions = []
            for each in topic["partitions"]:
                place = topic["name"], each["partitionIndex"]
                time = each["timestamp"]
                if time >= 0:
                    offset = self.cluster.offset_at(place, time)
                else:
                    offset = self.cluster.end(place) if time == -1 else self.cluster.starts.get(place, 0)
                partitions.append(
                    {
                        "partitionIndex": place[1],
                        "errorCode": 0 if self._leads(place) else NOT_LEADER,
                        "timestamp": -1,
                        "offset": offset,
                        "leaderEpoch": 0,
                    }
                )
            topics.append({"name": topic["name"], "partitions": partitions})
        return {"throttleTimeMs": 0, "topics": topics}

    def _Fetch(self, body):
        topics = []
        left = body["maxBytes"]
        names = {topic_id: name for name, topic_id in self.cluster.ids.items()}
        for topic in body["topics"]:
            partitions = []
            name = topic["topic"] if "topic" in topic else names.get(topic["topicId"])
            for each in topic["partitions"]:
                place = name, each["partition"]
                log, offset = self.cluster.logs.get(place, []), each["fetchOffset"]
                nearest = self.cluster.nearest.get(body.get("rackId"))
                error = (
                    UNKNOWN_ID
                    if name is None
                    else 0
                    if self._leads(place) or nearest == self.number
                    else NOT_LEADER
                )
                error = error or self._fenced(place, each.get("currentLeaderEpoch", -1))
                is_sent_on = not error and nearest not in (None, self.number)
                if not error and not self.cluster.starts.get(place, 0) <= offset <= self.cluster.end(place):
                    error = OUT_OF_RANGE
                data = (
                    b"".join(data for _, last, data in log if last >= offset)
                    if not error and not is_sent_on
                    else b""
                )
                first = 12 + int.from_bytes(data[8:12], "big") if data else 0
                # The first batch is sent whole whatever its size, and what does not fit is cut.
                data = data[: max(min(each["partitionMaxBytes"], left), first)] if left > 0 else b""
                left -= len(data)
                partitions.append(
                    {
                        "partitionIndex": place[1],
                        "errorCode": error,
                        "highWatermark": self.cluster.end(place) if place in self.cluster.logs else -1,
                        "lastStableOffset": -1,
                        "logStartOffset": 0,
                        "abortedTransactions": self._aborted(place, offset),
                        "preferredReadReplica": nearest if is_sent_on else -1,
                        "records": data,
                    }
                )
            topics.append({**topic, "partitions": partitions})
        return {"throttleTimeMs": 0, "errorCode": 0, "sessionId": 0, "responses": topics}

    def _aborted(self, place, offset):
        """Return the aborted transactions, (producer, first, last offset), that end at an offset or behind it."""
        return [
            {"producerId": producer, "firstOffset": first}
            for producer, first, last in self.cluster.aborted.get(place, ())
            if last >= offset
        ]

    def _Produce(self, body):
        topics = []
        for topic in body["topicData"]:
            partitions = []
            for each in topic["partitionData"]:
                place = topic["name"], each["index"]
                error, base = (0, -1) if self._leads(place) else (NOT_LEADER, -1)
                if not error:
                    error, base = self._append(place, each["records"])
                partitions.append(
                    {
                        "index": place[1],
                        "errorCode": error,
                        "baseOffset": base,
                        "logAppendTimeMs": -1,
                        "logStartOffset": 0,
                        "recordErrors": [],
                        "errorMessage": None,
                    }
                )
            topics.append({"name": topic["name"], "partitionResponses": partitions})
        return {"responses": topics, "throttleTimeMs": 0} if body["acks"] else False

    def _append(self, place, data):
        if len(data) >= self.cluster.too_large:
            return TOO_LARGE, -1
        found = read_batches(data)
        producer, first = found["producer_id"][0].as_py(), found["sequence"][0].as_py()
        if producer >= 0:
            known, following = self.cluster.sequences.get((*place, producer), ([], None))
            for sequence, base in known[-5:]:
                if sequence == first:
                    return 0, base
            if following is not None and first != following:
                return OUT_OF_ORDER, -1
            base = self.cluster.append(place, data)
            following = (first + len(found)) & 0x7FFFFFFF
            self.cluster.sequences[(*place, producer)] = [*known, (first, base)], following
            return 0, base
        return 0, self.cluster.append(place, data)

    def _InitProducerId(self, body):
        self.cluster.producers += 1
        return {"throttleTimeMs": 0, "errorCode": 0, "producerId": self.cluster.producers, "producerEpoch": 0}

    def _FindCoordinator(self, body):
        return {
            "throttleTimeMs": 0,
            "errorCode": 0,
            "errorMessage": None,
            "nodeId": self.number,
            "host": HOST,
            "port": self.port,
        }

    def _AddPartitionsToTxn(self, body):
        results = [
            {
                "name": topic["name"],
                "resultsByPartition": [
                    {"partitionIndex": each, "partitionErrorCode": 0} for each in topic["partitions"]
                ],
            }
            for topic in body["v3AndBelowTopics"]
        ]
        return {"throttleTimeMs": 0, "resultsByTopicV3AndBelow": results}

    def _EndTxn(self, body):
        return {"throttleTimeMs": 0, "errorCode": 0}

    def _OffsetCommit(self, body):
        topics = []
        # A group with members takes offsets of these alone.
        error = UNKNOWN_MEMBER if self.cluster.members.get(body["groupId"]) else 0
        for topic in body["topics"]:
            for each in topic["partitions"]:
                key = body["groupId"], topic["name"], each["partitionIndex"]
                if not error:
                    self.cluster.committed[key] = each["committedOffset"]
                    self.cluster.committed_epochs[key] = each.get("committedLeaderEpoch", -1)
            partitions = [
                {"partitionIndex": each["partitionIndex"], "errorCode": error} for each in topic["partitions"]
            ]
            topics.append({"name": topic["name"], "partitions": partitions})
        return {"throttleTimeMs": 0, "topics": topics}

    def _CreateTopics(self, body):
        topics = []
        for each in body["topics"]:
            name = each["name"]
            error = (
                36 if name in self.cluster.ids or any(topic == name for topic, _ in self.cluster.logs) else 0
            )
            error = error or (40 if any(pair["name"] == "wrong" for pair in each["configs"]) else 0)
            if not error and not body["validateOnly"]:
                self.cluster.create(name, max(each["numPartitions"], 1))
                self.cluster.settings[name] = {pair["name"]: pair["value"] for pair in each["configs"]}
            topics.append({"name": name, "errorCode": error, "errorMessage": "no" if error else None})
        return {"throttleTimeMs": 0, "topics": topics}

    def _DeleteTopics(self, body):
        responses = []
        for name in body["topicNames"]:
            there = any(topic == name for topic, _ in self.cluster.logs)
            if there:
                self.cluster.topic_id(name)
                self.cluster.delete(name)
            responses.append({"name": name, "errorCode": 0 if there else UNKNOWN_TOPIC})
        return {"throttleTimeMs": 0, "responses": responses}

    def _DescribeConfigs(self, body):
        (resource,) = body["resources"]
        named = {"resourceType": 2, "resourceName": resource["resourceName"]}
        there = any(topic == resource["resourceName"] for topic, _ in self.cluster.logs)
        of_topic = self.cluster.settings.get(resource["resourceName"], {})
        configs = [
            {
                "name": name,
                "value": of_topic.get(name, value),
                "readOnly": False,
                "configSource": 1 if name in of_topic else 5,
                "isSensitive": name == "secret",
                "synonyms": [],
            }
            for name, value in {"retention.ms": "604800000", "secret": "x", **of_topic}.items()
        ]
        error = 0 if there else UNKNOWN_TOPIC
        found = {"errorCode": error, "errorMessage": None, **named, "configs": configs if there else []}
        return {"throttleTimeMs": 0, "results": [found]}

    def _DescribeLogDirs(self, body):
        topics = [
            {
                "name": topic["topic"],
                "partitions": [
                    {
                        "partitionIndex": number,
                        "partitionSize": sum(
                            len(each[2]) for each in self.cluster.logs[topic["topic"], number]
                        ),
                        "offsetLag": 0,
                        "isFutureKey": False,
                    }
                    for number in topic["partitions"]
                ],
            }
            for topic in body["topics"]
        ]
        return {"throttleTimeMs": 0, "results": [{"errorCode": 0, "logDir": "/logs", "topics": topics}]}

    def _IncrementalAlterConfigs(self, body):
        (resource,) = body["resources"]
        of_topic = self.cluster.settings.setdefault(resource["resourceName"], {})
        error = 40 if any(each["name"] == "wrong" for each in resource["configs"]) else 0
        for each in resource["configs"] if not error and not body["validateOnly"] else ():
            if each["configOperation"]:
                of_topic.pop(each["name"], None)
            else:
                of_topic[each["name"]] = each["value"]
        named = {"resourceType": 2, "resourceName": resource["resourceName"]}
        return {"throttleTimeMs": 0, "responses": [{"errorCode": error, "errorMessage": "no such", **named}]}

    def _ListGroups(self, body):
        names = sorted({group for group, _, _ in self.cluster.committed} | self.cluster.members.keys())
        groups = [{"groupId": name, "protocolType": "consumer"} for name in names]
        return {"throttleTimeMs": 0, "errorCode": 0, "groups": groups}

    def _DescribeGroups(self, body):
        groups = []
        for name in body["groups"]:
            members = [
                {
                    "memberId": f"{client}-1",
                    "clientId": client,
                    "clientHost": f"/{HOST}",
                    "memberMetadata": b"",
                    "memberAssignment": b"",
                }
                for client in self.cluster.members.get(name, ())
            ]
            is_known = any(group == name for group, _, _ in self.cluster.committed)
            state = "Stable" if members else "Empty" if is_known else "Dead"
            described = {"errorCode": 0, "groupId": name, "groupState": state, "members": members}
            groups.append({**described, "protocolType": "consumer", "protocolData": "range"})
        return {"throttleTimeMs": 0, "groups": groups}

    def _OffsetFetch(self, body):
        asked = body["topics"]
        if asked is None:
            found = {}
            for group, topic, number in self.cluster.committed:
                if group == body["groupId"]:
                    found.setdefault(topic, []).append(number)
            asked = [{"name": name, "partitionIndexes": numbers} for name, numbers in found.items()]
        topics = [
            {
                "name": topic["name"],
                "partitions": [
                    {
                        "partitionIndex": each,
                        "committedOffset": self.cluster.committed.get(
                            (body["groupId"], topic["name"], each), -1
                        ),
                        "committedLeaderEpoch": self.cluster.committed_epochs.get(
                            (body["groupId"], topic["name"], each), -1
                        ),
                        "metadata": "",
                        "errorCode": 0,
                    }
                    for each in topic["partitionIndexes"]
                ],
            }
            for topic in asked
        ]
        return {"throttleTimeMs": 0, "topics": topics, "errorCode": 0}


def batch(first, count, codec="none", **columns):
    """Return a batch of records that say which they are; other columns have one value."""
    values = [f"value {number}".encode() for number in range(first, first + count)]
    columns = {name: [value] * count for name, value in columns.items()}
    table = pa.table({"value": pa.array(values, pa.binary()), **columns})
    return write_batches(table, base_offset=first, compression=codec)


def filled(counts=(10, 5, 20), brokers=1, partitions=1):
    """Return brokers of a topic ``t``, with batches of so many records in each partition."""
    cluster = FakeCluster({"t": partitions}, brokers)
    for partition in range(partitions):
        first = 0
        for count in counts:
            cluster.put(("t", partition), batch(first, count))
            first += count
    return cluster


def knows(broker, **highest):
    """Have a broker know requests up to other versions, -1 for none."""

    def answer(body):
        found = broker._ApiVersions(body)
        numbers = {definitions()[f"{name}Request"].api_key: version for name, version in highest.items()}
        for each in found["apiKeys"]:
            each["maxVersion"] = numbers.get(each["apiKey"], each["maxVersion"])
        found["apiKeys"] = [each for each in found["apiKeys"] if each["maxVersion"] >= 0]
        return found

    broker.hooks["ApiVersions"] = answer


def tells_writers(broker, **facts):
    """Have a broker take what is written, and tell other facts of the partition than those that are so."""

    def answer(body):
        found = broker._Produce(body)
        found["responses"][0]["partitionResponses"][0].update(facts)
        return found

    broker.hooks["Produce"] = answer
