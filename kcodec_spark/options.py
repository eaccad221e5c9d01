"""Options as Spark and Databricks spell them."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kcodec.errors import ConfigError

__all__ = ["REGISTRY_PREFIX", "ReadOptions", "WriteOptions", "read_options", "write_options"]

#: What the settings of the registry's client begin with.
REGISTRY_PREFIX = "confluent.schema.registry."

_MODES = ("FAILFAST", "PERMISSIVE")
_MAX_RECURSION = 15


@dataclass(frozen=True)
class ReadOptions:
    """What the options of `from_avro` come to.

    Attributes
    ----------
    permissive : bool
        Whether a row that cannot be decoded becomes nulls rather than an error.
    corrupt_column : str or None
        Name of the field that tells what is wrong with such a row.
    avro_schema : str or None
        The reader's schema.
    codec : dict
        Options of `kcodec.AvroCodec`.
    registry : dict
        Settings of the registry's client.
    """

    permissive: bool = False
    corrupt_column: str | None = None
    avro_schema: str | None = None
    codec: dict[str, Any] = field(default_factory=dict)
    registry: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class WriteOptions:
    """What the options of `to_avro` come to.

    Attributes
    ----------
    registry : dict
        Settings of the registry's client.
    """

    registry: dict[str, Any] = field(default_factory=dict)


def read_options(options: Mapping[str, Any] | None) -> ReadOptions:
    """Read the options of `from_avro`.

    Parameters
    ----------
    options : mapping or None
        Names are compared without regard to case, as Spark does.

    Returns
    -------
    ReadOptions

    Raises
    ------
    ConfigError
        If an option is unknown, or its value is not one it takes.

    Examples
    --------
    >>> read_options({"MODE": "permissive", "recursiveFieldMaxDepth": "3"}).codec
    {'recursive_depth': 3}
    """
    given, registry = _split(
        options,
        (
            "mode",
            "columnNameOfCorruptRecord",
            "avroSchema",
            "avroSchemaEvolutionMode",
            "recursiveFieldMaxDepth",
            "enableStableIdentifiersForUnionType",
            "stableIdentifierPrefixForUnionType",
        ),
    )
    mode = str(given.get("mode", "FAILFAST")).upper()
    if mode not in _MODES:
        raise ConfigError(f"mode {given['mode']!r} is not one of {', '.join(_MODES)}")
    corrupt = given.get("columnNameOfCorruptRecord")
    if corrupt is not None and mode != "PERMISSIVE":
        raise ConfigError("columnNameOfCorruptRecord needs mode PERMISSIVE")
    if corrupt is not None and not (isinstance(corrupt, str) and corrupt):
        raise ConfigError(f"columnNameOfCorruptRecord {corrupt!r} is not a name")
    if str(given.get("avroSchemaEvolutionMode", "none")).lower() != "none":
        raise ConfigError(
            f"avroSchemaEvolutionMode {given['avroSchemaEvolutionMode']!r}: only none is supported, "
            "the reader's schema stays what it was when the query was made"
        )
    codec: dict[str, Any] = {}
    depth = _integer(given, "recursiveFieldMaxDepth")
    if depth > _MAX_RECURSION:
        raise ConfigError(f"recursiveFieldMaxDepth {depth} is more than {_MAX_RECURSION}")
    if depth > 0:
        codec["recursive_depth"] = depth
    if _flag(given, "enableStableIdentifiersForUnionType"):
        codec["union_members"] = "type"
        codec["union_prefix"] = str(given.get("stableIdentifierPrefixForUnionType", "member_"))
    return ReadOptions(mode == "PERMISSIVE", corrupt, given.get("avroSchema"), codec, registry)


def write_options(options: Mapping[str, Any] | None) -> WriteOptions:
    """Read the options of `to_avro`: the settings of the registry's client.

    Parameters
    ----------
    options : mapping or None
        As for `read_options`.

    Returns
    -------
    WriteOptions

    Raises
    ------
    ConfigError
        If an option is unknown.

    Examples
    --------
    >>> write_options({"confluent.schema.registry.basic.auth.user.info": "key:secret"}).registry
    {'basic.auth.user.info': 'key:secret'}
    """
    return WriteOptions(_split(options, ())[1])


def _split(
    options: Mapping[str, Any] | None, known: tuple[str, ...]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options under their proper names, and the registry's settings without their prefix."""
    if options is not None and not isinstance(options, Mapping):
        raise TypeError(f"options are a dict, not {type(options).__name__}")
    proper = {name.lower(): name for name in known}
    given: dict[str, Any] = {}
    registry: dict[str, Any] = {}
    for name, value in (options or {}).items():
        lower = str(name).lower()
        if lower.startswith(REGISTRY_PREFIX):
            registry[str(name)[len(REGISTRY_PREFIX) :]] = value
        elif lower not in proper:
            near = difflib.get_close_matches(lower, [*proper, REGISTRY_PREFIX], 1)
            hint = f"; did you mean {proper.get(near[0], near[0] + '...')}?" if near else ""
            if not near and "." in lower:
                hint = f": settings of the registry begin with {REGISTRY_PREFIX}"
            raise ConfigError(f"unknown option {name!r}{hint}")
        elif proper[lower] in given:
            raise ConfigError(f"the option {proper[lower]} is given twice")
        else:
            given[proper[lower]] = value
    return given, registry


def _flag(given: Mapping[str, Any], name: str) -> bool:
    text = str(given.get(name, "false")).lower()
    if text not in ("true", "false"):
        raise ConfigError(f"{name} {given[name]!r} is neither true nor false")
    return text == "true"


def _integer(given: Mapping[str, Any], name: str) -> int:
    try:
        return int(given.get(name, -1))
    except (OverflowError, TypeError, ValueError):
        raise ConfigError(f"{name} {given[name]!r} is not an integer") from None
