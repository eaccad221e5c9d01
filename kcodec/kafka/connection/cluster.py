"""The brokers of a cluster: who leads which partition, and the connections to them."""

import logging
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from kcodec._fork import fork_safe_lock
from kcodec.errors import KafkaError
from kcodec.kafka.connection.channel import Channel
from kcodec.kafka.connection.error_codes import Code, broker_error, is_retriable, recreated, timed_out
from kcodec.kafka.connection.metadata import Topic, read_brokers, read_topics
from kcodec.kafka.connection.settings import Settings

__all__ = [
    "EARLIEST",
    "FETCH",
    "LATEST",
    "MAX_OFFSET",
    "OFFSETS",
    "UNKNOWN_TRIES",
    "Answer",
    "Cluster",
    "Deadline",
    "Leader",
    "TopicPartition",
    "by_topic",
]

logger = logging.getLogger(__name__)

#: What stands for offsets where brokers are asked for them by a time.
EARLIEST, LATEST = -2, -1
#: Behind it there is no other.
MAX_OFFSET = (1 << 63) - 1
_GROUP, _TRANSACTION = 0, 1
#: What connections are for.
OFFSETS, FETCH = "offsets", "fetch"
#: Metadata that must say that a topic is not there, or another one, before it is taken for deleted: for a while, some
#: brokers know what others do not.
UNKNOWN_TRIES = 5

#: Seconds of tries after which it is logged what they wait for.
_LONG = 3
_NEVER = float("inf")

# Of our own: a seed that an application has set, and what it draws by it, is the same with kcodec and without.
_RANDOM = random.Random()

Answer = TypeVar("Answer")


class TopicPartition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class Leader(NamedTuple):
    """The broker that leads a partition, -1 if none does, and since which epoch, -1 if that is unknown."""

    broker: int
    epoch: int


_UNKNOWN = Leader(-1, -1)


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Return the partitions of each topic.

    >>> by_topic([TopicPartition("a", 0), TopicPartition("a", 2)])
    {'a': [0, 2]}
    """
    found: dict[str, list[int]] = {}
    for topic, partition in partitions:
        found.setdefault(topic, []).append(partition)
    return found


class Deadline:
    """A time by which something has to be done, and the pauses between tries."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._is_logged = False
        self.restart()

    def restart(self) -> None:
        """Start the time anew, because there was progress."""
        self.end = time.monotonic() + self._settings.timeout_ms / 1000
        self._pause = self._settings.backoff_ms / 1000
        self._before: KafkaError | None = None
        self._for_brokers = self._settings.timeout_ms / 1000

    def postpone(self, seconds: float) -> None:
        """Do not count time in which nothing could be done."""
        self.end += seconds

    def throttle(self, seconds: float) -> None:
        """Do not count time in which a broker was not to be asked, as long as that is not all that brokers say."""
        seconds = min(seconds, self._for_brokers)
        self._for_brokers -= seconds
        self.postpone(seconds)

    def pause(self, error: KafkaError) -> float:
        """Return how many seconds to pause before the next try; raise if there is no time for it."""
        left = self.end - time.monotonic()
        if left <= 0:
            raise timed_out(error, self._before, self._settings.timeout_ms)
        self._before = error
        # As Java's clients since KIP-580: twice as long each time, and a fifth more or less, so that clients which
        # lost the same broker do not all come back at once.
        pause = min(self._pause * _RANDOM.uniform(0.8, 1.2), left)
        self._pause = min(self._pause * 2, self._settings.max_backoff_ms / 1000)
        return pause

    def wait(self, error: KafkaError) -> None:
        """Pause before the next try; raise if there is no time for it."""
        pause = self.pause(error)
        left = self.end - time.monotonic()
        if not self._is_logged and left < self._settings.timeout_ms / 1000 - _LONG:
            self._is_logged = True
            logger.info("%s (trying again for %d s)", error, left)
        time.sleep(pause)


def _is_lost_to(channel: Channel, address: tuple[str, int]) -> bool:
    return not channel.is_open and channel.address == address


