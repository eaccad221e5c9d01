"""The columns that Spark's ``from_protobuf`` makes of messages, where they are not those that messages have here.

All fields but required ones are nullable; fields of proto2 that are not set have the default that they declare;
wrappers without their value are null where fields without presence are; and messages without fields have one that is
always null, as not everything in Spark takes empty structs.
"""

from decimal import Decimal

import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.columns.types import is_list
from kcodec.formats.protobuf.descriptor import FieldType, MessageType
from kcodec.formats.protobuf.json.well_known import WRAPPERS
from kcodec.formats.protobuf.plan import DUMMY
from kcodec.formats.protobuf.types import ProtobufOptions

__all__ = ["SparkLayout"]

_DUMMY = pa.field(DUMMY, pa.string())


class SparkLayout:
    """Spark's layout, for the columns that options ask for; nothing is copied but columns that get defaults."""

    def __init__(self, options: ProtobufOptions) -> None:
        self.retain_empty = options.empty_messages == "keep"
        self.hide_defaults = options.absent == "null"

    def messages(self, array: pa.Array, message: MessageType) -> pa.Array:
        """Return decoded messages in Spark's layout."""
        parts, fields = [], []
        for number, column in enumerate(array.type):
            part = array.field(number)
            field = message.by_name.get(column.name)
            if field is not None:
                part = self._column(part, field)
            parts.append(part)
            fields.append(pa.field(column.name, part.type, field is None or not field.required))
        if not fields and self.retain_empty:
            parts, fields = [pa.nulls(len(array), _DUMMY.type)], [_DUMMY]
        return _with_parts(array, pa.struct(fields), parts)

    def _column(self, array: pa.Array, field: FieldType) -> pa.Array:
        kind, message = array.type, field.message
        if field.is_map:
            assert message is not None
            items = self._values(array.items, message.by_number[2])
            item = kind.item_field.with_type(items.type)
            entries = pa.StructArray.from_arrays([array.keys, items], fields=[kind.key_field, item])
            return _with_parts(array, pa.map_(kind.key_field, item), [entries])
        if field.repeated and is_list(kind):
            values = self._values(array.values, field)
            of = pa.list_ if pa.types.is_list(kind) else pa.large_list
            return _with_parts(array, of(kind.value_field.with_type(values.type)), [values])
        if message is not None and message.name in WRAPPERS and self.hide_defaults:
            return _without_defaults(array)
        if field.default is not None and array.null_count:
            return pc.fill_null(array, _default(field, kind))
        return self._values(array, field)

    def _values(self, array: pa.Array, field: FieldType) -> pa.Array:
        """Return values of a field, of one row each or of lists."""
        if field.message is not None and pa.types.is_struct(array.type):
            return self.messages(array, field.message)
        return array


def _with_parts(array: pa.Array, kind: pa.DataType, parts: list[pa.Array]) -> pa.Array:
    """Return a nested array, which is no slice, with other columns below it."""
    buffers = array.buffers()[: 1 if pa.types.is_struct(kind) else 2]
    return pa.Array.from_buffers(kind, len(array), buffers, array.null_count, children=parts)


def _without_defaults(array: pa.Array) -> pa.Array:
    """Return values of wrappers with null for those that are the default; -0.0 is not."""
    if pa.types.is_struct(array.type):
        return array
    plain = array
    if pa.types.is_floating(array.type):
        plain = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())
    empty = {
        pa.bool_(): False,
        pa.string(): "",
        pa.large_string(): "",
        pa.binary(): b"",
        pa.large_binary(): b"",
    }
    default = pa.scalar(empty.get(plain.type, 0), plain.type)
    return pc.if_else(pc.equal(plain, default), pa.scalar(None, array.type), array)


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
