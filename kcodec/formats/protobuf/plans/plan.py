"""Decode plans of Protobuf: a message type to its columns and the steps that fill them.

A message is read by the reader's type alone: what Protobuf allows to change is read all the same, and which writers'
types are allowed is decided before (`kcodec.formats.protobuf.changes.compatibility`). So one plan reads all of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from kcodec.columns.types.fields import check_field, field_tree
from kcodec.errors import ConfigError, SchemaError
from kcodec.formats.protobuf.descriptor import FieldType, MessageType
from kcodec.formats.protobuf.plans.node import FieldNode, MessageNode, Op
from kcodec.formats.protobuf.types import SCALAR_TYPES, ProtobufOptions, reading_of
from kcodec.plan.failure import step
from kcodec.plan.node import Node, Plan

#: Columns that a message may come to once its types are followed.
MAX_COLUMNS = 100_000

#: Levels of messages within messages that become columns.
MAX_NESTING = 200

#: Seconds that a Timestamp and a Duration may have: years 1 to 9999, and as many years both ways.
SECONDS = {"timestamp": (-62135596800, 253402300799), "duration": (-315576000000, 315576000000)}

#: The column of a message's unknown fields.
UNKNOWN_FIELDS = "_unknown_fields"


_Wanted = Mapping[str, Any] | None


def decode_plan(message: MessageType, options: ProtobufOptions) -> tuple[Plan, pa.DataType]:
    """Plan how messages become columns; return the plan, and the type of the columns once raw ones are converted.

    The columns of messages that the plan reads as ``"raw"`` are bytes; see `kcodec.formats.protobuf.conversions`.
    """
    maker = _DecodePlan(options)
    wanted = None if options.fields is None else field_tree(options.fields)
    maker.columns = 1
    node, stored, final = maker.message(message, wanted, 0, {message.name: 1}, "", 0)
    return Plan("PROTOBUF", "decode", stored, node), final


def beside_writer(node: MessageNode, reader: MessageType, writer: MessageType) -> MessageNode:
    """Return a decode plan that tells what is another field, or none, in the type that messages were written with.

    >>> old = MessageType("M", (FieldType("a", 1, "int32"), FieldType("b", 2, "string")))
    >>> new = MessageType("M", (FieldType("a", 1, "int64"), FieldType("c", 3, "bool")))
    >>> print(beside_writer(decode_plan(new, ProtobufOptions())[0].root, new, old))
    message -> column 0
      a: field 1 int64 [int32 -> int64] -> column 1
      b: field 2 string (dropped)
      c: field 3 bool [not in the writer's type] -> column 2
    """
    if reader is writer:
        return node
    children = []
    for child in node.children:
        assert isinstance(child, FieldNode)
        new, old = reader.by_number[child.number], writer.by_number.get(child.number)
        made = replace(child, conversion=_change(new, old))
        if made.children and new.message is not None and old is not None and old.message is not None:
            below = made.children[0]
            assert isinstance(below, MessageNode)
            made = replace(made, children=(beside_writer(below, new.message, old.message),))
        children.append(made)
    others = (field for number, field in writer.by_number.items() if number not in reader.by_number)
    skipped = tuple(replace(_dropped(field), column=node.unknown) for field in others)
    return replace(node, children=tuple(children), skipped=skipped)


def _change(new: FieldType, old: FieldType | None) -> str:
    """Return how a field differs from the one that was written; empty if it does not."""
    if old is None:
        return "not in the writer's type"
    before, after = (f"{'repeated ' * field.repeated}{field.type}" for field in (old, new))
    changes = [f"{before} -> {after}"] * (before != after) + [f"was {old.name}"] * (old.name != new.name)
    return ", ".join(changes)


@dataclass(frozen=True)
class _Made:
    """A field as it was planned: its node, its type in the kernel, and that of the codec."""

    node: FieldNode
    stored: pa.DataType
    final: pa.DataType


class _DecodePlan:
    def __init__(self, options: ProtobufOptions) -> None:
        self.options = options
        self.readings = options.readings()
        self.columns = 0

    def column(self) -> int:
        self.columns += 1
        if self.columns > MAX_COLUMNS:
            raise SchemaError(f"the schema comes to more than {MAX_COLUMNS} columns")
        return self.columns - 1

    def message(
        self,
        message: MessageType,
        wanted: _Wanted,
        column: int,
        levels: Mapping[str, int],
        path: str,
        depth: int,
    ) -> tuple[MessageNode, pa.DataType, pa.DataType]:
        """Plan a message whose column has its number already."""
        if depth > MAX_NESTING:
            raise SchemaError(f"{path}: types are nested deeper than {MAX_NESTING} levels")
        for name in wanted or ():
            check_field(name, message.by_name, path, message.name)
        oneofs = list(dict.fromkeys(each.oneof for each in message.fields if each.oneof))
        made = []
        for each in message.fields:
            where = step(path, each.name)
            oneof = oneofs.index(each.oneof) if each.oneof else -1
            done = None
            if not wanted or each.name in wanted:
                below = wanted.get(each.name) if wanted else None
                done = self.field(each, below, levels, where, depth)
            made.append(done or _Made(_dropped(each), pa.null(), pa.null()))
            made[-1] = replace(made[-1], node=replace(made[-1].node, oneof=oneof))
        fields = [
            (done.node.name, done.stored, done.final, _nullable(done.node))
            for done in made
            if done.node.column >= 0
        ]
        cases = tuple(self.column() if self.options.oneofs == "case" and not wanted else -1 for _ in oneofs)
        text, data = self.options.text_type(), self.options.bytes_type()
        fields += [(name, text, text, True) for name, case in zip(oneofs, cases, strict=True) if case >= 0]
        unknown = self.column() if self.options.unknown_fields == "keep" else -1
        if unknown >= 0:
            fields.append((UNKNOWN_FIELDS, data, data, True))
        nodes = tuple(sorted((done.node for done in made), key=lambda node: node.number))
        node = MessageNode(
            Op.MESSAGE, column, children=nodes, oneofs=tuple(oneofs), unknown=unknown, cases=cases
        )
        stored = pa.struct([pa.field(name, kind, nullable) for name, kind, _, nullable in fields])
        final = pa.struct([pa.field(name, kind, nullable) for name, _, kind, nullable in fields])
        return node, stored, final

    def field(
        self, field: FieldType, wanted: _Wanted, levels: Mapping[str, int], path: str, depth: int
    ) -> _Made | None:
        """Plan a field; None if it has no column."""
        before = self.columns
        made = (self.items if field.repeated else self.value)(field, wanted, levels, path, depth)
        if made is None:
            self.columns = before
        return made

    def items(
        self, field: FieldType, wanted: _Wanted, levels: Mapping[str, int], path: str, depth: int
    ) -> _Made | None:
        column = self.column()
        if field.is_map:
            assert field.message is not None
            key, value = field.message.by_number[1], field.message.by_number[2]
            keys = self.value(key, None, levels, path, depth)
            values = self.value(replace(value, presence=False), wanted, levels, path, depth + 1)
            if values is None:
                return None
            assert keys is not None
            children = tuple(_entry_field(each.node) for each in (keys, values))
            entry = MessageNode(Op.MESSAGE, children=children)
            node = _node(field, column, "message", (entry,), label="map")
            # The entry is an unknown field as a whole if the value it ends with is one.
            node = replace(node, closed=values.node.closed, numbers=values.node.numbers)
            stored = pa.map_(keys.stored, pa.field("value", values.stored, nullable=False))
            final = pa.map_(keys.final, pa.field("value", values.final, nullable=False))
            return _Made(node, stored, final)
        made = self.value(replace(field, repeated=False), wanted, levels, path, depth)
        if made is None:
            return None
        node = replace(made.node, column=column, label="repeated", presence=False, nulls=False)
        return _Made(node, self.options.list_type(made.stored), self.options.list_type(made.final))

    def value(
        self, field: FieldType, wanted: _Wanted, levels: Mapping[str, int], path: str, depth: int
    ) -> _Made | None:
        """Plan a field's value, whatever its cardinality."""
        if field.message is not None:
            return self.message_value(field, field.message, wanted, levels, path, depth)
        if wanted:
            raise ConfigError(f"{path} is not a message, so it has no field {next(iter(wanted))}")
        options = self.options
        node = _node(field, self.column(), field.type)
        node = replace(node, nulls=options.absent == "null" and not field.presence)
        if field.enum is None:
            if field.type in SCALAR_TYPES:
                kind = SCALAR_TYPES[field.type]
            elif field.type == "string":
                kind = options.text_type()
            else:
                kind = options.bytes_type() if field.type == "bytes" else options.unsigned_type(field.type)
            return _Made(node, kind, kind)
        names = field.enum.names
        node = replace(
            node,
            numbers=tuple(names),
            symbols=tuple(names.values()),
            closed=field.enum.closed,
            strict=options.unknown_enums == "error",
            default=field.enum.values[0][1] if field.enum.values else 0,
        )
        kind = pa.int32() if options.enums == "number" else options.text_type()
        return _Made(node, kind, kind)

    def message_value(
        self,
        field: FieldType,
        message: MessageType,
        wanted: _Wanted,
        levels: Mapping[str, int],
        path: str,
        depth: int,
    ) -> _Made | None:
        options = self.options
        reading = "" if wanted or field.type == "group" else reading_of(message, self.readings)
        if reading in ("timestamp", "duration"):
            kind = pa.duration(options.unit)
            if reading == "timestamp":
                kind = pa.timestamp(options.unit, "UTC")
            factor = 1 if options.unit == "ns" else 1000
            node = _node(field, self.column(), reading)
            node = replace(node, strict=options.round == "error", factor=factor)
            return _Made(node, kind, kind)
        if reading == "inner":
            return self.inner(field, message, levels, path, depth)
        if reading:
            final = {
                "json": options.text_type(),
                "date": pa.date32(),
                "time_of_day": pa.time64(options.unit),
                "decimal": options.text_type(),
            }[reading]
            node = replace(_node(field, self.column(), "raw"), reason=reading)
            return _Made(node, options.bytes_type(), final)
        level = levels.get(message.name, 0)
        if level and options.recursive_depth is None:
            raise SchemaError(
                f"{path}: the message {message.name} contains itself: recursive_depth=, in Spark the option "
                "recursive.fields.max.depth, says how many levels become columns"
            )
        if level and level >= (options.recursive_depth or 0):
            return None
        column = self.column()
        inner = {**levels, message.name: level + 1}
        below, stored, final = self.message(message, wanted, column, inner, path, depth + 1)
        if options.empty_messages == "drop" and not stored.num_fields:
            return None
        return _Made(_node(field, column, field.type, (below,)), stored, final)

    def inner(
        self, field: FieldType, message: MessageType, levels: Mapping[str, int], path: str, depth: int
    ) -> _Made | None:
        """Plan a message of one field as this field, which is set if the message is."""
        column = self.columns
        made = self.field(message.fields[0], None, levels, path, depth)
        assert made is not None
        child = replace(made.node, name="", presence=False, nulls=False)
        node = _node(field, column, field.type, (MessageNode(Op.MESSAGE, children=(child,)),))
        return _Made(node, made.stored, made.final)


def _node(
    field: FieldType, column: int, kind: str, children: tuple[Node, ...] = (), label: str = "singular"
) -> FieldNode:
    return FieldNode(
        Op.FIELD,
        column,
        field.name,
        children,
        number=field.number,
        kind=kind,
        label="required" if field.required else label,
        presence=field.presence,
        utf8=field.utf8,
        packed=field.packed,
    )


def _entry_field(node: FieldNode) -> FieldNode:
    """Return the key or value of a map, which has a default and is text only if it is valid."""
    strict = node.strict and not node.closed
    return replace(node, presence=False, nulls=False, utf8=True, closed=False, strict=strict)


def _dropped(field: FieldType) -> FieldNode:
    """Plan a field that has no column."""
    label = ("map" if field.is_map else "repeated") if field.repeated else "singular"
    return _node(field, -1, field.type, label=label)


def _nullable(node: FieldNode) -> bool:
    return (node.presence and node.label != "required") or node.nulls
