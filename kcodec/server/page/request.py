"""Requests of browsers, and the answers they get: ASGI messages as plain values."""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie
from typing import NamedTuple
from urllib.parse import parse_qsl

from kcodec.server.exchange import Receive, Scope

#: Fields that a form or a query may have.
_MAX_FIELDS = 500


class Refused(Exception):
    """A request that is answered by what is wrong with it: a status and a sentence."""

    def __init__(self, status: int, message: str, *, code: int | None = None) -> None:
        super().__init__(status, message)
        self.status = status
        self.message = message
        self.code = code


class Fields(dict[str, list[str]]):
    """The fields of a form or of a query: names may be given more than once.

    >>> fields = Fields.of(b"q=a%20b&q=c")
    >>> fields.text("q"), fields["q"], fields.text("page", "1")
    ('c', ['a b', 'c'], '1')
    """

    @classmethod
    def of(cls, encoded: bytes) -> Fields:
        """Read what a browser sends; what is no UTF-8, or has more fields than any form here, is refused."""
        found = cls()
        try:
            text = encoded.decode("ascii")
            for name, value in parse_qsl(
                text, keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS
            ):
                found.setdefault(name, []).append(value)
        except ValueError:
            raise Refused(400, "The fields of this request cannot be read.") from None
        return found

    def text(self, name: str, default: str = "") -> str:
        """Return the last value of a field."""
        return self[name][-1] if name in self else default

    def number(self, name: str, default: int) -> int:
        """Return a field that is a positive number of at most ten digits."""
        text = self.text(name)
        if not text:
            return default
        if not (text.isascii() and text.isdigit() and len(text) <= 10):
            raise Refused(400, f"{name} is not a number.")
        return int(text)

    def all(self, name: str) -> list[str]:
        """Return all values of a field."""
        return self.get(name, [])


class PageRequest(NamedTuple):
    """A request."""

    #: What ASGI says of it.
    scope: Scope
    #: ``"GET"`` or ``"POST"``; ``HEAD`` is a ``GET``.
    method: str
    #: What comes after the page's root, without a slash at its beginning.
    path: str
    #: Names are in lower case.
    headers: dict[str, str]
    #: What was asked and what was sent.
    query: Fields
    form: Fields

    def cookie(self, name: str) -> str:
        """Return a cookie; empty if there is none."""
        try:
            found = SimpleCookie(self.headers.get("cookie", "")).get(name)
        except CookieError:
            return ""
        return "" if found is None else found.value


class Response(NamedTuple):
    """An answer: status, headers beside those that all answers have, body."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


async def read_request(scope: Scope, receive: Receive, root: str, max_body: int) -> PageRequest:
    """Read a request whole; a body beyond the limit is refused before it is kept."""
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
    path = scope["path"]
    if root and path.startswith(f"{root}/"):
        path = path[len(root) :]
    method = "GET" if scope["method"] == "HEAD" else scope["method"]
    body = b""
    if method == "POST":
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/x-www-form-urlencoded":
            raise Refused(415, "This page takes forms only.")
        body = await _body(receive, headers.get("content-length", ""), max_body)
    query = Fields.of(scope.get("query_string", b""))
    return PageRequest(scope, method, path.removeprefix("/"), headers, query, Fields.of(body))


async def _body(receive: Receive, length: str, limit: int) -> bytes:
    too_large = Refused(413, f"A form may have {limit} bytes.")
    if length.isdigit() and (len(length) > 15 or int(length) > limit):
        raise too_large
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refused(400, "The request ended too early.")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limit:
            raise too_large
        if not message.get("more_body", False):
            return b"".join(parts)
