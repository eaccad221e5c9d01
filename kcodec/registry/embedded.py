"""A registry kept in an SQLite database: what ``memory://`` and ``sqlite://`` have in common."""

import functools
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypeVar

from kcodec._kept import Kept
from kcodec.errors import RegistryError, SchemaError
from kcodec.formats.schema_format import SchemaFormat, schema_format
from kcodec.registry.base import (
    DEFAULT_CONTEXT,
    Reference,
    RegisteredSchema,
    Schema,
    SubjectVersion,
    check_schema,
    check_subject,
    context_of,
    guid,
    invalid,
    qualified,
)
from kcodec.registry.compatibility.levels import Compatibility, Earlier, check, check_level
from kcodec.registry.database import Database
from kcodec.registry.metadata import Metadata
from kcodec.registry.references import InContext, named_texts
from kcodec.registry.rules import RuleSet
from kcodec.registry.settings import DEFAULTS, NOTHING, Config, check_mode

__all__ = ["Counts", "EmbeddedRegistry", "Registration"]

_Setting = TypeVar("_Setting")

_MAX_VERSION = 2**31 - 1

#: Texts whose parsed forms are kept, and the characters of all of them.
_MAX_KEPT = 100_000
_MAX_REMEMBERED = 2_000_000

#: Where the settings of the whole registry are kept.
_GLOBAL = ""


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


class Registration(NamedTuple):
    """A schema on its way into a registry: its text is canonical, its references are resolved."""

    subject: str
    schema: Schema
    parsed: Any
    importing: bool
    id: int | None
    version: int | None
    force: bool


