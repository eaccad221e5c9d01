"""A registry in the memory of this process: ``memory://scope``."""

import os
import uuid
from typing import Any

from kcodec._fork import fork_safe_lock
from kcodec.errors import RegistryError
from kcodec.registry.embedded import EmbeddedRegistry
from kcodec.registry.store.database import Database

_TABLE_NAMES = ("contexts", "schemas", "versions", "schema_references", "settings", "keks", "deks", "changes")

_scopes: dict[str, "MemoryRegistry"] = {}
_lock = fork_safe_lock()


class _MemoryDatabase(Database):
    """A database that lives as long as its connection, which therefore is never closed; a fork has a copy of it."""

    def close(self) -> None:
        """Do nothing: the content is in the connection."""

    def _forked(self, session: Any) -> Any:
        # The child has a copy of the whole database; only the lock may have been held by a thread that is
        # gone.
        new = super()._forked(session)
        new.connection = session.connection
        return new


class MemoryRegistry(EmbeddedRegistry):
    """A registry in memory, gone with its process.

    It pickles with its content. Unpickled in the process it was made in, it is the same registry again;
    anywhere else it is a copy, which is read and written on its own. (So executors can read what the driver
    registered, and what they register stays with them.)

    >>> from kcodec.registry import Schema
    >>> registry = MemoryRegistry("docs")
    >>> registry.register("orders-value", Schema('"string"')).id
    1
    """

    def __init__(self, scope: str = "") -> None:
        self._scope = scope
        self._origin = (os.getpid(), uuid.uuid4().hex)
        super().__init__(_MemoryDatabase(":memory:", f"memory://{scope}"))

    @classmethod
    def shared(cls, scope: str) -> "MemoryRegistry":
        """Return this process's registry of that name, made when it is first asked for."""
        with _lock:
            found = _scopes.get(scope)
            if found is None:
                found = _scopes[scope] = cls(scope)
            return found

    def __reduce__(self) -> tuple[Any, ...]:
        with self.database.transaction():
            content = {
                name: self.database.execute(f"SELECT * FROM {name}").fetchall() for name in _TABLE_NAMES
            }
        return _restore, (self._scope, self._origin, content)


def _restore(scope: str, origin: tuple[int, str], content: dict[str, list[Any]]) -> MemoryRegistry:
    with _lock:
        live = _scopes.get(scope)
    if live is not None and live._origin == origin and origin[0] == os.getpid():
        return live
    if set(content) != set(_TABLE_NAMES):
        raise RegistryError("not the content of a registry", 500, 50001)
    copy = MemoryRegistry(scope)
    with copy.database.transaction(write=True):
        for name in _TABLE_NAMES:
            for row in content[name]:
                copy.database.execute(f"INSERT INTO {name} VALUES ({','.join('?' * len(row))})", row)
    return copy
