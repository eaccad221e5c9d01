"""A request and its answer, as ASGI passes them."""

from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

#: The types that answers may have, the one that a client gets who takes any first.
TYPES = ("application/vnd.schemaregistry.v1+json", "application/vnd.schemaregistry+json", "application/json")


@dataclass
class Exchange:
    """A request under way, and its answer as far as it is known."""

    #: The request, as ASGI has it.
    scope: Scope
    #: When it came.
    start: float
    #: The template of its path, empty as long as it has none.
    route: str = ""
    #: The type of the answer.
    type: str = TYPES[0]
    #: What the server waits for: ``body``, ``answer`` or ``send``.
    phase: str = "body"
    #: Whether it takes too long.
    expired: bool = False
    #: Of the answer.
    status: int = 0
    size: int = 0
    #: Where the answer sends the client.
    location: str = ""
    #: Of an answer 405 the methods that there are, of one 401 how to show a name.
    allowed: str = ""
    challenge: str = ""

    def header(self, name: bytes) -> str:
        """Return a header, or nothing."""
        for key, value in self.scope["headers"]:
            if key == name:
                return str(value, "latin-1")
        return ""

    @property
    def has_body(self) -> bool:
        """Whether the request announces a body."""
        length = self.header(b"content-length")
        return length not in ("", "0") or self.header(b"transfer-encoding") != ""
