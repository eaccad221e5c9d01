"""Registries of a user's own: what answers three calls, or one, is a registry to everything that takes one."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NoReturn, Protocol, runtime_checkable
from uuid import UUID

from kcodec.errors import ConfigError, KcodecError, RegistryError, near, one_line
from kcodec.formats.schema_format import find_schema_format
from kcodec.registry.base import (
    DEFAULT_CONTEXT,
    RegisteredSchema,
    Schema,
    SchemaRegistry,
    guid,
    unknown_schema,
)
from kcodec.registry.client_settings import number

__all__ = ["PartialRegistry", "SchemaSource", "SourceRegistry", "check_settings", "of"]

#: An id as a source has it: a number, or the text of a GUID or of a fingerprint in hexadecimal digits.
SchemaId = int | str

_GUID = re.compile(r"[0-9A-Fa-f]{8}(-?)[0-9A-Fa-f]{4}\1[0-9A-Fa-f]{4}\1[0-9A-Fa-f]{4}\1[0-9A-Fa-f]{12}")


@runtime_checkable
class SchemaSource(Protocol):
    """Three calls that make a registry: see `of`.

    A `LookupError` (also a `KeyError`), or None, says that there is no such schema; any other error, that the source
    could not be asked. A source that is shipped to other processes has to pickle.

    Examples
    --------
    >>> class Folder:
    ...     def schema(self, schema_id):
    ...         return Schema('"int"')
    ...     def register(self, subject, schema):
    ...         return 7
    ...     def latest(self, subject):
    ...         return 7, Schema('"int"')
    >>> isinstance(Folder(), SchemaSource)
    True
    """

    def schema(self, schema_id: SchemaId) -> Schema | str | None:
        """Return the schema of an id; a text alone is one of Avro."""

    def register(self, subject: str, schema: Schema) -> SchemaId:
        """Return the id of a schema under a subject, which is registered if it is not yet."""

    def latest(self, subject: str) -> tuple[SchemaId, Schema | str]:
        """Return the id of the latest schema of a subject, and the schema."""


class _Lookup:
    """A source that has schemas by their ids, and nothing else."""

    def __init__(self, look_up: Callable[[SchemaId], Schema | str | None]) -> None:
        self._look_up = look_up

    def schema(self, schema_id: SchemaId) -> Schema | str | None:
        return self._look_up(schema_id)

    def register(self, subject: str, schema: Schema) -> SchemaId:
        raise RegistryError(
            "this registry only has schemas by their ids: nothing can be registered", 422, 42205
        )

    def latest(self, subject: str) -> NoReturn:
        raise LookupError(subject)


def of(
    source: SchemaSource | Callable[[SchemaId], Any] | Mapping[Any, Any] | Iterable[Any],
) -> "SourceRegistry":
    """Make a registry of a user's own source of schemas.

    Parameters
    ----------
    source : SchemaSource, function, mapping or iterable
        What answers the three calls of `SchemaSource`; a function of an id, or a mapping by ids, where values are only
        read (a GUID may be written in any way, or a `uuid.UUID`); or schemas of Avro, known by their fingerprints.

    Returns
    -------
    SourceRegistry
        A registry for `kcodec.Serde` and everything else that reads or writes framed values. It has no versions,
        settings and modes: such calls are refused.

    Raises
    ------
    ConfigError
        If it is none of these.

    Examples
    --------
    >>> from kcodec import Serde
    >>> serde = Serde("AVRO", of({7: '"int"'}), topic="t")
    >>> serde.deserialize([bytes.fromhex("0000000007 0e")]).to_pylist()
    [7]
    """
    if isinstance(source, SchemaSource):
        return SourceRegistry(source)
    if isinstance(source, Mapping):
        return SourceRegistry(_Lookup({_named(key): schema for key, schema in source.items()}.get))
    if callable(source):
        return SourceRegistry(_Lookup(source))
    if isinstance(source, Iterable) and not isinstance(source, (str, bytes)):
        return SourceRegistry(_Given(source))
    raise ConfigError(
        "a source of schemas has schema(), register() and latest(), or is a function of an id, a mapping or "
        f"schemas, not {type(source).__name__}"
    )


def _named(schema_id: Any) -> Any:
    """Return an id as values name it: that of a GUID is text with dashes, as of any `uuid.UUID`.

    >>> _named("0123456789ABCDEF0123456789ABCDEF"), _named(7)
    ('01234567-89ab-cdef-0123-456789abcdef', 7)
    """
    if isinstance(schema_id, UUID) or (isinstance(schema_id, str) and _GUID.fullmatch(schema_id)):
        return str(UUID(str(schema_id)))
    return schema_id


class _Given(_Lookup):
    """A source of schemas that are known by their fingerprints; what is among them counts as registered."""

    def __init__(self, schemas: Iterable[Any]) -> None:
        self._schemas = {_fingerprint(each): each for each in map(_given_schema, schemas)}
        super().__init__(self._schema_of)

    def _schema_of(self, schema_id: SchemaId) -> Schema | None:
        return self._schemas.get(str(schema_id))

    def register(self, subject: str, schema: Schema) -> SchemaId:
        name = _fingerprint(schema)
        return name if name in self._schemas else super().register(subject, schema)


def check_settings(scheme: str, config: Mapping[str, Any], known: Iterable[str]) -> None:
    """Refuse unknown settings of a client, and numbers that would fail later."""
    for key in config:
        if key not in known:
            hint = near(str(key), known) or f"; known are {', '.join(known)}"
            raise ConfigError(f"unknown setting of {scheme}:// {key!r}{hint}")
    for key in ("max.retries", "timeout"):
        if number(key, config.get(key, 1)) is None:
            raise ConfigError(f"{key}=None is not a number")


def _given_schema(given: Any) -> Schema:
    return given if isinstance(given, Schema) else Schema(given)


def _fingerprint(schema: Schema) -> str:
    language = find_schema_format(schema.type)
    if language is None:
        raise ConfigError(f"unknown schema type {schema.type!r}")
    return language.fingerprint(language.parse_known(schema.text)).hex()


def _refusing(name: str) -> Any:
    def refuse(self: SchemaRegistry, *arguments: Any, **options: Any) -> NoReturn:
        raise RegistryError(
            f"{self!r} has no {name}(): it is made of what reads and writes values", 501, 50101
        )

    refuse.__name__ = name
    refuse.__doc__ = "Refuse what the source does not tell."
    return refuse


class PartialRegistry(SchemaRegistry):
    """A registry of what reads and writes values; other calls are refused.

    What a subclass is asked answers with a `LookupError` where there is no such thing.
    """

    def __init__(self, url: str) -> None:
        self._url = url

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._url!r})"

    @property
    def url(self) -> str:
        """Where it is."""
        return self._url

    # What a subclass is asked

    def _schema_of(self, schema_id: SchemaId) -> Schema:
        """Return the schema of an id, which may be a GUID."""
        raise NotImplementedError

    def _register(self, subject: str, schema: Schema) -> RegisteredSchema:
        """Register a schema under a subject, or find it there."""
        raise NotImplementedError

    def _find(self, subject: str, schema: Schema) -> RegisteredSchema:
        """Find a version by its schema."""
        raise NotImplementedError

    def _version(self, subject: str, number: int) -> RegisteredSchema:
        """Return a version of a subject (-1: the latest)."""
        raise NotImplementedError

    def _numbers(self, subject: str) -> list[int]:
        """Return the numbers of all versions."""
        raise NotImplementedError

    # What is asked of it

    def get(self, schema_id: int, subject: str | None = None, *, form: str = "") -> RegisteredSchema:
        """Find a schema by its id."""
        return _registered(schema_id, self._asked(self._schema_of, schema_id))

    def get_by_guid(self, guid: str, *, form: str = "") -> RegisteredSchema:
        """Find a schema by an id that is text."""
        return _registered(guid, self._asked(self._schema_of, guid))

    def register(
        self,
        subject: str,
        schema: Schema,
        *,
        normalize: bool = False,
        schema_id: int | None = None,
        version: int | None = None,
    ) -> RegisteredSchema:
        """Register a schema under a subject, or find it there; it may be normalized in any way."""
        return self._asked(self._register, subject, schema)

    def lookup(
        self, subject: str, schema: Schema, *, normalize: bool = False, deleted: bool = False
    ) -> RegisteredSchema:
        """Find a version by its schema."""
        return self._asked(self._find, subject, schema)

    def get_version(
        self,
        subject: str,
        version: int | Literal["latest"] = "latest",
        *,
        deleted: bool = False,
        form: str = "",
    ) -> RegisteredSchema:
        """Find a version of a subject (-1: the latest)."""
        return self._asked(self._version, subject, -1 if version == "latest" else version)

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
        numbers = self._asked(self._numbers, subject)
        return numbers[offset:] if limit < 0 else numbers[offset : offset + limit]

    def contexts(self) -> list[str]:
        """Return the default context."""
        return [DEFAULT_CONTEXT]

    def close(self) -> None:
        """Do nothing."""

    # The protocol's own bodies would answer None.
    check_compatibility = _refusing("check_compatibility")
    get_latest_with_metadata = _refusing("get_latest_with_metadata")
    associated_subjects = _refusing("associated_subjects")
    subjects = _refusing("subjects")
    schema_versions = _refusing("schema_versions")
    referenced_by = _refusing("referenced_by")
    config = _refusing("config")
    set_config = _refusing("set_config")
    delete_config = _refusing("delete_config")
    mode = _refusing("mode")
    set_mode = _refusing("set_mode")
    delete_mode = _refusing("delete_mode")
    delete_version = _refusing("delete_version")
    delete_subject = _refusing("delete_subject")

    def _asked(self, call: Callable[..., Any], name: object, *more: Any) -> Any:
        """Ask for what has a name; errors are those of a registry."""
        try:
            return call(name, *more)
        except KcodecError:
            raise
        except LookupError:
            unknown_schema(str(name))
        except Exception as error:
            raise RegistryError(
                f"{self!r} failed: {type(error).__name__}: {one_line(error)}", 500, 50001
            ) from error


class SourceRegistry(PartialRegistry):
    """A registry over a `SchemaSource`; made by `of`."""

    def __init__(self, source: SchemaSource) -> None:
        super().__init__("source://")
        self._source = source

    def _schema_of(self, schema_id: SchemaId) -> Schema:
        return _schema(self._source.schema(schema_id), schema_id)

    def _register(self, subject: str, schema: Schema) -> RegisteredSchema:
        return _registered(self._source.register(subject, schema), schema, subject)

    def _find(self, subject: str, schema: Schema) -> RegisteredSchema:
        """Return the latest version if it is this schema."""
        latest = self._version(subject, -1)
        language = find_schema_format(schema.type)
        same = language is not None and language.same(
            language.parse_known(schema.text), language.parse_known(latest.schema.text)
        )
        return latest if same else unknown_schema(subject)

    def _version(self, subject: str, number: int) -> RegisteredSchema:
        if number != -1:
            raise RegistryError(f"{self!r} has no versions by their numbers", 404, 40402)
        found, schema = self._source.latest(subject)
        return _registered(found, _schema(schema, found), subject)

    def _numbers(self, subject: str) -> list[int]:
        return []


def _registered(schema_id: SchemaId, schema: Schema, subject: str | None = None) -> RegisteredSchema:
    if isinstance(schema_id, str):
        return RegisteredSchema(None, schema_id, schema, subject)
    return RegisteredSchema(schema_id, guid(schema), schema, subject)


def _schema(found: object, name: SchemaId) -> Schema:
    if found is None:
        unknown_schema(name)
    if not isinstance(found, (str, Schema)):
        raise RegistryError(
            f"the schema {name} is a {type(found).__name__}, not a Schema or text", 500, 50001
        )
    return Schema(found) if isinstance(found, str) else found
