"""What Debezium writes for values that it does not know: PostgreSQL sends no TOAST columns that were left alone."""

import hashlib
import uuid
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.columns.arrays.nested import plain_array
from kcodec.columns.types.plain import is_bytes, is_list, is_text
from kcodec.errors import ConfigError

#: The field that names the columns without a value.
UNAVAILABLE = "__unavailable"
MODES = ("keep", "null", "list")


@dataclass(frozen=True)
class Placeholder:
    """The connector's ``unavailable.value.placeholder``, as the columns of each type have it.

    >>> Placeholder("?!").items(pa.int32())
    [63, 33]
    >>> Placeholder("?!").items(pa.binary())
    [b'?!']
    """

    text: str

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or not self.text:
            raise ConfigError(f"unavailable_value={self.text!r} is not text")

    @property
    def content(self) -> bytes:
        """Its bytes."""
        return self.text.encode("utf-8")

    @property
    def texts(self) -> tuple[str, ...]:
        """What columns of text hold: itself, and as an hstore that is written as JSON."""
        return (self.text, f'{{"{self.text}":"{self.text}"}}')

    def items(self, kind: pa.DataType) -> list[Any] | None:
        """Return what lists of a type hold: one item, or as numbers its bytes; None if they never hold it."""
        if is_text(kind):
            return [self.text]
        if is_bytes(kind):
            return [self.content]
        return list(self.content) if pa.types.is_int32(kind) or pa.types.is_int64(kind) else None

    @property
    def uuid(self) -> str:
        """What lists of UUIDs hold, as Java's ``UUID.nameUUIDFromBytes`` makes it."""
        digest = hashlib.md5(self.content, usedforsecurity=False).digest()
        return str(uuid.UUID(bytes=digest, version=3))


def is_unavailable(column: pa.Array, placeholder: Placeholder) -> pa.Array | None:
    """Return where a column holds the placeholder, never null; None if columns of the type never do."""
    column = plain_array(column)
    kind = column.type
    if is_text(kind):
        found = pc.is_in(column, value_set=pa.array(placeholder.texts, kind))
    elif is_bytes(kind):
        found = pc.equal(column, pa.scalar(placeholder.content, kind))
    elif pa.types.is_map(kind):
        if not (is_text(kind.key_type) and is_text(kind.item_type)):
            return None
        pairs = column.cast(pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)])))
        sides = (_side(pairs, number) for number in (0, 1))
        found = pc.and_(*(_holds(side, [placeholder.text]) for side in sides))
    elif is_list(kind):
        items = placeholder.items(kind.value_type)
        if items is None:
            return None
        found = _holds(column, items)
        return pc.or_(found, _holds(column, [placeholder.uuid])) if is_text(kind.value_type) else found
    else:
        return None
    return pc.fill_null(found, False)


def _side(pairs: pa.ListArray, number: int) -> pa.ListArray:
    """Return the keys, or the values, of an hstore."""
    compact = pairs.take(pa.array(np.arange(len(pairs))))
    return pa.ListArray.from_arrays(compact.offsets, pc.struct_field(compact.values, [number]))


def _holds(column: pa.Array, items: list[Any]) -> pa.Array:
    """Return where lists hold just these items."""
    rows = np.flatnonzero(pc.fill_null(pc.equal(pc.list_value_length(column), len(items)), False))
    found = np.zeros(len(column), np.bool_)
    flat = column.take(pa.array(rows)).flatten()
    wanted = pa.array(items * len(rows), flat.type)
    same = np.asarray(pc.fill_null(pc.equal(flat, wanted), False))
    found[rows[same.reshape(len(rows), len(items)).all(axis=1)]] = True
    return pa.array(found)
