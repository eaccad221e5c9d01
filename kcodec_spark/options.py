"""Options as Spark and Databricks spell them: what becomes of bad rows, apart from the options of a format."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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


@dataclass(frozen=True)
class RowsOptions:
    """What becomes of rows that cannot be decoded.

    Attributes
    ----------
    permissive : bool
        Whether such a row becomes nulls rather than an error.
    corrupt_column : str or None
        Name of the field that says what is wrong with such a row.
    """

    permissive: bool = False
    corrupt_column: str | None = None


@dataclass(frozen=True)
class ReadOptions:
    """The options of a function that decodes by a schema.

    Attributes
    ----------
    rows : RowsOptions
        What becomes of bad rows.
    format : dict
        Options of the format, by their names in Spark.
    registry : dict
        Settings of the registry's client.
    """

    rows: RowsOptions = RowsOptions()
    format: dict[str, Any] = field(default_factory=dict)
    registry: dict[str, Any] = field(default_factory=dict)


def read_options(options: Mapping[str, Any] | None, names: tuple[str, ...] = ()) -> ReadOptions:
    """Read the options of a function that decodes by a schema, such as `from_avro`.

    Parameters
    ----------
    options : mapping or None
        Names are compared without regard to case, as Spark does.
    names : tuple of str
        The options of the format.

    Returns
    -------
    ReadOptions

    Raises
    ------
    ConfigError
        If an option is unknown, or the mode or the name of the error column is not valid.

    Examples
    --------
    >>> read_options({"MODE": "permissive", "avroschema": '"int"'}, ("avroSchema",)).format
    {'avroSchema': '"int"'}
    """
    given, registry = _split(options, (*_ROWS, *names))
    own = {name: value for name, value in given.items() if name in names}
    return ReadOptions(_rows(given), own, registry)


def rows_options(
    options: Mapping[str, Any] | None, function: str, others: str = "", *, has_error_column: bool = True
) -> RowsOptions:
    """Read the options of a function that takes no others than those for bad rows.

    Parameters
    ----------
    options : mapping or None
        As for `read_options`.
    function : str
        Name of the function, for errors.
    others : str
        What errors add to the list of options.
    has_error_column : bool
        Whether ``columnNameOfCorruptRecord`` is one of them.

    Returns
    -------
    RowsOptions

    Raises
    ------
    ConfigError
        As for `read_options`.

    Examples
    --------
    >>> rows_options({"mode": "PERMISSIVE"}, "from_ksql")
    RowsOptions(permissive=True, corrupt_column=None)
    """
    names = _ROWS if has_error_column else _ROWS[:1]
    known = f"{function} takes the option{'s' if has_error_column else ''} {' and '.join(names)}{others}"
    given, registry = _split(options, names, known)
    if registry:
        raise ConfigError(known)
    return _rows(given)


def write_options(options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Read the options of a function that encodes by a schema: the settings of the registry's client.

    Parameters
    ----------
    options : mapping or None
        As for `read_options`.

    Returns
    -------
    dict

    Raises
    ------
    ConfigError
        If an option is unknown.

    Examples
    --------
    >>> write_options({"confluent.schema.registry.basic.auth.user.info": "key:secret"})
    {'basic.auth.user.info': 'key:secret'}
    """
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
            hint = f"; did you mean {proper.get(near[0], near[0] + '...')}?" if near else ""
            if not near and known:
                hint = f": {known}"
            elif not near and "." in lower:
                hint = f": settings of the registry begin with {REGISTRY_PREFIX}"
            raise ConfigError(f"unknown option {name!r}{hint}")
        elif proper[lower] in given:
            raise ConfigError(f"the option {proper[lower]} is given twice")
        else:
            given[proper[lower]] = value
    return given, registry
