"""A registry kept in an SQLite database: what ``memory://`` and ``sqlite://`` have in common."""

import functools
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from kcodec.errors import RegistryError, SchemaError, check_booleans, check_kind
from kcodec.formats.schema_format import SchemaFormat, schema_format
from kcodec.registry.base import (
    DEFAULT_CONTEXT,
    Reference,
    RegisteredSchema,
    Schema,
    check_schema,
    check_subject,
    context_of,
    context_prefix,
    guid,
    invalid,
    qualified,
)
from kcodec.registry.compatibility.levels import Compatibility, Earlier, check, check_level
from kcodec.registry.references import named_texts
from kcodec.registry.settings import Config
from kcodec.registry.stored import MAX_VERSION, StoredSchemas, check_version, dump, kept_texts

__all__ = ["EmbeddedRegistry", "Registration"]

_texts = kept_texts()

_HALF = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")


class Registration(NamedTuple):
    """A schema on its way into a registry: its text is canonical, its references are resolved."""

    subject: str
    schema: Schema
    parsed: Any
    importing: bool
    id: int | None
    version: int | None
    force: bool


class EmbeddedRegistry(StoredSchemas):
    """A `SchemaRegistry` over an SQLite database.

    Every method is one transaction; those that write take the write lock before they read. What a registration goes
    through, in this order: the subject's name and its alias, the mode, the text is made canonical (normalized if asked
    or configured), references are resolved, the subject is searched for the same content, its compatibility level is
    checked, the new version is stored.
    """

    # Registration

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
        check_booleans(normalize=normalize)
        check_kind(int | None, "a whole number", schema_id=schema_id, version=version)
        # Confluent's clients send -1 for an id that is not given, 0 or -1 for a version.
        schema_id = None if schema_id is not None and schema_id < 0 else schema_id
        version = None if version is not None and version <= 0 else version
        given = check_schema(schema)
        if given.rules is not None:
            given.rules.check()
        with self._transaction() as connection:
            subject, config = self._meant(connection, subject)
            importing = self._check_registration(connection, subject, schema_id is not None)
            normalize = normalize or bool(config.normalize)
            if not importing:
                schema = self._populated(connection, subject, given, config)
            # What a registry elsewhere has taken is taken as it is.
            kept, parsed = self._canonical(
                schema,
                context_of(subject),
                config=config,
                normalize=normalize and not importing,
                new=not importing,
            )
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
                if found is not None and version in (None, found.version):
                    return found
        return Registration(subject, kept, parsed, importing, schema_id, version, force)

    def _populated(
        self, connection: sqlite3.Connection, subject: str, schema: Schema, config: Config
    ) -> Schema:
        """Return a schema with what it takes from the latest version and the configuration."""
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
            if found is not None and version in (None, found.version):
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
            if version not in (None, self._next_version(connection, subject)):
                invalid("Version is not one more than previous version")
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
            subject, config = self._meant(connection, subject)
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
                self._check_subject_exists(connection, subject, deleted=deleted)
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
        only = None if version in ("latest", -1, None) else check_version(version)
        with self._transaction() as connection:
            subject, config = self._meant(connection, subject)
            if level is not None:
                config = Config(check_level(level)).over(config)
            if only is not None:
                self._row(connection, subject, only, deleted=False)
            normalize = normalize or bool(config.normalize)
            kept, parsed = self._compared(schema, context_of(subject), config, normalize)
            return self._compatibility(
                connection, subject, kept, parsed, config, only, all_versions=version is None
            )

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
        check_booleans(permanent=permanent)
        if version not in ("latest", -1):
            check_version(version)
        with self._transaction(write=True) as connection:
            subject = self._subject(connection, subject)
            version = self.get_version(subject, version, deleted=True).version or 0
            (deleted,) = connection.execute(
                "SELECT deleted FROM versions WHERE subject = ? AND version = ?", (subject, version)
            ).fetchone()
            if deleted and not permanent:
                raise RegistryError(
                    f"Subject '{subject}' Version {version} was soft deleted. Set permanent=true to delete "
                    "permanently",
                    404,
                    40406,
                )
            self._check_mode(connection, subject)
            self._check_unused(connection, subject, version, deleted=permanent)
            if permanent and not deleted:
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
        check_booleans(permanent=permanent)
        with self._transaction(write=True) as connection:
            subject = self._subject(connection, subject)
            self._check_subject_exists(connection, subject, deleted=True)
            rows = connection.execute(
                "SELECT version, deleted FROM versions WHERE subject = ? ORDER BY version", (subject,)
            ).fetchall()
            gone = [version for version, deleted in rows if permanent or not deleted]
            if not gone:
                raise RegistryError(
                    f"Subject '{subject}' was soft deleted. Set permanent=true to delete permanently",
                    404,
                    40404,
                )
            self._check_mode(connection, subject)
            for version, deleted in rows:
                if permanent or not deleted:
                    self._check_unused(connection, subject, version, deleted=permanent, besides=subject)
                if permanent and not deleted:
                    raise RegistryError(
                        f"Subject '{subject}' was not deleted first before being permanently deleted",
                        404,
                        40405,
                    )
            for version in gone:
                self._delete(connection, subject, version, permanent)
        return gone

    # Steps

    def _canonical(
        self,
        schema: Schema,
        context: str,
        *,
        config: Config,
        normalize: bool = False,
        new: bool = True,
    ) -> tuple[Schema, Any]:
        """Return the schema as it is kept, with canonical text and references' versions, and its parsed form."""
        references = []
        for each in check_schema(schema).references:
            target = check_subject(qualified(each.subject, context))
            try:
                found = self.get_version(target, each.version, deleted=True)
            except RegistryError as error:
                invalid(f"No schema reference found for {each}: {error}")
            # From another context the default one has to be named, for a name alone would be of that context.
            outward = context != DEFAULT_CONTEXT and context_of(target) == DEFAULT_CONTEXT
            subject = f":.:{target}" if outward else check_subject(each.subject)
            references.append(Reference(each.name, subject, found.version or 0))
        if normalize:
            references = sorted(dict.fromkeys(references), key=lambda each: (each.subject, each.version))
        known = schema_format(schema.type)
        how = (normalize, new, new and bool(config.validate_fields))
        try:
            if references:
                schema = replace(schema, references=tuple(references))
                text, parsed = _text(known, schema.text, named_texts(self, schema, context), *how)
            else:
                given = schema.text
                text, parsed = _texts.get((known, given, *how), lambda: _text(known, given, (), *how))
        except SchemaError as error:
            invalid(f"Invalid schema: {error}")
        schema = replace(schema, text=text)
        guid(schema)
        return schema, parsed

    def _compared(self, schema: Schema, context: str, config: Config, normalize: bool) -> tuple[Schema, Any]:
        """Do what `_canonical` does for a schema that is only compared: one that surely can be printed is not printed.

        Nothing of it is remembered: who checks a schema registers it next, or changes it.
        """
        if not check_schema(schema).text.strip():
            invalid("Empty schema")
        if schema.references:
            return self._canonical(schema, context, config=config, normalize=normalize)
        known = schema_format(schema.type)
        is_alone = not normalize and schema.metadata is None and schema.rules is None
        try:
            # What would not be registered is not compatible.
            parsed = _parsed_new(known, schema.text, (), bool(config.validate_fields))
            if is_alone and _is_unicode(schema.text) and known.is_printable(parsed):
                return schema, parsed
            text, parsed = _printed(known, parsed, (), normalize)
        except SchemaError as error:
            invalid(f"Invalid schema: {error}")
        kept = replace(schema, text=text)
        guid(kept)
        return kept, parsed

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
        """Compare a schema with those versions of a subject that the level asks for, or with a given one."""
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
        if config.validate_fields:
            latest = next(
                (each for each in self._versions(connection, subject) if only in (None, each.version)), None
            )
            messages = _reserved(known, parsed, kept, None if latest is None else latest.schema)
            found = found._replace(
                compatible=found.compatible and not messages, messages=(*messages, *found.messages)
            )
        if found.compatible:
            return found
        flag = str(bool(config.validate_fields)).lower()
        last = f"{{validateFields: '{flag}', compatibility: '{level}'}}"
        return found._replace(messages=(*found.messages, last))

    def _store(
        self, connection: sqlite3.Connection, context: str, kept: Schema, number: int | None
    ) -> tuple[int, int]:
        """Return the key and the id of a schema in a context, which may be new."""
        content, identity = dump(kept), guid(kept)
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
            raise RegistryError(
                f"Overwrite new schema with id {number} in context {context_prefix(context)} is not permitted.",
                422,
                42205,
            )
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
            version = self._next_version(connection, subject)
        connection.execute(
            "INSERT INTO versions (subject, version, schema_key) VALUES (?, ?, ?)", (subject, version, key)
        )
        # The softly deleted versions of the same schema go, as in Confluent's server.
        connection.execute(
            "DELETE FROM versions WHERE subject = ? AND schema_key = ? AND version < ? AND deleted AND NOT EXISTS "
            "(SELECT 1 FROM schema_references AS used WHERE used.subject = versions.subject "
            "AND used.version = versions.version)",
            (subject, key, version),
        )
        return RegisteredSchema(number, guid(kept), kept, subject, version)

    def _next_version(self, connection: sqlite3.Connection, subject: str) -> int:
        (version,) = connection.execute(
            "SELECT coalesce(max(version), 0) + 1 FROM versions WHERE subject = ?", (subject,)
        ).fetchone()
        return int(version)

    def _import(
        self,
        connection: sqlite3.Connection,
        subject: str,
        kept: Schema,
        number: int | None,
        version: int | None,
    ) -> RegisteredSchema:
        """Register a schema with the id, and under the version, that it has elsewhere."""
        if number is None or not 1 <= number <= MAX_VERSION:
            raise RegistryError(f"{number} is not the id of a schema", 422, 42205)
        if version is not None:
            check_version(version)
        key, number = self._store(connection, context_of(subject), kept, number)
        found = connection.execute(
            "SELECT version, schema_key, deleted FROM versions WHERE subject = ? AND (version = ? OR schema_key = ?)",
            (subject, version, key),
        ).fetchall()
        for known, known_key, deleted in found:
            # Without a version what is softly deleted comes back under a new one, as in Confluent's server.
            if known_key == key and (known == version or (version is None and not deleted)):
                if deleted:
                    connection.execute(
                        "UPDATE versions SET deleted = 0 WHERE subject = ? AND version = ?", (subject, known)
                    )
                return RegisteredSchema(number, guid(kept), kept, subject, known)
            if known == version:
                raise RegistryError(
                    f"Subject '{subject}' has another schema as version {version}.", 422, 42205
                )
        return self._add_version(connection, subject, kept, key, number, version)

    def _delete(self, connection: sqlite3.Connection, subject: str, version: int, permanent: bool) -> None:
        if not permanent:
            connection.execute(
                "UPDATE versions SET deleted = 1 WHERE subject = ? AND version = ?", (subject, version)
            )
            return
        self._remove(connection, subject, version)
        if connection.execute("SELECT 1 FROM versions WHERE subject = ?", (subject,)).fetchone() is None:
            connection.execute("DELETE FROM settings WHERE subject = ?", (subject,))


