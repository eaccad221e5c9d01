"""Which values of messages come out changed, although a registry lets the two schemas pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kcodec.formats.language import Difference
from kcodec.formats.protobuf.descriptor import EnumType, FieldType, MessageType

#: Scalars whose bytes are read as each other, with bits and sign.
_INTEGERS = {
    "bool": ("varint", 1, False),
    "enum": ("varint", 32, True),
    "int32": ("varint", 32, True),
    "int64": ("varint", 64, True),
    "uint32": ("varint", 32, False),
    "uint64": ("varint", 64, False),
    "sint32": ("zigzag", 32, True),
    "sint64": ("zigzag", 64, True),
    "fixed32": ("fixed32", 32, False),
    "sfixed32": ("fixed32", 32, True),
    "fixed64": ("fixed64", 64, False),
    "sfixed64": ("fixed64", 64, True),
}


def losses(
    reader: Mapping[str, MessageType], writer: Mapping[str, MessageType], package: str
) -> list[Difference]:
    """Return which values of messages come out as others: cut, with another sign, the last one only.

    Fields that the reader does not have are not read at all, which is no loss here. Messages are matched by name, and
    paths are those that a registry has for the reader's fields.

    Examples
    --------
    >>> old = {"M": MessageType("M", (FieldType("a", 1, "int64"),))}
    >>> new = {"M": MessageType("M", (FieldType("a", 1, "int32"),))}
    >>> losses(new, old, "")
    [Difference(type='VALUE_CUT', path='#/M/1', message='a: of more than 32 bits, int64 is cut to int32')]
    """
    found: list[Difference] = []
    for name, new in reader.items():
        old = writer.get(name)
        if old is None or new.map_entry:
            continue
        path = "#/" + name.removeprefix(f"{package}." if package else "").replace(".", "/")
        for number, field in new.by_number.items():
            before = old.by_number.get(number)
            if before is not None:
                place = f"{path}/{field.oneof}/{number}" if field.oneof else f"{path}/{number}"
                found += _field(field, before, place)
    return found


def _field(new: FieldType, old: FieldType, path: str) -> Iterator[Difference]:
    if new.is_map and old.is_map:
        assert new.message is not None
        assert old.message is not None
        for number, part in ((1, "key"), (2, "value")):
            after, before = (each.message.by_number.get(number) for each in (new, old) if each.message)
            if after is not None and before is not None:
                yield from _value(after, before, path, f"{new.name}'s {part}")
        return
    yield from _value(new, old, path, new.name)
    if old.repeated and not new.repeated:
        if old.packed:
            yield Difference("LIST_UNREAD", path, f"{new.name}: a packed list is not read as one value")
        elif new.message is None:
            yield Difference("LAST_VALUE_ONLY", path, f"{new.name}: of several values the last is read")
        else:
            yield Difference("VALUES_MERGED", path, f"{new.name}: several messages are merged into one")
    if old.presence and not new.presence and not new.repeated:
        yield Difference("PRESENCE_LOST", path, f"{new.name}: absent is read as the default")


def _value(new: FieldType, old: FieldType, path: str, name: str) -> Iterator[Difference]:
    if old.type == "bytes" and new.type == "string":
        yield Difference(
            "TEXT_EXPECTED", path, f"{name}: bytes that are not UTF-8 cannot be read as a string"
        )
    if new.type not in _INTEGERS or old.type not in _INTEGERS:
        return
    (kind, bits, signed), (old_kind, old_bits, old_signed) = _INTEGERS[new.type], _INTEGERS[old.type]
    if kind != old_kind:
        return
    kinds = f"{old.type} is cut to {new.type}"
    if bits < old_bits:
        what = "other than 0 and 1" if bits == 1 else f"of more than {bits} bits"
        yield Difference("VALUE_CUT", path, f"{name}: {what}, {kinds}")
    elif old_bits > 1 and signed != old_signed and (old_signed or bits == old_bits):
        sign = "negative" if old_signed else "great"
        yield Difference(
            "SIGN_CHANGED", path, f"{name}: {sign} numbers of {old.type} are others as {new.type}"
        )
    if new.enum is not None and old.type != "bool":
        missing = _unknown(new.enum, old.enum)
        if missing:
            yield Difference("SYMBOL_UNKNOWN", path, f"{name}: {new.enum.name} does not know {missing}")


def _unknown(new: EnumType, old: EnumType | None) -> str:
    """Return what an enum has no symbol for; empty if it has one for all that was written."""
    if old is None:
        return "all numbers"
    return ", ".join(symbol for number, symbol in old.names.items() if number not in new.names)
