"""Compatibility levels: which of the earlier versions a new one is compared with, and in which direction."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from kcodec.columns.shown import html_page, text_page
from kcodec.errors import RegistryError
from kcodec.formats.language import Difference, SchemaLanguage

LEVELS = (
    "NONE",
    "BACKWARD",
    "FORWARD",
    "FULL",
    "BACKWARD_TRANSITIVE",
    "FORWARD_TRANSITIVE",
    "FULL_TRANSITIVE",
)


class Earlier(NamedTuple):
    """A version that a new one is compared with."""

    #: Its number.
    version: int
    #: Its schema type.
    type: str
    #: Its text, as the registry keeps it.
    text: str
    #: Returns the parsed schema; called only if it is looked at.
    parsed: Callable[[], Any]


class Compatibility(NamedTuple):
    """Whether a schema may become the next version: true if so. It is shown as a table of what differs.

    Attributes
    ----------
    compatible : bool
        The verdict.
    differences : tuple of Difference
        Why not: what the readers concerned could not read. Of a server's answer, what its words say of them.
    messages : tuple of str
        The same in the server's words, as its ``verbose`` answers have them.

    Examples
    --------
    >>> from kcodec.registry import Schema, open
    >>> registry = open("memory://compatibility")
    >>> registry.register("orders-value", Schema('"int"')).version
    1
    >>> answer = registry.check_compatibility("orders-value", Schema('"string"'))
    >>> answer.compatible, [difference.type for difference in answer.differences]
    (False, ['TYPE_MISMATCH'])
    >>> answer
    Compatibility: not compatible
      type           path  message
      TYPE_MISMATCH  /     reader type: STRING not compatible with writer type: INT
    """

    compatible: bool
    differences: tuple[Difference, ...] = ()
    messages: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        # A tuple of three would always be true.
        return self.compatible

    def __repr__(self) -> str:
        return text_page(*self._page())

    def _repr_html_(self) -> str:
        return html_page(*self._page())

    def _page(self) -> tuple[str, Sequence[str], Sequence[Sequence[str]]]:
        """Return the verdict and its reasons, in the server's words where these tell no difference."""
        title = f"Compatibility: {'compatible' if self.compatible else 'not compatible'}"
        if self.differences:
            return title, Difference._fields, self.differences
        return title, ("message",), [(message,) for message in self.messages]


_ERROR_TYPE = re.compile(r"""\{errorType:["']([A-Z_0-9]+)["'], description:["'](.*)["']\}\s*\Z""", re.DOTALL)
#: Sentences have other facts in quotes as well.
_PATH = re.compile(r"(?:\(path |at path |path: )'([^']*)'")


def read_differences(messages: Iterable[str]) -> tuple[Difference, ...]:
    """Return the differences that a registry's words tell; of others, nothing.

    >>> text = "{errorType:'TYPE_MISMATCH', description:'The type (path '/a') of a field', additionalInfo:'INT, LONG'}"
    >>> read_differences([text, "{oldSchemaVersion: 1}"])
    (Difference(type='TYPE_MISMATCH', path='/a', message='INT, LONG'),)
    """
    found = []
    for message in messages:
        parts = _ERROR_TYPE.match(message)
        if parts is not None:
            sentence, _, facts = parts[2].partition("', additionalInfo:'")
            path = _PATH.search(sentence)
            found.append(Difference(parts[1], "" if path is None else path[1], facts))
    return tuple(found)


def check_level(level: Any) -> str:
    """Return a level in upper case; refuse (42203) what is none.

    >>> check_level("full_transitive")
    'FULL_TRANSITIVE'
    """
    found = level.upper() if isinstance(level, str) else None
    if found not in LEVELS:
        raise RegistryError(
            "Invalid compatibility level. Valid values are none, backward, forward, full, backward_transitive, "
            "forward_transitive, and full_transitive",
            422,
            42203,
        )
    return found


def check(
    known: SchemaLanguage, level: str, new: Any, earlier: Iterable[Earlier], policy: str = "STRICT"
) -> Compatibility:
    r"""Compare a new schema, parsed, with those before it.

    The level is one of `LEVELS`, and the policy one of the language; another counts as the strict one. Earlier versions
    come newest first; those that the level does not ask for are not looked at, and the first that does not fit ends the
    comparison.

    >>> from kcodec.formats.schema_format import schema_format
    >>> avro = schema_format("AVRO")
    >>> old = Earlier(1, "AVRO", '"long"', lambda: avro.parse('"long"'))
    >>> check(avro, "FORWARD", avro.parse('"int"'), [old]).compatible
    True
    >>> check(avro, "BACKWARD", avro.parse('"int"'), [old]).messages[1:]
    ('{oldSchemaVersion: 1}', '{oldSchema: \'"long"\'}')
    """
    if level == "NONE":
        return Compatibility(True)
    direction = level.removesuffix("_TRANSITIVE")
    for each in earlier:
        if each.type != known.type:
            return Compatibility(False, (), ("Incompatible because of different schema type",))
        old = each.parsed()
        differences: list[Difference] = []
        messages: list[str] = []
        if direction in ("FORWARD", "FULL"):
            found = _differences(known, old, new, policy)
            differences += found
            messages += (known.explain(difference, "old", "new") for difference in found)
        forward = len(differences)
        if direction in ("BACKWARD", "FULL"):
            found = _differences(known, new, old, policy)
            differences += found
            messages += (known.explain(difference, "new", "old") for difference in found)
        if differences:
            if direction != "FULL" or len(differences) > forward:
                messages += (f"{{oldSchemaVersion: {each.version}}}", f"{{oldSchema: '{each.text}'}}")
            return Compatibility(False, tuple(differences), tuple(messages))
        if direction == level:
            break
    return Compatibility(True)


def _differences(known: SchemaLanguage, reader: Any, writer: Any, policy: str) -> list[Difference]:
    if policy != "STRICT" and policy in known.policies:
        return known.differences(reader, writer, policy=policy)
    return known.differences(reader, writer)
