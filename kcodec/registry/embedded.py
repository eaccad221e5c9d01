"""A registry kept in an SQLite database: what ``memory://`` and ``sqlite://`` have in common."""

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, NoReturn

from kcodec._fork import fork_safe_lock
from kcodec.errors import RegistryError, SchemaError
from kcodec.formats.schema_format import SchemaFormat, find_schema_format
from kcodec.registry.base import (
    Metadata,
    Reference,
    RegisteredSchema,
    Schema,
    check_schema,
    check_subject,
    guid,
    invalid,
)
from kcodec.registry.references import named_texts

__all__ = ["EmbeddedRegistry"]

_FORMAT = 1

_TABLES = """
CREATE TABLE schemas (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    guid TEXT NOT NULL,
    content TEXT NOT NULL UNIQUE
);
CREATE INDEX schemas_guid ON schemas (guid);
CREATE TABLE versions (
    subject TEXT NOT NULL,
    version INTEGER NOT NULL,
    schema_id INTEGER NOT NULL REFERENCES schemas (id),
    deleted INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (subject, version)
) WITHOUT ROWID;
CREATE INDEX versions_schema ON versions (schema_id);
CREATE TABLE schema_references (
    schema_id INTEGER NOT NULL REFERENCES schemas (id),
    subject TEXT NOT NULL,
    version INTEGER NOT NULL
);
CREATE INDEX schema_references_target ON schema_references (subject, version);
"""

#: Seconds that a process waits for the others' transactions.
_BUSY_TIMEOUT = 60.0

_MAX_VERSION = 2**31 - 1


