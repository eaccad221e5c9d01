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
from typing import Any

from kcodec.errors import RegistryError
from kcodec.registry.base import check_subject
from kcodec.registry.embedded import EmbeddedRegistry
from kcodec.registry.sqlite import SqliteRegistry
from kcodec.server.access.guard import GuardedRegistry, ServedRegistry, current_user
from kcodec.server.access.origin import check_host, check_origin
from kcodec.server.access.roles import ANONYMOUS, Role, User, deny
from kcodec.server.access.users import Access
from kcodec.server.access_log import log_exchange
from kcodec.server.api.answers import Answers
from kcodec.server.api.apicurio import APICURIO_ROUTES
from kcodec.server.api.calls import ROUTES
from kcodec.server.api.durations import Durations
from kcodec.server.api.request import Request, refuse
from kcodec.server.api.router import Route, Router, Write
from kcodec.server.api.writer import Writer
from kcodec.server.bodies import Bodies
from kcodec.server.exchange import TYPES, Exchange, Receive, Scope, Send
from kcodec.server.metrics import CONTENT_TYPE, Metrics
from kcodec.server.page.app import RegistryPage
from kcodec.server.settings import ServerSettings
from kcodec.server.threads import Threads

__all__ = ["RegistryApplication"]

#: The types that bodies of requests may have; the last is Protobuf's as Apicurio's clients send it.
_TAKEN = frozenset([*TYPES, "application/octet-stream", "application/x-protobuf"])

#: Threads that ask the registry, each by a handle of its own if it is in a file.
_THREADS = 4

#: Bytes of a body from which it is the work of one thread: what is made of large ones takes much memory and time.
_LARGE = 256 << 10

#: Bytes of a body that the event loop may work on itself.
_SMALL = 4 << 10

#: What stands in bodies that cost more than their size tells: other languages than Avro, other schemas. Keys may also
#: be written with escapes.
_COSTLY = (b"schemaType", b"references", b"\\u")

