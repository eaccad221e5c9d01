"""The pages as a part of the server: whose they are, and what is counted of them."""

from collections.abc import MutableMapping
from typing import Any

from kcodec.registry.embedded import EmbeddedRegistry
from kcodec.server.access.gate import Gate
from kcodec.server.access.rights import current_user
from kcodec.server.access.roles import ANONYMOUS
from kcodec.server.exchange import Exchange, Receive, Send
from kcodec.server.page.app import RegistryPage
from kcodec.server.settings import ServerSettings


class MountedPage:
    """The pages of a registry at a path of the server, such as ``"/ui"``.

    The settings have the limits of forms, and the broker whose topics are shown.
    """

    def __init__(self, registry: EmbeddedRegistry, root: str, settings: ServerSettings, gate: Gate) -> None:
        self._root, self._gate = root, gate
        self._path, self._below = root.encode(), f"{root}/".encode()
        self._page = RegistryPage(
            gate.guarded(registry),
            root_path=root,
            user=None if gate.is_open else lambda scope: current_user.get().name,
            enters=None if gate.is_open else lambda scope: gate.has_some(current_user.get()),
            max_body=settings.max_body,
            max_schema=settings.max_schema,
            broker=settings.broker,
        )

    def has(self, path: bytes) -> bool:
        """Return whether a path is that of a page."""
        return path == self._path or path.startswith(self._below)

    async def show(self, exchange: Exchange, receive: Receive, send: Send) -> None:
        """Show a page; where somebody without a name may not see it, ask the browser for a name."""
        exchange.route = f"{self._root}/"
        user = current_user.get()
        if user == ANONYMOUS or exchange.has_body:
            self._gate.check_some(user)

        async def sending(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                if not self._gate.is_open:
                    if message["status"] == 403 and user == ANONYMOUS:
                        message["status"] = 401
                    if message["status"] == 401:
                        challenge = b"www-authenticate", self._gate.challenge.encode()
                        message["headers"] = [*message["headers"], challenge]
                exchange.phase, exchange.status = "send", message["status"]
            else:
                exchange.size += len(message.get("body", b""))
            await send(message)

        await self._page(exchange.scope, receive, sending)

    def end(self, seconds: float) -> None:
        """Take no more requests, and wait some seconds for those under way."""
        self._page.end(seconds)
