"""``kcodec protocol``: message definitions on the command line."""

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from kcodec._files import check_apart
from kcodec.errors import ConfigError, KcodecError, near

if TYPE_CHECKING:
    from kcodec.protocol.spec.definitions import Definitions


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to those of the console tool."""
    protocol = commands.add_parser(
        "protocol",
        help="check and use Kafka's message definitions",
        description="Works on Kafka's message definitions: JSON files, folders of them, or Kafka's jars.",
    )
    actions = protocol.add_subparsers(dest="action", required=True)
    evolution = actions.add_parser(
        "check-evolution",
        help="find changes that old and new peers would not survive",
        description="Compares two states of message definitions by the rules of Kafka's README of message "
        "definitions, and prints one line for each change that breaks them.",
        epilog="Exit status: 0 if there is none, 1 if there is one, 2 if a definition cannot be read.",
    )
    evolution.add_argument("old", type=Path, metavar="OLD", help="file, folder or jar as it was released")
    evolution.add_argument("new", type=Path, metavar="NEW", help="the same as it shall be")
    evolution.set_defaults(run=_check_evolution)
    describe = actions.add_parser(
        "describe",
        help="print the grammar of a message",
        description="Prints what stands on the wire, field by field.",
    )
    describe.add_argument("definitions", type=Path, metavar="DEFINITIONS", help="file, folder or jar")
    describe.add_argument("message", metavar="MESSAGE", help="name, such as FetchRequest")
    describe.add_argument("version", metavar="VERSION", type=int, nargs="?", help="by default the highest")
    describe.set_defaults(run=_describe)
    generate = actions.add_parser(
        "generate",
        help="generate typed Python modules, Arrow schemas or documentation",
        description="Generates from message definitions: a Python package with a dataclass for each message, which "
        "reads and writes bytes and JSON on the compiled codec; the Arrow schema of each version; or a page of "
        "Markdown. The same definitions give the same bytes.",
    )
    generate.add_argument(
        "--definitions", type=Path, required=True, metavar="PATH", help="file, folder or jar"
    )
    generate.add_argument(
        "--out",
        type=Path,
        metavar="PATH",
        help="folder of the package; else a file, by default the standard output",
    )
    generate.add_argument(
        "--format",
        choices=("python", "arrow", "markdown"),
        default="python",
        help="what to make (default %(default)s)",
    )
    generate.add_argument(
        "--message", action="append", metavar="NAME", help="only this message; may be given several times"
    )
    generate.set_defaults(run=_generate)


def _check_evolution(given: argparse.Namespace) -> int:
    from kcodec.protocol.spec.definitions import load
    from kcodec.protocol.spec.evolution import check_all, check_evolution

    old, new = load(given.old), load(given.new)
    is_single = len(old) == len(new) == 1
    found = check_evolution(*old.values(), *new.values()) if is_single else check_all(old, new)
    faults = [*old.faults.values(), *new.faults.values()]
    for violation in found:
        print(violation)
    _warn(faults)
    print(f"{len(old)} messages checked, {len(found)} violations", file=sys.stderr)
    return 2 if faults else int(bool(found))


def _warn(faults: Iterable[Exception]) -> None:
    """Say which files are left out, and why."""
    for fault in faults:
        print(f"left out: {fault}", file=sys.stderr)


def _describe(given: argparse.Namespace) -> int:
    from kcodec.protocol.spec.definitions import load

    definitions = load(given.definitions)
    if given.message not in definitions:
        raise _unknown(given.message, definitions, given.definitions)
    spec = definitions[given.message]
    print(spec.describe(spec.valid_versions.highest if given.version is None else given.version))
    return 0


def _unknown(name: str, known: "Definitions", place: Path) -> KcodecError:
    if name in known.faults:
        return known.faults[name]
    return ConfigError(f"there is no message {name} in {place}{near(name, known)}")


def _generate(given: argparse.Namespace) -> int:
    from kcodec.protocol.spec.definitions import Definitions, load

    definitions = load(given.definitions)
    if given.message:
        for name in given.message:
            if name not in definitions:
                raise _unknown(name, definitions, given.definitions)
        definitions = Definitions(definitions[name] for name in set(given.message))
    _warn(definitions.faults.values())
    if given.format == "python":
        from kcodec.protocol.generate.modules import write_package

        if given.out is None:
            raise ConfigError("--out is needed: the folder of the package")
        print(f"{len(write_package(definitions, given.out))} files written to {given.out}", file=sys.stderr)
        return 0
    from kcodec.protocol.generate.pages import arrow_page, markdown_page

    page = (arrow_page if given.format == "arrow" else markdown_page)(definitions.values())
    if given.out is None:
        sys.stdout.write(page)
    else:
        check_apart(given.out, [given.definitions])
        given.out.write_text(page, encoding="utf-8")
    return 0
