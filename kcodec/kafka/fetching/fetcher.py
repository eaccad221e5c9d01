"""Fetching: a thread for each broker asks for the next response while the last one is decoded.

At most two responses of a broker are held: the one being decoded, and the next, under way or waiting. So the memory is
bounded by ``fetch.max.bytes`` and the number of brokers, whatever the size of the topics; only a batch larger than that
is fetched whole.
"""

import os
import queue
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, NamedTuple

import pyarrow as pa

from kcodec._fork import fork_safe_lock
from kcodec._impl import kernel
from kcodec.errors import CODES, DecodeError, KafkaError, KafkaTimeoutError
from kcodec.kafka.connection.channel import Channel
from kcodec.kafka.connection.cluster import EARLIEST, FETCH, LATEST, Cluster, TopicPartition, by_topic
from kcodec.kafka.connection.error_codes import Code, broker_error, is_retriable, recreated, truncated
from kcodec.kafka.fetching.cursor import Cursor, in_order
from kcodec.kafka.fetching.fetch_response import WITH_IDS, Fetched, read_fetch_response
from kcodec.kafka.fetching.truncation import EpochEnd, Epochs, ask_epoch_ends
from kcodec.kafka.offsets import Lost, Range
from kcodec.kafka.report import RecordError, RecordFault

# One that the reader decodes, and the next one, on its way or waiting.
_HELD = 2


class Piece(NamedTuple):
    """Batches of a partition: the records from `start` up to `end` are wanted, and the next ones start at `next`.

    `aborted` are producers and where their aborted transactions start, an array of two columns; `top` is the
    offset behind all that can be read. `ends` and `epochs` are of each batch: the offset behind it, and the epoch of
    the leader that took it.
    """

    place: TopicPartition
    records: pa.Buffer
    start: int
    end: int | None
    next: int
    aborted: Any
    top: int
    ends: Any
    epochs: Any


