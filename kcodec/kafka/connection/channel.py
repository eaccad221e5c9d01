"""A connection to one broker: sockets, TLS, authentication, requests and their responses in order.

The content of a response is received into one buffer of Arrow's memory pool, from which record batches are read without
a copy. (A client library would copy it several times: see `docs/kafka.md`.)
"""

import functools
import os
import socket
import ssl
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, cast

import pyarrow as pa

from kcodec.errors import DecodeError, KafkaError, KafkaTimeoutError
from kcodec.kafka.connection.error_codes import SSL_AUTHENTICATION_FAILED, Code, broker_error
from kcodec.kafka.connection.sasl import Steps, exchange, said
from kcodec.kafka.connection.settings import Settings
from kcodec.kafka.messages import definitions
from kcodec.protocol.connection import Connection, OpenedResponse
from kcodec.protocol.spec.model import API_VERSIONS

#: Parts that are sent by one call.
_MOST_PARTS = 64
#: Bytes of a part that are sooner copied than sent as a part of its own.
_SMALL = 1 << 12

#: How a broker with TLS begins its answer to what is none: an alert of some version 3.
_ALERT = b"\x15\x03"
#: Errors of TLS that are those of a connection.
_CUT_OFF = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
#: Bytes of an answer of a broker that is not known yet: its versions and its part of a login.
_FIRST_SIZE = 1 << 20
_NEVER = float("inf")
_ANY = 0x7FFF
#: Seconds in which a broker that is well answers.
_LEAST = 1.0


@functools.cache
def _first_connection() -> Connection:
    """Return the connection that each channel makes its own from: all share its codecs."""
    return Connection(definitions())


