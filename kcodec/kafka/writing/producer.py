"""Producing: batches of each partition in order, with several requests of each broker under way.

A batch is sent again until its broker has it, or its time is over. While one of a partition has failed, those behind it
are not sent; all that were under way are sent again in their order. With an idempotent producer their sequences let the
broker recognise those that it has already. A batch that its broker finds too large is sent
again as several smaller ones.
"""

import itertools
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kcodec.errors import KafkaError
from kcodec.kafka.connection.channel import Channel
from kcodec.kafka.connection.cluster import (
    MAX_OFFSET,
    UNKNOWN_TRIES,
    Answer,
    Cluster,
    TopicPartition,
    by_topic,
)
from kcodec.kafka.connection.error_codes import Code, broker_error, is_retriable, recreated, timed_out
from kcodec.kafka.writing.split import split_batch

_FENCED = (Code.INVALID_PRODUCER_EPOCH, Code.PRODUCER_FENCED)
#: For a topic, and for a segment of its log.
_TOO_LARGE = (Code.MESSAGE_TOO_LARGE, Code.RECORD_LIST_TOO_LARGE)
#: The version of produce requests that may have batches of zstd.
_WITH_ZSTD = 7
_HEADER = struct.Struct(">hi")
_INT16, _INT32 = struct.Struct(">h"), struct.Struct(">i")
#: Connections to each broker, which takes the requests of one only one after the other; the batches of a partition stay
#: on one.
_CONNECTIONS = 2
#: Bytes of batches that wait for their brokers, before who writes has to wait.
_MOST_WAITING = 32 << 20
_NEVER = float("inf")


class Batch:
    """A record batch of a partition that its broker does not have yet."""

    def __init__(self, place: TopicPartition, parts: Sequence[Any], records: int, deadline: float) -> None:
        self.place = place
        self.parts = parts
        self.size = sum(map(len, parts))
        self.records = records
        self.deadline = deadline
        #: Why the last try failed.
        self.error: KafkaError | None = None


class _Log:
    """The batches of a partition: those that wait, those under way, and those that came back, each in order."""

    def __init__(self, place: TopicPartition, topic_id: bytes | None) -> None:
        self.place = place
        #: Of the topic that is written, and how often metadata had another one since.
        self.topic_id = topic_id
        self.others = 0
        self.waiting: deque[Batch] = deque()
        self.flying: deque[Batch] = deque()
        self.returned: list[Batch] = []
        self.not_before = 0.0
        self.pause = 0.0
        #: Whether the broker has taken the last batch. As it would take any as a producer's first one, and out of order
        #: after a failure, the next one is sent alone until it has.
        self.is_settled = False
        #: Whether it is for its size that a batch came back: there is nothing to wait for.
        self.is_split = False
        self.sender: _Sender | None = None
        self.first: int | None = None
        self.next: int | None = None


