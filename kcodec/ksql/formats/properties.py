"""The properties of formats: as ksqlDB keeps them, and as the WITH clause of a statement has them."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from kcodec.errors import ConfigError, near
from kcodec.java.blanks import trim
from kcodec.ksql.formats.format import FORMATS

_PROTOBUF = ("PROTOBUF", "PROTOBUF_NOSR")

#: What properties of the WITH clause are called by the formats.
_KEPT = {
    "DELIMITER": "delimiter",
    "SCHEMA_ID": "schemaId",
    "SCHEMA_FULL_NAME": "fullSchemaName",
    "PROTOBUF_NULLABLE_REPRESENTATION": "nullableRepresentation",
}
_AVRO_NAME = "VALUE_AVRO_SCHEMA_FULL_NAME"
_WRAP = "WRAP_SINGLE_VALUE"
#: How Protobuf tells a null from the default.
NULLABLE = ("OPTIONAL", "WRAPPER")


class Properties(NamedTuple):
    """The properties of a format, and the ``WRAP_SINGLE_VALUE`` that stood among them."""

    kept: dict[str, str]
    wrap: bool | None


def checked_properties(name: str, given: Mapping[str, Any], *, is_key: bool) -> Properties:
    """Return the properties of a format as ksqlDB keeps them, or refuse them with its reason.

    >>> checked_properties("AVRO", {"value_schema_id": 7}, is_key=False).kept
    {'schemaId': '7'}
    """
    side = "KEY" if is_key else "VALUE"
    names = {f"{side}_{each}": kept for each, kept in _KEPT.items()}
    if not is_key:
        names[_AVRO_NAME] = "fullSchemaName"
    known = FORMATS[name].properties
    kept: dict[str, str] = {}
    origins: dict[str, str] = {}
    wrap = None
    for given_name, value in given.items():
        upper = str(given_name).upper()
        if upper == _WRAP:
            wrap = _flag(upper, value)
            continue
        plain = names.get(upper)
        if plain is not None and isinstance(value, str):
            value = trim(value)
        if plain is None:
            if upper.startswith(("KEY_", "VALUE_")):
                other = "values" if is_key else "keys"
                of_other = upper.removeprefix("VALUE_" if is_key else "KEY_") in _KEPT or upper == _AVRO_NAME
                reason = f"it is for {other}" if of_other else f"not one of {', '.join(names)}"
                raise ConfigError(f"Invalid config variable in the WITH clause: {upper}: {reason}")
            plain = str(given_name)
        elif plain == "nullableRepresentation":
            value = _nullable(name, upper, value)
        elif plain == "schemaId" and "schemaId" not in known:
            raise ConfigError(
                f"{side}_FORMAT should support schema inference when {side}_SCHEMA_ID is provided. "
                f"Current format is {name}."
            )
        if plain in kept:
            raise ConfigError(
                f"Cannot supply both '{origins[plain]}' and '{given_name}' properties. Please only set "
                f"'{given_name if upper != _AVRO_NAME else origins[plain]}'."
            )
        kept[plain], origins[plain] = str(value), str(given_name)
    _check(name, kept)
    return Properties(kept, wrap)


def _check(name: str, kept: Mapping[str, str]) -> None:
    known = FORMATS[name].properties
    unknown = [each for each in kept if each not in known]
    if unknown:
        valid = ", ".join(known) or "it has none"
        raise ConfigError(
            f"{name} does not support the following configs: [{', '.join(unknown)}]: "
            f"{valid}{near(unknown[0], known)}"
        )
    for each, value in kept.items():
        if not trim(value):
            raise ConfigError(f"{each} cannot be empty. Format configuration: {dict(kept)}")
    number = kept.get("schemaId")
    if number is not None and not (
        number.isdecimal() and number.isascii() and len(number) <= 20 and int(number) < 1 << 31
    ):
        raise ConfigError(f"schemaId={number[:40]!r} is not a number")


def _nullable(name: str, origin: str, value: object) -> str:
    if name not in _PROTOBUF:
        raise ConfigError(f"Property {origin} can only be enabled with protobuf format")
    if value not in NULLABLE:
        raise ConfigError(
            f"Invalid value {value} for property {origin}: String must be one of: {', '.join(NULLABLE)}, null"
        )
    return str(value).lower()


def _flag(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and trim(value).lower() in ("true", "false"):
        return trim(value).lower() == "true"
    raise ConfigError(f"Invalid value {value} for property {name}: Expected value to be either true or false")
