"""The tags of fields that stand in the metadata of a schema, by patterns of the fields' names."""

import re
from collections.abc import Iterable
from functools import lru_cache

from kcodec.formats.tagged import TaggedField
from kcodec.registry.metadata import Metadata

_STEP = re.compile(r"\*\*|\*|\?|\\(.?)|.", re.DOTALL)


def matches(name: str, pattern: str) -> bool:
    r"""Return whether a pattern means a name.

    ``?`` stands for one character but a dot, ``*`` for any number of them, ``**`` for dots too; a backslash takes the
    meaning from the character after it.

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


class TaggedFields:
    """Fields by their tags: those that they have in the schema, and those that its metadata has for their names.

    >>> mail = TaggedField(("mail",), "R.mail", frozenset(["PII"]), "STRING")
    >>> note = TaggedField(("note",), "R.note", frozenset(), "STRING")
    >>> [field.name for field in TaggedFields([mail, note], None).chosen(["PII"])]
    ['R.mail']
    """

    def __init__(self, fields: Iterable[TaggedField], metadata: Metadata | None) -> None:
        self._fields = list(fields)
        self._places: dict[str, list[int]] = {}
        patterns = () if metadata is None else metadata.tags
        for at, field in enumerate(self._fields):
            named = (tags for pattern, tags in patterns if matches(field.name, pattern))
            for tag in field.tags.union(*named):
                self._places.setdefault(tag, []).append(at)

    def chosen(self, tags: Iterable[str]) -> list[TaggedField]:
        """Return the fields that a rule for some tags is about; one for no tags is about all of them."""
        wanted = frozenset(tags)
        if not wanted:
            return self._fields
        places = {at for tag in wanted for at in self._places.get(tag, ())}
        return [self._fields[at] for at in sorted(places)]