class _Session:
    """A connection, the process that opened it, and the lock its threads take turns by."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        # A child has a copy of a database in memory, and of what SQLite itself locks in the midst of a transaction.
        self.lock = fork_safe_lock(awaited=True)
        self.connection: sqlite3.Connection | None = None
        self.depth = 0


class EmbeddedRegistry:
    """A `SchemaRegistry` over an SQLite database.

    Every method is one transaction; those that write take the write lock before they read. What a
    registration goes through, in this order: the subject's name is checked, the text is made canonical
    (normalization would come just before), references are resolved, the subject is searched for the same
    content, and the new version is stored (the subject's compatibility level would be checked just before).
    Schemas of any compatibility are accepted, as by a server whose level is NONE, and ``normalize`` changes
    nothing. The text of a JSON Schema is kept as it is; it has to be an object or a boolean.
    """

    def __init__(self, database: str) -> None:
        self._database = database
        self._session = _Session()
        with self._transaction():
            pass

    @property
    def url(self) -> str:
        """Where it is."""
        return f"sqlite:///{self._database}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.url}>"

    def register(self, subject: str, schema: Schema, *, normalize: bool = False) -> RegisteredSchema:
        """Register a schema under a subject; what is registered there already keeps its id and version."""
        subject = check_subject(subject)
        with self._transaction(write=True) as connection:
            kept = self._canonical(schema)
            found = self._find(connection, subject, kept)
            if found is not None:
                return found
            content = _dump(kept)
            row = connection.execute("SELECT id FROM schemas WHERE content = ?", (content,)).fetchone()
            if row is None:
                cursor = connection.execute(
                    "INSERT INTO schemas (guid, content) VALUES (?, ?)", (guid(kept), content)
                )
                schema_id = cursor.lastrowid
                connection.executemany(
                    "INSERT INTO schema_references VALUES (?, ?, ?)",
                    [(schema_id, each.subject, each.version) for each in kept.references],
                )
            else:
                schema_id = row[0]
            (version,) = connection.execute(
                "SELECT coalesce(max(version), 0) + 1 FROM versions WHERE subject = ?", (subject,)
            ).fetchone()
            connection.execute(
                "INSERT INTO versions (subject, version, schema_id) VALUES (?, ?, ?)",
                (subject, version, schema_id),
            )
            return RegisteredSchema(int(schema_id or 0), guid(kept), kept, subject, version)

    def lookup(self, subject: str, schema: Schema, *, normalize: bool = False) -> RegisteredSchema:
        """Find a schema under a subject by its content.

        A schema sent with its references written out is also found where it is registered with references, if its
        language can write them out, as Avro can (``ParsedSchema.canLookup`` of the real server).
        """
        subject = check_subject(subject)
        with self._transaction() as connection:
            self._check_subject_exists(connection, subject)
            kept = self._canonical(schema)
            found = self._find(connection, subject, kept)
            if found is None and not kept.references:
                found = self._find_inlined(connection, subject, kept)
            if found is None:
                raise RegistryError("Schema not found", 404, 40403)
            return found

    def get(self, schema_id: int) -> RegisteredSchema:
        """Find a schema by its id."""
        return self._get("id = ?", schema_id, schema_id)

    def get_by_guid(self, guid: str) -> RegisteredSchema:
        """Find a schema by its GUID."""
        return self._get("guid = ?", str(guid).lower(), guid)

    def _get(self, condition: str, value: int | str, name: int | str) -> RegisteredSchema:
        """Return the first schema that meets a condition; `name` is what a message calls it."""
        with self._transaction() as connection:
            row = connection.execute(
                f"SELECT id, guid, content FROM schemas WHERE {condition} ORDER BY id", (value,)
            ).fetchone()
        if row is None:
            raise RegistryError(f"Schema {name} not found", 404, 40403)
        return RegisteredSchema(row[0], row[1], _load(row[2]))

    def get_version(
        self, subject: str, version: int | Literal["latest"] = "latest", *, deleted: bool = False
    ) -> RegisteredSchema:
        """Find a version of a subject."""
        subject = check_subject(subject)
        latest = version in ("latest", -1)
        if not latest:
            _check_version(version)
        with self._transaction() as connection:
            self._check_subject_exists(connection, subject, deleted=deleted)
            for found in self._versions(connection, subject, deleted=deleted):
                if latest or found.version == version:
                    return found
        raise RegistryError(f"Version {version} not found.", 404, 40402)

    def get_latest_with_metadata(self, subject: str, properties: Mapping[str, str]) -> RegisteredSchema:
        """Find the latest version, softly deleted ones included, whose metadata has all these properties."""
        subject = check_subject(subject)
        wanted = set(properties.items())
        with self._transaction() as connection:
            self._check_subject_exists(connection, subject, deleted=True)
            for found in self._versions(connection, subject, deleted=True):
                if found.schema.metadata is not None and wanted <= set(found.schema.metadata.properties):
                    return found
        raise RegistryError("Schema not found", 404, 40403)

    def associated_subjects(self, topic: str, is_key: bool, cluster: str = "-") -> list[str]:
        """Return nothing: associations are kept by servers."""
        return []

    def subjects(self) -> list[str]:
        """Return the subjects that have a version, sorted."""
        with self._transaction() as connection:
            rows = connection.execute(
                "SELECT DISTINCT subject FROM versions WHERE NOT deleted ORDER BY subject"
            )
            return [row[0] for row in rows]

    def versions(self, subject: str) -> list[int]:
        """Return the numbers of a subject's versions."""
        subject = check_subject(subject)
        with self._transaction() as connection:
            self._check_subject_exists(connection, subject)
            rows = connection.execute(
                "SELECT version FROM versions WHERE subject = ? AND NOT deleted ORDER BY version", (subject,)
            )
            return [row[0] for row in rows]

    def delete_version(self, subject: str, version: int, *, permanent: bool = False) -> int:
        """Delete a version; its number is not given again."""
        subject = check_subject(subject)
        _check_version(version)
        with self._transaction(write=True) as connection:
            self._check_subject_exists(connection, subject, deleted=True)
            row = connection.execute(
                "SELECT deleted FROM versions WHERE subject = ? AND version = ?", (subject, version)
            ).fetchone()
            if row is None:
                raise RegistryError(f"Version {version} not found.", 404, 40402)
            if row[0] and not permanent:
                raise RegistryError(
                    f"Subject '{subject}' Version {version} was soft deleted. Set permanent=true to delete "
                    "permanently",
                    404,
                    40406,
                )
            if permanent and not row[0]:
                raise RegistryError(
                    f"Subject '{subject}' Version {version} was not deleted first before being permanently "
                    "deleted",
                    404,
                    40407,
                )
            self._delete(connection, subject, version, permanent)
        return version

    def delete_subject(self, subject: str, *, permanent: bool = False) -> list[int]:
        """Delete all versions of a subject, or none."""
        subject = check_subject(subject)
        with self._transaction(write=True) as connection:
            self._check_subject_exists(connection, subject, deleted=True)
            rows = connection.execute(
                "SELECT version, deleted FROM versions WHERE subject = ? ORDER BY version", (subject,)
            ).fetchall()
            live = [version for version, deleted in rows if not deleted]
            if permanent and live:
                raise RegistryError(
                    f"Subject '{subject}' was not deleted first before being permanently deleted", 404, 40405
                )
            if not permanent and not live:
                raise RegistryError(
                    f"Subject '{subject}' was soft deleted. Set permanent=true to delete permanently",
                    404,
                    40404,
                )
            gone = [version for version, _ in rows] if permanent else live
            for version in reversed(gone):
                self._delete(connection, subject, version, permanent)
        return gone

    def close(self) -> None:
        """Close the file; a handle that is used again opens it again."""
        session = self._session
        if session.pid == os.getpid():
            with session.lock:
                if session.connection is not None:
                    session.connection.close()
                    session.connection = None

    @contextmanager
    def _transaction(self, *, write: bool = False) -> Iterator[sqlite3.Connection]:
        """Run a block as one transaction; a block within another of the same thread belongs to that."""
        if self._session.pid != os.getpid():
            # A connection must not be used, nor closed, in a child of the process that opened it.
            self._session = self._forked(self._session)
        session = self._session
        with session.lock:
            if session.depth:
                if session.connection is None:
                    raise RegistryError("the registry was closed while in use", 500, 50001)
                yield session.connection
                return
            try:
                if session.connection is None:
                    session.connection = self._open()
                session.connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                session.depth = 1
                try:
                    yield session.connection
                    session.connection.execute("COMMIT")
                except BaseException:
                    if session.connection.in_transaction:
                        session.connection.execute("ROLLBACK")
                    raise
                finally:
                    session.depth = 0
            except (sqlite3.Error, OverflowError, UnicodeError) as error:
                # The latter two: a parameter that the database does not take.
                raise RegistryError(f"{self.url}: {error}", 500, 50001) from error

    def _forked(self, session: _Session) -> _Session:
        new = _Session()
        _abandoned.append(session)
        return new

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._database, timeout=_BUSY_TIMEOUT, isolation_level=None, check_same_thread=False
        )
        try:
            if self._format(connection) == 0:
                connection.execute("BEGIN IMMEDIATE")
                if self._format(connection) == 0:
                    for statement in _TABLES.split(";"):
                        connection.execute(statement)
                    connection.execute(f"PRAGMA user_version = {_FORMAT}")
                connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
        return connection

    def _format(self, connection: sqlite3.Connection) -> int:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version not in (0, _FORMAT):
            raise RegistryError(f"{self.url}: the file has format {version}, not {_FORMAT}", 500, 50001)
        return int(version)

    def _canonical(self, schema: Schema) -> Schema:
        """Return the schema as it is kept: canonical text, references with their versions."""
        references = []
        for each in check_schema(schema).references:
            try:
                found = self.get_version(each.subject, each.version, deleted=True)
            except RegistryError as error:
                invalid(f"No schema reference found for {each}: {error}")
            references.append(Reference(each.name, check_subject(each.subject), found.version or 0))
        kept = Schema(schema.text, schema.type, tuple(references), schema.metadata)
        known = find_schema_format(schema.type)
        if known is not None:
            try:
                text = known.canonical(self._parsed(known, kept))
            except SchemaError as error:
                invalid(f"Invalid schema: {error}")
            kept = Schema(text, kept.type, kept.references, kept.metadata)
        elif schema.type == "JSON":
            _check_json(schema.text)
        guid(kept)
        return kept

    def _parsed(self, known: SchemaFormat, schema: Schema) -> Any:
        return known.parse(schema.text, named_texts(self, schema))

    def _versions(
        self, connection: sqlite3.Connection, subject: str, *, deleted: bool = False
    ) -> Iterator[RegisteredSchema]:
        rows = connection.execute(
            "SELECT schemas.id, guid, content, version FROM versions JOIN schemas ON schemas.id = schema_id "
            "WHERE subject = ? AND (? OR NOT deleted) ORDER BY version DESC",
            (subject, deleted),
        )
        for schema_id, identity, content, version in rows:
            yield RegisteredSchema(schema_id, identity, _load(content), subject, version)

    def _find(self, connection: sqlite3.Connection, subject: str, kept: Schema) -> RegisteredSchema | None:
        row = connection.execute(
            "SELECT schemas.id, guid, version FROM schemas JOIN versions ON schemas.id = schema_id "
            "WHERE content = ? AND subject = ? AND NOT deleted ORDER BY version DESC",
            (_dump(kept), subject),
        ).fetchone()
        return None if row is None else RegisteredSchema(row[0], row[1], kept, subject, row[2])

    def _find_inlined(
        self, connection: sqlite3.Connection, subject: str, kept: Schema
    ) -> RegisteredSchema | None:
        known = find_schema_format(kept.type)
        if known is None:
            return None
        for found in self._versions(connection, subject):
            has_references = found.schema.type == kept.type and found.schema.references
            if has_references and known.resolved(self._parsed(known, found.schema)) == kept.text:
                return found
        return None

    def _check_subject_exists(
        self, connection: sqlite3.Connection, subject: str, *, deleted: bool = False
    ) -> None:
        row = connection.execute(
            "SELECT 1 FROM versions WHERE subject = ? AND (? OR NOT deleted) LIMIT 1", (subject, deleted)
        ).fetchone()
        if row is None:
            raise RegistryError(f"Subject '{subject}' not found.", 404, 40401)

    def _delete(self, connection: sqlite3.Connection, subject: str, version: int, permanent: bool) -> None:
        if not permanent:
            used = connection.execute(
                "SELECT 1 FROM schema_references JOIN versions USING (schema_id) "
                "WHERE schema_references.subject = ? AND schema_references.version = ? AND NOT deleted",
                (subject, version),
            ).fetchone()
            if used is not None:
                raise RegistryError(
                    f"One or more references exist to {subject} version {version}.", 422, 42206
                )
            connection.execute(
                "UPDATE versions SET deleted = 1 WHERE subject = ? AND version = ?", (subject, version)
            )
            return
        connection.execute("DELETE FROM versions WHERE subject = ? AND version = ?", (subject, version))
        unused = "NOT IN (SELECT schema_id FROM versions)"
        connection.execute(f"DELETE FROM schema_references WHERE schema_id {unused}")
        connection.execute(f"DELETE FROM schemas WHERE id {unused}")


