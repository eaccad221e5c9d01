"""Options as Spark and Databricks spell them: what becomes of bad rows, apart from the options of a format.

Names are compared without regard to case, as Spark does. Options that are unknown or not valid are a `ConfigError`.
"""

import difflib
from collections.abc import Mapping
from typing import Any, NamedTuple

from kcodec.errors import ConfigError

__all__ = [
    "REGISTRY_PREFIX",
    "ReadOptions",
    "RowsOptions",
    "flag",
    "integer",
    "read_options",
    "rows_options",
    "write_options",
]

#: What the settings of the registry's client begin with.
REGISTRY_PREFIX = "confluent.schema.registry."

_ROWS = ("mode", "columnNameOfCorruptRecord")
_MODES = ("FAILFAST", "PERMISSIVE")


class RowsOptions(NamedTuple):
    """What becomes of rows that cannot be decoded."""

    #: Whether such a row becomes nulls rather than an error.
    permissive: bool = False
    #: Name of the field that says what is wrong with such a row.
    corrupt_column: str | None = None


class ReadOptions(NamedTuple):
    """The options of a function that decodes by a schema."""

    rows: RowsOptions
    #: Options of the format, by their names in Spark.
    format: dict[str, Any]
    #: Settings of the registry's client.
    registry: dict[str, Any]


def read_options(options: Mapping[str, Any] | None, names: tuple[str, ...] = ()) -> ReadOptions:
    """Read the options of a function that decodes by a schema; `names` are those of its format."""
    given, registry = _split(options, (*_ROWS, *names))
    own = {name: value for name, value in given.items() if name in names}
    return ReadOptions(_rows(given), own, registry)


def rows_options(
    options: Mapping[str, Any] | None, function: str, others: str = "", *, has_error_column: bool = True
) -> RowsOptions:
    """Read the options of a function that has none but those for bad rows; errors add `others` to their list."""
    names = _ROWS if has_error_column else _ROWS[:1]
    known = f"{function} takes the option{'s' if has_error_column else ''} {' and '.join(names)}{others}"
    given, registry = _split(options, names, known)
    if registry:
        raise ConfigError(known)
    return _rows(given)


def write_options(options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Read the options of a function that encodes by a schema: the settings of the registry's client."""
    return _split(options, ())[1]


def flag(given: Mapping[str, Any], name: str) -> bool:
    """Return the option of a name as true or false; without it, false."""
    text = str(given.get(name, "false")).lower()
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
        raise ConfigError(f"mode {given['mode']!r} is not one of {', '.join(_MODES)}")
    corrupt = given.get("columnNameOfCorruptRecord")
    if corrupt is not None and mode != "PERMISSIVE":
        raise ConfigError("columnNameOfCorruptRecord needs mode PERMISSIVE")
    if corrupt is not None and not (isinstance(corrupt, str) and corrupt):
        raise ConfigError(f"columnNameOfCorruptRecord {corrupt!r} is not a name")
    return RowsOptions(mode == "PERMISSIVE", corrupt)


def _split(
    options: Mapping[str, Any] | None, names: tuple[str, ...], known: str = ""
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options under their proper names, and the registry's settings without their prefix."""
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
    return given, registry
