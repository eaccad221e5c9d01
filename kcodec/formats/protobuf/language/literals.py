"""What words of a .proto text mean: whole numbers, and texts with escapes, as the registry or protoc reads them."""

import re

from kcodec.formats.protobuf.language.syntax import Quoted

_INTEGER = re.compile(r"-?(0[xX][0-9A-Fa-f]{1,32}|[0-9]{1,32})")
_ESCAPE = re.compile(
    r"\\(?:([0-7]{1,3})|[xX]([0-9A-Fa-f]{1,2})"
    # Both halves of a surrogate pair are one character.
    r"|u([dD][89abAB][0-9A-Fa-f]{2}\\u[dD][c-fC-F][0-9A-Fa-f]{2}|[0-9A-Fa-f]{4})"
    r"|U([0-9A-Fa-f]{8})|(.))",
    re.DOTALL,
)
_REGISTRY_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|[xX]([0-9A-Fa-f]{1,2})|()()(.))", re.DOTALL)
_PLAIN = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def integer(word: str) -> int | None:
    """Return a whole number in decimal or hexadecimal digits; None if it is none.

    Zeros in front mean nothing, as the registry has it; protoc reads them as octal.
    """
    if _INTEGER.fullmatch(word) is None:
        return None
    return int(word, 16) if "x" in word or "X" in word else int(word)


def unquote(value: Quoted) -> str:
    """Return a text with its escapes read as the registry has it: each a character of its own.

    Letters that are no escape there stand for themselves, ``u`` and ``U`` too, which protoc reads as code points.
    """
    return "".join(_REGISTRY_ESCAPE.sub(_character, each) for each in value.pieces)


def unquote_bytes(value: Quoted) -> bytes:
    """Return a text as bytes: octal and hexadecimal escapes are bytes, the rest is UTF-8."""
    if not any("\\" in each for each in value.pieces):
        return "".join(value.pieces).encode("utf-8", "surrogatepass")
    # Bytes pass as lone surrogates, which no text that was decoded has.
    text = "".join(_ESCAPE.sub(_byte, each) for each in value.pieces)
    return text.encode("utf-8", "surrogateescape")


def _character(match: re.Match[str]) -> str:
    octal, hexadecimal, short, long, plain = match.groups()
    if plain is not None:
        return _PLAIN.get(plain, plain)
    if octal is not None:
        return chr(int(octal, 8))
    if short is not None:
        return bytes.fromhex(short.replace("\\u", "")).decode("utf-16-be", "replace")
    code = int(hexadecimal or long, 16)
    return chr(code) if code < 0xD800 or 0xDFFF < code < 0x110000 else "\ufffd"


def _byte(match: re.Match[str]) -> str:
    octal, hexadecimal = match.group(1, 2)
    if octal is None and hexadecimal is None:
        return _character(match)
    code = int(octal, 8) & 0xFF if octal is not None else int(hexadecimal, 16)
    return chr(code) if code < 0x80 else chr(0xDC00 + code)
