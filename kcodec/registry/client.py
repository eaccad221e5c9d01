"""Requests to a Schema Registry server: its addresses in turn, tries, answers and errors."""

import json
import random
import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from http.client import BadStatusLine, HTTPException
from typing import Any, NamedTuple, NoReturn
from urllib.parse import urlencode, urlsplit

from kcodec.errors import ConfigError, RegistryError, is_whole, one_line
from kcodec.registry.client_settings import Address, Redaction
from kcodec.registry.connection import Answer, Connections, basic, tls_context
from kcodec.registry.tokens import TRIED_AGAIN, NoTokenError, bearer_headers

#: Seconds that a request may take where the configuration does not say.
_TIMEOUT = 60

#: Bytes that an answer may have where the configuration does not say.
_MAX_BYTES = 64 << 20

# Of our own: a seed that an application has set, and what it draws by it, is the same with kcodec and without.
_RANDOM = random.Random()

#: OpenSSL's numbers of what is wrong with a certificate whoever has signed it: its time, its host.
_NOT_BY_SIGNER = frozenset([9, 10, 62, 64])


class _Server(NamedTuple):
    """One address: its text, the path that all paths follow, its credentials and its connections."""

    url: str
    base: str
    headers: Mapping[str, str]
    connections: Connections


class RegistryClient:
    """Asks the addresses of a registry in turn, each as often as the settings say; from any number of threads."""

    #: The media types that are asked for, and the one that is sent.
    accepted = "application/vnd.schemaregistry.v1+json, application/vnd.schemaregistry+json, application/json"
    sent = "application/vnd.schemaregistry.v1+json"
    #: What stands at the addresses.
    what = "a registry"

    def __init__(self, addresses: Sequence[Address], config: Mapping[str, Any], redaction: Redaction) -> None:
        self._redaction = redaction
        self._timeout = _number(config, "timeout", _TIMEOUT)
        self._retries = _number(config, "max.retries", 3)
        self._wait = _number(config, "retries.wait.ms", 1000)
        self._max_wait = _number(config, "retries.max.wait.ms", 20_000)
        most = _number(config, "max.response.bytes", _MAX_BYTES)
        try:
            tls = tls_context(config)
        except (OSError, ValueError, TypeError) as error:
            # Of OpenSSL's files only the error of a missing one has its name.
            named = ", ".join(
                f"{name}={value}"
                for name, value in config.items()
                if name.startswith("ssl.") and "pass" not in name
            )
            raise ConfigError(redaction(f"{named}: {error}")) from None
        self._bearer = bearer_headers(config, self._timeout)
        self._token = ""
        self._servers = []
        for address in addresses:
            parts = urlsplit(address.url)
            headers = {} if address.user_info is None else {"Authorization": basic(address.user_info)}
            connections = Connections(f"{parts.scheme}://{parts.netloc}", tls, config.get("proxy"), most)
            self._servers.append(_Server(address.url, parts.path.rstrip("/"), headers, connections))

    def close(self) -> None:
        """Close the connections that nobody uses."""
        for server in self._servers:
            server.connections.close()

    def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        *,
        is_text: bool = False,
    ) -> Any:
        """Return the registry's answer, as text if that is asked for; bytes are sent as they are, all else as JSON.

        An error, an answer that is no registry's, and none in time, are a `RegistryError`.
        """
        asked = f"{method} /{path}"
        target = f"/{path}?{urlencode(query, doseq=True, errors='surrogatepass')}" if query else f"/{path}"
        headers = {"Accept": self.accepted, "Accept-Encoding": "identity", "User-Agent": "kcodec"}
        content = None
        if body is not None:
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            headers["Content-Type"] = self.sent
        start = time.monotonic()
        failure: Answer | Exception | None = None
        for server in self._servers:
            for attempt in range(self._retries + 1):
                if attempt:
                    longest = min(self._wait * 2 ** min(attempt - 1, 30), self._max_wait)
                    time.sleep(_RANDOM.random() * longest / 1000)
                try:
                    sent = {**headers, **server.headers, **self._authorization()}
                    failure = server.connections.request(
                        method, server.base + target, sent, content, self._timeout
                    )
                except (OSError, HTTPException, ValueError) as error:
                    failure = error
                    continue
                if failure.status not in TRIED_AGAIN:
                    return self._value(server, asked, failure, start, is_text)
        if isinstance(failure, Answer):
            self._refuse(server, asked, failure, start)
        raise RegistryError(
            self._text(server, asked, _told(failure, self._timeout), start, _why(failure, server))
        ) from None

    def _authorization(self) -> dict[str, str]:
        if self._bearer is None:
            return {}
        try:
            headers = self._bearer()
        except RegistryError as error:
            raise RegistryError(one_line(self._clean(error)), error.status) from None
        except NoTokenError:
            raise
        except (OSError, HTTPException) as error:
            # Of a function of the user's.
            raise NoTokenError(f"no token: {error}") from None
        except Exception as error:
            # Whatever a function of the user's raises; it may hold a secret.
            raise RegistryError(one_line(self._clean(f"no token: {type(error).__name__}: {error}"))) from None
        self._token = headers["Authorization"].removeprefix("Bearer ")
        return headers

    def _clean(self, text: object) -> str:
        cleaned = self._redaction(text)
        return cleaned.replace(self._token, "***") if self._token else cleaned

    def _value(self, server: _Server, asked: str, answer: Answer, start: float, is_text: bool) -> Any:
        if not 200 <= answer.status < 300:
            self._refuse(server, asked, answer, start)
        if answer.status == 204 or not answer.body:
            return None
        try:
            return answer.body.decode() if is_text else json.loads(answer.body)
        except (ValueError, RecursionError):
            kind = "UTF-8" if is_text else "JSON"
            coding = answer.headers.get("Content-Encoding", "identity")
            # Which was asked for; a proxy may send another.
            what = _beginning(answer) if coding == "identity" else f"it is compressed ({coding})"
            self.unknown(asked, server, f"HTTP {answer.status}, but no {kind}: {what}")

    def unknown(self, asked: str, server: _Server | None = None, what: str = "") -> NoReturn:
        """Raise the error for an answer that no registry gives: 50005."""
        server = server or self._servers[0]
        told = what or f"the answer is not {self.what}'s"
        raise RegistryError(self._text(server, asked, told, None, _path_hint(server)), None, 50005)

    def _refuse(self, server: _Server, asked: str, answer: Answer, start: float) -> NoReturn:
        try:
            fields = json.loads(answer.body)
            # Apicurio's own API has a title instead of a message.
            code, message = fields.get("error_code"), fields.get("message", fields.get("title"))
        except (ValueError, AttributeError, RecursionError):
            code = message = None
        if not is_whole(code):
            code = None
        if message is None:
            message = _beginning(answer)
        hint = ""
        if answer.status == 404 and (code is None or code == 404):
            hint = _path_hint(server)
        elif 300 <= answer.status < 400:
            hint = f"is it at {answer.headers['Location']}?" if answer.headers["Location"] else ""
        elif answer.status in (401, 403):
            hint = (
                "are the credentials right?"
                if server.headers or self._bearer
                else "does it want credentials?"
            )
        elif code is None and answer.status == 400 and server.url.startswith("http://"):
            hint = "does it want https://?"
        slow = answer.status in (401, 403, 408, 429) or answer.status >= 500
        told = f"HTTP {answer.status}: {message}"
        error = RegistryError(
            self._text(server, asked, told, start if slow else None, hint), answer.status, code
        )
        error.details = self._clean(str(message))
        raise error

    def _text(self, server: _Server, asked: str, told: str, start: float | None, hint: str) -> str:
        facts = "" if start is None else f"after {time.monotonic() - start:.1f} s, "
        facts += f"asked {one_line(self._clean(asked), 120)}"
        if hint:
            facts += f"; {one_line(self._clean(hint), 120)}"
        return f"{server.url}: {one_line(self._clean(told))} ({facts})"


