"""A stream on a Spark cluster of two workers, a fault after the other, for each sink: ``make spark-faults``.

Prints a table of the records that were written, lost and there twice.
"""

import argparse
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

import processes
from cluster_trial import Figures, Trial
from clusters import of_sink
from sinks import AT_LEAST_ONCE, SINKS


def run(sink: str, folder: Path, times: int, tell) -> tuple[list[Figures], int]:
    """Try a sink with each fault, some times."""
    with ExitStack() as stack:

        def started(made: tuple[processes.Service, str]) -> processes.Service:
            service, service.address = made
            service.start()
            stack.callback(service.kill)
            return service

        for name in ("broker", "registry", "cluster", "trial"):
            (folder / name).mkdir()
        broker = started(processes.broker(folder / "broker"))
        registry = started(processes.own_registry(folder / "registry"))
        cluster = of_sink(sink, folder / "cluster")
        stack.callback(cluster.close)
        cluster.start()
        trial = Trial(cluster, broker, registry, sink, folder / "trial")
        stack.callback(trial.stop)
        trial.start()
        try:
            for _ in range(times):
                for name, fault in trial.faults().items():
                    trial.phase(name, fault)
                    tell(sink, name, sum(trial.written.values()))
            return trial.finish()
        except BaseException:
            tell(trial.tail())
            raise


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=1, help="how often each fault happens")
    parser.add_argument("--sinks", nargs="*", choices=SINKS, default=[*SINKS])
    arguments = parser.parse_args()
    os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    began = time.monotonic()

    def tell(*what: object) -> None:
        print(f"{time.monotonic() - began:7.1f}", *what, flush=True)

    rows, wrong = [], 0
    for sink in arguments.sinks:
        with tempfile.TemporaryDirectory(prefix="kcodec-spark-") as folder:
            figures, failures = run(sink, Path(folder), arguments.times, tell)
        tell(sink, "the query failed", failures, "times")
        for name in dict.fromkeys(each.phase for each in figures):
            written, lost, twice = (
                sum(numbers)
                for numbers in zip(*(each[1:] for each in figures if each.phase == name), strict=True)
            )
            rows.append((sink, name, written, lost, twice))
            wrong += bool(lost or (twice and sink not in AT_LEAST_ONCE))
    print("| sink | fault | written | lost | twice |\n|---|---|---:|---:|---:|")
    for row in rows:
        print("|", " | ".join(f"{each:,}" if isinstance(each, int) else each for each in row), "|")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
