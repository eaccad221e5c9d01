"""Connections whose requests begin in time and within bounds."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["BoundedProtocol"]

#: Seconds from a connection, or the first byte of a request, to the end of its headers.
_HEAD_SECONDS = 20.0

#: Bytes that the request line and the headers may have.
_MAX_HEAD = 64 << 10


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's protocol, which alone waits for the end of headers for ever, and keeps any number of them."""

    _deadline: asyncio.TimerHandle | None = None
    _head = 0

    def connection_made(self, transport: Any) -> None:
        """Expect a request."""
        super().connection_made(transport)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing more."""
        self._stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what comes in, unless the headers have become too long."""
        super().data_received(data)
        self._head = 0 if self._deadline is None else self._head + len(data)
        if self._head > _MAX_HEAD and not self.transport.is_closing():
            self.send_400_response("The headers of the request are too long.")

    def on_message_begin(self) -> None:
        """Expect the headers."""
        super().on_message_begin()
        self._expect()

    def on_headers_complete(self) -> None:
        """Take the request."""
        self._stop()
        super().on_headers_complete()

    def _expect(self) -> None:
        self._stop()
        self._deadline = self.loop.call_later(_HEAD_SECONDS, self.transport.close)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
