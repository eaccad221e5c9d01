"""The server as an ASGI application."""

import asyncio
import contextvars
import functools
import json
import logging
import pickle
import threading
import time
from collections.abc import Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from kcodec.errors import RegistryError
from kcodec.registry.embedded import EmbeddedRegistry
from kcodec.registry.server.access import Access
from kcodec.registry.server.access_log import log_exchange
from kcodec.registry.server.answers import Answers
from kcodec.registry.server.apicurio import APICURIO_ROUTES
from kcodec.registry.server.calls import ROUTES
from kcodec.registry.server.durations import Durations
from kcodec.registry.server.exchange import TYPES, Exchange, Receive, Scope, Send
from kcodec.registry.server.guard import GuardedRegistry, ServedRegistry, current_user
from kcodec.registry.server.metrics import CONTENT_TYPE, Metrics
from kcodec.registry.server.page.app import RegistryPage
from kcodec.registry.server.request import Request, refuse
from kcodec.registry.server.roles import ANONYMOUS, Role, User
from kcodec.registry.server.router import Route, Router, Write
from kcodec.registry.server.settings import ServerSettings
from kcodec.registry.server.writer import Writer
from kcodec.registry.sqlite import SqliteRegistry

__all__ = ["RegistryApplication"]

#: The types that bodies of requests may have; the last is Protobuf's as Apicurio's clients send it.
_TAKEN = frozenset([*TYPES, "application/octet-stream", "application/x-protobuf"])

#: Where a browser says that a change comes from; other clients say nothing.
_OWN_SITES = ("", "same-origin", "none")

#: Threads that ask the registry, each by a handle of its own if it is in a file.
_THREADS = 4

#: Where people look at the registry.
_PAGE = "/ui"

_ROUTER = Router([*ROUTES, *APICURIO_ROUTES])

_log = logging.getLogger(__name__)


