"""Decode plans of Avro: a writer's schema resolved against a reader's and its columns."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from kcodec.columns.types.layout import Column, layout
from kcodec.errors import SchemaError
from kcodec.formats.avro.changes.logical_types import conversion
from kcodec.formats.avro.changes.resolution import Branches, apply_aliases, describe, equal_unions, unreadable
from kcodec.formats.avro.plans.node import AvroNode, Op
from kcodec.formats.avro.schema.defaults import default_bytes
from kcodec.formats.avro.schema.model import MAX_NESTING, Field, Schema
from kcodec.formats.avro.schema.types import AvroOptions, arrow_type, logical_type, member_name, widest
from kcodec.plan.node import Plan

#: Nodes that a plan may have: a bound on schemas whose references multiply.
_MAX_NODES = 200_000


def decode_plan(
    writer: Schema, reader: Schema, options: AvroOptions | None = None, kind: pa.DataType | None = None
) -> Plan:
    """Resolve a writer's schema against a reader's, whose Arrow type may be known already.

    A value that cannot be read is a FAIL node, so that only the rows that reach it are errors.

    >>> from kcodec.formats.avro.schema.parse import parse
    >>> print(decode_plan(parse("int"), parse('["null", "long"]')))
    AVRO decode: int64
      present -> column 0
        int -> column 0
    """
    options = options or AvroOptions()
    if kind is None:
        kind = arrow_type(reader, options)
    maker = _DecodePlan(layout(kind), options)
    root = maker.read(apply_aliases(writer, reader), reader, 0, "")
    return Plan("AVRO", "decode", kind, root, tuple(maker.named.items()))


class _Union:
    """What is asked of a reader's union for each of the writer's branches."""

    def __init__(self, union: Schema, columns: tuple[Column, ...], column: int, options: AvroOptions) -> None:
        values = union.values
        self.branches = Branches(union)
        self.nullable = union.nullable
        #: The type that all values have; None if the columns are a struct of members.
        self.type = values[0] if len(values) == 1 else Schema(widest(union)) if widest(union) else None
        members = {columns[child].name: (i, child) for i, child in enumerate(columns[column].children)}
        #: By branch: number and column of its member, None for what is too deep to have one.
        self.members = {}
        if self.type is None:
            for i, branch in enumerate(values):
                self.members[id(branch)] = members.get(member_name(branch, i, options))


class PlanMaker:
    """What planning both directions has in common: columns, options, and a bound on the nodes."""

    def __init__(self, columns: tuple[Column, ...], options: AvroOptions) -> None:
        self.columns = columns
        self.options = options
        self._nodes = 0

    def node(
        self, op: Op, column: int, name: str, children: Sequence[AvroNode] = (), **attributes: Any
    ) -> AvroNode:
        """Make a node, with further attributes of `AvroNode`."""
        self._nodes += 1
        if self._nodes > _MAX_NODES:
            raise SchemaError(f"the schema comes to more than {_MAX_NODES} steps")
        return AvroNode(op, column, name, tuple(children), **attributes)


class _DecodePlan(PlanMaker):
    def __init__(self, columns: tuple[Column, ...], options: AvroOptions) -> None:
        super().__init__(columns, options)
        self.named: dict[str, AvroNode] = {}
        self.recursive: dict[int, bool] = {}
        self.defaults: dict[int, bytes] = {}
        self.unions: dict[int, _Union] = {}
        self.symbols: dict[tuple[int, int], tuple[str | None, ...]] = {}

    def fail(self, name: str, reason: str, code: str = "unresolvable") -> AvroNode:
        return self.node(Op.FAIL, -1, name, code=code, reason=reason)

    def read(self, writer: Schema, reader: Schema, column: int, name: str) -> AvroNode:
        """Read a value of any type into a column."""
        if writer.type != "union":
            return self.branch(writer, reader, -1, column, name)
        by_position = reader.type == "union" and equal_unions(writer, reader)
        children = tuple(
            self.branch(branch, reader, i if by_position else -1, column, "")
            for i, branch in enumerate(writer.branches)
        )
        return self.node(Op.UNION, column, name, children)

    def branch(self, writer: Schema, reader: Schema, index: int, column: int, name: str) -> AvroNode:
        """Read a value that is not a union; `index` is the reader's branch, where that is known."""
        if reader.type != "union":
            return self.value(writer, reader, column, name)
        union = self.union(reader, column)
        if index < 0:
            index = union.branches.match(writer)
            if index < 0:
                return self.fail(name, f"{describe(writer)} cannot be read as {describe(reader)}")
        target = reader.branches[index]
        if target.type == "null":
            return self.node(Op.ABSENT, column, name)
        if union.type is None:
            member = union.members[id(target)]
            if member is None:
                return self.fail(name, f"{target.name} is nested deeper than recursive_depth", "depth_limit")
            number, child = member
            return self.node(Op.MEMBER, column, name, (self.value(writer, target, child, ""),), size=number)
        if not union.nullable:
            return self.value(writer, union.type, column, name)
        return self.node(Op.PRESENT, column, name, (self.value(writer, union.type, column, ""),))

    def union(self, reader: Schema, column: int) -> _Union:
        """Return what is known of a reader's union; every place where it stands has columns of its own."""
        if column not in self.unions:
            self.unions[column] = _Union(reader, self.columns, column, self.options)
        return self.unions[column]

    def value(self, writer: Schema, reader: Schema, column: int, name: str) -> AvroNode:
        """Read a value that is neither a union on the wire nor in the columns."""
        reason = unreadable(writer, reader)
        if reason:
            return self.fail(name, reason)
        kind = reader.type
        if kind == "record":
            return self.record(writer, reader, column, name)
        if kind in ("array", "map"):
            return self.items(writer, reader, column, name)
        if kind == "enum":
            return self.node(Op.ENUM, column, name, symbols=self.read_symbols(writer, reader))
        how = conversion(writer, reader, self.options)
        if how.reason:
            return self.fail(name, how.reason, "logical_type")
        truncates = self.options.round == "truncate"
        if reader.logical == "decimal":
            return self.node(
                Op.DECIMAL,
                column,
                name,
                size=writer.size,
                precision=reader.precision,
                scale=reader.scale,
                shift=how.shift,
                conversion=how.told,
            )
        if kind in ("bytes", "string", "fixed"):
            floor = truncates and logical_type(reader, self.options) == "iso-text"
            return self.node(Op(kind), column, name, size=writer.size, floor=floor)
        return self.node(
            Op(writer.type),
            column,
            name,
            factor=how.factor,
            divisor=how.divisor,
            floor=truncates and how.divisor > 1,
            conversion=how.told,
        )

    def read_symbols(self, writer: Schema, reader: Schema) -> tuple[str | None, ...]:
        """Return what the writer's symbols are read as; all places where the two types meet share one tuple."""
        pair = id(writer), id(reader)
        if pair not in self.symbols:
            known, other = reader.numbers, reader.default
            self.symbols[pair] = tuple(symbol if symbol in known else other for symbol in writer.symbols)
        return self.symbols[pair]

    def record(self, writer: Schema, reader: Schema, column: int, name: str) -> AvroNode:
        columns = {self.columns[i].name: i for i in self.columns[column].children}
        fields = {field.name: field for field in reader.fields if field.name in columns}
        written = {field.name for field in writer.fields}
        absent = [field for field in fields.values() if field.name not in written]
        for field in absent:
            reason = "which has no default" if not field.has_default else self.wrong_default(field)
            if reason:
                return self.fail(
                    name, f"the writer's record {writer.name} has no field {field.name}, {reason}"
                )
        children = [
            self.read(field.type, fields[field.name].type, columns[field.name], field.name)
            if field.name in fields
            else self.drop(field.type, field.name, 0)
            for field in writer.fields
        ]
        children += [self.default(field, columns[field.name]) for field in absent]
        return self.node(Op.RECORD, column, name, children)

    def wrong_default(self, field: Field) -> str:
        """Return why a field cannot be read as its default; empty if it can."""
        if id(field) not in self.defaults:
            try:
                self.defaults[id(field)] = default_bytes(field)
            except SchemaError as error:
                return f"whose default is wrong: {error}"
        return ""

    def default(self, field: Field, column: int) -> AvroNode:
        value = self.read(field.type, field.type, column, "")
        return self.node(Op.DEFAULT, column, field.name, (value,), data=self.defaults[id(field)])

    def items(self, writer: Schema, reader: Schema, column: int, name: str) -> AvroNode:
        assert writer.item is not None
        assert reader.item is not None
        below = self.columns[column].children
        item = self.read(writer.item, reader.item, below[-1], "")
        if writer.type == "array":
            return self.node(Op.ARRAY, column, name, (item,))
        return self.node(Op.MAP, column, name, (self.node(Op.STRING, below[0], ""), item))

    def drop(self, writer: Schema, name: str, depth: int) -> AvroNode:
        """Read a value past."""
        if depth > MAX_NESTING:
            raise SchemaError(f"{name}: types are nested deeper than {MAX_NESTING} levels")
        kind = writer.type
        if kind == "record":
            if not self.is_recursive(writer):
                return self.fields(writer, name, depth)
            if writer.name not in self.named:
                self.named[writer.name] = AvroNode(Op.RECORD)
                self.named[writer.name] = self.fields(writer, "", 0)
            return self.node(Op.CALL, -1, name, reason=writer.name)
        if kind == "union":
            return self.node(Op.UNION, -1, name, tuple(self.drop(b, "", depth + 1) for b in writer.branches))
        if kind in ("array", "map"):
            assert writer.item is not None
            item = self.drop(writer.item, "", depth + 1)
            children = (item,) if kind == "array" else (self.node(Op.STRING, -1, ""), item)
            return self.node(Op(kind), -1, name, children)
        return self.node(Op(kind), -1, name, size=writer.size)

    def fields(self, writer: Schema, name: str, depth: int) -> AvroNode:
        children = tuple(self.drop(field.type, field.name, depth + 1) for field in writer.fields)
        return self.node(Op.RECORD, -1, name, children)

    def is_recursive(self, record: Schema) -> bool:
        """Return whether a record contains itself."""
        if id(record) not in self.recursive:
            seen: set[int] = set()
            stack = [field.type for field in record.fields]
            while stack and id(record) not in seen:
                schema = stack.pop()
                if id(schema) in seen:
                    continue
                seen.add(id(schema))
                stack += [field.type for field in schema.fields]
                stack += schema.branches
                if schema.item is not None:
                    stack.append(schema.item)
            self.recursive[id(record)] = id(record) in seen
        return self.recursive[id(record)]
