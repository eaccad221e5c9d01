"""Bodies of requests that are under way: together they have one budget."""

from collections.abc import MutableMapping
from typing import Any

from kcodec.errors import RegistryError
from kcodec.server.exchange import Receive

#: Bytes of each body that are not counted: small ones are bounded by the number of connections.
_FREE = 64 << 10


class Bodies:
    """The bytes that all bodies of a server may have together, beside the first 64 KiB of each."""

    def __init__(self, most: int) -> None:
        self._left = most

    def body(self, receive: Receive) -> "Body":
        """Return the body of a request, which counts until it is let go."""
        return Body(self, receive)

    def take(self, size: int) -> None:
        """Count bytes; refuse (503) if there is no room for them now."""
        if size > self._left:
            raise RegistryError("HTTP 503 Service Unavailable", 503, 503)
        self._left -= size

    def give(self, size: int) -> None:
        """Count bytes no more."""
        self._left += size


class Body:
    """What an application receives of a request, counted."""

    def __init__(self, bodies: Bodies, receive: Receive) -> None:
        self._bodies = bodies
        self._receive = receive
        self._size = self._counted = 0

    async def __call__(self) -> MutableMapping[str, Any]:
        """Return the next message of ASGI, once there is room for its bytes."""
        message = await self._receive()
        self._size += len(message.get("body", b""))
        more = max(self._size - _FREE, 0) - self._counted
        self._bodies.take(more)
        self._counted += more
        return message

    def let_go(self) -> None:
        """Count its bytes no more."""
        self._bodies.give(self._counted)
        self._counted = 0
