"""Defaults of fields: what Kafka's generator takes for one, and what it means."""

import base64
import re
import uuid
from typing import Any

from kcodec.java.numbers import parse_java_double, parse_java_integer
from kcodec.protocol.spec.json import SpecError

#: Integer type -> bits by which the generator reads its default, and bits of the values there are.
_INTEGERS = {
    "int8": (8, 8),
    "int16": (16, 16),
    "int32": (32, 32),
    "int64": (64, 64),
    "uint16": (32, 16),
    "uint32": (64, 32),
}

_ONLY_EMPTY = {
    "bytes": "a bytes field is empty or null.",
    "struct": "a struct field is the empty struct or null.",
    "array": "an array field is the empty array or null.",
}


def check(name: str, kind: str, text: str, is_nullable: bool) -> None:
    """Check the default of a field, as it is written; raise `SpecError`, in the words of Kafka's generator.

    `kind` is ``array``, ``struct``, or the name of a primitive type; `is_nullable` is true if all versions of the
    field may be null.
    """
    if kind == "bool":
        if text and text.lower() not in ("true", "false"):
            raise _invalid(name, "boolean", text)
    elif kind in _INTEGERS:
        digits = text[2:] if text.startswith("0x") else text
        if digits:
            read, bits = _INTEGERS[kind]
            try:
                number = parse_java_integer(digits, read, 10 if digits is text else 16)
            except ValueError:
                raise _invalid(name, kind, digits) from None
            if read != bits and not 0 <= number < 1 << bits:
                raise _invalid(name, kind, "out of range.")
    elif kind == "float64":
        try:
            _float(text)
        except ValueError:
            raise _invalid(name, kind, text) from None
    elif kind == "uuid":
        if text and len(_uuid(name, text)) < 16:
            raise _invalid(name, kind, text)
    elif kind == "records":
        return
    elif text == "null":
        if not is_nullable:
            raise SpecError(
                f"null cannot be the default for field {name}, because not all versions of this field are nullable.",
                "default_null",
            )
    elif text and kind in _ONLY_EMPTY:
        raise SpecError(
            f"Invalid default for {kind} field {name}.  The only valid default for {_ONLY_EMPTY[kind]}",
            "default_value",
        )


def value(name: str, kind: str, text: str) -> Any:
    """Return a default that `check` passes as a Python value; see `FieldSpec.default_value`."""
    if kind == "records" or (text == "null" and kind in ("string", *_ONLY_EMPTY)):
        return None
    if kind in _INTEGERS:
        return _integer(name, kind, text) if text not in ("", "0x") else 0
    if kind == "bool":
        return text.lower() == "true"
    if kind == "float64":
        return _float(text)
    if kind == "uuid":
        if len(text) > 24:
            raise _invalid(name, kind, text)
        return uuid.UUID(bytes=_uuid(name, text)) if text else uuid.UUID(int=0)
    return {"string": text, "bytes": b"", "array": (), "struct": {}}[kind]


def _invalid(name: str, kind: str, text: str) -> SpecError:
    return SpecError(f"Invalid default for {kind} field {name}: {text}", "default_value")


def _uuid(name: str, text: str) -> bytes:
    try:
        return decode_uuid(text)
    except ValueError:
        raise _invalid(name, "uuid", text) from None


def decode_uuid(text: str) -> bytes:
    r"""Decode Base64 of URLs, whose padding may be left out, of any length; a `ValueError` for what is none.

    >>> decode_uuid("-_8="), decode_uuid("-_8")
    (b'\xfb\xff', b'\xfb\xff')
    """
    body = text.rstrip("=")
    padding = len(text) - len(body)
    is_whole = len(body) % 4 != 1 and padding in (0, -len(body) % 4)
    if not is_whole or not re.fullmatch(r"[A-Za-z0-9_-]*", body):
        raise ValueError("this is not the Base64 of URLs")
    return base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))


def _integer(name: str, kind: str, text: str) -> int:
    # The text is pasted into Java code, where a leading 0 makes octal.
    match = re.fullmatch(r"([+-]?)(?:0x([0-9a-fA-F]+)|(0[0-7]*)|([1-9][0-9]*))", text)
    if match is None:
        raise _invalid(name, kind, text)
    sign, hexadecimal, octal, decimal = match.groups()
    number = int(hexadecimal, 16) if hexadecimal else int(octal, 8) if octal else int(decimal)
    return -number if sign == "-" else number


def _float(text: str) -> float:
    return parse_java_double(text or "0")
