"""The columns that Spark's ``from_protobuf`` makes of messages, where they are not those that messages have here.

All fields but required ones are nullable; fields of proto2 that are not set have the default that they declare; and
messages without fields have one that is always null, as not everything in Spark takes empty structs.
"""

from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from kcodec.formats.protobuf.descriptor import FieldType, MessageType

__all__ = ["spark_layout"]

_DUMMY = pa.field("__dummy_field_in_empty_struct", pa.string())


def spark_layout(array: pa.Array, message: MessageType, retain_empty: bool) -> pa.Array:
    """Return decoded messages in Spark's layout, where empty ones may be retained; values are not copied."""
    parts, fields = [], []
    for number, column in enumerate(array.type):
        part = array.field(number)
        field = message.by_name.get(column.name)
        if field is not None:
            part = _column(part, field, retain_empty)
        parts.append(part)
        fields.append(pa.field(column.name, part.type, field is None or not field.required))
    if not fields and retain_empty:
        parts, fields = [pa.nulls(len(array), _DUMMY.type)], [_DUMMY]
    return _with_parts(array, pa.struct(fields), parts)


def _column(array: pa.Array, field: FieldType, retain_empty: bool) -> pa.Array:
    kind = array.type
    if field.is_map:
        assert field.message is not None
        items = _values(array.items, field.message.by_number[2], retain_empty)
        item = kind.item_field.with_type(items.type)
        entries = pa.StructArray.from_arrays([array.keys, items], fields=[kind.key_field, item])
        return _with_parts(array, pa.map_(kind.key_field, item), [entries])
    if field.repeated and (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        values = _values(array.values, field, retain_empty)
        of = pa.list_ if pa.types.is_list(kind) else pa.large_list
        return _with_parts(array, of(kind.value_field.with_type(values.type)), [values])
    return _values(array, field, retain_empty)


def _values(array: pa.Array, field: FieldType, retain_empty: bool) -> pa.Array:
    """Return values of a field, of one row each or of lists."""
    if field.message is not None and pa.types.is_struct(array.type):
        return spark_layout(array, field.message, retain_empty)
    if field.default is not None and array.null_count:
        return pc.fill_null(array, _default(field, array.type))
    return array


def _with_parts(array: pa.Array, kind: pa.DataType, parts: list[pa.Array]) -> pa.Array:
    """Return a nested array, which is no slice, with other columns below it."""
    buffers = array.buffers()[: 1 if pa.types.is_struct(kind) else 2]
    return pa.Array.from_buffers(kind, len(array), buffers, array.null_count, children=parts)


def _default(field: FieldType, kind: pa.DataType) -> pa.Scalar:
    """Return the declared default of a field in the type of its column."""
    value = field.default
    if field.enum is not None and pa.types.is_integer(kind):
        value = field.enum.numbers[value]
    elif pa.types.is_decimal(kind):
        value = Decimal(value)
    elif pa.types.is_signed_integer(kind):
        # Unsigned numbers are signed ones of the same bits.
        value -= value >> kind.bit_width - 1 << kind.bit_width if value > 0 else 0
    return pa.scalar(value, kind)
