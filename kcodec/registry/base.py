"""What a schema registry is to the rest of the package: one protocol, and the values that pass through it."""

import hashlib
import html
import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, NoReturn, Protocol, TypeAlias, TypeVar, runtime_checkable

from kcodec.columns.shown import html_table, shortened
from kcodec.errors import ConfigError, RegistryError, check_kind
from kcodec.formats.schema_format import find_schema_format
from kcodec.registry.compatibility.levels import Compatibility
from kcodec.registry.metadata import Metadata, listed
from kcodec.registry.rules import RuleSet
from kcodec.registry.settings import Config

_Setting = TypeVar("_Setting")

#: The type of a schema where none is said.
DEFAULT_TYPE = "AVRO"

#: The context of subjects that name none.
DEFAULT_CONTEXT = "."

#: The context whose settings hold in every context that has none of its own; it has no subjects.
GLOBAL_CONTEXT = ".__GLOBAL"

#: A prefix of subjects that stands for every context.
ALL_CONTEXTS = ":*:"

#: Characters that no subject has: control characters, and halves of surrogate pairs.
_REFUSED = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Reference:
    """A schema named by another.

    Attributes
    ----------
    name : str
        What the referring text calls it: an Avro full name, a Protobuf import path, a JSON Schema ``$ref``.
    subject : str
        Where it is registered.
    version : int
        Which version there; -1 stands for the latest and is replaced when the schema is registered.

    Examples
    --------
    >>> Reference("shop.Item", "items-value", 1).json
    {'name': 'shop.Item', 'subject': 'items-value', 'version': 1}
    """

    name: str
    subject: str
    version: int

    @property
    def json(self) -> dict[str, Any]:
        """The reference as servers write it."""
        return {"name": self.name, "subject": self.subject, "version": self.version}


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema as a client has it.

    Attributes
    ----------
    text : str
        JSON of Avro and JSON Schema, source text of Protobuf.
    type : str
        ``"AVRO"``, ``"JSON"``, ``"PROTOBUF"``, or that of a plugin's `kcodec.formats.schema_format.SchemaFormat`.
    references : tuple of Reference
        The registered schemas that the text names; a tuple whatever sequence it is made of.
    metadata : Metadata or None
        What is registered with it.
    rules : RuleSet or None
        The rules that are registered with it; serdes run them.

    Examples
    --------
    >>> Schema('"int"').type
    'AVRO'
    >>> Schema('syntax = "proto3";', "PROTOBUF").json
    {'schemaType': 'PROTOBUF', 'schema': 'syntax = "proto3";'}
    """

    text: str
    type: str = DEFAULT_TYPE
    references: tuple[Reference, ...] = ()
    metadata: Metadata | None = None
    rules: RuleSet | None = None

    def __post_init__(self) -> None:
        check_kind(Iterable, "a sequence of Reference", references=self.references)
        object.__setattr__(self, "references", tuple(self.references))

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "Schema":
        """Make one from a server's JSON; missing parts become empty, or None in a reference.

        Raises
        ------
        AttributeError, TypeError, ValueError
            If it is something else.

        Examples
        --------
        >>> Schema.of({"schema": '"int"', "references": [], "id": 7})
        Schema(text='"int"', type='AVRO', references=(), metadata=None, rules=None)
        """
        text, kind = body.get("schema") or "", body.get("schemaType") or DEFAULT_TYPE
        for value, name in ((text, "schema"), (kind, "schemaType")):
            if not isinstance(value, str):
                raise TypeError(f"{name} is not text")
        references = tuple(
            Reference(each.get("name"), each.get("subject"), each.get("version"))
            for each in listed(body, "references")
        )
        metadata, rules = body.get("metadata"), body.get("ruleSet")
        return cls(
            text,
            kind,
            references,
            None if metadata is None else Metadata.of_json(metadata),
            None if rules is None else RuleSet.of(rules),
        )

    @property
    def json(self) -> dict[str, Any]:
        """The schema as servers write it, without what is empty."""
        body: dict[str, Any] = {"schemaType": self.type}
        if self.references:
            body["references"] = [each.json for each in self.references]
        if self.metadata is not None:
            body["metadata"] = self.metadata.json
        if self.rules is not None:
            body["ruleSet"] = self.rules.json
        return {**body, "schema": self.text}


@dataclass(frozen=True, slots=True, repr=False)
class RegisteredSchema:
    """A schema as a registry has it; in a notebook it is a table, with the text below it.

    Attributes
    ----------
    id : int or None
        Its number in this registry, from 1: the same for the same content, whatever the subject. None where a
        server was asked by GUID: it does not tell.
    guid : str
        Its name in any registry: see `guid`.
    schema : Schema
        The text as the registry keeps it.
    subject : str or None
        Where it was asked for; None if it was asked for by id or GUID.
    version : int or None
        Which version there; None also where a server does not tell.

    Examples
    --------
    >>> from kcodec.registry import open
    >>> registry = open("memory://registered-schema")
    >>> registered = registry.register("orders-value", Schema('"int"'))
    >>> registered.id, registered.subject, registered.version
    (1, 'orders-value', 1)
    >>> registry.get(1).schema
    Schema(text='"int"', type='AVRO', references=(), metadata=None, rules=None)
    >>> registered
    RegisteredSchema(id=1, subject='orders-value', version=1, guid='ef524ea1-b91e-7317-3d93-8ade36c1db32', \
type='AVRO', text='"int"')
    """

    id: int | None
    guid: str
    schema: Schema
    subject: str | None = None
    version: int | None = None

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self._facts())
        return f"RegisteredSchema({shown}, text={shortened(self.schema.text, 200)!r})"

    def _repr_html_(self) -> str:
        names, values = zip(*self._facts(), strict=True)
        text = shortened(self.schema.text, 2000)
        return (
            html_table(names, [[shortened(value, 100) for value in values]])
            + f"<pre>{html.escape(text)}</pre>"
        )

    def _facts(self) -> list[tuple[str, Any]]:
        """Return what is known of it but its text."""
        found = [("id", self.id), ("subject", self.subject), ("version", self.version), ("guid", self.guid)]
        return [
            (name, value) for name, value in [*found, ("type", self.schema.type)] if value not in (None, "")
        ]


class SubjectVersion(NamedTuple):
    """A place where a schema is registered.

    Attributes
    ----------
    subject : str
        The subject.
    version : int
        Which version there.

    Examples
    --------
    >>> from kcodec.registry import open
    >>> registry = open("memory://subject-version")
    >>> registry.register("orders-value", Schema('"int"')).id
    1
    >>> registry.schema_versions(1)
    [SubjectVersion(subject='orders-value', version=1)]
    """

    subject: str
    version: int


@runtime_checkable
class SchemaRegistry(Protocol):
    """A store of schemas by id and by subject, with the answers of Confluent's Schema Registry.

    Every method raises `kcodec.RegistryError`, with the ``status`` and ``error_code`` of the real server:
    40401 no such subject, 40402 no such version, 40403 no such schema, 40404 and 40406 a subject or version that is
    softly deleted already, 40405 and 40407 one that is not softly deleted yet, 40408 and 40409 a subject without
    settings of its own, 40901 an incompatible schema, 42201 not a schema (or one that refers to what does not exist),
    42202 not a version, 42203 not a level, 42204 not a mode, 42205 not permitted in this mode, or an id or a version
    that another schema has, 42206 still referred to, 42208 not a subject name, 42210 not rules.

    Handles may be used from several threads, and pickle.

    Examples
    --------
    >>> from kcodec.registry import open
    >>> registry = open("memory://schema-registry")
    >>> registry.register("orders-value", Schema('"int"')).version
    1
    >>> registry.subjects(), registry.versions("orders-value")
    (['orders-value'], [1])
    >>> registry.check_compatibility("orders-value", Schema('"string"')).compatible
    False
    """

    @property
    def url(self) -> str:
        """Where it is, without credentials."""

    def register(
        self,
        subject: str,
        schema: Schema,
        *,
        normalize: bool = False,
        schema_id: int | None = None,
        version: int | None = None,
    ) -> RegisteredSchema:
        """Register a schema under a subject; what is registered there already keeps its id and version.

        The id is that of the same content under any subject, else a new one. References of version -1 become those
        of the latest versions. In mode IMPORT the id is given, and the version may be; elsewhere a version that is
        given has to be the next one, or that of the same content.
        """

    def lookup(
        self, subject: str, schema: Schema, *, normalize: bool = False, deleted: bool = False
    ) -> RegisteredSchema:
        """Find a schema under a subject by its content; ``deleted`` finds softly deleted versions as well."""

    def check_compatibility(
        self,
        subject: str,
        schema: Schema,
        level: str | None = None,
        version: int | Literal["latest"] | None = "latest",
        *,
        normalize: bool = False,
    ) -> Compatibility:
        """Check whether a schema may become the next version of a subject.

        Parameters
        ----------
        subject : str
            The subject; one without versions takes anything.
        schema : Schema
            The schema.
        level : str, optional
            A compatibility level; that of the subject if it is not given.
        version : int, "latest" or None
            Which version to compare with; None for all that the level asks for.
        normalize : bool
            Whether the schema is normalized first.

        Returns
        -------
        Compatibility
            The verdict, the differences that break readers, and the server's messages.
        """

    def get(self, schema_id: int, subject: str | None = None, *, form: str = "") -> RegisteredSchema:
        """Find a schema by its id, in the context of a subject.

        With a `form` the text is one of the server's ``format``: ``resolved`` (Avro, references written out),
        ``ignore_extensions`` or ``serialized`` (Protobuf, the latter a descriptor in Base64).
        """

    def get_by_guid(self, guid: str, *, form: str = "") -> RegisteredSchema:
        """Find a schema by its GUID."""

    def get_version(
        self,
        subject: str,
        version: int | Literal["latest"] = "latest",
        *,
        deleted: bool = False,
        form: str = "",
    ) -> RegisteredSchema:
        """Find a version of a subject (-1: the latest); ``deleted`` finds softly deleted ones as well."""

    def get_latest_with_metadata(
        self, subject: str, properties: Mapping[str, str], *, deleted: bool = True
    ) -> RegisteredSchema:
        """Find the latest version whose metadata has all these properties; softly deleted ones count unless told."""

    def associated_subjects(self, topic: str, is_key: bool, cluster: str = "-") -> list[str]:
        """Return the subjects associated with a topic (of a Kafka cluster); embedded registries have none."""

    def subjects(
        self,
        prefix: str = "",
        *,
        deleted: bool = False,
        deleted_only: bool = False,
        offset: int = 0,
        limit: int = -1,
    ) -> list[str]:
        """Return the subjects that have a version, or a softly deleted one; a limit of -1 is none."""

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

    def schema_versions(
        self, schema_id: int, subject: str | None = None, *, deleted: bool = False
    ) -> list[SubjectVersion]:
        """Return where a schema of an id is registered."""

    def referenced_by(
        self, subject: str, version: int | Literal["latest"] = "latest", *, deleted: bool = False
    ) -> list[int]:
        """Return the ids of the schemas that refer to a version."""

    def contexts(self) -> list[str]:
        """Return the names of the contexts."""

    def config(self, subject: str | None = None, *, default_to_global: bool = False) -> Config:
        """Return what a subject is set to, or the registry as a whole."""

    def set_config(self, config: Config, subject: str | None = None) -> Config:
        """Change the given parts of a configuration, and leave the rest as it is; return the given parts."""

    def delete_config(self, subject: str | None = None) -> Config:
        """Reset a subject to what holds for all, or the registry to the defaults; return what was set."""

    def mode(self, subject: str | None = None, *, default_to_global: bool = False) -> str:
        """Return the mode of a subject, or of the registry as a whole."""

    def set_mode(self, mode: str, subject: str | None = None, *, force: bool = False) -> str:
        """Set the mode of a subject, or of the registry as a whole."""

    def delete_mode(self, subject: str | None = None) -> str:
        """Reset a subject to the mode that holds for all; return what was set."""

    def delete_version(
        self, subject: str, version: int | Literal["latest"], *, permanent: bool = False
    ) -> int:
        """Delete a version, and return its number: softly, then permanently.

        Softly deleted versions are found by id, by GUID and by references, and no longer by their subject.
        """

    def delete_subject(self, subject: str, *, permanent: bool = False) -> list[int]:
        """Delete all versions of a subject: softly, then permanently. Returns their numbers."""

    def close(self) -> None:
        """Close files and connections; a handle that is used again opens them again."""


#: What a user gives for a registry: a handle of one, or its URL, as `kcodec.registry.open` takes it.
RegistryLike: TypeAlias = SchemaRegistry | str


def own_config(registry: SchemaRegistry, place: str | None) -> Config | None:
    """Return what a subject, a context or (None) the registry is set to itself; None if nothing is set there."""
    return _own(registry.config, place, 40408)


def own_mode(registry: SchemaRegistry, place: str | None) -> str | None:
    """Return the mode that a subject, a context or (None) the registry has itself; None if it has none."""
    return _own(registry.mode, place, 40409)


def _own(ask: Callable[[str | None], _Setting], place: str | None, missing: int) -> _Setting | None:
    try:
        return ask(place)
    except RegistryError as error:
        if error.error_code != missing:
            raise
        return None


def guid(schema: Schema) -> str:
    """Compute the GUID of a schema: a digest of its content, the same in every registry.

    MD5 over the UTF-8 text, then name, subject and big-endian 32-bit version of each reference, then, if
    there is metadata, a byte 1, tags, properties and sensitive names in order, then, if there are rules, a byte 1 and
    what they say in order. The type is not part of it.
    (``entities/Schema.java`` of the Schema Registry's client.)

    Parameters
    ----------
    schema : Schema
        With the text that the registry keeps.

    Returns
    -------
    str
        In the form of a UUID.

    Raises
    ------
    RegistryError
        42201, if something in it is not text, or not Unicode (lone surrogates).

    Examples
    --------
    >>> guid(Schema('"boolean"'))
    '01f692b3-0d4a-1c8a-3e60-0b1440637f8f'
    """
    digest = hashlib.md5(usedforsecurity=False)

    def add(text: str) -> None:
        if not isinstance(text, str):
            raise RegistryError(f"Invalid schema: {text!r} is not text", 422, 42201)
        try:
            digest.update(text.encode())
        except UnicodeEncodeError:
            raise RegistryError("Invalid schema: the text has lone surrogates", 422, 42201) from None

    check_kind(Schema, "a kcodec.registry.Schema", schema=schema)
    add(schema.text)
    for reference in schema.references:
        add(reference.name)
        add(reference.subject)
        digest.update(reference.version.to_bytes(4, "big", signed=True))
    if schema.metadata is not None:
        digest.update(b"\x01")
        for path, tags in schema.metadata.tags:
            for text in (path, *tags):
                add(text)
        for pair in schema.metadata.properties:
            for text in pair:
                add(text)
        for text in schema.metadata.sensitive:
            add(text)
    if schema.rules is not None:
        digest.update(b"\x01")
        for text in schema.rules.texts:
            add(text)
    return str(uuid.UUID(bytes=digest.digest()))


def check_schema(schema: Any) -> Schema:
    """Return a schema that a client gives; refuse (42201) what is none, or has parts of other types."""
    if not isinstance(schema, Schema):
        invalid(f"a schema is a kcodec.registry.Schema, not {type(schema).__name__}")
    if not _has_format(schema.type):
        invalid(f"Invalid schema type {schema.type!r}")
    if not isinstance(schema.text, str):
        invalid("the text of a schema is a str")
    for each in schema.references:
        if (
            not isinstance(each, Reference)
            or not (isinstance(each.name, str) and each.name)
            or not (isinstance(each.subject, str) and each.subject)
            or not isinstance(each.version, int)
            or isinstance(each.version, bool)
        ):
            invalid(f"Invalid reference {each}")
    if not isinstance(schema.metadata, Metadata | None):
        invalid(f"Invalid metadata {schema.metadata!r}")
    if not isinstance(schema.rules, RuleSet | None):
        invalid(f"Invalid rules {schema.rules!r}")
    return schema


def _has_format(kind: Any) -> bool:
    try:
        found = find_schema_format(kind) if isinstance(kind, str) else None
    except ConfigError as error:
        invalid(f"Invalid schema type {kind!r}: {error}")
    return found is not None and found.type == kind


def invalid(message: str) -> NoReturn:
    """Raise what a registry says of an invalid schema: 42201."""
    raise RegistryError(message, 422, 42201)


def invalid_version(name: object) -> NoReturn:
    """Raise what a registry says of a version that is neither a number nor ``latest``: 42202."""
    raise RegistryError(
        f"The specified version '{name}' is not a valid version id. Allowed values are between [1, 2^31-1] and "
        'the string "latest"',
        422,
        42202,
    )


def unknown_schema(name: int | str) -> NoReturn:
    """Raise what a registry says of an unknown id or GUID: 40403."""
    raise RegistryError(f"Schema {name} not found", 404, 40403)


def check_subject(subject: str, *, whole: bool = True) -> str:
    """Return a subject's name without the prefix of the default context: everything uses that name from then on.

    Unless it has to be `whole`, it may be that of a context: ``:.lab:``, or ``:.lab``. Refused (42208) is a name that
    is empty, reserved, or has control characters or lone surrogates; a subject in the context ``.__GLOBAL``, which has
    settings only; and a name that begins, behind its context, as one with a context does, so that it would be read as
    another subject the next time.

    >>> check_subject(":.:orders-value"), check_subject(":.lab", whole=False)
    ('orders-value', ':.lab:')
    """
    name = subject if isinstance(subject, str) else ""
    context, own = _parts(name)
    is_context = not own and context != DEFAULT_CONTEXT and not whole
    is_reserved = own in ("__GLOBAL", "__EMPTY") or (whole and context == GLOBAL_CONTEXT)
    if (
        not (own or is_context)
        or is_reserved
        or own.startswith((":.", ALL_CONTEXTS))
        or _REFUSED.search(name)
    ):
        raise RegistryError(f"The specified subject {subject!r} is not a valid subject.", 422, 42208)
    return context_prefix(context) + own


def _parts(subject: str) -> tuple[str, str]:
    """Return the context of a name and its own name there, as QualifiedSubject.java takes it apart."""
    if not subject.startswith(":."):
        return DEFAULT_CONTEXT, subject
    context, _, own = subject[1:].partition(":")
    return context, own


def context_of(subject: str) -> str:
    """Return the context of a subject.

    >>> context_of("orders-value"), context_of(":.lab:orders-value")
    ('.', '.lab')
    """
    return _parts(subject)[0]


def context_prefix(context: str) -> str:
    """Return the prefix of a context's subjects, which is also the context's name; empty for the default one.

    >>> context_prefix("."), context_prefix(".lab")
    ('', ':.lab:')
    """
    return "" if context == DEFAULT_CONTEXT else f":{context}:"


def own_name(subject: str) -> str:
    """Return the name that a subject has in its context; nothing for the context itself.

    >>> own_name("orders-value"), own_name(":.lab:orders-value"), own_name(":.lab:")
    ('orders-value', 'orders-value', '')
    """
    return _parts(subject)[1]


def qualified(subject: str, context: str) -> str:
    """Return the full name of a subject that is named within a context.

    >>> qualified("orders-value", ".lab"), qualified(":.other:a", ".lab"), qualified(":.:a", ".lab")
    (':.lab:orders-value', ':.other:a', 'a')
    """
    if subject.startswith(":."):
        # What would be another name without the default context is left for `check_subject` to refuse.
        return subject.removeprefix(":.:") if not subject.startswith(":.::") else subject
    return context_prefix(context) + subject
