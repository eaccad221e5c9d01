"""Options of the commands that talk to brokers: where these are, and the settings of clients."""

import argparse
import io
import logging
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import IO, Any

from kcodec._files import check_end
from kcodec.cli.properties import properties
from kcodec.errors import ConfigError
from kcodec.formats.table import FORMATS, registered_names

_PREFIX = "KCODEC_KAFKA_"
#: What Confluent's console tools take as properties beside settings of the registry.
_CONSOLE = (
    "print.key", "print.value", "print.partition", "print.offset", "print.timestamp", "print.headers",
    "key.separator", "line.separator", "headers.separator", "null.literal", "parse.key",
    "value.schema", "key.schema", "value.schema.file", "key.schema.file",
)  # fmt: skip


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options to a command."""
    parser.add_argument(
        "-b",
        "--server",
        "--bootstrap-server",
        metavar="HOST:PORT,...",
        help="some brokers; by default bootstrap.servers of the settings",
    )
    _add_settings(
        parser,
        file=f"settings, name=value in each line (or {_PREFIX}CONFIG)",
        setting="a setting under its name in librdkafka or Java's clients; also from the environment, such as "
        f"{_PREFIX}SASL_PASSWORD for sasl.password",
    )
    parser.add_argument(
        "--property",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a property of Confluent's console tools, such as print.key=true or schema.registry.url=URL",
    )
    parser.add_argument("--registry", metavar="URL", help="the schema registry")


def add_registry_settings(parser: argparse.ArgumentParser, *names: str) -> None:
    """Add the options that a command has for the settings of registries; `names` are others of -X."""
    _add_settings(
        parser,
        *names,
        file="settings of servers, name=value in each line",
        setting="a setting of servers, such as basic.auth.user.info=user:password",
    )


def _add_settings(parser: argparse.ArgumentParser, *names: str, file: str, setting: str) -> None:
    """Add --config and -X, with what their help says."""
    parser.add_argument("--config", type=Path, metavar="FILE", help=file)
    parser.add_argument(
        *names, "-X", action="append", default=[], dest="settings", metavar="NAME=VALUE", help=setting
    )


def add_message(parser: argparse.ArgumentParser, default: str) -> None:
    """Add the option that names messages of Protobuf."""
    parser.add_argument(
        "--message",
        metavar="NAMES",
        help=f"with --value protobuf: the message, by default {default}; or several, which are fields of values then",
    )


def with_message(format: Any, text: str | None) -> Any:
    """Return the format of values with the messages that ``--message`` names."""
    if text is None:
        return format
    from kcodec.formats.schema_format import has_messages

    named = {"format": format} if isinstance(format, str) else format
    if named is None or not has_messages(named["format"]):
        raise ConfigError("--message is for --value protobuf")
    names = [name.strip() for name in text.split(",")]
    return {**named, "message": names[0] if len(names) == 1 else names}


def add_frame(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the frame of keys and values."""
    parser.add_argument(
        "--frame",
        metavar="NAME",
        help="what names their schemas, of keys and values with a registry: CONFLUENT (default), GLUE, GLUE_ZLIB, "
        "APICURIO, APICURIO_LEGACY, SINGLE_OBJECT, AZURE, AZURE_JSON, ..., or \"Frame(prefix=b'K', id_size=8)\"",
    )


def with_frame(formats: Mapping[str, Any], name: str | None) -> dict[str, Any]:
    """Return the formats of keys and values with the frame that ``--frame`` names, where they have schemas."""
    if name is None:
        return dict(formats)
    from kcodec.formats.schema_format import find_schema_format
    from kcodec.frames import Frame

    frame, found = Frame.of(name), dict(formats)
    for part, format in formats.items():
        named = {"format": format} if isinstance(format, str) else format
        if named is not None and find_schema_format(named["format"]) is not None:
            found[part] = {**named, "frame": frame}
    if found == dict(formats):
        raise ConfigError(f"--frame is for keys and values with schemas: give --value {registered(' or ')}")
    return found


