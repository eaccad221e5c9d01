"""The offsets, views, run ends, indices and members of an Arrow array, in plain Python; see ``_integrity.pyx``."""

import itertools
import struct
from collections.abc import Sequence

import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.columns.types.plain import is_list
from kcodec.errors import ArrayError

__all__ = ["check_offsets"]

_MAX_NESTING = 1000
_DISORDER = "offsets are not in order"


def check_offsets(array: pa.Array) -> None:
    """Raise an `ArrayError` if an array that passed `pyarrow.Array.validate` still points outside of its buffers."""
    found = _walk(array, 0, len(array), 0, None)
    if found is not None:
        raise ArrayError(f"an array of {array.type}: {found}")


def lacks_memory(array: pa.Array) -> bool:
    """Return whether views within an array name a buffer of long values that there is not, as casts of pyarrow do."""
    kind, types = array.type, pa.types
    if types.is_binary_view(kind) or types.is_string_view(kind):
        return any(buffer is None for buffer in array.buffers()[2:])
    if types.is_struct(kind):
        return any(lacks_memory(array.field(number)) for number in range(kind.num_fields))
    if isinstance(kind, pa.BaseExtensionType):
        return lacks_memory(array.storage)
    if types.is_dictionary(kind):
        return lacks_memory(array.dictionary)
    if types.is_map(kind):
        return lacks_memory(array.keys) or lacks_memory(array.items)
    has_values = is_list(kind) or types.is_fixed_size_list(kind) or types.is_run_end_encoded(kind)
    return has_values and lacks_memory(array.values)


def _walk(array: pa.Array, first: int, count: int, depth: int, shown: pa.BooleanArray | None) -> str | None:
    """Check `count` values from `first` on, and everything that they refer to; structs around may hide some."""
    kind, types = array.type, pa.types
    if depth > _MAX_NESTING:
        return "types are nested too deeply"
    if count <= 0:
        return None
    if first < 0 or first + count > len(array):
        return "a list ends behind its values"
    if isinstance(kind, pa.BaseExtensionType):
        return _walk(array.storage, first, count, depth, shown)
    if types.is_dictionary(kind):
        indices, size = array.indices.slice(first, count).to_pylist(), len(array.dictionary)
        if not size and shown is not None:
            # For structs that are all null Arrow makes indices of 0, and no value that they could mean.
            indices = [index for index, is_shown in zip(indices, shown.to_pylist(), strict=True) if is_shown]
        if any(index is not None and not 0 <= index < size for index in indices):
            return "an index is outside of its dictionary"
        return _walk(array.dictionary, 0, size, depth + 1, None)
    if types.is_binary_view(kind) or types.is_string_view(kind):
        return _views(array.slice(first, count))
    if types.is_run_end_encoded(kind):
        ends = [0, *array.run_ends.to_pylist()]
        if any(end <= before for before, end in itertools.pairwise(ends)):
            return "run ends are not in order"
        return _walk(array.values, 0, len(array.values), depth + 1, None)
    if types.is_struct(kind):
        here = array.slice(first, count).is_valid()
        here = here if shown is None else pc.and_(here, shown)
        children = (array.field(number) for number in range(kind.num_fields))
        return next(filter(None, (_walk(child, first, count, depth + 1, here) for child in children)), None)
    if types.is_fixed_size_list(kind):
        size = kind.list_size
        return _walk(array.values, (array.offset + first) * size, count * size, depth + 1, None)
    if types.is_list_view(kind) or types.is_large_list_view(kind):
        length, part = len(array.values), array.slice(first, count)
        places = zip(part.offsets.to_pylist(), part.sizes.to_pylist(), strict=True)
        if any(size < 0 or not 0 <= start <= length - size for start, size in places):
            return "a list is outside of its values"
        return _walk(array.values, 0, length, depth + 1, None)
    if types.is_union(kind):
        return _members(array, first, count, depth)
    wide = types.is_large_list(kind) or types.is_large_string(kind) or types.is_large_binary(kind)
    has_items = is_list(kind) or types.is_map(kind)
    if not has_items and not wide and not types.is_string(kind) and not types.is_binary(kind):
        return None
    buffers = array.buffers()
    numbers = memoryview(buffers[1]).cast("B")
    size = 8 if wide else 4
    begin, end = array.offset * size, (array.offset + len(array) + 1) * size
    offsets = memoryview(numbers[begin:end]).cast("q" if wide else "i").tolist()
    last, offsets = offsets[-1], offsets[first : first + count + 1]
    if not has_items:
        # Of a field of a slice of structs, nobody has seen the end.
        last = min(last, buffers[2].size if buffers[2] else 0)
    if sorted(offsets) != offsets or offsets[0] < 0 or offsets[-1] > last:
        return _DISORDER
    if not has_items:
        return None
    begin, end = offsets[0], offsets[-1]
    # Arrow takes values out of views, dictionaries and unions even where no list shows them.
    if _has_references(array.values.type) and end <= len(array.values):
        begin, end = 0, len(array.values)
    return _walk(array.values, begin, end - begin, depth + 1, None)


def _has_references(kind: pa.DataType) -> bool:
    """Return whether values of a type (not counting the items of lists) are views, in a dictionary or of a union."""
    types = pa.types
    if types.is_struct(kind):
        return any(_has_references(field.type) for field in kind)
    is_view = types.is_binary_view(kind) or types.is_string_view(kind)
    return bool(types.is_dictionary(kind) or types.is_union(kind) or is_view)


def _members(array: pa.Array, first: int, count: int, depth: int) -> str | None:
    """Check which members of a union some values are of, and what these hold."""
    kind, start = array.type, array.offset + first
    # Those of a slice are told of the whole array by some releases of pyarrow.
    codes = memoryview(array.buffers()[1]).cast("b")[start : start + count]
    children = [array.field(number) for number in range(kind.num_fields)]
    lengths = {code: len(child) for code, child in zip(kind.type_codes, children, strict=True)}
    places: Sequence[int] = range(first, first + count)
    if kind.mode == "dense":
        places = memoryview(array.buffers()[2]).cast("B").cast("i")[start : start + count]
    if any(not 0 <= place < lengths.get(code, 0) for code, place in zip(codes, places, strict=True)):
        return "a value is outside of the members of its union"
    whole = kind.mode == "dense"
    parts = ((child, 0, len(child)) if whole else (child, first, count) for child in children)
    return next(filter(None, (_walk(*part, depth + 1, None) for part in parts)), None)


def _views(array: pa.Array) -> str | None:
    _, views, *pieces = array.buffers()
    content = memoryview(views).cast("B")
    sizes = [piece.size if piece else 0 for piece in pieces]
    valid = array.is_valid().to_pylist()
    for row in range(len(array)):
        size, _, piece, start = struct.unpack_from("<i4sii", content, 16 * (array.offset + row))
        # Arrow's casts add up all lengths, those of nulls too.
        if size >= 0 and (size <= 12 or not valid[row]):
            continue
        if size < 0 or not 0 <= piece < len(sizes) or not 0 <= start <= sizes[piece] - size:
            return "a view is outside of its buffer"
    return None
