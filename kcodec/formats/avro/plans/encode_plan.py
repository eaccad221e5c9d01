"""Encode plans of Avro: a schema and the columns at hand to the steps that write one as the other."""

from dataclasses import replace

import pyarrow as pa

from kcodec.columns.types.layout import Column, layout
from kcodec.columns.types.plain import PER_SECOND, is_bytes, is_list, is_text, map_hint, plain_type, zone_hint
from kcodec.errors import CODES, SchemaError, near
from kcodec.formats.avro.changes.resolution import describe
from kcodec.formats.avro.plans.node import AvroNode, Op
from kcodec.formats.avro.plans.plan import PlanMaker
from kcodec.formats.avro.schema.defaults import default_bytes, varint
from kcodec.formats.avro.schema.model import MAX_NESTING, Field, Schema
from kcodec.formats.avro.schema.types import AvroOptions, arrow_type, logical_type, member_name, widest
from kcodec.plan.node import Plan

_PER_SECOND = {**PER_SECOND, "millis": 10**3, "micros": 10**6, "nanos": 10**9}
#: Members of a union that an error names.
_NAMED_MEMBERS = 8


def encode_plan(schema: Schema, kind: pa.DataType, options: AvroOptions | None = None) -> Plan:
    """Plan how columns of a type are written as an Avro schema.

    Fields are matched by name; a field without a column is written as its default, or as null if it may be null. A
    type that cannot be written is a FAIL node, so that only the rows that have a value there are errors.

    >>> from kcodec.formats.avro.schema.parse import parse
    >>> print(encode_plan(parse('["null", "long"]'), pa.int32()))
    AVRO encode: int32
      union -> column 0
        absent -> column 0
        present -> column 0
          long -> column 0
    """
    kind = plain_type(kind)
    maker = _EncodePlan(layout(kind), options or AvroOptions())
    return Plan("AVRO", "encode", kind, maker.write(schema, 0, "", 0))


def object_plan(schema: Schema, options: AvroOptions | None = None) -> Plan:
    """Plan how Python objects are written as an Avro schema: as the columns of its own type, with all its fields.

    A field that may be missing is a DEFAULT node, which has the field's node below it. So is one whose default is
    wrong, with the reason.

    >>> from kcodec.formats.avro.schema.parse import parse
    >>> field = '{"name": "a", "type": "int", "default": 3}'
    >>> print(object_plan(parse('{"type": "record", "name": "R", "fields": [%s]}' % field)))
    AVRO encode: struct<a: int32 not null>
      record -> column 0
        a: default 06 -> column 1
          int -> column 1
    """
    options = replace(options or AvroOptions(), fields=None)
    kind = arrow_type(schema, options)
    maker = _EncodePlan(layout(kind), options, objects=True)
    return Plan("AVRO", "encode", kind, maker.write(schema, 0, "", 0))


