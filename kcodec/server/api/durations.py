"""How long calls took, to decide whether a call is worth a thread."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

_Result = TypeVar("_Result")


class Durations:
    """The time that each call took the last time.

    A change of threads takes some hundred microseconds, more than most calls do; but while one takes long in the thread
    of an event loop, all others wait. A quick call takes at most `longest` seconds. Of more than `most` calls, those
    that were not made for the longest time are forgotten first.

    >>> durations = Durations()
    >>> durations.is_quick("/subjects", 100)
    False
    >>> durations.measured("/subjects", 100, lambda: [])
    []
    >>> durations.is_quick("/subjects", 100), durations.is_quick("/subjects", 10_000)
    (True, False)
    >>> durations.set_heavy("/subjects")
    >>> durations.is_quick("/subjects", 100), durations.is_heavy("/subjects")
    (False, True)
    """

    def __init__(self, longest: float = 0.001, most: int = 10_000) -> None:
        self._longest = longest
        self._most = most
        self._state: object = None
        self._known: OrderedDict[object, tuple[int, float]] = OrderedDict()

    def begin(self, state: object) -> None:
        """Forget what was known in another state, or if the state is not known (None)."""
        if state is None or state != self._state:
            self._known.clear()
        self._state = state

    def is_quick(self, call: object, size: int) -> bool:
        """Return whether a call was quick the last time, when its body had about as many bytes, or more."""
        known_size, seconds = self._known.get(call, (0, self._longest))
        return seconds < self._longest and size <= 2 * known_size + 100

    def is_heavy(self, call: object) -> bool:
        """Return whether a call is known to be a heavy one."""
        return self._known.get(call, (0, 0.0))[1] == math.inf

    def set_heavy(self, call: object) -> None:
        """Remember that a call is a heavy one."""
        self._remember(call, 0, math.inf)

    def measured(self, call: object, size: int, function: Callable[[], _Result]) -> _Result:
        """Call a function, remember how long it took, and return its result; from any thread."""
        start = time.perf_counter()
        try:
            return function()
        finally:
            self._remember(call, size, time.perf_counter() - start)

    def _remember(self, call: object, size: int, seconds: float) -> None:
        # The last of all from now on; each step alone, for other threads do the same, and may forget all.
        self._known.pop(call, None)
        self._known[call] = size, seconds
        if len(self._known) > self._most:
            with suppress(KeyError):
                self._known.popitem(last=False)
