"""The words of a .proto text, and the places of its comments; names and numbers are read from them.

A name may be more than one word: the registry takes dashes in it, protoc blanks around its dots.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import NoReturn

from kcodec.errors import SchemaError
from kcodec.formats.protobuf.language.literals import integer
from kcodec.formats.protobuf.language.syntax import Quoted

__all__ = ["NAME", "QUOTES", "Tokens", "fail"]

#: How deep messages, groups and values of options may be nested.
MAX_DEPTH = 100

#: Words, marks and comments that a text may have.
MAX_WORDS = 2_000_000

_INT32 = (-(2**31), 2**31 - 1)

_TOKEN = re.compile(
    r"""[\s\ufeff]*(?:
      (-?[\w.]+(?:(?<=[0-9.][eE])[-+][0-9]+[fF]?)?)
    | ("[^"\\]*(?:\\.[^"\\]*)*" | '[^'\\]*(?:\\.[^'\\]*)*')
    | (//[^\n]* | /\*[^*]*\*+(?:[^/*][^*]*\*+)*/)
    | ([={}\[\]()<>:,/-])
    | (;[\s;\ufeff]*)
    | (\S)
    )""",
    re.ASCII | re.DOTALL | re.VERBOSE,
)
#: What may stand between tokens, and what of it the registry does not know.
_BLANKS = " \t\n\r\f\v\ufeff"
_ODD_BLANKS = re.compile("[\f\v\ufeff]")

NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_TYPE = re.compile(r"\.?[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
_UNSIGNED = re.compile(r"\.?[0-9]|inf|nan", re.ASCII)
QUOTES = ('"', "'")


def fail(text: str, at: int, message: str, path: str = "") -> NoReturn:
    """Raise a SchemaError with the line and column of an offset."""
    if not text:
        raise SchemaError(f"{path}: {message}" if path else message)
    line = text.count("\n", 0, at) + 1
    column = at - text.rfind("\n", 0, at)
    raise SchemaError(f"{path + ', ' if path else ''}line {line}, column {column}: {message}")


class Tokens:
    """A text as words, and the place up to which they are read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words: list[str] = []
        self.places: list[int] = []
        self.comments: list[tuple[int, int]] = []
        self.depth = 0
        words, places = self.words, self.places
        # Blanks at the end, which no token follows, would be looked through from each of them.
        end = len(text.rstrip(_BLANKS))
        at = 0
        for match in islice(_TOKEN.finditer(text, 0, end), MAX_WORDS):
            kind = match.lastindex
            at = match.end()
            if kind == 5:
                words.append(";")
                places.append(match.start(5))
                # Empty statements in a row mean no more than one does.
                if (second := text.find(";", places[-1] + 1, at)) >= 0:
                    words.append(";")
                    places.append(second)
            elif kind == 3:
                self.comments.append(match.span(3))
            elif kind == 6:
                self._odd_character(match)
            else:
                words.append(match[kind or 0])
                places.append(match.start(kind or 0))
        if at < end:
            fail(text, at, f"a schema of more than {MAX_WORDS} words")
        # What follows the end is the end.
        words += ["", "", ""]
        places += [len(text)] * 3
        self.next = 0
        self.syntax = ""
        self.ends: list[int] = []
        self.refused: tuple[int, str] | None = None
        self.misnamed: tuple[int, str] | None = None
        if _ODD_BLANKS.search(text):
            self._check_blanks()

    def _check_blanks(self) -> None:
        """Refuse blanks between words and comments that the registry does not know."""
        spans = [(at, at + len(word)) for word, at in zip(self.words, self.places, strict=True)]
        last = 0
        for start, end in sorted([*spans, *self.comments]):
            if odd := _ODD_BLANKS.search(self.text, last, start):
                self.refuse(f"the registry takes no {odd[0]!r} between words", odd.start())
                break
            last = max(last, end)

    def _odd_character(self, match: re.Match[str]) -> None:
        at, char = match.start(6), match[6]
        if char in "\"'":
            fail(self.text, at, "a text without its closing quotation mark")
        if char == "*" and self.text[at - 1] == "/":
            fail(self.text, at - 1, "a comment without its end")
        fail(self.text, at, f"unexpected character {char!r}")

    # Tokens

    def fail(self, message: str, at: int | None = None) -> NoReturn:
        """Raise an error at an offset, or at the next token."""
        fail(self.text, self.places[self.next] if at is None else at, message)

    def unexpected(self, wanted: str) -> NoReturn:
        """Raise an error that says what was wanted in place of the next token."""
        word = self.words[self.next]
        self.fail(f"expected {wanted}, got {repr(word[:40]) if word else 'the end'}")

    def expect(self, mark: str) -> None:
        """Take a mark or a word, which has to be next."""
        if self.words[self.next] != mark:
            self.unexpected(repr(mark))
        self.next += 1

    def accept(self, mark: str) -> bool:
        """Take a mark or a word if it is next, and return whether it was."""
        if self.words[self.next] == mark:
            self.next += 1
            return True
        return False

    def name(self) -> str:
        """Return the next token, which has to be a name."""
        word = self.words[self.next]
        if self.words[self.next + 1][:1] == "-":
            word = self.dashed()
        elif NAME.fullmatch(word) is None:
            self.unexpected("a name")
        self.next += 1
        return word

    def dashed(self) -> str:
        """Return the next token with what follows it behind dashes: a name to the registry, though not to protoc."""
        first = self.next
        word = self.words[first]
        end = self.places[first] + len(word)
        if not _TYPE.fullmatch(word):
            self.unexpected("a name")
        while self.words[self.next + 1][:1] == "-" and self.places[self.next + 1] == end:
            self.next += 1
            end += len(self.words[self.next])
            word += self.words[self.next]
        if self.next > first and self.misnamed is None:
            self.misnamed = self.places[first], f"{word!r} is not a name: it has a dash"
        return word

    def type_name(self) -> str:
        """Return a name with dots, around which there may be blanks."""
        first = self.next
        if self.words[first + 1][:1] == "-" and self.places[first + 1] == self.places[first] + len(
            self.words[first]
        ):
            found = self.dashed()
            self.next += 1
            return found
        parts = [self.words[first]]
        self.next += 1
        while (word := self.words[self.next]) and (word[0] == "." or parts[-1].endswith(".")):
            self.refuse("the registry takes no blanks in a name")
            parts.append(word)
            self.next += 1
        found = "".join(parts)
        if _TYPE.fullmatch(found) is None:
            self.next = first
            self.unexpected("a type")
        return found

    def number(self) -> int:
        """Return an int32."""
        word = self.signed()
        found = integer(word)
        if found is None or not _INT32[0] <= found <= _INT32[1]:
            self.unexpected("a number of 32 bits")
        self.next += 1
        return found

    def signed(self) -> str:
        """Return the next token, with the minus sign that may stand apart in front of it."""
        if self.words[self.next] == "-" and _UNSIGNED.match(self.words[self.next + 1]):
            self.refuse("the registry takes no blanks behind a sign")
            self.next += 1
            self.words[self.next] = f"-{self.words[self.next]}"
        return self.words[self.next]

    def end(self) -> None:
        """Take the semicolon after which a comment may describe the statement."""
        self.ends.append(self.places[self.next])
        self.expect(";")

    def refuse(self, why: str, at: int | None = None) -> None:
        """Note what the registry does not take."""
        if self.refused is None:
            self.refused = (self.places[self.next] if at is None else at, why)

    def quoted(self) -> Quoted:
        """Return a text in quotation marks, which may be in several pieces."""
        pieces = []
        while self.words[self.next][:1] in QUOTES:
            pieces.append(self.words[self.next][1:-1])
            self.next += 1
        if not pieces:
            self.unexpected("a text in quotation marks")
        return Quoted(tuple(pieces))

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Count a level of what is within something else, and refuse one too many."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(f"nested deeper than {MAX_DEPTH} levels")
        yield
        self.depth -= 1