class Cluster:
    """What is known of a cluster; for any number of threads, each of which has its own connections.

    `with cluster:` closes them all at its end.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._lock = fork_safe_lock()
        self._brokers: dict[int, tuple[str, int]] = {}
        self._topics: dict[str, Topic] = {}
        #: By topic and partition, those that were looked up, or are unknown until metadata are asked for again.
        self._leaders: dict[str, dict[int, Leader]] = {}
        self._ids: dict[str, bytes] = {}
        #: Epochs of leaders that records or commits tell of, whatever metadata do.
        self._epochs: dict[TopicPartition, int] = {}
        #: By broker and purpose; None for the one to any broker.
        self._channels: dict[tuple[int, object] | None, Channel] = {}
        # Threads share one connection for questions to any broker, so one asks at a time. Who asks holds the lock and
        # may ask again under it.
        self._any_lock = fork_safe_lock()
        self._closed = False

    def __enter__(self) -> "Cluster":  # noqa: PYI034 (Self is of Python 3.11)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections; threads that wait for a response have an error then."""
        with self._lock:
            self._closed = True
            channels = list(self._channels.values())
            self._channels.clear()
        for channel in channels:
            channel.close()

    @property
    def brokers(self) -> list[int]:
        """The ids of the brokers that metadata have named."""
        with self._lock:
            return sorted(self._brokers)

    def deadline(self) -> Deadline:
        """Return the time by which something that is asked for now has to be done."""
        return Deadline(self.settings)

    def leader(self, partition: TopicPartition) -> Leader:
        """Return the leader of a partition as last known."""
        name, number = partition
        known = self._leaders.get(name)
        if known is None:
            return _UNKNOWN
        found = known.get(number)
        if found is None:
            found = Leader(*self._topics[name].leader(number))
            if 0 <= found.epoch < self._epochs.get(partition, -1):
                # Who told of this leader was out of touch when the next one was elected.
                found = _UNKNOWN
            known[number] = found
        return found

    def note_epoch(self, partition: TopicPartition, epoch: int) -> None:
        """Remember that a partition has had a leader of an epoch: one of an earlier epoch leads it no longer."""
        with self._lock:
            self._epochs[partition] = max(epoch, self._epochs.get(partition, -1))
        known = self._leaders.get(partition.topic)
        if known is not None:
            known.pop(partition.partition, None)

    def topic_id(self, topic: str) -> bytes | None:
        """Return a topic's id as last known; None before Kafka 2.8. A later topic of the same name has another one."""
        return self._ids.get(topic)

    def check_ids(self, ids: Mapping[str, bytes | None]) -> None:
        """Raise if a topic has another id than it had: it was deleted and made anew."""

        def attempt(end: float) -> None:
            self.refresh(ids, end)
            for topic, topic_id in ids.items():
                if topic_id is not None and self.topic_id(topic) != topic_id:
                    raise recreated(topic)

        self.retry(attempt, unknown_topic_tries=3)

    def channel(self, broker: int, purpose: object = None, end: float = _NEVER) -> Channel:
        """Return the connection to a broker for a purpose; if there is none it is made, by a time."""
        found = self._kept((broker, purpose))
        if found is not None:
            return found
        address = self._brokers.get(broker)
        if address is None:
            raise KafkaError(f"broker {broker} is not one of the cluster")
        return self._keep((broker, purpose), Channel(*address, self.settings, end))

    def _kept(self, key: tuple[int, object] | None) -> Channel | None:
        """Return the open connection; None if it cannot be used any more."""
        with self._lock:
            found = self._channels.get(key)
        if found is None or (found.is_open and not (found.is_expired and not found.in_flight)):
            return found
        found.close()
        return None

    def _keep(self, key: tuple[int, object] | None, channel: Channel) -> Channel:
        with self._lock:
            if not self._closed:
                # Whoever answers here is well again.
                for other in [
                    other for other, each in self._channels.items() if _is_lost_to(each, channel.address)
                ]:
                    del self._channels[other]
                self._channels[key] = channel
                return channel
        channel.close()
        raise KafkaError("the cluster is closed")

    def hand_on_offsets(self) -> None:
        """Use the connections that asked for offsets to fetch as well: one to each broker is enough."""
        with self._any_lock, self._lock:
            for key, channel in list(self._channels.items()):
                if key is not None and key[1] == OFFSETS and channel.is_open and not channel.in_flight:
                    taken = self._channels.setdefault((key[0], FETCH), channel)
                    if taken is channel:
                        del self._channels[key]

    def _is_doubtful(self, address: tuple[str, int]) -> bool:
        """Return whether the connection to a broker was lost and not made again."""
        with self._lock:
            return any(_is_lost_to(each, address) for each in self._channels.values())

    def _places(self) -> Iterator[tuple[str, int]]:
        with self._lock:
            known = list(self._brokers.values())
        _RANDOM.shuffle(known)
        bootstrap = list(self.settings.addresses)
        _RANDOM.shuffle(bootstrap)
        yield from sorted(dict.fromkeys([*known, *bootstrap]), key=self._is_doubtful)

    def _some_channel(self, end: float) -> Channel:
        """Return a connection to any broker, those last to which another one was lost.

        A broker that has stopped without an end of its connections takes all the time of a request to say so: not
        another one is to be lost on it.
        """
        channel = self._kept(None)
        if channel is not None and not self._is_doubtful(channel.address):
            return channel
        if channel is not None:
            channel.close()
        failures = []
        for place in self._places():
            try:
                return self._keep(None, Channel(*place, self.settings, end))
            except KafkaError as error:
                if not is_retriable(error):
                    raise
                failures.append(error)
                if time.monotonic() >= end:
                    break
        raise failures[0] if failures else KafkaError("no broker is known")

    def ask(self, name: str, body: dict[str, Any], end: float = _NEVER) -> dict[str, Any]:
        """Ask any broker, which has to answer by a deadline."""
        return self._on_any(end, lambda channel, end: channel.request(name, body, end))

    def _on_any(self, end: float, ask: Callable[[Channel, float], Answer]) -> Answer:
        end = min(end, time.monotonic() + self.settings.timeout_ms / 1000)
        with self._any_lock:
            return ask(self._some_channel(end), end)

    def retry(self, attempt: Callable[[float], Answer], unknown_topic_tries: int | None = None) -> Answer:
        """Return the result of a call that is repeated while its error may pass and there is time.

        It takes the time by which it has to end.
        """
        deadline, unknown = self.deadline(), 0
        while True:
            try:
                return attempt(deadline.end)
            except KafkaError as error:
                unknown += error.code == Code.UNKNOWN_TOPIC_OR_PARTITION
                if not is_retriable(error) or self._closed:
                    raise
                if unknown_topic_tries is not None and unknown >= unknown_topic_tries:
                    raise
                deadline.wait(error)

    def refresh(self, topics: Iterable[str] | None, end: float = _NEVER) -> dict[str, list[int]]:
        """Ask for topics, None for all, and who leads their partitions; return the partitions of each.

        Raise the error of a topic that is asked for, such as UNKNOWN_TOPIC_OR_PARTITION.
        """
        names = None if topics is None else [{"name": name} for name in dict.fromkeys(topics)]
        body = {"topics": names, "allowAutoTopicCreation": False}
        answer = self._on_any(end, lambda channel, end: channel.request_columns("MetadataRequest", body, end))
        with self._lock:
            self._brokers.update(read_brokers(answer))
        found: dict[str, list[int]] = {}
        for topic in read_topics(answer, None if names is None else len(names)):
            if topic.code:
                raise broker_error(topic.code, f"topic {topic.name!r}")
            with self._lock:
                if topic.topic_id is not None:
                    if self._ids.get(topic.name, topic.topic_id) != topic.topic_id:
                        self._epochs = {
                            place: epoch for place, epoch in self._epochs.items() if place.topic != topic.name
                        }
                    self._ids[topic.name] = topic.topic_id
                self._topics[topic.name] = topic.since(self._topics.get(topic.name))
                # Behind the topic: who finds these looks them up in it.
                self._leaders[topic.name] = {}
            found[topic.name] = topic.partitions.tolist()
        for each in names or ():
            if each["name"] not in found:
                raise broker_error(Code.UNKNOWN_TOPIC_OR_PARTITION, f"topic {each['name']!r}")
        return found

    def partitions(self, topics: Iterable[str] | None) -> dict[str, list[int]]:
        """Return the partitions of topics, None for all but internal ones; a topic that does not exist is an error."""
        wanted = None if topics is None else list(topics)
        # A topic that was just made may not be known to every broker; one that never was, to none.
        return self.retry(lambda end: self.refresh(wanted, end), unknown_topic_tries=3)

    def leaders(self, partitions: Iterable[TopicPartition]) -> dict[int, list[TopicPartition]]:
        """Return the partitions that each broker leads; those that none leads are an error that may pass."""
        found: dict[int, list[TopicPartition]] = {}
        for partition in partitions:
            leader = self.leader(partition).broker
            if leader not in self._brokers:
                raise broker_error(Code.LEADER_NOT_AVAILABLE, str(partition))
            found.setdefault(leader, []).append(partition)
        return found

    def offsets(
        self, wanted: dict[TopicPartition, int], isolation: str
    ) -> dict[TopicPartition, tuple[int, int]]:
        """Ask for the offset and timestamp of the first record of a time or later, of `EARLIEST` or `LATEST`.

        An offset is -1 if there is no record so late.
        """
        found: dict[TopicPartition, tuple[int, int]] = {}

        def attempt(end: float) -> None:
            left = {key: value for key, value in wanted.items() if key not in found}
            with self._any_lock:
                if any(self.leader(each).broker < 0 for each in left):
                    self.refresh(by_topic(left), end)
                try:
                    for broker, partitions in self.leaders(left).items():
                        self._list(broker, {each: left[each] for each in partitions}, isolation, found, end)
                except KafkaError:
                    self.forget(left)
                    raise

        self.retry(attempt)
        return found

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """Forget who leads partitions: it is asked for when it is next needed."""
        for each in partitions:
            known = self._leaders.get(each.topic)
            if known is not None:
                known[each.partition] = _UNKNOWN

    def doubt(self, partitions: Iterable[TopicPartition], purpose: object) -> None:
        """Ask who leads partitions before anything else is asked of them, and other brokers first.

        A broker that was out of touch for a while may still take itself for a leader, say so to whoever asks, and lack
        what its successor has taken since.
        """
        left = list(partitions)
        with self._lock:
            channels = [self._channels.get((self.leader(each).broker, purpose)) for each in left]
        for channel in channels:
            if channel is not None:
                # Brokers to which a connection was lost are asked last.
                channel.close()
        self.forget(left)

    def _list(
        self,
        broker: int,
        wanted: dict[TopicPartition, int],
        isolation: str,
        found: dict[TopicPartition, tuple[int, int]],
        end: float,
    ) -> None:
        body = {
            "replicaId": -1,
            "isolationLevel": int(isolation == "read_committed"),
            "topics": [
                {
                    "name": topic,
                    "partitions": [
                        {"partitionIndex": number, "timestamp": wanted[TopicPartition(topic, number)]}
                        for number in numbers
                    ],
                }
                for topic, numbers in by_topic(wanted).items()
            ],
        }
        answer = self.channel(broker, OFFSETS, end).request("ListOffsetsRequest", body, end)
        for topic in answer["topics"]:
            for each in topic["partitions"]:
                partition = TopicPartition(topic["name"], each["partitionIndex"])
                if partition not in wanted:
                    raise KafkaError(f"broker {broker} answers for {partition}, which it was not asked for")
                if each["errorCode"]:
                    raise broker_error(each["errorCode"], str(partition))
                if each["offset"] < -1:
                    raise KafkaError(
                        f"broker {broker} answers for {partition} with the offset {each['offset']}"
                    )
                found[partition] = each["offset"], each["timestamp"]
        for partition in wanted:
            if partition not in found:
                raise KafkaError(f"broker {broker} does not answer for {partition}")

    def coordinator(self, key: str, end: float, *, is_transaction: bool = False) -> int:
        """Return the broker that keeps the offsets of a group, or the state of a transactional id."""
        kind = _TRANSACTION if is_transaction else _GROUP
        answer = self.ask("FindCoordinatorRequest", {"key": key, "keyType": kind}, end)
        if answer["errorCode"]:
            raise broker_error(answer["errorCode"], f"coordinator of {key!r}", answer["errorMessage"])
        broker: int = answer["nodeId"]
        with self._lock:
            self._brokers[broker] = answer["host"], answer["port"]
        return broker
