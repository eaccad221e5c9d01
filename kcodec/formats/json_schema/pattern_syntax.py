"""Whether a text is a regular expression, told in one pass over it and without compiling it.

Schemas come from strangers. The module ``re`` takes seconds and more to compile some expressions of a few kilobytes, or
to match them, and holds the interpreter's lock all the while: so none of theirs ever reaches it.
"""

import re
from typing import NoReturn

from kcodec.errors import SchemaError

#: Characters of a regular expression.
MAX_PATTERN = 100_000

#: Groups within groups.
_MAX_GROUPS = 400

#: The largest number of repetitions, a Java int.
_MAX_REPEATED = (1 << 31) - 1

#: What is no group of characters that are matched, but flags for what follows.
_FLAGS = re.compile(r"\(\?[dimsuxU]*(?:-[dimsuxU]*)?\)")
#: What a group begins with, beside an expression; the names of Python's too, which the validator knows.
_OPENING = re.compile(
    r"\((?:\?(?:[:=!>]|<[=!]|P?<[A-Za-z][A-Za-z0-9_]*>|[dimsuxU]*(?:-[dimsuxU]*)?:)|(?!\?))"
)
_QUANTIFIER = re.compile(r"(?:[*+?]|\{(?=[0-9,])([0-9]*)(,)?([0-9]*)\})[?+]?")
#: Escapes that stand for a set of characters, and others; names end at a backslash, so that many without an end are not
#: each looked for up to the end of the text.
_SET = re.compile(r"\\(?:[dDsSwWhHvV]|[pP](?:\{[^}\\]*\}|[A-Z]))")
_CHARACTER = re.compile(
    r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|x\{([0-9A-Fa-f]{1,8})\}|0[0-7]{0,3}|c[@-_a-z]|N\{[^}\\]*\}|[^A-Za-z0-9])",
    re.DOTALL,
)
_LETTERS = re.compile(r"\\[abefnrtEGKQRXzZ]")
_OUTSIDE = re.compile(r"\\(?:[AB1-9]|k<[^>\\]*>)")
_WITHIN = re.compile(r"\\[1-7]")
_ESCAPED = {"a": 7, "b": 8, "e": 27, "f": 12, "n": 10, "r": 13, "t": 9}


def check_pattern(pattern: str, path: str) -> None:
    r"""Refuse what is no regular expression, neither of Java nor of ECMA 262; the path is its place in the schema.

    >>> check_pattern(r"^(?i)[a-z&&[^aeiou]]++\p{Alpha}\Z", "#/pattern")
    >>> check_pattern("(a|b", "#/pattern")
    Traceback (most recent call last):
    kcodec.errors.SchemaError: #/pattern: not a regular expression: a group has no end, at position 0
    """
    if len(pattern) > MAX_PATTERN:
        raise SchemaError(f"{path}: the regular expression is too large")
    _Syntax(pattern, path).check()


class _Syntax:
    def __init__(self, pattern: str, path: str) -> None:
        self.pattern = pattern
        self.path = path
        self.at = 0

    def refuse(self, reason: str, at: int) -> NoReturn:
        raise SchemaError(f"{self.path}: not a regular expression: {reason}, at position {at}")

    def check(self) -> None:
        pattern = self.pattern
        groups: list[int] = []
        #: Whether there is something that a quantifier may repeat, and whether it has one already.
        is_atom = is_repeated = False
        while self.at < len(pattern):
            start = self.at
            character = pattern[start]
            if quantifier := _QUANTIFIER.match(pattern, start):
                if not is_atom or is_repeated:
                    self.refuse("multiple repeat" if is_repeated else "nothing to repeat", start)
                self.counts(quantifier)
                self.at = quantifier.end()
                is_repeated = True
                continue
            if flags := _FLAGS.match(pattern, start):
                self.at = flags.end()
                continue
            is_atom, is_repeated = character not in "(|", False
            if character == "(":
                opening = _OPENING.match(pattern, start)
                if opening is None:
                    self.refuse("unknown extension of a group", start)
                groups.append(start)
                if len(groups) > _MAX_GROUPS:
                    raise SchemaError(f"{self.path}: the regular expression is too large")
                self.at = opening.end()
            elif character == ")":
                if not groups:
                    self.refuse("a group ends that has no beginning", start)
                groups.pop()
                self.at += 1
            elif character == "[":
                self.members()
            elif character == "\\":
                self.escape(_OUTSIDE)
            else:
                self.at += 1
        if groups:
            self.refuse("a group has no end", groups[-1])

    def counts(self, quantifier: re.Match[str]) -> None:
        least, comma, most = quantifier.groups()
        counts = [int(each[:11]) for each in (least, most) if each]
        if max(counts, default=0) > _MAX_REPEATED or (comma and len(counts) == 2 and counts[0] > counts[1]):
            self.refuse("the numbers of repetitions are out of order or too large", quantifier.start())

    def escape(self, more: re.Pattern[str]) -> int | None:
        """Pass an escape; return the character that it stands for, None for a set of several."""
        pattern, start = self.pattern, self.at
        if pattern.startswith("\\Q", start):
            end = pattern.find("\\E", start)
            self.at = len(pattern) if end < 0 else end + 2
            return None
        if found := _SET.match(pattern, start):
            self.at = found.end()
            return None
        if found := _CHARACTER.match(pattern, start):
            self.at = found.end()
            code = found[1] or found[2] or found[3]
            return ord(found[0][-1]) if code is None else int(code, 16)
        found = _LETTERS.match(pattern, start) or more.match(pattern, start)
        if found is None:
            self.refuse(f"unknown escape {pattern[start : start + 2]}", start)
        self.at = found.end()
        return _ESCAPED.get(found[0][1])

    def members(self) -> None:
        """Pass a class; brackets within it need no end, as in ECMA 262."""
        pattern, start = self.pattern, self.at
        self.at += 2 if pattern.startswith("[^", start) else 1
        first = self.at
        while not pattern.startswith("]", self.at) or self.at == first:
            if self.at >= len(pattern):
                self.refuse("a class has no end", start)
            begin = self.at
            least = self.member()
            following = pattern[self.at + 1 : self.at + 2]
            is_range = pattern.startswith("-", self.at) and following not in ("", "]", "[")
            if not is_range or least is None or pattern.startswith("&&", self.at + 1):
                continue
            self.at += 1
            most = self.member()
            if most is None or most < least:
                self.refuse(f"bad range {pattern[begin : self.at]}", begin)
        self.at += 1

    def member(self) -> int | None:
        if self.pattern[self.at] == "\\":
            return self.escape(_WITHIN)
        self.at += 1
        return ord(self.pattern[self.at - 1])
