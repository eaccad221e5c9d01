"""The columns that Spark makes of messages, where they are not those of a codec.

All fields but required ones are nullable; fields of proto2 that are not set have the default that they declare; and
messages without fields have a field that is always null, as not everything in Spark takes empty structs.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kcodec.formats.protobuf.descriptor import FieldType, MessageType
from kcodec.formats.protobuf.schema import ProtobufSchema

__all__ = ["ShapedReader", "shaped_reader"]

_DUMMY = pa.field("__dummy_field_in_empty_struct", pa.string())


class ShapedReader:
    """A reader whose columns are then brought into Spark's shape."""

    def __init__(
        self, read: Callable[..., Any], schema: ProtobufSchema, message: str, retain_empty: bool
    ) -> None:
        self._arguments = read, schema, message, retain_empty
        self.read = read
        self.message = schema.message(message)
        self.retain_empty = retain_empty

    def __reduce__(self) -> tuple[Any, ...]:
        # Types refer to each other in circles, so the schema is what is pickled.
        return ShapedReader, self._arguments

    def __call__(self, values: pa.Array, *, errors: str = "raise") -> Any:
        """Return an Arrow array, and with ``errors="report"`` the report too."""
        found = self.read(values, errors=errors)
        if errors == "report":
            return self.shaped(found[0], self.message), found[1]
        return self.shaped(found, self.message)

    def shaped(self, array: pa.Array, message: MessageType) -> pa.Array:
        """Return an array of messages in Spark's shape."""
        children, fields = [], []
        for number, field in enumerate(array.type):
            child = array.field(number)
            declared = message.by_name.get(field.name)
            if declared is not None:
                child = self.child(child, declared)
            children.append(child)
            is_required = declared is not None and declared.required
            fields.append(pa.field(field.name, child.type, not is_required))
        if not fields and self.retain_empty:
            children, fields = [pa.nulls(len(array), _DUMMY.type)], [_DUMMY]
        return _rebuilt(array, pa.struct(fields), children)

    def child(self, array: pa.Array, field: FieldType) -> pa.Array:
        """Return the column of a field in Spark's shape."""
        kind = array.type
        message = field.message
        if field.is_map:
            assert message is not None
            items = self.child(array.items, message.by_number[2])
            item = kind.item_field.with_type(items.type)
            entry_type = pa.struct([kind.key_field, item])
            entries = pa.StructArray.from_arrays([array.keys, items], fields=list(entry_type))
            return _rebuilt(array, pa.map_(kind.key_field, item), [entries])
        if field.repeated and pa.types.is_list(kind):
            values = self.items(array.values, field)
            return _rebuilt(array, pa.list_(kind.value_field.with_type(values.type)), [values])
        return self.items(array, field)

    def items(self, array: pa.Array, field: FieldType) -> pa.Array:
        """Return values of a field, of one row each or of lists, in Spark's shape."""
        if field.message is not None and pa.types.is_struct(array.type):
            return self.shaped(array, field.message)
        if field.default is not None and array.null_count:
            return pc.fill_null(array, _scalar(field, array.type))
        return array


def shaped_reader(
    read: Callable[..., Any],
    arrow_type: pa.DataType,
    schema: ProtobufSchema,
    message: str | None,
    retain_empty: bool,
) -> tuple[ShapedReader, pa.DataType]:
    """Return what decodes into Spark's shape, and the Arrow type of its result.

    Parameters
    ----------
    read : callable
        What decodes, into `arrow_type`.
    arrow_type : pyarrow.DataType
        Of the columns of the message.
    schema : ProtobufSchema
        What is decoded.
    message : str or None
        Name of the message; None for the first.
    retain_empty : bool
        Whether messages without fields get one.
    """
    reader = ShapedReader(read, schema, schema.message(message).name, retain_empty)
    return reader, reader.shaped(pa.array([], arrow_type), reader.message).type


def _rebuilt(array: pa.Array, kind: pa.DataType, children: list[pa.Array]) -> pa.Array:
    """Return a nested array, which has no offset, with other children."""
    buffers = array.buffers()[: 1 if pa.types.is_struct(kind) else 2]
    return pa.Array.from_buffers(kind, len(array), buffers, array.null_count, children=children)


def _scalar(field: FieldType, kind: pa.DataType) -> pa.Scalar:
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
