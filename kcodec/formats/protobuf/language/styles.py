"""How names are spelled where edition 2024 enforces a style."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

#: The style of files of edition 2024, what leaves names as they are, and the style that also keeps fields from having
#: the names of what is generated for others.
STYLE, LEGACY, COLLISIONS = "STYLE2024", "STYLE_LEGACY", "STYLE2026"

_TITLE = re.compile(r"[A-Z][A-Za-z0-9]*"), "TitleCase"
# Letters follow the underscores of both.
_LOWER = re.compile(r"[a-z](?:[a-z0-9.]|_(?=[a-z]))*"), "lower_snake_case"
_UPPER = re.compile(r"[A-Z](?:[A-Z0-9]|_(?=[A-Z]))*"), "UPPER_SNAKE_CASE"
#: By what is named.
_SPELLINGS = {
    **dict.fromkeys(["message", "enum", "service", "method"], _TITLE),
    **dict.fromkeys(["package", "field", "oneof"], _LOWER),
    "enum value": _UPPER,
}
_PREFIXES = ("has_", "get_", "set_", "clear_")
_SUFFIX = "_value"


def misspelling(kind: str, name: str) -> str | None:
    """Return what is wrong with the name of a message, an enum and so on; None if it is spelled as it should be.

    >>> misspelling("field", "order_id"), misspelling("field", "line_2")
    (None, 'the field line_2 is not in lower_snake_case')
    """
    spelling, called = _SPELLINGS[kind]
    return None if spelling.fullmatch(name) else f"the {kind} {name} is not in {called}"


def collision(name: str, members: Iterable[str]) -> str | None:
    """Return what a field or oneof collides with, given the fields and oneofs of its message; None for nothing.

    >>> collision("has_id", ["id", "has_id"])
    'has_id collides with what is generated for id'
    """
    taken = set(members)
    other = next((each for each in _others(name) if each in taken), None)
    if other is not None:
        return f"{name} collides with what is generated for {other}"
    return "descriptor collides with what is generated" if name == "descriptor" else None


def _others(name: str) -> Iterator[str]:
    """Yield the members from which a name may have been generated."""
    yield from (name.removeprefix(each) for each in _PREFIXES if name.startswith(each))
    if name.endswith(_SUFFIX):
        yield name.removesuffix(_SUFFIX)
