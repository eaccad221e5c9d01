"""``kcodec registry``: schemas from one registry to another, and a server."""

import argparse
import sys

__all__ = ["add"]


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to a parser's."""
    registry = commands.add_parser(
        "registry",
        help="copy schemas between registries and files, serve them",
        description="Work on schema registries.",
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
    _add_serve(actions)


def _copy(given: argparse.Namespace) -> int:
    from kcodec.registry.transfer import copy

    config = dict(each.partition("=")[::2] for each in given.property)
    count = copy(given.source, given.target, config or None)
    print(f"{count} version{'s' * (count != 1)} copied")
    return 0


def _add_serve(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    serve = actions.add_parser(
        "serve",
        help="answer Confluent's REST API over a registry in a file",
        description="Serves a registry until it is interrupted. Needs kcodec[server].",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    serve.add_argument("url", nargs="?", default="sqlite:///schemas.db", help="sqlite:///file or memory://")
    serve.add_argument("--host", default="127.0.0.1", help="where to listen; 0.0.0.0 is everywhere")
    serve.add_argument("--port", type=int, default=8081, help="the port, 0 for a free one")
    serve.add_argument("--workers", type=int, default=1, help="processes that share the file")
    serve.set_defaults(run=_serve)


def _serve(given: argparse.Namespace) -> int:
    try:
        from kcodec.registry.server.process import serve
    except ModuleNotFoundError as error:
        print(f"kcodec registry serve needs {error.name}: pip install 'kcodec[server]'", file=sys.stderr)
        return 2
    from kcodec.registry.server.settings import ServerSettings

    names = ("url", "host", "port", "workers")
    serve(ServerSettings(**{name: getattr(given, name) for name in names}))
    return 0