@contextmanager
def shown_tries(command: str) -> Iterator[None]:
    """Say on a terminal what a command waits for if brokers do not answer; elsewhere the error at the end does."""
    if not sys.stderr.isatty():
        yield
        return
    logger = logging.getLogger("kcodec.kafka.connection.cluster")
    handler, level = logging.StreamHandler(sys.stderr), logger.level
    handler.setFormatter(logging.Formatter(f"kcodec {command}: %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


class KafkaOptions:
    """What was given: `config` are the settings of clients, `properties` those of console tools."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.config: dict[str, Any] = dict(_environment(os.environ))
        file = given.config or self.config.pop("config", None)
        self.config.pop("config", None)
        self.config = {**read_settings(file), **self.config}
        self.config |= dict(name_and_value(each, "-X") for each in given.settings)
        self.properties: dict[str, str] = {}
        for each in given.property:
            name, value = name_and_value(each, "--property")
            if name in _CONSOLE:
                self.properties[name] = value
            elif name.startswith("schema.registry."):
                self.config[name] = value
            elif name.startswith(("basic.auth.", "bearer.auth.", "ssl.")):
                self.config[f"schema.registry.{name}"] = value
            else:
                raise ConfigError(f"--property {name}: not one of {', '.join(_CONSOLE)}, schema.registry.url")
        if given.registry is not None:
            self.config["schema.registry.url"] = given.registry
        if given.server is not None:
            self.config["bootstrap.servers"] = given.server
        if "bootstrap.servers" not in self.config:
            raise ConfigError("no brokers are given: --server HOST:PORT")

    def flag(self, name: str, default: bool = False) -> bool:
        """Return a property that is true or false."""
        return self.properties.get(name, str(default)).strip().lower() == "true"

    def payload(self, name: str, text: str) -> Any:
        """Return what `kcodec.kafka` takes for the name of a format; None for bytes and text.

        Refused is what is no format, or one that has no schema of its own in a registry, so that its columns would have
        to be given.
        """
        from kcodec.kafka.payload_format import format_name

        kind = text.upper().replace("-", "_")
        if kind in ("BYTES", "STRING", "TEXT"):
            return None
        if kind in ("INT", "BIGINT", "DOUBLE", "LONG", "SHORT"):
            column = {"LONG": "BIGINT", "SHORT": "INT"}.get(kind, kind)
            return {"format": "KAFKA", "columns": f"{name.upper()} {column}", "is_key": False}
        if kind in FORMATS and FORMATS[kind].needs == "columns":
            raise ConfigError(
                f"--{name} {text}: its columns can be given in Python only; without --{name}, text is read and written "
                "as it is"
            )
        try:
            return format_name(text)
        except ConfigError:
            raise unknown_format(name, text) from None


def _environment(variables: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in variables.items():
        if name.startswith(_PREFIX):
            yield name.removeprefix(_PREFIX).lower().replace("_", "."), value


def document_codec(schema: str) -> Any:
    """Return the codec of plain JSON for columns of Spark's DDL, or a file of it."""
    from kcodec.formats.json.codec import JsonCodec

    path = Path(schema)
    return JsonCodec(read_text(path) if path.suffix and path.is_file() else schema)


def unknown_format(name: str, text: str) -> ConfigError:
    """Return the error for a format of keys or values that has no schemas in a registry."""
    return ConfigError(
        f"--{name} {text} is not one of {registered()} or a plugin's, with a registry; json, connect_json (only read), "
        "string, bytes, int, bigint, double"
    )


def registered(last: str = ", ") -> str:
    """Return the names of the formats whose schemas are in registries, as the command line has them.

    >>> registered(" or ")
    'avro, json_sr or protobuf'
    """
    names = [name.lower() for name in registered_names()]
    return f"{', '.join(names[:-1])}{last}{names[-1]}"


def read_text(file: str | Path) -> str:
    """Return the text of a file."""
    check_end(file)
    with open(file, "rb") as opened:
        return text_of(opened, file)


def read_settings(file: str | Path | None, given: Iterable[str] = ()) -> dict[str, Any]:
    """Return the settings of a file, if there is one, and over them those that -X gives."""
    found: dict[str, Any] = {} if file is None else dict(properties(read_text(file), str(file)))
    return found | dict(name_and_value(each, "-X") for each in given)


def text_of(opened: IO[bytes], name: object) -> str:
    """Return the text of an open file of a name, or of a pipe; its lines end with newlines alone."""
    # Windows' editors write a mark before the text.
    text = io.TextIOWrapper(opened, encoding="utf-8-sig")
    try:
        return text.read()
    except UnicodeDecodeError as error:
        raise ConfigError(f"{name} is not text: {error.reason} at byte {error.start}") from None
    finally:
        text.detach()


def name_and_value(text: str, option: str) -> tuple[str, str]:
    """Return both parts of what an option takes, ``NAME=VALUE``."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        # What was given may be a credential.
        raise ConfigError(f"{option} takes NAME=VALUE")
    return name, value


def read_where(text: str | None, option: str) -> Any:
    """Read where to start or to end: a word, a number of records before the end, a time, or JSON."""
    if text is None or text in ("earliest", "latest") or text.lstrip().startswith("{"):
        return text
    if re.fullmatch("-0*[1-9][0-9]*", text):
        return int(text)
    try:
        when = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise ConfigError(f"{option} {text!r} is not earliest, latest, -N, a time or JSON") from None
    return when if when.tzinfo is not None else when.replace(tzinfo=timezone.utc)
