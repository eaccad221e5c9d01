"""Message definitions as plans: a version of a message, and the columns it is read into or written from."""

import struct
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import NoneType
from typing import Any, NamedTuple

import pyarrow as pa

from kcodec.columns.types.layout import Column, layout
from kcodec.columns.types.plain import is_bytes, is_list, is_text, list_of, plain_type
from kcodec.errors import SchemaError, near
from kcodec.plan.failure import step
from kcodec.plan.node import Plan
from kcodec.protocol.message.node import KafkaNode, Op
from kcodec.protocol.spec.message import MessageSpec
from kcodec.protocol.spec.model import FieldSpec, StructSpec
from kcodec.wire.single import write as write_varint

__all__ = [
    "UNKNOWN",
    "MessagePart",
    "decode_plan",
    "encode_plan",
    "failing_plan",
    "message_type",
    "unknown_entries",
    "written_type",
]

#: Structs in structs that are followed; the row loops keep the place in that many arrays for errors.
MAX_NESTING = 50

#: Key, and name of the column, of the tags of a struct that its definition does not know.
UNKNOWN = "_unknown_tagged_fields"

_NUMBERS = {
    "bool": (Op.BOOLEAN, pa.bool_(), ">?"),
    "int8": (Op.INT8, pa.int8(), ">b"),
    "int16": (Op.INT16, pa.int16(), ">h"),
    "int32": (Op.INT32, pa.int32(), ">i"),
    "int64": (Op.INT64, pa.int64(), ">q"),
    "uint16": (Op.UINT16, pa.uint16(), ">H"),
    "uint32": (Op.UINT32, pa.uint32(), ">I"),
    "float64": (Op.FLOAT64, pa.float64(), ">d"),
}

#: Length form of text, bytes and arrays, legacy and compact: its op, its null, and its empty value.
_SIZED: dict[str, tuple[tuple[Op, bytes, bytes], tuple[Op, bytes, bytes]]] = {
    "string": ((Op.SHORT_STRING, b"\xff\xff", b"\0\0"), (Op.COMPACT_STRING, b"\0", b"\1")),
    "bytes": ((Op.SIZED_BYTES, b"\xff" * 4, bytes(4)), (Op.COMPACT_BYTES, b"\0", b"\1")),
    "array": ((Op.COUNTED_ARRAY, b"\xff" * 4, bytes(4)), (Op.COMPACT_ARRAY, b"\0", b"\1")),
}
_SIZED["records"] = _SIZED["bytes"]


class MessagePart(NamedTuple):
    """A message at one version, as a part of what a payload holds: its header, or its body.

    The name is that of its column; empty if the payload holds nothing else. Fields that are `fixed` are written as
    their defaults, and must not be given other values.
    """

    spec: MessageSpec
    version: int
    name: str = ""
    fixed: tuple[str, ...] = ()


def message_type(
    spec: MessageSpec, versions: Iterable[int] | None, *, unknown_tags: bool = False, large: bool = False
) -> pa.StructType:
    """Return the Arrow type of a message: the fields of all of some versions.

    Fields are nullable where they may be null in one of the versions, or are null where they are absent. With None for
    the versions it is what a writer may be given: all that the definition has, even outside of its valid versions, and
    all nullable. Raise `SchemaError` if structs are nested too deeply.
    """
    return _Types(spec, versions, unknown_tags, large).struct(spec.struct)


