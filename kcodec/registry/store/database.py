"""The SQLite database of an embedded registry: one connection, its transactions, the versions of its tables."""

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from kcodec._fork import fork_safe_lock
from kcodec.errors import RegistryError

_Result = TypeVar("_Result")
_Answer = TypeVar("_Answer")

#: What SQLite raises; the latter two of a parameter that it does not take.
_REFUSED = (sqlite3.Error, OverflowError, UnicodeError)

#: Seconds that a process waits for the others' transactions.
_BUSY_TIMEOUT = 60.0

_TABLES = """
CREATE TABLE contexts (
    name TEXT PRIMARY KEY,
    last_id INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE schemas (
    key INTEGER PRIMARY KEY,
    context TEXT NOT NULL REFERENCES contexts (name),
    id INTEGER NOT NULL,
    guid TEXT NOT NULL,
    content TEXT NOT NULL,
    UNIQUE (context, id)
);
CREATE INDEX schemas_guid ON schemas (guid, context);
CREATE TABLE versions (
    subject TEXT NOT NULL,
    version INTEGER NOT NULL,
    schema_key INTEGER NOT NULL REFERENCES schemas (key),
    deleted INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (subject, version)
) WITHOUT ROWID;
CREATE INDEX versions_schema ON versions (schema_key);
CREATE TABLE schema_references (
    schema_key INTEGER NOT NULL REFERENCES schemas (key),
    subject TEXT NOT NULL,
    version INTEGER NOT NULL
);
CREATE INDEX schema_references_target ON schema_references (subject, version);
CREATE INDEX schema_references_schema ON schema_references (schema_key);
CREATE TABLE settings (
    subject TEXT PRIMARY KEY,
    config TEXT,
    mode TEXT
) WITHOUT ROWID;
"""

#: What format 3 adds: keys that encrypt keys, and those that encrypt the fields of subjects, all of them encrypted.
_KEYS = """
CREATE TABLE keks (
    name TEXT PRIMARY KEY,
    kms_type TEXT NOT NULL,
    kms_key_id TEXT NOT NULL,
    kms_props TEXT NOT NULL,
    doc TEXT,
    shared INTEGER NOT NULL,
    ts INTEGER NOT NULL,
    deleted INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE deks (
    kek_name TEXT NOT NULL REFERENCES keks (name),
    subject TEXT NOT NULL,
    version INTEGER NOT NULL,
    algorithm TEXT NOT NULL,
    encrypted TEXT NOT NULL,
    ts INTEGER NOT NULL,
    deleted INTEGER NOT NULL,
    PRIMARY KEY (kek_name, subject, algorithm, version)
) WITHOUT ROWID;
"""

#: What format 4 adds: who changed what, and when.
_CHANGES = """
ALTER TABLE versions ADD COLUMN ts INTEGER;
ALTER TABLE versions ADD COLUMN author TEXT;
CREATE TABLE changes (
    number INTEGER PRIMARY KEY,
    ts INTEGER NOT NULL,
    author TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT,
    version INTEGER,
    schema_id INTEGER,
    detail TEXT
);
"""

#: Tables whose ids were those of all contexts, and which checked nothing.
_FROM_1 = f"""
ALTER TABLE schemas RENAME TO old_schemas;
ALTER TABLE versions RENAME TO old_versions;
ALTER TABLE schema_references RENAME TO old_references;
DROP INDEX schemas_guid;
DROP INDEX versions_schema;
DROP INDEX schema_references_target;
{_TABLES};
CREATE TEMP TABLE placed AS SELECT DISTINCT
    CASE WHEN subject LIKE ':.%:%' THEN substr(subject, 2, instr(substr(subject, 2), ':') - 1) ELSE '.' END AS context,
    schema_id FROM old_versions;
INSERT INTO contexts SELECT context, max(
        max(schema_id), CASE WHEN context = '.' THEN
            (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'old_schemas') ELSE 0 END
    ) FROM placed GROUP BY context;
INSERT INTO schemas (context, id, guid, content)
    SELECT context, id, guid, content FROM placed JOIN old_schemas ON id = schema_id;
INSERT INTO versions SELECT subject, version, key, deleted FROM old_versions JOIN schemas ON id = schema_id AND
    context = CASE WHEN subject LIKE ':.%:%' THEN substr(subject, 2, instr(substr(subject, 2), ':') - 1) ELSE '.' END;
INSERT INTO schema_references
    SELECT key, subject, version FROM old_references JOIN schemas ON id = schema_id;
INSERT INTO settings VALUES ('', '{{"compatibility": "NONE"}}', NULL);
INSERT INTO settings VALUES (':.__GLOBAL:', '{{"compatibility": "NONE"}}', NULL);
DROP TABLE placed;
DROP TABLE old_references;
DROP TABLE old_versions;
DROP TABLE old_schemas;
"""

