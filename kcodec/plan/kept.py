"""Programs and what else was made for a few keys, kept for the next time."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from kcodec._fork import fork_safe_lock

__all__ = ["Kept"]

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Kept(Generic[Key, Value]):
    """What was made for the last keys, and is not made again; from any number of threads. It pickles with its values.

    Parameters
    ----------
    max_keys : int
        Keys that are kept; the oldest goes first. A column rarely has more types or schemas than this.

    Examples
    --------
    >>> squares = Kept(2)
    >>> [squares.get(number, lambda: print("made") or 49) for number in (7, 7)]
    made
    [49, 49]
    """

    def __init__(self, max_keys: int = 32) -> None:
        self._max_keys = max_keys
        self._values: dict[Key, Value] = {}
        self._lock = fork_safe_lock()

    def __getstate__(self) -> tuple[int, dict[Key, Value]]:
        with self._lock:
            return self._max_keys, dict(self._values)

    def __setstate__(self, state: tuple[int, dict[Key, Value]]) -> None:
        self._max_keys, self._values = state
        self._lock = fork_safe_lock()

    def get(self, key: Key, make: Callable[[], Value]) -> Value:
        """Return what is kept for a key, or make it; what `make` raises is not kept."""
        with self._lock:
            if key in self._values:
                return self._values[key]
        # Not under the lock: threads that come here at once make the same, and take what was there first.
        made = make()
        with self._lock:
            if key not in self._values:
                while len(self._values) >= self._max_keys:
                    del self._values[next(iter(self._values))]
                self._values[key] = made
            return self._values[key]
