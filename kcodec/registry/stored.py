"""The schemas, subjects and versions that an SQLite database holds, and their lists."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from kcodec._kept import Kept
from kcodec.errors import RegistryError, SchemaError, check_kind
from kcodec.formats.schema_format import SchemaFormat, schema_format
from kcodec.registry.base import (
    ALL_CONTEXTS,
    DEFAULT_CONTEXT,
    Reference,
    RegisteredSchema,
    Schema,
    SubjectVersion,
    check_subject,
    context_of,
    guid,
    invalid,
    invalid_version,
    own_name,
    qualified,
    unknown_schema,
)
from kcodec.registry.configured import ConfiguredDatabase
from kcodec.registry.metadata import Metadata
from kcodec.registry.references import named_texts
from kcodec.registry.rules import RuleSet

__all__ = ["MAX_VERSION", "Counts", "StoredSchemas", "check_version", "dump", "kept_texts"]

MAX_VERSION = 2**31 - 1

#: Whether a subject names a context, and the name that it has there.
_IN_CONTEXT = "subject LIKE ':.%:%'"
_OWN = "substr(subject, instr(substr(subject, 2), ':') + 2)"

#: Texts whose parsed forms are kept, and the characters of all of them.
_MAX_KEPT = 100_000
_MAX_REMEMBERED = 2_000_000


def kept_texts() -> Kept[tuple[Any, ...], Any]:
    """Return room for what is made of texts, the second of what a key has."""
    return Kept(_MAX_KEPT, lambda key: len(key[1]), _MAX_REMEMBERED)


_parsed = kept_texts()

#: Schemas by what the database keeps of them.
_loaded: Kept[str, Schema] = Kept(_MAX_KEPT, len, _MAX_REMEMBERED)


class Counts(NamedTuple):
    """What a registry holds, without what is softly deleted.

    Attributes
    ----------
    subjects : int
        Subjects of all contexts.
    versions : int
        Their versions.
    types : dict of str to int
        How many schemas there are of each type.
    """

    subjects: int
    versions: int
    types: dict[str, int]


class StoredSchemas(ConfiguredDatabase):
    """What is registered, as far as it is only read."""

    # Schemas

    def get(self, schema_id: int, subject: str | None = None, *, form: str = "") -> RegisteredSchema:
        """Find a schema by its id; `form` is the server's ``format`` of the text."""
        with self._transaction() as connection:
            context = self._context_of_id(connection, schema_id, subject)
            return self._get("context = ? AND id = ?", (context, schema_id), schema_id, form)

    def schema_place(self, schema_id: int, subject: str) -> SubjectVersion:
        """Return where the schema is that is meant by an id and a subject: there, or where it was registered first."""
        with self._transaction() as connection:
            context = self._context_of_id(connection, schema_id, subject)
            own = own_name(self._meant_by(connection, subject))
            row = connection.execute(
                "SELECT subject, version FROM versions JOIN schemas ON key = schema_key WHERE context = ? AND id = ? "
                "ORDER BY subject = ? DESC, key, version DESC LIMIT 1",
                (context, schema_id, qualified(own, context)),
            ).fetchone()
        if row is None:
            unknown_schema(schema_id)
        return SubjectVersion(*row)

    def schema_ids(self, guid: str) -> list[tuple[str, int]]:
        """Return the contexts that have a schema, and its ids there."""
        with self._transaction() as connection:
            rows = connection.execute(
                "SELECT context, id FROM schemas WHERE guid = ? ORDER BY context, id", (str(guid).lower(),)
            )
            return rows.fetchall()

    def max_id(self, subject: str | None = None) -> int:
        """Return the highest id that was given in the context of a subject."""
        context = DEFAULT_CONTEXT if subject is None else context_of(check_subject(subject, whole=False))
        with self._transaction() as connection:
            row = connection.execute("SELECT last_id FROM contexts WHERE name = ?", (context,)).fetchone()
            return 0 if row is None else int(row[0])

    def get_by_guid(self, guid: str, *, form: str = "") -> RegisteredSchema:
        """Find a schema by its GUID."""
        return self._get("guid = ?", (str(guid).lower(),), guid, form)

    def _context_of_id(self, connection: sqlite3.Connection, schema_id: int, subject: str | None) -> str:
        """Return the context in which an id is meant.

        As in Confluent's server an id under a subject of the default context may be that of the same subject in another
        one; under a subject of another context it has to be that subject's.
        """
        name = "" if subject is None else self._meant_by(connection, subject)
        context, own = context_of(name), own_name(name)
        if not own:
            return context
        rows = connection.execute(
            "SELECT context FROM schemas JOIN versions ON key = schema_key WHERE id = ? AND subject = "
            "CASE context WHEN ? THEN ? ELSE ':' || context || ':' || ? END ORDER BY context",
            (schema_id, DEFAULT_CONTEXT, own, own),
        )
        found = [row[0] for row in rows]
        if context == DEFAULT_CONTEXT:
            return found[0] if found else context
        if context not in found:
            unknown_schema(schema_id)
        return context

    def _meant_by(self, connection: sqlite3.Connection, subject: str) -> str:
        """Return the subject that is meant by a name, which may be an alias, or a context."""
        name = check_subject(subject, whole=False)
        return self._subject(connection, name) if own_name(name) else name

    def _get(self, condition: str, values: tuple[Any, ...], name: int | str, form: str) -> RegisteredSchema:
        """Return the first schema that meets a condition; `name` is what a message calls it."""
        with self._transaction() as connection:
            row = connection.execute(
                f"SELECT id, guid, content, context FROM schemas WHERE {condition} ORDER BY context, id",
                values,
            ).fetchone()
            if row is None:
                unknown_schema(name)
            return self._in_form(RegisteredSchema(row[0], row[1], _load(row[2])), row[3], form)

    def _in_form(self, found: RegisteredSchema, context: str, form: str) -> RegisteredSchema:
        if not form:
            return found
        known = schema_format(found.schema.type)
        text = known.printed(self._parsed(known, found.schema, context), form)
        return replace(found, schema=replace(found.schema, text=text))

    def get_version(
        self,
        subject: str,
        version: int | Literal["latest"] = "latest",
        *,
        deleted: bool = False,
        form: str = "",
    ) -> RegisteredSchema:
        """Find a version of a subject."""
        number = None if version in ("latest", -1) else check_version(version)
        with self._transaction() as connection:
            subject = self._subject(connection, subject)
            self._check_subject_exists(connection, subject, deleted=deleted)
            if number is None:
                # The latest version is one that is not deleted, whatever else is asked for.
                live = next(self._versions(connection, subject), None)
                if live is None:
                    raise RegistryError("Version -1 not found.", 404, 40402)
                found = live
            else:
                found = self._row(connection, subject, number, deleted=deleted)
            return self._in_form(found, context_of(subject), form)

    def get_latest_with_metadata(
        self, subject: str, properties: Mapping[str, str], *, deleted: bool = True
    ) -> RegisteredSchema:
        """Find the latest version whose metadata has all these properties; softly deleted ones count unless told."""
        check_kind(Mapping, "a mapping of names to values", properties=properties)
        wanted = set(properties.items())
        with self._transaction() as connection:
            subject = self._subject(connection, subject)
            self._check_subject_exists(connection, subject, deleted=deleted)
            for found in self._versions(connection, subject, deleted=deleted):
                if found.schema.metadata is not None and wanted <= set(found.schema.metadata.properties):
                    return found
        raise RegistryError("Schema not found", 404, 40403)

    def associated_subjects(self, topic: str, is_key: bool, cluster: str = "-") -> list[str]:
        """Return nothing: associations are kept by servers."""
        return []

    # Lists

    def subjects(
        self,
        prefix: str = "",
        *,
        deleted: bool = False,
        deleted_only: bool = False,
        offset: int = 0,
        limit: int = -1,
    ) -> list[str]:
        """Return the subjects that have a version, sorted.

        A prefix may name the default context (``:.:``), or stand for every context (``:*:``), as on servers.
        """
        check_kind(str, "text", prefix=prefix)
        every = "max(deleted)" if deleted_only else "1" if deleted else "NOT min(deleted)"
        if prefix.startswith(ALL_CONTEXTS):
            prefix = prefix.removeprefix(ALL_CONTEXTS)
            wanted = f"substr(CASE WHEN {_IN_CONTEXT} THEN {_OWN} ELSE subject END, 1, ?) = ?"
        elif prefix.startswith(":.:"):
            prefix = prefix.removeprefix(":.:")
            wanted = f"NOT {_IN_CONTEXT} AND substr(subject, 1, ?) = ?"
        else:
            wanted = "substr(subject, 1, ?) = ?"
        with self._transaction() as connection:
            rows = connection.execute(
                f"SELECT subject FROM versions WHERE {wanted} GROUP BY subject "
                f"HAVING {every} ORDER BY subject LIMIT ? OFFSET ?",
                (len(prefix), prefix, limit, offset),
            )
            return [row[0] for row in rows]

    def versions(
        self,
        subject: str,
        *,
        deleted: bool = False,
        deleted_only: bool = False,
        offset: int = 0,
        limit: int = -1,
    ) -> list[int]:
        """Return the numbers of a subject's versions."""
        with self._transaction() as connection:
            subject = self._subject(connection, subject)
            self._check_subject_exists(connection, subject, deleted=deleted or deleted_only)
            rows = connection.execute(
                "SELECT version FROM versions WHERE subject = ? AND (? OR NOT deleted) AND (deleted OR NOT ?) "
                "ORDER BY version LIMIT ? OFFSET ?",
                (subject, deleted or deleted_only, deleted_only, limit, offset),
            )
            return [row[0] for row in rows]

    def every_version(self) -> list[tuple[RegisteredSchema, bool]]:
        """Return the versions of all subjects, and whether each is softly deleted; an alias has its own here."""
        with self._transaction() as connection:
            rows = connection.execute(
                "SELECT id, guid, content, subject, version, deleted FROM versions JOIN schemas ON key = schema_key "
                "ORDER BY subject, version"
            ).fetchall()
        return [
            (RegisteredSchema(number, identity, _load(content), subject, version), bool(deleted))
            for number, identity, content, subject, version, deleted in rows
        ]

    def schema_versions(
        self, schema_id: int, subject: str | None = None, *, deleted: bool = False
    ) -> list[SubjectVersion]:
        """Return where a schema of an id is registered."""
        with self._transaction() as connection:
            found = self.get(schema_id, subject)
            context = self._context_of_id(connection, schema_id, subject)
            rows = connection.execute(
                "SELECT subject, version FROM versions JOIN schemas ON key = schema_key WHERE context = ? AND id = ? "
                "AND (? OR NOT deleted) ORDER BY subject, version",
                (context, found.id, deleted),
            )
            return [SubjectVersion(*row) for row in rows]

    def referenced_by(
        self, subject: str, version: int | Literal["latest"] = "latest", *, deleted: bool = False
    ) -> list[int]:
        """Return the ids of the schemas that refer to a version."""
        found = self.get_version(subject, version, deleted=True)
        with self._transaction() as connection:
            rows = connection.execute(
                "SELECT DISTINCT id FROM schema_references JOIN versions USING (schema_key) "
                "JOIN schemas ON key = schema_key WHERE schema_references.subject = ? AND "
                "schema_references.version = ? AND (? OR NOT deleted) ORDER BY id",
                (found.subject, found.version, deleted),
            )
            return [row[0] for row in rows]

    def contexts(self) -> list[str]:
        """Return the names of the contexts."""
        with self._transaction() as connection:
            names = [row[0] for row in connection.execute("SELECT name FROM contexts")]
        return sorted({DEFAULT_CONTEXT, *names})

    def counts(self) -> Counts:
        """Return how much there is.

        Examples
        --------
        >>> from kcodec.registry.memory import MemoryRegistry
        >>> registry = MemoryRegistry()
        >>> registered = registry.register("orders-value", Schema('"string"'))
        >>> registry.counts()
        Counts(subjects=1, versions=1, types={'AVRO': 1})
        """
        with self._transaction() as connection:
            subjects, versions = connection.execute(
                "SELECT count(DISTINCT subject), count(*) FROM versions WHERE NOT deleted"
            ).fetchone()
            # The content begins with the type: see dump.
            types = connection.execute(
                "SELECT substr(content, 3, instr(substr(content, 3), '\"') - 1) AS type, count(*) FROM schemas "
                "WHERE EXISTS (SELECT 1 FROM versions WHERE schema_key = key AND NOT deleted) GROUP BY type"
            )
            return Counts(subjects, versions, dict(types))

    def newest(self, limit: int) -> list[RegisteredSchema]:
        """Return the schemas that were registered last, each where it was registered first."""
        with self._transaction() as connection:
            rows = connection.execute(
                "SELECT id, guid, content, subject, version FROM schemas JOIN versions ON schema_key = key "
                "WHERE NOT deleted GROUP BY key HAVING min(version) ORDER BY key DESC LIMIT ?",
                (limit,),
            )
            return [
                RegisteredSchema(number, identity, _load(content), subject, version)
                for number, identity, content, subject, version in rows
            ]

    def meant(self, subject: str) -> str:
        """Return the subject that is meant by a name: itself, or what it is an alias of.

        Examples
        --------
        >>> from kcodec.registry import Config
        >>> from kcodec.registry.memory import MemoryRegistry
        >>> registry = MemoryRegistry()
        >>> config = registry.set_config(Config(alias=":.lab:b"), "a")
        >>> registry.meant("a"), registry.meant(":.:c")
        (':.lab:b', 'c')
        """
        with self._transaction() as connection:
            return self._subject(connection, subject)

    # Rows

    def _subject(self, connection: sqlite3.Connection, subject: str) -> str:
        """Return the name of the subject that is meant: itself, or what it is an alias of."""
        name = check_subject(subject)
        alias = self._config(connection, name).alias
        return check_subject(qualified(alias, context_of(name))) if alias else name

    def _versions(
        self,
        connection: sqlite3.Connection,
        subject: str,
        *,
        deleted: bool = False,
        referring: bool = False,
    ) -> Iterator[RegisteredSchema]:
        """Yield the versions of a subject, the latest first; all, or those that refer to others."""
        only = "AND schema_key IN (SELECT schema_key FROM schema_references)" if referring else ""
        rows = connection.execute(
            "SELECT id, guid, content, version FROM versions JOIN schemas ON key = schema_key "
            f"WHERE subject = ? AND (? OR NOT deleted) {only} ORDER BY version DESC",
            (subject, deleted),
        )
        for schema_id, identity, content, version in rows:
            yield RegisteredSchema(schema_id, identity, _load(content), subject, version)

    def _row(
        self, connection: sqlite3.Connection, subject: str, version: int, *, deleted: bool
    ) -> RegisteredSchema:
        row = connection.execute(
            "SELECT id, guid, content FROM versions JOIN schemas ON key = schema_key "
            "WHERE subject = ? AND version = ? AND (? OR NOT deleted)",
            (subject, version, deleted),
        ).fetchone()
        if row is None:
            raise RegistryError(f"Version {version} not found.", 404, 40402)
        return RegisteredSchema(row[0], row[1], _load(row[2]), subject, version)

    def _find(
        self, connection: sqlite3.Connection, subject: str, kept: Schema, *, deleted: bool = False
    ) -> RegisteredSchema | None:
        rows = connection.execute(
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

    def _find_inlined(
        self, connection: sqlite3.Connection, subject: str, kept: Schema, *, deleted: bool
    ) -> RegisteredSchema | None:
        known = schema_format(kept.type)
        context = context_of(subject)
        for found in self._versions(connection, subject, deleted=deleted, referring=True):
            if (
                found.schema.type == kept.type
                and known.resolved(self._parsed(known, found.schema, context)) == kept.text
            ):
                return found
        return None

    def _check_subject_exists(self, connection: sqlite3.Connection, subject: str, *, deleted: bool) -> None:
        row = connection.execute(
            "SELECT 1 FROM versions WHERE subject = ? AND (? OR NOT deleted) LIMIT 1", (subject, deleted)
        ).fetchone()
        if row is None:
            raise RegistryError(f"Subject '{subject}' not found.", 404, 40401)

    def _parsed(self, known: SchemaFormat, schema: Schema, context: str) -> Any:
        """Return the parsed form of a schema as it is kept."""
        try:
            if schema.references:
                return known.parse_known(schema.text, named_texts(self, schema, context))
            return _parsed.get((known, schema.text), lambda: known.parse_known(schema.text))
        except SchemaError as error:
            invalid(f"Invalid schema: {error}")


def check_version(version: Any) -> int:
    """Return the number of a version, if it is one; anything else is refused."""
    if not isinstance(version, int) or not 1 <= version <= MAX_VERSION:
        invalid_version(version)
    return int(version)


def dump(schema: Schema) -> str:
    """Return the JSON text that the database keeps of a schema; equal schemas have equal texts."""
    metadata, rules = schema.metadata, schema.rules
    parts = [
        schema.type,
        schema.text,
        [[each.name, each.subject, each.version] for each in schema.references],
        None if metadata is None else [metadata.properties, metadata.tags, metadata.sensitive],
    ]
    return json.dumps(parts if rules is None else [*parts, rules.json])


def _load(content: str) -> Schema:
    """Return the schema that `dump` made a text of."""
    return _loaded.get(content, lambda: _undumped(content))


def _undumped(content: str) -> Schema:
    kind, text, references, metadata, *rules = json.loads(content)
    kept = None
    if metadata is not None:
        kept = Metadata.of(dict(metadata[0]), dict(metadata[1]), metadata[2])
    found = RuleSet.of(rules[0]) if rules else None
    return Schema(text, kind, tuple(Reference(*each) for each in references), kept, found)
