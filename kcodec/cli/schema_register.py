"""``kcodec registry register``: the schema of a file as the next version of a subject."""

import argparse
import json
import sys
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from kcodec.cli.schema_files import add_schema, naming, opened, schema_in, subject_reference
from kcodec.errors import RegistryError

if TYPE_CHECKING:
    from kcodec.registry import Reference, SchemaRegistry

_CONFLICT = 409


def add(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to a parser's."""
    register = actions.add_parser(
        "register",
        help="register the schema of a file under a subject",
        description="Registers the schema of a file, and prints its id and version; those that it has, if it is "
        "registered already. The exit status is 1 if the level that is set for the subject refuses it, and 2 if it "
        "cannot be registered otherwise: a schema that is none, no such file, a registry that does not answer.",
    )
    register.add_argument("subject", help="such as orders-value")
    add_schema(register)
    register.add_argument(
        "--registry",
        metavar="URL",
        required=True,
        help="http://host:8081, sqlite:///schemas.db (which is made if need be)",
    )
    register.add_argument(
        "--reference",
        action="append",
        default=[],
        metavar="NAME=SUBJECT:VERSION",
        help="what the schema refers to; without a version the latest",
    )
    register.add_argument(
        "--normalize", action="store_true", help="have the registry keep the normalized text"
    )
    register.add_argument("-o", "--output", choices=("text", "json"), default="text")
    register.set_defaults(run=_register)


def _register(given: argparse.Namespace) -> int:
    registry = opened(given, is_new=True)
    references = [_of_version(registry, subject_reference(each)) for each in given.reference]
    schema = schema_in(given.file, given.format, references)
    try:
        found = naming(
            given.file, partial(registry.register, given.subject, schema, normalize=given.normalize)
        )
    except RegistryError as error:
        if error.status != _CONFLICT:
            raise
        print(f"kcodec registry: {given.file}: {error}", file=sys.stderr)
        return 1
    if given.output == "json":
        print(json.dumps({"subject": given.subject, "id": found.id, "version": found.version}))
    else:
        # Some servers tell the id alone.
        version = "" if found.version is None else f", version {found.version}"
        print(f"{given.subject}: id {found.id}{version}")
    return 0


def _of_version(registry: "SchemaRegistry", reference: "Reference") -> "Reference":
    """Return a reference to a version that has a number: not every server takes another one."""
    if reference.version != -1:
        return reference
    version = registry.get_version(reference.subject).version
    return reference if version is None else replace(reference, version=version)