class _Types:
    def __init__(
        self, spec: MessageSpec, versions: Iterable[int] | None, unknown_tags: bool, large: bool
    ) -> None:
        self.spec = spec
        self.structs = spec.structs
        self.every = versions is None
        self.versions = tuple(versions or ())
        self.string = pa.large_string() if large else pa.string()
        self.binary = pa.large_binary() if large else pa.binary()
        self.list = pa.large_list if large else pa.list_
        self.unknown = unknown_tags and (self.every or any(map(spec.flexible_in, self.versions)))
        self.depth = 0

    def struct(self, struct: StructSpec, *, absent: bool = False) -> pa.StructType:
        """Return the type of a struct, which may be `absent` as a whole: then its fields are at their defaults."""
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise SchemaError(f"{self.spec.name}: structs are nested deeper than {MAX_NESTING} levels")
        fields = [
            self.field(field, absent)
            for field in struct.fields
            if self.every or any(version in field.versions for version in self.versions)
        ]
        if self.unknown:
            entry = [
                pa.field("tag", pa.uint32(), nullable=False),
                pa.field("data", self.binary, nullable=False),
            ]
            kind = self.list(pa.field("item", pa.struct(entry), nullable=False))
            fields.append(pa.field(UNKNOWN, kind, nullable=False))
        self.depth -= 1
        return pa.struct(fields)

    def field(self, field: FieldSpec, absent: bool) -> pa.Field:
        """Return the field of a struct, which may be `absent` as a whole; or the field may be, by version or tag."""
        element = field.type.element
        absent = absent or any(
            version not in field.versions or field.tagged_in(version) for version in self.versions
        )
        missing = absent and default_of(field) is None
        if element in self.structs:
            kind = self.struct(
                self.structs[element], absent=absent and not missing and not field.type.is_array
            )
        elif element in _NUMBERS:
            kind = _NUMBERS[element][1]
        elif element == "uuid":
            kind = pa.binary(16)
        else:
            kind = self.string if element == "string" else self.binary
        if field.type.is_array:
            kind = self.list(pa.field("item", kind, nullable=False))
        nullable = any(version in field.versions and field.nullable_in(version) for version in self.versions)
        return pa.field(field.json_name, kind, self.every or nullable or missing)


def unknown_entries(value: Any) -> "list[tuple[int, bytes]] | str":
    """Return the tags that a dict holds as unknown ones, with their data; or the code of the error if they are none.

    >>> unknown_entries([{"tag": 9, "data": b"x"}]), unknown_entries(None), unknown_entries([{"tag": 9}])
    ([(9, b'x')], [], 'null_value')
    """
    entries = []
    if not isinstance(value, (list, tuple, NoneType)):
        return "type_mismatch"
    for entry in value or ():
        if not isinstance(entry, (dict, NoneType)):
            return "type_mismatch"
        tag, data = (entry or {}).get("tag"), (entry or {}).get("data")
        if tag is None or data is None:
            return "null_value"
        if not isinstance(tag, int) or not isinstance(data, (bytes, bytearray, memoryview)):
            return "type_mismatch"
        if not 0 <= tag < 1 << 32:
            return "out_of_range"
        entries.append((int(tag), bytes(data)))
    return entries


def default_of(field: FieldSpec) -> Any:
    """Return a field's default; records are null, whatever the definition says."""
    return None if str(field.type) == "records" else field.default_value


def decode_plan(parts: Sequence[MessagePart], kind: pa.StructType) -> Plan:
    """Plan how the parts of a payload are read into the `message_type` of versions that include the one on the wire.

    If the parts have names, it is a struct of these.

    >>> spec = MessageSpec.parse('''{"type": "data", "name": "M", "validVersions": "0-1", "flexibleVersions": "1+",
    ...   "fields": [{"name": "Id", "type": "int32", "versions": "1+"},
    ...              {"name": "Name", "type": "string", "versions": "0+", "taggedVersions": "1+", "tag": 0}]}''')
    >>> print(decode_plan([MessagePart(spec, 1)], message_type(spec, [0, 1])))
    KAFKA_MESSAGE decode: struct<id: int32 not null, name: string not null>
      record -> column 0
        id: int32 -> column 1
        tag_section
          name: tag -> column 2
            compact_string -> column 2
            default 01 -> column 2
              compact_string -> column 2
    """
    return Plan("KAFKA_MESSAGE", "decode", kind, _root(_Decode, parts, layout(kind)))


def encode_plan(parts: Sequence[MessagePart], kind: pa.DataType, prefix: bytes = b"") -> Plan:
    """Plan how a column is written, as the parts of a payload behind a prefix.

    Fields that it does not have are written as their defaults; those that the version does not have must be at theirs,
    if they are not ignorable.
    """
    root = _root(_Encode, parts, layout(kind))
    if prefix:
        root = replace(root, children=(KafkaNode(Op.DEFAULT, data=prefix), *root.children))
    return Plan("KAFKA_MESSAGE", "encode", kind, root)


