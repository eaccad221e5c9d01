"""JSON documents as Jackson reads them into a tree, and text as it writes it.

Kafka Connect and ksqlDB read JSON with Jackson's ``ObjectMapper.readTree``: only the first value of a document
counts, UTF-16 and UTF-32 are recognised, and of keys that stand twice the last wins. This is the slow path for
rows that a strict reader refuses, and the specification of what becomes of them.

A tree is made of None, bool, int, `decimal.Decimal` (whatever has a fraction or an exponent, with its scale), str,
list and dict.
"""

import base64
import bisect
import json
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, NoReturn

from kcodec.java.blanks import trim
from kcodec.java.numbers import format_java_decimal, format_java_double

__all__ = [
    "JacksonError",
    "decode_base64",
    "node_type",
    "quote",
    "read_tree",
    "write_scalar",
    "write_tree",
]

#: ``StreamReadConstraints`` of Jackson 2.15 and later.
MAX_DEPTH = 1000
MAX_NUMBER = 1000
MAX_STRING = 20_000_000
MAX_NAME = 50_000

_SPACE = re.compile(r"[ \t\n\r]*")
_PLAIN = re.compile(r'[^"\\\x00-\x1f\udc80-\udcff]*')
_STRING = re.compile(f'"({_PLAIN.pattern})"')
_NAME = re.compile(f"{_SPACE.pattern}{_STRING.pattern}{_SPACE.pattern}:")
_NUMBER = re.compile(r"(-?)([0-9]+)(?:(\.[0-9]+)?([eE][+-]?[0-9]+)?)")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX = re.compile(r"[0-9a-fA-F]{4}")
_WORDS = {"t": ("true", True), "f": ("false", False), "n": ("null", None)}
_NONFINITE = re.compile(r"NaN|[+-]INF|[+-]?Infinity")
_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]")
#: White space, as ``String.trim`` has it, and four characters of Base64.
_BASE64_GROUP = re.compile(r"[\x00-\x20]*([A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)")


class JacksonError(ValueError):
    """A document that Jackson refuses, with the position of the byte where it does."""

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(reason)
        self.offset = offset


def read_tree(
    data: bytes,
    *,
    leading_zeros: bool = False,
    nonfinite: bool = False,
    whole: bool = False,
    integer: Callable[[int], Any] = int,
    fraction: Callable[[Decimal], Any] = lambda value: value,
) -> Any:
    """Read the first JSON value of UTF-8, UTF-16 or UTF-32; `...` if there is none, which is Jackson's ``MissingNode``.

    Connect takes numbers with `leading_zeros`, Confluent's readers `nonfinite` ones: ``NaN`` and infinities, which
    become floats. With `whole`, what follows the value is an error. `integer` and `fraction` convert numbers without,
    and with, a fraction or an exponent. What is no JSON, or beyond Jackson's limits, is a `JacksonError`.

    >>> read_tree(b'{"a": 1.50, "a": [1e2]} and more')
    {'a': [Decimal('1E+2')]}
    """
    text, width = _decode(data)
    if width == 1 and not whole:
        try:
            return _quick_tree(text, integer, fraction)
        except (ValueError, RecursionError):
            # What is wrong, if anything is, is said below.
            pass
    reader = _DocumentReader(text, width, leading_zeros, nonfinite, integer, fraction)
    value = reader.document()
    if whole and reader.token():
        reader.fail("Unexpected character: expected the end of the document")
    return value


def node_type(value: Any) -> str:
    """Name the type of a node as Jackson's ``JsonNodeType`` does."""
    if value is None:
        return "NULL"
    if value is ...:
        return "MISSING"
    if isinstance(value, bool):
        return "BOOLEAN"
    if isinstance(value, (int, float, Decimal)):
        return "NUMBER"
    return "STRING" if isinstance(value, str) else "ARRAY" if isinstance(value, list) else "OBJECT"


def decode_base64(text: str) -> bytes:
    r"""Decode the Base64 of a string as Jackson does; raise `ValueError` for anything else.

    White space may stand between groups of four characters, and more groups behind a padded one.

    >>> decode_base64(" AQID\nBA==")
    b'\x01\x02\x03\x04'
    """
    parts = []
    at = 0
    while match := _BASE64_GROUP.match(text, at):
        parts.append(base64.b64decode(match[1]))
        at = match.end()
    if trim(text[at:]):
        raise ValueError("this is not Base64")
    return b"".join(parts)


_WRITTEN = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_UNSAFE = re.compile(r'["\\\x00-\x1f]')
_UNSAFE_BYTES = re.compile('["\\\\\x00-\x1f\ud800-\udfff\U00010000-\U0010ffff]')


