"""Maps that Connect writes as arrays of entries, read by the row loop of Avro as the maps that they are.

On the wire there is no difference: blocks of items that are a key and a value, one after the other.
"""

from dataclasses import replace

import pyarrow as pa

from kcodec.columns.types.layout import Column, layout
from kcodec.columns.types.plain import is_list, is_text, list_of
from kcodec.formats.avro.plans.node import AvroNode, Op
from kcodec.ksql.formats.reading import Reading
from kcodec.plan.node import Plan


def with_maps(plan: Plan, reading: Reading) -> Plan:
    """Return a plan that reads lists of entries as maps, where a reading has them and their keys are text."""
    kind = _mapped(plan.arrow_type, reading)
    if kind == plan.arrow_type:
        return plan
    places: dict[int, int] = {}
    old, new = layout(plan.arrow_type), layout(kind)
    _place(old, new, 0, 0, places)
    maps = {
        number
        for number, place in places.items()
        if pa.types.is_map(new[place].type) and not pa.types.is_map(old[number].type)
    }
    return replace(plan, arrow_type=kind, root=_node(plan.root, places, maps))


def _mapped(kind: pa.DataType, reading: Reading) -> pa.DataType:
    """Return a type with maps in place of lists of entries."""
    types, base = pa.types, reading.kind.base
    if reading.problem:
        return kind
    if base == "STRUCT" and types.is_struct(kind):
        below = {part.field: part for part in reading.parts}
        return pa.struct(
            [
                field.with_type(_mapped(field.type, below[field.name])) if field.name in below else field
                for field in kind
            ]
        )
    if base == "ARRAY" and is_list(kind):
        field = kind.value_field.with_type(_mapped(kind.value_type, reading.parts[0]))
        return list_of(field, kind)
    if base == "MAP" and types.is_map(kind):
        return pa.map_(kind.key_field, kind.item_field.with_type(_mapped(kind.item_type, reading.parts[1])))
    if base == "MAP" and is_list(kind):
        key, item = kind.value_type
        if is_text(key.type):
            return pa.map_(key.type, item.with_type(_mapped(item.type, reading.parts[1])))
    return kind


def _place(
    old: tuple[Column, ...], new: tuple[Column, ...], at: int, to: int, places: dict[int, int]
) -> None:
    """Note the new number of each column; entries have no column."""
    places[at] = to
    before, after = old[at].children, new[to].children
    if pa.types.is_map(new[to].type) and not pa.types.is_map(old[at].type):
        before = old[before[0]].children
    for child, place in zip(before, after, strict=True):
        _place(old, new, child, place, places)


def _node(node: AvroNode, places: dict[int, int], maps: set[int]) -> AvroNode:
    column = places.get(node.column, -1)
    if node.op is Op.ARRAY and node.column in maps:
        key, item = (_node(child, places, maps) for child in node.children[0].children)
        return replace(node, op=Op.MAP, column=column, children=(_key(key), item))
    children = tuple(_node(child, places, maps) for child in node.children)
    return replace(node, column=column, children=children)


def _key(node: AvroNode) -> AvroNode:
    """Return how a key is read: Arrow's maps have no null keys."""
    if node.op is Op.PRESENT:
        return node.children[0]
    if node.op is Op.ABSENT:
        return AvroNode(Op.FAIL, -1, node.name, code="null_value", reason="a key of a map is null")
    return replace(node, children=tuple(map(_key, node.children))) if node.op is Op.UNION else node
