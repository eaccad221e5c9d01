"""Schemas in files, and the registries that commands take them to."""

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kcodec.cli.kafka_options import (
    add_registry_settings,
    name_and_value,
    read_settings,
    read_text,
    registered,
    text_of,
)
from kcodec.cli.terminal import standard_input
from kcodec.errors import ConfigError, RegistryError

if TYPE_CHECKING:
    from kcodec.registry import Reference, Schema, SchemaRegistry

#: What files are by their names; JSON is one of two.
_TYPES = {".avsc": "AVRO", ".proto": "PROTOBUF", ".json": "JSON"}
#: The types of Avro that are no type of a JSON Schema.
_AVRO_ALONE = ("record", "enum", "fixed")
_INVALID = 42201
_STANDARD_INPUT = "-"


def add_schema(command: argparse.ArgumentParser) -> None:
    """Add the file of a schema, what it is, and the settings of a registry to a command's arguments."""
    command.add_argument(
        "file",
        type=Path,
        help=".avsc, .proto, .json: a schema, or what is sent to a registry for one; - is the standard input",
    )
    command.add_argument("--format", help=f"{registered()} or a plugin's; by default the file's name says it")
    add_registry_settings(command)


def opened(given: argparse.Namespace, *, is_new: bool) -> "SchemaRegistry":
    """Return the registry that ``--registry`` names; of a file one that is there, unless it may be new."""
    from kcodec.registry import open

    config = read_settings(given.config, given.settings)
    file = given.registry.removeprefix("sqlite:///")
    if not is_new and file != given.registry and not Path(file).exists():
        # A new registry would take any schema.
        raise ConfigError(f"--registry {given.registry}: there is no such file")
    return open(given.registry, config or None)


def subject_reference(text: str) -> "Reference":
    """Return the reference that ``NAME=SUBJECT`` or ``NAME=SUBJECT:VERSION`` is; -1 stands for the latest version.

    >>> subject_reference("item.proto=item-value:3")
    Reference(name='item.proto', subject='item-value', version=3)
    >>> subject_reference("item.proto=:.lab:item-value").version
    -1
    """
    from kcodec.registry import Reference

    name, place = name_and_value(text, "--reference")
    subject, colon, version = place.rpartition(":")
    # The first two colons of a place may be those of a context.
    if colon and version.isdecimal() and not (subject.startswith(":") and subject.count(":") == 1):
        return Reference(name, subject, int(version))
    return Reference(name, place, -1)


def schema_in(file: Path, format: str | None, references: "Sequence[Reference]") -> "Schema":
    """Return the schema that a file holds: its text, or the body by which a registry takes one."""
    from kcodec.formats.schema_format import find_schema_format
    from kcodec.kafka.payload_format import format_name
    from kcodec.registry import Schema

    is_piped = str(file) == _STANDARD_INPUT
    text = text_of(standard_input(), "the standard input") if is_piped else read_text(file)
    kind = _TYPES.get(file.suffix.lower())
    if format is not None:
        found = find_schema_format(format_name(format))
        if found is None:
            raise ConfigError(f"--format {format} has no schemas: {registered(' or ')} have")
        kind = found.type
    tree: Any = None
    if kind != "PROTOBUF":
        try:
            tree = json.loads(text)
        except (ValueError, RecursionError):
            tree = None
    if isinstance(tree, dict) and isinstance(tree.get("schema"), str):
        schema = Schema.of(tree)
        own = tuple(schema.references)
        return Schema(schema.text, schema.type, own or tuple(references), schema.metadata, schema.rules)
    is_avro = isinstance(tree, dict) and tree.get("type") in _AVRO_ALONE
    if kind is None and is_avro and is_piped:
        kind = "AVRO"
    if kind is None:
        raise ConfigError(f"{file}: what its schema is, its name says ({', '.join(_TYPES)}), or --format")
    if format is None and kind == "JSON" and is_avro:
        kind = "AVRO"
    return Schema(text, kind, tuple(references))


def naming(file: object, ask: Callable[[], Any]) -> Any:
    """Return what a registry answers; where the schema is none, the error names its file."""
    try:
        return ask()
    except RegistryError as error:
        if error.error_code != _INVALID:
            raise
        hint = "; --reference names what it refers to" if "unknown type" in str(error) else ""
        raise ConfigError(f"{file}: {error}{hint}") from None
