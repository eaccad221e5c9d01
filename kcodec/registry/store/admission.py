"""What a schema has to be to become a version: its text, its references, its compatibility, its reserved names."""

import functools
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from kcodec.errors import RegistryError, SchemaError
from kcodec.formats.language import SchemaLanguage
from kcodec.formats.schema_format import schema_format
from kcodec.registry.base import (
    DEFAULT_CONTEXT,
    Reference,
    RegisteredSchema,
    Schema,
    check_schema,
    check_subject,
    context_of,
    guid,
    invalid,
    qualified,
)
from kcodec.registry.compatibility.levels import Compatibility, Earlier, check
from kcodec.registry.references import named_texts
from kcodec.registry.settings import Config
from kcodec.registry.store.content import kept_texts
from kcodec.registry.store.versions import Identity, VersionsTable

_texts, _parsed = kept_texts(), kept_texts()

_HALF = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")


class Admission:
    """The rules by which schemas are taken, over the versions that there are; it changes nothing.

    >>> from kcodec.registry.store.database import Database
    >>> from kcodec.registry.store.settings import SettingsTable
    >>> database = Database(":memory:", "memory://")
    >>> admission = Admission(VersionsTable(database, SettingsTable(database)))
    >>> with database.transaction():
    ...     admission.canonical(Schema('{"type": "int"}'), ".", config=Config())[0].text
    '"int"'
    """

    def __init__(self, versions: VersionsTable) -> None:
        self._versions = versions

    def canonical(
        self, schema: Schema, context: str, *, config: Config, normalize: bool = False, new: bool = True
    ) -> tuple[Schema, Any]:
        """Return the schema as it is kept, with canonical text and references' versions, and its parsed form."""
        references = []
        for each in check_schema(schema).references:
            target = check_subject(qualified(each.subject, context))
            try:
                found = self._versions.get_version(target, each.version, deleted=True)
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
                text, parsed = _text(known, schema.text, named_texts(self._versions, schema, context), *how)
            else:
                given = schema.text
                text, parsed = _texts.get((known, given, *how), lambda: _text(known, given, (), *how))
        except SchemaError as error:
            invalid(f"Invalid schema: {error}")
        schema = replace(schema, text=text)
        guid(schema)
        return schema, parsed

    def compared(self, schema: Schema, context: str, config: Config, normalize: bool) -> tuple[Schema, Any]:
        """Do what `canonical` does for a schema that is only compared: it is not printed if that would surely work.

        Nothing of it is remembered: who checks a schema registers it next, or changes it.
        """
        if not check_schema(schema).text.strip():
            invalid("Empty schema")
        if schema.references:
            return self.canonical(schema, context, config=config, normalize=normalize)
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

    def compatibility(
        self,
        subject: str,
        kept: Schema,
        parsed: Any,
        config: Config,
        only: int | None = None,
        all_versions: bool = True,
        fitting: set[Identity] | None = None,
    ) -> Compatibility:
        """Compare a schema with those versions of a subject that the level asks for, or with a given one.

        Versions that are known to be ``fitting`` are not compared again; those that are found to fit become so.
        """
        level = config.compatibility or "NONE"
        known = schema_format(kept.type)
        context = context_of(subject)
        group = config.compatibility_group
        is_one = only is not None or not all_versions or not level.endswith("_TRANSITIVE")
        fitting = set() if fitting is None else fitting
        compared = []

        def earlier() -> Iterator[Earlier]:
            for identity, found in self._besides(subject, fitting):
                if only is not None and identity.version != only:
                    continue
                if found is not None:
                    if group is not None and _property(found.schema, group) != _property(kept, group):
                        continue
                    schema = found.schema
                    parse = functools.partial(self.parsed, known, schema, context)
                    compared.append(identity)
                    yield Earlier(identity.version, schema.type, schema.text, parse)
                if is_one:
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
            fitting.update(compared)
        if config.validate_fields:
            latest = next(
                (each for each in self._versions.each(subject) if only in (None, each.version)), None
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

    def _besides(
        self, subject: str, fitting: set[Identity]
    ) -> Iterator[tuple[Identity, RegisteredSchema | None]]:
        """Yield the versions of a subject, the latest first, of those that are `fitting` without what they are."""
        if not fitting:
            for found in self._versions.each(subject):
                yield Identity(found.version or 0, found.id or 0, found.guid), found
            return
        for each in self._versions.identities(subject):
            yield each, None if each in fitting else self._versions.row(subject, each.version, deleted=False)

    def in_form(self, found: RegisteredSchema, context: str, form: str) -> RegisteredSchema:
        """Return a schema of a context with its text in a form, the server's ``format``; empty for as it is kept."""
        if not form:
            return found
        known = schema_format(found.schema.type)
        text = known.printed(self.parsed(known, found.schema, context), form)
        return replace(found, schema=replace(found.schema, text=text))

    def find_inlined(self, subject: str, kept: Schema, *, deleted: bool) -> RegisteredSchema | None:
        """Return the version of a subject that is a schema if its references are written out.

        A language may be able to do so, as Avro is (``ParsedSchema.canLookup`` of the real server).
        """
        # To look for the versions of a subject that refer to others takes a look at all of them.
        if kept.references or not self._versions.has_references():
            return None
        known = schema_format(kept.type)
        context = context_of(subject)
        for found in self._versions.each(subject, deleted=deleted, referring=True):
            if (
                found.schema.type == kept.type
                and known.resolved(self.parsed(known, found.schema, context)) == kept.text
            ):
                return found
        return None

    def parsed(self, known: SchemaLanguage, schema: Schema, context: str) -> Any:
        """Return the parsed form of a schema as it is kept."""
        try:
            if schema.references:
                return known.parse_known(schema.text, named_texts(self._versions, schema, context))
            return _parsed.get((known, schema.text), lambda: known.parse_known(schema.text))
        except SchemaError as error:
            invalid(f"Invalid schema: {error}")


def populated(schema: Schema, previous: Schema | None, config: Config) -> Schema:
    """Return a schema with what it takes from the latest version (None: there is none) and the configuration."""
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


def _text(
    known: SchemaLanguage, text: str, references: Any, normalize: bool, new: bool, fields: bool
) -> tuple[str, Any]:
    """Return the text that a registry keeps of a schema, and the parsed form of that."""
    schema = _parsed_new(known, text, references, fields) if new else known.parse_known(text, references)
    return _printed(known, schema, references, normalize)


def _parsed_new(known: SchemaLanguage, text: str, references: Any, fields: bool) -> Any:
    """Return the parsed form of a text that is not registered yet; ``fields`` refuses reserved names of fields."""
    schema = known.parse(text, references)
    if fields:
        known.check_fields(schema)
    return schema


def _printed(known: SchemaLanguage, schema: Any, references: Any, normalize: bool) -> tuple[str, Any]:
    """Return the text of a parsed schema, and the parsed form of that."""
    if not normalize:
        return known.canonical(schema), schema
    normal = known.normalized(schema)
    return normal, known.parse_known(normal, references)


def _is_unicode(text: str) -> bool:
    """Return whether JSON text has no halves of surrogate pairs; an escaped pair counts as two halves."""
    return (text.isascii() and "\\u" not in text) or _HALF.search(text) is None


def _reserved(known: SchemaLanguage, parsed: Any, new: Schema, old: Schema | None) -> list[str]:
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
