"""From plain lists of values to Arrow columns: the last step of the pure-Python twins of the row loops."""

import struct
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from kcodec.columns.types.layout import Column
from kcodec.columns.types.plain import is_bytes, is_text


def from_lists(columns: tuple[Column, ...], data: Sequence[list[Any]]) -> pa.Array:
    """Make an array of a list of values per column.

    Null is None; booleans are bool; text and binary are the bytes; lists and maps the number of items; structs
    anything; numbers the integer, or the bytes as they stand in memory.
    """
    return _array(columns, data, 0)


def _array(columns: tuple[Column, ...], data: Sequence[list[Any]], index: int) -> pa.Array:
    column, values = columns[index], data[index]
    kind = column.type
    nulls = sum(value is None for value in values) if column.nullable else 0
    valid = pa.py_buffer(_bits([value is not None for value in values])) if nulls else None
    if pa.types.is_null(kind):
        return pa.nulls(len(values))
    if pa.types.is_struct(kind):
        children = [_array(columns, data, child) for child in column.children]
        return pa.Array.from_buffers(kind, len(values), [valid], nulls, 0, children)
    if column.children:
        children = [_array(columns, data, child) for child in column.children]
        if pa.types.is_map(kind):
            entries = pa.struct([kind.key_field, kind.item_field])
            children = [pa.Array.from_buffers(entries, len(children[0]), [None], 0, 0, children)]
        offsets = _offsets([value or 0 for value in values], pa.types.is_large_list(kind))
        return pa.Array.from_buffers(kind, len(values), [valid, offsets], nulls, 0, children)
    if pa.types.is_boolean(kind):
        buffers = [valid, pa.py_buffer(_bits([bool(value) for value in values]))]
    elif is_text(kind) or is_bytes(kind):
        large = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
        parts = [value or b"" for value in values]
        buffers = [valid, _offsets([len(part) for part in parts], large), pa.py_buffer(b"".join(parts))]
    else:
        width = kind.byte_width if pa.types.is_fixed_size_binary(kind) else kind.bit_width // 8
        packed = b"".join(
            value if isinstance(value, bytes) else (value or 0).to_bytes(width, "little", signed=True)
            for value in (bytes(width) if value is None else value for value in values)
        )
        buffers = [valid, pa.py_buffer(packed)]
    return pa.Array.from_buffers(kind, len(values), buffers, nulls)


def _bits(flags: list[bool]) -> bytes:
    packed = bytearray((len(flags) + 7) // 8)
    for i, flag in enumerate(flags):
        packed[i // 8] |= flag << i % 8
    return bytes(packed)


def _offsets(lengths: list[int], large: bool) -> pa.Buffer:
    total, offsets = 0, [0]
    for length in lengths:
        total += length
        offsets.append(total)
    return pa.py_buffer(struct.pack(f"<{len(offsets)}{'q' if large else 'i'}", *offsets))
