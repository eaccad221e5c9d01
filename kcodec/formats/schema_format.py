"""The seam between schema languages and those who store, frame and serve their schemas.

Registry, serde and Spark functions know Avro, and every other schema language, as a `SchemaFormat`. The package's own
are in a table here, others are found by the entry points of the group `GROUP`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from kcodec.errors import ConfigError, near
from kcodec.formats.printing import SchemaPrinting
from kcodec.formats.table import FORMATS, load

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

#: Entry points of this group are schema formats: their name is a schema type or a serde's format.
GROUP = "kcodec.schema_formats"


class SchemaFormat(SchemaPrinting):
    """A schema language: what registries (`SchemaLanguage`), serdes (`SchemaPayloads`) and consoles ask of it.

    A language has to have `parse`, `canonical`, `same` and `differences`; to read and write payloads `decoder` and
    `encoder`; the other methods are those of a language that has nothing special.
    """


def find_schema_format(key: str) -> SchemaFormat | None:
    """Return the format of a schema type or of a serde's format; None if there is none.

    A plugin's that cannot be loaded, or that is not a `SchemaFormat` of this name, is a `ConfigError`.
    """
    place = _own().get(key)
    if place is not None:
        return _made(place)
    entry = _plugins().get(key)
    if entry is None:
        return None
    try:
        found = entry.load()
    except Exception as error:
        # Whatever the import of a stranger's module raises.
        raise ConfigError(f"the schema format {key} ({entry.value}) cannot be loaded: {error!r}") from error
    if isinstance(found, type) and issubclass(found, SchemaFormat):
        found = found()
    if not isinstance(found, SchemaFormat) or key not in (found.type, found.name):
        raise ConfigError(f"{entry.value} is not a SchemaFormat of type or name {key}")
    return found


def _own() -> dict[str, str]:
    """Return where the table's languages are, by schema type and by format; a package in a zip has no entry points."""
    return {
        key: each.language
        for each in FORMATS.values()
        if each.language is not None and each.type is not None
        for key in (each.type, each.name)
    }


@functools.cache
def _made(place: str) -> SchemaFormat:
    return load(place)()


def schema_format(key: str) -> SchemaFormat:
    """Return the format of a schema type or of a serde's format; if there is none, a `ConfigError` names the others.

    >>> schema_format("AVRO").type
    'AVRO'
    """
    found = find_schema_format(key) if isinstance(key, str) else None
    if found is None:
        raise _unknown(key, {*_own(), *_plugins()})
    return found


def serde_format(key: str) -> SchemaFormat:
    """Return a format by the name that serdes have for it; if there is none, a `ConfigError` names the others.

    >>> serde_format("XML")
    Traceback (most recent call last):
    kcodec.errors.ConfigError: format 'XML' is not one of AVRO, JSON_SR, PROTOBUF
    """
    found = find_schema_format(key) if isinstance(key, str) else None
    if found is None:
        raise _unknown(
            key, {each for each, language in _loaded(*_own(), *_plugins()) if language.name == each}
        )
    if found.name != key:
        raise ConfigError(f"{key!r} is a schema type: {_instead(key) or f'its format is {found.name!r}'}")
    return found


def has_messages(format: str) -> bool:
    """Return whether a schema of a format has several messages, so that an option says which a value is.

    >>> has_messages("PROTOBUF"), has_messages("AVRO"), has_messages("BYTES")
    (True, False, False)
    """
    found = find_schema_format(format)
    return found is not None and found.message_indexes


def _instead(key: str) -> str:
    """Return what reads a format that no registry has schemas of."""
    return FORMATS[key].instead if key in FORMATS else ""


def _unknown(key: object, formats: Iterable[str]) -> ConfigError:
    known = sorted(formats)
    instead = _instead(str(key).upper())
    hint = f": {instead}" if instead else near(str(key), known)
    return ConfigError(f"format {key!r} is not one of {', '.join(known)}{hint}")


def schema_types() -> list[str]:
    """Return the schema types that there are: ours, and those of the plugins that can be loaded.

    >>> schema_types()
    ['JSON', 'PROTOBUF', 'AVRO']
    """
    own = [each.type for each in FORMATS.values() if each.type is not None]
    return list(dict.fromkeys([*own, *(known.type for _, known in _loaded(*_plugins()))]))


def _loaded(*keys: str) -> Iterator[tuple[str, SchemaFormat]]:
    """Go through those of some formats that can be loaded."""
    for key in keys:
        with suppress(ConfigError):
            known = find_schema_format(key)
            if known is not None:
                yield key, known


@functools.cache
def _plugins() -> dict[str, EntryPoint]:
    """Return the entry points by name; they are looked for once in a process."""
    # With modules for e-mail and archives.
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=GROUP)}