def failing_plan(kind: pa.DataType, direction: str, reason: str) -> Plan:
    """Plan that every row is of a version that cannot be read or written."""
    return Plan(
        "KAFKA_MESSAGE", direction, kind, KafkaNode(Op.FAIL, code="unsupported_version", reason=reason)
    )


def _root(maker: Any, parts: Sequence[MessagePart], columns: tuple[Column, ...]) -> KafkaNode:
    if not parts[0].name:
        return maker(parts[0], columns).record(parts[0].spec.struct, 0, "")
    below = {columns[child].name: child for child in columns[0].children}
    strangers = below.keys() - {part.name for part in parts}
    if strangers:
        reason = f"there is no place for the column {min(strangers)}"
        return KafkaNode(Op.FAIL, code="type_mismatch", reason=reason)
    children = tuple(maker(part, columns).part(part.name, below.get(part.name)) for part in parts)
    return KafkaNode(Op.RECORD, 0, children=children)


class _Shape(ABC):
    """What reading and writing have in common: the steps of the wire."""

    def __init__(self, part: MessagePart, columns: tuple[Column, ...]) -> None:
        self.spec = part.spec
        self.structs = part.spec.structs
        self.version = part.version
        self.flexible = part.spec.flexible_in(part.version)
        self.columns = columns
        self.fixed = part.fixed

    @abstractmethod
    def record(self, struct: StructSpec, column: int, name: str) -> KafkaNode:
        """Step over the fields of a struct."""

    def part(self, name: str, column: int | None) -> KafkaNode:
        """Step over the part."""
        assert column is not None
        return self.record(self.spec.struct, column, name)

    def value(self, field: FieldSpec, column: int, name: str) -> KafkaNode:
        """Step over a field that the version has."""
        kind = field.type
        compact = self.spec.compact_in(field, self.version)
        nullable = field.nullable_in(self.version)
        if kind.is_array:
            item = self.item(kind.element, self.columns[column].children[0], compact)
            node = KafkaNode(_SIZED["array"][compact][0], column, children=(item,))
        elif kind.is_struct:
            struct = self.structs[kind.element]
            if not nullable:
                return self.record(struct, column, name)
            op = Op.TAGGED_RECORD if field.tagged_in(self.version) else Op.NULLABLE_RECORD
            return KafkaNode(op, column, name, (self.record(struct, column, ""),))
        else:
            node = self.item(kind.element, column, compact)
        if nullable and node.op is not Op.FAIL:
            return KafkaNode(Op.NULLABLE, column, name, (node,))
        return replace(node, name=name)

    def tag(self, field: FieldSpec, column: int) -> KafkaNode:
        """Step over a tagged field of the version."""
        children = (self.value(field, column, ""), self.default(field, column, ""))
        return KafkaNode(Op.TAG, column, field.json_name, children, size=field.tag or 0)

    def item(self, element: str, column: int, compact: bool) -> KafkaNode:
        if element in self.structs:
            return self.record(self.structs[element], column, "")
        return KafkaNode(_op(element, compact), column)

    def default(self, field: FieldSpec, column: int, name: str) -> KafkaNode:
        """Describe a field's default in its columns."""
        value = default_of(field)
        if value is None:
            return KafkaNode(Op.ABSENT, column, name)
        kind = field.type
        if kind.is_struct:
            return KafkaNode(Op.RECORD, column, name, self.defaults(self.structs[kind.element], column))
        if kind.is_array:
            return self.empty(column, name)
        op = _op(kind.element, True)
        return KafkaNode(
            Op.DEFAULT, column, name, (KafkaNode(op, column),), data=_bytes(kind.element, value, True)
        )

    def defaults(self, struct: StructSpec, column: int) -> tuple[KafkaNode, ...]:
        below = self.below(column)
        nodes = [
            self.default(field, below[field.json_name], field.json_name)
            for field in struct.fields
            if field.json_name in below
        ]
        if UNKNOWN in below:
            nodes.append(self.empty(below[UNKNOWN], UNKNOWN))
        return tuple(nodes)

    def empty(self, column: int, name: str) -> KafkaNode:
        """Describe an empty array; what its items would be does not matter."""
        op, _, data = _SIZED["array"][True]
        return KafkaNode(
            Op.DEFAULT, column, name, (KafkaNode(op, column, children=(KafkaNode(Op.RECORD),)),), data=data
        )

    def below(self, column: int) -> dict[str, int]:
        return {self.columns[child].name: child for child in self.columns[column].children}