#: What makes the tables of today's format from those of each before.
_STEPS = {0: _TABLES + _KEYS + _CHANGES, 1: _FROM_1 + _KEYS + _CHANGES, 2: _KEYS + _CHANGES, 3: _CHANGES}

_FORMAT = 4

_UNOPENED = "unable to open database file"


#: Held while sessions that are garbage are closed.
_closing = fork_safe_lock(awaited=True)

#: Sessions of parent processes, and those left while a thread forked: their connections must not be closed here.
_abandoned: "list[_Session]" = []


class _Session:
    """A connection, the process that opened it, and the lock its threads take turns by.

    Beside it stand the rows that it has changed, those of a transaction once that is committed; and, for a file, a
    connection that changes nothing and sees what others do, and which file it is.
    """

    def __init__(self) -> None:
        self.pid = os.getpid()
        # A child has a copy of a database in memory, and of what SQLite itself locks in the midst of a transaction.
        self.lock = fork_safe_lock(awaited=True)
        self.connection: sqlite3.Connection | None = None
        self.depth = 0
        self.changed = 0
        self.watching: sqlite3.Connection | None = None
        self.file: tuple[int, int] | None = None

    def close(self) -> None:
        """Close both connections; other threads must not use them."""
        for connection in (self.connection, self.watching):
            if connection is not None:
                connection.close()
        self.connection = self.watching = None

    def __del__(
        self,
        # When Python ends, this module may have lost its names before a session goes.
        getpid: Callable[[], int] = os.getpid,
        closing: Any = _closing,
        abandoned: "list[_Session]" = _abandoned,
    ) -> None:
        # By themselves, connections that nobody has any more would be closed at any time: in a child, or while another
        # thread forks, whose child would find SQLite locked for ever. Of a session that is garbage nobody knows the
        # lock any more, and whoever collects garbage must not wait.
        if self.pid != getpid() or not closing.acquire(blocking=False):
            abandoned.append(self)
            return
        try:
            self.close()
        finally:
            closing.release()


