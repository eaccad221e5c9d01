"""``kcodec registry``: schemas from one registry to another."""

import argparse

__all__ = ["add"]


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to a parser's."""
    registry = commands.add_parser(
        "registry", help="copy schemas between registries and files", description="Work on schema registries."
    )
    actions = registry.add_subparsers(dest="action", required=True)
    copy = actions.add_parser(
        "copy",
        help="copy all that a registry holds, ids and versions kept",
        description="Copies settings, versions and softly deleted versions, with their ids, from a registry or a "
        "file to another. Each side is the URL of a registry (sqlite:///schemas.db, http://host:8081), a file of "
        "lines of JSON (schemas.jsonl) or a folder with a file for each version. What stands in the target under "
        "another id or version is an error.",
    )
    copy.add_argument("source", help="a registry's URL, a .jsonl file or a folder")
    copy.add_argument("target", help="a registry's URL, a .jsonl file or an empty folder")
    copy.add_argument(
        "--property",
        "-X",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of servers, such as basic.auth.user.info=user:password",
    )
    copy.set_defaults(run=_copy)


def _copy(given: argparse.Namespace) -> int:
    from kcodec.registry.transfer import copy

    config = dict(each.partition("=")[::2] for each in given.property)
    count = copy(given.source, given.target, config or None)
    print(f"{count} version{'s' * (count != 1)} copied")
    return 0