class Fetcher:
    """The pieces of ranges, in order within each partition; to be closed.

    Iterating gives lists of pieces, of a response each, until all ranges are at their ends; with `is_endless` it goes
    on when there are none, as more may be added. Errors of brokers are raised from it, as `KafkaError`; with
    `may_be_deleted` a topic that is deleted is none, and its partitions are among the `deleted`. `epochs` are those of
    the records before the ranges, as far as they are known.
    """

    def __init__(
        self,
        cluster: Cluster,
        ranges: Iterable[Range],
        isolation: str,
        is_endless: bool = False,
        may_be_deleted: bool = False,
        epochs: Mapping[TopicPartition, int] = MappingProxyType({}),
    ) -> None:
        self.cluster = cluster
        self.isolation = isolation
        self.is_endless = is_endless
        self.may_be_deleted = may_be_deleted
        #: Partitions that are gone, behind all that was taken of them, and not asked for yet.
        self.deleted: list[TopicPartition] = []
        #: What was found to be gone, and not asked for yet.
        self.lost: list[Lost] = []
        self._process = os.getpid()
        self.is_stopped = False
        #: What has come and was not taken. The queue only wakes who waits for it: an interruption (Ctrl-C) that meets
        #: its `get` loses no more than that.
        self._arrived: deque[tuple[_Broker, list[Piece]] | TopicPartition | BaseException | None] = deque()
        self._woken: queue.SimpleQueue[None] = queue.SimpleQueue()
        #: Of what threads hand to each other.
        self.lock = fork_safe_lock()
        self._brokers: dict[int, _Broker] = {}
        #: Whose pieces were taken last.
        self._holder: _Broker | None = None
        self._open = 0
        cluster.hand_on_offsets()
        if not self.add(ranges, epochs) and not is_endless:
            self.arrive(None)

    def add(
        self, ranges: Iterable[Range], epochs: Mapping[TopicPartition, int] = MappingProxyType({})
    ) -> int:
        """Read further ranges, too; return how many of them have not ended."""
        cursors = [Cursor(self.cluster, each, epochs.get(each.place, -1)) for each in ranges]
        cursors = [each for each in cursors if not each.is_done]
        with self.lock:
            self._open += len(cursors)
        firsts: list[Cursor] = []
        last: dict[TopicPartition, Cursor] = {}
        for each in cursors:
            if each.place in last:
                last[each.place].following = each
            else:
                firsts.append(each)
            last[each.place] = each
        self.place(firsts)
        return len(cursors)

    def __iter__(self) -> Iterator[list[Piece]]:
        while (found := self.take()) is not None:
            yield found

    def take(self, timeout: float | None = None) -> list[Piece] | None:
        """Return the pieces of the next response, None at the end, ``[]`` after a time-out or a deletion.

        Pieces are held until the next ones are taken.
        """
        if self._process != os.getpid():
            # None of the threads is in a forked child, which would wait for ever.
            raise KafkaError("a reader works only in the process that made it: read anew in this one")
        self._release()
        with suppress(queue.Empty):
            # That of what has come already.
            self._woken.get_nowait()
        while not self._arrived:
            try:
                self._woken.get(timeout=timeout)
            except queue.Empty:
                return []
        # The end and an error stay. What else there is leaves without a call, behind which Python looks for signals.
        found = self._arrived[0]
        if found is None:
            return None
        if isinstance(found, BaseException):
            raise found
        if isinstance(found, TopicPartition):
            pieces: list[Piece] = []
            self.deleted += [found]
        else:
            self._holder, pieces = found
        del self._arrived[0]
        return pieces

    @property
    def is_committed(self) -> bool:
        """Whether only records of committed transactions are read."""
        return self.isolation == "read_committed"

    def arrive(self, found: "tuple[_Broker, list[Piece]] | TopicPartition | BaseException | None") -> None:
        """Hand something to the one who reads: pieces, a partition that is gone, an error, or None as the end."""
        self._arrived.append(found)
        self._woken.put(None)

    def _release(self) -> None:
        holder, self._holder = self._holder, None
        if holder is not None:
            holder.permits.put(None)

    def take_lost(self) -> list[Lost]:
        """Return the offsets that were found to be gone since the last call."""
        return [self.lost.pop(0) for _ in range(len(self.lost))]

    def take_deleted(self) -> list[TopicPartition]:
        """Return the partitions that were found to be deleted since the last call."""
        return [self.deleted.pop(0) for _ in range(len(self.deleted))]

    def close(self) -> None:
        """End all threads and connections."""
        self.is_stopped = True
        self.cluster.close()
        with self.lock:
            brokers = list(self._brokers.values())
        for broker in brokers:
            broker.permits.put(None)
            broker.woken.put(None)
        for broker in brokers:
            if broker.thread is not threading.current_thread() and broker.thread.is_alive():
                broker.thread.join(5)
        # Whoever waits for the next pieces.
        self.arrive(None)

    def place(self, cursors: Iterable[Cursor]) -> None:
        """Hand cursors to the threads of their leaders, or of nearer replicas."""
        with self.lock:
            for cursor in cursors:
                # Without a leader, any thread looks for one.
                number = self.cluster.leader(cursor.place).broker
                if cursor.replica is not None:
                    number = cursor.replica
                broker = self._brokers.get(number)
                if broker is None:
                    broker = self._brokers[number] = _Broker(self, number)
                    broker.thread.start()
                broker.given.append(cursor)
                broker.woken.put(None)

    def retire(self, broker: "_Broker") -> bool:
        """Forget a thread if it has nothing left to do; return whether it was forgotten."""
        with self.lock:
            if broker.given or broker.cursors:
                return False
            if self._brokers.get(broker.number) is broker:
                del self._brokers[broker.number]
            return True

    def done(self) -> None:
        """Count a partition that is at its end."""
        with self.lock:
            self._open -= 1
            if not self._open and not self.is_endless:
                self.arrive(None)