class Database:
    """An SQLite database that threads and processes share.

    A transaction that writes takes the write lock before it reads. A process may be killed at any moment and leaves all
    of a transaction or nothing; what it has answered is on the disk. Errors call it by its `url`.

    >>> database = Database(":memory:", "memory://")
    >>> with database.transaction(write=True):
    ...     inserted = database.execute("INSERT INTO contexts VALUES ('.lab', 7)")
    >>> with database.transaction():
    ...     database.execute("SELECT name, last_id FROM contexts").fetchall()
    [('.lab', 7)]
    """

    def __init__(self, path: str, url: str) -> None:
        self.path, self.url = path, url
        self._session = _Session()
        #: Answers by name, and the states in which they were found.
        self._found: dict[str, tuple[object, Any]] = {}
        with self.transaction():
            pass

    @property
    def lock(self) -> Any:
        """The lock by which threads take turns at this handle; its holder never waits for another of them."""
        return self._current().lock

    def close(self) -> None:
        """Close the file; a handle that is used again opens it again."""
        session = self._session
        if session.pid == os.getpid():
            with session.lock:
                session.close()

    def write_ahead(self) -> bool:
        """Have all users of the file write changes beside it first (write-ahead); return whether that worked.

        Then none that reads waits for one that writes, and a change is on the disk sooner. Some file systems do not
        allow it.
        """
        with self.transaction():
            pass
        with self._session.lock:
            assert self._session.connection is not None
            try:
                (mode,) = self._session.connection.execute("PRAGMA journal_mode = WAL").fetchone()
            except sqlite3.Error as error:
                raise self._failed(error) from error
        return bool(mode == "wal")

    def check_file(self) -> None:
        """Raise if the file is no longer there; a database in memory always is."""

    def check_end(self, connection: sqlite3.Connection) -> None:
        """Raise if the end of the file is missing; that of a database in memory never is."""

    def state(self) -> object:
        """Return a value that differs after anybody has changed anything; None if it cannot be known now.

        It waits for nobody. What is read after this may be newer, never older.
        """
        session = self._current()
        return session, session.changed

    def remembered(self, name: str, find: Callable[[], _Answer]) -> _Answer:
        """Return what is found in a transaction, or what was found before if nobody has changed anything since.

        Within a transaction, which may have changed something itself, it is found anew.
        """
        session = self._current()
        with session.lock:
            if session.depth:
                return find()
            state = self.state()
            known = self._found.get(name)
            if known is None or state is None or known[0] != state:
                with self.transaction():
                    known = self._found[name] = state, find()
            return known[1]

    def together(self, calls: Sequence[Callable[[], _Result]]) -> list[_Result | RegistryError]:
        """Run calls as one transaction, which is on the disk when this returns.

        A call that fails leaves nothing behind; its error stands for its result.
        """
        results: list[_Result | RegistryError] = []
        with self.transaction(write=True) as connection:
            for call in calls:
                # One transaction waits for the disk once for all calls; the savepoint takes back a single call that
                # fails.
                connection.execute("SAVEPOINT one")
                try:
                    results.append(call())
                except (RegistryError, *_REFUSED) as error:
                    if not connection.in_transaction:
                        # The database has given up all of it.
                        raise
                    connection.execute("ROLLBACK TO one")
                    results.append(error if isinstance(error, RegistryError) else self._failed(error))
                connection.execute("RELEASE one")
        return results

    def execute(self, statement: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> sqlite3.Cursor:
        """Run a statement of the transaction that is under way in this thread."""
        # The transaction began in this process: its session is the current one.
        connection = self._session.connection
        if connection is None:
            raise _closed()
        return connection.execute(statement, values)

    def _failed(self, error: Exception) -> RegistryError:
        # SQLite tells no reason: a folder that is missing or may not be written, where it has files of its own, too.
        hint = "; is its folder there, and may it be written?" if str(error) == _UNOPENED else ""
        return RegistryError(f"{self.url}: {error}{hint}", 500, 50001)

    @contextmanager
    def transaction(self, *, write: bool = False) -> Iterator[sqlite3.Connection]:
        """Run a block as one transaction; a block within another of the same thread belongs to that."""
        session = self._current()
        with session.lock:
            # The lock is reentrant: a method that calls another one takes part in the same transaction.
            if session.depth:
                if session.connection is None:
                    raise _closed()
                yield session.connection
                return
            try:
                if session.connection is None:
                    session.connection = self._open()
                # A transaction that reads before it takes the write lock can find that another has written meanwhile;
                # SQLite then refuses to go on at once (SQLITE_BUSY), without waiting.
                session.connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                session.depth = 1
                try:
                    if write:
                        self.check_file()
                    yield session.connection
                    session.connection.execute("COMMIT")
                    session.changed = session.connection.total_changes
                except BaseException:
                    if session.connection.in_transaction:
                        session.connection.execute("ROLLBACK")
                    raise
                finally:
                    session.depth = 0
            except _REFUSED as error:
                raise self._failed(error) from error

    def _current(self) -> _Session:
        if self._session.pid != os.getpid():
            # A connection must not be used, nor closed, in a child of the process that opened it.
            self._session = self._forked(self._session)
        return self._session

    def _forked(self, session: _Session) -> _Session:
        new = _Session()
        _abandoned.append(session)
        return new

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=_BUSY_TIMEOUT, isolation_level=None, check_same_thread=False
        )
        try:
            # A transaction, in which no other process makes the file longer.
            connection.execute("BEGIN")
            found = self._format(connection)
            self.check_end(connection)
            connection.execute("COMMIT")
            if found != _FORMAT:
                self._take_over(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _take_over(self, connection: sqlite3.Connection) -> None:
        """Make today's tables of those of an earlier format, unless another process has done so meanwhile."""
        connection.execute("BEGIN IMMEDIATE")
        found = self._format(connection)
        try:
            if found != _FORMAT:
                for statement in _STEPS[found].split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {_FORMAT}")
            connection.execute("COMMIT")
        except sqlite3.OperationalError as error:
            if not found:
                raise
            hint = f"the file has format {found}, which has to become {_FORMAT} before anything is read"
            raise RegistryError(f"{self.url}: {error}; {hint}", 500, 50001) from error

    def _format(self, connection: sqlite3.Connection) -> int:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version not in (*_STEPS, _FORMAT):
            hint = "a newer kcodec has made it" if version > _FORMAT else "it is none of kcodec's"
            raise RegistryError(
                f"{self.url}: the file has format {version}, not {_FORMAT}: {hint}", 500, 50001
            )
        if not version and (table := connection.execute("SELECT name FROM sqlite_master").fetchone()):
            # A name that was mistaken is not to put tables into a database of something else.
            hint = f"it has a table {table[0]}, and is none of kcodec's"
            raise RegistryError(f"{self.url}: the file is no registry: {hint}", 500, 50001)
        return int(version)


def _closed() -> RegistryError:
    return RegistryError("the registry was closed while in use", 500, 50001)