def quote(text: str, *, escape_surrogates: bool = True) -> str:
    r"""Write text, which may hold halves of surrogate pairs, as a JSON string, escaped as Jackson's generators do.

    A generator of bytes escapes what is beyond U+FFFF, as two surrogates; one of characters leaves it as it is.

    >>> print(quote('a"b\x01/😀'), quote("😀", escape_surrogates=False))
    "a\"b\u0001/\uD83D\uDE00" "😀"
    """
    return f'"{(_UNSAFE_BYTES if escape_surrogates else _UNSAFE).sub(_escape, text)}"'


#: Writes the same, but for numbers with a fraction and some control characters.
_python_json = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":")
).encode

#: What may be a number that Java writes in its own way.
_FRACTION = re.compile(r"[0-9][.e]")


def write_tree(root: Any, *, escape_surrogates: bool = False, nonfinite: bool = False) -> str:
    """Write a tree as compact JSON, as ``JsonNode.toString`` does; its depth costs no recursion.

    Generators of bytes write what is beyond U+FFFF as two surrogates, escaped: see `quote`. With `nonfinite` doubles
    that are no numbers stand as `read_tree` takes them, rather than quoted.

    >>> write_tree({"b": [Decimal("1.50"), None], "a": "x"})
    '{"b":[1.50,null],"a":"x"}'
    """
    if not escape_surrogates:
        try:
            text = _python_json(root)
        except (TypeError, ValueError, RecursionError):
            # Decimals, infinities, mappings of other kinds, deep trees.
            pass
        else:
            # Not a control character either, which may have a hexadecimal letter.
            if "\\u" not in text and not _FRACTION.search(text):
                return text
    parts: list[str] = []
    # What is still to be written, the last first: nodes, and tuples of text.
    stack: list[tuple[str, ...] | list[Any]] = [[root]]
    while stack:
        top = stack.pop()
        if isinstance(top, tuple):
            parts += top
            continue
        (node,) = top
        if isinstance(node, str):
            parts.append(quote(node, escape_surrogates=escape_surrogates))
        elif isinstance(node, Mapping):
            parts.append("{")
            stack.append(("}",))
            entries = [
                (quote(name, escape_surrogates=escape_surrogates), value) for name, value in node.items()
            ]
            for number in range(len(entries) - 1, -1, -1):
                name, value = entries[number]
                stack += [[value], ("," if number else "", name, ":")]
        elif isinstance(node, (list, tuple)):
            parts.append("[")
            stack.append(("]",))
            for number in range(len(node) - 1, -1, -1):
                stack += [[node[number]], ("," if number else "",)]
        else:
            text = write_scalar(node)
            parts.append(text.strip('"') if nonfinite else text)
    return "".join(parts)


def write_scalar(node: bool | float | Decimal | None) -> str:
    """Write a node that is neither a string nor has parts; doubles that are no numbers are quoted."""
    if node is None:
        return "null"
    if isinstance(node, bool):
        return "true" if node else "false"
    if isinstance(node, float):
        text = format_java_double(node)
        return text if text[-1].isdigit() else f'"{text}"'
    return format_java_decimal(node) if isinstance(node, Decimal) else str(node)


def _escape(match: re.Match[str]) -> str:
    letter = match[0]
    if letter in _WRITTEN:
        return _WRITTEN[letter]
    code = ord(letter)
    if code < 0x10000:
        return f"\\u{code:04X}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04X}\\u{0xDC00 + (code & 0x3FF):04X}"


def _decode(data: bytes) -> tuple[str, int]:
    """Return the text and the bytes of its narrowest character; bytes that are no text become U+DC80 to U+DCFF."""
    head = data[:4]
    # Jackson looks for the mark of an encoding in four bytes, or not at all.
    marked = len(head) == 4
    if head == b"\x00\x00\xfe\xff" or (marked and head[:3] == b"\0\0\0"):
        return _utf32(data, "utf-32-be"), 4
    if head == b"\xff\xfe\x00\x00" or (marked and head[1:] == b"\0\0\0"):
        return _utf32(data, "utf-32-le"), 4
    if (marked and head[:2] == b"\xfe\xff") or (len(head) >= 2 and head[0] == 0):
        return data.decode("utf-16-be", "replace").removeprefix("\ufeff"), 2
    if (marked and head[:2] == b"\xff\xfe") or (len(head) >= 2 and head[1] == 0):
        return data.decode("utf-16-le", "replace").removeprefix("\ufeff"), 2
    if marked:
        data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        return data.decode(), 1
    except UnicodeDecodeError:
        return _loose_utf8(data), 1


