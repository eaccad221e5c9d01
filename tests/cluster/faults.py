"""What can go wrong with a cluster: each fault is a function that has ended when all is well again."""

import random
import time
from collections.abc import Callable

from brokers import Brokers
from control import Control
from disk import Disk
from processes import until

#: The topics whose leaders move.
KEPT, TOGETHER = "kept", "together"
#: The broker whose disk is its own.
ON_DISK = 3


class Faults:
    """Faults of one of the brokers, drawn by a seed."""

    def __init__(self, brokers: Brokers, control: Control, seed: int, disk: Disk) -> None:
        self.brokers = brokers
        self.control = control
        self.random = random.Random(seed)
        self.disk = disk

    def kill(self) -> None:
        broker = self._one()
        broker.service.kill()
        time.sleep(self.random.uniform(0, 6))
        broker.service.start()

    def term(self) -> None:
        broker = self._one()
        broker.service.stop()
        time.sleep(self.random.uniform(0, 3))
        broker.service.start()

    def pause(self) -> None:
        """Have a broker do nothing, for longer than it may stay a leader or not."""
        broker = self._one()
        broker.pause()
        time.sleep(self.random.uniform(1, 9))
        broker.resume()

    def cut(self) -> None:
        for _ in range(self.random.randrange(1, 6)):
            self._one().proxy.cut()
            time.sleep(self.random.uniform(0, 0.5))

    def delay(self) -> None:
        proxy = self._one().proxy
        proxy.delay = self.random.uniform(0.02, 0.3)
        time.sleep(self.random.uniform(1, 5))
        proxy.delay = 0.0

    def silence(self) -> None:
        proxy = self._one().proxy
        proxy.is_silent = True
        time.sleep(self.random.uniform(1, 8))
        proxy.is_silent = False

    def reassign(self) -> None:
        """Have partitions led by others, on the same brokers in another order."""
        for topic in (KEPT, TOGETHER):
            moved = {}
            for number, (_, replicas, _) in self.control.partitions(topic, self._one().proxy.to).items():
                moved[number] = self.random.sample(replicas, len(replicas))
            port = self._one().proxy.to
            self.control.reassign(topic, moved, port)
            time.sleep(self.random.uniform(0, 1))
            self.control.elect((topic, number) for number in moved)

    def elect(self) -> None:
        for topic in (KEPT, TOGETHER):
            self.control.elect(
                (topic, number) for number in self.control.partitions(topic, self._one().proxy.to)
            )

    def slow(self) -> None:
        """Have a broker's disk hold up whatever writes, again and again."""
        self.disk.slow(self.random.uniform(2, 10), self.random)

    def full(self) -> None:
        """Leave a broker no place on its disk, which ends it; then there is place, and it is started again."""
        service = self.brokers[ON_DISK].service
        self.disk.fill()
        try:
            until(lambda: not service.is_running, 30)
        finally:
            self.disk.free()
            # Where it did not end, who knows what of it still works?
            service.kill()
            service.start()

    def version(self) -> None:
        """Start one broker after the other with the other version of Kafka, each when the one before has caught up."""
        if self.brokers.older is None:
            raise OSError("there is no older Kafka")
        is_newer = self.brokers[1].jars == self.brokers.newer
        for each in self.brokers:
            each.service.stop()
            each.take(self.brokers.older if is_newer else self.brokers.newer)
            each.service.start()
            until(self._have_caught_up, 60)

    def _have_caught_up(self) -> bool:
        time.sleep(0.3)
        return all(
            len(in_sync) == len(replicas)
            for topic in (KEPT, TOGETHER)
            for _, replicas, in_sync in self.control.partitions(topic, self._one().proxy.to).values()
        )

    def _one(self):
        return self.brokers[self.random.choice([each.number for each in self.brokers])]

    def all(self) -> dict[str, Callable[[], None]]:
        names = (
            "kill",
            "term",
            "pause",
            "cut",
            "delay",
            "silence",
            "reassign",
            "elect",
            "slow",
            "full",
            "version",
        )
        return {name: getattr(self, name) for name in names}
