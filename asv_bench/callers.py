"""Threads of callers, for the plugins of benchmarks of peers."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

#: Calls of each thread.
_TURNS = 20


def two_callers(call: Callable[[pa.Array], pa.Array], values: pa.Array) -> Callable[[], pa.Array]:
    """Return what has two threads call with a half of some values each, one time after another.

    That is threads that go on, as consumers are. Where both have slept, Linux may start them on one processor of a
    virtual machine, and moves one after some milliseconds, which is as long as a single call takes. What the function
    takes is multiplied by its ``scale``.
    """
    half = len(values) // 2
    halves = [values.slice(0, half), values.slice(half)]
    threads = ThreadPoolExecutor(2)

    def caller(part: pa.Array) -> pa.Array:
        return [call(part) for _ in range(_TURNS)][-1]

    def run() -> pa.Array:
        return pa.concat_arrays(threads.map(caller, halves))

    run.scale = 1 / _TURNS  # type: ignore[attr-defined]
    return run
