"""How cost grows with the work: one axis at a time, what each step takes and the slope on paper with two logarithms.

    .venv/bin/python asv_bench/growth.py [--axes rows fields ...] [--most 100000] [--plot docs/growth.svg]

Times are those of the processor, of all threads of this process, so that others disturb them less; of each point the
best of three. A slope of 1 is cost in proportion to the work, one near 0 a cost that does not depend on it. It is
the slope of the last three points, where what each call costs anyway weighs least. Of each point, the memory that
its work took at most is told too. Where another library does the same, it is measured beside. `--most` leaves out
larger points. The axes are those of the folder `axes`.
"""

import argparse
import multiprocessing
import os
import re
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from axes import AXES
from axes.axis import Axis
from axes.registries import FOLDER
from plot_growth import picture, slope

ROUNDS = 3
#: Seconds of a call that is long enough to be measured once.
LONG = 3


class Found(NamedTuple):
    """What was measured of an axis: points with seconds, those of a peer, points with bytes, and what is told."""

    points: list[tuple[int, float]]
    peer: list[tuple[int, float]]
    memory: list[tuple[int, int]]
    told: str


def measured(name: str, most: int) -> Found:
    axis = AXES[name]
    points = [each for each in axis.points if each <= most]
    found = Found([], [], [], axis.tell(points[-1]) if axis.tell and points else "")
    for point in points:
        work = axis.prepare(point)
        before = axis.clock()
        found.memory.append((point, _memory(work)))
        found.points.append((point, _seconds(work, axis, axis.clock() - before)))
        if axis.prepare_peer is not None:
            peer = axis.prepare_peer(point)
            before = axis.clock()
            peer()
            found.peer.append((point, _seconds(peer, axis, axis.clock() - before)))
    return found


def _seconds(work: Callable[[], Any], axis: Axis, first: float = 0) -> float:
    """Return the least time of a call, whose first one has taken some; of short work, that of one of many."""
    if first > LONG:
        return first
    times, repeat = [], 1
    while len(times) < ROUNDS:
        before = axis.clock()
        for _ in range(repeat):
            work()
        taken = axis.clock() - before
        if axis.repeats and taken < 1e-2 and repeat < 1000:
            repeat *= 10
        else:
            times.append(taken / repeat)
    return max(min(times), 1e-6)


def _memory(work: Callable[[], Any]) -> int:
    """Return the bytes that a call takes at most, as Linux tells it, or Arrow of what it gives; 0 elsewhere."""
    status, clear = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not clear.exists():
        return 0

    def kilobytes(name: str) -> int:
        return int(re.search(rf"^{name}:\s+(\d+)", status.read_text(), re.M)[1])

    clear.write_text("5")
    before, held = kilobytes("VmRSS"), pa.total_allocated_bytes()
    result = work()
    # Arrow keeps memory that is free, which Linux counts before and after.
    most = max(kilobytes("VmHWM") - before << 10, pa.total_allocated_bytes() - held)
    del result
    return max(most, 0)


def _print(name: str, axis: Axis, found: Found) -> None:
    told = f"; {found.told}" if found.told else ""
    print(f"{name}: {axis.title}; slope {slope(found.points):.2f}{told}")
    others, memory = dict(found.peer), dict(found.memory)
    for point, seconds in found.points:
        beside = f"  {axis.peer} {others[point] * 1e3:10.3f} ms" if point in others else ""
        taken = f"  {memory[point] / 1e6:8.1f} MB"
        print(f"    {point:>13,}  {seconds * 1e3:10.3f} ms{taken}{beside}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--axes", nargs="+", choices=AXES, default=list(AXES))
    parser.add_argument("--most", type=int, default=1 << 60)
    parser.add_argument("--plot", type=Path, help="draw them, as SVG")
    arguments = parser.parse_args()
    drawn = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ[FOLDER] = folder
        for name in arguments.axes:
            start = time.monotonic()
            # In a process of its own, so that it finds no memory that others have left.
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
                found = pool.submit(measured, name, arguments.most).result()
            if found.points:
                drawn.append((AXES[name].title, AXES[name].peer, found))
            _print(name, AXES[name], found)
            print(f"    measured in {time.monotonic() - start:.0f} s", flush=True)
            if arguments.plot and drawn:
                # It takes minutes: what was measured before something fails is not lost.
                arguments.plot.write_text(picture(drawn), encoding="utf-8")


if __name__ == "__main__":
    main()