class RegistryApplication:
    """Confluent's REST API over an embedded registry.

    It is an application as ASGI 3 has it; any server that gives the path as it was sent (``raw_path``) may run it.
    Beside the API it answers ``/health`` (200 while the registry answers), ``/health/live`` and ``/metrics``, and shows
    pages at ``/ui/``.

    Parameters
    ----------
    registry : EmbeddedRegistry
        What answers.
    settings : ServerSettings, optional
        Its limits, and who may do what.
    """

    def __init__(self, registry: EmbeddedRegistry, settings: ServerSettings | None = None) -> None:
        self._settings = settings or ServerSettings(registry.url)
        self._registry = registry
        self._access = None if self._settings.access is None else Access(self._settings.access)
        # Whether a call that reads may have to wait for other processes, which write.
        self._waits = isinstance(registry, SqliteRegistry) and not registry.write_ahead()
        # Who compares large schemas, on a page or not, and changes on their way to the disk keep nobody else waiting.
        self._paged, writing = _another(registry), _another(registry)
        self._of_thread = threading.local()
        self._opened = [registry, self._paged]
        self._writer = Writer(writing, self._guarded(writing))
        self._threads = ThreadPoolExecutor(_THREADS, "registry")
        self._metrics = Metrics()
        self._answers = Answers()
        self._durations = Durations()
        self._page = RegistryPage(
            self._paged,
            root_path=_PAGE,
            allows=None if self._access is None else self._allows,
            max_body=self._settings.max_body,
            max_schema=self._settings.max_schema,
        )

    def _guarded(self, registry: EmbeddedRegistry) -> ServedRegistry:
        access = self._access
        return registry if access is None else GuardedRegistry(registry, lambda: access.roles)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, as ASGI has it."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            exchange = Exchange(scope, time.perf_counter())
            try:
                await self._exchange(exchange, receive, send)
            finally:
                seconds = time.perf_counter() - exchange.start
                self._metrics.count(scope["method"], exchange.route, exchange.status, seconds)
                if self._settings.access_log:
                    log_exchange(exchange, seconds)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                self._threads.shutdown()
                self._writer.close()
                for registry in self._opened:
                    registry.close()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return

    async def _exchange(self, exchange: Exchange, receive: Receive, send: Send) -> None:
        """Answer within the time that there is for it."""
        task = asyncio.current_task()
        assert task is not None

        def expire() -> None:
            exchange.expired = True
            task.cancel()

        timer = asyncio.get_running_loop().call_later(self._settings.timeout, expire)
        try:
            status, data = await self._answer(exchange, receive, send)
            if exchange.phase != "send":
                await self._send(exchange, send, status, data)
        except asyncio.CancelledError:
            if not exchange.expired:
                raise
            # The connection of a client that does not take its answer is closed, for the answer is not complete.
            if exchange.phase != "send":
                status, data = _timed_out(exchange)
                await self._send(exchange, send, status, data)
        finally:
            timer.cancel()

    async def _answer(self, exchange: Exchange, receive: Receive, send: Send) -> tuple[int, bytes]:
        """Return status and body of an answer, whatever happens; a page is sent at once."""
        scope = exchange.scope
        method, path = scope["method"], scope["raw_path"]
        try:
            service = _SERVICES.get(path)
            if service is not None and method in ("GET", "HEAD"):
                return await service(self, exchange)
            is_page = path == _PAGE.encode() or path.startswith(f"{_PAGE}/".encode())
            if not is_page and path == b"/" and "text/html" in exchange.header(b"accept"):
                exchange.location = f"{_PAGE}/"
                return 307, b""
            if not is_page:
                exchange.type = _answer_type(exchange.header(b"accept"))
            if self._access is not None:
                current_user.set(await self._user(exchange.header(b"authorization")))
            if is_page:
                await self._show(exchange, receive, send)
                return exchange.status, b""
            route, names, context = _ROUTER.find(method, path)
            exchange.route = route.template
            if route.method != "GET" and exchange.header(b"sec-fetch-site") not in _OWN_SITES:
                # What a browser knows of its user is not for other sites.
                refuse(403, "This request was sent from another site", 403)
            if route.method in ("POST", "PUT") and not _is_taken(exchange.header(b"content-type")):
                refuse(415)
            body = await self._body(exchange, receive)
            exchange.phase = "answer"
            asked = route.method, path, scope["query_string"], body, current_user.get()
            state = self._state() if route.lasts else None
            kept = self._answers.find(state, asked)
            if kept is not None:
                return 200, kept
            request = Request(names, scope["query_string"], body, context, self._settings)
            found = await self._found(route, request, path)
            if isinstance(found, Write):
                result = await self._writer.write(found.change)
                return (204, b"") if result is None else (200, _json(result))
            self._answers.keep(state, asked, found)
            return 200, found
        except RegistryError as error:
            return error.status or 500, _json({"error_code": error.error_code, "message": str(error)})
        except Exception:
            _log.exception("%s %s failed", method, scope["path"])
            return 500, _json({"error_code": 50001, "message": "Internal Server Error"})

    async def _user(self, authorization: str) -> User:
        assert self._access is not None
        found = self._access.remembered(authorization)
        return await self._asked(self._access.user, authorization) if found is None else found

    def _state(self) -> object:
        """Return what an answer to a user depends on beside what was asked; None if it cannot be known now."""
        state = self._registry.state()
        return state if state is None or self._access is None else (state, self._access.roles)

    def _allows(self, scope: Scope, action: Role, subject: str | None) -> bool:
        """Return whether the user of a page may do something."""
        assert self._access is not None
        roles, user = self._access.roles, current_user.get()
        if subject is None:
            return roles.has_everywhere(user, action)
        return roles.has(user, action, subject.removeprefix(":.:"))

    async def _show(self, exchange: Exchange, receive: Receive, send: Send) -> None:
        """Show a page; to a browser that may say whose it is, what is not allowed is a question for that."""
        exchange.route = f"{_PAGE}/"
        access = self._access if current_user.get() == ANONYMOUS else None
        if access is not None and not access.roles.has_some(ANONYMOUS):
            refuse(401, "Unauthorized", 40101)

        async def sending(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                if access is not None and message["status"] == 403:
                    message["status"] = 401
                    message["headers"] = [
                        *message["headers"],
                        (b"www-authenticate", access.challenge.encode()),
                    ]
                exchange.phase, exchange.status = "send", message["status"]
            else:
                exchange.size += len(message.get("body", b""))
            await send(message)

        await self._page(exchange.scope, receive, sending)

    async def _asked(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a function returns, which may have to wait; it knows who asks."""
        if self._access is not None:
            function = functools.partial(contextvars.copy_context().run, function)
        return await asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments)

    async def _found(self, route: Route, request: Request, path: bytes) -> bytes | Write:
        """Return what a call answers, or what it still has to write; at once, if that was quick the last time.

        It waits for nobody then: while other threads use a registry in memory, this is one more of them.
        """
        call, size = (route.method, path), len(request.body)
        called = functools.partial(self._called, route, request)
        if not self._waits and self._durations.is_quick(call, size):
            lock = self._handle[0].lock
            if lock.acquire(blocking=False):
                try:
                    return self._durations.measured(call, size, called)
                finally:
                    lock.release()
        found: bytes | Write = await self._asked(self._durations.measured, call, size, called)
        return found

    def _called(self, route: Route, request: Request) -> bytes | Write:
        """Return what a call answers, or what it still has to write."""
        found = route.call(self._handle[1], request)
        if isinstance(found, Write):
            return found
        return found.encode(errors="replace") if isinstance(found, str) else _json(found)

    @property
    def _handle(self) -> tuple[EmbeddedRegistry, ServedRegistry]:
        """The handle of this thread, and what of it the user who asks may do."""
        found: tuple[EmbeddedRegistry, ServedRegistry] | None = getattr(self._of_thread, "handle", None)
        if found is None:
            registry = _another(self._registry)
            self._opened.append(registry)
            found = self._of_thread.handle = registry, self._guarded(registry)
        return found

    async def _body(self, exchange: Exchange, receive: Receive) -> bytes:
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
                return b"".join(parts)

    async def _send(self, exchange: Exchange, send: Send, status: int, data: bytes) -> None:
        exchange.status, exchange.size = status, len(data)
        headers = [(b"content-type", exchange.type.encode()), (b"content-length", str(len(data)).encode())]
        if status == 204:
            headers.clear()
        if exchange.location:
            headers.append((b"location", exchange.location.encode()))
        if status == 405:
            headers.append((b"allow", ", ".join(_ROUTER.methods(exchange.scope["raw_path"])).encode()))
        if status == 401 and self._access is not None:
            headers.append((b"www-authenticate", self._access.challenge.encode()))
        if exchange.expired or (exchange.phase == "body" and exchange.has_body):
            # What is left of the body is not read.
            headers.append((b"connection", b"close"))
        exchange.phase = "send"
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": data})

    # What is no part of Confluent's API

    async def _live(self, exchange: Exchange) -> tuple[int, bytes]:
        exchange.type = "application/json"
        return 200, b'{"status":"UP"}'

    async def _ready(self, exchange: Exchange) -> tuple[int, bytes]:
        exchange.type = "application/json"
        try:
            await self._asked(self._registry.mode)
        except RegistryError:
            _log.exception("the registry does not answer")
            return 503, b'{"status":"DOWN"}'
        return 200, b'{"status":"UP"}'

    async def _measured(self, exchange: Exchange) -> tuple[int, bytes]:
        exchange.type = CONTENT_TYPE
        return 200, await self._asked(self._metrics.text, self._registry)


_SERVICES = {
    b"/health": RegistryApplication._ready,
    b"/health/ready": RegistryApplication._ready,
    b"/health/live": RegistryApplication._live,
    b"/metrics": RegistryApplication._measured,
}


def _another(registry: EmbeddedRegistry) -> EmbeddedRegistry:
    """Return a handle of the same registry that need not wait for this one, if it is in a file."""
    if not isinstance(registry, SqliteRegistry):
        return registry
    found: SqliteRegistry = pickle.loads(pickle.dumps(registry))
    return found


#: Made once: `json.dumps` makes a new one for each value.
_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def _json(value: Any) -> bytes:
    return _encoder.encode(value).encode(errors="replace")


def _timed_out(exchange: Exchange) -> tuple[int, bytes]:
    if exchange.phase == "body":
        return 408, _json({"error_code": 408, "message": "HTTP 408 Request Timeout"})
    return 500, _json({"error_code": 50002, "message": "The operation timed out"})


@functools.lru_cache(256)
def _answer_type(accept: str) -> str:
    """Return the type of an answer to a client that takes some."""
    taken = [each.partition(";")[0].strip().lower() for each in accept.split(",")]
    if not accept or "*/*" in taken or "application/*" in taken:
        taken = [*taken, TYPES[0]]
    found = next((each for each in taken if each in TYPES), None)
    return found or refuse(406)


@functools.lru_cache(256)
def _is_taken(content_type: str) -> bool:
    return not content_type or content_type.partition(";")[0].strip().lower() in _TAKEN
