"""Topics to which something is done beneath those who write and read them, each with what is to be true in the end."""

import time

import numpy as np
import pyarrow as pa
from brokers import Brokers
from control import Control
from ledger import ACKNOWLEDGED, UNKNOWN, Call, Ledger, check_read, check_written, whole
from processes import until
from work import Following, Writer

from kcodec import KafkaError, kafka

#: New partitions are looked for as often, and batches are small, so that readers are in the midst of them.
_SOON = {"metadata.max.age.ms": 500}
_SMALL = {"max.partition.fetch.bytes": 20_000, "fetch.max.bytes": 20_000}


class Scene:
    """A topic, who writes it and who follows it."""

    topic = ""

    def __init__(self, brokers: Brokers, control: Control, number: int) -> None:
        self.brokers = brokers
        self.control = control
        self.ledger = Ledger()
        self.make()
        self.writer = Writer(number, self.topic, brokers.address, self.ledger, pause=0.3)
        self.follower = self.following()

    def make(self) -> None:
        self.control.create(self.topic)

    def following(self) -> Following:
        raise NotImplementedError

    def happen(self) -> None:
        """Do something to the topic."""
        raise NotImplementedError

    def check(self) -> list[str]:
        """Return what is wrong, once all have stopped."""
        raise NotImplementedError


class Grown(Scene):
    """A topic that gets further partitions: whoever follows it reads them from their beginning."""

    topic = "grown"

    def following(self) -> Following:
        return Following(self.topic, self.brokers.address, config=_SOON)

    def happen(self) -> None:
        count = len(self.control.partitions(self.topic, self.brokers[1].proxy.to))
        if count < 12:
            self.control.grow(self.topic, count + 1)

    def check(self) -> list[str]:
        log = whole(self.brokers.address, self.topic, "read_committed")
        wrong = check_written(self.ledger.of(self.topic), log)
        start = {int(number): 0 for number in np.unique(log.partition)}
        return wrong + check_read(
            self.follower.name, self.follower.rows(self.topic), log, start, dict.fromkeys(start, 1 << 62)
        )


class Remade(Scene):
    """A topic that is deleted and made anew: a pattern finds it again, and reads the new one whole, once."""

    topic = "remade"

    def following(self) -> Following:
        return Following("^remade", self.brokers.address, config=_SOON)

    def happen(self) -> None:
        self.control.delete(self.topic)
        time.sleep(self.writer.random.uniform(0, 2))
        # Deleted is what all brokers have heard of.
        until(lambda: self._is_made(), 30)

    def _is_made(self) -> bool:
        try:
            self.make()
        except Exception as error:
            if "ALREADY_EXISTS" not in str(error):
                raise
            time.sleep(0.2)
            return False
        return True

    def check(self) -> list[str]:
        log = whole(self.brokers.address, self.topic, "read_committed")
        got = self.follower.rows(self.topic)
        is_there = np.isin(got.value, log.value)
        last = type(got)(*(column[is_there] for column in got))
        wrong = check_read(self.follower.name, last, log, {0: 0}, {0: 1 << 62})
        again = len(got) - len(np.unique(got.value))
        return wrong + ([f"{self.topic}: {again} records were read twice"] if again else [])


