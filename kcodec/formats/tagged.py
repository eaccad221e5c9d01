"""Fields that rules are about: where their values stand in a column, and by which names and tags rules know them."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

#: Steps from a list to its items, and from a map to its values; all others are names of members of structs.
ITEMS, VALUES = -1, -2


class TaggedField(NamedTuple):
    """Values of one kind in a column, and the field of the schema that they belong to.

    >>> TaggedField(("lines", ITEMS, "note"), "shop.Line.note", frozenset(["PII"]), "STRING").kind
    'STRING'
    """

    #: From the column to the values: names of members of structs, `ITEMS` and `VALUES`.
    steps: tuple[str | int, ...]
    #: The field as Confluent's rules call it, with the names of what it is in: ``shop.Order.email``.
    name: str
    #: Those that stand in the schema, under ``confluent:tags``.
    tags: frozenset[str]
    #: What Confluent's rules call its type: ``STRING``, ``BYTES``, ``INT``, ``ENUM`` ...
    kind: str
    #: Whether the column has the bytes that the text of the field is the Base64 of.
    is_base64: bool = False
    #: Whether a null of the column is the empty text, or no bytes: fields of Protobuf that have no presence.
    is_never_absent: bool = False


def tags_of(properties: Mapping[str, Any]) -> frozenset[str]:
    """Return the tags that stand among the attributes of a field.

    >>> sorted(tags_of({"confluent:tags": ["PII", "GDPR"]}))
    ['GDPR', 'PII']
    """
    found = properties.get("confluent:tags")
    if isinstance(found, str) or not isinstance(found, Iterable):
        return frozenset()
    return frozenset(each for each in found if isinstance(each, str))
