"""Texts of schemas and values as lines of tokens: laid out, and with what each token is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from markupsafe import Markup, escape

#: Characters of a text that is laid out and coloured; longer ones are shown as they are.
MAX_MARKED = 400_000

#: Columns that an object or an array may take without a line for each member.
_WIDTH = 88

#: Levels of brackets that are laid out: deeper ones would be mostly spaces.
_MAX_DEPTH = 250

# Neither pattern can fail to match after it has read far: a text that does not end what it begins ends it.
_JSON = re.compile(
    r"""(?P<string>"(?:[^"\\]|\\.)*(?:"|\\?\Z))|(?P<number>-?[0-9][0-9.eE+-]*)|(?P<word>[A-Za-z]+)"""
    r"""|(?P<mark>[\[\]{}:,])|(?P<space>\s+)|(?P<other>.)""",
    re.DOTALL,
)
_PROTO = re.compile(
    r"""(?P<comment>//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z))|(?P<string>"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?)"""
    r"""|(?P<number>-?[0-9][0-9A-Za-z.+-]*)|(?P<word>\.?[A-Za-z_][A-Za-z0-9_.]*)|(?P<mark>[\[\]{}()<>=;,:])"""
    r"""|(?P<line>\n)|(?P<space>[^\S\n]+)|(?P<other>.)""",
    re.DOTALL,
)
_KEYWORD = re.compile(
    "syntax|edition|package|import|public|weak|option|message|enum|service|rpc|returns|stream|oneof|extend|extensions|"
    "reserved|to|max|repeated|optional|required|group|map"
)
_TYPE = re.compile("double|float|[su]?int(32|64)|s?fixed(32|64)|bool|string|bytes")


class Token(NamedTuple):
    """A piece of a line, and what it is: the name of a class of the style sheet, or nothing."""

    text: str
    kind: str = ""


Line = list[Token]


def code_lines(text: str) -> list[Line]:
    """Return a text as lines of tokens: JSON is laid out, all else keeps its lines.

    >>> for line in code_lines('{"name":"R","fields":[{"name":"a","type":["null","int"]}]}'):
    ...     print(text_of(line))
    {
      "name": "R",
      "fields": [
        {"name": "a", "type": ["null", "int"]}
      ]
    }
    """
    if len(text) > MAX_MARKED:
        return [[Token(line)] for line in text.split("\n")]
    if text.lstrip()[:1] in ('"', "{", "["):
        tokens = [_json_token(match) for match in _JSON.finditer(text) if match.lastgroup != "space"]
        if _depth(tokens) <= _MAX_DEPTH:
            return _Layout(tokens).lines()
    elif re.match(r"\s*(//|/\*|syntax\b|edition\b|package\b|import\b|option\b|message\b|enum\b)", text):
        return _proto_lines(text.rstrip("\n"))
    return [[Token(line)] for line in text.split("\n")]


def text_of(line: Iterable[Token]) -> str:
    """Return the text of a line."""
    return "".join(token.text for token in line)


def markup(line: Line, links: Mapping[str, str] | None = None) -> Markup:
    """Return a line as HTML; texts that are named as references lead to where these are.

    >>> markup([Token('"<b>"', "string"), Token(": ")], {"<b>": "version?subject=b"})
    Markup('<a class="string" href="version?subject=b">&#34;&lt;b&gt;&#34;</a>: ')
    """
    parts = []
    for text, kind in line:
        target = (
            links.get(text.strip("\"'").lstrip(".")) if links and kind in ("string", "type", "name") else None
        )
        if target is not None:
            parts.append(f'<a class="{kind}" href="{escape(target)}">{escape(text)}</a>')
        elif kind:
            parts.append(f'<span class="{kind}">{escape(text)}</span>')
        else:
            parts.append(str(escape(text)))
    return Markup("".join(parts))


def _depth(tokens: Iterable[Token]) -> int:
    """Return how many brackets are open at once at most."""
    deepest = depth = 0
    for text, kind in tokens:
        if kind == "mark":
            depth += (text in "{[") - (text in "}]")
            deepest = max(deepest, depth)
    return deepest


def _json_token(match: re.Match[str]) -> Token:
    kind = match.lastgroup or ""
    return Token(match[0], {"word": "literal", "other": ""}.get(kind, kind))


def _proto_lines(text: str) -> list[Line]:
    lines: list[Line] = [[]]
    for match in _PROTO.finditer(text):
        kind, piece = match.lastgroup or "", match[0]
        if kind == "line":
            lines.append([])
            continue
        if kind == "word":
            kind = _word_kind(piece)
        elif kind in ("space", "other"):
            kind = ""
        # Comments may have several lines.
        first, *more = piece.split("\n")
        lines[-1].append(Token(first, kind))
        lines += ([Token(each, kind)] for each in more)
    return lines


def _word_kind(word: str) -> str:
    if _KEYWORD.fullmatch(word):
        return "keyword"
    if _TYPE.fullmatch(word):
        return "type"
    return "literal" if word in ("true", "false") else "name"


class _Layout:
    """The tokens of a JSON text, without spaces, on their way to lines."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        #: By the place of an opening bracket whether all up to its partner stands on one line.
        self._flat = self._flat_ones()

    def _flat_ones(self) -> set[int]:
        flat: set[int] = set()
        # Place, columns so far and whether all within is flat, of each bracket that is open.
        opened: list[list[int]] = []
        for place, (text, kind) in enumerate(self._tokens):
            size = len(text) + (text in (",", ":") and kind == "mark")
            if kind == "mark" and text in "{[":
                opened.append([place, 0, True])
            if opened:
                opened[-1][1] += size
            if kind == "mark" and text in "}]" and opened:
                start, width, is_flat = opened.pop()
                # What begins with an object is a list of things, of which each has a line.
                first = self._tokens[start + 1 : start + 4]
                nested = first[-1].text if len(first) == 3 and first[1].text == ":" else first[0].text
                if is_flat and width <= _WIDTH and nested != "{" and (opened or width <= 2):
                    flat.add(start)
                elif opened:
                    opened[-1][2] = False
                if opened:
                    opened[-1][1] += width
        return flat

    def lines(self) -> list[Line]:
        lines: list[Line] = [[]]
        depth = 0
        #: Brackets that are open on the line at hand.
        within = 0
        previous = ""
        for place, token in enumerate(self._tokens):
            text, kind = token
            is_mark = kind == "mark"
            if is_mark and text in "}]":
                if within:
                    within -= 1
                elif depth:
                    depth -= 1
                    if previous not in ("{", "["):
                        lines.append(self._indent(depth))
            elif previous in ("{", "[") and not within:
                lines.append(self._indent(depth))
            if is_mark and text in "{[":
                if within or place in self._flat:
                    within += 1
                    lines[-1].append(token)
                    previous = ""
                    continue
                depth += 1
            if kind == "string" and self._is_key(place):
                token = Token(text, "key")
            if is_mark and text == ":":
                token = Token(": ", "mark")
            elif is_mark and text == ",":
                lines[-1].append(Token(", " if within else ",", "mark"))
                if not within:
                    lines.append(self._indent(depth))
                previous = ","
                continue
            lines[-1].append(token)
            previous = text if is_mark else ""
        return lines

    def _is_key(self, place: int) -> bool:
        after = self._tokens[place + 1] if place + 1 < len(self._tokens) else None
        return after == (":", "mark")

    def _indent(self, depth: int) -> Line:
        return [Token("  " * depth)] if depth else []