class Trimmed(Scene):
    """A topic whose first records are deleted beneath who reads it slowly: the report has what was not read."""

    topic = "trimmed"

    def following(self) -> Following:
        config = {"auto.offset.reset": "earliest", **_SMALL}
        return Following(self.topic, self.brokers.address, pause=0.5, errors="report", config=config)

    def happen(self) -> None:
        (range_,) = kafka.find_ranges(self.topic, servers=self.brokers.address)
        self.control.delete_records(self.topic, {0: range_.start + range_.size * 3 // 4})

    def check(self) -> list[str]:
        (range_,) = kafka.find_ranges(self.topic, servers=self.brokers.address, isolation="read_uncommitted")
        got, lost = self.follower.rows(self.topic), self.follower.follower.report.faults
        found = np.concatenate([got.offset, *(np.arange(each.offset, _end(each)) for each in lost)])
        missing = len(np.setdiff1d(np.arange(range_.end), found))
        again = len(found) - len(np.unique(found))
        if missing or again:
            return [
                f"{self.topic}: {missing} records neither read nor told to be lost, {again} both, or twice"
            ]
        acknowledged = sum(
            call.end - call.first for call in self.ledger.of(self.topic) if call.outcome == ACKNOWLEDGED
        )
        at_most = acknowledged + sum(
            call.end - call.first for call in self.ledger.of(self.topic) if call.outcome == UNKNOWN
        )
        if not acknowledged <= range_.end <= at_most:
            return [f"{self.topic}: {range_.end} records of {acknowledged} to {at_most}"]
        return []


def _end(fault) -> int:
    """Return the offset behind those that a fault tells of: it ends with "the offsets 3 to 19 are no longer there"."""
    return int(fault.reason.split(" to ")[1].split()[0]) + 1


class Unclean:
    """A leader that lacks records takes over: whoever has read them is told, and gets what replaces them."""

    topic = "unclean"

    def __init__(self, brokers: Brokers, control: Control, number: int) -> None:
        self.brokers = brokers
        self.control = control
        self.writer = Writer(number, self.topic, brokers.address, Ledger())
        self.times = 0
        self.wrong: list[str] = []
        control.create(
            self.topic,
            replicas=2,
            min_insync_replicas=1,
            unclean_leader_election_enable="true",
        )

    def happen(self) -> None:
        """Have the one replica write while the other sleeps, and then the other lead while the first is gone."""
        leader, replicas, _ = self._state(1)
        (other,), (third,) = set(replicas) - {leader}, {1, 2, 3} - set(replicas)
        until(lambda: len(self._state(third)[2]) == 2, 60)
        address = self.brokers.address
        follower = Following(self.topic, address)
        behind = Following(self.topic, address, errors="report", config={"auto.offset.reset": "earliest"})
        for each in (follower, behind):
            each.start()
        try:
            lost, new = self._lose(leader, other, third, [follower, behind])
        finally:
            for each in (follower, behind):
                each.stop()
        for each in (follower, behind):
            each.join(90)
        self.times += 1
        log = whole(self.brokers.address, self.topic, "read_committed")
        if np.isin(np.arange(lost.first, lost.end), log.value).any():
            # Nothing was lost: the other had all of it.
            return
        if not (isinstance(follower.error, KafkaError) and follower.error.name == "LOG_TRUNCATED"):
            self.wrong.append(f"{self.topic}: what is lost is not told, but {follower.error!r}")
        if behind.error is not None:
            self.wrong.append(f"{self.topic}: {behind.error!r}")
        else:
            faults = [each for each in behind.follower.report.faults if each.code == "log_truncated"]
            got = behind.rows(self.topic)
            told = sum(_end(each) - each.offset for each in faults)
            if told != lost.end - lost.first or not np.isin(np.arange(new.first, new.end), got.value).all():
                self.wrong.append(f"{self.topic}: {told} records are told to be lost, of {lost}, {faults}")

    def _lose(self, leader: int, other: int, third: int, followers: list[Following]) -> tuple[Call, Call]:
        """Return the call whose records are to be lost, and the one that wrote others over them."""
        self.writer.write(500)
        self._await(followers)
        self.brokers[other].pause()
        try:
            until(lambda: self._state(third)[2] == [leader], 60)
            lost = self.writer.write(700)
            self._await(followers)
            self.brokers[leader].service.kill()
        finally:
            self.brokers[other].resume()
        try:
            until(lambda: self._state(third)[0] == other, 60)
            new = self.writer.write(1_500)
        finally:
            if not self.brokers[leader].service.is_running:
                self.brokers[leader].service.start()
        return lost, new

    def _state(self, number: int) -> tuple[int, list[int], list[int]]:
        """Return the leader, the replicas and those in sync, as a broker knows them."""
        return self.control.partitions(self.topic, self.brokers[number].proxy.to)[0]

    def _await(self, followers: list[Following]) -> None:
        """Wait until all that was written has been read."""
        last = self.writer.next - 1
        for each in followers:
            until(
                lambda each=each: each.error or any(last in _values(batch) for batch in each.batches[-3:]), 60
            )

    def check(self) -> list[str]:
        return self.wrong


def _values(batch: pa.RecordBatch) -> list[int]:
    return [int(each) for each in batch["value"].to_pylist()]


SCENES: dict[str, type[Scene]] = {"grow": Grown, "remake": Remade, "trim": Trimmed}
