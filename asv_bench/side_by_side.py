"""Two builds of kcodec beside each other, on every benchmark that decodes or encodes.

``python asv_bench/side_by_side.py BEFORE AFTER`` takes two checkouts that have been built in place. It runs the
benchmarks of each in a process of its own, and those of BEFORE in a second one as well, in turn, so that what changed
is told apart from what two runs of the same build differ by. Prints the median of each benchmark, the ratio of AFTER
to BEFORE and that of BEFORE to itself, and at the end what is slower by more than 3 % beyond the latter.
"""

import argparse
import contextlib
import functools
import importlib
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

SUITES = ("avro", "json", "connect", "ksql", "protocol", "batches")


def cases(suites: list[str]) -> list[tuple[str, str, str, str]]:
    """List benchmarks: module, class, method, and the combination of parameters as text."""
    found = []
    for suite in suites:
        module = importlib.import_module(f"benchmarks.{suite}")
        for name, kind in vars(module).items():
            if isinstance(kind, type) and kind.__module__ == module.__name__:
                methods = [method for method in dir(kind) if method.startswith("time_")]
                found += [
                    (suite, name, method, told(chosen)) for method in methods for chosen in combinations(kind)
                ]
    return found


def told(chosen: tuple) -> str:
    return ", ".join(map(str, chosen))


def combinations(kind: type) -> list[tuple]:
    params = getattr(kind, "params", [])
    lists = params if params and isinstance(params[0], (list, tuple)) else [params] if params else []
    return list(itertools.product(*lists))


def serve() -> None:
    """Time benchmarks by request: a case in JSON a line, seconds back."""
    # The folder of this script comes first, but each build brings benchmarks of its own.
    sys.path.pop(0)
    ready = ""
    with contextlib.ExitStack() as used:
        for line in sys.stdin:
            suite, name, method, text = json.loads(line)
            if line != ready:
                used.close()
                kind = getattr(importlib.import_module(f"benchmarks.{suite}"), name, None)
                chosen = next((each for each in combinations(kind) if told(each) == text), None)
                if kind is None or chosen is None:
                    print("nan", flush=True)  # a benchmark that this build does not have
                    continue
                run = functools.partial(getattr(prepared(kind, chosen, used), method), *chosen)
                run()
                ready = line
            print(shortest(run), flush=True)


def prepared(kind: type, chosen: tuple, used: contextlib.ExitStack) -> Any:
    """Return benchmarks that are set up, until `used` is closed."""
    instance = kind()
    if hasattr(instance, "setup"):
        instance.setup(*chosen)
    if hasattr(instance, "teardown"):
        used.callback(instance.teardown, *chosen)
    return instance


def shortest(run: Callable[[], object]) -> float:
    """Return the least seconds of some runs."""
    seconds = []
    end = time.perf_counter() + 0.05
    while len(seconds) < 3 or (time.perf_counter() < end and len(seconds) < 50):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


class Build:
    """A process that times the benchmarks of a checkout."""

    def __init__(self, folder: str) -> None:
        home = os.path.join(os.path.abspath(folder), "asv_bench")
        self.process = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), "--serve"],
            cwd=home,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([os.path.abspath(folder), home])},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def time(self, case: tuple[str, str, str, str]) -> float:
        print(json.dumps(case), file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"{case} failed in {self.process.args}")
        return float(answer)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--suites", nargs="*", default=list(SUITES))
    parser.add_argument("--only", default="", help="part of the names of benchmarks to run")
    given = parser.parse_args()
    sys.path.insert(0, os.path.join(os.path.abspath(given.after), "asv_bench"))
    sys.path.insert(0, os.path.abspath(given.after))
    builds = [Build(given.before), Build(given.after), Build(given.before)]
    slower = []
    print("| benchmark | before, ms | after / before | before / before |\n|---|---|---|---|")
    for case in cases(given.suites):
        suite, name, method, text = case
        label = f"{suite}.{name}.{method}({text})"
        if given.only not in label or any(math.isnan(build.time(case)) for build in builds):
            continue
        rounds = []
        for number in range(given.rounds):
            order = builds if number % 2 else builds[::-1]
            seconds = {build: build.time(case) for build in order}
            rounds.append([seconds[build] for build in builds])
        before, after, again = (statistics.median(column) for column in zip(*rounds, strict=True))
        base = min(before, again)
        print(f"| {label} | {1000 * base:.3f} | {after / before:.3f} | {again / before:.3f} |", flush=True)
        if after / max(before, again) > 1.03:
            slower.append(f"{label}: {after / max(before, again):.3f}")
    print(
        "\nslower by more than 3 % than the slower run of the same build:", *(slower or ["none"]), sep="\n  "
    )


if __name__ == "__main__":
    serve() if sys.argv[1:] == ["--serve"] else main()
