"""The tokens of JSON in plain Python, and what its reader and its writer share; compiled code has ``wire/text/json.h``.

A token that the end of the bytes cuts off is ``truncated``, a byte that is not allowed is ``json_syntax``.
"""

from collections.abc import Iterator
from typing import NoReturn

from kcodec.plan.failure import RowError
from kcodec.plan.node import MAX_DEPTH, Limits

SPACE = b" \t\n\r"
DIGITS = b"0123456789"
#: What stands behind a backslash.
ESCAPES = {34: '"', 92: "\\", 47: "/", 98: "\b", 102: "\f", 110: "\n", 114: "\r", 116: "\t"}


class Tokens:
    """The bytes of a row, and how far they are read."""

    def __init__(self, limits: Limits, data: bytes, at: int) -> None:
        self.limits = limits
        self.data = data
        self.at = at
        self.depth = 0
        #: While a default is read: where in the row it stands.
        self.outside: int | None = None

    def fail(self, code: str, offset: int, path: str) -> NoReturn:
        """Refuse the row."""
        raise RowError(code, offset if self.outside is None else self.outside, path)

    def space(self) -> None:
        """Pass white space."""
        while self.at < len(self.data) and self.data[self.at] in SPACE:
            self.at += 1

    def byte(self, path: str) -> int:
        """Return the next byte, which is not passed."""
        if self.at >= len(self.data):
            self.fail("truncated", len(self.data), path)
        return self.data[self.at]

    def next(self, path: str) -> int:
        """Return the next byte behind white space, which is not passed."""
        self.space()
        return self.byte(path)

    def expect(self, byte: bytes, path: str) -> None:
        """Pass white space and a byte that has to be there."""
        if self.next(path) != byte[0]:
            self.fail("json_syntax", self.at, path)
        self.at += 1

    def literal(self, word: bytes, path: str) -> None:
        """Pass a word, such as ``true``."""
        found = self.data[self.at : self.at + len(word)]
        if found != word:
            cut = len(found) < len(word) and word.startswith(found)
            self.fail("truncated" if cut else "json_syntax", len(self.data) if cut else self.at, path)
        self.at += len(word)

    def digits(self, path: str) -> None:
        """Pass digits, of which there has to be one."""
        if self.byte(path) not in DIGITS:
            self.fail("json_syntax", self.at, path)
        while self.at < len(self.data) and self.data[self.at] in DIGITS:
            self.at += 1

    def number(self, path: str) -> bytes:
        """Pass a number, and return its bytes."""
        begin = self.at
        self.at += self.data[begin : begin + 1] == b"-"
        if self.byte(path) == 48:
            self.at += 1
        else:
            self.digits(path)
        if self.data[self.at : self.at + 1] == b".":
            self.at += 1
            self.digits(path)
        if self.data[self.at : self.at + 1] in (b"e", b"E"):
            self.at += 1
            self.at += self.data[self.at : self.at + 1] in (b"+", b"-")
            self.digits(path)
        return self.data[begin : self.at]

    def string(self, path: str) -> bytes:
        """Read a string from its first quote past its last one; return its text as UTF-8."""
        self.at += 1
        parts = []
        while True:
            begin = self.at
            while self.byte(path) not in b'"\\' and self.data[self.at] >= 0x20:
                self.at += 1
            parts.append(self.data[begin : self.at])
            byte = self.data[self.at]
            if byte == 34:
                self.at += 1
                return b"".join(parts)
            if byte != 92:
                self.fail("json_syntax", self.at, path)
            parts.append(self.escape(path).encode())

    def escape(self, path: str) -> str:
        """Pass an escape, or the two of a pair of surrogates; return the character."""
        begin = self.at
        self.at += 1
        kind = self.byte(path)
        self.at += 1
        if kind in ESCAPES:
            return ESCAPES[kind]
        if kind != 117:
            self.fail("json_syntax", begin, path)
        unit = self.hexadecimal(begin, path)
        if 0xD800 <= unit < 0xDC00:
            second = self.at
            for byte in b"\\u":
                if self.byte(path) != byte:
                    self.fail("lone_surrogate", begin, path)
                self.at += 1
            low = self.hexadecimal(second, path)
            if not 0xDC00 <= low < 0xE000:
                self.fail("lone_surrogate", begin, path)
            unit = 0x10000 + ((unit - 0xD800) << 10) + low - 0xDC00
        elif 0xDC00 <= unit < 0xE000:
            self.fail("lone_surrogate", begin, path)
        return chr(unit)

    def hexadecimal(self, begin: int, path: str) -> int:
        """Pass four hexadecimal digits; the escape begins at ``begin``."""
        value = 0
        for _ in range(4):
            byte = self.byte(path)
            if byte not in b"0123456789abcdefABCDEF":
                self.fail("json_syntax", begin, path)
            value = 16 * value + int(chr(byte), 16)
            self.at += 1
        return value

    def enter(self, path: str) -> None:
        """Go a level deeper, as far as that is allowed."""
        if self.depth >= min(self.limits.max_depth, MAX_DEPTH):
            self.fail("depth_limit", self.at, path)
        self.depth += 1
        self.at += 1

    def items(self, close: bytes, path: str) -> Iterator[int]:
        """Go into ``[`` or ``{``, give the number of each item where it starts, and leave."""
        self.enter(path)
        count = 0
        if self.next(path) != close[0]:
            yield count
            while self.next(path) != close[0]:
                self.expect(b",", path)
                self.space()
                count += 1
                yield count
        self.at += 1
        self.depth -= 1

    def key(self, path: str) -> bytes:
        """Read a key and its colon."""
        if self.next(path) != 34:
            self.fail("json_syntax", self.at, path)
        key = self.string(path)
        self.expect(b":", path)
        return key

    def skip(self, path: str) -> None:
        """Read past any value; without recursion, as values may be nested deeper than Python's calls can be."""
        depth = self.depth
        closers: list[int] = []
        while True:
            byte = self.next(path)
            if byte in b"{[":
                self.enter(path)
                closers.append(byte + 2)
                if self.next(path) != closers[-1]:
                    if byte == 123:
                        self.key(path)
                    continue
            elif byte == 34:
                self.string(path)
            elif byte in b"-0123456789":
                self.number(path)
            else:
                self.literal({116: b"true", 102: b"false"}.get(byte, b"null"), path)
            while closers and self.next(path) == closers[-1]:
                self.at += 1
                closers.pop()
            self.depth = depth + len(closers)
            if not closers:
                return
            self.expect(b",", path)
            if closers[-1] == 125:
                self.key(path)
