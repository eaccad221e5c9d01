"""The server as an ASGI application."""

import asyncio
import functools
import json
import logging
import pickle
import time
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from kcodec.errors import RegistryError
from kcodec.registry.embedded import EmbeddedRegistry
from kcodec.registry.server.calls import ROUTES
from kcodec.registry.server.request import Request, refuse
from kcodec.registry.server.router import Route, Router, Write
from kcodec.registry.server.settings import ServerSettings
from kcodec.registry.server.writer import Writer
from kcodec.registry.sqlite import SqliteRegistry

__all__ = ["Receive", "RegistryApplication", "Scope", "Send"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

#: The types that answers may have, the one that a client gets who takes any first.
_TYPES = ("application/vnd.schemaregistry.v1+json", "application/vnd.schemaregistry+json", "application/json")

#: The types that bodies of requests may have.
_TAKEN = frozenset([*_TYPES, "application/octet-stream"])

#: Threads that ask the registry: one at a time has it, the others' requests are read and answers written.
_THREADS = 4

_ROUTER = Router(ROUTES)

_log = logging.getLogger(__name__)


@dataclass
class _Exchange:
    """A request under way, and its answer as far as it is known."""

    scope: Scope
    start: float
    route: Route | None = None
    type: str = _TYPES[0]
    #: What the server waits for: ``body``, ``answer`` or ``send``.
    phase: str = "body"
    expired: bool = False
    status: int = 500
    size: int = 0

    def header(self, name: bytes) -> str:
        """Return a header, or nothing."""
        for key, value in self.scope["headers"]:
            if key == name:
                return str(value, "latin-1")
        return ""


class RegistryApplication:
    """Confluent's REST API over an embedded registry.

    It is an application as ASGI 3 has it; any server that gives the path as it was sent (``raw_path``) may run it.

    Parameters
    ----------
    registry : EmbeddedRegistry
        What answers.
    settings : ServerSettings
        Its limits, and who may do what.
    """

    def __init__(self, registry: EmbeddedRegistry, settings: ServerSettings | None = None) -> None:
        self._registry = registry
        self._writer = Writer(_another(registry))
        self._settings = settings or ServerSettings(registry.url)
        self._threads = ThreadPoolExecutor(_THREADS, "registry")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, as ASGI has it."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            await self._exchange(scope, receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                self._threads.shutdown()
                self._writer.close()
                self._registry.close()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return

    async def _exchange(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = _Exchange(scope, time.perf_counter())
        loop = asyncio.get_running_loop()
        task = asyncio.current_task()

        def expire() -> None:
            exchange.expired = True
            assert task is not None
            task.cancel()

        timer = loop.call_later(self._settings.timeout, expire)
        try:
            status, data = await self._answer(exchange, receive)
            exchange.phase = "send"
            await self._send(exchange, send, status, data)
        except asyncio.CancelledError:
            if not exchange.expired:
                raise
            # Where the client does not take the answer, its connection is closed for want of one.
            if exchange.phase != "send":
                status, data = _timed_out(exchange)
                await self._send(exchange, send, status, data, close=True)
        finally:
            timer.cancel()

    async def _answer(self, exchange: _Exchange, receive: Receive) -> tuple[int, bytes]:
        """Return status and body of an answer, whatever happens."""
        scope = exchange.scope
        try:
            exchange.type = _answer_type(exchange.header(b"accept"))
            route, path, context = _ROUTER.find(scope["method"], scope["raw_path"])
            exchange.route = route
            if route.method in ("POST", "PUT") and not _is_taken(exchange.header(b"content-type")):
                refuse(415)
            body = await self._body(exchange, receive)
            exchange.phase = "answer"
            request = Request(path, scope["query_string"], body, context, self._settings)
            loop = asyncio.get_running_loop()
            found = await loop.run_in_executor(self._threads, _called, route, self._registry, request)
            if isinstance(found, Write):
                found = _json(await self._writer.write(found.change))
            return 200, found
        except RegistryError as error:
            return error.status or 500, _json({"error_code": error.error_code, "message": str(error)})
        except Exception:
            _log.exception("%s %s failed", scope["method"], scope["path"])
            return 500, _json({"error_code": 50001, "message": "Internal Server Error"})

    async def _body(self, exchange: _Exchange, receive: Receive) -> bytes:
        most = self._settings.max_body
        length = exchange.header(b"content-length")
        if length.isdecimal() and int(length) > most:
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
                return b"".join(parts)

    async def _send(
        self, exchange: _Exchange, send: Send, status: int, data: bytes, *, close: bool = False
    ) -> None:
        exchange.status, exchange.size = status, len(data)
        headers = [
            (b"content-type", exchange.type.encode()),
            (b"content-length", str(len(data)).encode()),
        ]
        if close or exchange.phase == "body" or status in (408, 413):
            # What is left of the body is not read.
            headers.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": data})


def _another(registry: EmbeddedRegistry) -> EmbeddedRegistry:
    """Return a handle of the same registry that need not wait for this one, if it is in a file."""
    if isinstance(registry, SqliteRegistry):
        registry.write_ahead()
        return pickle.loads(pickle.dumps(registry))
    return registry


def _called(route: Route, registry: EmbeddedRegistry, request: Request) -> bytes | Write:
    found = route.call(registry, request)
    if isinstance(found, Write):
        return found
    return found.encode(errors="replace") if isinstance(found, str) else _json(found)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


def _timed_out(exchange: _Exchange) -> tuple[int, bytes]:
    if exchange.phase == "body":
        return 408, _json({"error_code": 408, "message": "HTTP 408 Request Timeout"})
    return 500, _json({"error_code": 50002, "message": "The operation timed out"})


@functools.lru_cache(256)
def _answer_type(accept: str) -> str:
    """Return the type of an answer to a client that takes some."""
    taken = [each.partition(";")[0].strip().lower() for each in accept.split(",")]
    if not accept or "*/*" in taken or "application/*" in taken:
        taken = [*taken, _TYPES[0]]
    found = next((each for each in taken if each in _TYPES), None)
    return found or refuse(406)


@functools.lru_cache(256)
def _is_taken(content_type: str) -> bool:
    return not content_type or content_type.partition(";")[0].strip().lower() in _TAKEN
