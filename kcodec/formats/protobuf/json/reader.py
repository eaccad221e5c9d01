"""Messages from JSON text, in all spellings that protobuf-java's ``JsonFormat`` takes of valid JSON."""

import base64
import re
import struct
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from math import inf
from typing import Any, NoReturn

from kcodec.formats.json.tokens import Tokens
from kcodec.formats.protobuf.descriptor import FieldType, MessageType
from kcodec.formats.protobuf.json.well_known import (
    WRAPPERS,
    find_type,
    form_of,
    parse_duration,
    parse_paths,
    parse_timestamp,
)
from kcodec.formats.protobuf.messages.message import Message, missing_fields, write_message
from kcodec.formats.protobuf.messages.wire import MAX_DEPTH
from kcodec.plan.failure import RowError, step
from kcodec.plan.node import Limits

_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_NO_NUMBERS = (b"NaN", b"Infinity", b"-Infinity")
_STANDARD = re.compile(rb"[A-Za-z0-9+/]*={0,2}")
_URL_SAFE = re.compile(rb"[A-Za-z0-9_-]*={0,2}")
#: Stands for a value that is passed over.
_NOTHING = object()


def from_json(
    text: bytes, type: MessageType, types: Mapping[str, MessageType], *, ignore_unknown: bool = False
) -> Message:
    """Return the message of a JSON text.

    Parameters
    ----------
    text : bytes
        The text in UTF-8.
    type : MessageType
        What it is to become.
    types : mapping of str to MessageType
        What an Any may hold beside google.protobuf's own.
    ignore_unknown : bool
        Whether names that the message does not have, and unknown names of enums, are passed over.

    Examples
    --------
    >>> from kcodec.formats.protobuf.schema import ProtobufSchema
    >>> schema = ProtobufSchema.parse('syntax = "proto3"; message M { int64 big_id = 1; repeated string tags = 2; }')
    >>> write_message(from_json(b'{"bigId": "5", "tags": ["a"]}', schema.message("M"), {})).hex()
    '0805120161'
    """
    reader = _TextReader(text, types, ignore_unknown)
    reader.space()
    message = Message(type)
    reader.message(message, "", MAX_DEPTH)
    reader.space()
    if reader.at < len(text):
        reader.fail("trailing_bytes", reader.at, "")
    _check_required(message, "")
    return message


def _check_required(message: Message, path: str) -> None:
    missing = missing_fields(message)
    if missing:
        reason = f"required fields are not set: {', '.join(missing)}"
        raise RowError("missing_required", None, step(path, missing[0]), reason)


def _takes_null(field: FieldType) -> bool:
    """Return whether null is a value of a field's type, rather than a missing one."""
    named = field.message or field.enum
    return named is not None and named.name in ("google.protobuf.Value", "google.protobuf.NullValue")


