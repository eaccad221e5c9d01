"""The API: a request becomes a call, and what the call returns, or what it was answered before, an answer."""

import asyncio
import functools
from collections.abc import AsyncIterator

from kcodec.registry.embedded import EmbeddedRegistry
from kcodec.server.access.gate import Gate
from kcodec.server.access.origin import check_origin
from kcodec.server.access.rights import current_user
from kcodec.server.api.answers import Answers
from kcodec.server.api.apicurio import APICURIO_ROUTES
from kcodec.server.api.calls import ROUTES
from kcodec.server.api.dispatch import Dispatcher, another
from kcodec.server.api.keys import KEY_ROUTES
from kcodec.server.api.request import Request, refuse
from kcodec.server.api.router import Router, Write
from kcodec.server.api.writer import RegistryWriter
from kcodec.server.exchange import TYPES, Exchange, Receive, Send
from kcodec.server.reply import json_bytes, send_head, send_part
from kcodec.server.settings import ServerSettings

#: The types that bodies of requests may have; the last is Protobuf's as Apicurio's clients send it.
_TAKEN = frozenset([*TYPES, "application/octet-stream", "application/x-protobuf"])

#: Bytes of a list from which it is sent as it is made: shorter ones are answered as a whole, and kept.
_SHORT = 1 << 20

_ROUTER = Router([*ROUTES, *KEY_ROUTES, *APICURIO_ROUTES])


class Api:
    """Confluent's and Apicurio's calls, over a registry."""

    def __init__(
        self, registry: EmbeddedRegistry, settings: ServerSettings, gate: Gate, dispatcher: Dispatcher
    ) -> None:
        self._registry, self._settings = registry, settings
        self._gate, self._dispatcher = gate, dispatcher
        # Changes on their way to the disk keep nobody else waiting.
        writing = another(registry)
        self._writer = RegistryWriter(writing, gate.guarded(writing))
        self._answers = Answers()

    async def answer(self, exchange: Exchange, receive: Receive, send: Send) -> tuple[int, bytes]:
        """Return status and body of an answer; a long list is sent at once.

        Raises
        ------
        RegistryError
            If that is the answer.
        """
        scope = exchange.scope
        method, path, query = scope["method"], scope["raw_path"], scope["query_string"]
        route, names, context = _ROUTER.find(method, path)
        exchange.route = route.template
        if route.method != "GET":
            # What a browser knows of its user is not for other sites.
            check_origin(exchange)
        user = current_user.get()
        if exchange.has_body or (route.method != "GET" and route.template != "/"):
            # Nothing is read of who may do nothing.
            self._gate.check_some(user)
        body = await self._body(exchange, receive, must_have_type=route.method in ("POST", "PUT"))
        exchange.phase = "answer"
        asked = route.method, path, query, body, user
        state = self._state() if route.lasts else None
        kept = self._answers.find(state, asked)
        if kept is not None:
            return 200, kept
        request = Request(names, query, body, context, self._settings)
        found: bytes | Write
        if route.lists:
            found = await _listed(self._dispatcher.pieces(route, request), exchange, receive, send)
        else:
            found = await self._dispatcher.found(route, request, asked[:3], state)
        if isinstance(found, Write):
            result = await self._writer.write(found.change)
            return (204, b"") if result is None else (200, json_bytes(result))
        if exchange.phase != "send":
            self._answers.keep(state, asked, found)
        return 200, found

    def allowed(self, path: bytes) -> str:
        """Return the methods that a path has, as the header Allow lists them."""
        return ", ".join(_ROUTER.methods(path))

    def end(self, seconds: float) -> None:
        """Take no more changes, and wait some seconds for the one under way."""
        self._writer.end(seconds)

    def _state(self) -> object:
        """Return what an answer depends on besides the request, such as the user; None if that is unknown now."""
        state = self._registry.database.state()
        return state if state is None or self._gate.is_open else (state, self._gate.state)

    async def _body(self, exchange: Exchange, receive: Receive, *, must_have_type: bool) -> bytes:
        content_type = exchange.header(b"content-type")
        if must_have_type and not _is_taken(content_type):
            refuse(415)
        most = self._settings.max_body
        length = exchange.header(b"content-length")
        if length.isdecimal() and (len(length) > 15 or int(length) > most):
            refuse(413)
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                refuse(400)
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > most:
                refuse(413)
            if not message.get("more_body"):
                break
        if size and must_have_type and not content_type:
            # A browser sends such a body to other sites without asking them.
            refuse(415)
        return b"".join(parts)


async def _listed(pieces: AsyncIterator[bytes], exchange: Exchange, receive: Receive, send: Send) -> bytes:
    """Return a list; of a long one nothing, for it is sent as its pieces are made and taken."""
    data: bytes | None = b""
    async for piece in pieces:
        data = data + piece if data else piece
        if len(data) > _SHORT:
            break
    else:
        return data or b""
    del piece
    await send_head(exchange, send, 200, None)
    if exchange.scope["method"] != "HEAD":
        # What comes after the request says that the client has gone.
        gone = asyncio.ensure_future(_gone(receive))
        try:
            while data is not None:
                await send_part(exchange, send, data, is_last=False)
                # The next piece is made once this one is taken: until then nothing more is sent, not even nothing.
                data = b""
                await send_part(exchange, send, data, is_last=False)
                if gone.done():
                    return b""
                data = await anext(pieces, None)
        finally:
            gone.cancel()
    await send_part(exchange, send, b"", is_last=True)
    return b""


async def _gone(receive: Receive) -> None:
    """Await the end of a connection."""
    while (await receive())["type"] != "http.disconnect":
        pass


@functools.lru_cache(256)
def _is_taken(content_type: str) -> bool:
    return not content_type or content_type.partition(";")[0].strip().lower() in _TAKEN