def _op(element: str, compact: bool) -> Op:
    """Return the step over a primitive type."""
    if element in _NUMBERS:
        return _NUMBERS[element][0]
    return Op.UUID if element == "uuid" else _SIZED[element][compact][0]


def _bytes(element: str, value: Any, compact: bool) -> bytes:
    """Write a value of a primitive type other than null."""
    if element in _NUMBERS:
        return struct.pack(_NUMBERS[element][2], value)
    if isinstance(value, uuid.UUID):
        return value.bytes
    data = value.encode() if isinstance(value, str) else bytes(value)
    if not compact:
        return len(data).to_bytes(2 if element == "string" else 4, "big") + data
    return write_varint(len(data) + 1) + data


def written_type(kind: pa.DataType, known: pa.DataType) -> pa.DataType:
    """Return the type that a column is cast to before it is written as the `message_type` of all fields.

    >>> known = pa.struct([("id", pa.binary(16)), ("data", pa.binary())])
    >>> print(written_type(pa.struct([("id", pa.binary(16)), ("data", pa.binary(2))]), known))
    struct<id: fixed_size_binary[16], data: binary>
    """
    return _sized_as(plain_type(kind), known)


def _sized_as(kind: pa.DataType, known: pa.DataType) -> pa.DataType:
    """Return a plain type with bytes of any size where a known one has these."""
    if pa.types.is_struct(kind) and pa.types.is_struct(known):
        below = {field.name: field.type for field in known}
        return pa.struct(
            [field.with_type(_sized_as(field.type, below.get(field.name, field.type))) for field in kind]
        )
    if is_list(kind) and is_list(known):
        item = kind.value_field
        return list_of(item.with_type(_sized_as(item.type, known.value_type)), kind)
    return pa.binary() if pa.types.is_fixed_size_binary(kind) and is_bytes(known) else kind


def _holds_tags(kind: pa.DataType) -> bool:
    """Return whether a column is one of unknown tags: a list of structs of uint32 and binary."""
    if not is_list(kind) or not pa.types.is_struct(kind.value_type):
        return False
    fields = [(field.name, field.type) for field in kind.value_type]
    return fields in ([("tag", pa.uint32()), ("data", data)] for data in (pa.binary(), pa.large_binary()))


def _holds_nothing(kind: pa.DataType) -> bool:
    """Return whether a column is what Arrow makes of nulls, or of empty lists only."""
    types = pa.types
    return bool(types.is_null(kind) or (types.is_list(kind) and types.is_null(kind.value_type)))


def _fits(element: str, kind: pa.DataType) -> bool:
    """Return whether a column can be written as a primitive type."""
    types = pa.types
    if element in ("bool", "float64"):
        return bool(kind == _NUMBERS[element][1])
    if element in _NUMBERS:
        return bool(types.is_integer(kind))
    if element == "uuid":
        return bool(kind == pa.binary(16))
    if element == "string":
        return is_text(kind)
    return is_bytes(kind)