def _loose_utf8(data: bytes) -> str:
    """Decode what Jackson takes for UTF-8, up to what it does not: surrogates and any value of four bytes as well.

    What stands here for something else is escaped, as it is inside of a string or no JSON: ASCII in too many bytes
    ends no string, and halves of surrogate pairs are no bytes that are no text.
    """
    units: list[str] = []
    at = 0
    while at < len(data):
        lead = data[at]
        size = (1, 0, 2, 3, 4, 0)[bisect.bisect((0x80, 0xC0, 0xE0, 0xF0, 0xF8), lead)]
        tail = data[at + 1 : at + size]
        if not size or len(tail) < size - 1 or any(byte >> 6 != 2 for byte in tail):
            units.append(chr(0xDC00 + lead))
            break
        code = lead if size == 1 else lead & 0x7F >> size
        for byte in tail:
            code = code << 6 | byte & 0x3F
        at += size
        is_half = 0xDC80 <= code < 0xDD00
        if size == 1 or 0xFFFF < code < 0x110000 or (size < 4 and code > 0x7F and not is_half):
            units.append(chr(code))
            continue
        if units[-1:] == ["\\"]:
            units.append(chr(0xDC00 + lead))
            break
        halves = [code]
        if size == 4:
            # Without a look at what it is.
            code -= 0x10000
            halves = [(0xD800 | code >> 10) & 0xFFFF, 0xDC00 | code & 0x3FF]
        units += [f"\\u{half:04X}" for half in halves]
    return _SURROGATES.sub(_join, "".join(units))


def _utf32(data: bytes, name: str) -> str:
    """Decode UTF-32: Jackson's own decoder refuses a wrong character at once, but a cut end only when it gets there."""
    whole = len(data) // 4 * 4
    try:
        text = data[:whole].decode(name, "surrogatepass").removeprefix("\ufeff")
    except UnicodeDecodeError:
        return "\udc80"
    return text + "\udc80" * (whole < len(data))


def _quick_tree(text: str, integer: Callable[[int], Any], fraction: Callable[[Decimal], Any]) -> Any:
    """Read an object or array by Python's own scanner; a `ValueError` where that might answer otherwise than Jackson.

    It is stricter, but for limits: lengths of names and strings, and the depth of what it drops for a key that stands
    twice.
    """
    start = _SPACE.match(text).end()  # type: ignore[union-attr]
    if text[start : start + 1] not in ("{", "["):
        raise ValueError
    if len(text) > MAX_NAME and ("\\" in text or max(map(len, text.split('"'))) > MAX_NAME):
        raise ValueError

    def whole(digits: str) -> Any:
        if len(digits) > MAX_NUMBER:
            raise ValueError
        return integer(int(digits))

    def broken(number: str) -> Any:
        return _DocumentReader(number, 1, False, False, integer, fraction).number(False)

    def refused(word: str) -> Any:
        raise ValueError(word)

    decoder = json.JSONDecoder(parse_int=whole, parse_float=broken, parse_constant=refused)
    tree, end = decoder.raw_decode(text, start)
    opened = text.count("{", start, end) + text.count("[", start, end)
    if opened > MAX_DEPTH:
        level, depth = [tree], 0
        while level:
            depth += 1
            opened -= len(level)
            parts = [part for node in level for part in (node.values() if isinstance(node, dict) else node)]
            level = [part for part in parts if isinstance(part, (dict, list))]
        if depth > MAX_DEPTH or opened:
            raise ValueError
    return tree


