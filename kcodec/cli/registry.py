"""``kcodec registry``: schemas from one registry to another, of files, compared, and a server."""

import argparse
import getpass
import os
import sys
from dataclasses import fields
from pathlib import Path

from kcodec.cli import schema_check, schema_register
from kcodec.cli.kafka_options import add_registry_settings, read_settings, registered
from kcodec.cli.terminal import standard_input
from kcodec.errors import ConfigError


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to a parser's."""
    registry = commands.add_parser(
        "registry",
        help="copy schemas between registries and files, check, register, derive and serve them",
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
    add_registry_settings(copy, "--property")
    copy.set_defaults(run=_copy)
    derive = actions.add_parser(
        "derive",
        help="print the schema that a file of rows would be written with",
        description="Prints a schema for the columns of a Parquet, Arrow or CSV file, or of lines of JSON, of which "
        "the first thousand are looked at.",
    )
    derive.add_argument("file", type=Path, help="such as orders.parquet, .arrow, .csv, .jsonl")
    derive.add_argument(
        "--format", default="avro", help=f"{registered()}, ddl or a plugin's (default %(default)s)"
    )
    derive.add_argument("--name", default="", help="of the record or message, the title of a JSON Schema")
    derive.add_argument("--namespace", default="", help="of the record, the package of the message")
    derive.set_defaults(run=_derive)
    schema_check.add(actions)
    schema_register.add(actions)
    _add_serve(actions)


def _copy(given: argparse.Namespace) -> int:
    from kcodec.registry.transfer import copy

    config = read_settings(given.config, given.settings)
    count = copy(given.source, given.target, config or None)
    print(f"{count} version{'s' * (count != 1)} copied")
    return 0


def _derive(given: argparse.Namespace) -> int:
    from kcodec.cli.columns_of_files import columns_of
    from kcodec.formats.derived import schema_of

    print(
        schema_of(columns_of(given.file), given.format, name=given.name, namespace=given.namespace).rstrip(
            "\n"
        )
    )
    return 0


def _add_serve(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    serve = actions.add_parser(
        "serve",
        help="answer Confluent's REST API over a registry in a file",
        description="Serves a registry until it is interrupted. Needs kcodec[server].",
    )
    serve.add_argument(
        "url",
        nargs="?",
        default="sqlite:///schemas.db",
        help="sqlite:///file or memory:// (default %(default)s)",
    )
    serve.add_argument(
        "--host", default="127.0.0.1", help="where to listen, 0.0.0.0 for everywhere (default %(default)s)"
    )
    serve.add_argument("--port", type=int, default=8081, help="default %(default)s")
    serve.add_argument(
        "--workers", type=int, default=1, help="processes that share the file (default %(default)s)"
    )
    serve.add_argument(
        "--access", metavar="FILE", help="users, tokens and roles; without it everybody may do all"
    )
    serve.add_argument(
        "--broker", metavar="HOST:PORT,...", help="show the topics of this Kafka on pages, to administrators"
    )
    serve.add_argument(
        "--broker-config",
        type=Path,
        metavar="FILE",
        help="with --broker: a client's settings, name=value in each line",
    )
    serve.add_argument("--certificate", metavar="PEM", help="TLS: the server's certificate")
    serve.add_argument("--key", metavar="PEM", help="its key, if it is in another file")
    serve.add_argument(
        "--key-password", metavar="VARIABLE", help="the environment's variable with the key's password"
    )
    serve.add_argument(
        "--client-authority", metavar="PEM", help="clients need a certificate that these have signed"
    )
    serve.add_argument(
        "--allowed-hosts",
        nargs="+",
        metavar="NAME",
        help="by which clients may call it, without a port (default: any; those of this machine where it listens "
        "on it alone without --access)",
    )
    serve.add_argument("--max-body", type=int, metavar="BYTES", help="of a request (default 16 MiB)")
    serve.add_argument(
        "--max-bodies", type=int, metavar="BYTES", help="of all requests under way (default 32 MiB)"
    )
    serve.add_argument("--max-schema", type=int, metavar="CHARACTERS", help="of a schema (default 8 Mi)")
    serve.add_argument("--max-references", type=int, metavar="N", help="of a schema (default 1000)")
    serve.add_argument("--max-connections", type=int, metavar="N", help="of each worker (default 1000)")
    serve.add_argument("--timeout", type=float, metavar="SECONDS", help="for a request (default 60)")
    serve.add_argument("--idle-timeout", type=float, metavar="SECONDS", help="between requests (default 75)")
    serve.add_argument(
        "--no-access-log", dest="access_log", action="store_false", help="write no line for each request"
    )
    serve.set_defaults(run=_serve)
    password = actions.add_parser(
        "password",
        help="print what the file of users keeps of a password",
        description="Asks for a password, or reads a line of the standard input, and prints what the file that "
        "`serve --access` takes keeps of it.",
    )
    password.set_defaults(run=_password)


def _serve(given: argparse.Namespace) -> int:
    try:
        from kcodec.server.process import serve
    except ModuleNotFoundError as error:
        print(f"kcodec registry serve needs {error.name}: pip install 'kcodec[server]'", file=sys.stderr)
        return 2
    from kcodec.server.settings import ServerSettings

    named = {each.name for each in fields(ServerSettings)}
    found = {name: value for name, value in vars(given).items() if name in named and value is not None}
    if given.key_password is not None:
        if given.key_password not in os.environ:
            raise ConfigError(f"--key-password: the environment has no variable {given.key_password}")
        found["key_password"] = os.environ[given.key_password]
    if given.broker_config is not None and given.broker is None:
        raise ConfigError("--broker-config is for --broker")
    if given.broker is not None:
        found["broker"] = {**read_settings(given.broker_config), "bootstrap.servers": given.broker}
    serve(ServerSettings(**found))
    return 0


def _password(given: argparse.Namespace) -> int:
    from kcodec.server.access.passwords import hashed

    try:
        piped = standard_input()
        # In a pipe text is UTF-8, as servers take it, whatever the encoding of the locale.
        if sys.stdin.isatty():
            password = getpass.getpass()
            if getpass.getpass("Once more: ") != password:
                raise ConfigError("these are two passwords")
        else:
            password = piped.readline().decode()
    except EOFError:
        raise ConfigError("no password") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"the password is not text: {error}") from None
    password = password.rstrip("\r\n")
    if not password:
        raise ConfigError("no password")
    print(hashed(password))
    return 0
