"""Messages as JSON text, as protobuf-java's ``JsonFormat`` prints them."""

import base64
import re
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

from kcodec.formats.protobuf.descriptor import FieldType, MessageType
from kcodec.formats.protobuf.json.well_known import (
    WRAPPERS,
    find_type,
    form_of,
    format_duration,
    format_paths,
    format_timestamp,
)
from kcodec.formats.protobuf.messages.message import Message, default_of, read_message
from kcodec.formats.protobuf.messages.wire import MAX_DEPTH
from kcodec.java.numbers import format_java_double, format_java_float
from kcodec.java.utf8 import decode_utf8
from kcodec.plan.failure import RowError, prefix

__all__ = ["DEFAULTS", "JsonWriting", "to_json"]

#: Which fields are printed that are not set; see `JsonWriting`.
DEFAULTS = ("none", "no_presence", "all")

#: An object (names and values in order), an array, or a text that is JSON already.
Tree = tuple[tuple[str, Any], ...] | list[Any] | str

_ESCAPED = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_UNSAFE = re.compile("[\"\\\\\x00-\x1f<>&='\u2028\u2029]")


class JsonWriting(NamedTuple):
    """How messages are printed."""

    #: Whether each field has a line of its own.
    indent: bool = False
    #: Which fields that are not set are printed, of `DEFAULTS`: ``"none"``; ``"no_presence"``, those without presence,
    #: lists and maps; ``"all"``, also scalars of proto2 and editions, with the default that they declare.
    defaults: str = "none"
    #: Whether names are as declared, rather than in camel case.
    proto_names: bool = False


def to_json(message: Message, types: Mapping[str, MessageType], how: JsonWriting | None = None) -> str:
    """Return a message as JSON; `types` are those that an Any may hold beside google.protobuf's own.

    Examples
    --------
    >>> from kcodec.formats.protobuf.schema import ProtobufSchema
    >>> schema = ProtobufSchema.parse('syntax = "proto3"; message M { int64 big_id = 1; repeated string tags = 2; }')
    >>> message = read_message(schema.message("M"), bytes.fromhex("0805120161"))
    >>> to_json(message, schema.messages), to_json(message, {}, JsonWriting(proto_names=True))
    ('{"bigId":"5","tags":["a"]}', '{"big_id":"5","tags":["a"]}')
    """
    writer = _TextWriter(types, how or JsonWriting())
    return writer.text(writer.message(message, MAX_DEPTH), "\n")


