"""Documents in several lines, as Jackson's pretty printer lays them out."""

import re

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^{}\[\],:"]+', re.DOTALL)


def indented(document: bytes) -> bytes:
    """Return a document, which has no space between its tokens, in several lines.

    >>> print(indented(b'{"a":[1,{}],"b":{"c":null}}').decode())
    {
      "a" : [ 1, { } ],
      "b" : {
        "c" : null
      }
    }
    """
    tokens = _TOKEN.findall(document)
    parts: list[bytes] = []
    level = 0
    # Objects and arrays around the token.
    around: list[bytes] = []
    for number, token in enumerate(tokens):
        if token in (b"{", b"["):
            around.append(token)
            level += token == b"{"
            is_empty = tokens[number + 1] in (b"}", b"]")
            parts.append(token + (b" " if is_empty or token == b"[" else _line(level)))
        elif token in (b"}", b"]"):
            around.pop()
            is_empty = tokens[number - 1] in (b"{", b"[")
            level -= token == b"}"
            parts.append((b"" if is_empty else _line(level) if token == b"}" else b" ") + token)
        elif token == b",":
            parts.append(b"," + (_line(level) if around[-1] == b"{" else b" "))
        else:
            parts.append(b" : " if token == b":" else token)
    return b"".join(parts)


def _line(level: int) -> bytes:
    return b"\n" + b"  " * level
