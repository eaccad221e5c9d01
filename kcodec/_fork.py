"""Locks of what several threads share, which a forked child finds free."""

import os
import threading
import weakref
from typing import Any

__all__ = ["fork_safe_lock"]

_freed: "weakref.WeakSet[Any]" = weakref.WeakSet()
_awaited: "weakref.WeakSet[Any]" = weakref.WeakSet()
#: None is made while a thread forks, which would not have awaited it.
_making = threading.Lock()
#: What each thread that is forking now holds.
_held: list[list[Any]] = []


def fork_safe_lock(*, awaited: bool = False) -> Any:
    """Return a reentrant lock that is free in a child, even if another thread holds it when the process is forked.

    That thread is not in the child and would never release it. What it was about to change stays as it left it, so what
    stands under such a lock makes sense after each of its statements. Where it does not, and no thread waits for
    anything else under the lock, forking awaits the lock's release.
    """
    lock = threading.RLock()
    if awaited:
        with _making:
            _awaited.add(lock)
    else:
        _freed.add(lock)
    return lock


def _before() -> None:
    _making.acquire()
    locks = list(_awaited)
    for lock in locks:
        lock.acquire()
    _held.append(locks)


def _in_parent() -> None:
    for lock in _held.pop():
        lock.release()
    _making.release()


def _in_child() -> None:
    _in_parent()
    for lock in list(_freed):
        lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
