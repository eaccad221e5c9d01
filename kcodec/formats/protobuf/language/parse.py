"""From .proto text to its tree: proto2, proto3, editions, and what Confluent's registry takes besides protoc."""

from __future__ import annotations

import re

from kcodec.errors import SchemaError, refuse_file
from kcodec.formats.protobuf.language import syntax
from kcodec.formats.protobuf.language.literals import unquote
from kcodec.formats.protobuf.language.tokens import NAME, QUOTES, Tokens

__all__ = ["parse"]

#: The longest text that is read.
MAX_TEXT = 64 << 20

#: The end of a statement, a comment that describes it, and more in that comment's line.
_DESCRIBED = re.compile(r";[ \t]*/\*[^*]*\*+(?:[^/*][^*]*\*+)*/(?=[ \t\r]*[^ \t\r\n])")
_WORD = re.compile(r"[\w.-]+", re.ASCII)
_LABELS = frozenset(["optional", "required", "repeated"])
_VISIBILITY = ("export", "local")
_INTEGERS = ("int", "uint", "sint", "fixed", "sfixed")
_KEYS = frozenset(["bool", "string", *(f"{kind}{bits}" for kind in _INTEGERS for bits in (32, 64))])


def parse(text: str) -> syntax.File:
    """Return the tree of a text.

    Raises
    ------
    SchemaError
        With line and column of what cannot be read.
    """
    if not isinstance(text, str):
        raise SchemaError(f"the text of a schema is a str, not {type(text).__name__}")
    if len(text) > MAX_TEXT:
        raise SchemaError(f"a schema of {len(text)} characters is longer than {MAX_TEXT}")
    refuse_file(text)
    return _Parser(text).file()


