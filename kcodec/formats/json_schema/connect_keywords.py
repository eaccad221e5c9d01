"""What a JSON Schema says for Kafka Connect, in keywords that Connect adds to the language."""

from collections.abc import Mapping
from typing import Any

_SPELLED = {"float32": "float", "float64": "double"}
_NAMES = ("boolean", "int8", "int16", "int32", "int64", "string", "bytes", "array", "map", "struct")


def connect_type(schema: Mapping[str, Any]) -> str | None:
    """Return the type that a schema names, as `kcodec.formats.connect.model` spells it; None if it names none.

    >>> connect_type({"type": "number", "connect.type": "float32"})
    'float'
    """
    given = schema.get("connect.type")
    if not isinstance(given, str):
        return None
    return given if given in _NAMES else _SPELLED.get(given, "")


def connect_parameters(schema: Mapping[str, Any]) -> dict[str, str]:
    """Return the parameters of the type, such as the scale of a Decimal."""
    given = schema.get("connect.parameters")
    return {str(key): str(value) for key, value in given.items()} if isinstance(given, Mapping) else {}
