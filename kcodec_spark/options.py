"""Options as Spark and Databricks spell them: what becomes of bad rows, apart from the options of a format.

Names are compared without regard to case, as Spark does. Options that are unknown or not valid are a `ConfigError`,
which says for those of Spark, Databricks and ABRiS what takes their place.
"""

import difflib
from collections.abc import Mapping
from typing import Any, NamedTuple

from kcodec.errors import ConfigError

#: What the settings of the registry's client begin with.
REGISTRY_PREFIX = "confluent.schema.registry."

_ROWS = ("mode", "columnNameOfCorruptRecord")
_ON_FAILURE = "onRegistryFailure"
_FRAME = "frame"
_MODES = ("FAILFAST", "PERMISSIVE")
_ROUND = ("error", "truncate")

#: Names in lower case, with and without the registry's prefix -> what takes their place.
_INSTEAD = {
    "avroschemaurl": "read the schema and give its text as avroSchema",
    "positionalfieldmatching": "fields are matched by their names",
    **dict.fromkeys(
        ("ignoreextension", "compression", "recordname", "recordnamespace"),
        "it is an option of files: leave it out",
    ),
    # ABRiS
    "schema.registry.url": "give the address as schemaRegistryAddress",
    "schema.registry.topic": "give the subject, such as orders-value",
    **dict.fromkeys(
        ("value.schema.naming.strategy", "key.schema.naming.strategy", "schema.name", "schema.namespace"),
        "give the whole subject, such as orders-value",
    ),
    **dict.fromkeys(
        ("subject.name.strategy", "value.subject.name.strategy", "key.subject.name.strategy"),
        "give the whole subject, such as orders-value",
    ),
    **dict.fromkeys(("value.schema.id", "key.schema.id"), "readerSchemaId"),
    **dict.fromkeys(("value.schema.version", "key.schema.version"), "readerSchemaVersion"),
    "readerschema": "give the schema as jsonFormatSchema or avroSchema",
    "writerschema": "without a registry, give it as jsonFormatSchema",
    "schemaconverter": "types are those of Spark's from_avro",
    "exceptionhandler": "mode PERMISSIVE, with columnNameOfCorruptRecord",
}

#: Settings of Java's client -> those of this one, where the files are PEM.
_PEM = {
    "ssl.truststore.location": "ssl.ca.location",
    "ssl.keystore.location": "ssl.certificate.location",
}


class RowsOptions(NamedTuple):
    """What becomes of rows that cannot be decoded or encoded."""

    #: Whether such a row becomes nulls rather than an error.
    permissive: bool = False
    #: Name of the field that says what is wrong with such a row.
    corrupt_column: str | None = None
    #: Whether a registry that cannot be asked makes bad rows too, rather than an error.
    null_on_registry_failure: bool = False


class ReadOptions(NamedTuple):
    """The options of a function that decodes by a schema."""

    rows: RowsOptions
    #: Options of the format, by their names in Spark.
    format: dict[str, Any]
    #: Settings of the registry's client.
    registry: dict[str, Any]


class WriteOptions(NamedTuple):
    """The options of a function that encodes."""

    rows: RowsOptions
    #: Options of the codec: what becomes of times that are finer than those written.
    codec: dict[str, str]
    #: Settings of the registry's client.
    registry: dict[str, Any]


def read_options(options: Mapping[str, Any] | None, names: tuple[str, ...] = ()) -> ReadOptions:
    """Read the options of a function that decodes by a schema; `names` are those of its format."""
    given, registry = _split(options, (*_ROWS, _ON_FAILURE, _FRAME, *names))
    own = {name: value for name, value in given.items() if name in names}
    return ReadOptions(_rows(given), own, registry)


def rows_options(
    options: Mapping[str, Any] | None,
    function: str,
    others: str = "",
    *,
    has_error_column: bool = True,
    has_registry: bool = False,
) -> RowsOptions:
    """Read the options of a function that only has those for bad rows; errors add `others` to their list."""
    names = (*(_ROWS if has_error_column else _ROWS[:1]), *((_ON_FAILURE,) if has_registry else ()))
    known = f"{function} takes the option{'s' if len(names) > 1 else ''} {_listed(names)}{others}"
    given, registry = _split(options, names, known)
    if registry:
        raise ConfigError(known)
    return _rows(given)