class _EncodePlan(PlanMaker):
    def __init__(self, columns: tuple[Column, ...], options: AvroOptions, *, objects: bool = False) -> None:
        super().__init__(columns, options)
        self.objects = objects

    def mismatch(self, schema: Schema, column: int, name: str, reason: str = "") -> AvroNode:
        if not reason and pa.types.is_null(self.columns[column].type):
            return AvroNode(Op.FAIL, -1, name, code="null_value", reason=CODES["null_value"])
        if not reason:
            logical = logical_type(schema, self.options)
            logical = f" ({logical})" if logical else ""
            kind = self.columns[column].type
            reason = f"{kind} cannot be written as {describe(schema)}{logical}{self.wanted(schema, kind)}"
        return AvroNode(Op.FAIL, -1, name, code="type_mismatch", reason=reason)

    def wanted(self, schema: Schema, kind: pa.DataType) -> str:
        """Return what is wanted instead of a type, where that is not plain from the schema's."""
        if "timestamp" in logical_type(schema, self.options):
            return zone_hint(kind, arrow_type(schema, self.options))
        if logical_type(schema, self.options) == "uuid" and schema.type == "string":
            return ": its text is wanted"
        if schema.type == "union":
            names = [
                f"{member_name(value, number, self.options)} ({describe(value)})"
                for number, value in enumerate(schema.values[:_NAMED_MEMBERS])
            ]
            names += ["..."] * (len(schema.values) > _NAMED_MEMBERS)
            return f": a struct of its members is wanted, of which one is not null: {', '.join(names)}"
        return f": a map is wanted, with keys of text{map_hint(kind)}" if schema.type == "map" else ""

    def write(self, schema: Schema, column: int, name: str, depth: int) -> AvroNode:
        if depth > MAX_NESTING:
            raise SchemaError(f"{name}: types are nested deeper than {MAX_NESTING} levels")
        if schema.type == "union":
            return self.union(schema, column, name, depth)
        if schema.type == "record":
            return self.record(schema, column, name, depth)
        if schema.type in ("array", "map"):
            return self.items(schema, column, name, depth)
        return self.leaf(schema, column, name)

    def union(self, schema: Schema, column: int, name: str, depth: int) -> AvroNode:
        kind = self.columns[column].type
        values = schema.values
        number = widest(schema)
        is_number = pa.types.is_integer(kind) if number == "long" else pa.types.is_floating(kind)
        if len(values) == 1 or (number and is_number):
            present = [
                self.node(Op.PRESENT, column, "", (self.write(value, column, "", depth + 1),))
                for value in values
            ]
        else:
            present = self.members(schema, values, column, depth)
        remaining = iter(present)
        children = [
            self.node(Op.ABSENT, column, "") if branch.type == "null" else next(remaining)
            for branch in schema.branches
        ]
        return self.node(Op.UNION, column, name, children)

    def members(self, schema: Schema, values: list[Schema], column: int, depth: int) -> list[AvroNode]:
        """Write each branch from the member of its name."""
        below = {self.columns[child].name: child for child in self.columns[column].children}
        names = [member_name(value, i, self.options) for i, value in enumerate(values)]
        if not pa.types.is_struct(self.columns[column].type) or set(names) != set(below):
            fail = self.mismatch(schema, column, "")
            return [self.node(Op.PRESENT, column, "", (fail,)) for _ in values]
        places = {name: number for number, name in enumerate(below)}
        return [
            self.node(
                Op.MEMBER,
                column,
                "",
                (self.write(value, below[name], "", depth + 1),),
                size=places[name],
            )
            for name, value in zip(names, values, strict=True)
        ]

    def record(self, schema: Schema, column: int, name: str, depth: int) -> AvroNode:
        if not pa.types.is_struct(self.columns[column].type):
            return self.mismatch(schema, column, name)
        below: dict[str, int] = {}
        known = {field.name for field in schema.fields}
        for child in self.columns[column].children:
            label = self.columns[child].name
            if label not in known:
                reason = f"the record {schema.name} has no field for the column {label}{near(label, known)}"
                return self.mismatch(schema, column, name, reason)
            if label in below:
                return self.mismatch(schema, column, name, f"two columns are named {label}")
            below[label] = child
        children = []
        for field in schema.fields:
            if field.name in below:
                children.append(self.field(field, below[field.name], depth + 1))
            else:
                try:
                    data = _absent(field)
                except SchemaError as error:
                    return self.mismatch(
                        schema, column, name, f"there is no column {field.name}, and the {error}"
                    )
                if data is None:
                    reason = f"there is no column {field.name}, and the field has no default{near(field.name, below)}"
                    return self.mismatch(schema, column, name, reason)
                below_it = (self.left_out(field),) if self.objects else ()
                children.append(AvroNode(Op.DEFAULT, -1, field.name, below_it, data=data))
        return self.node(Op.RECORD, column, name, children)

    def left_out(self, field: Field) -> AvroNode:
        """Write nothing but null, which a list that is linked ends with, of a field that is too deep for a column."""
        fail = AvroNode(
            Op.FAIL, -1, "", code="unknown_field", reason="recursive_depth leaves the field out here"
        )
        branches = [branch.type for branch in field.type.branches]
        if "null" not in branches:
            return fail
        children = [
            AvroNode(Op.ABSENT, -1, "") if each == "null" else AvroNode(Op.PRESENT, -1, "", (fail,))
            for each in branches
        ]
        return AvroNode(Op.UNION, -1, "", tuple(children))

    def field(self, field: Field, column: int, depth: int) -> AvroNode:
        data, reason = None, ""
        if self.objects:
            try:
                data = _absent(field)
            except SchemaError as error:
                data, reason = b"", f"the field is missing, and the {error}"
        if data is None:
            return self.write(field.type, column, field.name, depth)
        value = self.write(field.type, column, "", depth)
        return self.node(Op.DEFAULT, column, field.name, (value,), data=data, reason=reason)

    def items(self, schema: Schema, column: int, name: str, depth: int) -> AvroNode:
        assert schema.item is not None
        kind = self.columns[column].type
        below = self.columns[column].children
        if schema.type == "array":
            if not is_list(kind):
                return self.mismatch(schema, column, name)
            return self.node(Op.ARRAY, column, name, (self.write(schema.item, below[0], "", depth + 1),))
        if not pa.types.is_map(kind) or not _is_bytes(kind.key_type):
            return self.mismatch(schema, column, name)
        children = (self.node(Op.STRING, below[0], ""), self.write(schema.item, below[1], "", depth + 1))
        return self.node(Op.MAP, column, name, children)

    def leaf(self, schema: Schema, column: int, name: str) -> AvroNode:
        kind = self.columns[column].type
        op = Op(schema.type)
        if schema.logical == "decimal":
            if not (pa.types.is_decimal(kind) or pa.types.is_integer(kind) or is_text(kind)):
                return self.mismatch(schema, column, name)
            return self.node(
                Op.DECIMAL, column, name, size=schema.size, precision=schema.precision, scale=schema.scale
            )
        logical = logical_type(schema, self.options)
        if op in (Op.INT, Op.LONG):
            factor = 1 if pa.types.is_integer(kind) else _factor(logical, kind)
            if not factor:
                return self.mismatch(schema, column, name)
            floor = factor > 1 and self.options.round == "truncate"
            return self.node(op, column, name, factor=factor, floor=floor)
        if op is Op.ENUM and is_text(kind):
            return self.node(op, column, name, symbols=schema.symbols)
        if logical == "iso-text" and _is_same(kind, arrow_type(schema, self.options)):
            return self.node(op, column, name)
        fits = {
            Op.NULL: pa.types.is_null,
            Op.BOOLEAN: pa.types.is_boolean,
            Op.FLOAT: pa.types.is_floating,
            Op.DOUBLE: pa.types.is_floating,
            Op.BYTES: _is_bytes,
            Op.STRING: _is_bytes,
            Op.FIXED: _is_bytes,
        }
        # A UUID's 16 bytes, which columns of pyarrow.uuid() are, are no text of it, though they may be UTF-8.
        raw = op is Op.STRING and logical == "uuid" and kind == pa.binary(16)
        if op in fits and fits[op](kind) and not raw:
            return self.node(op, column, name, size=schema.size)
        return self.mismatch(schema, column, name)


