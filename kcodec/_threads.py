"""Threads that share the work of one call."""

import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from kcodec._fork import fork_safe_lock

__all__ = ["map_in_threads"]

Item = TypeVar("Item")
Result = TypeVar("Result")

_lock = fork_safe_lock()
_pool: ThreadPoolExecutor | None = None
_size = 0


def map_in_threads(work: Callable[[Item], Result], items: Sequence[Item], threads: int) -> list[Result]:
    """Do something with items on so many threads, the caller's among them; return the results in order.

    Items are begun in order, and none after one has failed. What is raised is that of the first item that fails, as
    without threads.

    Examples
    --------
    >>> map_in_threads(abs, [-1, 2, -3], 2)
    [1, 2, 3]
    """
    todo = deque(range(len(items)))
    results: dict[int, Result] = {}
    failures: dict[int, BaseException] = {}

    def take() -> None:
        while True:
            try:
                at = todo.popleft()
            except IndexError:
                return
            try:
                results[at] = work(items[at])
            except BaseException as error:
                failures[at] = error
                todo.clear()

    helpers: list[Future[None]] = []
    # Where no thread can be started, which is so when Python ends, the caller does it all.
    with suppress(RuntimeError):
        helpers += (_helpers(threads).submit(take) for _ in range(min(threads, len(items)) - 1))
    take()
    for helper in helpers:
        if not helper.cancel():
            helper.result()
    try:
        if failures:
            raise failures[min(failures)]
    finally:
        # An error refers to the frames that it came through, and these to it.
        failures.clear()
    return [results[at] for at in range(len(items))]


def _helpers(threads: int) -> ThreadPoolExecutor:
    """Return the threads that all calls share; callers do their part themselves, so one that waits holds up none."""
    global _pool, _size
    with _lock:
        if _pool is None or _size < threads:
            _pool, _size = ThreadPoolExecutor(threads, "kcodec"), threads
        return _pool


def _in_child() -> None:
    """Forget threads that a forked child does not have."""
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
