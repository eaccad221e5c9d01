"""Programs and what else was made for a few keys, kept for the next time."""

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

from kcodec._fork import fork_safe_lock

__all__ = ["Kept"]

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Kept(Generic[Key, Value]):
    """What was made for the last keys, and is not made again; from any number of threads. It pickles with its values.

    Of more than `max_keys` the oldest goes first; a column rarely has more types or schemas than this. `weight` returns
    how much a key counts for what is made of it, and `max_weight` is what all keys together may count; the last one is
    kept whatever it counts.

    >>> squares = Kept(2)
    >>> [squares.get(number, lambda: print("made") or 49) for number in (7, 7)]
    made
    [49, 49]
    """

    def __init__(
        self, max_keys: int = 32, weight: Callable[[Key], int] | None = None, max_weight: int = 0
    ) -> None:
        self._max_keys = max_keys
        self._weight = weight
        self._left = max_weight
        self._values: dict[Key, Value] = {}
        #: What was asked for last: to compare keys takes less than the hash of one, such as a long type.
        self._last: tuple[Key, Value] | None = None
        self._lock = fork_safe_lock()

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            state = self.__dict__ | {"_values": dict(self._values), "_last": None}
        del state["_lock"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = fork_safe_lock()

    def get(self, key: Key, make: Callable[[], Value]) -> Value:
        """Return what is kept for a key, or make it; what `make` raises is not kept."""
        last = self._last
        if last is not None and last[0] == key:
            return last[1]
        with self._lock:
            if key in self._values:
                return self._found(key)
        # Not under the lock: threads that come here at once make the same, and take what was there first.
        made = make()
        with self._lock:
            if key not in self._values:
                self._left -= 0 if self._weight is None else self._weight(key)
                while self._values and (len(self._values) >= self._max_keys or self._left < 0):
                    oldest = next(iter(self._values))
                    del self._values[oldest]
                    self._left += 0 if self._weight is None else self._weight(oldest)
                self._values[key] = made
            return self._found(key)

    def _found(self, key: Key) -> Value:
        value = self._values[key]
        self._last = key, value
        return value
