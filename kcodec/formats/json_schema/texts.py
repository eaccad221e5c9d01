"""Columns that hold JSON itself, written as Jackson writes the values."""

import pyarrow as pa

from kcodec.columns.nested import members, rebuild
from kcodec.java.jackson import JacksonError, read_tree, write_tree
from kcodec.plan.node import Node, Op

__all__ = ["rewrite_texts"]


def rewrite_texts(array: pa.Array, node: Node) -> pa.Array:
    """Return an array in which columns of JSON, by the plan that it is written by, are as Jackson prints their trees.

    Space is left out, of keys that stand twice the last one counts, numbers have the form of a ``BigDecimal``. What is
    not JSON is made such that the kernel refuses it at once, which then lets halves of surrogate pairs pass.
    """
    if node.op in (Op.JSON_TEXT, Op.JSON_REST):
        return _rewritten(array)
    if not _holds_text(node):
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


def _holds_text(node: Node) -> bool:
    return node.op in (Op.JSON_TEXT, Op.JSON_REST) or any(map(_holds_text, node.children))


def _rewritten(array: pa.Array) -> pa.Array:
    wide = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    kind = pa.large_binary() if wide else pa.binary()
    texts = [None if text is None else _canonical(text) for text in array.cast(kind).to_pylist()]
    return pa.array(texts, kind).view(array.type)


def _canonical(text: bytes) -> bytes:
    try:
        tree = read_tree(text, whole=True)
    except JacksonError:
        return b"\0" + text
    return text if tree is ... else write_tree(tree, escape_surrogates=True).encode()
