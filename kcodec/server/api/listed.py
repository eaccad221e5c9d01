"""A list on its way to a client: JSON that is made piece by piece."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from kcodec.server.reply import json_bytes

#: Bytes of a piece, unless one item has more, and seconds that its items are looked for.
_PIECE, _SECONDS = 256 << 10, 0.05


class Listed:
    """The items of a list as JSON, some at a time: those that follow wait until they are asked for.

    An item that is None is left out.

    >>> listed = Listed(lambda: [1, None, "two"])
    >>> listed.more(), listed.is_complete
    (b'[1,"two"]', True)
    """

    def __init__(self, ask: Callable[[], Iterable[Any]]) -> None:
        self._ask = ask
        self._items: Iterator[Any] | None = None
        self._between = b"["
        #: Whether all of it was returned.
        self.is_complete = False

    def more(self) -> bytes:
        """Return the next piece; it is empty if no item was found in the time that a piece may take."""
        until = time.perf_counter() + _SECONDS
        if self._items is None:
            self._items = iter(self._ask())
        parts: list[bytes] = []
        size = 0
        for item in self._items:
            if item is not None:
                parts += self._between, json_bytes(item)
                size += len(parts[-1])
                self._between = b","
            if size >= _PIECE or time.perf_counter() > until:
                return b"".join(parts)
        self.is_complete = True
        return b"".join([*parts, b"[]" if self._between == b"[" else b"]"])
