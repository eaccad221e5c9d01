"""Three brokers under faults, for as long as is asked for: ``make chaos SECONDS=600 SEED=1``.

All that was written, read and followed is compared with what librdkafka finds in the logs at the end.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "services"))

from artifacts import jars
from brokers import Brokers
from control import Control
from disk import Disk
from faults import KEPT, ON_DISK, TOGETHER, Faults
from ledger import Rows
from scenes import SCENES, Unclean
from security import Certificates, Secured
from trial import Trial
from work import Console, Killed, Work

#: Written and read by the command line.
LINES = "lines"


class Chaos(Trial):
    """Also by the command line, in processes that are killed, and on topics that grow, go and lose records."""

    topics = (KEPT, TOGETHER, LINES)

    def __init__(self, brokers: Brokers, control: Control, folder: Path, certificates: Certificates) -> None:
        super().__init__(brokers, control)
        control.create(LINES, 2)
        self.killed = Killed(KEPT, self.address, folder / "killed")
        self.console = Console(5, LINES, self.address, self.ledger)
        self.scenes = {name: kind(brokers, control, 6 + at) for at, (name, kind) in enumerate(SCENES.items())}
        self.unclean = Unclean(brokers, control, 9)
        self.secured = Secured(brokers, control, 10, certificates)

    @property
    def groups(self) -> list[list[Work]]:
        writers, readers, followers = super().groups
        scenes = [*self.scenes.values(), self.secured]
        writers += [self.console, *(each.writer for each in scenes)]
        return [writers, readers, [*followers, self.killed, *(each.follower for each in scenes)]]

    def compare(self, logs: dict[tuple[str, str], Rows]) -> list[str]:
        wrong = super().compare(logs)
        wrong += self.killed.check(logs[KEPT, "read_committed"])
        wrong += self.console.check(logs[LINES, "read_committed"])
        for scene in (*self.scenes.values(), self.unclean, self.secured):
            wrong += scene.check()
        return wrong

    def figures(self) -> dict[str, Any]:
        return {
            **super().figures(),
            "processes killed": self.killed.runs - 1,
            "commands": 2 * len(self.console.reads),
            "unclean elections": self.unclean.times,
            "refused for": self.secured.times,
        }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    parser.add_argument("--faults", nargs="*", help="only these")
    arguments = parser.parse_args()
    began = time.monotonic()
    # As in the tests: what lives for minutes is compiled for nothing.
    os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

    def tell(*what: object) -> None:
        print(f"{time.monotonic() - began:7.1f}", *what, flush=True)

    tell("seed", arguments.seed)
    done: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    with (
        tempfile.TemporaryDirectory(prefix="kcodec-chaos-") as name,
        closing(Disk(Path(name, "disk"))) as disk,
    ):
        folder = Path(name)
        certificates = Certificates(folder / "tls")
        older, disks = jars("older_broker"), {ON_DISK: disk.folder}
        with closing(Brokers(folder, disks=disks, keystore=certificates.good, older=older)) as brokers:
            brokers.start()
            tell("three brokers are up")
            control = Control(brokers.address)
            chaos = Chaos(brokers, control, folder, certificates)
            faults = Faults(brokers, control, arguments.seed, disk)
            chaos.start()
            kinds = {**faults.all(), "unclean": chaos.unclean.happen}
            kinds |= {"expire": chaos.secured.expire, "password": chaos.secured.change_password}
            kinds |= {name: scene.happen for name, scene in chaos.scenes.items()}
            kinds = {name: each for name, each in kinds.items() if name in (arguments.faults or kinds)}
            left: list[str] = []
            end = time.monotonic() + arguments.seconds
            while time.monotonic() < end:
                # Each once before any comes again.
                left = left or faults.random.sample(sorted(kinds), len(kinds))
                name = left.pop()
                tell(name, "| failed calls:", sum(call.outcome == "unknown" for call in chaos.ledger.calls))
                try:
                    brokers.start_stopped()
                    kinds[name]()
                    done[name] += 1
                except Exception as error:
                    refused[name] += 1
                    tell(f"{name} is refused: {type(error).__name__}: {error}"[:300])
                time.sleep(faults.random.uniform(1, 5))
            brokers.start_stopped()
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
    for each in wrong:
        print("WRONG", each)
    print("all is well" if not wrong else f"{len(wrong)} things are wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
