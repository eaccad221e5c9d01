"""The server as an ASGI application."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from kcodec.errors import RegistryError
from kcodec.registry.embedded import EmbeddedRegistry
from kcodec.registry.server.calls import ROUTES
from kcodec.registry.server.request import Request, refuse
from kcodec.registry.server.router import Router

__all__ = ["RegistryApplication"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_TYPE = "application/vnd.schemaregistry.v1+json"

_ROUTER = Router(ROUTES)

_log = logging.getLogger(__name__)


class RegistryApplication:
    """Confluent's REST API over an embedded registry.

    Parameters
    ----------
    registry : EmbeddedRegistry
        What answers.
    max_body : int
        Bytes that the body of a request may have.
    """

    def __init__(self, registry: EmbeddedRegistry, *, max_body: int = 16 << 20) -> None:
        self._registry = registry
        self._max_body = max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, as ASGI has it."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            status, data = await self._answer(scope, receive)
            await _send(send, status, data)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                self._registry.close()
                return

    async def _answer(self, scope: Scope, receive: Receive) -> tuple[int, bytes]:
        """Return status and body of an answer, whatever happens."""
        try:
            route, path = _ROUTER.find(scope["method"], scope["raw_path"])
            body = await self._body(receive)
            request = Request(path, scope["query_string"], body)
            loop = asyncio.get_running_loop()
            return 200, await loop.run_in_executor(None, _called, route.call, self._registry, request)
        except RegistryError as error:
            return error.status or 500, _json({"error_code": error.error_code, "message": str(error)})
        except Exception:
            _log.exception("a request failed")
            return 500, _json({"error_code": 50001, "message": "Internal Server Error"})

    async def _body(self, receive: Receive) -> bytes:
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                refuse(400)
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self._max_body:
                refuse(413)
            if not message.get("more_body"):
                return b"".join(parts)


def _called(call: Any, registry: EmbeddedRegistry, request: Request) -> bytes:
    found = call(registry, request)
    return found.encode(errors="replace") if isinstance(found, str) else _json(found)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


async def _send(send: Send, status: int, data: bytes, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
    given = [(b"content-type", _TYPE.encode()), (b"content-length", str(len(data)).encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": given})
    await send({"type": "http.response.body", "body": data})