class Channel:
    """One connection, for one thread at a time; `close` may come from any.

    Every failure is a `KafkaError`; after one of the connection itself `is_open` is False. It is to be ready by a
    time, `end`, of `time.monotonic`.
    """

    def __init__(self, host: str, port: int, settings: Settings, end: float = _NEVER) -> None:
        self.host = host
        self.port = port
        self._is_open = True
        #: Time at which the broker wants to be asked again.
        self.throttled_until = 0.0
        self._settings = settings
        self._process = os.getpid()
        self._connection = _first_connection().another()
        self._versions: dict[int, tuple[int, int]] = {}
        self._timeout = settings.request_timeout_ms / 1000
        self._max_size = max(settings.receive_bytes, settings.fetch_bytes + 512)
        #: Whether the broker has told its versions, and has taken a login.
        self._is_known = False
        self._expires = _NEVER
        context = settings.tls() if settings.is_encrypted else None
        try:
            self._socket = self._connect(context, end)
        except (OSError, ValueError, OverflowError) as error:
            # Brokers tell hosts and ports of each other, which may be none.
            self._is_open = False
            raise self._failed("cannot connect", error) from None
        try:
            self._ask_versions(end)
            if settings.protocol.startswith("SASL"):
                self._authenticate(end)
            self._is_known = True
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"Channel({self})"

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def is_open(self) -> bool:
        """Whether it can be used; a forked child has to make its own."""
        return self._is_open and self._process == os.getpid()

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of the broker."""
        return self.host, self.port

    @property
    def in_flight(self) -> int:
        """Requests without a response."""
        return len(self._connection.in_flight)

    @property
    def is_expired(self) -> bool:
        """Whether the broker will soon want the client to authenticate again."""
        return time.monotonic() > self._expires

    def _connect(self, context: ssl.SSLContext | None, end: float) -> socket.socket:
        seconds = _seconds(self._settings.connect_timeout_ms / 1000, end)
        plain = socket.create_connection((self.host, self.port), seconds)
        try:
            # Requests are small and waited for; Nagle's algorithm would hold them back for an acknowledgement.
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return plain if context is None else context.wrap_socket(plain, server_hostname=self.host)
        except BaseException:
            plain.close()
            raise

    def _ask_versions(self, end: float) -> None:
        # Version 0, which every broker knows.
        answer = self.request("ApiVersionsRequest", {}, end)
        if answer["errorCode"]:
            raise broker_error(answer["errorCode"], str(self))
        self._versions = {
            each["apiKey"]: (each["minVersion"], each["maxVersion"]) for each in answer["apiKeys"]
        }

    def _authenticate(self, end: float) -> None:
        settings = self._settings
        answer = self.request("SaslHandshakeRequest", {"mechanism": settings.mechanism}, end)
        if answer["errorCode"]:
            offered = f"the broker has {', '.join(answer['mechanisms'])}" if answer["mechanisms"] else None
            if answer["errorCode"] == Code.ILLEGAL_SASL_STATE:
                offered = f"this port takes no logins, security.protocol is {settings.protocol}"
            raise broker_error(answer["errorCode"], f"{self}, {settings.mechanism}", offered)
        steps = exchange(settings, self.host)
        token, lifetime = self._step(steps, None), 0
        first = token or b""
        while token is not None:
            answer = self.request("SaslAuthenticateRequest", {"authBytes": token}, end)
            if answer["errorCode"]:
                reason = said(answer["errorMessage"], first)
                raise broker_error(answer["errorCode"], f"{self}, {settings.mechanism}", reason)
            lifetime = answer.get("sessionLifetimeMs", 0)
            token = self._step(steps, answer["authBytes"])
        if lifetime > 0:
            # A connection is replaced before the broker ends it: after 85 % of its time, as by Java's client
            # (SaslClientAuthenticator), which leaves the rest for the network and clocks that drift.
            self._expires = time.monotonic() + 0.85 * lifetime / 1000

    def _step(self, steps: Steps, answer: bytes | None) -> bytes | None:
        """Return what a mechanism sends next, None at its end; its errors name the broker."""
        try:
            # What is sent in first is None.
            return steps.send(cast(bytes, answer))
        except StopIteration:
            return None
        except KafkaError as error:
            raise KafkaError(f"{self}, {error}", error.code, error.name) from error

    def version(self, name: str, most: int = _ANY) -> int:
        """Return the highest version of a request that both sides know, up to `most`."""
        spec = definitions()[name]
        assert spec.api_key is not None
        if spec.api_key == API_VERSIONS:
            return 0
        low, high = self._versions.get(spec.api_key, (0, -1))
        valid = spec.valid_versions
        version = min(high, valid.highest, most)
        if version < max(low, valid.lowest):
            known = f"versions {low} to {high} are, not {valid}" if high >= 0 else None
            raise broker_error(Code.UNSUPPORTED_VERSION, f"{self}, {name}", known)
        return version

    def knows(self, name: str) -> bool:
        """Return whether there is a version of a request that both sides know."""
        try:
            self.version(name)
        except KafkaError:
            return False
        return True

    def send(
        self,
        name: str,
        body: dict[str, Any] | None = None,
        *parts: Any,
        is_answered: bool = True,
        most: int = _ANY,
    ) -> None:
        """Send a request, of a version up to `most`: its fields, or its content in parts."""
        version = self.version(name, most)
        if body is not None:
            parts = (self._connection.codec(name, version).encode_one(body),)
        size = sum(map(len, parts))
        start = self._connection.open_request(
            name, version, size, client_id=self._settings.client_id, is_answered=is_answered
        )
        self._send_all([start, *parts])

    def _send_all(self, parts: list[Any]) -> None:
        # One deadline for all parts: a broker that takes a byte now and then must not hold the connection for ever.
        deadline = time.monotonic() + self._timeout
        left = [memoryview(part).cast("B") for part in _joined(parts)]
        try:
            while left:
                self._socket.settimeout(max(deadline - time.monotonic(), 0.001))
                # Neither TLS nor Windows has a call for several.
                if isinstance(self._socket, ssl.SSLSocket) or sys.platform == "win32":
                    count = self._socket.send(left[0])
                else:
                    count = self._socket.sendmsg(left[:_MOST_PARTS])
                while left and count >= len(left[0]):
                    count -= len(left.pop(0))
                if count:
                    left[0] = left[0][count:]
        except (OSError, ssl.SSLError, ValueError) as error:
            self.close()
            raise self._failed("cannot send", error) from None

    def receive(self, timeout: float | None = None) -> tuple[OpenedResponse, pa.Buffer]:
        """Receive the response to the oldest request: what it is, and its content behind the header."""
        number, (name, _) = next(iter(self._connection.in_flight.items()))
        deadline = time.monotonic() + (self._timeout if timeout is None else timeout)
        head = self._read(8, deadline).to_pybytes()
        size = int.from_bytes(head[:4], "big", signed=True)
        if not 4 <= size <= (self._max_size if self._is_known else _FIRST_SIZE) + 4:
            self.close()
            reason = "is beyond receive.message.max.bytes" if self._is_known else "is no broker's first"
            raise KafkaError(f"{self}: a response of {size} bytes {reason}")
        if int.from_bytes(head[4:], "big", signed=True) != number:
            self.close()
            raise KafkaError(f"{self}: the response to another request")
        content = self._read(size, deadline, head[4:])
        try:
            opened = self._connection.open_response(content)
        except DecodeError as error:
            raise self._garbled(name.removesuffix("Request") + "Response", error) from error
        return opened, content.slice(opened.start)

    def _read(self, size: int, deadline: float, start: bytes = b"") -> pa.Buffer:
        """Receive so many bytes, the first of which may be there already."""
        # Resizable buffers come from the memory pool, whose pages are used again.
        buffer = pa.allocate_buffer(size)
        view, at = memoryview(buffer).cast("B"), len(start)
        view[:at] = start
        try:
            while at < size:
                self._socket.settimeout(max(deadline - time.monotonic(), 0.001))
                count = self._socket.recv_into(view[at:])
                if not count:
                    raise ConnectionResetError("the broker has closed the connection")
                at += count
        except (OSError, ssl.SSLError, ValueError) as error:
            self.close()
            if not self._versions and view[: min(at, 2)] == _ALERT:
                text = f"{self}: it speaks TLS, security.protocol is {self._settings.protocol}"
                raise KafkaError(text, None, SSL_AUTHENTICATION_FAILED) from None
            raise self._failed("no response", error) from None
        return buffer

    def request(self, name: str, body: dict[str, Any], end: float = _NEVER) -> dict[str, Any]:
        """Send a request and return the fields of its response, by a time; nothing else may be in flight."""
        self.send(name, body)
        return self.decode(*self.receive(_seconds(self._timeout, end)))

    def request_columns(self, name: str, body: dict[str, Any], end: float = _NEVER) -> pa.StructArray:
        """Send a request as `request` does; its response is a column of one row, without an object for each item."""
        self.send(name, body)
        opened, content = self.receive(_seconds(self._timeout, end))
        codec = self._connection.codec(opened.spec.name, opened.version)
        try:
            found = codec.decode([content.to_pybytes()])
        except DecodeError as error:
            raise self._garbled(opened.spec.name, error) from error
        self.throttle(found.field("throttleTimeMs")[0].as_py())
        return found

    def decode(self, opened: OpenedResponse, content: pa.Buffer) -> dict[str, Any]:
        """Read the fields of a response."""
        codec = self._connection.codec(opened.spec.name, opened.version)
        try:
            found = codec.decode_one(content.to_pybytes())
        except DecodeError as error:
            raise self._garbled(opened.spec.name, error) from error
        if "throttleTimeMs" in found:
            self.throttle(found["throttleTimeMs"])
        return found

    def _garbled(self, name: str, error: DecodeError) -> KafkaError:
        """Close the connection, and return the error of a response that cannot be read."""
        self.close()
        return KafkaError(f"{self}: {name}: {error}")

    def throttle(self, milliseconds: int) -> None:
        """Remember that the broker asked not to be called for some time, which is at most that of a call."""
        if milliseconds > 0:
            self.throttled_until = time.monotonic() + min(milliseconds, self._settings.timeout_ms) / 1000

    def close(self) -> None:
        """Close the connection; whoever waits for a response has a `KafkaError`. A forked child leaves its parent's."""
        self._is_open = False
        # `shutdown` wakes a thread that waits in `recv`, which `close` does not. In a forked child it would end the
        # parent's connection as well.
        if self._process == os.getpid():
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _failed(self, what: str, error: Exception) -> KafkaError:
        if isinstance(error, TimeoutError):
            return KafkaTimeoutError(f"{self}: {what}: timed out")
        text = getattr(error, "verify_message", None) or getattr(error, "strerror", None) or str(error)
        if (
            not self._versions
            and isinstance(error, (*_CUT_OFF, ConnectionResetError))
            and self._settings.is_encrypted
        ):
            # A broker without TLS takes the beginning of TLS for the size of a request that is far too large.
            text = f"{text} (does this port speak TLS? security.protocol is {self._settings.protocol})"
        # As in Java's clients, sides that do not agree on TLS at first never will.
        is_refused = (
            not self._versions and isinstance(error, ssl.SSLError) and not isinstance(error, _CUT_OFF)
        )
        name = SSL_AUTHENTICATION_FAILED if is_refused else None
        return KafkaError(f"{self}: {what}: {text or type(error).__name__}", None, name)


def _seconds(most: float, end: float) -> float:
    """Return the seconds left until a time: at most so many, and at least enough for a broker that answers."""
    return min(most, max(end - time.monotonic(), _LEAST))


def _joined(parts: Iterable[Any]) -> Iterator[Any]:
    """Yield large parts as they are, and small ones that stand together as one."""
    small = bytearray()
    for part in parts:
        if len(part) <= _SMALL:
            small += part
            continue
        if small:
            yield small
            small = bytearray()
        yield part
    if small:
        yield small