class _DocumentReader:
    """One document, read with a stack of its own: depth costs no recursion."""

    def __init__(
        self, text: str, width: int, leading_zeros: bool, nonfinite: bool, integer: Any, fraction: Any
    ) -> None:
        self.text = text
        self.width = width
        self.at = 0
        self.leading_zeros = leading_zeros
        self.nonfinite = nonfinite
        self.integer = integer
        self.fraction = fraction

    def fail(self, reason: str) -> NoReturn:
        before = self.text[: self.at]
        offset = len(before) * self.width
        if self.width == 1:
            offset = len(before.encode("utf-8", "surrogatepass"))
        raise JacksonError(reason, offset)

    def document(self) -> Any:
        if self.token() == "":
            return ...
        stack: list[tuple[Any, str | None]] = []
        while True:
            value, opened = self.value(not stack)
            if opened:
                if len(stack) >= MAX_DEPTH:
                    self.fail(f"Document nesting depth exceeds the maximum allowed ({MAX_DEPTH})")
                if isinstance(value, dict) and self.token() != "}":
                    stack.append((value, self.name()))
                    continue
                if isinstance(value, list) and self.token() != "]":
                    stack.append((value, None))
                    continue
                self.at += 1
            # A value is complete; it may complete those around it.
            while stack:
                owner, name = stack.pop()
                if name is None:
                    owner.append(value)
                else:
                    owner[name] = value
                mark = self.token()
                self.at += 1
                if mark == ",":
                    stack.append((owner, self.name() if name is not None else None))
                    break
                if mark != ("]" if name is None else "}"):
                    self.at -= 1
                    self.fail(f"Unexpected character: expected a comma or the end, found {mark!r}")
                value = owner
            else:
                return value

    def token(self) -> str:
        """Pass white space; return the next character, empty at the end."""
        mark = self.text[self.at : self.at + 1]
        if mark > " ":
            return mark
        match = _SPACE.match(self.text, self.at)
        assert match is not None
        self.at = match.end()
        return self.text[self.at : self.at + 1]

    def name(self) -> str:
        match = _NAME.match(self.text, self.at)
        if match is not None and len(match[1]) <= MAX_NAME:
            self.at = match.end()
            return match[1]
        if self.token() != '"':
            self.fail("Unexpected character: was expecting double-quote to start field name")
        name = self.string(MAX_NAME, "Name")
        if self.token() != ":":
            self.fail("Unexpected character: was expecting a colon to separate field name and value")
        self.at += 1
        return name

    def value(self, root: bool) -> tuple[Any, bool]:
        mark = self.token()
        if mark == "{":
            self.at += 1
            return {}, True
        if mark == "[":
            self.at += 1
            return [], True
        if mark == '"':
            return self.string(MAX_STRING, "String value"), False
        if mark in _WORDS:
            word, value = _WORDS[mark]
            if not self.text.startswith(word, self.at) or self.runs_on(self.at + len(word)):
                self.fail("Unrecognized token")
            self.at += len(word)
            return value, False
        match = _NONFINITE.match(self.text, self.at) if self.nonfinite else None
        if match is not None and not self.runs_on(match.end()):
            self.at = match.end()
            return float(match[0]), False
        return self.number(root), False

    def runs_on(self, end: int) -> bool:
        """Return whether more of a word follows where it seems to end."""
        after = self.text[end : end + 1]
        # In UTF-8, all that is no ASCII, and what Java leaves out of names; else the end of a cut character.
        return after.isalnum() or after == "_" or (after >= "\x7f" and self.width == 1) or after == "\udc80"

    def number(self, root: bool) -> Any:
        match = _NUMBER.match(self.text, self.at)
        if match is None:
            self.fail("Unexpected character: expected a valid value")
        sign, digits, point, exponent = match.groups()
        if len(digits) > 1 and digits[0] == "0" and not self.leading_zeros:
            self.fail("Invalid numeric value: Leading zeroes not allowed")
        after = self.text[match.end() : match.end() + 1]
        if after and (after in ".eE" or (root and after not in " \t\n\r")):
            self.at = match.end()
            self.fail("Unexpected character in numeric value")
        digits = digits.lstrip("0") or "0"
        places, power = (point or ".")[1:], (exponent or "e")[1:]
        if len(digits) + len(places) + len(power.lstrip("+-")) > MAX_NUMBER:
            self.fail(f"Number value length exceeds the maximum allowed ({MAX_NUMBER})")
        self.at = match.end()
        if point is None and exponent is None:
            return self.integer(int(sign + digits))
        shift = int(power or "0")
        scale = len(places) - shift
        # A BigDecimal's scale is a Java int. (Before Java 19 its exponent had to be one too.)
        if not -(2**31) <= scale < 2**31:
            self.at = match.start()
            self.fail("Malformed numeric value")
        value = Decimal(f"{sign}{digits}{places}E{-scale}")
        # BigDecimal has no negative zero.
        return self.fraction(value if value else value.copy_abs())

    def string(self, max_length: int, what: str) -> str:
        match = _STRING.match(self.text, self.at)
        if match is not None and len(match[1]) <= max_length:
            self.at = match.end()
            return match[1]
        start = self.at
        self.at += 1
        parts = []
        while True:
            match = _PLAIN.match(self.text, self.at)
            assert match is not None
            parts.append(match[0])
            self.at = match.end()
            mark = self.text[self.at : self.at + 1]
            if mark == '"':
                self.at += 1
                break
            if mark == "\\":
                parts.append(self.escape())
            elif mark == "":
                self.fail("Unexpected end-of-input: was expecting closing quote for a string value")
            elif mark < " ":
                self.fail(f"Illegal unquoted character ((CTRL-CHAR, code {ord(mark)}))")
            else:
                self.fail("Invalid UTF-8 byte")
        if self.at - start - 2 > max_length:
            self.at = start
            self.fail(f"{what} length exceeds the maximum allowed ({max_length})")
        text = "".join(parts)
        return _SURROGATES.sub(_join, text) if len(parts) > 1 else text

    def escape(self) -> str:
        letter = self.text[self.at + 1 : self.at + 2]
        if letter in _ESCAPES and letter:
            self.at += 2
            return _ESCAPES[letter]
        match = _HEX.match(self.text, self.at + 2)
        if letter != "u" or match is None:
            self.fail("Unrecognized character escape")
        self.at += 6
        return chr(int(match[0], 16))


def _join(match: re.Match[str]) -> str:
    return match[0].encode("utf-16", "surrogatepass").decode("utf-16")
