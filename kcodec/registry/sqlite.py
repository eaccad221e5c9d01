"""A registry in a file: ``sqlite:///path``."""

import os
import sqlite3

from kcodec.errors import RegistryError
from kcodec.registry.embedded import EmbeddedRegistry
from kcodec.registry.store.database import Database


class _FileDatabase(Database):
    """A database in a file, which other processes may change, replace or delete."""

    def check_file(self) -> None:
        """Refuse (50001) a file that is no longer there, or has been replaced: changes to it would be lost."""
        session = self._current()
        if session.file is not None and _identity(self.path) != session.file:
            raise RegistryError(f"{self.url}: the file has been deleted or replaced", 500, 50001)

    def _open(self) -> sqlite3.Connection:
        connection = super()._open()
        self._session.file = _identity(self.path)
        return connection

    def check_end(self, connection: sqlite3.Connection) -> None:
        """Refuse (50001) a file that ends within a page, as a broken off copy: SQLite reads zeros behind its end."""
        (page,) = connection.execute("PRAGMA page_size").fetchone()
        size = _size(self.path)
        # What is written ahead may have been moved into the file when its process was killed: it is so again.
        if size % page and not _size(f"{self.path}-wal"):
            raise RegistryError(
                f"{self.url}: the end of the file is missing: its {size} bytes are no whole pages of {page}",
                500,
                50001,
            )

    def state(self) -> object:
        """Return a value that differs after any process has changed the file; None if the file is locked."""
        session = self._current()
        try:
            watching = session.watching
            if watching is None:
                watching = session.watching = sqlite3.connect(
                    self.path, timeout=0, isolation_level=None, check_same_thread=False
                )
            # The number counts what this connection has seen, and says nothing of another one.
            return watching, watching.execute("PRAGMA data_version").fetchall()
        except sqlite3.Error:
            return None


class SqliteRegistry(EmbeddedRegistry):
    """A registry in an SQLite file, which several processes may read and write at once.

    A write is one transaction that takes SQLite's write lock at its start, with its rollback journal: a
    process may be killed at any moment and leaves all of it or nothing. The handle pickles as the file's
    absolute path.

    >>> import tempfile, os
    >>> from kcodec.registry import Schema
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     registry = SqliteRegistry(os.path.join(folder, "schemas.db"))
    ...     first = registry.register("orders-value", Schema('"string"'))
    ...     registry.close()
    >>> (first.id, first.version)
    (1, 1)
    """

    def __init__(self, path: str) -> None:
        path = os.path.abspath(path)
        super().__init__(_FileDatabase(path, f"sqlite:///{path}"))

    def __reduce__(self) -> tuple[type["SqliteRegistry"], tuple[str]]:
        return type(self), (self.database.path,)


def _size(path: str) -> int:
    """Return how many bytes a file has; 0 if there is none."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _identity(path: str) -> tuple[int, int] | None:
    """Return what identifies a file, even if another takes its name; None if there is no file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
