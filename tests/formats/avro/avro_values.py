"""The values of the Avro vectors, in the form in which `side_by_side.comparable` has those of columns."""

import struct
from decimal import Decimal

import pyarrow as pa

from kcodec.formats.avro.schema.model import Schema
from kcodec.formats.avro.schema.types import AvroOptions, member_name, widest

_TIMES = {"time-millis": 86_400_000, "time-micros": 86_400_000_000}


class Refused(Exception):
    """A value that Avro Java hands out and kcodec refuses, with the code of its fault."""


def of_vector(schema: Schema, value, kind: pa.DataType, options: AvroOptions):
    """Turn a vector's value into the comparable form, as the columns of an Arrow type hold it."""
    if schema.type == "union":
        return _union(schema, value, kind, options)
    if isinstance(value, dict) and "error" in value:
        raise Refused("unresolvable")
    if schema.type == "record":
        fields = {field.name: field for field in schema.fields}
        names = [name for name, _ in value["r"]]
        assert names == list(fields)
        return {
            name: of_vector(fields[name].type, item, kind.field(name).type, options)
            for name, item in value["r"]
            if kind.get_field_index(name) >= 0
        }
    if schema.type == "array":
        return [of_vector(schema.item, item, kind.value_type, options) for item in value]
    if schema.type == "map":
        if "mx" in value:
            raise Refused("invalid_utf8")
        return [
            (key, of_vector(schema.item, item, kind.item_type, options)) for key, item in value["m"].items()
        ]
    if value is None or isinstance(value, bool):
        return value
    if "x" in value:
        raise Refused("invalid_utf8")
    if "d" in value:
        text = value["d"][0]
        if not isinstance(text, str):
            raise Refused("truncated")
        if len(Decimal(text).as_tuple().digits) > schema.precision:
            raise Refused("decimal_precision")
        return text
    if "i" in value:
        return _integer(schema, int(value["i"]), kind)
    if "f32" in value:
        data = bytes.fromhex(value["f32"])
        if kind == pa.float64():
            return struct.pack(">d", *struct.unpack(">f", data)).hex()
        return data.hex()
    if "b" in value:
        return bytes.fromhex(value["b"])
    (result,) = value.values()
    return result


def _integer(schema: Schema, value: int, kind: pa.DataType):
    limit = _TIMES.get(schema.logical)
    if limit and kind != pa.int64() and not 0 <= value < limit:
        raise Refused("out_of_range")
    if schema.logical in ("timestamp-millis", "local-timestamp-millis") and kind != pa.int64():
        value *= 1000
        if not -(1 << 63) <= value < 1 << 63:
            raise Refused("out_of_range")
    return value


def _union(schema: Schema, value, kind: pa.DataType, options: AvroOptions):
    if isinstance(value, dict) and "error" in value:
        raise Refused("unresolvable")
    index, inner = value["u"]
    branch = schema.branches[index]
    if branch.type == "null":
        return None
    values = schema.values
    if len(values) == 1 or widest(schema):
        return of_vector(branch, inner, kind, options)
    position = next(i for i, other in enumerate(values) if other is branch)
    name = member_name(branch, position, options)
    return {
        field.name: of_vector(branch, inner, field.type, options) if field.name == name else None
        for field in kind
    }
