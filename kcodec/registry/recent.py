"""What was made of texts lately."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from kcodec._fork import fork_safe_lock

__all__ = ["Recent"]

_Value = TypeVar("_Value")


class Recent(Generic[_Value]):
    """Values by key, as many as were made of a number of characters; those that were asked for last.

    Examples
    --------
    >>> recent = Recent(10)
    >>> recent.get("a", 6, lambda: "made"), recent.get("a", 6, lambda: "made again")
    ('made', 'made')
    >>> recent.get("b", 6, lambda: "of b"), recent.get("a", 6, lambda: "made again")
    ('of b', 'made again')
    """

    def __init__(self, characters: int) -> None:
        self._left = characters
        self._values: OrderedDict[Hashable, tuple[_Value, int]] = OrderedDict()
        self._lock = fork_safe_lock()

    def get(self, key: Hashable, size: int, make: Callable[[], _Value]) -> _Value:
        """Return the value of a key; the first time it is made, of a text of a size."""
        with self._lock:
            found = self._values.get(key)
            if found is not None:
                self._values.move_to_end(key)
                return found[0]
        value = make()
        with self._lock:
            if key not in self._values:
                self._values[key] = (value, size)
                self._left -= size
            while self._left < 0:
                self._left += self._values.popitem(last=False)[1][1]
        return value
