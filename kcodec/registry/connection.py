"""HTTP requests that end in time, with answers of bounded size, over connections that are kept open."""

import atexit
import base64
import http.client
import io
import os
import socket
import ssl
import time
import weakref
from collections.abc import Mapping
from email.message import Message
from typing import Any, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from kcodec._fork import fork_safe_lock
from kcodec.errors import ConfigError

#: Connections to a server that are kept open while nobody uses them.
_IDLE = 8

_CHUNK = 1 << 16


class Answer(NamedTuple):
    """What a server has answered."""

    status: int
    headers: Message
    body: bytes


_open: "weakref.WeakSet[Connections]" = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Close what is idle when the program ends: Python warns of sockets that nobody has closed."""
    for connections in list(_open):
        connections.close()


class Connections:
    """The connections to one server; from any number of threads, and anew in a forked child.

    The address is ``http://`` or ``https://``, host and port; paths are those of requests. The proxy is
    ``http://[user:password@]host:port``, by default what the environment names (``HTTPS_PROXY``, ``NO_PROXY``). An
    answer may hold `max_bytes`.
    """

    def __init__(self, address: str, tls: ssl.SSLContext | None, proxy: str | None, max_bytes: int) -> None:
        self._server = urlsplit(address)
        self._tls = tls if self._server.scheme == "https" else None
        self._proxy = _proxy(self._server, proxy)
        self._max_bytes = max_bytes
        self._lock = fork_safe_lock()
        self._idle: list[_Connection] = []
        self._pid = os.getpid()
        _open.add(self)

    def request(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | None, timeout: float
    ) -> Answer:
        """Send a request and return the whole answer, or raise `TimeoutError` after so many seconds without it.

        No connection, or none that speaks HTTP, is an `OSError` or an `http.client.HTTPException`.
        """
        deadline = time.monotonic() + timeout
        connection = self._take()
        if connection is not None:
            try:
                return self._ask(connection, method, target, headers, body, deadline)
            except (ConnectionResetError, BrokenPipeError, ssl.SSLEOFError, ssl.SSLZeroReturnError):
                # The server has closed it meanwhile.
                pass
        return self._ask(
            _Connection(self._server, self._tls, self._proxy), method, target, headers, body, deadline
        )

    def close(self) -> None:
        """Close the connections that are not in use."""
        while (connection := self._take()) is not None:
            connection.close()

    def _take(self) -> "_Connection | None":
        with self._lock:
            if self._pid != os.getpid():
                # They are the parent's, who goes on using them.
                self._pid, self._idle = os.getpid(), []
            return self._idle.pop() if self._idle else None

    def _ask(
        self,
        connection: "_Connection",
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes | None,
        deadline: float,
    ) -> Answer:
        connection.deadline = deadline
        kept = False
        try:
            absolute = self._proxy is not None and self._tls is None
            sent = {**headers, **(_proxy_headers(self._proxy) if absolute else {})}
            place = f"{self._server.scheme}://{self._server.netloc}{target}" if absolute else target
            connection.request(method, place, body, sent)
            response = connection.getresponse()
            answer = Answer(response.status, response.headers, self._read(response))
            with self._lock:
                kept = not response.will_close and len(self._idle) < _IDLE and self._pid == os.getpid()
                if kept:
                    self._idle.append(connection)
            return answer
        finally:
            if not kept:
                connection.close()

    def _read(self, response: http.client.HTTPResponse) -> bytes:
        body = bytearray()
        while chunk := response.read(_CHUNK):
            body += chunk
            if len(body) > self._max_bytes:
                raise http.client.HTTPException(f"the answer has more than {self._max_bytes} bytes")
        if response.length:
            raise http.client.IncompleteRead(bytes(body[:80]), response.length)
        return bytes(body)


class _Connection(http.client.HTTPConnection):
    """A connection whose every step ends at `deadline`."""

    def __init__(self, server: SplitResult, tls: ssl.SSLContext | None, proxy: SplitResult | None) -> None:
        self._server_name = server.hostname or ""
        self._server_port = server.port or (80 if tls is None else 443)
        self._tls, self._proxy = tls, proxy
        self.deadline = 0.0
        self.sock: Any = None
        super().__init__(self._server_name, self._server_port)
        if tls is not None:
            # What the name of the host in a request lacks the port of.
            self.default_port = 443

    def connect(self) -> None:
        place = (self._server_name, self._server_port)
        if self._proxy is not None:
            place = (self._proxy.hostname or "", self._proxy.port or 80)
        sock: Any = socket.create_connection(place, max(self.deadline - time.monotonic(), 0.001))
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is not None:
                if self._proxy is not None:
                    self._tunnel_through(_TimedSocket(sock, self), self._proxy)
                sock.settimeout(max(self.deadline - time.monotonic(), 0.001))
                sock = self._tls.wrap_socket(sock, server_hostname=self._server_name)
        except BaseException:
            sock.close()
            raise
        self.sock = _TimedSocket(sock, self)

    def _tunnel_through(self, sock: "_TimedSocket", proxy: SplitResult) -> None:
        host = f"[{self._server_name}]" if ":" in self._server_name else self._server_name
        lines = [f"CONNECT {host}:{self._server_port} HTTP/1.1", f"Host: {host}:{self._server_port}"]
        lines += [f"{name}: {value}" for name, value in _proxy_headers(proxy).items()]
        sock.sendall("\r\n".join([*lines, "", ""]).encode("latin-1"))
        response = http.client.HTTPResponse(sock, method="CONNECT")  # type: ignore[arg-type]
        try:
            response.begin()
            if response.status != 200:
                raise ConnectionError(f"the proxy answers {response.status} {response.reason}")
        finally:
            response.close()


class _TimedSocket:
    """The part of a socket that http.client uses; each wait ends at the deadline of its connection."""

    def __init__(self, sock: Any, connection: _Connection) -> None:
        self._sock = sock
        self._connection = connection

    def arm(self) -> None:
        """Set the time-out of the next wait, so that it ends at the deadline."""
        left = self._connection.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._sock.settimeout(left)

    def sendall(self, data: Any) -> None:
        """Send all of the bytes."""
        rest = memoryview(data).cast("B")
        while rest:
            self.arm()
            rest = rest[self._sock.send(rest) :]

    def makefile(self, *_: Any) -> io.BufferedReader:
        """Return what reads from the socket."""
        return io.BufferedReader(_TimedReader(self, self._sock.makefile("rb", buffering=0)))

    def close(self) -> None:
        self._sock.close()


class _TimedReader(io.RawIOBase):
    def __init__(self, sock: _TimedSocket, raw: io.RawIOBase) -> None:
        self._sock, self._raw = sock, raw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.arm()
        return self._raw.readinto(buffer)

    def readall(self) -> bytes:
        # All that comes is asked for where a chunk is said to have -1 bytes, and nowhere else.
        raise http.client.HTTPException("a chunk of the answer has no size")

    def close(self) -> None:
        self._raw.close()
        super().close()


def basic(user_info: str) -> str:
    """Return the ``Authorization`` of a user and password.

    >>> basic("user:password")
    'Basic dXNlcjpwYXNzd29yZA=='
    """
    return "Basic " + base64.b64encode(user_info.encode()).decode()


def tls_context(config: Mapping[str, Any]) -> ssl.SSLContext:
    """Return the TLS settings of a configuration: the system's authorities and those of certifi, or what it names."""
    place = config.get("ssl.ca.location")
    if isinstance(place, str) and place:
        cafile, capath = _authorities(place)
        context = ssl.create_default_context(cafile=cafile, capath=capath)
    else:
        context = _public_context()
    if place is False:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    certificate = config.get("ssl.certificate.location")
    key, password = config.get("ssl.key.location"), config.get("ssl.key.password")
    if certificate is not None:
        # Without a password, OpenSSL would ask the terminal for that of an encrypted key.
        context.load_cert_chain(certificate, key, "" if password is None else password)
    elif key is not None or password is not None:
        raise ConfigError("ssl.key.location and ssl.key.password need ssl.certificate.location")
    return context


