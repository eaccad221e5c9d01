"""What the scripts that compare kcodec with others measure by: contestants that take turns."""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: Runs, and how many rows they are of.
Contestants = dict[str, tuple[Callable[[], Any], int]]


def measure(runs: Contestants, rounds: int) -> dict[str, float]:
    """Return the nanoseconds a row of each, the median of its rounds.

    In each round a contestant runs twice, and the second time counts: the memory that others have given back to the
    system meanwhile is then its own again, as in a program that does nothing else. Time is that of the processor, which
    others on the machine take less from than from that of the clock.
    """
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, (run, rows) in runs.items():
            run()
            begin = time.process_time()
            run()
            taken[name].append((time.process_time() - begin) / rows * 1e9)
    return {name: statistics.median(each) for name, each in taken.items()}


def interleaved(
    runs: dict[str, Callable[[], Any]],
    rounds: int,
    clock: Callable[[], float] = time.perf_counter,
    *,
    warm: bool = True,
) -> dict[str, float]:
    """Return the median seconds of each, by a clock; each round begins with another one.

    A round before these, if it is to warm up, does not count.
    """
    names = list(runs)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds + warm):
        at = number % len(names) if names else 0
        for name in names[at:] + names[:at]:
            start = clock()
            runs[name]()
            if number or not warm:
                seconds[name].append(clock() - start)
    return {name: statistics.median(each) for name, each in seconds.items()}


def processor_time(process: int = 0) -> float:
    """Return the seconds that a process, by default this one, and all below it have run, with those that have ended."""
    parents, times = {}, {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            # The name of the program, in brackets, may hold spaces.
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            # It has just ended.
            continue
        parents[int(entry.name)] = int(fields[1])
        times[int(entry.name)] = sum(map(int, fields[11:15]))
    top = process or os.getpid()

    def is_below(each: int) -> bool:
        while each not in (0, top):
            each = parents.get(each, 0)
        return each != 0

    return sum(ticks for each, ticks in times.items() if is_below(each)) / os.sysconf("SC_CLK_TCK")


def command_line(described: str | None, *, rows: int | None = None, rounds: int) -> argparse.ArgumentParser:
    """Return what reads the command line of a script: how many rounds, and of how many rows if it says so."""
    parser = argparse.ArgumentParser(
        description=described, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    if rows is not None:
        parser.add_argument("--rows", type=int, default=rows)
    parser.add_argument("--rounds", type=int, default=rounds)
    return parser