class _Decode(_Shape):
    def record(self, struct: StructSpec, column: int, name: str) -> KafkaNode:
        if struct is not self.spec.struct and self.version not in struct.versions:
            reason = f"Can't read version {self.version} of {struct.name}"
            return KafkaNode(Op.FAIL, name=name, code="unsupported_version", reason=reason)
        below = self.below(column)
        nodes = [
            self.value(field, below[field.json_name], field.json_name)
            for field in struct.regular_fields(self.version)
        ]
        nodes += [
            self.default(field, below[field.json_name], field.json_name)
            for field in struct.fields
            if field.json_name in below and self.version not in field.versions
        ]
        if self.flexible:
            tags = tuple(
                self.tag(field, below.get(field.json_name, -1))
                for field in sorted(struct.fields, key=lambda field: field.tag or 0)
                if field.tag is not None
            )
            nodes.append(KafkaNode(Op.TAG_SECTION, below.get(UNKNOWN, -1), children=tags))
        elif UNKNOWN in below:
            nodes.append(self.empty(below[UNKNOWN], UNKNOWN))
        return KafkaNode(Op.RECORD, column, name, tuple(nodes))

    def tag(self, field: FieldSpec, column: int) -> KafkaNode:
        if field.tagged_in(self.version):
            return super().tag(field, column)
        # What the version has untagged, or not at all, is stored already.
        reason = f"Tag {field.tag} is not valid for version {self.version}"
        children = (KafkaNode(Op.FAIL, code="invalid_tag", reason=reason),)
        return KafkaNode(Op.TAG, -1, field.json_name, children, size=field.tag or 0)


