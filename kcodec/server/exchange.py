"""A request and its answer, as ASGI passes them."""

from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

__all__ = ["TYPES", "Exchange", "Receive", "Scope", "Send"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

#: The types that answers may have, the one that a client gets who takes any first.
TYPES = ("application/vnd.schemaregistry.v1+json", "application/vnd.schemaregistry+json", "application/json")


@dataclass
class Exchange:
    """A request under way, and its answer as far as it is known.

    Attributes
    ----------
    scope : mapping
        The request, as ASGI has it.
    start : float
        When it came.
    route : str
        The template of its path, empty as long as it has none.
    type : str
        The type of the answer.
    phase : str
        What the server waits for: ``body``, ``answer`` or ``send``.
    expired : bool
        Whether it takes too long.
    status, size : int
        Of the answer.
    location : str
        Where the answer sends the client.
    allowed, challenge : str
        Of an answer 405 the methods that there are, of one 401 how to show a name.
    """

    scope: Scope
    start: float
    route: str = ""
    type: str = TYPES[0]
    phase: str = "body"
    expired: bool = False
    status: int = 0
    size: int = 0
    location: str = ""
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
