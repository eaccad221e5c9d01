"""What the scripts that compare kcodec with others measure by: contestants that take turns."""

import statistics
import time
from collections.abc import Callable
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
