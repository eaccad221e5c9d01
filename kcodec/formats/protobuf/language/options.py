"""Values of options, as Python has them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kcodec.errors import SchemaError
from kcodec.formats.protobuf.descriptor import SCALARS, FieldType, MessageType
from kcodec.formats.protobuf.language.literals import integer, unquote_bytes
from kcodec.formats.protobuf.language.names import Names
from kcodec.formats.protobuf.language.syntax import Aggregate, Option, Quoted, Value

#: What stands for a bool in protobuf's text format, beside true and false.
_BOOLEANS = {"True": True, "t": True, "1": True, "False": False, "f": False, "0": False}


class Fields(dict[str, Any]):
    """Fields of a message by name, extensions in parentheses; what is a plain dict is a map."""


class Packed(NamedTuple):
    """What an Any holds that is written out, ``[host/type] { ... }``: the name of its type, and its fields."""

    type: str
    fields: Fields


class OptionReader:
    """Reads options by the types of their fields, where those are known, or as they look."""

    def __init__(
        self, names: Names, extensions: Mapping[str, FieldType], messages: Mapping[str, MessageType]
    ) -> None:
        self.names = names
        self.extensions = extensions
        self.messages = messages

    def read(self, scope: str, root: MessageType | None, options: Sequence[Option]) -> Fields:
        """Return all options that were given in one place as one message of the type `root`."""
        found = Fields()
        for option in options:
            fields, message = found, root
            for part in option.name[:-1]:
                key, kind = self._member(scope, message, part)
                if kind is not None and kind.repeated:
                    raise SchemaError(f"the option {part} is repeated: none of its fields can be set alone")
                if not isinstance(fields.get(key), Fields):
                    fields[key] = Fields()
                fields = fields[key]
                message = None if kind is None else kind.message
            self._put(fields, scope, message, option.name[-1], option.value)
        return found

    def _member(self, scope: str, message: MessageType | None, name: str) -> tuple[str, FieldType | None]:
        """Return what a field is called in `Fields`, and the field."""
        if name[0] in "([":
            full = self.names.find_extension(scope, name[1:-1])
            return f"({full or name[1:-1]})", self.extensions.get(full or "")
        if message is None:
            return name, None
        # The text format calls groups as their types are called.
        group = message.by_name.get(name.lower())
        if group is not None and group.message is not None and group.type == "group":
            name = group.name if group.message.name.rpartition(".")[2] == name else name
        return name, message.by_name.get(name)

    def _put(
        self,
        fields: Fields,
        scope: str,
        message: MessageType | None,
        name: str,
        value: Value,
        in_text: bool = False,
    ) -> None:
        """Put a value into fields; `in_text` if it stands in an aggregate, which is of protobuf's text format."""
        if name[0] == "[" and "/" in name and isinstance(value, Aggregate):
            url = name[1:-1]
            known = url.rpartition("/")[2]
            content = self._filled(Fields(), scope, self.messages.get(known), value)
            fields.update(type_url=url, value=Packed(known, content))
            return
        key, kind = self._member(scope, message, name)
        if kind is not None and kind.repeated:
            values = [
                self._value(scope, kind, each, in_text)
                for each in (value if isinstance(value, list) else [value])
            ]
            if kind.is_map:
                entries = fields.setdefault(key, {})
                for each in values:
                    if isinstance(each, dict):
                        entries[_entry_key(kind, each)] = each.get("value")
            else:
                fields.setdefault(key, []).extend(values)
        elif isinstance(value, Aggregate) and isinstance(fields.get(key), Fields):
            self._fill(fields[key], scope, kind, value)
        else:
            fields[key] = self._value(scope, kind, value, in_text)

    def _fill(self, fields: Fields, scope: str, kind: FieldType | None, value: Aggregate) -> Fields:
        return self._filled(fields, scope, None if kind is None else kind.message, value)

    def _filled(self, fields: Fields, scope: str, message: MessageType | None, value: Aggregate) -> Fields:
        for name, each in value.entries:
            self._put(fields, scope, message, name, each, in_text=True)
        return fields

    def _value(self, scope: str, kind: FieldType | None, value: Value, in_text: bool) -> Any:
        if isinstance(value, list):
            return [self._value(scope, kind, each, in_text) for each in value]
        if isinstance(value, Aggregate):
            return self._fill(Fields(), scope, kind, value)
        if isinstance(value, Quoted):
            data = unquote_bytes(value)
            return data if kind is not None and kind.type == "bytes" else data.decode("utf-8", "replace")
        if value in ("true", "false"):
            return value == "true"
        if in_text and kind is not None:
            read = _in_text(value, kind)
            if read is not None:
                return read
        if kind is not None and kind.type not in SCALARS:
            return str(value)
        kinds = ["int64", "double"] if kind is None else [kind.type]
        return next((read for each in kinds if (read := number(value, each)) is not None), str(value))


def _in_text(word: str, kind: FieldType) -> Any:
    """Return what a word means in protobuf's text format only; None if it means nothing else there."""
    if kind.type == "bool":
        return _BOOLEANS.get(word)
    if kind.enum is not None:
        read = integer(word)
        return None if read is None else kind.enum.names.get(read, read)
    is_number = kind.type in ("float", "double") and word.lower().lstrip("-") in ("inf", "infinity", "nan")
    return float(word) if is_number else None


def _entry_key(kind: FieldType, entry: dict[str, Any]) -> Any:
    """Return the key of a map's entry, which may lack it."""
    assert kind.message is not None
    key = entry.get("key", {"string": "", "bool": False}.get(kind.message.by_number[1].type, 0))
    if isinstance(key, (dict, list)):
        raise SchemaError(f"the option {kind.name} has an entry whose key is not of its type")
    return key


def flattened(fields: Fields, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of fields and of messages in them under dotted names."""
    for name, value in fields.items():
        if isinstance(value, Packed):
            value = value.fields
        if isinstance(value, Fields):
            yield from flattened(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def number(word: str, kind: str) -> int | float | None:
    """Return a number as a scalar type has it; None if it is none or out of its range.

    Unlike the numbers of fields, values with a zero in front are octal.

    >>> number("0x1F", "int32"), number("010", "int32"), number("-1", "uint32"), number("1e3", "float")
    (31, 8, None, 1000.0)
    """
    found = integer(word)
    digits = word.lstrip("-")
    if found is not None and len(digits) > 1 and digits[0] == "0" and digits.isdigit():
        try:
            found = int(word, 8)
        except ValueError:
            return None
    if kind in ("float", "double"):
        if digits in ("inf", "nan"):
            return float(word)
        if found is None and not digits[:1].isdigit() and digits[:1] != ".":
            return None
        try:
            # Zero may have a sign, which a whole number has not.
            read = float(word.rstrip("fF") if found is None else f"-{-found}" if word[0] == "-" else found)
        except ValueError:
            return None
        return None if math.isnan(read) or "_" in word else read
    if found is None or kind in ("string", "bytes", "bool"):
        return None
    bits = 64 if kind.endswith("64") else 32
    if kind.startswith(("uint", "fixed")):
        return found if 0 <= found < 2**bits else None
    return found if -(2 ** (bits - 1)) <= found < 2 ** (bits - 1) else None
