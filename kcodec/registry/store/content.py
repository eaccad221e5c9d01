"""Schemas as the database keeps them: JSON texts, equal for equal schemas."""

import json
from typing import Any

from kcodec._kept import Kept
from kcodec.errors import RegistryError, is_whole, one_line
from kcodec.registry.base import Reference, Schema
from kcodec.registry.metadata import Metadata
from kcodec.registry.rules import RuleSet

__all__ = ["CONTENT", "dump", "kept_texts", "load"]

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


def dump(schema: Schema) -> str:
    r"""Return the JSON text that the database keeps of a schema; equal schemas have equal texts.

    Examples
    --------
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
