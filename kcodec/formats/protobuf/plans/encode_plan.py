"""Encode plans of Protobuf: a message type and the columns at hand to the steps that write one as the other."""

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa

from kcodec.columns.types.layout import Column, layout
from kcodec.columns.types.plain import PER_SECOND, is_bytes, is_list, is_text, map_hint, zone_hint
from kcodec.errors import CODES, SchemaError, near
from kcodec.formats.protobuf.descriptor import FieldType, MessageType
from kcodec.formats.protobuf.plans.node import FieldNode, MessageNode, Op
from kcodec.formats.protobuf.plans.plan import MAX_NESTING, UNKNOWN_FIELDS
from kcodec.formats.protobuf.types import ProtobufOptions, reading_of
from kcodec.plan.node import Node, Plan


def encode_plan(message: MessageType, kind: pa.DataType, options: ProtobufOptions) -> Plan:
    """Plan how columns of a plain type are written as messages.

    Fields are matched by name; one without a column is not set. A type that cannot be written is a FAIL node, so that
    only the rows that have a value there are errors.
    """
    root = _EncodePlan(layout(kind), options).message(message, 0, "", 0)
    return Plan("PROTOBUF", "encode", kind, root)


class _EncodePlan:
    def __init__(self, columns: tuple[Column, ...], options: ProtobufOptions) -> None:
        self.columns = columns
        self.options = options
        self.readings = options.readings()

    def kind(self, column: int) -> pa.DataType:
        return self.columns[column].type

    def mismatch(self, column: int, name: str, wanted: str) -> Node:
        if pa.types.is_null(self.kind(column)):
            return Node(Op.FAIL, column, name, code="null_value", reason=CODES["null_value"])
        kind = self.kind(column)
        hint = zone_hint(kind, pa.timestamp("us", "UTC")) if wanted == "google.protobuf.Timestamp" else ""
        reason = f"{kind} cannot be written as {wanted}{hint}"
        return Node(Op.FAIL, column, name, code="type_mismatch", reason=reason)

    def message(self, message: MessageType, column: int, name: str, depth: int) -> Node:
        if depth > MAX_NESTING:
            raise SchemaError(f"{name}: types are nested deeper than {MAX_NESTING} levels")
        if not pa.types.is_struct(self.kind(column)):
            return self.mismatch(column, name, f"the message {message.name}")
        below: dict[str, int] = {}
        children: list[Node] = []
        oneofs = list(dict.fromkeys(each.oneof for each in message.fields if each.oneof))
        unknown = -1
        for child in self.columns[column].children:
            label = self.columns[child].name
            if label == UNKNOWN_FIELDS and label not in message.by_name:
                if _is_bytes(self.kind(child)):
                    unknown = child
                else:
                    children.append(self.mismatch(child, label, "unknown fields"))
                continue
            if self.options.layout is not None and self.options.layout.is_added(label, message):
                reason = f"the message {message.name} has no fields"
                children.append(Node(Op.FAIL, child, label, code="type_mismatch", reason=reason))
                continue
            reason = ""
            if label in below:
                reason = f"two columns are named {label}"
            elif label not in message.by_name and label not in oneofs:
                hint = near(label, [*message.by_name, *oneofs])
                reason = f"the message {message.name} has no field for the column {label}{hint}"
            if reason:
                return Node(Op.FAIL, column, name, code="type_mismatch", reason=reason)
            below[label] = child
        for field in message.by_number.values():
            if field.name in below:
                node = self.field(field, below[field.name], depth)
                if field.required:
                    node = _always(node, "missing_required")
                if isinstance(node, FieldNode) and field.oneof:
                    node = replace(node, oneof=oneofs.index(field.oneof))
                children.append(node)
            elif field.required:
                reason = f"the required field {field.name} has no column"
                children.append(Node(Op.FAIL, -1, field.name, code="missing_required", reason=reason))
        children += [self.case(message, name, below) for name in oneofs if name in below]
        return MessageNode(
            Op.MESSAGE, column, children=tuple(children), oneofs=tuple(oneofs), unknown=unknown
        )

    def case(self, message: MessageType, oneof: str, columns: Mapping[str, int]) -> Node:
        """Plan the check of a column that says which member of a oneof is set: it is not written itself."""
        column = columns[oneof]
        members = [field.name for field in message.by_number.values() if field.oneof == oneof]
        if not _is_bytes(self.kind(column)):
            return self.mismatch(column, oneof, f"the name of a member of {oneof}")
        reason = f"this names the member of {oneof} that is set: {', '.join(members)}"
        if lacking := [name for name in members if name not in columns]:
            reason += f"; there is no column {' or '.join(lacking)}"
        return FieldNode(
            Op.FIELD,
            column,
            oneof,
            symbols=tuple(members),
            kind="case",
            numbers=tuple(columns.get(name, -1) for name in members),
            code="union_members",
            reason=reason,
        )

    def field(self, field: FieldType, column: int, depth: int) -> Node:
        if not field.repeated:
            node = self.value(field, column, depth)
            label = "required" if field.required else "singular"
            return (
                replace(node, label=label, presence=field.presence) if isinstance(node, FieldNode) else node
            )
        kind, below = self.kind(column), self.columns[column].children
        if field.is_map:
            assert field.message is not None
            if not pa.types.is_map(kind):
                return self.mismatch(column, field.name, f"a map{map_hint(self.kind(column))}")
            parts = [
                self.value(field.message.by_number[number], child, depth)
                for number, child in zip((1, 2), below, strict=True)
            ]
            # Keys and values are always written.
            children = tuple(
                replace(part, presence=True, label="entry")
                if isinstance(part, FieldNode)
                else _always(part, "null_value")
                for part in parts
            )
            entry = MessageNode(Op.MESSAGE, children=children)
            return _node(field, column, "message", (entry,), label="map")
        if not is_list(kind):
            return self.mismatch(column, field.name, "a list")
        if pa.types.is_null(self.kind(below[0])):
            # Any item is an error, so what it would be written as does not matter.
            return _node(field, column, "message", (MessageNode(Op.MESSAGE, below[0]),), label="repeated")
        node = self.value(field, below[0], depth)
        if not isinstance(node, FieldNode):
            return replace(node, column=column)
        return replace(node, column=column, label="repeated", packed=field.packed)

    def value(self, field: FieldType, column: int, depth: int) -> Node:
        """Plan a value of a field, whatever its cardinality."""
        kind = self.kind(column)
        if field.message is not None:
            return self.message_value(field, field.message, column, depth)
        node = _node(field, column, field.type)
        if field.enum is not None:
            node = replace(
                node,
                numbers=tuple(field.enum.numbers.values()),
                symbols=tuple(field.enum.numbers),
                closed=field.enum.closed,
                strict=field.enum.closed or self.options.unknown_enums == "error",
                default=field.enum.values[0][1] if field.enum.values else 0,
            )
            fits = pa.types.is_integer(kind) or is_text(kind)
        elif field.type in ("string", "bytes"):
            fits = _is_bytes(kind)
        elif field.type in ("float", "double"):
            fits = pa.types.is_floating(kind)
        elif field.type == "bool":
            fits = pa.types.is_boolean(kind)
        else:
            wide = pa.types.is_decimal128(kind) and kind.scale == 0 and field.type.endswith("64")
            fits = pa.types.is_integer(kind) or wide
            # Unsigned numbers may stand in columns as the signed ones of the same bits.
            signed = (pa.int32(), pa.int64())["64" in field.type]
            node = replace(node, strict=self.options.unsigned_type(field.type) != signed)
        return node if fits else self.mismatch(column, field.name, field.type)

    def message_value(self, field: FieldType, message: MessageType, column: int, depth: int) -> Node:
        kind = self.kind(column)
        reading = (
            "" if field.type == "group" or pa.types.is_struct(kind) else reading_of(message, self.readings)
        )
        if reading in ("timestamp", "duration"):
            fits = pa.types.is_duration(kind)
            if reading == "timestamp":
                fits = pa.types.is_timestamp(kind) and kind.tz is not None
            if not fits:
                return self.mismatch(column, field.name, message.name)
            return _node(field, column, reading, factor=PER_SECOND[kind.unit])
        if reading == "inner":
            child = self.field(message.fields[0], column, depth)
            if not isinstance(child, FieldNode):
                return replace(child, name=field.name)
            inner = MessageNode(Op.MESSAGE, children=(replace(child, name="", presence=False),))
            return _node(field, column, field.type, (inner,))
        if reading:
            return (
                _node(field, column, "raw")
                if _is_bytes(kind)
                else self.mismatch(column, field.name, message.name)
            )
        below = self.message(message, column, field.name, depth + 1)
        return below if below.op is Op.FAIL else _node(field, column, field.type, (below,))


def _node(
    field: FieldType,
    column: int,
    kind: str,
    children: tuple[Node, ...] = (),
    label: str = "",
    factor: int = 1,
) -> FieldNode:
    return FieldNode(
        Op.FIELD, column, field.name, children, factor=factor, number=field.number, kind=kind, label=label
    )


def _always(node: Node, code: str) -> Node:
    """Return a FAIL node as one that nulls fail at, too (with a code if all are nulls); other nodes as they are."""
    if node.op is not Op.FAIL:
        return node
    if node.code == "null_value":
        node = replace(node, code=code, reason=CODES[code])
    return replace(node, column=-1)


def _is_bytes(kind: pa.DataType) -> bool:
    return is_text(kind) or is_bytes(kind)
