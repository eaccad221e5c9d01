"""A registry in a file: ``sqlite:///path``."""

import os

from kcodec.registry.embedded import EmbeddedRegistry

__all__ = ["SqliteRegistry"]


class SqliteRegistry(EmbeddedRegistry):
    """A registry in an SQLite file, which several processes may read and write at once.

    A write is one transaction that takes SQLite's write lock at its start, with its rollback journal: a
    process may be killed at any moment and leaves all of it or nothing. The handle pickles as the file's
    absolute path.

    Examples
    --------
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
        super().__init__(os.path.abspath(path))

    def __reduce__(self) -> tuple[type["SqliteRegistry"], tuple[str]]:
        return SqliteRegistry, (self._database,)
