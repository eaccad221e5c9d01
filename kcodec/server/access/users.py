"""Who asks: the file of users, tokens and roles, and what a request's header says."""

import base64
import hmac
import json
import logging
import os
import time
from collections import OrderedDict
from pathlib import Path
from typing import Any

from kcodec._fork import fork_safe_lock
from kcodec.errors import ConfigError, RegistryError
from kcodec.server.access.bearer import BearerTokens
from kcodec.server.access.passwords import NOBODY, check_hash, is_password
from kcodec.server.access.roles import ANONYMOUS, Grant, Roles, User

#: Seconds between two looks whether the file has changed.
_PAUSE = 1.0

#: Passwords found right that are not tried again, and for how many seconds.
_REMEMBERED, _SECONDS = 1000, 300.0

_KEYS = {"users", "tokens", "grants"}

_log = logging.getLogger(__name__)


class Access:
    """The users of a server, and what they may do.

    They stand in a file of JSON with ``users`` (names and what `kcodec registry password` prints), ``tokens`` (see
    `kcodec.server.access.bearer.BearerTokens`) and ``grants`` (see `kcodec.server.access.roles.Grant`); anything else
    is a `ConfigError`. It is read again when it has changed; while it cannot be read, what it said before holds.
    """

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._lock = fork_safe_lock()
        self._looked = time.monotonic()
        self._state = self._stat()
        self._key = os.urandom(32)
        self._load()

    def user(self, authorization: str) -> User:
        """Return the user that a header names; an empty header names nobody.

        One that names somebody and proves nothing is refused (40101).
        """
        self._refresh()
        if not authorization:
            return ANONYMOUS
        scheme, _, given = authorization.partition(" ")
        if scheme.lower() == "basic":
            return self._basic(given.strip())
        if scheme.lower() == "bearer" and self._tokens is not None:
            return self._tokens.user(given.strip())
        raise RegistryError("Unauthorized", 401, 40101)

    def remembered(self, authorization: str) -> User | None:
        """Return the user that a header names, if that is known without waiting for anything."""
        if time.monotonic() - self._looked >= _PAUSE:
            return None
        if not authorization:
            return ANONYMOUS
        scheme, _, given = authorization.partition(" ")
        if scheme.lower() != "basic":
            return None
        given = given.strip()
        name, _ = _credentials(given)
        return User(name) if self._is_right(self._proof(self._users.get(name), given)) else None

    @property
    def challenge(self) -> str:
        """The challenge of an answer 401."""
        schemes = ['Basic realm="kcodec"'] if self._users else []
        return ", ".join([*schemes, *(["Bearer"] if self._tokens is not None else [])])

    def _basic(self, given: str) -> User:
        name, password = _credentials(given)
        kept = self._users.get(name)
        proof = self._proof(kept, given)
        if self._is_right(proof):
            return User(name)
        if not is_password(password, kept or NOBODY) or kept is None:
            raise RegistryError("Unauthorized", 401, 40101)
        with self._lock:
            self._right[proof] = time.monotonic() + _SECONDS
            while len(self._right) > _REMEMBERED:
                self._right.popitem(last=False)
        return User(name)

    def _proof(self, kept: str | None, given: str) -> bytes:
        """Return a digest of a given password together with the stored hash, so that neither has to be kept."""
        return hmac.digest(self._key, f"{kept} {given}".encode(), "sha256")

    def _is_right(self, proof: bytes) -> bool:
        return self._right.get(proof, 0.0) > time.monotonic()

    def _refresh(self) -> None:
        now = time.monotonic()
        with self._lock:
            if now - self._looked < _PAUSE:
                return
            self._looked = now
            state = self._stat()
            if state == self._state:
                return
            self._state = state
            try:
                self._load()
            except ConfigError as error:
                _log.error("the users and roles stay as they were: %s", error)
            else:
                _log.info("users and roles are those that %s has now", self._path)

    def _stat(self) -> tuple[int, int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _load(self) -> None:
        try:
            body = json.loads(self._path.read_text("utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise ConfigError(f"{self._path}: {error}") from None
        try:
            self._take(body)
        except ConfigError as error:
            raise ConfigError(f"{self._path}: {error}") from None

    def _take(self, body: Any) -> None:
        if not isinstance(body, dict) or not body.keys() <= _KEYS:
            raise ConfigError(f"an object with {', '.join(sorted(_KEYS))} is expected")
        users, grants, tokens = body.get("users", {}), body.get("grants", []), body.get("tokens")
        if not isinstance(users, dict) or not isinstance(grants, list):
            raise ConfigError("users are an object, grants a list")
        if not all(isinstance(each, dict) for each in grants) or not isinstance(tokens, dict | None):
            raise ConfigError("each grant, and tokens, are objects")
        for name, kept in users.items():
            if not name or ":" in name:
                raise ConfigError(f"{name!r} is not the name of a user")
            check_hash(kept)
        checked = None if tokens is None else BearerTokens(tokens)
        roles = Roles(tuple(Grant.of(each) for each in grants))
        self._users: dict[str, str] = users
        self._tokens: BearerTokens | None = checked
        self.roles: Roles = roles
        self._right: OrderedDict[bytes, float] = OrderedDict()


def _credentials(given: str) -> tuple[str, str]:
    """Return the name and the password in a header; if it has none, empty ones, which no user has."""
    try:
        name, colon, password = base64.b64decode(given, validate=True).decode().partition(":")
    except ValueError:
        return "", ""
    return (name, password) if colon else ("", "")