class _Encode(_Shape):
    def part(self, name: str, column: int | None) -> KafkaNode:
        data = self.struct_bytes(self.spec.struct)
        return _optional(name, data, None if column is None else self.record(self.spec.struct, column, name))

    def record(self, struct: StructSpec, column: int, name: str) -> KafkaNode:
        if struct is not self.spec.struct and self.version not in struct.versions:
            reason = f"Can't write version {self.version} of {struct.name}"
            return KafkaNode(Op.FAIL, column, name, code="unsupported_version", reason=reason)
        if not pa.types.is_struct(self.columns[column].type):
            return self.mismatch(column, name, struct.name)
        below = self.below(column)
        if len(below) < len(self.columns[column].children):
            return self.mismatch(column, name, struct.name, "two columns have the same name")
        if UNKNOWN in below and _holds_nothing(self.columns[below[UNKNOWN]].type):
            del below[UNKNOWN]
        if UNKNOWN in below and not _holds_tags(self.columns[below[UNKNOWN]].type):
            kind = self.columns[below[UNKNOWN]].type
            reason = f"a column of {kind} cannot be written as tags: list<struct<tag: uint32, data: binary>> is needed"
            path = step(name, UNKNOWN)
            return self.mismatch(below[UNKNOWN], path, struct.name, reason)
        known = {field.json_name for field in struct.fields}
        strangers = below.keys() - known - {UNKNOWN}
        if strangers:
            stranger = min(strangers)
            reason = f"{struct.name} has no field for the column {stranger}{near(stranger, known)}"
            return self.mismatch(column, name, struct.name, reason)
        nodes = []
        for field in struct.fields:
            label, at = field.json_name, below.get(field.json_name)
            if self.version in field.versions:
                if field.tagged_in(self.version):
                    continue
                is_fixed = struct is self.spec.struct and label in self.fixed
                node = None if is_fixed or at is None else self.value(field, at, label)
                nodes.append(_optional(label, self.default_bytes(field), node))
                if is_fixed and at is not None:
                    reason = f"{label} is {field.default} before this message"
                    nodes.append(self.unset(field, at, "unsupported_version", reason))
            elif at is not None and field.ignorable:
                nodes.append(KafkaNode(Op.UNSET, at, label))
            elif at is not None:
                reason = f"Attempted to write a non-default {label} at version {self.version}"
                nodes.append(self.unset(field, at, "non_default", reason))
        if self.flexible:
            tags = tuple(
                self.tag(field, below[field.json_name])
                for field in struct.tagged_fields(self.version)
                if field.json_name in below
            )
            nodes.append(KafkaNode(Op.TAG_SECTION, below.get(UNKNOWN, -1), children=tags))
        elif UNKNOWN in below:
            reason = (
                f"Tagged fields were set, but version {self.version} of this message does not support them."
            )
            none = self.empty(below[UNKNOWN], UNKNOWN)
            nodes.append(
                KafkaNode(Op.UNSET, below[UNKNOWN], UNKNOWN, (none,), code="non_default", reason=reason)
            )
        return KafkaNode(Op.RECORD, column, name, tuple(nodes))

    def unset(self, field: FieldSpec, column: int, code: str, reason: str) -> KafkaNode:
        """Check that a column is at the field's default; it is not written."""
        children = (self.default(field, column, ""),)
        return KafkaNode(Op.UNSET, column, field.json_name, children, code=code, reason=reason)

    def value(self, field: FieldSpec, column: int, name: str) -> KafkaNode:
        kind = self.columns[column].type
        if pa.types.is_null(kind):
            return self.null(field, column, name)
        if field.type.is_array and not is_list(kind):
            return self.mismatch(column, name, str(field.type))
        return super().value(field, column, name)

    def null(self, field: FieldSpec, column: int, name: str) -> KafkaNode:
        """Write a column that is null in all rows."""
        if not field.nullable_in(self.version):
            return KafkaNode(Op.FAIL, column, name, code="null_value")
        if field.type.is_struct:
            data = b"\0" if field.tagged_in(self.version) else b"\xff"
        else:
            form = "array" if field.type.is_array else field.type.element
            data = _SIZED[form][self.spec.compact_in(field, self.version)][1]
        return KafkaNode(Op.DEFAULT, -1, name, data=data)

    def item(self, element: str, column: int, compact: bool) -> KafkaNode:
        if pa.types.is_null(self.columns[column].type):
            return KafkaNode(Op.FAIL, column, code="null_value")
        if element not in self.structs and not _fits(element, self.columns[column].type):
            return self.mismatch(column, "", element)
        return super().item(element, column, compact)

    def default(self, field: FieldSpec, column: int, name: str) -> KafkaNode:
        kind = self.columns[column].type
        if field.type.is_array:
            fits = is_list(kind)
        elif field.type.is_struct:
            fits = pa.types.is_struct(kind)
        else:
            fits = _fits(field.type.element, kind)
        if not fits and not pa.types.is_null(kind):
            return self.mismatch(column, name, str(field.type))
        return super().default(field, column, name)

    def empty(self, column: int, name: str) -> KafkaNode:
        kind = self.columns[column].type
        if name == UNKNOWN and not _holds_tags(kind) and not _holds_nothing(kind):
            return self.mismatch(column, name, "tags")
        return super().empty(column, name)

    def mismatch(self, column: int, name: str, wanted: str, reason: str = "") -> KafkaNode:
        kind = self.columns[column].type
        reason = reason or f"a column of {kind} cannot be written as {wanted}"
        return KafkaNode(Op.FAIL, column, name, code="type_mismatch", reason=reason)

    def default_bytes(self, field: FieldSpec) -> bytes | None:
        """Write a field that is at its default; None if that is a null it cannot be."""
        value = default_of(field)
        kind = field.type
        compact = self.spec.compact_in(field, self.version)
        nullable = field.nullable_in(self.version)
        if value is None and not nullable:
            return None
        if kind.is_struct:
            if value is None:
                return b"\xff"
            data = self.struct_bytes(self.structs[kind.element])
            return None if data is None else (b"\1" if nullable else b"") + data
        if kind.is_array:
            _, null, empty = _SIZED["array"][compact]
            return null if value is None else empty
        if value is None:
            return _SIZED[kind.element][compact][1]
        return _bytes(kind.element, value, compact)

    def struct_bytes(self, struct: StructSpec) -> bytes | None:
        data = b""
        for field in struct.regular_fields(self.version):
            default = self.default_bytes(field)
            if default is None:
                return None
            data += default
        return data + (b"\0" if self.flexible else b"")


def _optional(name: str, data: bytes | None, node: KafkaNode | None) -> KafkaNode:
    """Return the step over a column, or over none, that writes `data` where there is no value; None: that fails."""
    if node is None:
        node = KafkaNode(Op.FAIL if data is None else Op.DEFAULT, -1, name)
    elif node.op is Op.DEFAULT or node.op is Op.FAIL:
        return node
    return replace(node, code="null_value") if data is None else replace(node, data=data)
