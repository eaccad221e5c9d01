"""Whether messages that were written as one type can be read as another, as Protobuf itself has it.

Fields are matched by number, never by name. Types are named as Confluent's registry names its differences.
"""

from __future__ import annotations

from collections.abc import Iterator

from kcodec.formats.language import Difference
from kcodec.formats.protobuf.descriptor import FieldType, MessageType

#: Scalars whose bytes are read as each other.
_GROUPS = {
    **dict.fromkeys(["int32", "int64", "uint32", "uint64", "bool", "enum"], "varint"),
    **dict.fromkeys(["sint32", "sint64"], "zigzag"),
    **dict.fromkeys(["string", "bytes"], "bytes"),
    **dict.fromkeys(["fixed32", "sfixed32"], "fixed32"),
    **dict.fromkeys(["fixed64", "sfixed64"], "fixed64"),
}


def message_differences(reader: MessageType, writer: MessageType) -> list[Difference]:
    """Return why messages of one type cannot be read as another; empty if they can.

    Widths of integers, string and bytes, enums and integers, singular and repeated fields change into each other, as
    far as their bytes do: a packed list is not read as one number.

    >>> old = MessageType("M", (FieldType("a", 1, "int32"), FieldType("b", 2, "string")))
    >>> new = MessageType("M", (FieldType("a", 1, "int64"), FieldType("c", 2, "double")))
    >>> message_differences(new, old)
    [Difference(type='FIELD_SCALAR_KIND_CHANGED', path='#/M/2', message='c is double, but was written as string')]
    """
    found: list[Difference] = []
    done: set[tuple[int, int]] = set()
    pending = [(reader, writer, f"#/{reader.name}")]
    while pending:
        new, old, path = pending.pop()
        if (id(new), id(old)) in done:
            continue
        done.add((id(new), id(old)))
        for number, field in new.by_number.items():
            before = old.by_number.get(number)
            place = f"{path}/{number}"
            if before is not None:
                found += _field(field, before, place)
                if field.message is not None and before.message is not None and field.type == before.type:
                    pending.append((field.message, before.message, place))
            if field.required and (before is None or not before.required):
                found.append(Difference("REQUIRED_FIELD_ADDED", place, f"{field.name} is required"))
        found += _oneofs(new, old, path)
    return found


def _field(new: FieldType, old: FieldType, path: str) -> Iterator[Difference]:
    kinds = new.type, old.type
    what = f"{new.name} is {_kind(new)}, but was written as {_kind(old)}"
    if (new.message is None) != (old.message is None):
        yield Difference("FIELD_KIND_CHANGED", path, what)
    elif _GROUPS.get(kinds[0], kinds[0]) != _GROUPS.get(kinds[1], kinds[1]):
        yield Difference(
            "FIELD_SCALAR_KIND_CHANGED" if new.message is None else "FIELD_KIND_CHANGED", path, what
        )
    elif old.packed and not new.repeated:
        yield Difference(
            "FIELD_NUMERIC_LABEL_CHANGED", path, f"{new.name} is one value, but was written packed"
        )


def _kind(field: FieldType) -> str:
    return "map" if field.is_map else field.type


def _oneofs(new: MessageType, old: MessageType, path: str) -> Iterator[Difference]:
    """Find oneofs of which the writer may have set several members, as only the last is read."""
    members: dict[str, list[FieldType]] = {}
    for field in new.fields:
        before = old.by_number.get(field.number)
        if field.oneof and before is not None:
            members.setdefault(field.oneof, []).append(before)
    for name, fields in members.items():
        origins = {field.oneof or field.number for field in fields}
        if len(origins) > 1:
            listed = ", ".join(field.name for field in fields)
            message = f"of {listed}, which could be set together, {name} holds one"
            yield Difference("MULTIPLE_FIELDS_MOVED_TO_ONEOF", f"{path}/{name}", message)
