"""Hours of work that should leave nothing behind: ``make soak HOURS=1``.

Schemas change, rows are bad, the broker and the follower start again; memory, descriptors and threads are to stay as
they were once all of it had happened.
"""

import argparse
import contextlib
import logging
import os
import random
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "services"))

import pyarrow as pa
from control import Control
from processes import broker

from kcodec import Serde, kafka, registry

#: A topic's log is kept small, so that the broker needs no more room each hour.
_SETTINGS = (
    "log.retention.bytes=50000000\nlog.segment.bytes=10000000\nlog.retention.check.interval.ms=10000\n"
)
_ROWS, _BAD = 2_000, 20
#: Versions of the schema, which come again.
_VERSIONS = 40
#: More memory and descriptors than at first that are no leak.
_MORE_MEMORY, _MORE_FILES = 1.15, 5


def state() -> dict[str, int]:
    """Return what this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "MiB": pages * os.sysconf("SC_PAGE_SIZE") >> 20,
        "arrow MiB": pa.total_allocated_bytes() >> 20,
        "files": len(os.listdir("/proc/self/fd")),
        "threads": threading.active_count(),
    }


def schema(version: int) -> dict[str, Any]:
    fields = [{"name": "id", "type": "long"}]
    for number in range(version % _VERSIONS):
        fields.append({"name": f"f{number}", "type": ["null", "string"], "default": None})
    return {"type": "record", "name": "Row", "fields": fields}


class Soak:
    """A topic of Avro that is written and followed, a round after the other."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.registry = registry.open("memory://soak")
        self.rounds = 0
        self.bad = 0
        self.follower = self.follow()

    def follow(self) -> kafka.Follower:
        value = Serde("AVRO", self.registry, topic="soak", reader_schema=schema(0))
        return kafka.follow(
            "soak",
            servers=self.address,
            group="soak",
            start="earliest",
            value=value,
            columns=["value"],
            errors="report",
        )

    def round(self) -> None:
        """Write rows of the next version, some of them bad, and read them."""
        serde = Serde("AVRO", self.registry, topic="soak", schema=schema(self.rounds))
        rows = [{"id": number} for number in range(_ROWS)]
        table = pa.table({"value": pa.array(rows, pa.struct([("id", pa.int64())]))})
        kafka.write(table, "soak", servers=self.address, value=serde)
        kafka.write(pa.table({"value": [b"\0\0\0\0\1" + b"\xff" * 20] * _BAD}), "soak", servers=self.address)
        left = _ROWS + _BAD
        while left:
            left -= len(self.follower.poll(120))
        self.follower.commit()
        found = self.follower.report.faults
        assert len(found) == _BAD, f"{len(found)} bad rows of {_BAD}"
        found.clear()
        self.rounds += 1

    def restart(self) -> None:
        self.follower.close()
        self.follower = self.follow()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=1)
    hours = parser.parse_args().hours
    os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    # Bad rows are logged, which is not what is looked at.
    logging.disable(logging.WARNING)
    drawn = random.Random(1)
    with tempfile.TemporaryDirectory(prefix="kcodec-soak-") as folder, contextlib.ExitStack() as stack:
        service, address = broker(Path(folder), _SETTINGS)
        service.start()
        stack.callback(service.kill)
        Control(address).create("soak", partitions=4, replicas=1)
        soak = Soak(address)
        began, first, told = time.monotonic(), {}, 0.0
        while time.monotonic() < began + 3600 * hours:
            soak.round()
            if drawn.random() < 0.05:
                soak.restart()
            if drawn.random() < 0.003:
                service.stop()
                service.start()
            # By then each version has come more than once.
            if not first and soak.rounds == 3 * _VERSIONS:
                first = state()
            if time.monotonic() > told + 60:
                told = time.monotonic()
                print(f"{told - began:7.0f} s, round {soak.rounds}: {state()}", flush=True)
        last = state()
    print("first", first, "last", last, "rows", soak.rounds * (_ROWS + _BAD))
    grown = {
        name for name, most in (("files", _MORE_FILES), ("threads", 0)) if last[name] > first[name] + most
    }
    grown |= {"MiB"} if last["MiB"] > first["MiB"] * _MORE_MEMORY else set()
    print("all is as it was" if not grown else f"these have grown: {', '.join(sorted(grown))}")
    return bool(grown)


if __name__ == "__main__":
    sys.exit(main())
