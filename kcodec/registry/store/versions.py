"""The versions of subjects, and which schemas refer to which: the tables of versions and of references."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

from kcodec.errors import RegistryError
from kcodec.formats.schema_format import schema_types
from kcodec.registry.base import (
    ALL_CONTEXTS,
    RegisteredSchema,
    Schema,
    context_of,
    guid,
    invalid_version,
    own_name,
)
from kcodec.registry.store.change_log import ChangeLog, author, now
from kcodec.registry.store.content import CONTENT, dump, load
from kcodec.registry.store.database import Database
from kcodec.registry.store.settings import SettingsTable

MAX_VERSION = 2**31 - 1

_MAX_CHARACTER = 0x10FFFF
#: Whether a subject names a context, and the name that it has there.
_IN_CONTEXT = "subject LIKE ':.%:%'"
_OWN = "substr(subject, instr(substr(subject, 2), ':') + 2)"
#: The type of a schema, with which its content begins: see content.dump.
_TYPE = "substr(content, 3, instr(substr(content, 3), '\"') - 1)"


class Counts(NamedTuple):
    """What a registry holds, without what is softly deleted."""

    #: Subjects of all contexts.
    subjects: int
    #: Their versions.
    versions: int
    #: How many schemas there are of each type.
    types: dict[str, int]


class Identity(NamedTuple):
    """What tells a version from any other of its subject, also from one that had its number before."""

    #: Its number.
    version: int
    #: The id of its schema.
    id: int
    #: The GUID of its schema.
    guid: str


class Origin(NamedTuple):
    """Where a version comes from."""

    #: When it was registered, in milliseconds since 1970.
    ts: int
    #: Who did it; empty where no name was shown.
    user: str


class Summary(NamedTuple):
    """What lists are sorted by."""

    #: The type of a subject's latest version.
    type: str
    #: When that was registered, in milliseconds since 1970; None where it is not known.
    ts: int | None


class VersionsTable:
    """What is registered under which subject; within a transaction of the database.

    >>> from kcodec.registry.store.ids import Ids
    >>> database = Database(":memory:", "memory://")
    >>> settings = SettingsTable(database)
    >>> versions = VersionsTable(database, settings)
    >>> with database.transaction(write=True):
    ...     key, number = Ids(database, settings).give(".", Schema('"int"'), None)
    ...     added = versions.add("orders", Schema('"int"'), key, number, versions.next_number("orders"))
    ...     versions.get_version("orders", 1) == added, versions.numbers("orders")
    (True, [1])
    """

    def __init__(self, database: Database, settings: SettingsTable) -> None:
        self._database = database
        self._settings = settings
        self._log = ChangeLog(database)

    # Single versions

    def get_version(
        self, subject: str, version: int | Literal["latest"], *, deleted: bool = False
    ) -> RegisteredSchema:
        """Find a version of the subject that a name or an alias means."""
        number = None if version in ("latest", -1) else check_version(version)
        subject = self._settings.subject(subject)
        self.check_exists(subject, deleted=deleted)
        if number is not None:
            return self.row(subject, number, deleted=deleted)
        # The latest version is one that is not deleted, whatever else is asked for.
        live = next(self.each(subject), None)
        if live is None:
            raise RegistryError("Version -1 not found.", 404, 40402)
        return live

    def has_references(self) -> bool:
        """Return whether any schema refers to another one."""
        (found,) = self._database.execute("SELECT EXISTS (SELECT 1 FROM schema_references)").fetchone()
        return bool(found)

    def each(
        self, subject: str, *, deleted: bool = False, referring: bool = False
    ) -> Iterator[RegisteredSchema]:
        """Yield the versions of a subject, the latest first; all, or those that refer to others."""
        only = "AND schema_key IN (SELECT schema_key FROM schema_references)" if referring else ""
        rows = self._database.execute(
            f"SELECT id, guid, {CONTENT}, version FROM versions JOIN schemas ON key = schema_key "
            f"WHERE subject = ? AND (? OR NOT deleted) {only} ORDER BY version DESC",
            (subject, deleted),
        )
        for schema_id, identity, content, version in rows:
            yield RegisteredSchema(schema_id, identity, load(content, subject, version), subject, version)

    def identities(self, subject: str) -> Iterator[Identity]:
        """Yield the versions of a subject that are not deleted, the latest first, without their schemas."""
        yield from map(
            Identity._make,
            self._database.execute(
                "SELECT version, id, guid FROM versions JOIN schemas ON key = schema_key "
                "WHERE subject = ? AND NOT deleted ORDER BY version DESC",
                (subject,),
            ),
        )

    def row(self, subject: str, version: int, *, deleted: bool) -> RegisteredSchema:
        """Return a version of a subject, or refuse (40402)."""
        row = self._database.execute(
            f"SELECT id, guid, {CONTENT} FROM versions JOIN schemas ON key = schema_key "
            "WHERE subject = ? AND version = ? AND (? OR NOT deleted)",
            (subject, version, deleted),
        ).fetchone()
        if row is None:
            raise RegistryError(f"Version {version} not found.", 404, 40402)
        return RegisteredSchema(row[0], row[1], load(row[2], subject, version), subject, version)

    def find(self, subject: str, kept: Schema, *, deleted: bool = False) -> RegisteredSchema | None:
        """Return the latest version of a subject with the content of a schema."""
        rows = self._database.execute(
            "SELECT id, guid, version, content FROM schemas INDEXED BY schemas_guid "
            "CROSS JOIN versions INDEXED BY versions_schema ON key = schema_key WHERE guid = ? AND context = ? "
            "AND subject = ? AND (? OR NOT deleted) ORDER BY version DESC",
            (guid(kept), context_of(subject), subject, deleted),
        )
        content = dump(kept)
        for number, identity, version, text in rows:
            if text == content:
                return RegisteredSchema(number, identity, kept, subject, version)
        return None

    def check_exists(self, subject: str, *, deleted: bool) -> None:
        """Refuse (40401) a subject without versions."""
        row = self._database.execute(
            "SELECT 1 FROM versions WHERE subject = ? AND (? OR NOT deleted) LIMIT 1", (subject, deleted)
        ).fetchone()
        if row is None:
            raise RegistryError(f"Subject '{subject}' not found.", 404, 40401)

    # Changes

    def next_number(self, subject: str) -> int:
        """Return the number of a subject's next version."""
        (version,) = self._database.execute(
            "SELECT coalesce(max(version), 0) + 1 FROM versions WHERE subject = ?", (subject,)
        ).fetchone()
        return int(version)

    def add(self, subject: str, kept: Schema, key: int, number: int, version: int) -> RegisteredSchema:
        """Add a version of a subject: a schema by its key and id."""
        ts = now()
        self._database.execute(
            "INSERT INTO versions (subject, version, schema_key, ts, author) VALUES (?, ?, ?, ?, ?)",
            (subject, version, key, ts, author.get()),
        )
        self._log.add_version(subject, version, number, ts)
        # The softly deleted versions of the same schema go, as in Confluent's server.
        self._database.execute(
            "DELETE FROM versions WHERE subject = ? AND schema_key = ? AND version < ? AND deleted AND NOT EXISTS "
            "(SELECT 1 FROM schema_references AS used WHERE used.subject = versions.subject "
            "AND used.version = versions.version)",
            (subject, key, version),
        )
        return RegisteredSchema(number, guid(kept), kept, subject, version)

    def bring(
        self, subject: str, kept: Schema, key: int, number: int, version: int | None
    ) -> RegisteredSchema:
        """Add a version of a schema that is elsewhere, under the number that it has there, if it is not here yet."""
        found = self._database.execute(
            "SELECT version, schema_key, deleted FROM versions WHERE subject = ? AND (version = ? OR schema_key = ?)",
            (subject, version, key),
        ).fetchall()
        for known, known_key, deleted in found:
            # Without a version what is softly deleted comes back under a new one, as in Confluent's server.
            if known_key == key and (known == version or (version is None and not deleted)):
                if deleted:
                    self._mark(subject, known, deleted=False)
                    self._log.add_version(subject, known, number, now())
                return RegisteredSchema(number, guid(kept), kept, subject, known)
            if known == version:
                raise RegistryError(
                    f"Subject '{subject}' has another schema as version {version}.", 422, 42205
                )
        return self.add(subject, kept, key, number, self.next_number(subject) if version is None else version)

    def delete(self, subject: str, version: int, *, permanent: bool) -> None:
        """Delete a version softly; or for good, and with the last one what the subject is set to."""
        if not permanent:
            self._mark(subject, version, deleted=True)
            return
        self._remove(subject, version)
        if not self.numbers(subject, deleted=True, limit=1):
            self._settings.drop(subject)

    def clear(self, place: str) -> None:
        """Delete for good the softly deleted versions of a subject, a context or all, none of which may have others."""
        within = "subject = :place" if own_name(place) else "substr(subject, 1, length(:place)) = :place"
        found = self._database.execute(
            f"SELECT subject, version, deleted FROM versions WHERE {within} ORDER BY subject, version",
            {"place": place},
        ).fetchall()
        if not all(deleted for _, _, deleted in found):
            raise RegistryError("Cannot import since found existing subjects", 422, 42205)
        for subject, version, _ in found:
            self.check_unused(subject, version, deleted=True)
        for subject, version, _ in found:
            self._remove(subject, version)
            self._log.add("delete_version", subject, version, permanent=True)

    def check_unused(self, subject: str, version: int, *, deleted: bool, besides: str | None = None) -> None:
        """Refuse (42206) to delete a version that others refer to, not counting those of one subject.

        What is softly deleted may be read by its id: before a version goes for good, such referrers count too
        (``deleted``).
        """
        used = self._database.execute(
            "SELECT 1 FROM schema_references AS used JOIN versions USING (schema_key) WHERE used.subject = ? "
            "AND used.version = ? AND (? OR NOT deleted) AND versions.subject IS NOT ?",
            (subject, version, deleted, besides),
        ).fetchone()
        if used is not None:
            raise RegistryError(f"One or more references exist to {subject} version {version}.", 422, 42206)

    def _mark(self, subject: str, version: int, *, deleted: bool) -> None:
        self._database.execute(
            "UPDATE versions SET deleted = ? WHERE subject = ? AND version = ?", (deleted, subject, version)
        )

    def _remove(self, subject: str, version: int) -> None:
        """Drop a version, and its schema with the last one."""
        (key,) = self._database.execute(
            "SELECT schema_key FROM versions WHERE subject = ? AND version = ?", (subject, version)
        ).fetchone()
        self._database.execute("DELETE FROM versions WHERE subject = ? AND version = ?", (subject, version))
        if self._database.execute("SELECT 1 FROM versions WHERE schema_key = ?", (key,)).fetchone() is None:
            self._database.execute("DELETE FROM schema_references WHERE schema_key = ?", (key,))
            self._database.execute("DELETE FROM schemas WHERE key = ?", (key,))

    # Lists

    def origins(self, subject: str, numbers: Sequence[int]) -> dict[int, Origin]:
        """Return where some versions of a subject come from; nothing of those that an older format has kept."""
        rows = self._database.execute(
            "SELECT version, ts, author FROM versions WHERE subject = ? AND version BETWEEN ? AND ? AND ts NOT NULL",
            (subject, min(numbers, default=0), max(numbers, default=0)),
        )
        return {version: Origin(*rest) for version, *rest in rows if version in numbers}

    def states(self, subject: str) -> dict[int, bool]:
        """Return the versions of a subject, and whether each is softly deleted."""
        rows = self._database.execute(
            "SELECT version, deleted FROM versions WHERE subject = ? ORDER BY version", (subject,)
        )
        return {version: bool(deleted) for version, deleted in rows}

    def numbers(
        self,
        subject: str,
        *,
        deleted: bool = False,
        deleted_only: bool = False,
        offset: int = 0,
        limit: int = -1,
    ) -> list[int]:
        """Return the numbers of a subject's versions."""
        rows = self._database.execute(
            "SELECT version FROM versions WHERE subject = ? AND (? OR NOT deleted) AND (deleted OR NOT ?) "
            "ORDER BY version LIMIT ? OFFSET ?",
            (subject, deleted or deleted_only, deleted_only, limit, offset),
        )
        return [row[0] for row in rows]

    def subjects(
        self, prefix: str, *, deleted: bool, deleted_only: bool, offset: int, limit: int
    ) -> list[str]:
        """Return the subjects that have a version, sorted; a prefix may stand for every context (``:*:``)."""
        states = "deleted" if deleted_only else "TRUE" if deleted else "NOT deleted"
        wanted, values = _beginning(prefix)
        rows = self._database.execute(
            f"SELECT DISTINCT subject FROM versions WHERE {wanted} AND {states} "
            "ORDER BY subject LIMIT ? OFFSET ?",
            (*values, limit, offset),
        )
        return [row[0] for row in rows]

    def count_subjects(self, *, deleted: bool) -> int:
        """Return how many subjects have a version; deleted ones count if `deleted`."""
        (found,) = self._database.execute(
            "SELECT count(*) FROM (SELECT DISTINCT subject FROM versions WHERE deleted <= ?)", (deleted,)
        ).fetchone()
        return int(found)

    def lengths(self, prefixes: Sequence[str], *, deleted: bool) -> Iterator[tuple[str, int]]:
        """Yield the subjects with one of some prefixes, sorted, and how many versions each has."""
        conditions = [_beginning(prefix) for prefix in prefixes]
        wanted = " OR ".join(f"({condition})" for condition, _ in conditions) or "FALSE"
        yield from self._database.execute(
            f"SELECT subject, count(*) FROM versions WHERE ({wanted}) AND deleted <= ? "
            "GROUP BY subject ORDER BY subject",
            (*(value for _, values in conditions for value in values), deleted),
        )

    def all(self) -> list[tuple[RegisteredSchema, bool]]:
        """Return the versions of all subjects, and whether each is softly deleted."""
        rows = self._database.execute(
            f"SELECT id, guid, {CONTENT}, subject, version, deleted FROM versions JOIN schemas ON key = schema_key "
            "ORDER BY subject, version"
        )
        return [(_registered(*row), bool(deleted)) for *row, deleted in rows]

    def referring(self, subject: str, version: int, *, deleted: bool) -> list[int]:
        """Return the ids of the schemas that refer to a version."""
        rows = self._database.execute(
            "SELECT DISTINCT id FROM schema_references JOIN versions USING (schema_key) "
            "JOIN schemas ON key = schema_key WHERE schema_references.subject = ? AND "
            "schema_references.version = ? AND (? OR NOT deleted) ORDER BY id",
            (subject, version, deleted),
        )
        return [row[0] for row in rows]

    def counts(self) -> Counts:
        """Return how much there is."""
        subjects, versions = self._database.execute(
            # By their order: count(DISTINCT) keeps all of them until the end.
            "SELECT count(*), coalesce(sum(versions), 0) FROM "
            "(SELECT count(*) AS versions FROM versions WHERE NOT deleted GROUP BY subject)"
        ).fetchone()
        return Counts(subjects, versions, self._types())

    def _types(self) -> dict[str, int]:
        """Return how many schemas of each type there are that have a version which is not deleted."""
        # Grouping sorts all of them, and looking for the versions of each takes longer than all else. A content begins
        # with ["AVRO", so that those of a type stand between that and ["AVRO#, whose # is the character behind the ".
        known = [(kind, json.dumps([kind]).removesuffix('"]')) for kind in schema_types()]
        each = "".join(", coalesce(sum(content >= ? AND content < ?), 0)" for _ in known)
        bounds = [text for _, start in known for text in (f'{start}"', f"{start}#")]
        total, *numbers = self._database.execute(f"SELECT count(*){each} FROM schemas", bounds).fetchone()
        types = Counter({kind: number for (kind, _), number in zip(known, numbers, strict=True)})
        if total != sum(numbers):
            # Of a language that this process does not know.
            types = Counter(dict(self._grouped("TRUE")))
        types.subtract(
            dict(
                self._grouped(
                    "key IN (SELECT schema_key FROM versions WHERE deleted) AND "
                    "NOT EXISTS (SELECT 1 FROM versions WHERE schema_key = key AND NOT deleted)"
                )
            )
        )
        return dict(+types)

    def _grouped(self, condition: str) -> list[tuple[str, int]]:
        return self._database.execute(
            f"SELECT {_TYPE} AS type, count(*) FROM schemas WHERE {condition} GROUP BY type"
        ).fetchall()

    def subjects_of(self, type: str, *, deleted: bool) -> set[str]:
        """Return the subjects that have a version of a type; deleted ones count if `deleted`."""
        rows = self._database.execute(
            "SELECT DISTINCT subject FROM schemas JOIN versions ON schema_key = key "
            f"WHERE {_TYPE} = ? AND deleted <= ?",
            (type, deleted),
        )
        return {row[0] for row in rows}

    def summaries(self, *, deleted: bool) -> dict[str, Summary]:
        """Return what is known of each subject's latest version; a deleted one counts only if there is no other."""
        rows = self._database.execute(
            f"SELECT subject, {_TYPE}, ts FROM versions JOIN schemas ON schema_key = key WHERE deleted <= ? "
            "GROUP BY subject HAVING max((NOT deleted << 32) + version)",
            (deleted,),
        )
        return {subject: Summary(*rest) for subject, *rest in rows}

    def newest(self, limit: int) -> list[RegisteredSchema]:
        """Return the schemas that were registered last, each where it was registered first."""
        rows = self._database.execute(
            f"SELECT id, guid, {CONTENT}, subject, version FROM schemas JOIN versions ON schema_key = key "
            "WHERE NOT deleted GROUP BY key HAVING min(version) ORDER BY key DESC LIMIT ?",
            (limit,),
        )
        return [_registered(*row) for row in rows]


