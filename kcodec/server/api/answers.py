"""Answers that are given again as long as nothing has changed."""

from collections import OrderedDict
from collections.abc import Hashable

#: What an entry takes beside its bytes.
_ENTRY = 500


class Answers:
    """The last answers of a server, for the state of the registry that they were found in.

    With what was asked, all of them have at most `max_size` bytes; the oldest go first. An answer that takes a large
    part of it is not kept.

    >>> answers = Answers()
    >>> answers.find(1, (b"/subjects",))
    >>> answers.keep(1, (b"/subjects",), b"[]")
    >>> answers.find(1, (b"/subjects",))
    b'[]'
    >>> answers.find(2, (b"/subjects",))
    """

    def __init__(self, max_size: int = 64 << 20) -> None:
        self._max_size = max_size
        self._size = 0
        self._state: object = None
        # The first of a dict is found slowly once others before it are gone.
        self._kept: OrderedDict[tuple[Hashable, ...], bytes] = OrderedDict()

    def find(self, state: object, asked: tuple[Hashable, ...]) -> bytes | None:
        """Return the answer to what is asked in a state, if it is kept; those of another state are dropped.

        In a state that is not known, None, nothing is found.
        """
        if state is None:
            return None
        if state != self._state:
            self._state = state
            self._size = 0
            self._kept.clear()
        return self._kept.get(asked)

    def keep(self, state: object, asked: tuple[Hashable, ...], answer: bytes) -> None:
        """Keep the answer that was given in a state, unless that state has passed."""
        size = self._weight(asked, answer)
        if state is None or state != self._state or asked in self._kept or size > self._max_size // 16:
            return
        self._size += size
        while self._size > self._max_size:
            self._size -= self._weight(*self._kept.popitem(last=False))
        self._kept[asked] = answer

    def _weight(self, asked: tuple[Hashable, ...], answer: bytes) -> int:
        return _ENTRY + len(answer) + sum(len(part) for part in asked if isinstance(part, bytes))
