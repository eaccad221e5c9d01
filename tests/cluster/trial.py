"""Work on two topics under faults, and whether it was done as promised: compared with what librdkafka finds."""

from collections import Counter
from typing import Any

from brokers import Brokers
from control import Control
from faults import KEPT, TOGETHER
from ledger import Ledger, Rows, check_read, check_whole_calls, check_written, whole
from work import Following, Reader, Work, Writer

_PATIENCE = 180


class Trial:
    """Two writers of a topic, and two that write transactions to another; who reads both, and who follows them.

    Writers pause for so many seconds after each call.
    """

    topics: tuple[str, ...] = (KEPT, TOGETHER)

    def __init__(self, brokers: Brokers, control: Control, pause: float = 0.1) -> None:
        self.address = address = brokers.address
        self.ledger = Ledger()
        ports = [each.proxy.to for each in brokers]
        control.create_everywhere(KEPT, 6, ports)
        control.create_everywhere(TOGETHER, 3, ports)
        self.writers = [Writer(number, KEPT, address, self.ledger, pause=pause) for number in (1, 2)]
        self.writers += [
            Writer(number, TOGETHER, address, self.ledger, f"writer-{number}", pause) for number in (3, 4)
        ]
        self.readers = [
            Reader(KEPT, address, "read_uncommitted", 1),
            Reader(TOGETHER, address, "read_committed", 2),
            Reader(TOGETHER, address, "read_uncommitted", 3),
        ]
        self.followers = [Following(KEPT, address), Following(TOGETHER, address)]

    @property
    def groups(self) -> list[list[Work]]:
        """All work, in the order in which it is to stop: who writes, then who reads."""
        return [[*self.writers], [*self.readers], [*self.followers]]

    @property
    def acknowledged(self) -> int:
        """Records that were acknowledged so far."""
        return sum(
            call.end - call.first for call in list(self.ledger.calls) if call.outcome == "acknowledged"
        )

    def start(self) -> None:
        for group in self.groups:
            for each in group:
                each.start()

    def stop(self) -> list[str]:
        """Stop all work; return what did not end well."""
        wrong = []
        for group in self.groups:
            for each in group:
                each.stop()
            for each in group:
                each.join(_PATIENCE)
                if each.is_alive():
                    wrong.append(f"{each.name} does not end")
                elif each.error is not None:
                    wrong.append(f"{each.name}: {type(each.error).__name__}: {each.error}")
        return wrong

    def check(self) -> list[str]:
        """Compare everything with the logs; return what is wrong."""
        logs = {
            (topic, "read_committed"): whole(self.address, topic, "read_committed") for topic in self.topics
        }
        for topic in self.topics:
            # Without transactions there is no other log.
            uncommitted = (topic, "read_uncommitted")
            if topic == TOGETHER:
                logs[uncommitted] = whole(self.address, *uncommitted)
            else:
                logs[uncommitted] = logs[topic, "read_committed"]
        return self.compare(logs)

    def compare(self, logs: dict[tuple[str, str], Rows]) -> list[str]:
        wrong = []
        for topic in self.topics:
            wrong += check_written(self.ledger.of(topic), logs[topic, "read_committed"])
        wrong += check_whole_calls(self.ledger.of(TOGETHER), logs[TOGETHER, "read_committed"])
        for reader in self.readers:
            log = logs[reader.topic, reader.isolation]
            for ranges, got in reader.reads:
                start, end = ({each.partition: each[at] for each in ranges} for at in (2, 3))
                wrong += check_read(reader.name, got, log, start, end)
        for follower, topic in zip(self.followers, (KEPT, TOGETHER), strict=True):
            log, positions = logs[topic, "read_committed"], follower.follower.positions[topic]
            got = follower.rows(topic)
            wrong += check_read(follower.name, got, log, follower.start_at[topic], positions)
            behind = sum(int((log.of(each).offset >= at).sum()) for each, at in positions.items())
            if behind:
                wrong.append(f"{follower.name}: it stopped {behind} records before the end")
        return wrong

    def figures(self) -> dict[str, Any]:
        """Return how much was done."""
        return {
            "calls": dict(Counter(call.outcome for call in self.ledger.calls)),
            "records acknowledged": self.acknowledged,
            "bounded reads": sum(len(each.reads) for each in self.readers),
            "records read": sum(len(got) for each in self.readers for _, got in each.reads),
            "records followed": sum(sum(map(len, each.batches)) for each in self.followers),
        }
