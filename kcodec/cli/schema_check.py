"""``kcodec registry check``: whether a file's schema may become the next version of a subject or of other files."""

import argparse
import json
import sys
import uuid
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kcodec.cli.kafka_options import name_and_value
from kcodec.cli.schema_files import add_schema, naming, opened, schema_in, subject_reference
from kcodec.columns.shown import text_page
from kcodec.errors import ConfigError, RegistryError

if TYPE_CHECKING:
    from kcodec.formats.language import Difference
    from kcodec.registry import Compatibility, Reference, Schema, SchemaRegistry


def add(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to a parser's."""
    check = actions.add_parser(
        "check",
        help="say whether a schema is compatible with a subject or with another file",
        description="Says whether the schema of a file may become the next version of a subject, by the level that "
        "is set in the registry, or the one behind other files, without a registry. The exit status is 0 if so, 1 if "
        "not, and 2 if that cannot be told: a schema that is none, no such file, a registry that does not answer.",
    )
    add_schema(check)
    place = check.add_mutually_exclusive_group(required=True)
    place.add_argument("--subject", help="such as orders-value, with --registry")
    place.add_argument(
        "--against", type=Path, nargs="+", metavar="FILE", help="the earlier versions, oldest first"
    )
    check.add_argument("--registry", metavar="URL", help="http://host:8081, sqlite:///schemas.db")
    check.add_argument(
        "--level",
        help="BACKWARD, FORWARD, FULL, or these with _TRANSITIVE (default: the subject's; of files BACKWARD)",
    )
    check.add_argument(
        "--version",
        type=int,
        metavar="N",
        help="compare with this version of the subject alone; by default with all that the level asks for",
    )
    check.add_argument(
        "--reference",
        action="append",
        default=[],
        metavar="NAME=PLACE",
        help="what the schema refers to: a subject's latest version, or SUBJECT:VERSION; with --against a file, those "
        "that others need first",
    )
    check.add_argument(
        "--losses",
        action="store_true",
        help="the status is 1 also if values change that are still read, as an int64 that is read as an int32; "
        "looked at is the latest version",
    )
    check.add_argument("-o", "--output", choices=("text", "json"), default="text")
    check.set_defaults(run=_check)


def _check(given: argparse.Namespace) -> int:
    if given.against is None and given.registry is None:
        raise ConfigError("--subject takes --registry URL")
    if given.against is not None and (given.registry, given.version) != (None, None):
        raise ConfigError("--against takes no registry, and no version of one")
    if given.against is None:
        registry, subject = opened(given, is_new=False), given.subject
        references = [subject_reference(each) for each in given.reference]
    else:
        registry, subject = _of_files()
        references = [_file_reference(registry, each) for each in given.reference]
    new = schema_in(given.file, given.format, references)
    for file in given.against or ():
        naming(file, partial(registry.register, subject, schema_in(file, given.format, references)))
    level = given.level or ("BACKWARD" if given.against is not None else None)
    answer = naming(given.file, partial(registry.check_compatibility, subject, new, level, given.version))
    # Servers answer so of a schema that is none, whatever the subject has.
    for message in answer.messages if not answer else ():
        if message.startswith("Invalid schema"):
            raise ConfigError(f"{given.file}: {message}")
    if given.against is None:
        _note_no_versions(registry, subject)
    lost = _losses(registry, subject, new, level, given.version) if given.losses else []
    _show(given, subject if given.against is None else _compared(given.against, level or ""), answer, lost)
    return int(not answer or bool(lost))


def _compared(files: list[Path], level: str) -> str:
    """Return the names of the files that a level compares with: all, or the last one."""
    return ", ".join(map(str, files if level.upper().endswith("_TRANSITIVE") else files[-1:]))


def _of_files() -> "tuple[SchemaRegistry, str]":
    """Return a registry for earlier versions, which takes them as they are, and the subject of the file."""
    from kcodec.registry import Config, open

    registry = open(f"memory://{uuid.uuid4()}")
    registry.set_config(Config("NONE"))
    return registry, "file"


def _file_reference(registry: "SchemaRegistry", text: str) -> "Reference":
    from kcodec.registry import Reference

    name, file = name_and_value(text, "--reference")
    subject = f"reference {name}"
    others = [
        Reference(each.removeprefix("reference "), each, 1) for each in registry.subjects() if each != subject
    ]
    schema = schema_in(Path(file), None, others)
    naming(file, partial(registry.register, subject, schema))
    return Reference(name, subject, 1)


def _note_no_versions(registry: "SchemaRegistry", subject: str) -> None:
    try:
        registry.get_version(subject)
    except RegistryError as error:
        if not error.missing:
            raise
        print(f"kcodec registry: {subject} has no versions, and takes any schema", file=sys.stderr)


def _losses(
    registry: "SchemaRegistry", subject: str, new: "Schema", level: str | None, version: int | None
) -> "list[Difference]":
    """Return which values change, in the directions that the level has."""
    from kcodec.registry import losses

    try:
        old = registry.get_version(subject, "latest" if version is None else version).schema
    except RegistryError as error:
        if not error.missing:
            raise
        return []
    if old.type != new.type:
        return []
    level = (level or registry.config(subject, default_to_global=True).compatibility or "BACKWARD").upper()
    found: list[Difference] = []
    if not level.startswith("FORWARD"):
        found += losses(old, new, registry=registry)
    if level.startswith(("FORWARD", "FULL")):
        found += losses(new, old, registry=registry)
    return found


def _show(given: argparse.Namespace, what: str, answer: "Compatibility", lost: "list[Difference]") -> None:
    if given.output == "json":
        found = {
            "file": str(given.file),
            "compatible": answer.compatible,
            "differences": [each._asdict() for each in answer.differences],
            "messages": list(answer.messages),
        }
        if given.losses:
            found["losses"] = [each._asdict() for each in lost]
        print(json.dumps(found))
        return
    fields = ("type", "path", "message")
    title = f"{given.file}: {'compatible' if answer else 'not compatible'} with {what}"
    if answer.differences:
        print(text_page(title, fields, answer.differences))
    else:
        print(text_page(title, ("message",), [(each,) for each in answer.messages]) if not answer else title)
    if lost:
        print(text_page(f"{given.file}: values change", fields, lost))
