"""The JSON that Kafka's message definitions are written in: with comments, and with scalars of any kind.

Kafka's generator reads them with Jackson, which converts scalars where the meaning is clear (``"tag": "0"``) and takes
a single value for a list of one. Where something is refused the reason is given in Jackson's words.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from kcodec.errors import SchemaError
from kcodec.java.numbers import parse_java_integer

__all__ = [
    "SpecError",
    "parse_json",
    "read_boolean",
    "read_choice",
    "read_integer",
    "read_list",
    "read_object",
    "read_text",
]

Value = TypeVar("Value")

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_PACKAGE = "org.apache.kafka.message"


class SpecError(SchemaError):
    """A message definition that Kafka's generator refuses.

    Attributes
    ----------
    reason : str
        What is wrong, in the generator's words where it has any.
    rule : str
        Stable name of the rule that is broken, such as ``"duplicate_tag"``.
    path : str
        Of the field, from the message down, such as ``"Topics.Partitions.Index"``; empty for the message itself.
    file : str
        Where the definition was read from; empty if it was a text.

    Examples
    --------
    >>> print(SpecError("Invalid field name a_b", "field_name", "Topics.a_b", "FetchRequest.json"))
    FetchRequest.json: Topics.a_b: Invalid field name a_b
    """

    def __init__(self, reason: str, rule: str, path: str = "", file: str = "") -> None:
        super().__init__(reason, rule, path, file)
        self.reason = reason
        self.rule = rule
        self.path = path
        self.file = file

    def __str__(self) -> str:
        return ": ".join(part for part in (self.file, self.path, self.reason) if part)


class _Number(str):
    """A number as it is written."""


def parse_json(text: str) -> Any:
    """Parse JSON with comments; numbers are kept as they are written."""

    def blank(match: re.Match[str]) -> str:
        token = match.group()
        return token if token[0] == '"' else re.sub(r"[^\n]", " ", token)

    # Most definitions have no comments, and a search for them takes longer than the rest.
    if "//" in text or "/*" in text:
        text = _TOKENS.sub(blank, text)
    decoder = json.JSONDecoder(parse_float=_Number, parse_int=_Number, parse_constant=_constant)
    try:
        value, end = decoder.raw_decode(text, len(text) - len(text.lstrip()))
    except json.JSONDecodeError as error:
        raise SpecError(f"not JSON: {error}", "json") from None
    except RecursionError:
        raise SpecError("not JSON: nested too deeply", "json") from None
    trailing = text[end:].lstrip()
    if trailing:
        token = {"{": "START_OBJECT", "[": "START_ARRAY", '"': "VALUE_STRING"}.get(trailing[0])
        kind = f" (of type {token})" if token else ""
        raise SpecError(
            f"Trailing token{kind} found after value (bound as `{_PACKAGE}.MessageSpec`): not allowed as per "
            "`DeserializationFeature.FAIL_ON_TRAILING_TOKENS`",
            "json",
        )
    return value


def _constant(name: str) -> Any:
    raise SpecError(f"not JSON: {name} is not a number", "json")


def read_object(
    value: Any, kind: str, readers: dict[str, Callable[[Any, str], Any]], path: str
) -> tuple[dict[str, Any], str | None]:
    """Read the members of an object, each by its reader, which takes the value and the path.

    Returned with them is the error text for the first member that is not known, which the generator reports after all
    other errors.
    """
    if not isinstance(value, dict):
        raise _mismatch(f"{_PACKAGE}.{kind}", value, path)
    unknown = None
    members = {}
    for name, member in value.items():
        if name in readers:
            members[name] = readers[name](member, path)
        elif unknown is None:
            known = ", ".join(f'"{known}"' for known in readers)
            unknown = (
                f'Unrecognized field "{name}" (class {_PACKAGE}.{kind}), not marked as ignorable '
                f"({len(readers)} known properties: {known})"
            )
    return members, unknown


def read_text(value: Any, path: str) -> str | None:
    """Read text, a number or a boolean as text."""
    if value is None or isinstance(value, str):
        return value if value is None else str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    raise _mismatch("java.lang.String", value, path)


def read_boolean(value: Any, path: str) -> bool:
    """Read a boolean, its text, or a number that is true unless 0."""
    if isinstance(value, _Number):
        if re.fullmatch(r"-?[0-9]+", value):
            return int(value) != 0
    elif value is None or value == "":
        return False
    elif isinstance(value, bool):
        return value
    elif value in ("true", "True", "TRUE", "false", "False", "FALSE"):
        return bool(value.lower() == "true")
    raise _mismatch("boolean", value, path, ': only "true" or "false" recognized')


def read_integer(bits: int) -> Callable[[Any, str], int | None]:
    """Make the reader of an integer of 16 or 32 bits: a number or its text."""
    java = "short" if bits == 16 else "int"

    def read(value: Any, path: str) -> int | None:
        if value is None or value == "":
            return None
        if not isinstance(value, str):
            raise _mismatch(java, value, path)
        try:
            number = int(float(value)) if isinstance(value, _Number) else int(value)
        except (ValueError, OverflowError):
            raise SpecError(
                f'Cannot deserialize value of type `{java}` from String "{value}": not a valid `{java}` value',
                "json_type",
                path,
            ) from None
        try:
            return parse_java_integer(str(number), bits)
        except ValueError:
            raise SpecError(
                f"Numeric value ({value}) out of range of Java {java}", "json_range", path
            ) from None

    return read


def read_choice(kind: str, choices: Sequence[str]) -> Callable[[Any, str], str | None]:
    """Make the reader of a text that is one of some."""

    def read(value: Any, path: str) -> str | None:
        if value is None or (value in choices and not isinstance(value, _Number)):
            return value if value is None else str(value)
        raise SpecError(
            f"Cannot deserialize value of type `{_PACKAGE}.{kind}` from {_name(value)}: "
            f"not one of the values accepted for Enum class: [{', '.join(choices)}]",
            "json_choice",
            path,
        )

    return read


def read_list(item: Callable[[Any, str], Value]) -> Callable[[Any, str], tuple[Value, ...] | None]:
    """Make the reader of a list, or of a single value for a list of one."""

    def read(value: Any, path: str) -> tuple[Value, ...] | None:
        if value is None:
            return None
        return tuple(item(each, path) for each in (value if isinstance(value, list) else [value]))

    return read


def _mismatch(kind: str, value: Any, path: str, hint: str = "") -> SpecError:
    reason = f"Cannot deserialize value of type `{kind}` from {_name(value)}{hint}"
    return SpecError(reason, "json_type", path)


def _name(value: Any) -> str:
    if isinstance(value, dict):
        return "Object value (token `JsonToken.START_OBJECT`)"
    if isinstance(value, list):
        return "Array value (token `JsonToken.START_ARRAY`)"
    if isinstance(value, bool):
        return "Boolean value (token `JsonToken.VALUE_" + ("TRUE`)" if value else "FALSE`)")
    if isinstance(value, _Number):
        kind = "INT" if re.fullmatch(r"-?[0-9]+", value) else "FLOAT"
        return f"{'Integer' if kind == 'INT' else 'Floating-point'} value (token `JsonToken.VALUE_NUMBER_{kind}`)"
    return "null" if value is None else f'String "{value}"'
