"""Threads of callers, for the plugins of benchmarks of peers."""

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

#: Calls of each thread.
_TURNS = 100


def callers(call: Callable[[pa.Array], pa.Array], values: pa.Array, threads: int) -> Callable[[], pa.Array]:
    """Return what has threads call with a part of some values each, one time after another.

    That is threads that go on, as consumers are. Where several have slept, Linux may start them on one processor of a
    virtual machine, and moves one after some milliseconds, which is as long as a single call takes. What the function
    takes is multiplied by its ``scale``.
    """
    bounds = [len(values) * at // threads for at in range(threads + 1)]
    parts = [values.slice(start, end - start) for start, end in itertools.pairwise(bounds)]
    pool = ThreadPoolExecutor(threads)

    def caller(part: pa.Array) -> pa.Array:
        for _ in range(_TURNS - 1):
            call(part)
        return call(part)

    def run() -> pa.Array:
        return pa.concat_arrays(pool.map(caller, parts))

    run.scale = 1 / _TURNS  # type: ignore[attr-defined]
    return run
