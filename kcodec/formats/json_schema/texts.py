"""Columns that hold JSON itself, written as Jackson writes the values."""

from collections.abc import Callable

import pyarrow as pa

from kcodec.columns.arrays.given import sound
from kcodec.columns.arrays.nested import members, rebuild
from kcodec.columns.built.lists import from_lists
from kcodec.columns.types.layout import layout
from kcodec.errors import CapacityError
from kcodec.formats.json.node import JsonNode, Op
from kcodec.java.jackson import JacksonError, read_tree, write_tree


def rewrite_texts(array: pa.Array, node: JsonNode) -> pa.Array:
    """Return an array in which columns of JSON, by the plan that it is written by, are as Jackson prints their trees.

    Space is left out, of keys that stand twice the last one counts, numbers have the form of a ``BigDecimal``. Text
    that is not JSON is changed so that the kernel refuses it for certain, although it lets halves of surrogate
    pairs pass here.
    """
    if node.op in (Op.JSON_TEXT, Op.JSON_REST):
        return changed_texts(array, _canonical)
    if not holds_text(node):
        return array
    if node.op in (Op.JSON_OBJECT, Op.JSON_UNION, Op.JSON_TUPLE):
        # What an object holds beside its fields is not in its place.
        nodes = sorted(node.children, key=lambda child: child.column)
        below = members(array)
        return rebuild(array, [rewrite_texts(*each) for each in zip(below, nodes, strict=True)])
    if node.op is Op.JSON_LIST and node.children[0].column >= 0:
        return rebuild(array, [rewrite_texts(array.values, node.children[0])])
    # Maps: key and value stand side by side, or in an object without a column.
    pair = node.children[0].children if node.op is Op.JSON_LIST else node.children
    entries = array.values
    parts = [rewrite_texts(entries.field(number), each) for number, each in enumerate(pair)]
    return rebuild(array, [rebuild(entries, parts)])


def holds_text(node: JsonNode) -> bool:
    """Return whether columns of a plan hold JSON itself."""
    return node.op in (Op.JSON_TEXT, Op.JSON_REST) or any(map(holds_text, node.children))


def changed_texts(array: pa.Array, change: Callable[[bytes], bytes | None]) -> pa.Array:
    """Return a column of text or binary with each value that is not null changed.

    It is an `ArrayError` if the values are not where the type says, and a `CapacityError` if the offsets of the type do
    not address what becomes of them.
    """
    kind = array.type
    wide = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
    texts = sound(array).cast(pa.large_binary() if wide else pa.binary()).to_pylist()
    values = [None if text is None else change(text) for text in texts]
    if not wide and sum(map(len, filter(None, values))) >= 1 << 31:
        raise CapacityError("the texts of a column are more than 2 GiB: large_string holds them")
    # Not pa.array, which loads pandas where that is installed.
    return from_lists(layout(kind), [values])


def _canonical(text: bytes) -> bytes:
    try:
        tree = read_tree(text, whole=True)
    except JacksonError:
        return b"\0" + text
    return text if tree is ... else write_tree(tree, escape_surrogates=True).encode()
