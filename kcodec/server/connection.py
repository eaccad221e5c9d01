"""Connections whose requests begin, and whose answers are taken, in time and within bounds."""

import asyncio
from contextlib import suppress
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

#: Seconds from a connection, or the first byte of a request, to the end of its headers.
_HEAD_SECONDS = 20.0

#: Seconds in which a client takes a part of its answer.
_SEND_SECONDS = 60.0

#: Seconds in which a client that is idle answers the end of its TLS.
_CLOSE_SECONDS = 1.0

#: Bytes that the request line and the headers may have.
_MAX_HEAD = 64 << 10


class _JoinedWrites:
    """A transport that joins the writes of one turn of the event loop, such as the head and the body of an answer."""

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def get_write_buffer_size(self) -> int:
        return self._transport.get_write_buffer_size() + sum(map(len, self._parts))

    def _flush(self) -> None:
        parts, self._parts = self._parts, []
        if parts and not self._transport.is_closing():
            self._transport.writelines(parts)


class _Parser(httptools.HttpRequestParser):
    """httptools' parser, for a server that speaks nothing else: another protocol that a request offers is passed over.

    Java's own client offers HTTP/2 with each request. By itself, the parser takes what follows the head of such a
    request for that other protocol, and then for the next request: its body.
    """

    def __init__(self, protocol: "BoundedProtocol") -> None:
        super().__init__(protocol)
        self._protocol = protocol
        # As uvicorn has it; httptools before 0.6.3 is so by itself.
        with suppress(AttributeError):
            self.set_dangerous_leniencies(lenient_data_after_close=True)

    @property
    def is_offered_another(self) -> bool:
        """Whether a request offers another protocol for what follows; CONNECT does so by its method."""
        return self.should_upgrade() and self.get_method() != b"CONNECT"

    def feed_data(self, data: Any) -> None:
        """Read what comes in; a head with an offer is read again without it, and then what follows that head."""
        rest = memoryview(data)
        while True:
            try:
                super().feed_data(rest)
                return
            except httptools.HttpParserUpgrade as end:
                if not self.is_offered_another:
                    raise
                head = self._head()
                rest = rest[end.args[0] :]
            self.__init__(self._protocol)  # type: ignore[misc]
            super().feed_data(head)

    def _head(self) -> bytes:
        """Return the head that was read, without the header that makes the offer."""
        lines = [b"%s %s HTTP/%s" % (self.get_method(), self._protocol.url, self.get_http_version().encode())]
        lines += [b"%s: %s" % each for each in self._protocol.headers if each[0] != b"upgrade"]
        return b"\r\n".join([*lines, b"", b""])


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's protocol with time-outs: by itself it waits for ever for headers and for clients that do not read."""

    parser: _Parser
    _deadline: asyncio.TimerHandle | None = None
    _unsent: asyncio.TimerHandle | None = None
    _begins = False
    _head = 0
    _idle_since = 0.0

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.parser = _Parser(self)

    def connection_made(self, transport: Any) -> None:
        """Expect a request; of more connections than there may be, the one that has been idle longest is closed."""
        super().connection_made(_JoinedWrites(transport, self.loop))  # type: ignore[arg-type]
        self._idle_since = self.loop.time()
        self._expect()
        if self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency:
            idle = [
                each
                for each in self.connections
                if isinstance(each, BoundedProtocol) and each.is_idle and each is not self
            ]
            if idle:
                oldest = min(idle, key=lambda each: each._idle_since)
                oldest.transport.abort()
                # It is told so later, and counts until then.
                self.connections.discard(oldest)

    @property
    def is_idle(self) -> bool:
        """Whether no request is under way."""
        return (self.cycle is None or self.cycle.response_complete) and not self.transport.is_closing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing more."""
        self._stop()
        self._written()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what comes in, unless the headers have become too long."""
        super().data_received(data)
        is_begun = self._begins and self._deadline is None
        if is_begun:
            self._expect()
        # Bytes in which a head begins may have other requests before it.
        self._head = 0 if is_begun or self._deadline is None else self._head + len(data)
        if self._head > _MAX_HEAD and not self.transport.is_closing():
            self.send_400_response("The headers of the request are too long.")

    def on_message_begin(self) -> None:
        """Expect the headers, which mostly come with the first bytes."""
        super().on_message_begin()
        self._stop()
        self._begins = True

    def on_headers_complete(self) -> None:
        """Take the request; one that offers another protocol is read again."""
        if self.parser.is_offered_another:
            return
        self._stop()
        self._begins = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Take the end of a request, unless it is read again."""
        if not self.parser.is_offered_another:
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """Be idle, unless another request waits."""
        super().on_response_complete()
        self._idle_since = self.loop.time()

    def pause_writing(self) -> None:
        """Give a client that does not take its answer some time."""
        super().pause_writing()
        self._unsent = self.loop.call_later(_SEND_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on writing."""
        super().resume_writing()
        self._written()

    def shutdown(self) -> None:
        """Close an idle connection; over TLS, a client that does not read meanwhile would keep it open."""
        super().shutdown()
        self.loop.call_later(_CLOSE_SECONDS, self._abandon)

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection, whether or not the last answer was taken."""
        self.transport.abort() if self.transport.get_write_buffer_size() else self.transport.close()

    def _abandon(self) -> None:
        if self.transport.is_closing() and not self.transport.get_write_buffer_size():
            self.transport.abort()

    def _written(self) -> None:
        if self._unsent is not None:
            self._unsent.cancel()
            self._unsent = None

    def _expect(self) -> None:
        self._stop()
        self._deadline = self.loop.call_later(_HEAD_SECONDS, self.transport.close)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