def _beginning(prefix: str) -> tuple[str, tuple[str, ...]]:
    """Return the condition of subjects with a prefix, which may stand for every context, and its parameters."""
    if prefix.startswith(ALL_CONTEXTS):
        own = prefix.removeprefix(ALL_CONTEXTS)
        name = f"CASE WHEN {_IN_CONTEXT} THEN {_OWN} ELSE subject END"
        return (f"substr({name}, 1, length(?)) = ?", (own, own)) if own else ("TRUE", ())
    if prefix.startswith(":.:"):
        condition, values = _between(prefix.removeprefix(":.:"))
        return f"NOT {_IN_CONTEXT} AND {condition}", values
    return _between(prefix)


def _between(prefix: str) -> tuple[str, tuple[str, ...]]:
    """Return the condition of subjects with a prefix by their order, so that no others are looked at."""
    behind = prefix.rstrip(chr(_MAX_CHARACTER))
    if not behind:
        return "subject >= ?", (prefix,)
    following = ord(behind[-1]) + 1
    # Surrogates are no characters.
    following = 0xE000 if following == 0xD800 else following
    return "subject >= ? AND subject < ?", (prefix, behind[:-1] + chr(following))


def _registered(number: int, identity: str, content: bytes, subject: str, version: int) -> RegisteredSchema:
    return RegisteredSchema(number, identity, load(content, subject, version), subject, version)


def check_version(version: Any) -> int:
    """Return the number of a version, if it is one; anything else is refused."""
    if not isinstance(version, int) or not 1 <= version <= MAX_VERSION:
        invalid_version(version)
    return int(version)
