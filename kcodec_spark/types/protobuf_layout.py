"""The columns that Spark's ``from_protobuf`` makes of messages, where they are not those that messages have here.

All fields but required ones are nullable; fields of proto2 that are not set have the default that they declare;
wrappers without their value are null where fields without presence are; and messages without fields have one that is
always null, as not everything in Spark takes empty structs.
"""

from decimal import Decimal
from typing import NamedTuple

import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.columns.faults import nulled
from kcodec.columns.types.plain import is_list
from kcodec.formats.protobuf.descriptor import FieldType, MessageType
from kcodec.formats.protobuf.json.well_known import WRAPPERS
from kcodec.formats.protobuf.types import ProtobufOptions

#: The column of a message that has no field.
_DUMMY = pa.field("__dummy_field_in_empty_struct", pa.string())


class SparkLayout(NamedTuple):
    """How Spark lays out messages, as ``layout=`` of `kcodec.ProtobufCodec` and of a serde's options.

    With ``absent="null"``, wrappers of a default are null too, and with ``empty_messages="keep"``, messages without
    fields are columns. Spark has no unsigned integers, so ``unsigned="signed"`` goes with it. Nothing is copied but
    columns that get defaults or are upcast.

    Attributes
    ----------
    upcast_unsigned : bool
        Whether uint32 and uint64 become bigint and decimal(20,0), rather than int and bigint of the same bits.

    Examples
    --------
    >>> from kcodec import ProtobufCodec
    >>> text = 'syntax = "proto2"; message Order { optional uint32 id = 1 [default = 7]; }'
    >>> layout = SparkLayout(upcast_unsigned=True)
    >>> print(ProtobufCodec(text, unsigned="signed", layout=layout).arrow_type)
    struct<id: int64>
    >>> ProtobufCodec(text, unsigned="signed", layout=layout).decode([b""]).to_pylist()
    [{'id': 7}]
    """

    upcast_unsigned: bool = False

    def columns(self, array: pa.Array, message: MessageType, options: ProtobufOptions) -> pa.Array:
        """Return decoded messages in Spark's layout."""
        return _Layout(self.upcast_unsigned, options).messages(array, message)

    def is_added(self, name: str, message: MessageType) -> bool:
        """Return whether a column of a message without fields is of this layout alone."""
        return name == _DUMMY.name and not message.fields


class _Layout:
    def __init__(self, upcast: bool, options: ProtobufOptions) -> None:
        self.upcast = upcast
        self.retain_empty = options.empty_messages == "keep"
        self.hide_defaults = options.absent == "null"

    def messages(self, array: pa.Array, message: MessageType) -> pa.Array:
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
            keys, items = (
                self._values(part, message.by_number[number])
                for number, part in ((1, array.keys), (2, array.items))
            )
            key, item = kind.key_field.with_type(keys.type), kind.item_field.with_type(items.type)
            entries = pa.StructArray.from_arrays([keys, items], fields=[key, item])
            return _with_parts(array, pa.map_(key, item), [entries])
        if field.repeated and is_list(kind):
            values = self._values(array.values, field)
            of = pa.list_ if pa.types.is_list(kind) else pa.large_list
            return _with_parts(array, of(kind.value_field.with_type(values.type)), [values])
        if message is not None and message.name in WRAPPERS and self.hide_defaults:
            array = _without_defaults(array)
        if field.default is not None and array.null_count:
            array = pc.fill_null(array, _default(field, kind))
        return self._values(array, field)

    def _values(self, array: pa.Array, field: FieldType) -> pa.Array:
        """Return values of a field, of one row each or of lists."""
        if field.message is not None and pa.types.is_struct(array.type):
            return self.messages(array, field.message)
        if self.upcast:
            name = field.type if field.message is None else WRAPPERS.get(field.message.name)
            if name == "uint32" and pa.types.is_int32(array.type):
                return array.view(pa.uint32()).cast(pa.int64())
            if name == "uint64" and pa.types.is_int64(array.type):
                return array.view(pa.uint64()).cast(pa.decimal128(20, 0))
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
    return nulled(array, pc.equal(plain, default))


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
