"""Bearer tokens: given, asked of a token endpoint, or made by a function."""

import json
import ssl
import time
from collections.abc import Callable, Mapping
from http.client import HTTPException
from typing import Any
from urllib.parse import urlencode, urlsplit

from kcodec._fork import fork_safe_lock
from kcodec.errors import ConfigError, RegistryError
from kcodec.registry.connection import Answer, Connections, basic, issuer_context

_AZURE = "http://169.254.169.254/metadata/identity/oauth2/token"
_MAX_BYTES = 1 << 20
_PREFIX = "bearer.auth."
#: What an endpoint may answer otherwise a moment later.
TRIED_AGAIN = frozenset([408, 429, 500, 502, 503, 504])


class NoTokenError(OSError):
    """There is no token now, and may be one a moment later."""


def bearer_headers(config: Mapping[str, Any], timeout: float) -> Callable[[], dict[str, str]] | None:
    """Return what makes the headers of a request, by ``bearer.auth.credentials.source``; None without one."""
    source = config.get("bearer.auth.credentials.source")
    if source is None:
        return None
    pool = config.get("bearer.auth.identity.pool.id")
    fixed = {
        "target-sr-cluster": config.get("bearer.auth.logical.cluster"),
        "Confluent-Identity-Pool-Id": ",".join(pool) if isinstance(pool, (list, tuple)) else pool,
    }
    if source == "CUSTOM":
        function = _needed(config, source, "custom.provider.function")
        argument = _needed(config, source, "custom.provider.config")
        if not callable(function):
            raise ConfigError("bearer.auth.custom.provider.function is not a function")
        return lambda: _headers(function(argument))
    if source == "STATIC_TOKEN":
        token = _needed(config, source, "token")
        return lambda: _with_token(token, fixed)
    if source == "OAUTHBEARER":
        user = f"{_needed(config, source, 'client.id')}:{_needed(config, source, 'client.secret')}"
        form = {"grant_type": "client_credentials", "scope": _needed(config, source, "scope")}
        headers = {"Authorization": basic(user), "Content-Type": "application/x-www-form-urlencoded"}
        endpoint = _needed(config, source, "issuer.endpoint.url")
        asked = _Token("POST", endpoint, headers, urlencode(form).encode(), timeout, issuer_context(config))
    elif source == "OAUTHBEARER_AZURE_IMDS":
        endpoint = config.get("bearer.auth.issuer.endpoint.url") or _AZURE
        query = config.get("bearer.auth.issuer.endpoint.query")
        if query:
            endpoint = urlsplit(endpoint)._replace(query=query, fragment="").geturl()
        elif endpoint == _AZURE:
            raise ConfigError(f"{source} needs bearer.auth.issuer.endpoint.query")
        asked = _Token("GET", endpoint, {"Metadata": "true"}, None, timeout, issuer_context(config))
    else:
        raise ConfigError(
            f"bearer.auth.credentials.source={source!r} is not STATIC_TOKEN, OAUTHBEARER, "
            "OAUTHBEARER_AZURE_IMDS or CUSTOM"
        )
    return lambda: _with_token(asked.get(), fixed)


def is_token(value: object) -> bool:
    r"""Return whether a value can stand as a token in a header or a login: it is some text of printable ASCII.

    >>> is_token("eyJ.e30.x"), is_token("a\nb"), is_token(None)
    (True, False, False)
    """
    return isinstance(value, str) and value != "" and value.isascii() and value.isprintable()


def read_token(body: bytes) -> tuple[str, float]:
    """Return the token of an endpoint's answer (RFC 6749, 5.1), and the seconds that it lasts.

    `ValueError` if there is none.

    >>> read_token(b'{"access_token": "abc", "expires_in": 60}')
    ('abc', 60.0)
    """
    try:
        fields = json.loads(body)
        token, lasts = fields["access_token"], float(fields.get("expires_in") or 0)
    except (KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ValueError(type(error).__name__) from None
    if not is_token(token):
        raise ValueError("access_token")
    return token, lasts


def _needed(config: Mapping[str, Any], source: str, name: str) -> Any:
    value = config.get(_PREFIX + name)
    if value is None:
        raise ConfigError(f"bearer.auth.credentials.source={source} needs {_PREFIX}{name}")
    if not name.startswith("custom.") and not isinstance(value, str):
        raise ConfigError(f"{_PREFIX}{name} is not text")
    return value


def _with_token(token: str, fixed: Mapping[str, str | None]) -> dict[str, str]:
    headers = {name: value for name, value in fixed.items() if value is not None}
    return {"Authorization": f"Bearer {token}", **headers}


def _headers(fields: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers for what a function has returned, under the names of settings."""
    token = fields.get("bearer.auth.token")
    if not isinstance(token, str):
        raise RegistryError("bearer.auth.custom.provider.function returns no bearer.auth.token")
    return _with_token(
        token,
        {
            "target-sr-cluster": fields.get("bearer.auth.logical.cluster"),
            "Confluent-Identity-Pool-Id": fields.get("bearer.auth.identity.pool.id"),
        },
    )


class _Token:
    """A token of an endpoint, asked for anew before it expires."""

    def __init__(
        self,
        method: str,
        endpoint: str,
        headers: dict[str, str],
        body: bytes | None,
        timeout: float,
        tls: ssl.SSLContext,
    ) -> None:
        parts = urlsplit(endpoint)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError("bearer.auth.issuer.endpoint.url is not http(s)://host[:port]/path")
        self._place = f"{parts.scheme}://{parts.netloc}"
        target = parts._replace(scheme="", netloc="").geturl() or "/"
        self._request = (method, target, headers, body, timeout)
        self._connections = Connections(self._place, tls, None, _MAX_BYTES)
        self._lock = fork_safe_lock()
        self._token, self._expires = "", 0.0
        #: When it was asked for in vain, and what came of it.
        self._asked, self._failure = 0.0, ""

    def get(self) -> str:
        """Return the token, no later than at four fifths of its life.

        Raises
        ------
        NoTokenError
            If the endpoint does not answer, or asks to be asked again.
        RegistryError
            If it answers with no token.
        """
        begun = time.monotonic()
        with self._lock:
            # A time that is no number (NaN) is over as well.
            if not (self._token and time.time() < self._expires):
                if self._failure and self._asked >= begun:
                    # By a thread that came later than this one; each of those that wait would wait for as long again.
                    raise NoTokenError(self._failure)
                self._asked, self._failure = time.monotonic(), ""
                try:
                    answer = self._connections.request(*self._request)
                except (OSError, HTTPException) as error:
                    raise self._failed(str(error) or type(error).__name__) from None
                if answer.status in TRIED_AGAIN:
                    raise self._failed(f"HTTP {answer.status}")
                try:
                    if not 200 <= answer.status < 300:
                        raise ValueError(answer.status)
                    token, lasts = read_token(answer.body)
                except ValueError:
                    told = f"{self._place}: HTTP {answer.status}, and no token{_refusal(answer)}"
                    raise RegistryError(told, answer.status) from None
                self._token, self._expires = token, time.time() + lasts * 0.8
            return self._token

    def _failed(self, why: str) -> NoTokenError:
        self._failure = f"no token from {self._place}: {why}"
        return NoTokenError(self._failure)


def _refusal(answer: Answer) -> str:
    """Return what an answer without a token says: the code of its error (RFC 6749, 5.2), or another place."""
    if 300 <= answer.status < 400:
        place = answer.headers.get("Location")
        return f" (is it at {place}?)" if place else ""
    try:
        code = json.loads(answer.body)["error"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return f": {code[:80]}" if is_token(code) else ""
