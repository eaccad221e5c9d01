"""Columns of UUIDs, as the text of these."""

from array import array as numbers
from collections.abc import Callable

import pyarrow as pa

from kcodec._kept import Kept
from kcodec.columns.arrays.nested import members, rebuild
from kcodec.columns.types.exact import ExactType
from kcodec.columns.types.plain import is_list, is_text, stored_type
from kcodec.errors import SchemaError

#: Where the 32 digits stand between the hyphens.
_PLACES = [at for at in range(36) if at not in (8, 13, 18, 23)]
#: Rows whose digits stay in the processor's cache.
_AT_ONCE = 512
#: More text than this has offsets of 64 bits.
_MAX_TEXTS = (2**31 - 1) // 36

#: Whether types have UUIDs: to look through a wide one takes longer than to write a few rows.
_with_uuids: Kept[ExactType, bool] = Kept(256)


def is_uuid(kind: pa.DataType) -> bool:
    """Return whether a type is that of ``pyarrow.uuid()``."""
    return isinstance(kind, pa.BaseExtensionType) and kind.extension_name == "arrow.uuid"


def uuid_texts(
    array: pa.Array, own: Callable[[], pa.DataType], *, unknown: bool = False, fold: bool = False
) -> pa.Array:
    """Return an array whose UUIDs are text, but where a type has something else in their place.

    Bytes that are not of the type ``pyarrow.uuid()`` stay bytes. `own` returns the type of a schema's own columns,
    which are found by their names, with `fold` also by the upper case of these. If it has no columns, nothing is known
    of any; with `unknown`, columns of which nothing is known become text.

    >>> import uuid
    >>> array = pa.array([uuid.UUID(int=10).bytes, None], pa.binary(16)).cast(pa.uuid())
    >>> uuid_texts(array, pa.string).to_pylist()
    ['00000000-0000-0000-0000-00000000000a', None]
    >>> uuid_texts(array, pa.binary).type
    FixedSizeBinaryType(fixed_size_binary[16])
    """
    kind = array.type
    if not _with_uuids.get(ExactType(kind), lambda: _has_uuids(kind)):
        return array
    try:
        wanted: pa.DataType | None = own()
    except SchemaError:
        wanted = None
    return _with_texts(array, wanted, unknown, fold)


def _has_uuids(kind: pa.DataType) -> bool:
    if is_uuid(kind):
        return True
    stored = stored_type(kind)
    if stored is not None:
        return _has_uuids(stored)
    return any(_has_uuids(kind.field(number).type) for number in range(kind.num_fields))


def _with_texts(array: pa.Array, wanted: pa.DataType | None, unknown: bool, fold: bool) -> pa.Array:
    types, kind = pa.types, array.type
    if is_uuid(kind):
        # A struct is that of a union's members: which one it is nobody says.
        as_text = unknown if wanted is None or types.is_struct(wanted) else is_text(wanted)
        return _texts(array.storage) if as_text else array.storage
    if not _has_uuids(kind):
        return array
    if types.is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(
            array.indices, _with_texts(array.dictionary, wanted, unknown, fold)
        )
    if types.is_struct(kind):
        below = [None if wanted is None else _field_type(wanted, field.name, fold) for field in kind]
        pairs = zip(members(array), below, strict=True)
        return rebuild(array, [_with_texts(part, each, unknown, fold) for part, each in pairs])
    if types.is_map(kind):
        keys, items = (None, None)
        if wanted is not None and types.is_map(wanted):
            keys, items = wanted.key_type, wanted.item_type
        entries = array.values
        parts = [_with_texts(entries.field(at), each, unknown, fold) for at, each in ((0, keys), (1, items))]
        return rebuild(array, [rebuild(entries, parts)])
    if is_list(kind):
        item = wanted.value_type if wanted is not None and is_list(wanted) else None
        return rebuild(array, [_with_texts(array.values, item, unknown, fold)])
    # In other layouts they are bytes.
    return array


def _field_type(kind: pa.DataType, name: str, fold: bool) -> pa.DataType | None:
    """Return the type of a field; None if a type has none of this name, or several."""
    number = kind.get_field_index(name) if pa.types.is_struct(kind) else -1
    if number < 0 and fold and name != name.upper():
        return _field_type(kind, name.upper(), False)
    return None if number < 0 else kind.field(number).type


def _texts(array: pa.Array) -> pa.Array:
    """Return the text of UUIDs that are given as their bytes."""
    count = len(array)
    if not count:
        return pa.nulls(0, pa.string())
    data = memoryview(array.buffers()[1])[16 * array.offset : 16 * (array.offset + count)]
    text = bytearray()
    for first in range(0, count, _AT_ONCE):
        digits = data[16 * first : 16 * (first + _AT_ONCE)].hex().encode()
        block = bytearray(b"-" * (len(digits) // 32 * 36))
        for number, place in enumerate(_PLACES):
            block[place::36] = digits[number::32]
        text += block
    kind, width = (pa.string(), "i") if count <= _MAX_TEXTS else (pa.large_string(), "q")
    offsets = numbers(width, range(0, 36 * count + 1, 36))
    validity = array.is_valid().buffers()[1] if array.null_count else None
    buffers = [validity, pa.py_buffer(offsets), pa.py_buffer(text)]
    return pa.Array.from_buffers(kind, count, buffers, array.null_count)