def _absent(field: Field) -> bytes | None:
    """Return the bytes that stand for a field without a column; None if the field needs a column."""
    if field.has_default:
        return default_bytes(field)
    if field.type.type == "null":
        return b""
    for index, branch in enumerate(field.type.branches):
        if branch.type == "null":
            return varint(index)
    return None


def _factor(logical: str, kind: pa.DataType) -> int:
    """Return the factor from a column's values to those on the wire (as `AvroNode.factor`); 0 if there is none."""
    types = pa.types
    if logical == "date":
        if types.is_date32(kind):
            return 1
        if types.is_timestamp(kind) and kind.tz is None:
            return 86400 * _PER_SECOND[kind.unit]
        return 0
    name, _, unit = logical.rpartition("-")
    if name == "time":
        fits = types.is_time(kind)
    else:
        fits = types.is_timestamp(kind) and name == ("timestamp" if kind.tz else "local-timestamp")
    if not fits:
        return 0
    column, wire = _PER_SECOND[kind.unit], _PER_SECOND[unit]
    return column // wire if column >= wire else -(wire // column)


def _is_same(kind: pa.DataType, other: pa.DataType) -> bool:
    """Return whether two types are both dates, times, or timestamps with or without a zone, of any unit."""
    types = pa.types
    if types.is_timestamp(kind) and types.is_timestamp(other):
        return (kind.tz is None) == (other.tz is None)
    return bool(
        (types.is_date32(kind) and types.is_date(other)) or (types.is_time(kind) and types.is_time(other))
    )


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(is_text(kind) or is_bytes(kind) or pa.types.is_fixed_size_binary(kind))