def issuer_context(config: Mapping[str, Any]) -> ssl.SSLContext:
    """Return the TLS settings for the issuer of tokens, whose authority may be a public one or the registry's."""
    context = _public_context()
    place = config.get("ssl.ca.location")
    if isinstance(place, str) and place:
        context.load_verify_locations(*_authorities(place))
    return context


def _public_context() -> ssl.SSLContext:
    context = ssl.create_default_context()
    if not (os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR")):
        try:
            import certifi
        except ImportError:
            pass
        else:
            context.load_verify_locations(certifi.where())
    return context


def _authorities(place: str) -> tuple[str | None, str | None]:
    """Return the file or the folder of authorities that a setting names."""
    return (None, place) if os.path.isdir(place) else (place, None)


def _proxy(server: SplitResult, given: str | None) -> SplitResult | None:
    address = given
    if address is None and not proxy_bypass(server.hostname or ""):
        named = getproxies()
        address = named.get(server.scheme) or named.get("all")
    if not address:
        return None
    parts = urlsplit(address if "://" in address else f"http://{address}")
    if parts.scheme != "http" or not parts.hostname:
        raise ConfigError("the proxy is not http://[user:password@]host[:port]")
    return parts


def _proxy_headers(proxy: SplitResult | None) -> dict[str, str]:
    if proxy is None or proxy.username is None:
        return {}
    return {"Proxy-Authorization": basic(f"{unquote(proxy.username)}:{unquote(proxy.password or '')}")}