def write_options(
    options: Mapping[str, Any] | None, function: str, others: str = "", *, has_registry: bool = False
) -> WriteOptions:
    """Read the options of a function that encodes; errors add `others` to their list."""
    names = (*_ROWS, "round")
    known = "" if has_registry else f"{function} takes the options {_listed(names)}{others}"
    given, registry = _split(options, (*names, _FRAME) if has_registry else names, known)
    if registry and not has_registry:
        raise ConfigError(known)
    rounding = str(given.get("round", "error")).lower()
    if rounding not in _ROUND:
        raise ConfigError(f"round {given['round']!r} is not one of {', '.join(_ROUND)}")
    codec = {"round": rounding} if rounding != "error" else {}
    return WriteOptions(_rows(given), codec, registry)


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def flag(given: Mapping[str, Any], name: str, *, default: bool = False) -> bool:
    """Return the option of a name as true or false."""
    text = str(given.get(name, default)).lower()
    if text not in ("true", "false"):
        raise ConfigError(f"{name} {given[name]!r} is neither true nor false")
    return text == "true"


def integer(given: Mapping[str, Any], name: str) -> int:
    """Return the option of a name as an integer; without it, -1."""
    try:
        return int(given.get(name, -1))
    except (OverflowError, TypeError, ValueError):
        raise ConfigError(f"{name} {given[name]!r} is not an integer") from None


def _rows(given: Mapping[str, Any]) -> RowsOptions:
    mode = str(given.get("mode", "FAILFAST")).upper()
    if mode not in _MODES:
        hint = ": PERMISSIVE and a filter leave bad rows out" if mode == "DROPMALFORMED" else ""
        raise ConfigError(f"mode {given['mode']!r} is not one of {', '.join(_MODES)}{hint}")
    corrupt = given.get("columnNameOfCorruptRecord")
    if corrupt is not None and mode != "PERMISSIVE":
        raise ConfigError("columnNameOfCorruptRecord needs mode PERMISSIVE")
    if corrupt is not None and not (isinstance(corrupt, str) and corrupt):
        raise ConfigError(f"columnNameOfCorruptRecord {corrupt!r} is not a name")
    on_failure = str(given.get(_ON_FAILURE, "fail")).lower()
    if on_failure not in ("fail", "null"):
        raise ConfigError(f"{_ON_FAILURE} {given[_ON_FAILURE]!r} is not one of fail, null")
    if on_failure == "null" and mode != "PERMISSIVE":
        raise ConfigError(f"{_ON_FAILURE} null needs mode PERMISSIVE")
    return RowsOptions(mode == "PERMISSIVE", corrupt, on_failure == "null")


def _split(
    options: Mapping[str, Any] | None, names: tuple[str, ...], known: str = ""
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split options into the function's, under their proper names, and the registry's, without their prefix."""
    if options is not None and not isinstance(options, Mapping):
        raise TypeError(f"options are a dict, not {type(options).__name__}")
    proper = {name.lower(): name for name in names}
    prefixes = () if known else (REGISTRY_PREFIX,)
    given: dict[str, Any] = {}
    registry: dict[str, Any] = {}
    for name, value in (options or {}).items():
        lower = str(name).lower()
        if lower.startswith(REGISTRY_PREFIX):
            registry[str(name)[len(REGISTRY_PREFIX) :]] = value
        elif lower not in proper:
            if lower in _INSTEAD and not known:
                raise ConfigError(f"unknown option {name!r}: {_INSTEAD[lower]}")
            pem = _PEM.get(lower.removeprefix("schema.registry."))
            if pem and not known:
                raise ConfigError(f"unknown option {name!r}: give {REGISTRY_PREFIX}{pem}, a PEM file")
            near = difflib.get_close_matches(lower, [*proper, *prefixes], 1)
            hint = f": {known}" if known else ""
            if near:
                hint = f"; did you mean {proper.get(near[0], near[0] + '...')}?"
            elif "." in lower and not known:
                hint = f": settings of the registry begin with {REGISTRY_PREFIX}"
            raise ConfigError(f"unknown option {name!r}{hint}")
        elif proper[lower] in given:
            raise ConfigError(f"the option {proper[lower]} is given twice")
        else:
            given[proper[lower]] = value
    settings = _registry_settings(registry)
    if _FRAME in given:
        # It goes with them: only where there is a registry do values have a frame.
        settings["frame"] = given.pop(_FRAME)
    return given, settings


def _registry_settings(given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a registry's client, PEM files of Java's client under the names that they have here."""
    settings = dict(given)
    for java, name in _PEM.items():
        form = java.replace("location", "type")
        if java in settings and str(settings.get(form)).upper() == "PEM":
            if name in settings:
                raise ConfigError(f"{java} and {name} are the same setting")
            del settings[form]
            settings[name] = settings.pop(java)
    return settings
