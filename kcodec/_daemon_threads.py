"""Threads that end with their process, whatever they are doing."""

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

__all__ = ["Threads"]


class Threads(Executor):
    """An executor of at most so many threads, which keep nobody waiting at the end.

    Those of `concurrent.futures` are joined when the interpreter ends: a comparison of a minute would have to end
    before a server does, and a thread that waits for what an interruption has left locked would never end.

    >>> threads = Threads(1, "adding")
    >>> threads.submit(sum, [1, 2]).result()
    3
    >>> threads.end(1.0)
    True
    """

    def __init__(self, count: int, name: str) -> None:
        self._count, self._name = count, name
        self._calls: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._ended = False

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> "Future[Any]":
        """Have a function called by one of the threads."""
        future: Future[Any] = Future()
        with self._lock:
            if self._ended:
                raise RuntimeError("the threads have been ended")
            self._calls.put((future, lambda: function(*arguments, **named)))
            if not self._idle.acquire(blocking=False) and len(self._threads) < self._count:
                name = f"{self._name}-{len(self._threads)}"
                self._threads.append(threading.Thread(target=self._run, name=name, daemon=True))
                self._threads[-1].start()
        return future

    def end(self, seconds: float) -> bool:
        """Take no more calls, and wait some seconds for those under way; return whether they have ended."""
        with self._lock:
            self._ended = True
            for _ in self._threads:
                self._calls.put(None)
        until = time.monotonic() + seconds
        for each in filter(threading.Thread.is_alive, self._threads):
            each.join(max(until - time.monotonic(), 0.0))
        return not any(each.is_alive() for each in self._threads)

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            future, function = call
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(function())
                except BaseException as error:
                    future.set_exception(error)
            # Neither is kept until the next call.
            del call, future, function
            self._idle.release()