class EmbeddedRegistry(Database):
    """A `SchemaRegistry` over an SQLite database.

    Every method is one transaction; those that write take the write lock before they read. What a registration goes
    through, in this order: the subject's name and its alias, the mode, the text is made canonical (normalized if asked
    or configured), references are resolved, the subject is searched for the same content, its compatibility level is
    checked, the new version is stored.
    """

    # Schemas

    def register(
        self,
        subject: str,
        schema: Schema,
        *,
        normalize: bool = False,
        schema_id: int | None = None,
        version: int | None = None,
    ) -> RegisteredSchema:
        """Register a schema under a subject; what is registered there already keeps its id and version."""
        found = self.prepare(subject, schema, normalize=normalize, schema_id=schema_id, version=version)
        return found if isinstance(found, RegisteredSchema) else self.store(found)

    def prepare(
        self,
        subject: str,
        schema: Schema,
        *,
        normalize: bool = False,
        schema_id: int | None = None,
        version: int | None = None,
        force: bool = False,
    ) -> "RegisteredSchema | Registration":
        """Do the part of a registration that only reads; return what is registered already, or what `store` takes.

        Without metadata, rules or a text of its own a schema has those of the latest version. ``force`` leaves out the
        check of compatibility.
        """
        with self._transaction() as connection:
            subject = self._subject(connection, subject)
            config = self._effective(connection, subject)
            importing = self._check_mode(connection, subject, importing=schema_id is not None)
            normalize = normalize or bool(config.normalize and not importing)
            given = check_schema(schema)
            if not importing:
                schema = self._populated(connection, subject, given, config)
            kept, parsed = self._canonical(schema, context_of(subject), config=config, normalize=normalize)
            if not importing:
                found = self._find(connection, subject, kept)
                if found is None and normalize:
                    # What is registered in the same words keeps its id and version, normalized or not.
                    plain, _ = self._canonical(schema, context_of(subject), config=config)
                    found = self._find(connection, subject, plain)
                if found is None and schema != given and given.text:
                    # What is registered without metadata and rules is still found so.
                    bare = replace(kept, metadata=given.metadata, rules=given.rules)
                    found = self._find(connection, subject, bare)
                if found is None and not kept.references:
                    found = self._find_inlined(connection, subject, kept, deleted=False)
                if found is not None:
                    return found
        return Registration(subject, kept, parsed, importing, schema_id, version, force)

    def _populated(
        self, connection: sqlite3.Connection, subject: str, schema: Schema, config: Config
    ) -> Schema:
        """Return a schema with what it has of the latest version and of the configuration."""
        latest = next(self._versions(connection, subject), None)
        previous = None if latest is None else latest.schema
        if not schema.text.strip():
            if previous is None:
                invalid("Empty schema")
            schema = replace(schema, text=previous.text, type=previous.type, references=previous.references)
        metadata, rules = schema.metadata, schema.rules
        if previous is not None:
            metadata, rules = metadata or previous.metadata, rules or previous.rules
        metadata = config.default_metadata if metadata is None else metadata.over(config.default_metadata)
        if config.override_metadata is not None:
            metadata = config.override_metadata.over(metadata)
        rules = config.default_rule_set if rules is None else rules.over(config.default_rule_set)
        if config.override_rule_set is not None:
            rules = config.override_rule_set.over(rules)
        return replace(schema, metadata=metadata, rules=rules)

    def store(self, registration: "Registration") -> RegisteredSchema:
        """Register what was prepared."""
        subject, kept, parsed, importing, schema_id, version, force = registration
        with self._transaction(write=True) as connection:
            if importing:
                return self._import(connection, subject, kept, schema_id, version)
            found = self._find(connection, subject, kept)
            if found is not None:
                return found
            self._check_mode(connection, subject)
            config = self._effective(connection, subject)
            verdict = None if force else self._compatibility(connection, subject, kept, parsed, config)
            if verdict is not None and not verdict.compatible:
                raise RegistryError(
                    f'Schema being registered is incompatible with an earlier schema for subject "{subject}", '
                    f"details: [{', '.join(verdict.messages)}]",
                    409,
                    40901,
                )
            key, number = self._store(connection, context_of(subject), kept, None)
            return self._add_version(connection, subject, kept, key, number, None)

    def lookup(
        self, subject: str, schema: Schema, *, normalize: bool = False, deleted: bool = False
    ) -> RegisteredSchema:
        """Find a schema under a subject by its content.

        A schema sent with its references written out is also found where it is registered with references, if its
        language can write them out, as Avro can (``ParsedSchema.canLookup`` of the real server).
        """
        with self._transaction() as connection:
            subject = self._subject(connection, subject)
            self._check_subject_exists(connection, subject, deleted=deleted)
            config = self._effective(connection, subject)
            kept, _ = self._canonical(schema, context_of(subject), config=config, new=False)
            found = None
            if normalize or config.normalize:
                normal, _ = self._canonical(
                    schema, context_of(subject), config=config, normalize=True, new=False
                )
                found = self._find(connection, subject, normal, deleted=deleted)
            if found is None:
                found = self._find(connection, subject, kept, deleted=deleted)
            if found is None and not kept.references:
                found = self._find_inlined(connection, subject, kept, deleted=deleted)
            if found is None:
                full = self._populated(connection, subject, kept, config)
                found = self._find(connection, subject, full, deleted=deleted)
            if found is None:
                raise RegistryError("Schema not found", 404, 40403)
            return found

    def check_compatibility(
        self,
        subject: str,
        schema: Schema,
        level: str | None = None,
        version: int | Literal["latest"] | None = "latest",
        *,
        normalize: bool = False,
    ) -> Compatibility:
        """Check whether a schema may become the next version of a subject."""
        if version not in ("latest", -1, None):
            _check_version(version)
        with self._transaction() as connection:
            subject = self._subject(connection, subject)
            config = self._effective(connection, subject)
            if level is not None:
                config = Config(check_level(level)).over(config)
            normalize = normalize or bool(config.normalize)
            kept, parsed = self._canonical(
                schema, context_of(subject), config=config, normalize=normalize, new=False
            )
            only = None
            if version not in ("latest", -1, None):
                self._check_subject_exists(connection, subject)
                only = int(version or 0)
                self._row(connection, subject, only, deleted=False)
            return self._compatibility(
                connection, subject, kept, parsed, config, only, all_versions=version is None
            )

    def get(self, schema_id: int, subject: str | None = None, *, form: str = "") -> RegisteredSchema:
        """Find a schema by its id; `form` is the server's ``format`` of the text."""
        context = DEFAULT_CONTEXT if subject is None else context_of(check_subject(subject, whole=False))
        return self._get("context = ? AND id = ?", (context, schema_id), schema_id, form)

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

    def _get(self, condition: str, values: tuple[Any, ...], name: int | str, form: str) -> RegisteredSchema:
        """Return the first schema that meets a condition; `name` is what a message calls it."""
        with self._transaction() as connection:
            row = connection.execute(
                f"SELECT id, guid, content, context FROM schemas WHERE {condition} ORDER BY context, id",
                values,
            ).fetchone()
            if row is None:
                raise RegistryError(f"Schema {name} not found", 404, 40403)
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
        latest = version in ("latest", -1)
        if not latest:
            _check_version(version)
        with self._transaction() as connection:
            subject = self._subject(connection, subject)
            self._check_subject_exists(connection, subject, deleted=deleted)
            if latest:
                found = next(self._versions(connection, subject, deleted=deleted))
            else:
                found = self._row(connection, subject, int(version), deleted=deleted)
            return self._in_form(found, context_of(subject), form)

    def get_latest_with_metadata(
        self, subject: str, properties: Mapping[str, str], *, deleted: bool = True
    ) -> RegisteredSchema:
        """Find the latest version whose metadata has all these properties; softly deleted ones count unless told."""
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
        """Return the subjects that have a version, sorted."""
        every = "max(deleted)" if deleted_only else "1" if deleted else "NOT min(deleted)"
        with self._transaction() as connection:
            rows = connection.execute(
                "SELECT subject FROM versions WHERE substr(subject, 1, ?) = ? GROUP BY subject "
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

    def schema_versions(
        self, schema_id: int, subject: str | None = None, *, deleted: bool = False
    ) -> list[SubjectVersion]:
        """Return where a schema of an id is registered."""
        found = self.get(schema_id, subject)
        context = DEFAULT_CONTEXT if subject is None else context_of(subject)
        name = None if subject is None or subject.endswith(":") else check_subject(subject)
        with self._transaction() as connection:
            rows = connection.execute(
                "SELECT subject, version FROM versions JOIN schemas ON key = schema_key WHERE context = ? AND id = ? "
                "AND (? OR NOT deleted) AND (? IS NULL OR subject = ?) ORDER BY subject, version",
                (context, found.id, deleted, name, name),
            )
            return [SubjectVersion(*row) for row in rows]

    def referenced_by(
        self, subject: str, version: int | Literal["latest"] = "latest", *, deleted: bool = False
    ) -> list[int]:
        """Return the ids of the schemas that refer to a version."""
        found = self.get_version(subject, version)
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
            # The content begins with the type: see _dump.
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

    # Deletion

    def delete_context(self, name: str) -> None:
        """Delete a context that no subject is in; its ids begin at 1 again if it is used once more."""
        name = name.strip(":")
        with self._transaction(write=True) as connection:
            if connection.execute("SELECT 1 FROM schemas WHERE context = ?", (name,)).fetchone():
                raise RegistryError(f"The specified context '{name}' is not empty.", 422, 42211)
            if not connection.execute("DELETE FROM contexts WHERE name = ?", (name,)).rowcount:
                raise RegistryError(f"Context '{name}' not found.", 404, 40401)
            connection.execute("DELETE FROM settings WHERE subject = ?", (f":{name}:",))

    def delete_version(
        self, subject: str, version: int | Literal["latest"], *, permanent: bool = False
    ) -> int:
        """Delete a version; its number is not given again while others remain."""
        if version not in ("latest", -1):
            _check_version(version)
        with self._transaction(write=True) as connection:
            subject = self._subject(connection, subject)
            self._check_subject_exists(connection, subject, deleted=True)
            self._check_mode(connection, subject)
            if version in ("latest", -1):
                version = self.get_version(subject).version or 0
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
            self._delete(connection, subject, int(version), permanent)
        return int(version)

    def delete_subject(self, subject: str, *, permanent: bool = False) -> list[int]:
        """Delete all versions of a subject, or none."""
        with self._transaction(write=True) as connection:
            subject = self._subject(connection, subject)
            self._check_subject_exists(connection, subject, deleted=True)
            self._check_mode(connection, subject)
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
            connection.execute("DELETE FROM settings WHERE subject = ?", (subject,))
        return gone

    # Settings

    def config(self, subject: str | None = None, *, default_to_global: bool = False) -> Config:
        """Return what a subject is set to, or the registry as a whole."""
        with self._transaction() as connection:
            if subject is None:
                return self._config(connection, _GLOBAL).over(DEFAULTS)
            place = check_subject(subject, whole=False)
            found = self._config(connection, place)
            if default_to_global:
                return self._effective(connection, place)
            if found == NOTHING:
                raise RegistryError(
                    f"Subject '{subject}' does not have subject-level compatibility configured", 404, 40408
                )
            return found

    def set_config(
        self, config: Config, subject: str | None = None, *, cleared: Iterable[str] = ()
    ) -> Config:
        """Set what is given of a configuration, and leave the rest as it is; returns what is given.

        What stands under the ``cleared`` keys of the server is then no longer set.
        """
        place = _GLOBAL if subject is None else check_subject(subject, whole=False)
        with self._transaction(write=True) as connection:
            kept = config.over(self._config(connection, place).without(cleared))
            self._set(connection, place, "config", json.dumps(kept.json))
        return config

    def delete_config(self, subject: str | None = None) -> Config:
        """Set a subject back to what holds for all, or the registry to the defaults; returns what was set."""
        with self._transaction(write=True) as connection:
            found = self._own(self.config, subject, 40408)
            self._set(
                connection,
                _GLOBAL if subject is None else check_subject(subject, whole=False),
                "config",
                None,
            )
        return found

    def _own(self, ask: Callable[[str | None], _Setting], subject: str | None, missing: int) -> _Setting:
        """Return what is set and will be dropped."""
        try:
            return ask(subject)
        except RegistryError as error:
            if error.error_code != missing:
                raise
            raise RegistryError(f"Subject '{subject}' not found.", 404, 40401) from None

    def mode(self, subject: str | None = None, *, default_to_global: bool = False) -> str:
        """Return the mode of a subject, or of the registry as a whole."""
        with self._transaction() as connection:
            if subject is None:
                return self._mode(connection, _GLOBAL) or "READWRITE"
            place = check_subject(subject, whole=False)
            if default_to_global:
                return self._effective_mode(connection, place)
            found = self._mode(connection, place)
        if found is None:
            raise RegistryError(
                f"Subject '{subject}' does not have subject-level mode configured", 404, 40409
            )
        return found

    def set_mode(self, mode: str, subject: str | None = None, *, force: bool = False) -> str:
        """Set the mode of a subject, or of the registry as a whole.

        IMPORT takes subjects that have no versions, unless it is forced.
        """
        mode = check_mode(mode)
        place = _GLOBAL if subject is None else check_subject(subject, whole=False)
        with self._transaction(write=True) as connection:
            if mode == "IMPORT" and not force and self._effective_mode(connection, place) != "IMPORT":
                found = connection.execute(
                    "SELECT 1 FROM versions WHERE NOT deleted AND (subject = ? OR ? = '' OR "
                    "(substr(?, -1) = ':' AND substr(subject, 1, length(?)) = ?)) LIMIT 1",
                    (place, place, place, place, place),
                ).fetchone()
                if found is not None:
                    raise RegistryError("Cannot import since found existing subjects", 422, 42205)
            self._set(connection, place, "mode", mode)
        return mode

    def delete_mode(self, subject: str | None = None) -> str:
        """Set a subject back to the mode that holds for all; returns what was set."""
        with self._transaction(write=True) as connection:
            found = self._own(self.mode, subject, 40409)
            place = _GLOBAL if subject is None else check_subject(subject, whole=False)
            self._set(connection, place, "mode", None)
        return found

    def _set(self, connection: sqlite3.Connection, place: str, column: str, value: str | None) -> None:
        connection.execute(
            f"INSERT INTO settings (subject, {column}) VALUES (?, ?) "
            f"ON CONFLICT (subject) DO UPDATE SET {column} = excluded.{column}",
            (place, value),
        )

    def _config(self, connection: sqlite3.Connection, place: str) -> Config:
        row = connection.execute("SELECT config FROM settings WHERE subject = ?", (place,)).fetchone()
        return NOTHING if row is None or row[0] is None else Config.of(json.loads(row[0]))

    def _effective(self, connection: sqlite3.Connection, subject: str) -> Config:
        """Return what holds for a subject: its own, its context's, the registry's, the defaults."""
        found = self._config(connection, subject)
        for place in _around(subject):
            found = found.over(self._config(connection, place))
        return found.over(DEFAULTS)

    def _mode(self, connection: sqlite3.Connection, place: str) -> str | None:
        row = connection.execute("SELECT mode FROM settings WHERE subject = ?", (place,)).fetchone()
        return None if row is None else row[0]

    def _effective_mode(self, connection: sqlite3.Connection, subject: str) -> str:
        modes = [self._mode(connection, place) for place in (subject, *_around(subject))]
        if modes[-1] == "READONLY_OVERRIDE":
            return "READONLY_OVERRIDE"
        return next((mode for mode in modes if mode is not None), "READWRITE")

    def _check_mode(self, connection: sqlite3.Connection, subject: str, importing: bool = False) -> bool:
        """Refuse a change that the mode of a subject does not allow; returns whether schemas are imported there."""
        mode = self._effective_mode(connection, subject)
        named = f"Subject {subject} in context {context_of(subject)}"
        if mode.startswith("READONLY"):
            raise RegistryError(f"{named} is in read-only mode", 422, 42205)
        if importing and mode != "IMPORT":
            raise RegistryError(f"{named} is not in import mode", 422, 42205)
        return mode == "IMPORT"

    # Steps of registration

    def _subject(self, connection: sqlite3.Connection, subject: str) -> str:
        """Return the name of the subject that is meant: itself, or what it is an alias of."""
        name = check_subject(subject)
        alias = self._config(connection, name).alias
        return name if alias is None else check_subject(qualified(alias, context_of(name)))

    def _canonical(
        self, schema: Schema, context: str, *, config: Config, normalize: bool = False, new: bool = True
    ) -> tuple[Schema, Any]:
        """Return the schema as it is kept, with canonical text and references' versions, and its parsed form."""
        references = []
        for each in check_schema(schema).references:
            target = check_subject(qualified(each.subject, context))
            try:
                found = self.get_version(target, each.version, deleted=True)
            except RegistryError as error:
                invalid(f"No schema reference found for {each}: {error}")
            subject = check_subject(each.subject)
            references.append(Reference(each.name, subject, found.version or 0))
        if normalize:
            references = sorted(dict.fromkeys(references), key=lambda each: (each.subject, each.version))
        kept = replace(schema, references=tuple(references))
        known = schema_format(schema.type)
        how = (normalize, new, new and bool(config.validate_fields))
        try:
            if kept.references:
                text, parsed = _text(known, kept.text, named_texts(InContext(self, context), kept), *how)
            else:
                text, parsed = _texts.get((known, kept.text, *how), lambda: _text(known, kept.text, (), *how))
        except SchemaError as error:
            invalid(f"Invalid schema: {error}")
        schema = replace(kept, text=text)
        guid(schema)
        return schema, parsed

    def _parsed(self, known: SchemaFormat, schema: Schema, context: str) -> Any:
        """Return the parsed form of a schema as it is kept."""
        try:
            if schema.references:
                return known.parse_known(schema.text, named_texts(InContext(self, context), schema))
            return _parsed.get((known, schema.text), lambda: known.parse_known(schema.text))
        except SchemaError as error:
            invalid(f"Invalid schema: {error}")

    def _compatibility(
        self,
        connection: sqlite3.Connection,
        subject: str,
        kept: Schema,
        parsed: Any,
        config: Config,
        only: int | None = None,
        all_versions: bool = True,
    ) -> Compatibility:
        """Compare a schema with the versions of a subject that its level asks for, or with one of them."""
        level = config.compatibility or "NONE"
        known = schema_format(kept.type)
        context = context_of(subject)
        group = config.compatibility_group

        def earlier() -> Iterator[Earlier]:
            for found in self._versions(connection, subject):
                if only is not None and found.version != only:
                    continue
                if group is not None and _property(found.schema, group) != _property(kept, group):
                    continue
                schema = found.schema
                parse = functools.partial(self._parsed, known, schema, context)
                yield Earlier(found.version or 0, schema.type, schema.text, parse)
                if only is not None or not all_versions:
                    return

        try:
            found = check(
                known,
                level,
                parsed,
                earlier(),
                config.compatibility_policy or "STRICT",
            )
        except SchemaError as error:
            invalid(f"Invalid schema: {error}")
        if found.compatible:
            return found
        flag = str(bool(config.validate_fields)).lower()
        last = f"{{validateFields: '{flag}', compatibility: '{level}'}}"
        return found._replace(messages=(*found.messages, last))

    def _store(
        self, connection: sqlite3.Connection, context: str, kept: Schema, number: int | None
    ) -> tuple[int, int]:
        """Return the key and the id of a schema in a context, which may be new."""
        content, identity = _dump(kept), guid(kept)
        for key, known, text in connection.execute(
            # Not by the index that has the ids in their order: that is all of the context.
            "SELECT key, id, content FROM schemas INDEXED BY schemas_guid WHERE context = ? AND guid = ? "
            "ORDER BY id",
            (context, identity),
        ):
            if text == content and number in (None, known):
                return key, known
        connection.execute("INSERT OR IGNORE INTO contexts VALUES (?, 0)", (context,))
        if number is None:
            (number,) = connection.execute(
                "SELECT last_id + 1 FROM contexts WHERE name = ?", (context,)
            ).fetchone()
        elif connection.execute(
            "SELECT 1 FROM schemas WHERE context = ? AND id = ?", (context, number)
        ).fetchone():
            raise RegistryError(f"Overwrite new schema with id {number} is not permitted.", 422, 42207)
        connection.execute("UPDATE contexts SET last_id = max(last_id, ?) WHERE name = ?", (number, context))
        cursor = connection.execute(
            "INSERT INTO schemas (context, id, guid, content) VALUES (?, ?, ?, ?)",
            (context, number, identity, content),
        )
        key = int(cursor.lastrowid or 0)
        connection.executemany(
            "INSERT INTO schema_references VALUES (?, ?, ?)",
            [
                (key, check_subject(qualified(each.subject, context)), each.version)
                for each in kept.references
            ],
        )
        return key, int(number or 0)

    def _add_version(
        self,
        connection: sqlite3.Connection,
        subject: str,
        kept: Schema,
        key: int,
        number: int,
        version: int | None,
    ) -> RegisteredSchema:
        if version is None:
            (version,) = connection.execute(
                "SELECT coalesce(max(version), 0) + 1 FROM versions WHERE subject = ?", (subject,)
            ).fetchone()
        connection.execute(
            "INSERT INTO versions (subject, version, schema_key) VALUES (?, ?, ?)", (subject, version, key)
        )
        return RegisteredSchema(number, guid(kept), kept, subject, version)

    def _import(
        self,
        connection: sqlite3.Connection,
        subject: str,
        kept: Schema,
        number: int | None,
        version: int | None,
    ) -> RegisteredSchema:
        """Register a schema with the id, and under the version, that it has elsewhere."""
        if number is None or not 1 <= number <= _MAX_VERSION:
            raise RegistryError(
                f"Subject {subject} in context {context_of(subject)} is in import mode", 422, 42205
            )
        if version is not None:
            _check_version(version)
        key, number = self._store(connection, context_of(subject), kept, number)
        found = connection.execute(
            "SELECT version, schema_key, deleted FROM versions WHERE subject = ? AND (version = ? OR schema_key = ?)",
            (subject, version, key),
        ).fetchall()
        for known, known_key, deleted in found:
            if known_key == key and version in (None, known):
                if deleted:
                    connection.execute(
                        "UPDATE versions SET deleted = 0 WHERE subject = ? AND version = ?", (subject, known)
                    )
                return RegisteredSchema(number, guid(kept), kept, subject, known)
            if known == version:
                raise RegistryError(f"Overwrite new schema with id {number} is not permitted.", 422, 42207)
        return self._add_version(connection, subject, kept, key, number, version)

    # Rows

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
        content = _dump(kept)
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
                "SELECT 1 FROM schema_references JOIN versions USING (schema_key) "
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
        (key,) = connection.execute(
            "SELECT schema_key FROM versions WHERE subject = ? AND version = ?", (subject, version)
        ).fetchone()
        connection.execute("DELETE FROM versions WHERE subject = ? AND version = ?", (subject, version))
        if connection.execute("SELECT 1 FROM versions WHERE schema_key = ?", (key,)).fetchone() is None:
            connection.execute("DELETE FROM schema_references WHERE schema_key = ?", (key,))
            connection.execute("DELETE FROM schemas WHERE key = ?", (key,))


def _text(
    known: SchemaFormat, text: str, references: Any, normalize: bool, new: bool, fields: bool
) -> tuple[str, Any]:
    """Return the text that a registry keeps of a schema, and the parsed form of that."""
    schema = (known.parse if new else known.parse_known)(text, references)
    if fields:
        known.check_fields(schema)
    if not normalize:
        return known.canonical(schema), schema
    normal = known.normalized(schema)
    return normal, known.parse_known(normal, references)


def _characters(key: tuple[Any, ...]) -> int:
    text: str = key[1]
    return len(text)


_texts: Kept[tuple[Any, ...], tuple[str, Any]] = Kept(_MAX_KEPT, _characters, _MAX_REMEMBERED)

_parsed: Kept[tuple[Any, ...], Any] = Kept(_MAX_KEPT, _characters, _MAX_REMEMBERED)


def _around(subject: str) -> tuple[str, ...]:
    """Return the places whose settings hold for a subject that has none of its own, the nearest first."""
    context = context_of(subject)
    return (_GLOBAL,) if context == DEFAULT_CONTEXT else (f":{context}:", _GLOBAL)


def _property(schema: Schema, name: str) -> str | None:
    return None if schema.metadata is None else dict(schema.metadata.properties).get(name)


def _check_version(version: Any) -> None:
    if not isinstance(version, int) or not 1 <= version <= _MAX_VERSION:
        raise RegistryError(
            f"The specified version '{version}' is not a valid version id. Allowed values are between "
            '[1, 2^31-1] and the string "latest"',
            422,
            42202,
        )


def _dump(schema: Schema) -> str:
    """Write a schema as the JSON text that the database keeps; equal schemas have equal texts."""
    metadata, rules = schema.metadata, schema.rules
    parts = [
        schema.type,
        schema.text,
        [[each.name, each.subject, each.version] for each in schema.references],
        None if metadata is None else [metadata.properties, metadata.tags, metadata.sensitive],
    ]
    return json.dumps(parts if rules is None else [*parts, rules.json])


def _load(content: str) -> Schema:
    kind, text, references, metadata, *rules = json.loads(content)
    kept = None
    if metadata is not None:
        kept = Metadata.of(dict(metadata[0]), dict(metadata[1]), metadata[2])
    found = RuleSet.of(rules[0]) if rules else None
    return Schema(text, kind, tuple(Reference(*each) for each in references), kept, found)