class _Broker:
    """The thread that fetches from one broker."""

    def __init__(self, fetcher: Fetcher, number: int) -> None:
        self.fetcher = fetcher
        self.cluster = fetcher.cluster
        self.number = number
        self.cursors: list[Cursor] = []
        self.given: list[Cursor] = []
        # Neither an event nor a semaphore: where an interruption meets who sets or releases these, their locks, which
        # are taken in Python, stay taken. Queues are C's.
        self.woken: queue.SimpleQueue[None] = queue.SimpleQueue()
        self.permits: queue.SimpleQueue[None] = queue.SimpleQueue()
        for _ in range(_HELD):
            self.permits.put(None)
        self.thread = threading.Thread(target=self._run, name=f"kcodec-fetch-{number}", daemon=True)

    def _run(self) -> None:
        try:
            while not self.fetcher.is_stopped:
                with self.fetcher.lock:
                    self.cursors, self.given = [*self.cursors, *self.given], []
                if not self.cursors:
                    if self.fetcher.retire(self):
                        return
                    continue
                self._step()
        except BaseException as error:
            if not self.fetcher.is_stopped:
                self.fetcher.arrive(error)

    def _wait(self, seconds: float) -> None:
        """Wait until the time is over, cursors are given, or the fetcher is closed."""
        with suppress(queue.Empty):
            self.woken.get(timeout=max(seconds, 0))

    def _pause(self, seconds: float) -> None:
        """Wait until the time is over, or the fetcher is closed."""
        end = time.monotonic() + seconds
        while not self.fetcher.is_stopped and (left := end - time.monotonic()) > 0:
            self._wait(left)

    def _step(self) -> None:
        now = time.monotonic()
        waiting = [each for each in self.cursors if each.error is not None]
        due = [each for each in waiting if each.not_before <= now]
        if due:
            self._find(due)
            self._drop_done()
            return
        # Metadata that others have asked for may say so first.
        ready = [each for each in self.cursors if each.error is None and not self._is_recreated(each)]
        if ready and self.number < 0:
            self._fail(ready, broker_error(Code.LEADER_NOT_AVAILABLE, str(ready[0].place)))
            return
        if not ready:
            times = [each.not_before for each in self.cursors if each.error is not None]
            self._wait(min(times) - now)
            return
        left = [each for each in ready if each.replica is not None and self._leaves_replica(each, now)]
        if left:
            self._hand_over(left)
            return
        unchecked = [each for each in ready if self._has_new_leader(each)]
        if unchecked:
            try:
                self._check_epochs(unchecked)
            except KafkaError as error:
                if not is_retriable(error):
                    raise
                self._fail(unchecked, error)
            return
        # This bounds the memory: no further response is asked for while the reader still has two.
        self.permits.get()
        if self.fetcher.is_stopped:
            return
        # What the one who reads takes for what has come is not the brokers' time.
        waited = time.monotonic() - now
        for each in (*self.cursors, *self.given):
            each.deadline.postpone(waited)
        is_held = False
        try:
            pieces = self._fetch(ready)
            if pieces:
                is_held = True
                self.fetcher.arrive((self, pieces))
        except KafkaError as error:
            if not is_retriable(error):
                raise
            self._fail(ready, error)
        finally:
            if not is_held:
                # A response without records holds no memory of the reader's, so it gives its permit back at once.
                self.permits.put(None)
        self._drop_done()

    def _drop_done(self) -> None:
        done = self._take_out({each for each in self.cursors if each.is_done})
        for each in done:
            if each.is_deleted:
                self.fetcher.arrive(each.place)
            if each.following is not None:
                each.following.deadline.restart()
                self.fetcher.place([each.following])
            self.fetcher.done()

    def _fail(self, cursors: Iterable[Cursor], error: KafkaError) -> None:
        for each in cursors:
            if not each.is_done:
                # Behind an error the leader is asked.
                each.replica = None
                each.fail(error, self.fetcher.may_be_deleted)

    def _find(self, cursors: list[Cursor]) -> None:
        """Ask who leads the partitions of cursors, and hand them over."""
        topics = by_topic(each.place for each in cursors)
        try:
            self.cluster.refresh(topics, max(each.deadline.end for each in cursors))
        except KafkaError as error:
            if not is_retriable(error):
                raise
            if error.code == Code.UNKNOWN_TOPIC_OR_PARTITION and len(topics) > 1:
                # It is an error of one of them.
                for topic in topics:
                    self._find([each for each in cursors if each.place.topic == topic])
                return
            self._fail(cursors, error)
            return
        moved = []
        for each in cursors:
            if self._is_recreated(each):
                continue
            leader = self.cluster.leader(each.place).broker
            if leader < 0:
                self._fail([each], broker_error(Code.LEADER_NOT_AVAILABLE, str(each.place)))
                continue
            each.error = None
            if leader != self.number:
                moved.append(each)
        self._hand_over(moved)

    def _hand_over(self, cursors: Iterable[Cursor]) -> None:
        """Leave cursors to the threads of other brokers."""
        self.fetcher.place(self._take_out(set(cursors)))

    def _take_out(self, cursors: set[Cursor]) -> list[Cursor]:
        """Stop reading some cursors here, and keep the others in order: there may be thousands."""
        taken = [each for each in self.cursors if each in cursors]
        if taken:
            self.cursors = [each for each in self.cursors if each not in cursors]
        return taken

    def _leaves_replica(self, cursor: Cursor, now: float) -> bool:
        """Return whether a cursor goes back to its leader: that may know a nearer replica, or another one leads now."""
        leader = self.cluster.leader(cursor.place)
        if now < cursor.replica_until and leader.epoch in (cursor.leader_epoch, -1):
            return False
        cursor.replica = None
        return leader.broker != self.number

    def _has_new_leader(self, cursor: Cursor) -> bool:
        """Return whether to ask a leader if it has the records that were read; before any were, there is no need."""
        epoch = self.cluster.leader(cursor.place).epoch
        if epoch in (cursor.leader_epoch, -1):
            return False
        if cursor.epoch < 0:
            cursor.leader_epoch = epoch
        return cursor.epoch >= 0

    def _check_epochs(self, cursors: list[Cursor]) -> None:
        """Ask the leader whether it has the records that were read; where it has not, go back or raise."""
        known = {each.place: self.cluster.leader(each.place).epoch for each in cursors}
        channel = self.cluster.channel(self.number, FETCH)
        found = ask_epoch_ends(
            channel, {each.place: Epochs(known[each.place], each.epoch) for each in cursors}
        )
        for each in cursors:
            if found is not None:
                end = found[each.place]
                if end.error:
                    error = broker_error(end.error, str(each.place))
                    if not is_retriable(error):
                        raise error
                    self._fail([each], error)
                    continue
                if end.offset < each.next:
                    self._go_back(each, end)
            # From now on, fetches are for this leader only.
            each.leader_epoch = known[each.place]

    def _go_back(self, cursor: Cursor, end: EpochEnd) -> None:
        """Go on after the last record that the leader still has; raise if the settings allow no loss."""
        if self.cluster.settings.reset == "error" or end.offset < 0:
            raise truncated(str(cursor.place), cursor.next, end.offset)
        self.fetcher.lost.append(Lost(*cursor.place, end.offset, cursor.next, True))
        cursor.advance(end.offset)
        cursor.epoch = end.epoch

    def _is_recreated(self, cursor: Cursor) -> bool:
        """Return whether a cursor's topic was deleted and made anew under the same name; then the cursor fails."""
        known = self.cluster.topic_id(cursor.place.topic)
        if cursor.topic_id is None:
            # Brokers that had no ids were replaced.
            cursor.topic_id = known
        if known == cursor.topic_id:
            return False
        self._fail([cursor], recreated(cursor.place.topic))
        return True

    def _fetch(self, cursors: list[Cursor]) -> list[Piece]:
        settings = self.cluster.settings
        channel = self.cluster.channel(self.number, FETCH)
        pause = channel.throttled_until - time.monotonic()
        if pause > 0:
            self._pause(pause)
            for waiting in cursors:
                waiting.deadline.throttle(pause)
        bounded = [each.wanted_bytes for each in cursors if each.end is not None]
        body = {
            "maxWaitMs": settings.fetch_wait_ms,
            # No broker waits for more than one partition is asked for.
            "minBytes": min([settings.fetch_min_bytes, *bounded]),
            # A partition may ask for more after a batch that did not fit: the response must have room for that as
            # well.
            "maxBytes": max(settings.fetch_bytes, *(each.max_bytes for each in cursors)),
            "isolationLevel": int(self.fetcher.is_committed),
            "topics": _topics(cursors),
            "rackId": settings.rack,
        }
        asked = time.monotonic()
        # Without the id of one of them, all are asked for by name: then only metadata tell of another topic.
        with_ids = all(each.topic_id is not None for each in cursors)
        channel.send("FetchRequest", body, most=WITH_IDS if with_ids else WITH_IDS - 1)
        opened, content = channel.receive((settings.request_timeout_ms + settings.fetch_wait_ms) / 1000)
        found = self._read(channel, content, opened.version, cursors)
        by_place = {each.place: each for each in cursors}
        answers = [(by_place.pop(TopicPartition(each.topic, each.partition), None), each) for each in found]
        for cursor, each in answers:
            if cursor is None:
                channel.close()
                place = TopicPartition(each.topic, each.partition)
                raise KafkaError(f"broker {channel} answers for {place}, which it was not asked for")
        pieces, served = [], []
        for cursor, each in answers:
            assert cursor is not None
            try:
                if self._is_sent_on(cursor, each):
                    continue
                piece = self._piece(cursor, each)
            except KafkaError as error:
                if not is_retriable(error):
                    raise
                # What came of others is not asked for again.
                self._fail([cursor], error)
                continue
            if piece is not None:
                pieces.append(piece)
                served.append(cursor)
        # What had its turn comes last in the next request, since a response may be full before its end.
        self._take_out(set(served))
        self.cursors += served
        sent_on = {each for each in cursors if each.replica not in (None, self.number)}
        if sent_on:
            self._hand_over(sent_on)
        if pieces:
            # Others may have had no room in the response; those that failed have no more time for it.
            for cursor in cursors:
                if cursor.error is None:
                    cursor.deadline.restart()
        else:
            left = [each for each in cursors if each not in sent_on]
            self._check_progress(left, time.monotonic() - asked < settings.fetch_wait_ms / 2000)
        return pieces

    def _is_sent_on(self, cursor: Cursor, fetched: Fetched) -> bool:
        """Return whether the leader names a nearer replica; then the cursor is to be handed over to it."""
        if (
            fetched.error
            or fetched.preferred < 0
            or cursor.replica is not None
            or fetched.preferred == self.number
        ):
            return False
        cursor.replica = fetched.preferred
        cursor.replica_until = time.monotonic() + self.cluster.settings.metadata_age_ms / 1000
        return True

    def _read(
        self, channel: Channel, content: pa.Buffer, version: int, cursors: list[Cursor]
    ) -> list[Fetched]:
        """Return what a response holds, and raise its error."""
        try:
            names = {each.topic_id: each.place.topic for each in cursors if each.topic_id is not None}
            throttle, code, found = read_fetch_response(content, version, len(cursors), names)
        except DecodeError as error:
            channel.close()
            raise KafkaError(f"{channel}: FetchResponse: {error}") from error
        channel.throttle(throttle)
        if code:
            raise broker_error(code, str(channel))
        return found

    def _check_progress(self, cursors: list[Cursor], was_early: bool) -> None:
        """Raise if a partition with an end has sent nothing for too long; else wait before asking it again."""
        now = time.monotonic()
        for each in cursors:
            if each.end is None:
                each.deadline.restart()
            elif not each.is_done and each.error is None and now > each.deadline.end:
                raise KafkaTimeoutError(
                    f"{each.place}: nothing came for offset {each.next}, before its end at {each.end}"
                )
        if was_early and any(not each.is_done and each.error is None for each in cursors):
            self._pause(self.cluster.settings.backoff_ms / 1000)

    def _piece(self, cursor: Cursor, fetched: Fetched) -> Piece | None:
        # A replica may be behind its leader.
        if fetched.error == Code.OFFSET_OUT_OF_RANGE and cursor.replica is None:
            cursor.missing += 1
            if not cursor.is_missing:
                self.cluster.doubt([cursor.place], FETCH)
                self._fail([cursor], broker_error(Code.OFFSET_OUT_OF_RANGE, str(cursor.place)))
            else:
                self._reset(cursor)
            return None
        if fetched.error:
            error = broker_error(fetched.error, str(cursor.place))
            if not is_retriable(error) and cursor.replica is None:
                raise error
            self._fail([cursor], error)
            return None
        records = fetched.records
        if not records.size:
            return None
        scan = kernel("protocol.batch._kernel").scan(records, 0, records.size, False)
        if not len(scan):
            if scan.stop in CODES:
                reason = CODES[scan.stop]
                raise RecordError(
                    RecordFault(*cursor.place, cursor.next, None, scan.stop_at, "", scan.stop, reason)
                )
            self._enlarge(cursor)
            return None
        headers = scan.headers()
        after = in_order(headers, cursor)
        if after <= cursor.next:
            raise KafkaError(
                f"{cursor.place}: asked for offset {cursor.next}, the broker sends those before {after}"
            )
        start = cursor.next
        cursor.advance(after)
        cursor.per_offset = scan.end / (after - int(headers["offset"][0]))
        cursor.epoch = int(headers["leader_epoch"][-1])
        if cursor.epoch > cursor.leader_epoch:
            self.cluster.note_epoch(cursor.place, cursor.epoch)
        return Piece(
            cursor.place,
            records.slice(0, scan.end),
            start,
            cursor.end,
            after,
            fetched.aborted,
            # What is not stable yet is nothing that who reads committed records could be behind.
            fetched.high_watermark if fetched.stable < 0 or not self.fetcher.is_committed else fetched.stable,
            headers["offset"] + headers["last_delta"] + 1,
            headers["leader_epoch"].copy(),
        )

    def _enlarge(self, cursor: Cursor) -> None:
        """Ask for more bytes after a response without a whole batch."""
        if cursor.wanted_bytes < cursor.max_bytes:
            cursor.per_offset = float(cursor.max_bytes)
            return
        most = max(self.cluster.settings.receive_bytes, self.cluster.settings.fetch_bytes)
        if cursor.max_bytes >= most:
            raise KafkaError(f"{cursor.place}: the batch at offset {cursor.next} is larger than {most} bytes")
        cursor.max_bytes = min(2 * cursor.max_bytes, most)

    def _reset(self, cursor: Cursor) -> None:
        """Go on at the earliest or latest offset of a partition, as the settings say, or raise."""
        reset = self.cluster.settings.reset
        if reset == "error":
            raise broker_error(Code.OFFSET_OUT_OF_RANGE, f"{cursor.place}, offset {cursor.next}")
        wanted = {cursor.place: EARLIEST if reset == "earliest" else LATEST}
        to, _ = self.cluster.offsets(wanted, self.fetcher.isolation)[cursor.place]
        if cursor.end is not None:
            to = min(to, cursor.end)
        if to > cursor.next:
            self.fetcher.lost.append(Lost(*cursor.place, cursor.next, to))
        elif cursor.end is not None:
            # The log was cut off behind what is wanted of it.
            raise broker_error(Code.OFFSET_OUT_OF_RANGE, f"{cursor.place}, offset {cursor.next}")
        cursor.advance(to)


def _topics(cursors: list[Cursor]) -> list[dict[str, Any]]:
    topics: dict[tuple[str, bytes], list[dict[str, Any]]] = {}
    for each in cursors:
        topics.setdefault((each.place.topic, each.topic_id or bytes(16)), []).append(
            {
                "partition": each.place.partition,
                "currentLeaderEpoch": each.leader_epoch,
                "fetchOffset": each.next,
                "partitionMaxBytes": each.wanted_bytes,
            }
        )
    return [
        {"topic": topic, "topicId": topic_id, "partitions": partitions}
        for (topic, topic_id), partitions in topics.items()
    ]
