"""The server as an ASGI application: when it begins and ends, and what stands at which path."""

import logging
import time

from kcodec.errors import RegistryError
from kcodec.registry.embedded import EmbeddedRegistry
from kcodec.server.access.gate import Gate
from kcodec.server.access.origin import check_host
from kcodec.server.access.rights import set_current_user
from kcodec.server.access.roles import ANONYMOUS
from kcodec.server.access_log import log_exchange
from kcodec.server.api.dispatch import Dispatcher, another, close_unused
from kcodec.server.api.service import Api
from kcodec.server.bodies import Bodies
from kcodec.server.deadline import answer_in_time
from kcodec.server.exchange import Exchange, Receive, Scope, Send
from kcodec.server.metrics import CONTENT_TYPE, Metrics
from kcodec.server.page.mount import MountedPage
from kcodec.server.reply import answer_type, failure
from kcodec.server.settings import ServerSettings

#: Seconds that threads have to end what they are at when the server stops.
_GRACE = 0.2

#: Where people look at the registry.
_PAGE = "/ui"

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
        self._gate = Gate(self._settings.access)
        self._dispatcher = Dispatcher(registry, self._gate)
        self._api = Api(registry, self._settings, self._gate, self._dispatcher)
        # Who compares large schemas on a page keeps nobody else waiting.
        self._paged = another(registry)
        self._page = MountedPage(self._paged, _PAGE, self._settings, self._gate)
        self._bodies = Bodies(max(self._settings.max_bodies, self._settings.max_body))
        self._metrics = Metrics()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, as ASGI has it."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            exchange = Exchange(scope, time.perf_counter())
            # A request that waited behind another on its connection runs in the context of that one.
            set_current_user(ANONYMOUS)
            body = self._bodies.body(receive)
            try:
                answer = self._answer(exchange, body, send)
                await answer_in_time(exchange, send, self._settings.timeout, answer)
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
                # In time, whatever is under way: what has not been answered is left behind.
                for part in (self._api, self._page, self._dispatcher, self._gate):
                    part.end(_GRACE)
                close_unused(self._paged)
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return

    async def _answer(self, exchange: Exchange, receive: Receive, send: Send) -> tuple[int, bytes]:
        """Return status and body of an answer, whatever happens; a page is sent at once."""
        method, path = exchange.scope["method"], exchange.scope["raw_path"]
        try:
            service = _SERVICES.get(path)
            if service is not None and method in ("GET", "HEAD"):
                return await service(self, exchange)
            check_host(exchange, self._settings.allowed_hosts)
            is_page = self._page.has(path)
            if not is_page and path == b"/" and "text/html" in exchange.header(b"accept"):
                exchange.location = f"{_PAGE}/"
                return 307, b""
            if not is_page:
                exchange.type = answer_type(exchange.header(b"accept"))
            if not self._gate.is_open:
                await self._gate.enter(exchange)
            if is_page:
                await self._page.show(exchange, receive, send)
                return exchange.status, b""
            return await self._api.answer(exchange, receive, send)
        except RegistryError as error:
            if error.status == 401:
                exchange.challenge = self._gate.challenge
            if error.status == 405:
                exchange.allowed = self._api.allowed(path)
            if error.status == 500:
                # A full disk, a damaged file: who runs the server is not who is told by the answer.
                _log.error("%s %s: %s", method, path.decode("latin-1"), error)
            return failure(error.status or 500, error.error_code, str(error))
        except Exception:
            _log.exception("%s %s failed", method, path.decode("latin-1"))
            return failure(500, 50001, "Internal Server Error")

    # What is no part of Confluent's API

    async def _live(self, exchange: Exchange) -> tuple[int, bytes]:
        exchange.type = "application/json"
        return 200, b'{"status":"UP"}'

    async def _ready(self, exchange: Exchange) -> tuple[int, bytes]:
        exchange.type = "application/json"
        try:
            await self._dispatcher.ask(self._registry.mode)
            self._registry.database.check_file()
        except RegistryError:
            _log.exception("the registry does not answer")
            return 503, b'{"status":"DOWN"}'
        return 200, b'{"status":"UP"}'

    async def _measured(self, exchange: Exchange) -> tuple[int, bytes]:
        exchange.type = CONTENT_TYPE
        return 200, await self._dispatcher.ask(self._metrics.text, self._registry)


_SERVICES = {
    b"/health": RegistryApplication._ready,
    b"/health/ready": RegistryApplication._ready,
    b"/health/live": RegistryApplication._live,
    b"/metrics": RegistryApplication._measured,
}