class _Parser(Tokens):
    """What each statement holds."""

    # Statements

    def file(self) -> syntax.File:
        file = syntax.File(comments=self.comments, text=self.text)
        visibility = ""
        names: set[str] = set()
        services: set[str] = set()
        while word := self.words[self.next]:
            at = self.places[self.next]
            self.next += 1
            if word == ";":
                continue
            if self.syntax == "2024" and word in _VISIBILITY:
                visibility = self.visibility(word, at)
                continue
            if word == "syntax" or word == "edition":
                self._syntax(file, word, at)
            elif word == "package":
                file.package = self.type_name().lstrip(".")
                self.expect(";")
            elif word == "import":
                file.imports.append(self._import(at))
            elif word == "option":
                file.options.append(self.option(at))
                self.expect(";")
            elif word == "message":
                file.messages.append(self.message(at, visibility))
                self._once(names, file.messages[-1].name, at)
            elif word == "enum":
                file.enums.append(self.enum(at, visibility))
                self._once(names, file.enums[-1].name, at)
            elif word == "extend":
                file.extends.append(self.extend(at))
            elif word == "service":
                file.services.append(self.service(at))
                self._once(services, file.services[-1].name, at)
            else:
                self.next -= 1
                self.unexpected("a message, an enum, an option, an import, an extension or a service")
            visibility = ""
        self._check_comments()
        file.refused, file.misnamed = self.refused, self.misnamed
        return file

    def visibility(self, word: str, at: int) -> str:
        """Return the word for the visibility of the message or the enum that follows."""
        if self.words[self.next] not in ("message", "enum"):
            self.fail(f"{word} stands before a message or an enum", at)
        return word

    @property
    def is_edition(self) -> bool:
        return self.syntax[:2] == "20"

    def _check_comments(self) -> None:
        """Refuse what follows a comment in its line, if that comment describes the statement before it."""
        for at in self.ends:
            if found := _DESCRIBED.match(self.text, at):
                self.refuse("the registry takes nothing in the same line after a comment", found.end())
                break

    def _once(self, names: set[str], name: str, at: int) -> None:
        if name in names:
            self.fail(f"{name} is declared twice", at)
        names.add(name)

    def _syntax(self, file: syntax.File, word: str, at: int) -> None:
        if self.next > 1 or file.syntax:
            self.fail(f"{word} does not stand first", at)
        self.expect("=")
        file.syntax = unquote(self.quoted())
        known = ("proto2", "proto3") if word == "syntax" else ("2023", "2024")
        if file.syntax not in known:
            self.fail(f"{word} {file.syntax!r} is not one of {', '.join(known)}", at)
        self.expect(";")
        self.syntax = file.syntax
        if word == "edition":
            self.refuse("the registry takes no editions", at)

    def _import(self, at: int) -> syntax.Import:
        kind = self.words[self.next]
        kind = kind if kind in ("public", "weak", "option") else ""
        if (kind == "option") if self.syntax != "2024" else (kind == "weak"):
            self.fail(f"{kind} imports are not of this edition or syntax", at)
        self.next += bool(kind)
        found = syntax.Import(unquote(self.quoted()), kind, at)
        self.expect(";")
        return found

    def message(self, at: int, visibility: str = "") -> syntax.Message:
        message = syntax.Message(self.name(), visibility=visibility, at=at)
        self.body(message)
        return message

    def body(self, message: syntax.Message, *, is_group: bool = False) -> None:
        self.expect("{")
        words, places = self.words, self.places
        names: set[str] = set()
        visibility = ""
        with self.nested():
            while True:
                word = words[self.next]
                at = places[self.next]
                if word == "}":
                    break
                self.next += 1
                if word == ";":
                    if is_group:
                        self.refuse("the registry takes no empty statements in a group", at)
                    continue
                if self.syntax == "2024" and word in _VISIBILITY:
                    visibility = self.visibility(word, at)
                    continue
                if word == "message":
                    message.messages.append(self.message(at, visibility))
                    self._once(names, message.messages[-1].name, at)
                elif word == "enum":
                    message.enums.append(self.enum(at, visibility))
                    self._once(names, message.enums[-1].name, at)
                elif word == "option":
                    message.options.append(self.option(at))
                    self.expect(";")
                elif word == "oneof":
                    self.oneof(message, at)
                elif word == "reserved":
                    message.reserved.append(self.reserved(at))
                elif word == "extensions":
                    message.extensions.append(self.extensions(at))
                elif word == "extend":
                    message.extends.append(self.extend(at))
                else:
                    self.next -= 1
                    message.fields.append(self.field())
                visibility = ""
        self.expect("}")

    def field(self, oneof: syntax.Oneof | None = None) -> syntax.Field:
        words = self.words
        at = self.places[self.next]
        label = words[self.next]
        if label in _LABELS and words[self.next + 1] != "=":
            if oneof is not None:
                self.fail(f"{label} in a oneof")
            self.next += 1
            if label == "required" and self.syntax == "proto3":
                self.fail("required in proto3", at)
            if label != "repeated" and self.is_edition:
                self.fail(f"{label} is the feature field_presence in editions", at)
        else:
            label = ""
        word = words[self.next]
        if word == "map" and words[self.next + 1] == "<":
            field = self._map(label, oneof, at)
        else:
            if not label and oneof is None and self.syntax in ("", "proto2"):
                self.unexpected("optional, required or repeated")
            if word == "group" and words[self.next + 2] == "=":
                return self._group(label, oneof, at)
            kind = self.type_name()
            field = syntax.Field(label, kind, self.name(), 0, oneof=oneof, at=at)
        self.expect("=")
        field.number = self.number()
        field.options = self.options()
        default = syntax.find_option(field.options, "default")
        if field.type != "string" and not _is_printed(default):
            why = "the registry prints defaults of all types but string without quotation marks"
            self.refuse(f"{why}, and cannot read this one", at)
        self.end()
        return field

    def _map(self, label: str, oneof: syntax.Oneof | None, at: int) -> syntax.Field:
        if label:
            self.fail(f"{label} before a map", at)
        self.next += 2
        if self.words[self.next] not in _KEYS:
            self.unexpected("the type of a map's keys")
        key = self.words[self.next]
        self.next += 1
        self.expect(",")
        kind = self.type_name()
        self.expect(">")
        return syntax.Field("", kind, self.name(), 0, key=key, oneof=oneof, at=at)

    def _group(self, label: str, oneof: syntax.Oneof | None, at: int) -> syntax.Field:
        if self.is_edition:
            self.fail("a group is the feature message_encoding in editions", at)
        self.next += 1
        name = self.name()
        field = syntax.Field(label, name, name.lower(), 0, oneof=oneof, at=at)
        self.expect("=")
        field.number = self.number()
        if self.words[self.next] == "[":
            self.refuse("the registry takes no options of a group")
        field.options = self.options()
        field.group = body = syntax.Message(name, at=at)
        self.body(body, is_group=True)
        others = (
            body.options,
            body.messages,
            body.enums,
            body.oneofs,
            body.reserved,
            body.extensions,
            body.extends,
        )
        if any(others) or any(each.group is not None for each in body.fields):
            self.refuse("the registry takes nothing but fields in a group", at)
        return field

    def oneof(self, message: syntax.Message, at: int) -> None:
        oneof = syntax.Oneof(self.name(), at=at)
        message.oneofs.append(oneof)
        self.expect("{")
        while not self.accept("}"):
            place = self.places[self.next]
            if self.accept("option"):
                oneof.options.append(self.option(place))
                self.expect(";")
            else:
                message.fields.append(self.field(oneof))

    def enum(self, at: int, visibility: str = "") -> syntax.Enum:
        enum = syntax.Enum(self.name(), visibility=visibility, at=at)
        self.expect("{")
        while not self.accept("}"):
            at = self.places[self.next]
            if self.accept("option"):
                enum.options.append(self.option(at))
                self.expect(";")
            elif self.accept("reserved"):
                enum.reserved.append(self.reserved(at, 2**31 - 1))
            elif not self.accept(";"):
                value = syntax.EnumValue(self.name(), 0, at=at)
                self.expect("=")
                value.number = self.number()
                value.options = self.options()
                self.end()
                enum.values.append(value)
        return enum

    def extend(self, at: int) -> syntax.Extend:
        extend = syntax.Extend(self.type_name(), at=at)
        self.expect("{")
        while not self.accept("}"):
            if not self.accept(";"):
                extend.fields.append(self.field())
        return extend

    def service(self, at: int) -> syntax.Service:
        service = syntax.Service(self.name(), at=at)
        self.expect("{")
        while not self.accept("}"):
            at = self.places[self.next]
            if self.accept("option"):
                service.options.append(self.option(at))
                self.expect(";")
            elif self.accept("rpc"):
                service.rpcs.append(self.rpc(at))
            elif not self.accept(";"):
                self.unexpected("rpc or option")
        return service

    def rpc(self, at: int) -> syntax.Rpc:
        rpc = syntax.Rpc(self.name(), "", "", at=at)
        rpc.request_stream, rpc.request = self._rpc_type()
        self.expect("returns")
        rpc.response_stream, rpc.response = self._rpc_type()
        if self.accept("{"):
            rpc.has_body = True
            while not self.accept("}"):
                at = self.places[self.next]
                if self.accept("option"):
                    rpc.options.append(self.option(at))
                    self.expect(";")
                elif not self.accept(";"):
                    self.unexpected("option")
        else:
            self.expect(";")
        return rpc

    def _rpc_type(self) -> tuple[bool, str]:
        self.expect("(")
        stream = self.words[self.next] == "stream" and self.words[self.next + 1] != ")"
        self.next += stream
        kind = self.type_name()
        self.expect(")")
        return stream, kind

    def reserved(self, at: int, last: int = syntax.MAX_NUMBER) -> syntax.Reserved:
        items: list[syntax.Range | str] = []
        while True:
            word = self.words[self.next]
            if self.is_edition and NAME.fullmatch(word):
                items.append(self.name())
            elif word[:1] in QUOTES and not self.is_edition:
                items.append(unquote(self.quoted()))
            else:
                items.append(self.range(last))
            if not self.accept(","):
                self.end()
                return syntax.Reserved(items, at)

    def extensions(self, at: int) -> syntax.Extensions:
        ranges = [self.range(syntax.MAX_NUMBER)]
        while self.accept(","):
            ranges.append(self.range(syntax.MAX_NUMBER))
        options = self.options()
        self.expect(";")
        return syntax.Extensions(ranges, options, at)

    def range(self, last: int) -> syntax.Range:
        first = self.number()
        if not self.accept("to"):
            return (first,)
        if self.accept("max"):
            return first, last
        if self.words[self.next].lower().startswith("0x"):
            self.refuse("the registry takes no range that ends in hexadecimal digits")
        return first, self.number()

    # Options

    def options(self) -> list[syntax.Option]:
        """Return options in brackets, if there are any."""
        if not self.accept("["):
            return []
        options: list[syntax.Option] = []
        while True:
            options.append(self.option(self.places[self.next]))
            if not self.accept(","):
                self.expect("]")
                return options

    def option(self, at: int) -> syntax.Option:
        name: list[str] = []
        while True:
            if self.accept("("):
                if name and not name[-1].startswith("("):
                    self.refuse("the registry takes no name in parentheses behind one without")
                name.append(f"({self.type_name()})")
                self.expect(")")
            else:
                word = self.words[self.next]
                # Dots at either end join it to a name in parentheses, or behind blanks.
                parts = word.removeprefix(".") if name else word
                after = self.words[self.next + 1]
                if after == "(" or (word != "." and NAME.match(after)):
                    parts = parts.removesuffix(".")
                if parts and not all(NAME.fullmatch(each) for each in parts.split(".")):
                    self.unexpected("the name of an option")
                self.next += 1
                if not parts and word == ".":
                    continue
                name += parts.split(".") if parts else []
            if self.words[self.next] == "=":
                break
            if self.words[self.next - 1].endswith(".") and self.words[self.next] != "(":
                self.refuse("the registry takes no blanks in a name")
            elif self.words[self.next] != "(" and not self.words[self.next].startswith("."):
                self.unexpected("'='")
        if not name:
            self.unexpected("the name of an option")
        self.next += 1
        return syntax.Option(tuple(name), self.value(), at)

    def value(self) -> syntax.Value:
        word = self.signed()
        if word == "{":
            return self.aggregate("}")
        if word == "[":
            return self.list()
        if word[:1] in QUOTES:
            return self.quoted()
        if not word or not (word[-1].isalnum() or word[-1] in "_."):
            self.unexpected("a value")
        if "+" in word:
            self.refuse("the registry takes no sign in an exponent")
        self.next += 1
        return syntax.Word(word)

    def list(self) -> list[syntax.Value]:
        self.expect("[")
        values: list[syntax.Value] = []
        with self.nested():
            while not self.accept("]"):
                values.append(self.aggregate(">") if self.words[self.next] == "<" else self.value())
                if not self.accept(",") and self.words[self.next] != "]":
                    self.unexpected("',' or ']'")
        return values

    def aggregate(self, end: str) -> syntax.Aggregate:
        if end == ">":
            self.refuse("the registry takes no values in angle brackets")
        self.next += 1
        entries: list[tuple[str, syntax.Value]] = []
        with self.nested():
            while not self.accept(end):
                if self.accept("["):
                    name = self._bracketed()
                else:
                    name = self.words[self.next]
                    if not name or not name.replace(".", "_").isidentifier():
                        self.unexpected("the name of a field")
                    self.next += 1
                separator = self.accept(":")
                word = self.words[self.next]
                if word == "<":
                    entries.append((name, self.aggregate(">")))
                elif word == "{" or separator:
                    entries.append((name, self.value()))
                else:
                    self.unexpected("':'")
                if not self.accept(","):
                    self.accept(";")
        return syntax.Aggregate(entries)

    def _bracketed(self) -> str:
        """Return the name of an extension, or the URL of an Any."""
        parts = [self.type_name()]
        while self.accept("/"):
            self.refuse("the registry takes no URL of a type")
            parts.append(self.type_name())
        self.expect("]")
        return f"[{'/'.join(parts)}]"


def _is_printed(default: syntax.Value | None) -> bool:
    """Return whether a default that is printed without quotation marks is read as a value again."""
    if isinstance(default, syntax.Quoted):
        return _WORD.fullmatch(unquote(default)) is not None
    if isinstance(default, list):
        return all(isinstance(each, syntax.Quoted) and _is_printed(each) for each in default)
    return not isinstance(default, syntax.Aggregate) or not default.entries
