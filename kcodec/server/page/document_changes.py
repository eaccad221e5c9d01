"""What differs between two JSON texts, in words: what was added, what was removed, what changed, what it breaks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

#: Changes that are told.
MAX_CHANGES = 300

_MAX_DEPTH = 100

#: Characters of a value that is told.
_MAX_VALUE = 60


class DocumentChange(NamedTuple):
    """One difference."""

    #: Where it is: keys of objects, names of members of arrays.
    steps: tuple[str, ...]
    #: What it is.
    words: str

    @property
    def path(self) -> str:
        """Where it is, as one text."""
        return "/" + "/".join(_value(step) for step in self.steps)

    def concerns(self, steps: tuple[str, ...]) -> bool:
        """Return whether a place is within that of the change, or around it."""
        shorter = min(len(steps), len(self.steps))
        return shorter > 0 and steps[:shorter] == self.steps[:shorter]


def document_changes(old: str, new: str) -> list[DocumentChange]:
    """Return the differences of two JSON texts; there are none if either is not JSON.

    Members of arrays that have a ``name``, as fields of records have, are the same if that is; those that are plain
    values, as symbols of enums, if they are equal.

    >>> old = '{"fields": [{"name": "a", "type": "int"}, {"name": "b", "type": "int"}]}'
    >>> new = '{"fields": [{"name": "a", "type": "long"}, {"name": "c", "type": "int"}]}'
    >>> for change in document_changes(old, new):
    ...     print(change.path, "|", change.words)
    /fields/a/type | type of a changed: int → long
    /fields/b | field b removed
    /fields/c | field c added
    """
    try:
        # Numbers as they are written: 1 is not 1.0.
        before, after = (json.loads(each, parse_int=_Number, parse_float=_Number) for each in (old, new))
    except (ValueError, RecursionError):
        return []
    found = []
    for change in _changes(before, after, (), 0):
        found.append(change)
        if len(found) == MAX_CHANGES:
            break
    return found


def named_steps(text: str, pointers: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the places that JSON pointers into a text mean, with names for members of arrays.

    >>> named_steps('{"fields": [{"name": "a", "type": "int"}]}', ["/fields/0/type"])
    [('fields', 'a', 'type')]
    """
    try:
        document = json.loads(text, parse_int=_Number, parse_float=_Number)
    except (ValueError, RecursionError):
        return []
    return [tuple(_steps(document, pointer)) for pointer in pointers]


def _steps(value: Any, pointer: str) -> Iterator[str]:
    for step in pointer.removeprefix("#").strip("/").split("/"):
        if isinstance(value, list) and step.isdecimal() and len(step) <= 10 and int(step) < len(value):
            value = value[int(step)]
            yield _key(value) or step
        elif isinstance(value, dict) and step in value:
            value = value[step]
            yield step
        else:
            return


class _Number(str):
    """A number as it is written."""

    __slots__ = ()


def _changes(old: Any, new: Any, path: tuple[str, ...], depth: int) -> Iterator[DocumentChange]:
    if type(old) is type(new) and old == new:
        return
    if depth < _MAX_DEPTH:
        pairs = _members(old, new)
        if pairs is not None:
            for step, before, after in pairs:
                inner = (*path, step)
                if before is _NOTHING:
                    yield DocumentChange(inner, _gained(after, inner, isinstance(new, list), "added", "to"))
                elif after is _NOTHING:
                    yield DocumentChange(
                        inner, _gained(before, inner, isinstance(old, list), "removed", "from")
                    )
                else:
                    yield from _changes(before, after, inner, depth + 1)
            return
    yield DocumentChange(path, f"{_what(path)} changed: {_value(old)} → {_value(new)}")


_NOTHING = object()


def _gained(value: Any, path: tuple[str, ...], is_member: bool, how: str, preposition: str) -> str:
    """Return the words for what is there on one side alone."""
    if is_member and path[-2:-1] and path[-2] not in _NOUNS:
        return f"{_value(path[-1])} {how} {preposition} {_what(path[:-1])}"
    return f"{_named(path)} {how}{_told(value, path)}"


def _members(old: Any, new: Any) -> list[tuple[str, Any, Any]] | None:
    """Return the members of two objects or of two arrays in pairs; None if they have none that match."""
    if isinstance(old, list) and isinstance(new, list):
        left, right = _keyed(old), _keyed(new)
    elif isinstance(old, dict) and isinstance(new, dict):
        left, right = old, new
    else:
        return None
    if left is None or right is None:
        return None
    return [(key, left.get(key, _NOTHING), right.get(key, _NOTHING)) for key in {**left, **right}]


def _keyed(items: list[Any]) -> dict[str, Any] | None:
    """Return the members of an array by their names, or by their values; None if that is not unique or not possible."""
    found: dict[str, Any] = {}
    for each in items:
        key = _key(each)
        if key is None or key in found:
            return None
        found[key] = each
    return found


def _key(item: Any) -> str | None:
    """Return what identifies a member of an array."""
    if isinstance(item, dict):
        item = item.get("name") or item.get("type")
    return item if isinstance(item, str) else None


#: What members of these arrays and objects are called.
_NOUNS = {
    "fields": "field",
    "symbols": "symbol",
    "aliases": "alias",
    "properties": "property",
    "patternProperties": "pattern",
    "required": "required property",
    "enum": "value",
    "definitions": "definition",
    "$defs": "definition",
}


def _named(path: tuple[str, ...]) -> str:
    holder = path[-2] if len(path) > 1 else ""
    noun = _NOUNS.get(holder)
    if noun is not None:
        # Their own holder says which enum or object is meant.
        outer = _owner(path[:-2])
        return f"{noun} {_value(path[-1])}" + (f" of {outer}" if outer else "")
    return _what(path)


def _what(path: tuple[str, ...]) -> str:
    """Return what a path means: an attribute of the nearest thing that has a name."""
    if not path:
        return "the schema"
    if len(path) > 1 and path[-2] in _NOUNS:
        return f"{_NOUNS[path[-2]]} {_value(path[-1])}"
    owner = _owner(path[:-1])
    return _value(path[-1]) + (f" of {owner}" if owner else "")


def _owner(path: tuple[str, ...]) -> str:
    for at in range(len(path) - 1, 0, -1):
        if path[at - 1] in ("fields", "properties", "definitions", "$defs"):
            return _value(path[at])
    return ""


def _told(value: Any, path: tuple[str, ...]) -> str:
    """Return the value of an attribute that came or went; named things speak for themselves."""
    is_named = len(path) > 1 and path[-2] in _NOUNS
    if is_named and isinstance(value, dict):
        default = value.get("default", _NOTHING)
        return "" if default is _NOTHING else f" (default {_value(default)})"
    return "" if isinstance(value, dict | list) or is_named else f": {_value(value)}"


def _value(value: Any) -> str:
    text = str(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_VALUE else f"{text[: _MAX_VALUE - 1]}…"
