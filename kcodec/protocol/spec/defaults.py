"""Defaults of fields: what Kafka's generator takes for one, and what it means."""

import base64
import binascii
import re
import uuid
from typing import Any

from kcodec.protocol.spec.json import SpecError
from kcodec.protocol.spec.model import FieldSpec
from kcodec.protocol.spec.versions import parse_int

__all__ = ["check_default", "default_value"]

#: Integer type -> bits by which the generator reads its default, and bits of the values there are.
_INTEGERS = {
    "int8": (8, 8),
    "int16": (16, 16),
    "int32": (32, 32),
    "int64": (64, 64),
    "uint16": (32, 16),
    "uint32": (64, 32),
}

_DECIMAL = re.compile(
    r"[\x00-\x20]*[+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?)[\x00-\x20]*"
)
_HEXADECIMAL = re.compile(
    r"[\x00-\x20]*[+-]?0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+[fFdD]?[\x00-\x20]*"
)

_ONLY_EMPTY = {
    "bytes": "a bytes field is empty or null.",
    "struct": "a struct field is the empty struct or null.",
    "array": "an array field is the empty array or null.",
}


def check_default(field: FieldSpec) -> None:
    """Raise `SpecError`, with the words of Kafka's generator, if it refuses the default of a field."""
    text, kind = field.default, _kind(field)
    if kind == "bool":
        if text and text.lower() not in ("true", "false"):
            raise _invalid(field, "boolean", text)
    elif kind in _INTEGERS:
        digits = text[2:] if text.startswith("0x") else text
        if digits:
            read, bits = _INTEGERS[kind]
            try:
                value = parse_int(digits, read, 10 if digits is text else 16)
            except ValueError:
                raise _invalid(field, kind, digits) from None
            if read != bits and not 0 <= value < 1 << bits:
                raise _invalid(field, kind, "out of range.")
    elif kind == "float64":
        if text and not (_DECIMAL.fullmatch(text) or _HEXADECIMAL.fullmatch(text)):
            raise _invalid(field, kind, text)
    elif kind == "uuid":
        if text and len(_base64(field)) < 16:
            raise _invalid(field, kind, text)
    elif kind != "records":
        if text == "null":
            if not field.nullable_versions.covers(field.versions):
                raise SpecError(
                    f"null cannot be the default for field {field.name}, because not all versions of this field are "
                    "nullable.",
                    "default_null",
                )
        elif text and kind in _ONLY_EMPTY:
            raise SpecError(
                f"Invalid default for {kind} field {field.name}.  The only valid default for {_ONLY_EMPTY[kind]}",
                "default_value",
            )


def default_value(field: FieldSpec) -> Any:
    """Give the default of a field as a Python value: see `FieldSpec.default_value`."""
    check_default(field)
    text, kind = field.default, _kind(field)
    if kind == "records" or (text == "null" and kind in ("string", *_ONLY_EMPTY)):
        return None
    if kind in _INTEGERS:
        return _integer(field, kind) if text not in ("", "0x") else 0
    if kind == "bool":
        return text.lower() == "true"
    if kind == "float64":
        plain = text.strip().rstrip("fFdD") if _DECIMAL.fullmatch(text) else text.strip()
        if plain.lstrip("+-") in ("NaN", "Infinity"):
            return float(plain)
        return (
            float.fromhex(re.sub(r"[fFdD]$", "", plain))
            if _HEXADECIMAL.fullmatch(text)
            else float(plain or 0)
        )
    if kind == "uuid":
        if len(text) > 24:
            raise _invalid(field, kind, text)
        return uuid.UUID(bytes=_base64(field)) if text else uuid.UUID(int=0)
    return {"string": text, "bytes": b"", "array": (), "struct": {}}[kind]


def _kind(field: FieldSpec) -> str:
    if field.type.is_array:
        return "array"
    return "struct" if field.type.is_struct else field.type.element


def _invalid(field: FieldSpec, kind: str, text: str) -> SpecError:
    return SpecError(f"Invalid default for {kind} field {field.name}: {text}", "default_value")


def _base64(field: FieldSpec) -> bytes:
    text = field.default
    body = text.rstrip("=")
    padded = len(text) - len(body)
    whole = len(body) % 4 != 1 and padded in (0, -len(body) % 4)
    try:
        if not whole or not re.fullmatch(r"[A-Za-z0-9_-]*", body):
            raise binascii.Error
        return base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))
    except binascii.Error:
        raise _invalid(field, "uuid", text) from None


def _integer(field: FieldSpec, kind: str) -> int:
    # The text is pasted into Java code, where a leading 0 makes octal.
    match = re.fullmatch(r"([+-]?)(?:0x([0-9a-fA-F]+)|(0[0-7]*)|([1-9][0-9]*))", field.default)
    if match is None:
        raise _invalid(field, kind, field.default)
    sign, hexadecimal, octal, decimal = match.groups()
    value = int(hexadecimal, 16) if hexadecimal else int(octal, 8) if octal else int(decimal)
    return -value if sign == "-" else value