class _TextWriter:
    """One message. `depth` is how many messages may stand in the one at hand, those in an Any included."""

    def __init__(self, types: Mapping[str, MessageType], how: JsonWriting) -> None:
        self.types = types
        self.how = how

    def text(self, tree: Tree, line: str) -> str:
        """Return the text of a tree; `line` starts a line of what is around it."""
        if isinstance(tree, str):
            return tree
        if isinstance(tree, list):
            return f"[{(', ' if self.how.indent else ',').join(self.text(each, line) for each in tree)}]"
        inner, colon = (f"{line}  ", ": ") if self.how.indent else ("", ":")
        fields = f",{inner}".join(f"{name}{colon}{self.text(value, inner)}" for name, value in tree)
        outer = line if self.how.indent else ""
        return f"{{{inner}{fields}{outer}}}" if tree else f"{{{outer}}}"

    def message(self, message: Message, depth: int) -> Tree:
        if depth < 0:
            raise RowError("depth_limit")
        form = form_of(message.type)
        return self.known(form, message, depth) if form else self.fields(message, depth)

    def fields(self, message: Message, depth: int) -> tuple[tuple[str, Tree], ...]:
        made = []
        found = {field.number: (field, value) for field, value in message.fields()}
        if self.how.defaults != "none":
            for field in message.type.fields:
                if field.number not in found and self.is_printed(message.type, field):
                    empty: Any = {} if field.is_map else [] if field.repeated else default_of(field)
                    found[field.number] = field, empty
        for number in sorted(found):
            field, value = found[number]
            name = field.name if self.how.proto_names else field.name_in_json
            if number not in message.type.by_number:
                name = f"[{field.name}]"
            try:
                made.append((quote(name), self.value(field, value, depth)))
            except RowError as error:
                raise error.within(field.name) from None
        return tuple(made)

    def is_printed(self, type: MessageType, field: FieldType) -> bool:
        """Return whether a field is printed that is not set."""
        if not field.presence:
            return True
        return self.how.defaults == "all" and not (field.message or field.oneof or type.syntax == "proto3")

    def value(self, field: FieldType, value: Any, depth: int) -> Tree:
        if field.is_map:
            assert field.message is not None
            key_field, value_field = field.message.by_number[1], field.message.by_number[2]
            made = []
            for key in value:
                name = self.scalar(key_field, key)
                # An entry is a message of its own, which counts.
                tree = self.single(value_field, value[key], depth - 1)
                made.append((name if name.startswith('"') else f'"{name}"', tree))
            return tuple(made)
        if field.repeated:
            return [self.single(field, each, depth) for each in value]
        return self.single(field, value, depth)

    def single(self, field: FieldType, value: Any, depth: int) -> Tree:
        return self.message(value, depth - 1) if field.message else self.scalar(field, value)

    def scalar(self, field: FieldType, value: Any) -> str:
        kind = field.type
        if field.enum:
            if field.enum.name == "google.protobuf.NullValue":
                return "null"
            name = field.enum.names.get(value)
            return str(value) if name is None else quote(name)
        if kind == "bool":
            return "true" if value else "false"
        if kind == "string":
            return quote(value)
        if kind == "bytes":
            return f'"{base64.b64encode(value).decode()}"'
        if kind in ("float", "double"):
            number = to_float(kind, value)
            text = format_java_float(number) if kind == "float" else format_java_double(number)
            return text if text[-1].isdigit() else f'"{text}"'
        return f'"{value}"' if kind.endswith("64") else str(value)

    def known(self, form: str, message: Message, depth: int) -> Tree:
        """Return the tree of a message that has a form of its own."""
        values = message.values
        name = form.removeprefix("google.protobuf.")
        if name == "Any":
            return self.any(message, depth)
        if form in WRAPPERS:
            field = message.type.by_number[1]
            return self.value(field, values.get(1, default_of(field)), depth)
        if name == "FieldMask":
            return quote(format_paths(values.get(1, [])))
        if name == "Value":
            for field, value in message.fields():
                if field.type == "double" and not abs(to_float("double", value)) < float("inf"):
                    reason = "a google.protobuf.Value cannot be NaN or infinite in JSON"
                    raise RowError("out_of_range", None, field.name, reason)
                return self.value(field, value, depth)
            return "null"
        if name in ("Timestamp", "Duration"):
            print_form = format_timestamp if name == "Timestamp" else format_duration
            return f'"{print_form(values.get(1, 0), values.get(2, 0))}"'
        field = message.type.by_number[1]
        return self.value(field, values.get(1, {} if field.is_map else []), depth)

    def any(self, message: Message, depth: int) -> Tree:
        url, data = message.values.get(1, ""), message.values.get(2, b"")
        if not url and not data and not message.unknown:
            return "{}"
        type = find_type(url, self.types)
        try:
            inner = read_message(type, data)
        except RowError as error:
            raise RowError(error.code, None, prefix("value", error.path), error.reason) from None
        first = '"@type"', quote(url)
        if not form_of(type):
            if not depth:
                raise RowError("depth_limit")
            return first, *self.fields(inner, depth - 1)
        return first, ('"value"', self.message(inner, depth - 1))


def to_float(kind: str, bits: int) -> float:
    """Return the number of the bits of a float or double."""
    size, form = (4, "<f") if kind == "float" else (8, "<d")
    return struct.unpack(form, bits.to_bytes(size, "little"))[0]


def quote(text: str) -> str:
    r"""Return text as a JSON string that may stand in HTML.

    >>> print(quote("a<b\n"))
    "a\u003cb\n"
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        text = decode_utf8(text.encode("utf-8", "surrogateescape"))
    return f'"{_UNSAFE.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    return _ESCAPED.get(found[0]) or f"\\u{ord(found[0]):04x}"
