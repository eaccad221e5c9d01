"""Fields that rules are about: where their values stand in a column, and by which names and tags rules know them."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

#: Steps from a list to its items, and from a map to its values; all others are names of members of structs.
ITEMS, VALUES = -1, -2


class TaggedField(NamedTuple):
    """Values of one kind in a column, and the field of the schema that they belong to.

    Attributes
    ----------
    steps : tuple of (str or int)
        From the column to the values: names of members of structs, `ITEMS` and `VALUES`.
    name : str
        The field as Confluent's rules call it, with the names of what it is in: ``shop.Order.email``.
    tags : frozenset of str
        Those that stand in the schema, under ``confluent:tags``.
    kind : str
        What Confluent's rules call its type: ``STRING``, ``BYTES``, ``INT``, ``ENUM`` ...
    is_base64 : bool
        Whether the column has the bytes that the text of the field is the Base64 of.
    is_never_absent : bool
        Whether a null of the column is the empty text, or no bytes: fields of Protobuf that have no presence.

    Examples
    --------
    >>> TaggedField(("lines", ITEMS, "note"), "shop.Line.note", frozenset(["PII"]), "STRING").kind
    'STRING'
    """

    steps: tuple[str | int, ...]
    name: str
    tags: frozenset[str]
    kind: str
    is_base64: bool = False
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
