"""The columns of an Arrow type, numbered: the address space that plans and kernels share."""

from typing import NamedTuple

import pyarrow as pa

from kcodec.columns.types.plain import is_list


class Column(NamedTuple):
    """One column of an Arrow type."""

    #: Its number, in pre-order: a parent before its children, the root is 0.
    index: int  # type: ignore[assignment]  # a tuple has a method of this name
    #: The field's name; empty for the root, ``"item"`` below a list, ``"key"`` and ``"value"`` below a map.
    name: str
    #: Its Arrow type.
    type: pa.DataType
    #: Whether it may hold nulls. The root always may: a null row is a null value.
    nullable: bool
    #: Number of the parent column, -1 for the root.
    parent: int
    #: Fields of a struct; the item of a list; key and value of a map (its entries struct has no number).
    children: tuple[int, ...]
    #: The number after the last column below this one.
    end: int


def layout(arrow_type: pa.DataType) -> tuple[Column, ...]:
    """Return the columns of an Arrow type, numbered in pre-order.

    >>> kinds = pa.struct([("id", pa.int64()), ("tags", pa.list_(pa.string()))])
    >>> [(c.index, c.name, c.children) for c in layout(kinds)]
    [(0, '', (1, 2)), (1, 'id', ()), (2, 'tags', (3,)), (3, 'item', ())]
    """
    # Planning asks first, and the program that is made of the plan once more for the same type.
    global _last
    last = _last
    if last[0] is not arrow_type:
        _last = last = arrow_type, _layout(arrow_type)
    return last[1]


_last: tuple[pa.DataType | None, tuple[Column, ...]] = None, ()


def _layout(arrow_type: pa.DataType) -> tuple[Column, ...]:
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
        if scope < 0 and not column.children:
            continue
        kind = column.type.id
        scopes[column.index] = scope
        if kind in _ITEMS:
            scopes[column.index] = column.index
            sizes[column.index] = 0
        if scope >= 0:
            width = _WIDTHS.get(kind)
            sizes[scope] += column.type.byte_width if width is None else width
    return sizes


_ITEMS = {pa.lib.Type_LIST, pa.lib.Type_LARGE_LIST, pa.lib.Type_MAP}

#: Bytes of a value in the buffers of its own column, where that is not the width of the type.
_WIDTHS = {
    pa.lib.Type_NA: 0,
    pa.lib.Type_STRUCT: 0,
    pa.lib.Type_BOOL: 1,
    **dict.fromkeys([pa.lib.Type_STRING, pa.lib.Type_BINARY, pa.lib.Type_LIST, pa.lib.Type_MAP], 4),
    **dict.fromkeys([pa.lib.Type_LARGE_STRING, pa.lib.Type_LARGE_BINARY, pa.lib.Type_LARGE_LIST], 8),
}
