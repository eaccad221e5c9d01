"""Nested columns made again with other columns below them: what `pyarrow.Array.cast` does not do."""

from collections.abc import Sequence

import pyarrow as pa

from kcodec.errors import SchemaError

__all__ = ["add_columns", "hide_nulls"]


def add_columns(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Give structs the columns of nulls that they lack, which Arrow's cast adds in its newer versions only.

    Parameters
    ----------
    array : pyarrow.Array
        Of any type.
    kind : pyarrow.DataType
        The same with more fields of the null type at the end of structs; other differences do not matter.

    Examples
    --------
    >>> kind = pa.list_(pa.struct([("a", pa.int8()), ("b", pa.null())]))
    >>> print(add_columns(pa.array([[{"a": 1}]]), kind).type)
    list<item: struct<a: int64, b: null>>
    """
    if pa.types.is_fixed_size_list(array.type):
        array = array.cast(pa.list_(array.type.value_field))
    below = _below(array)
    fields = [kind.field(number) for number in range(kind.num_fields)]
    parts = [add_columns(part, field.type) for part, field in zip(below, fields, strict=False)]
    if pa.types.is_struct(array.type):
        parts += [pa.nulls(len(array)) for _ in fields[len(parts) :]]
    return _again(array, parts, fields) if parts else array


def hide_nulls(array: pa.Array) -> pa.Array:
    """Make null what is behind the nulls of structs, which Arrow's cast looks at.

    Examples
    --------
    >>> behind = pa.StructArray.from_arrays([pa.array(["x"])], ["a"], mask=pa.array([True]))
    >>> behind.field(0).to_pylist(), hide_nulls(behind).field(0).to_pylist()
    (['x'], [None])
    """
    parts = [hide_nulls(part) for part in _below(array)]
    fields = [array.type.field(number) for number in range(len(parts))]
    return _again(array, parts, fields) if parts else array


def _below(array: pa.Array) -> list[pa.Array]:
    types, kind = pa.types, array.type
    if types.is_struct(kind):
        return list(array.flatten())
    return [array.values] if types.is_list(kind) or types.is_large_list(kind) or types.is_map(kind) else []


def _again(array: pa.Array, parts: Sequence[pa.Array], fields: Sequence[pa.Field]) -> pa.Array:
    fields = [field.with_type(part.type) for field, part in zip(fields, parts, strict=True)]
    types, kind = pa.types, array.type
    if types.is_struct(kind):
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(parts, fields=fields, mask=mask)
    if types.is_map(kind):
        kind = pa.map_(*fields[0].type)
        # Counted here, as Arrow 18 ends the process where they have not been.
        if parts[0].null_count or parts[0].field(0).null_count:
            raise SchemaError("the entries and keys of a map are never null")
    else:
        kind = pa.list_(fields[0]) if types.is_list(kind) else pa.large_list(fields[0])
    return pa.Array.from_buffers(kind, len(array), array.buffers()[:2], offset=array.offset, children=parts)