class Producer:
    """What sends batches to the leaders of their partitions; to be closed.

    `producer_id` and `epoch` are -1 unless it is idempotent. The sequence numbers of batches are those of their makers.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.settings = cluster.settings
        self.producer_id, self.epoch = -1, -1
        self.lock = threading.RLock()
        #: Notified when no more bytes wait than who writes waits for.
        self._room = threading.Condition(self.lock)
        self._most = 0
        self.error: BaseException | None = None
        self.stopped = False
        self._logs: dict[TopicPartition, _Log] = {}
        #: By topic, where one has found a batch too large: bytes of the smallest such, and of batches since, the latter
        #: before compression.
        self._refused: dict[str, int] = {}
        self._largest: dict[str, int] = {}
        self._senders: dict[int, list[_Sender]] = {}
        self._waiting_bytes = 0
        self._in_transaction: set[TopicPartition] = set()
        if self.settings.is_idempotent:
            self._init()

    @property
    def transactional_id(self) -> str | None:
        """The id under which all that is written becomes visible together."""
        return self.settings.transactional_id

    def _init(self) -> None:
        body = {
            "transactionalId": self.transactional_id,
            "transactionTimeoutMs": self.settings.transaction_timeout_ms,
        }
        answer = self._retry(lambda end: self._coordinated("InitProducerIdRequest", body, end))
        # Brokers know by id, epoch and sequence numbers whether they have a batch already. Asking again with the same
        # transactional id raises the epoch, and brokers then refuse whoever still uses the old one.
        self.producer_id, self.epoch = answer["producerId"], answer["producerEpoch"]
        if self.producer_id < 0:
            raise KafkaError("the broker gave no producer id")

    def _retry(self, attempt: Callable[[float], Answer]) -> Answer:
        try:
            return self.cluster.retry(attempt)
        except KafkaError as error:
            raise self._explained(error) from None

    def _explained(self, error: KafkaError) -> KafkaError:
        """Return an error; if it means that the transaction is lost, add how that can have happened."""
        if self.transactional_id is None or error.code not in _FENCED:
            return error
        text = f"the transaction took longer than transaction.timeout.ms ({self.settings.transaction_timeout_ms})"
        return KafkaError(
            f"{error}: {text}, or another producer has its id now",
            error.code,
            error.name,
        )

    def _coordinated(self, name: str, body: dict[str, Any], end: float) -> dict[str, Any]:
        """Ask the coordinator of the transactional id, or without one any broker."""
        if self.transactional_id is None:
            answer = self.cluster.ask(name, body, end)
        else:
            broker = self.cluster.coordinator(self.transactional_id, end, is_transaction=True)
            answer = self.cluster.channel(broker, "coordinator", end).request(name, body, end)
        code = answer.get("errorCode", 0)
        if code:
            raise broker_error(code, self.transactional_id or "the producer")
        return answer

    def add_to_transaction(self, places: set[TopicPartition]) -> None:
        """Make partitions part of the transaction, before anything is sent to them."""
        new = places - self._in_transaction
        if self.transactional_id is None or not new:
            return

        def attempt(end: float) -> None:
            answer = self._coordinated(
                "AddPartitionsToTxnRequest",
                {
                    "v3AndBelowTransactionalId": self.transactional_id,
                    "v3AndBelowProducerId": self.producer_id,
                    "v3AndBelowProducerEpoch": self.epoch,
                    # Up to version 3 clients add partitions themselves; version 4 is for brokers among each other.
                    "v3AndBelowTopics": [
                        {"name": topic, "partitions": numbers} for topic, numbers in by_topic(new).items()
                    ],
                },
                end,
            )
            failed = [
                (each["partitionErrorCode"], str(TopicPartition(topic["name"], each["partitionIndex"])))
                for topic in answer["resultsByTopicV3AndBelow"]
                for each in topic["resultsByPartition"]
                if each["partitionErrorCode"]
            ]
            if failed:
                # Of those whose fault it is not, the broker says that they were not attempted.
                raise broker_error(*min(failed, key=lambda each: each[0] == Code.OPERATION_NOT_ATTEMPTED))

        self._retry(attempt)
        self._in_transaction |= new

    def end_transaction(self, committed: bool) -> None:
        """Commit or abort what was written."""
        if not self._in_transaction:
            return
        body = {
            "transactionalId": self.transactional_id,
            "producerId": self.producer_id,
            "producerEpoch": self.epoch,
            "committed": committed,
        }
        self._retry(lambda end: self._coordinated("EndTxnRequest", body, end))
        self._in_transaction.clear()

    def send(self, batches: Iterable[tuple[TopicPartition, Sequence[Any], int]]) -> None:
        """Give batches to the producer, each with its partition, its parts, and how many records it has.

        Wait while too much waits already. Raise what ended the producer.
        """
        deadline = time.monotonic() + self.settings.delivery_timeout_ms / 1000
        with self.lock:
            self._wait(_MOST_WAITING)
            for place, parts, records in batches:
                log = self._logs.get(place)
                if log is None:
                    log = self._logs[place] = _Log(place, self.cluster.topic_id(place.topic))
                batch = Batch(place, parts, records, deadline)
                log.waiting.append(batch)
                self._waiting_bytes += batch.size
                if log.sender is None:
                    self._assign(log)
                else:
                    log.sender.work.notify()

    def largest(self, topic: str) -> int:
        """Return the most bytes of a topic's batches before compression: fewer once it has refused some."""
        return self._largest.get(topic, self.settings.batch_bytes)

    def flush(self) -> None:
        """Wait until brokers have all batches; raise what ended the producer."""
        with self.lock:
            self._wait(0)

    def offsets(self) -> dict[TopicPartition, tuple[int, int]]:
        """Return the first offset that was written to each partition, and the one behind the last."""
        with self.lock:
            return {
                place: (log.first, log.next)
                for place, log in self._logs.items()
                if log.first is not None and log.next is not None
            }

    def close(self) -> None:
        """End all threads; what was not flushed is not written, or perhaps it is."""
        self.stop()
        self.cluster.close()
        self._join(5)

    def settle(self) -> None:
        """Send nothing more, and wait for the answers to what is under way."""
        self.stop()
        self._join(self.settings.request_timeout_ms / 1000)

    def _join(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        with self.lock:
            senders = list(itertools.chain(*self._senders.values()))
        for sender in senders:
            # An interruption may have come before it was started.
            if sender.thread.is_alive():
                sender.thread.join(max(end - time.monotonic(), 0))

    def stop(self) -> None:
        """Let all threads end once what is under way has been answered."""
        with self.lock:
            self.stopped = True
            self._room.notify_all()
            for sender in itertools.chain(*self._senders.values()):
                sender.work.notify_all()

    def _wait(self, most: int) -> None:
        """Wait until at most so many bytes wait, or none of them will be sent; raise what ended the producer."""
        self._most = most
        while self._waiting_bytes > most and not self.stopped:
            self._room.wait(1)
        if self.error is not None:
            raise self.error

    # With the lock held, by the threads of brokers too.

    def _assign(self, log: _Log) -> None:
        """Hand a partition to the thread of its leader; if no leader is known, any thread looks for one."""
        leader = self.cluster.leader(log.place).broker
        senders = self._senders.setdefault(leader, [])
        if len(senders) < _CONNECTIONS:
            sender = _Sender(self, leader, len(senders))
            senders.append(sender)
            sender.thread.start()
        else:
            sender = min(senders, key=lambda each: len(each.logs))
        log.sender = sender
        sender.logs.append(log)
        sender.work.notify()

    def moved(self, log: _Log) -> None:
        """Hand a partition to another thread if its leader has changed."""
        sender = log.sender
        assert sender is not None
        if self.cluster.leader(log.place).broker != sender.number:
            sender.logs.remove(log)
            self._assign(log)

    def acknowledged(self, log: _Log, batch: Batch, offset: int) -> None:
        """Forget a batch that its broker has."""
        log.flying.remove(batch)
        log.pause = 0.0
        log.is_settled = not log.returned
        self._waiting_bytes -= batch.size
        if offset >= 0:
            log.first = offset if log.first is None else min(log.first, offset)
            log.next = max(log.next or 0, offset + batch.records)
        self._restore(log)
        if self._waiting_bytes <= self._most:
            self._room.notify_all()

    def returned(self, log: _Log, batch: Batch, error: KafkaError) -> None:
        """Keep a batch that its broker refused; once no other is under way, all are sent again in order."""
        log.flying.remove(batch)
        log.returned.append(batch)
        log.is_settled = False
        if error.code in _TOO_LARGE:
            if batch.records == 1:
                text = (
                    f"a batch of one record has {batch.size} bytes, more than max.message.bytes of the topic"
                )
                self.fail(
                    KafkaError(f"{error}: {text} (message.max.bytes of brokers)", error.code, error.name)
                )
            topic = log.place.topic
            self._refused[topic] = min(batch.size, self._refused.get(topic, batch.size))
            log.is_split = True
            self._restore(log)
            return
        # Batches behind a failed one are refused only because their sequence numbers come too early. They pass once
        # the first has been sent again.
        is_out_of_order = error.code == Code.OUT_OF_ORDER_SEQUENCE_NUMBER
        is_behind = is_out_of_order and self.settings.is_idempotent and len(log.returned) > 1
        # As in Java's producer, what arrived with another sum may arrive as it was sent.
        passes = is_retriable(error) or error.code == Code.CORRUPT_MESSAGE
        if not passes and not is_behind:
            self.fail(self._explained(error))
        elif time.monotonic() > batch.deadline:
            self.fail(timed_out(error, batch.error, self.settings.delivery_timeout_ms))
        batch.error = error
        self._restore(log)

    def next_of(self, log: _Log) -> Batch:
        """Return the next waiting batch; split if the topic has refused a batch of its size as too large."""
        topic = log.place.topic
        while (batch := log.waiting[0]).records > 1 and batch.size >= self._refused.get(topic, _NEVER):
            parts, most = split_batch(b"".join(batch.parts), self.largest(topic), self.settings.level)
            self._largest[topic] = most
            smaller = [Batch(log.place, [data], records, batch.deadline) for data, records in parts]
            self._waiting_bytes += sum(each.size for each in smaller) - batch.size
            log.waiting.popleft()
            log.waiting.extendleft(reversed(smaller))
        return batch

    def _restore(self, log: _Log) -> None:
        """Put batches that came back in front of all others, once none is under way."""
        # Only when nothing is under way any more, since what was sent later may come back later: all of it goes out
        # again in its first order.
        if log.returned and not log.flying:
            log.waiting.extendleft(reversed(log.returned))
            log.returned = []
            if log.is_split:
                log.is_split = False
                return
            log.pause = min(
                max(2 * log.pause, self.settings.backoff_ms / 1000), self.settings.max_backoff_ms / 1000
            )
            log.not_before = time.monotonic() + log.pause

    def fail(self, error: BaseException) -> None:
        """End the producer: nothing more is sent."""
        if self.error is None:
            self.error = error
        self.stop()


class _Sender:
    """The thread of one connection to a broker, of which there are several."""

    def __init__(self, producer: Producer, number: int, connection: int) -> None:
        self.producer = producer
        self.number = number
        self.connection = connection
        #: Notified when there may be something to do.
        self.work = threading.Condition(producer.lock)
        self.logs: list[_Log] = []
        self.channel: Channel | None = None
        #: The batches of each request under way, oldest first.
        self.requests: deque[list[tuple[_Log, Batch]]] = deque()
        self.thread = threading.Thread(
            target=self._run, name=f"kcodec-produce-{number}-{connection}", daemon=True
        )

    def _run(self) -> None:
        producer = self.producer
        try:
            while True:
                with producer.lock:
                    found, lost = self._next()
                    if not found and not lost and not self.requests:
                        if producer.stopped:
                            return
                        self.work.wait(self._pause())
                        continue
                if lost:
                    self._find(lost)
                elif found:
                    self._send(found)
                else:
                    self._receive()
        except BaseException as error:
            with producer.lock:
                producer.fail(error)

    def _next(self) -> tuple[list[tuple[_Log, Batch]], list[_Log]]:
        """Take the next batches to send, one of each partition; also return partitions whose leader is unknown."""
        if self.producer.stopped:
            return [], []
        settings = self.producer.settings
        now = time.monotonic()
        lost = [log for log in self.logs if log.not_before and now >= log.not_before]
        if lost or self.number < 0:
            return [], lost or [log for log in self.logs if not log.not_before]
        if len(self.requests) >= settings.in_flight:
            return [], []
        if self.requests and self.channel is not None and self.channel.is_expired:
            # The next ones go over another connection, behind the answers that come over this one.
            return [], []
        found: list[tuple[_Log, Batch]] = []
        size = 0
        for log in self.logs:
            # Without sequence numbers a second batch could overtake the first, if that has to be sent again. The same
            # holds until the broker has acknowledged one batch after a failure.
            most = settings.in_flight if settings.is_idempotent and log.is_settled else 1
            if not log.waiting or log.returned or log.not_before or len(log.flying) >= most:
                continue
            batch = self.producer.next_of(log)
            if found and size + batch.size > settings.request_bytes:
                break
            found.append((log, log.waiting.popleft()))
            log.flying.append(batch)
            size += batch.size
        for log, _ in found:
            # What had its turn comes last.
            self.logs.remove(log)
            self.logs.append(log)
        return found, []

    def _pause(self) -> float:
        times = [log.not_before for log in self.logs if log.not_before]
        return max(min(times) - time.monotonic(), 0.001) if times else 1.0

    def _find(self, logs: list[_Log]) -> None:
        """Ask who leads partitions, and go on with them."""
        producer = self.producer
        error = None
        try:
            oldest = [log.waiting[0].deadline for log in logs if log.waiting]
            producer.cluster.refresh(by_topic(log.place for log in logs), min(oldest, default=_NEVER))
        except KafkaError as failed:
            error = failed
        with producer.lock:
            for log in logs:
                cause = error
                if cause is None and producer.cluster.leader(log.place).broker < 0:
                    cause = broker_error(Code.LEADER_NOT_AVAILABLE, str(log.place))
                if cause is None and producer.cluster.topic_id(log.place.topic) != log.topic_id:
                    # What was acknowledged went with the topic before, and sequences that go on are none of this one.
                    log.others += 1
                    cause = recreated(log.place.topic)
                    if log.others < UNKNOWN_TRIES:
                        cause = broker_error(Code.UNKNOWN_TOPIC_ID, str(log.place))
                if cause is None:
                    log.others = 0
                    log.not_before = 0.0
                    producer.moved(log)
                    continue
                if not is_retriable(cause):
                    producer.fail(cause)
                elif log.waiting and time.monotonic() > log.waiting[0].deadline:
                    before = log.waiting[0].error
                    producer.fail(timed_out(cause, before, producer.settings.delivery_timeout_ms))
                log.not_before = time.monotonic() + producer.settings.max_backoff_ms / 1000

    def _send(self, found: list[tuple[_Log, Batch]]) -> None:
        producer, settings = self.producer, self.producer.settings
        try:
            if self.requests and (self.channel is None or not self.channel.is_open):
                raise KafkaError(f"broker {self.number}: the connection is lost")
            if not self.requests:
                end = min(batch.deadline for _, batch in found)
                self.channel = producer.cluster.channel(self.number, ("produce", self.connection), end)
            assert self.channel is not None
            if settings.compression == "zstd" and self.channel.version("ProduceRequest") < _WITH_ZSTD:
                what = "zstd needs Kafka 2.1: give another compression.type"
                raise broker_error(Code.UNSUPPORTED_COMPRESSION_TYPE, str(self.channel), what)
            pause = self.channel.throttled_until - time.monotonic()
            if pause > 0:
                time.sleep(pause)
            self.channel.send(
                "ProduceRequest", None, *_request(producer, found), is_answered=settings.acks != 0
            )
        except KafkaError as error:
            self._lost(error, found)
            return
        if settings.acks == 0:
            with producer.lock:
                for log, batch in found:
                    producer.acknowledged(log, batch, -1)
            return
        self.requests.append(found)

    def _receive(self) -> None:
        producer, channel = self.producer, self.channel
        assert channel is not None
        try:
            # Behind the time of a batch nobody waits for what became of it.
            left = min(batch.deadline for _, batch in self.requests[0]) - time.monotonic()
            timeout = min(max(left, 0), producer.settings.request_timeout_ms / 1000)
            answer = channel.decode(*channel.receive(timeout))
        except KafkaError as error:
            self._lost(error, [])
            return
        expected = self.requests.popleft()
        results = {
            TopicPartition(topic["name"], each["index"]): each
            for topic in answer["responses"]
            for each in topic["partitionResponses"]
        }
        with producer.lock:
            for log, batch in expected:
                result = results.get(log.place)
                if result is None:
                    producer.returned(
                        log, batch, KafkaError(f"broker {channel} does not answer for {log.place}")
                    )
                elif result["baseOffset"] > MAX_OFFSET - batch.records:
                    text = f"broker {channel} answers for {log.place} with the offset {result['baseOffset']}"
                    producer.fail(
                        KafkaError(f"{text}, behind which there is no room for {batch.records} records")
                    )
                elif result["errorCode"] in (0, Code.DUPLICATE_SEQUENCE_NUMBER):
                    producer.acknowledged(log, batch, result["baseOffset"])
                else:
                    failed = broker_error(result["errorCode"], str(log.place), result.get("errorMessage"))
                    producer.returned(log, batch, failed)

    def _lost(self, error: KafkaError, found: list[tuple[_Log, Batch]]) -> None:
        """Take back all that is under way on a connection that is lost."""
        if self.channel is not None:
            self.channel.close()
        producer = self.producer
        with producer.lock:
            under_way = [*self.requests, found]
            self.requests.clear()
            if producer.stopped:
                return
            if not is_retriable(error):
                producer.fail(error)
            for batches in under_way:
                for log, batch in batches:
                    producer.returned(log, batch, error)


def _request(producer: Producer, found: list[tuple[_Log, Batch]]) -> list[Any]:
    """Write a produce request, whose batches stay where they are.

    ::

        nullable text: transactional id | int16 acks | int32 timeout | topics: int16 length, name
        | partitions: int32 index | int32 size, batch
    """
    settings = producer.settings
    name = settings.transactional_id
    start = _INT16.pack(-1) if name is None else _text(name)
    parts: list[Any] = [start + _HEADER.pack(settings.acks, settings.request_timeout_ms)]
    topics: dict[str, list[Batch]] = {}
    for log, batch in found:
        topics.setdefault(log.place.topic, []).append(batch)
    parts.append(_INT32.pack(len(topics)))
    for topic, batches in topics.items():
        parts.append(_text(topic) + _INT32.pack(len(batches)))
        for each in batches:
            parts += [struct.pack(">ii", each.place.partition, each.size), *each.parts]
    return parts


def _text(value: str) -> bytes:
    data = value.encode()
    return _INT16.pack(len(data)) + data