#: Seconds that threads have to end what they are at when the server stops.
_GRACE = 0.2

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
        self._waits = isinstance(registry, SqliteRegistry) and not registry.database.write_ahead()
        # Who compares large schemas, on a page or not, and changes on their way to the disk keep nobody else waiting.
        self._paged, writing = _another(registry), _another(registry)
        self._of_thread = threading.local()
        self._opened = [registry, self._paged]
        self._writer = Writer(writing, self._guarded(writing))
        self._threads, self._large = Threads(_THREADS, "registry"), Threads(1, "registry-large")
        # Who asks is found out whatever the others are at.
        self._users = Threads(2, "registry-users")
        self._bodies = Bodies(max(self._settings.max_bodies, self._settings.max_body))
        self._metrics = Metrics()
        self._answers = Answers()
        self._durations, self._durations_of_bodies = Durations(), Durations()
        self._page = RegistryPage(
            self._paged,
            root_path=_PAGE,
            allows=None if self._access is None else self._allows,
            user=None if self._access is None else lambda scope: current_user.get().name,
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
            # A request that waited behind another on its connection runs in the context of that one.
            current_user.set(ANONYMOUS)
            body = self._bodies.body(receive)
            try:
                await self._exchange(exchange, body, send)
            finally:
                body.let_go()
                seconds = time.perf_counter() - exchange.start
                self._metrics.count(scope["method"], exchange.route, exchange.status, seconds)
                if self._settings.access_log:
                    log_exchange(exchange, seconds)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                self._end()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return

    def _end(self) -> None:
        """End in time, whatever is under way: what has not been answered is left behind."""
        self._writer.end(_GRACE)
        self._page.end(_GRACE)
        for threads in (self._threads, self._large, self._users):
            threads.end(_GRACE)
        for registry in self._opened:
            # Of one that a thread still uses the process will let go.
            if registry.database.lock.acquire(blocking=False):
                try:
                    registry.close()
                finally:
                    registry.database.lock.release()

    async def _exchange(self, exchange: Exchange, receive: Receive, send: Send) -> None:
        """Answer within the time-out of requests."""
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
            # Of time, or by a server that ends. The connection of a client that does not take its answer is closed, for
            # the answer is not complete.
            if exchange.phase != "send":
                status, data = _timed_out(exchange) if exchange.expired else _ENDING
                exchange.expired = True
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
            check_host(exchange, self._settings.allowed_hosts)
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
            if route.method != "GET":
                # What a browser knows of its user is not for other sites.
                check_origin(exchange)
            user = current_user.get()
            has_body = exchange.has_body or (route.method != "GET" and route.template != "/")
            if has_body and self._access is not None and not self._access.roles.has_some(user):
                # Nothing is read of who may do nothing.
                deny(user, "read", "anything")
            content_type = exchange.header(b"content-type")
            if route.method in ("POST", "PUT") and not _is_taken(content_type):
                refuse(415)
            body = await self._body(exchange, receive)
            if body and route.method in ("POST", "PUT") and not content_type:
                # A browser sends such a body to other sites without asking them.
                refuse(415)
            exchange.phase = "answer"
            asked = route.method, path, scope["query_string"], body, user
            state = self._state() if route.lasts else None
            kept = self._answers.find(state, asked)
            if kept is not None:
                return 200, kept
            request = Request(names, scope["query_string"], body, context, self._settings)
            found = await self._found(route, request, asked[:3], state)
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
        if found is None:
            found = await self._asked(self._access.user, authorization, threads=self._users)
        return found

    def _state(self) -> object:
        """Return what an answer depends on besides the request, such as the user; None if that is unknown now."""
        state = self._registry.database.state()
        return state if state is None or self._access is None else (state, self._access.roles)

    def _allows(self, scope: Scope, action: Role, subject: str | None) -> bool:
        """Return whether the user of a page may do something."""
        assert self._access is not None
        roles, user = self._access.roles, current_user.get()
        if subject is None:
            return roles.has_everywhere(user, action)
        try:
            return roles.has(user, action, check_subject(subject, whole=False))
        except RegistryError:
            # No subject has this name, as who may do everything is told.
            return roles.has_everywhere(user, action)

    async def _show(self, exchange: Exchange, receive: Receive, send: Send) -> None:
        """Show a page; to a browser that may say whose it is, what is not allowed is a question for that."""
        exchange.route = f"{_PAGE}/"
        access, user = self._access, current_user.get()
        if (
            access is not None
            and not access.roles.has_some(user)
            and (user == ANONYMOUS or exchange.has_body)
        ):
            deny(user, "read", "anything")

        async def sending(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                if message["status"] == 403 and access is not None and user == ANONYMOUS:
                    message["status"] = 401
                if message["status"] == 401 and access is not None:
                    challenge = b"www-authenticate", access.challenge.encode()
                    message["headers"] = [*message["headers"], challenge]
                exchange.phase, exchange.status = "send", message["status"]
            else:
                exchange.size += len(message.get("body", b""))
            await send(message)

        await self._page(exchange.scope, receive, sending)

    async def _asked(
        self, function: Callable[..., Any], *arguments: Any, threads: Threads | None = None
    ) -> Any:
        """Return what a function returns, which may have to wait; it knows who asks."""
        if self._access is not None:
            function = functools.partial(contextvars.copy_context().run, function)
        return await asyncio.get_running_loop().run_in_executor(
            threads or self._threads, function, *arguments
        )

    async def _found(
        self, route: Route, request: Request, asked: tuple[object, ...], state: object
    ) -> bytes | Write:
        """Return what a call answers, or what it still has to write; at once, if it costs little.

        A change of threads takes some hundred microseconds, more than most calls do; but what takes long in the event
        loop keeps all waiting. So what is done there has no body, or a small one of Avro alone, and was quick the last
        time: with the same query, and for a body in the same state of the registry, of which a schema is compared with
        what is registered. It waits for nobody: while other threads use a registry in memory, this is one more of them.
        """
        size = len(request.body)
        durations = self._durations
        if size:
            durations = self._durations_of_bodies
            durations.begin(state)
        called = functools.partial(self._called, route, request)
        if not self._waits and _is_cheap(request) and durations.is_quick(asked, size):
            lock = self._handle[0].database.lock
            if lock.acquire(blocking=False):
                try:
                    return durations.measured(asked, size, called)
                finally:
                    lock.release()
        threads = self._large if size > _LARGE else self._threads
        found: bytes | Write = await self._asked(durations.measured, asked, size, called, threads=threads)
        return found

    def _called(self, route: Route, request: Request) -> bytes | Write:
        """Return what a call answers, or what it still has to write."""
        found = route.call(self._handle[1], request)
        if isinstance(found, Write):
            return found
        return found.encode(errors="replace") if isinstance(found, str) else _json(found)

    @property
    def _handle(self) -> tuple[EmbeddedRegistry, ServedRegistry]:
        """The registry's handle of this thread, restricted to what the user may do."""
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
        if status == 503:
            headers.append((b"retry-after", b"1"))
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
            self._registry.database.check_file()
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


def _is_cheap(request: Request) -> bool:
    """Return whether what a call costs is bounded by little: no list of schemas, no body that asks for much."""
    if request.text("format") or len(request.body) > _SMALL:
        return False
    return not any(each in request.body for each in _COSTLY)


_ENDING = 503, _json({"error_code": 503, "message": "The server is ending"})


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