def _text(
    known: SchemaFormat, text: str, references: Any, normalize: bool, new: bool, fields: bool
) -> tuple[str, Any]:
    """Return the text that a registry keeps of a schema, and the parsed form of that."""
    schema = _parsed_new(known, text, references, fields) if new else known.parse_known(text, references)
    return _printed(known, schema, references, normalize)


def _parsed_new(known: SchemaFormat, text: str, references: Any, fields: bool) -> Any:
    """Return the parsed form of a text that is not registered yet; ``fields`` refuses reserved names of fields."""
    schema = known.parse(text, references)
    if fields:
        known.check_fields(schema)
    return schema


def _printed(known: SchemaFormat, schema: Any, references: Any, normalize: bool) -> tuple[str, Any]:
    """Return the text of a parsed schema, and the parsed form of that."""
    if not normalize:
        return known.canonical(schema), schema
    normal = known.normalized(schema)
    return normal, known.parse_known(normal, references)


def _is_unicode(text: str) -> bool:
    """Return whether JSON text has no half of a surrogate pair, escaped or not; pairs of escapes count as halves."""
    return (text.isascii() and "\\u" not in text) or _HALF.search(text) is None


def _reserved(known: SchemaFormat, parsed: Any, new: Schema, old: Schema | None) -> list[str]:
    """Return what is wrong with the reserved names of fields in a schema's metadata."""
    names = _reserved_names(new)
    gone = set() if old is None else _reserved_names(old) - names
    return [
        f"The new schema has reserved field {name} removed from its metadata which is present in the old schema's "
        "metadata."
        for name in sorted(gone)
    ] + [
        f"The new schema has field that conflicts with the reserved field {name}."
        for name in sorted(names.intersection(known.top_fields(parsed)))
    ]


def _reserved_names(schema: Schema) -> set[str]:
    names = (_property(schema, "confluent:reserved") or "").split(",")
    return {each.strip() for each in names} - {""}


def _property(schema: Schema, name: str) -> str | None:
    return None if schema.metadata is None else dict(schema.metadata.properties).get(name)
