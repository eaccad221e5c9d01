"""Schemas as the database keeps them: JSON texts, equal for equal schemas."""

import json
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from kcodec._kept import Kept
from kcodec.errors import RegistryError, is_whole, one_line
from kcodec.registry.base import Reference, Schema
from kcodec.registry.metadata import Metadata
from kcodec.registry.rules import RuleSet

#: Texts whose parsed forms are kept, and the characters of all of them.
_MAX_KEPT = 100_000
_MAX_REMEMBERED = 2_000_000


def kept_texts() -> Kept[tuple[Any, ...], Any]:
    """Return a cache of what is made of texts; a key's text is its second item."""
    return Kept(_MAX_KEPT, lambda key: len(key[1]), _MAX_REMEMBERED)


#: Schemas by what the database keeps of them.
_loaded: Kept[bytes, Schema] = Kept(_MAX_KEPT, len, _MAX_REMEMBERED)


#: What statements ask for, for `load`: as text, bytes that are no UTF-8 would fail before their place is known.
CONTENT = "CAST(content AS BLOB)"


class TooMuchRead(Exception):
    """What a block is ended by that reads more schemas than it may, see `reading_at_most`."""


class _Bound:
    """What is left to a block that reads schemas."""

    def __init__(self, size: int, seconds: float) -> None:
        self._left, self._until = size, time.perf_counter() + seconds
        self._is_first = True

    def count(self, size: int) -> None:
        """Count a schema that is read; the first one may have any size."""
        self._left -= size
        if not self._is_first and (self._left < 0 or time.perf_counter() > self._until):
            raise TooMuchRead
        self._is_first = False


_bound: ContextVar[_Bound | None] = ContextVar("bound", default=None)


@contextmanager
def reading_at_most(size: int, seconds: float = math.inf) -> Iterator[None]:
    """Bound the bytes of all the schemas that a block reads, and when it may still read one.

    The first one may have any number of bytes.

    >>> content = dump(Schema('"int"')).encode()
    >>> with reading_at_most(10):
    ...     first = load(content)
    ...     try:
    ...         load(content)
    ...     except TooMuchRead:
    ...         first.text
    '"int"'
    """
    token = _bound.set(_Bound(size, seconds))
    try:
        yield
    finally:
        _bound.reset(token)


def dump(schema: Schema) -> str:
    r"""Return the JSON text that the database keeps of a schema; equal schemas have equal texts.

    >>> dump(Schema('"int"'))
    '["AVRO", "\\"int\\"", [], null]'
    >>> load(dump(Schema('"int"')).encode()) == Schema('"int"')
    True
    """
    metadata, rules = schema.metadata, schema.rules
    parts = [
        schema.type,
        schema.text,
        [[each.name, each.subject, each.version] for each in schema.references],
        None if metadata is None else [metadata.properties, metadata.tags, metadata.sensitive],
    ]
    return json.dumps(parts if rules is None else [*parts, rules.json])


def load(content: bytes, *place: object) -> Schema:
    """Return the schema of what `CONTENT` gives at a place: a subject and a version, or an id."""
    bound = _bound.get()
    if bound is not None:
        bound.count(len(content))
    try:
        return _loaded.get(content, lambda: _undumped(content))
    except (TypeError, ValueError, IndexError, AttributeError, RecursionError) as error:
        named = " ".join(map(str, place))
        raise RegistryError(
            f"what the database keeps of {named} is damaged: {one_line(error)}", 500, 50001
        ) from error


def _undumped(content: bytes) -> Schema:
    kind, text, references, metadata, *rules = json.loads(content.decode())
    # What is no text or number here would fail far from here, without the name of what is damaged.
    if not isinstance(kind, str) or not isinstance(text, str):
        raise TypeError("type and schema are not text")
    for name, subject, version in references:
        if not isinstance(name, str) or not isinstance(subject, str) or not is_whole(version):
            raise TypeError("a reference is not two texts and a number")
    kept = None
    if metadata is not None:
        kept = Metadata.of(dict(metadata[0]), dict(metadata[1]), metadata[2])
    found = RuleSet.of(rules[0]) if rules else None
    return Schema(text, kind, tuple(Reference(*each) for each in references), kept, found)
