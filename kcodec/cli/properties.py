"""Files of settings, as Java's clients have them: those of java.util.Properties, in UTF-8."""

import re
from collections.abc import Iterator

from kcodec.errors import ConfigError

_SPACE = " \t\f"
#: A name, up to a separator: whitespace, and ``=`` or ``:`` with whitespace around it.
_PAIR = re.compile(r"((?:[^\\=: \t\f]|\\.)*)(?:[ \t\f]*[=:][ \t\f]*|[ \t\f]+)(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def properties(text: str, place: str) -> dict[str, str]:
    r"""Read settings; `place` is where the text stands, for errors.

    A value ends before the whitespace at its end, as Java's clients read most of them.

    >>> properties("# ours\nclient.id: me\nsasl.jaas.config=Plain required \\\n    username=me;", "settings")
    {'client.id': 'me', 'sasl.jaas.config': 'Plain required username=me;'}
    """
    found = {}
    for number, line in _joined(text):
        pair = _PAIR.fullmatch(line)
        if pair is None or not pair[1]:
            raise ConfigError(f"{place}, line {number} is not name=value")
        try:
            name, value = map(_plain, pair.groups())
        except ValueError:
            # What stands there may be a credential.
            raise ConfigError(f"{place}, line {number}: behind \\u stand four hexadecimal digits") from None
        found[name] = value.strip()
    return found


def _joined(text: str) -> Iterator[tuple[int, str]]:
    r"""Yield lines that are no comments, with their numbers; one that ends with a backslash is joined with the next."""
    lines = enumerate(re.split(r"\r\n?|\n", text), 1)
    for number, line in lines:
        line = line.lstrip(_SPACE)
        if not line or line[0] in "#!":
            continue
        while _goes_on(line):
            line = line[:-1] + next(lines, (0, ""))[1].lstrip(_SPACE)
        yield number, line


def _goes_on(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _plain(text: str) -> str:
    def one(found: re.Match[str]) -> str:
        escape = found[1]
        if escape == "u":
            raise ValueError
        return chr(int(escape[1:], 16)) if len(escape) > 1 else _CONTROLS.get(escape, escape)

    # Java writes what is beyond 16 bits as two halves.
    return _ESCAPE.sub(one, text).encode("utf-16", "surrogatepass").decode("utf-16")
