"""Bearer tokens: JSON Web Tokens that an issuer has signed with one of its published keys."""

import json
import time
from collections.abc import Mapping
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from kcodec._fork import fork_safe_lock
from kcodec.errors import ConfigError, RegistryError
from kcodec.registry.connection import Connections, issuer_context
from kcodec.server.access.roles import User

#: Signatures by a private key: whoever checks them cannot make them.
_ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)

#: Seconds after which keys are fetched again, and at least between two times that they are.
_FRESH, _PAUSE = 300, 30

#: Seconds by which clocks may differ.
_LEEWAY = 30

#: Seconds in which keys are fetched, and the bytes that they have.
_FETCH_SECONDS, _MAX_KEYS = 10, 1 << 20

#: Places that one may lead to after another.
_MAX_PLACES = 5
_LEADS_ON = (301, 302, 303, 307, 308)

#: Bits of the keys of RSA: fewer have been broken, or will be.
_MIN_RSA = 2048

_MAX_TOKEN = 16 << 10

#: What is raised of a token, or of an issuer that answers with anything but keys.
_FAILED = (jwt.PyJWTError, HTTPException, ValueError, TypeError, AttributeError, OSError)

_SETTINGS = {"jwks", "issuer", "audience", "algorithms", "user", "groups"}


class BearerTokens:
    """Which tokens are accepted, and which user each names.

    Of the settings, ``jwks`` is the address (``https://``) or the file of the issuer's keys; ``issuer`` and
    ``audience`` are what the token has to say; ``algorithms`` by default those with private keys; ``user`` and
    ``groups`` the claims that hold the name (``sub``) and the groups (``groups``).
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        unknown = sorted(settings.keys() - _SETTINGS)
        if unknown:
            raise ConfigError(f"tokens have no setting {unknown[0]!r}")
        for name in ("jwks", "issuer", "audience"):
            if not isinstance(settings.get(name), str) or not settings[name]:
                raise ConfigError(f"tokens need {name}")
        self._issuer, self._audience = settings["issuer"], settings["audience"]
        algorithms = settings.get("algorithms", list(_ALGORITHMS))
        if not isinstance(algorithms, list) or not algorithms:
            raise ConfigError("algorithms of tokens are a list of their names")
        self._algorithms = algorithms
        refused = [each for each in self._algorithms if each not in _ALGORITHMS]
        if refused:
            raise ConfigError(f"algorithm {refused[0]!r} is not one of {', '.join(_ALGORITHMS)}")
        self._user, self._groups = settings.get("user", "sub"), settings.get("groups", "groups")
        if not isinstance(self._user, str) or not isinstance(self._groups, str):
            raise ConfigError("user and groups of tokens are names of claims")
        self._place = settings["jwks"]
        self._keys: dict[str | None, Any] = {}
        self._fetched = self._looked = -float(_FRESH)
        self._lock = fork_safe_lock()
        try:
            parts = urlsplit(self._place)
        except ValueError as error:
            raise ConfigError(f"{self._place}: {error}") from None
        if "://" in self._place and parts.scheme not in ("http", "https"):
            raise ConfigError("the keys of tokens are in a file, or fetched over https://")
        if parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
            raise ConfigError("the keys of tokens are fetched over https://, or from this machine")
        if "://" not in self._place:
            self._load()

    def user(self, token: str) -> User:
        """Return the user that a token names; refuse (40101) one that is not valid."""
        try:
            if len(token) > _MAX_TOKEN:
                raise jwt.InvalidTokenError("too long")
            name = jwt.get_unverified_header(token).get("kid")
            if not isinstance(name, str | None):
                raise jwt.InvalidTokenError("kid is not text")
            key = self._key(name)
            claims = jwt.decode(
                token,
                key,
                algorithms=self._algorithms,
                audience=self._audience,
                issuer=self._issuer,
                leeway=_LEEWAY,
                options={"require": ["exp", "iss", "aud", self._user]},
            )
        except (*_FAILED, RecursionError):
            raise RegistryError("Unauthorized", 401, 40101) from None
        name, groups = claims[self._user], claims.get(self._groups, [])
        if not isinstance(name, str) or not name:
            raise RegistryError("Unauthorized", 401, 40101)
        known = groups.split() if isinstance(groups, str) else groups if isinstance(groups, list) else ()
        return User(name, frozenset(each for each in known if isinstance(each, str)))

    def _key(self, name: str | None) -> Any:
        """Return the key of a name; without a name the only one."""
        with self._lock:
            now = time.monotonic()
            known = self._found(name)
            is_old = now - self._fetched > _FRESH
            # An issuer that does not answer keeps all waiting whose token comes meanwhile.
            if (is_old or known is None) and now - self._looked > _PAUSE:
                self._looked = now
                try:
                    self._load()
                    self._fetched = now
                except _FAILED:
                    # The keys that are known go on until the issuer answers again.
                    if known is None:
                        raise
                known = self._found(name)
        if known is None:
            raise jwt.InvalidTokenError("unknown key")
        return known

    def _found(self, name: str | None) -> Any:
        if name is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(name)

    def _load(self) -> None:
        if "://" in self._place:
            keys = jwt.PyJWKSet.from_dict(json.loads(_fetched(self._place))).keys
        else:
            try:
                keys = jwt.PyJWKSet.from_dict(json.loads(Path(self._place).read_text("utf-8"))).keys
            except (OSError, ValueError, jwt.PyJWTError) as error:
                raise ConfigError(f"{self._place}: not a set of keys: {error}") from None
        self._keys = {key.key_id: key for key in keys if _is_for_signatures(key)}


def _fetched(place: str) -> bytes:
    """Return what is at an address, or at the one of the same scheme that it leads to."""
    end, scheme = time.monotonic() + _FETCH_SECONDS, urlsplit(place).scheme
    for _ in range(_MAX_PLACES):
        parts = urlsplit(place)
        if parts.scheme != scheme or not parts.hostname:
            raise ValueError(f"the keys' address leads to {place}")
        connections = Connections(f"{scheme}://{parts.netloc}", issuer_context({}), None, _MAX_KEYS)
        target = parts._replace(scheme="", netloc="", fragment="").geturl() or "/"
        answer = connections.request("GET", target, {}, None, end - time.monotonic())
        connections.close()
        if answer.status == 200:
            return answer.body
        if answer.status not in _LEADS_ON:
            break
        place = urljoin(place, answer.headers.get("Location", ""))
    raise ValueError(f"{place} answers {answer.status}")


def _is_for_signatures(key: jwt.PyJWK) -> bool:
    """Return whether an issuer signs with a key, and nobody else can find out how."""
    size = key.key.key_size if isinstance(key.key, RSAPublicKey) else _MIN_RSA
    return key.public_key_use in (None, "sig") and size >= _MIN_RSA
