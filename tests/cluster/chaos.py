"""Three brokers under faults, for as long as is asked for: ``make chaos SECONDS=600 SEED=1``.

All that was written, read and followed is compared with what librdkafka finds in the logs at the end.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "services"))

from brokers import Brokers
from control import Control
from faults import KEPT, TOGETHER, Faults
from ledger import Ledger, check_read, check_whole_calls, check_written, whole
from scenes import SCENES, Unclean
from work import Console, Following, Killed, Reader, Work, Writer

LINES = "lines"
_PATIENCE = 180


class Chaos:
    """The cluster's work, and what is to be true of it."""

    def __init__(self, brokers: Brokers, control: Control, folder: Path) -> None:
        self.brokers = brokers
        self.address = address = brokers.address
        self.control = control
        self.ledger = Ledger()
        control.create(KEPT, 6)
        control.create(TOGETHER, 3)
        control.create(LINES, 2)
        self.writers = [Writer(number, KEPT, address, self.ledger) for number in (1, 2)]
        self.writers += [
            Writer(number, TOGETHER, address, self.ledger, f"writer-{number}") for number in (3, 4)
        ]
        self.readers = [
            Reader(KEPT, address, "read_uncommitted", 1),
            Reader(TOGETHER, address, "read_committed", 2),
            Reader(TOGETHER, address, "read_uncommitted", 3),
        ]
        self.followers = [Following(KEPT, address), Following(TOGETHER, address)]
        self.killed = Killed(KEPT, address, folder / "killed")
        self.console = Console(5, LINES, address, self.ledger)
        self.scenes = {name: kind(brokers, control, 6 + at) for at, (name, kind) in enumerate(SCENES.items())}
        self.unclean = Unclean(brokers, control, 9)

    @property
    def groups(self) -> list[list[Work]]:
        """All work, in the order in which it is to stop: who writes, then who reads."""
        scenes = self.scenes.values()
        writers = [*self.writers, self.console, *(each.writer for each in scenes)]
        return [writers, self.readers, [*self.followers, self.killed, *(each.follower for each in scenes)]]

    def start(self) -> None:
        for group in self.groups:
            for each in group:
                each.start()

    def stop(self) -> list[str]:
        """Stop all work, writers first; return what did not end well."""
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
        address = self.address
        logs = {
            (topic, isolation): whole(address, topic, isolation)
            for topic in (KEPT, TOGETHER, LINES)
            for isolation in ("read_committed", "read_uncommitted")
        }
        wrong = []
        for topic in (KEPT, TOGETHER, LINES):
            wrong += check_written(self.ledger.of(topic), logs[topic, "read_committed"])
        wrong += check_whole_calls(self.ledger.of(TOGETHER), logs[TOGETHER, "read_committed"])
        for reader in self.readers:
            log = logs[reader.topic, reader.isolation]
            for ranges, got in reader.reads:
                start, end = ({each.partition: each[at] for each in ranges} for at in (2, 3))
                wrong += check_read(reader.name, got, log, start, end)
        for follower, topic in zip(self.followers, (KEPT, TOGETHER), strict=True):
            log = logs[topic, "read_committed"]
            wrong += check_read(
                follower.name,
                follower.rows(topic),
                log,
                follower.start_at[topic],
                follower.follower.positions[topic],
            )
            behind = sum(
                int((log.of(p).offset >= at).sum()) for p, at in follower.follower.positions[topic].items()
            )
            if behind:
                wrong.append(f"{follower.name}: it stopped {behind} records before the end")
        wrong += self.killed.check(logs[KEPT, "read_committed"])
        wrong += self.console.check(logs[LINES, "read_committed"])
        for scene in (*self.scenes.values(), self.unclean):
            wrong += scene.check()
        return wrong

    def figures(self) -> dict[str, int]:
        """Return how much was done."""
        calls = Counter(call.outcome for call in self.ledger.calls)
        return {
            "calls": dict(calls),
            "records acknowledged": sum(
                call.end - call.first for call in self.ledger.calls if call.outcome == "acknowledged"
            ),
            "bounded reads": sum(len(each.reads) for each in self.readers),
            "records read": sum(len(got) for each in self.readers for _, got in each.reads),
            "processes killed": self.killed.runs - 1,
            "commands": 2 * len(self.console.reads),
            "unclean elections": self.unclean.times,
            "records followed": sum(sum(map(len, each.batches)) for each in self.followers),
        }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    parser.add_argument("--faults", nargs="*", help="only these")
    arguments = parser.parse_args()
    began = time.monotonic()

    def tell(*what: object) -> None:
        print(f"{time.monotonic() - began:7.1f}", *what, flush=True)

    tell("seed", arguments.seed)
    done: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="kcodec-chaos-") as folder:
        brokers = Brokers(Path(folder))
        try:
            brokers.start()
            tell("three brokers are up")
            control = Control(brokers.address)
            chaos = Chaos(brokers, control, Path(folder))
            faults = Faults(brokers, control, arguments.seed)
            chaos.start()
            kinds = {**faults.all(), "unclean": chaos.unclean.happen}
            kinds |= {name: scene.happen for name, scene in chaos.scenes.items()}
            kinds = {name: each for name, each in kinds.items() if name in (arguments.faults or kinds)}
            end = time.monotonic() + arguments.seconds
            while time.monotonic() < end:
                name = faults.random.choice(sorted(kinds))
                tell(name, "| failed calls:", sum(call.outcome == "unknown" for call in chaos.ledger.calls))
                try:
                    kinds[name]()
                    done[name] += 1
                except Exception as error:
                    refused[name] += 1
                    tell(f"{name} is refused: {error}"[:300])
                time.sleep(faults.random.uniform(1, 5))
            tell("stopping")
            wrong = chaos.stop()
            tell("checking")
            wrong += chaos.check()
            for call in chaos.ledger.calls:
                if call.outcome == "unknown":
                    tell("failed:", call)
            tell("faults", sum(done.values()), dict(sorted(done.items())), "refused", dict(refused))
            for name, value in chaos.figures().items():
                tell(name, value)
        finally:
            brokers.close()
    for each in wrong:
        print("WRONG", each)
    print("all is well" if not wrong else f"{len(wrong)} things are wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