#: Sessions of parent processes, kept so that the garbage collector does not close their connections here.
_abandoned: list[_Session] = []


def _check_version(version: Any) -> None:
    if not isinstance(version, int) or not 1 <= version <= _MAX_VERSION:
        raise RegistryError(
            f"The specified version '{version}' is not a valid version id. Allowed values are between "
            '[1, 2^31-1] and the string "latest"',
            422,
            42202,
        )


def _check_json(text: str) -> None:
    """Refuse text that is no JSON, or JSON of a type that no schema has."""
    try:
        document = json.loads(text, parse_constant=_not_json)
    except (ValueError, RecursionError) as error:
        invalid(f"Invalid schema: not JSON: {error}")
    if not isinstance(document, (dict, bool)):
        invalid("Invalid schema: a JSON Schema is an object or a boolean")


def _not_json(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _dump(schema: Schema) -> str:
    """Write a schema as the JSON text that the database keeps; equal schemas have equal texts."""
    metadata = schema.metadata
    return json.dumps(
        [
            schema.type,
            schema.text,
            [[each.name, each.subject, each.version] for each in schema.references],
            None if metadata is None else [metadata.properties, metadata.tags, metadata.sensitive],
        ]
    )


def _load(content: str) -> Schema:
    kind, text, references, metadata = json.loads(content)
    kept = None
    if metadata is not None:
        kept = Metadata.of(dict(metadata[0]), dict(metadata[1]), metadata[2])
    return Schema(text, kind, tuple(Reference(*each) for each in references), kept)