def _number(config: Mapping[str, Any], name: str, default: Any) -> Any:
    value = config.get(name)
    return default if value is None else value


def _beginning(answer: Answer) -> str:
    # More than is shown, so that no credential is cut where it could not be recognised.
    text = answer.body[: 1 << 20].decode(errors="replace")
    return text if text.strip() else "an empty answer"


def _path_hint(server: _Server) -> str:
    return f"is the base path {server.base} right?" if server.base else "is the base path missing?"


def _told(failure: Any, timeout: float) -> str:
    if isinstance(failure, TimeoutError):
        return f"no whole answer within {timeout} s"
    if isinstance(failure, NoTokenError):
        return str(failure)
    if isinstance(failure, ConnectionError | socket.gaierror) and not isinstance(failure, BadStatusLine):
        return f"no connection: {failure}"
    return f"{type(failure).__name__}: {failure}"


def _why(failure: Any, server: _Server) -> str:
    if isinstance(failure, ssl.SSLCertVerificationError):
        if failure.verify_code in _NOT_BY_SIGNER:
            return ""
        return "is ssl.ca.location the authority that signed its certificate?"
    if isinstance(failure, ssl.SSLError) and failure.reason in (
        "WRONG_VERSION_NUMBER",
        "HTTP_REQUEST",
        "RECORD_LAYER_FAILURE",
    ):
        return "does it speak http://?"
    if server.url.startswith("https://") and (
        isinstance(failure, ssl.SSLEOFError | ConnectionResetError | BrokenPipeError)
        or (isinstance(failure, ssl.SSLError) and "CERTIFICATE" in (failure.reason or ""))
    ):
        # What it says of that is mostly lost: it closes the connection at once.
        return "does it want a certificate of its clients, and is it the right one?"
    if isinstance(failure, socket.gaierror):
        return "is the name of the host right?"
    if isinstance(failure, BadStatusLine | ConnectionResetError) and server.url.startswith("http://"):
        return "does it want https://?"
    if isinstance(failure, ConnectionRefusedError):
        return "does it run, and listen at this port?"
    return ""
