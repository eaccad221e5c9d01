"""The columns of an Arrow type, numbered: the address space that plans and kernels share."""

from typing import NamedTuple

import pyarrow as pa

from kcodec.columns.types import is_list

__all__ = ["Column", "item_bytes", "layout"]


class Column(NamedTuple):
    """One column of an Arrow type.

    Attributes
    ----------
    index : int
        Its number, in pre-order: a parent before its children, the root is 0.
    name : str
        The field's name; empty for the root, ``"item"`` below a list, ``"key"`` and ``"value"`` below a map.
    type : pyarrow.DataType
        Its Arrow type.
    nullable : bool
        Whether it may hold nulls. The root always may: a null row is a null value.
    parent : int
        Number of the parent column, -1 for the root.
    children : tuple of int
        Fields of a struct; the item of a list; key and value of a map (its entries struct has no number).
    end : int
        The number after the last column below this one.
    """

    index: int  # type: ignore[assignment]  # a tuple has a method of this name
    name: str
    type: pa.DataType
    nullable: bool
    parent: int
    children: tuple[int, ...]
    end: int


def layout(arrow_type: pa.DataType) -> tuple[Column, ...]:
    """Return the columns of an Arrow type, numbered in pre-order.

    >>> kinds = pa.struct([("id", pa.int64()), ("tags", pa.list_(pa.string()))])
    >>> [(c.index, c.name, c.children) for c in layout(kinds)]
    [(0, '', (1, 2)), (1, 'id', ()), (2, 'tags', (3,)), (3, 'item', ())]
    """
    columns: list[Column | None] = []

    def visit(name: str, kind: pa.DataType, nullable: bool, parent: int) -> int:
        index = len(columns)
        children: tuple[int, ...] = ()
        columns.append(None)
        if kind.num_fields:
            parts: list[tuple[str, pa.DataType, bool]] = []
            if pa.types.is_struct(kind):
                parts = [(field.name, field.type, field.nullable) for field in kind]
            elif is_list(kind):
                parts = [("item", kind.value_type, kind.value_field.nullable)]
            elif pa.types.is_map(kind):
                parts = [
                    ("key", kind.key_type, False),
                    ("value", kind.item_type, kind.item_field.nullable),
                ]
            children = tuple([visit(*part, index) for part in parts])
        columns[index] = Column(index, name, kind, nullable, parent, children, len(columns))
        return index

    visit("", arrow_type, True, -1)
    return tuple(columns)  # type: ignore[arg-type]


def item_bytes(columns: tuple[Column, ...]) -> dict[int, int]:
    """Return what an item of each list or map takes, by the number of its column.

    That is the width of numbers, a byte for a bool, and an offset for text, bytes, lists and maps; not what these hold.

    >>> item_bytes(layout(pa.list_(pa.struct([("a", pa.int64()), ("b", pa.string()), ("c", pa.list_(pa.bool_()))]))))
    {0: 16, 4: 1}
    """
    sizes: dict[int, int] = {}
    scopes: dict[int, int] = {-1: -1}
    for column in columns:
        scope = scopes[column.parent]
        kind = column.type
        items = is_list(kind) or pa.types.is_map(kind)
        scopes[column.index] = column.index if items else scope
        if items:
            sizes[column.index] = 0
        if scope < 0 or pa.types.is_struct(kind) or pa.types.is_null(kind):
            continue
        if pa.types.is_boolean(kind):
            sizes[scope] += 1
        elif pa.types.is_large_string(kind) or pa.types.is_large_binary(kind) or pa.types.is_large_list(kind):
            sizes[scope] += 8
        elif items or pa.types.is_string(kind) or pa.types.is_binary(kind):
            sizes[scope] += 4
        else:
            sizes[scope] += kind.byte_width
    return sizes