class _TextReader(Tokens):
    """One text. `levels` is how many messages may stand in the one at hand, those in an Any included."""

    def __init__(self, text: bytes, types: Mapping[str, MessageType], ignore_unknown: bool) -> None:
        super().__init__(Limits(), text, 0)
        self.types = types
        self.ignore_unknown = ignore_unknown
        #: Where objects and lists that were read past begin and end.
        self.ends: dict[int, int] = {}

    def wrong(self, path: str) -> NoReturn:
        """Refuse what stands here: a value of another type, or not a value."""
        is_value = self.byte(path) in b'"{[tfn-0123456789'
        self.fail("json_type" if is_value else "json_syntax", self.at, path)

    def decoded(self, data: bytes, at: int, path: str) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError:
            self.fail("invalid_utf8", at, path)

    def text(self, path: str) -> bytes:
        if self.byte(path) != 34:
            self.wrong(path)
        return self.string(path)

    def skip(self, path: str) -> None:
        """Read past any value; objects and lists that were read past before, as in an Any, are skipped at once."""
        byte, start = self.next(path), self.at
        if start in self.ends:
            self.at = self.ends[start]
        elif byte in b"{[":
            for _ in self.items(b"}" if byte == 123 else b"]", path):
                if byte == 123:
                    self.key(path)
                self.skip(path)
            self.ends[start] = self.at
        else:
            super().skip(path)

    def is_null(self, path: str) -> bool:
        """Read a null if one stands here."""
        if self.byte(path) != 110:
            return False
        self.literal(b"null", path)
        return True

    def message(self, message: Message, path: str, levels: int) -> None:
        if levels < 0:
            self.fail("depth_limit", self.at, path)
        form = form_of(message.type)
        if form:
            self.known(form, message, path, levels)
        else:
            self.fields(message, path, levels)

    def fields(self, message: Message, path: str, levels: int, in_any: bool = False) -> None:
        if self.byte(path) != 123:
            self.wrong(path)
        seen = set()
        for _ in self.items(b"}", path):
            start = self.at
            name = self.decoded(self.key(path), start, path)
            self.next(path)
            if in_any and name == "@type":
                self.skip(path)
                continue
            field = message.type.by_json_name.get(name) or _extension(message.type, name)
            if field is None:
                self.unknown(name, start, path)
                continue
            inner = step(path, field.name)
            if (field.repeated or not _takes_null(field)) and self.is_null(inner):
                continue
            if field.number in seen:
                self.fail("duplicate_key", start, inner)
            if field.oneof and message.member(field.oneof):
                self.fail("union_members", start, inner)
            seen.add(field.number)
            self.field(message, field, inner, levels)

    def unknown(self, name: str, start: int, path: str) -> None:
        """Read past the value of a name that the message does not have."""
        if not self.ignore_unknown:
            self.fail("unknown_field", start, step(path, name))
        self.skip(path)

    def field(self, message: Message, field: FieldType, path: str, levels: int) -> None:
        if field.is_map:
            self.map(message, field, path, levels)
            return
        if not field.repeated:
            value = self.single(field, path, levels)
            if value is not _NOTHING:
                message.set(field, value)
            return
        if self.byte(path) != 91:
            self.wrong(path)
        values = message.values[field.number] = []
        for index in self.items(b"]", path):
            value = self.single(field, f"{path}[{index}]", levels)
            if value is not _NOTHING:
                values.append(value)

    def map(self, message: Message, field: FieldType, path: str, levels: int) -> None:
        assert field.message is not None
        if self.byte(path) != 123:
            self.wrong(path)
        key_field, value_field = field.message.by_number[1], field.message.by_number[2]
        entries = message.values[field.number] = {}
        for _ in self.items(b"}", path):
            start = self.at
            if not levels:
                self.fail("depth_limit", start, path)
            text = self.key(path)
            inner = f"{path}[{text.decode('utf-8', 'replace')!r}]"
            key = self.map_key(key_field.type, text, start, inner)
            if key in entries:
                self.fail("duplicate_key", start, inner)
            self.next(inner)
            value = self.single(value_field, inner, levels - 1)
            if value is not _NOTHING:
                entries[key] = value

    def map_key(self, kind: str, text: bytes, start: int, path: str) -> Any:
        if kind == "string":
            return self.decoded(text, start, path)
        if kind != "bool":
            return self.integer(kind, text, start, path)
        if text not in (b"true", b"false"):
            self.fail("json_type", start, path)
        return text == b"true"

    def single(self, field: FieldType, path: str, levels: int) -> Any:
        """Read a value that is neither a list nor a map."""
        start, kind = self.at, field.type
        if field.message:
            if self.byte(path) == 110 and not _takes_null(field):
                self.fail("null_value", start, path)
            inner = Message(field.message)
            self.message(inner, path, levels - 1)
            return inner
        if self.is_null(path):
            if _takes_null(field):
                return 0
            self.fail("null_value", start, path)
        if kind == "bool":
            if self.byte(path) not in b"tf":
                self.wrong(path)
            self.literal(b"true" if self.byte(path) == 116 else b"false", path)
            return self.data[start] == 116
        if kind == "string":
            return self.decoded(self.text(path), start, path)
        if kind == "bytes":
            return self.base64(path)
        if field.enum:
            return self.enum(field, path)
        text = self.numeric(path)
        return (
            self.floating(kind, text, start, path)
            if kind in ("float", "double")
            else self.integer(kind, text, start, path)
        )

    def numeric(self, path: str) -> bytes:
        """Return the text of a number, or what stands in a string instead of one."""
        start = self.at
        if self.byte(path) == 34:
            text = self.string(path)
        elif self.byte(path) in b"-0123456789":
            text = self.number(path)
        else:
            self.wrong(path)
        if len(text) > self.limits.max_number_length:
            self.fail("number_length", start, path)
        return text

    def integer(self, kind: str, text: bytes, start: int, path: str) -> int:
        """Return a whole number, which may have a point or an exponent."""
        if not _NUMBER.fullmatch(text):
            self.fail("invalid_number", start, path)
        bits = 64 if kind.endswith("64") else 32
        lowest, highest = (0, 1 << bits) if kind.startswith(("u", "f")) else (-1 << bits - 1, 1 << bits - 1)
        try:
            number = Decimal(text.decode())
        except InvalidOperation:
            # The exponent is beyond even what a decimal can have.
            self.fail("out_of_range", start, path)
        if number and number.adjusted() > 20:
            self.fail("out_of_range", start, path)
        value = int(number)
        if value != number:
            self.fail("inexact", start, path)
        if not lowest <= value < highest:
            self.fail("out_of_range", start, path)
        return value

    def floating(self, kind: str, text: bytes, start: int, path: str) -> int:
        """Return the bits of a float or double."""
        if text not in _NO_NUMBERS and not _NUMBER.fullmatch(text):
            self.fail("invalid_number", start, path)
        value = float(text)
        try:
            data = struct.pack("<f" if kind == "float" else "<d", value)
        except OverflowError:
            self.fail("out_of_range", start, path)
        if value in (inf, -inf) and text not in _NO_NUMBERS:
            self.fail("out_of_range", start, path)
        return int.from_bytes(data, "little")

    def enum(self, field: FieldType, path: str) -> Any:
        assert field.enum is not None
        start, byte = self.at, self.byte(path)
        text = self.numeric(path)
        number = None
        if byte == 34:
            number = field.enum.numbers.get(self.decoded(text, start, path))
        if number is None and (byte != 34 or _NUMBER.fullmatch(text)):
            try:
                number = self.integer("int32", text, start, path)
            except RowError:
                # Java takes what is no int32 for a value that it does not know.
                if not self.ignore_unknown:
                    raise
            if field.enum.closed and number not in field.enum.names:
                number = None
        if number is None and not self.ignore_unknown:
            self.fail("unknown_symbol", start, path)
        return _NOTHING if number is None else number

    def base64(self, path: str) -> bytes:
        """Read Base64 of either alphabet, with or without padding."""
        start = self.at
        text = self.text(path)
        is_standard = _STANDARD.fullmatch(text)
        digits = text.rstrip(b"=")
        whole = digits + b"=" * (-len(digits) % 4)
        if (
            len(digits) % 4 == 1
            or text not in (digits, whole)
            or not (is_standard or _URL_SAFE.fullmatch(text))
        ):
            self.fail("invalid_base64", start, path)
        return base64.b64decode(whole, None if is_standard else b"-_")

    def known(self, form: str, message: Message, path: str, levels: int) -> None:
        """Read a message that has a form of its own."""
        name = form.removeprefix("google.protobuf.")
        start, values = self.at, message.values
        if name == "Any":
            self.any(message, path, levels)
        elif name == "Value":
            self.any_value(message, path, levels)
        elif form in WRAPPERS or name in ("Struct", "ListValue"):
            self.field(message, message.type.by_number[1], path, levels)
        else:
            text = self.text(path)
            try:
                if name == "FieldMask":
                    values[1] = parse_paths(self.decoded(text, start, path))
                else:
                    values[1], values[2] = (parse_timestamp if name == "Timestamp" else parse_duration)(text)
            except RowError as error:
                raise RowError(error.code, start, path, error.reason) from None

    def any_value(self, message: Message, path: str, levels: int) -> None:
        """Read any JSON into a google.protobuf.Value."""
        byte = self.byte(path)
        number = 5 if byte == 123 else 6 if byte == 91 else 4 if byte in b"tf" else 3 if byte == 34 else 2
        field = message.type.by_number[1 if byte == 110 else number]
        message.set(field, 0 if self.is_null(path) else self.single(field, path, levels))

    def any(self, message: Message, path: str, levels: int) -> None:
        """Read a google.protobuf.Any, whose type may stand anywhere among its fields."""
        start, url, type = self.at, None, None
        if self.byte(path) != 123:
            self.wrong(path)
        is_empty = True
        for _ in self.items(b"}", path):
            at, is_empty = self.at, False
            name = self.key(path)
            self.next(path)
            if name != b"@type":
                self.skip(path)
            elif url is not None:
                self.fail("duplicate_key", at, path)
            else:
                at = self.at
                url = self.decoded(self.text(path), at, path)
                try:
                    type = find_type(url, self.types)
                except RowError as error:
                    raise RowError(error.code, at, path, error.reason) from None
        if is_empty:
            return
        if type is None:
            self.fail("missing_key", start, step(path, "@type"))
        self.at = start
        inner = Message(type)
        if form_of(type):
            self.wrapped(inner, path, levels)
        else:
            if not levels:
                self.fail("depth_limit", start, path)
            self.fields(inner, path, levels - 1, in_any=True)
        _check_required(inner, path)
        message.values[1], message.values[2] = url, write_message(inner)

    def wrapped(self, message: Message, path: str, levels: int) -> None:
        """Read a message with a form of its own as the value of an Any."""
        is_read = False
        for _ in self.items(b"}", path):
            at = self.at
            name = self.key(path)
            self.next(path)
            if name == b"@type":
                self.skip(path)
            elif name != b"value":
                self.unknown(self.decoded(name, at, path), at, path)
            elif is_read:
                self.fail("duplicate_key", at, path)
            else:
                is_read = True
                self.message(message, step(path, "value"), levels - 1)


def _extension(type: MessageType, name: str) -> FieldType | None:
    """Return the extension of a message whose name stands in brackets."""
    if not (name.startswith("[") and name.endswith("]")):
        return None
    return next((each for each in type.extensions.values() if each.name == name[1:-1]), None)
