"""Threads that share the work of one call."""

import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import TypeVar

from kcodec._daemon_threads import Threads
from kcodec._fork import fork_safe_lock

__all__ = ["map_in_threads"]

Item = TypeVar("Item")
Result = TypeVar("Result")

_Tasks = deque[tuple[int, Callable[[], Result]]]

_lock = fork_safe_lock()
_pool: Threads | None = None
_size = 0


def map_in_threads(work: Callable[[Item], Result], items: Sequence[Item], threads: int) -> list[Result]:
    """Do something with items on so many threads, the caller's among them; return the results in order.

    Items are begun in order, and none after one has failed. What is raised is that of the first item that fails, as
    without threads.

    >>> map_in_threads(abs, [-1, 2, -3], 2)
    [1, 2, 3]
    """
    todo: _Tasks[Result] = deque((at, partial(work, item)) for at, item in enumerate(items))
    results: dict[int, Result] = {}
    failures: dict[int, BaseException] = {}
    helpers: list[Future[None]] = []
    # Where no thread can be started, which is so when Python ends, the caller does it all.
    with suppress(RuntimeError):
        for _ in range(min(threads, len(items)) - 1):
            helpers.append(_helpers(threads).submit(_take, todo, results, failures))
    _take(todo, results, failures)
    for helper in helpers:
        if not helper.cancel():
            helper.result()
    try:
        if failures:
            raise failures[min(failures)]
        return [results[at] for at in range(len(items))]
    finally:
        # What the pool still knows of this call keeps nothing of it; an error refers to the frames that it came
        # through, and these to it.
        results.clear()
        failures.clear()


def _take(todo: "_Tasks[Result]", results: dict[int, Result], failures: dict[int, BaseException]) -> None:
    """Do what is left to do, until somebody has done the last of it, or failed."""
    while True:
        try:
            at, task = todo.popleft()
        except IndexError:
            return
        try:
            results[at] = task()
        except BaseException as error:
            failures[at] = error
            todo.clear()


def _helpers(threads: int) -> Threads:
    """Return the threads that all calls share; callers do their part themselves, so one that waits holds up none."""
    global _pool, _size
    with _lock:
        if _pool is None or _size < threads:
            if _pool is not None:
                _pool.end(0)
            _pool, _size = Threads(threads, "kcodec"), threads
        return _pool


def _in_child() -> None:
    """Forget threads that a forked child does not have."""
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
