"""The tags of fields that stand in the metadata of a schema, by patterns of the fields' names."""

import re
from collections.abc import Iterable
from functools import lru_cache

from kcodec.formats.tagged import TaggedField
from kcodec.registry.metadata import Metadata

__all__ = ["chosen", "matches"]

_STEP = re.compile(r"\*\*|\*|\?|\\(.?)|.", re.DOTALL)


def matches(name: str, pattern: str) -> bool:
    r"""Return whether a pattern means a name.

    ``?`` stands for one character but a dot, ``*`` for any number of them, ``**`` for dots too; a backslash takes the
    meaning from the character after it.

    Examples
    --------
    >>> matches("shop.Order.email", "shop.Order.*"), matches("shop.Order.email", "shop.*"), matches("a.b.c", "a.**")
    (True, False, True)
    """
    return _compiled(pattern).fullmatch(name) is not None


@lru_cache(1000)
def _compiled(pattern: str) -> re.Pattern[str]:
    def part(found: re.Match[str]) -> str:
        text = found[0]
        known = {"**": ".*", "*": r"[^.]*", "?": r"[^.]"}.get(text)
        if known is not None:
            return known
        return re.escape(found[1] or "\\") if text.startswith("\\") else re.escape(text)

    return re.compile(_STEP.sub(part, pattern.replace("**.*", "**")))


def chosen(
    fields: Iterable[TaggedField], tags: Iterable[str], metadata: Metadata | None
) -> list[TaggedField]:
    """Return the fields that a rule for some tags is about; one for no tags is about all of them."""
    wanted = frozenset(tags)
    patterns = () if metadata is None else metadata.tags
    return [
        field
        for field in fields
        if not wanted
        or wanted & field.tags
        or any(wanted.intersection(named) and matches(field.name, pattern) for pattern, named in patterns)
    ]
