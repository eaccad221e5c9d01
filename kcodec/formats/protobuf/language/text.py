"""From trees back to text, laid out as Confluent's registry stores it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kcodec.formats.protobuf.language import syntax
from kcodec.formats.protobuf.language.literals import unquote

_ESCAPES = {
    "\\": "\\\\",
    '"': '\\"',
    "'": "\\'",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}
_ESCAPED = str.maketrans(_ESCAPES)

#: How names of Confluent's own extensions begin.
CONFLUENT = ("(confluent.", "(.confluent.")

#: Lines of one element, without indentation.
_Lines = list[str]

#: A group of members that has no lines, but has its place.
_PRESENT: _Lines = []


def print_file(file: syntax.File, *, extensions: bool = True, normalized: bool = False) -> str:
    """Return a file's text.

    Comments, weak imports and groups among extensions are lost, as the registry loses them. Extensions are printed with
    their ranges and the options that they name, or not at all. In a `normalized` text options of fields stand in the
    order that they have, and oneofs without members but groups are left out; what separated these from other members
    stays.
    """
    return "\n".join([*_Printer(extensions, normalized).file(file), ""])


def option_text(option: syntax.Option) -> str:
    """Return the value of an option on one line."""
    return " ".join(_Printer(extensions=True, normalized=False).value(option.value).split())


def escape(text: str) -> str:
    """Return a text as it stands between quotation marks."""
    return text.translate(_ESCAPED)


def _indent(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)


def _quoted(text: str) -> str:
    return f'"{escape(text)}"'


def _block(head: str, *blocks: _Lines, end: str = "}") -> _Lines:
    """Return an element with its members in braces; an empty line separates groups of members."""
    filled = [list(_indent(block)) for block in blocks if block or block is _PRESENT]
    if not filled:
        return [f"{head} {{{end}"]
    lines = [f"{head} {{", *filled[0]]
    for block in filled[1:]:
        lines += ["", *block]
    return [*lines, end]


class _Printer:
    def __init__(self, extensions: bool, normalized: bool) -> None:
        self.extensions = extensions
        self.normalized = normalized
        self.is_edition = False

    def file(self, file: syntax.File) -> _Lines:
        self.is_edition = file.syntax not in ("", "proto2", "proto3")
        keyword = "edition" if self.is_edition else "syntax"
        lines = [f'{keyword} = "{file.syntax}";'] if file.syntax else []
        if file.package:
            lines.append(f"package {file.package};")
        imports = [f'import "{each.path}";' for each in file.imports if not each.kind]
        for kind in ("public", "option"):
            imports += [f'import {kind} "{each.path}";' for each in file.imports if each.kind == kind]
        extends = file.extends if self.extensions else []
        blocks = [
            imports,
            self.declarations(file.options),
            [*_join(map(self.message, file.messages)), *_join(map(self.enum, file.enums))],
            _join(map(self.extend, extends)),
            _join(map(self.service, file.services)),
        ]
        for block in blocks:
            if block:
                lines += ["", *block]
        return lines

    def message(self, message: syntax.Message) -> _Lines:
        plain = [each for each in message.fields if each.oneof is None]
        return _block(
            f"{_visible(message)}message {message.name}",
            [self.reserved(each) for each in message.reserved],
            self.declarations(message.options),
            _join(self.field(each) for each in plain if each.group is None),
            self.oneofs(message),
            _join(self.group(each) for each in plain if each.group is not None),
            _join(self.extension_range(each) for each in message.extensions) if self.extensions else [],
            _join(map(self.extend, message.extends)) if self.extensions else [],
            [*_join(map(self.message, message.messages)), *_join(map(self.enum, message.enums))],
        )

    def field(self, field: syntax.Field) -> _Lines:
        label = f"{field.label} " if field.label else ""
        kind = f"map<{field.key}, {field.type}>" if field.key else field.type
        special = {"default": "", "json_name": ""}
        options = []
        for option in self.printed(field.options):
            if len(option.name) > 1 or option.name[0] not in special:
                options.append(self.option(option))
            elif self.normalized:
                options.append(self.special(field, option))
            else:
                special[option.name[0]] = self.special(field, option)
        options += [each for each in special.values() if each]
        return _suffixed(f"{label}{kind} {field.name} = {field.number}", options)

    def special(self, field: syntax.Field, option: syntax.Option) -> str:
        """Return what looks like an option of a field but is not one."""
        name, value = option.name[0], option.value
        raw = value if isinstance(value, syntax.Word) else _as_java(value)
        return f"{name} = {_quoted(raw) if name == 'json_name' or field.type == 'string' else raw}"

    def group(self, field: syntax.Field) -> _Lines:
        label = f"{field.label} " if field.label else ""
        fields = field.group.fields if field.group is not None else []
        return _block(f"{label}group {field.type} = {field.number}", _join(map(self.field, fields)))

    def oneofs(self, message: syntax.Message) -> _Lines:
        found = [
            self.oneof(oneof, members)
            for oneof, members in zip(message.oneofs, syntax.members_of(message), strict=True)
            if not self.normalized or any(each.group is None for each in members)
        ]
        return _PRESENT if message.oneofs and not found else _join(found)

    def oneof(self, oneof: syntax.Oneof, members: list[syntax.Field]) -> _Lines:
        return _block(
            f"oneof {oneof.name}",
            self.declarations(oneof.options),
            _join(self.field(each) for each in members if each.group is None),
            _join(self.group(each) for each in members if each.group is not None),
        )

    def enum(self, enum: syntax.Enum) -> _Lines:
        values = [
            line for each in enum.values for line in self.enum_value(each.name, each.number, each.options)
        ]
        reserved = [self.reserved(each) for each in enum.reserved]
        return _block(
            f"{_visible(enum)}enum {enum.name}", [*reserved, *self.declarations(enum.options), *values]
        )

    def enum_value(self, name: str, number: int, options: list[syntax.Option]) -> _Lines:
        return _suffixed(f"{name} = {number}", [self.option(each) for each in self.printed(options)])

    def extend(self, extend: syntax.Extend) -> _Lines:
        fields = [each for each in extend.fields if each.group is None]
        return _block(f"extend {extend.target}", _join(map(self.field, fields)))

    def service(self, service: syntax.Service) -> _Lines:
        return _block(
            f"service {service.name}",
            self.declarations(service.options),
            _join(map(self.rpc, service.rpcs)),
        )

    def rpc(self, rpc: syntax.Rpc) -> _Lines:
        request = f"{'stream ' * rpc.request_stream}{rpc.request}"
        response = f"{'stream ' * rpc.response_stream}{rpc.response}"
        head = f"rpc {rpc.name} ({request}) returns ({response})"
        options = self.declarations(rpc.options)
        return _block(head, options, end="};") if options else [f"{head};"]

    def reserved(self, reserved: syntax.Reserved) -> str:
        quote = "" if self.is_edition else '"'
        items = (
            f"{quote}{each}{quote}" if isinstance(each, str) else _range(each) for each in reserved.items
        )
        return f"reserved {', '.join(items)};"

    def extension_range(self, extensions: syntax.Extensions) -> _Lines:
        head = f"extensions {', '.join(map(_range, extensions.ranges))}"
        return _suffixed(head, [self.option(each) for each in self.printed(extensions.options)])

    # Options

    def printed(self, options: list[syntax.Option]) -> list[syntax.Option]:
        """Return the options that are printed; Confluent's own always are."""
        if self.extensions:
            return options
        return [each for each in options if each.name[0][0] != "(" or each.name[0].startswith(CONFLUENT)]

    def declarations(self, options: list[syntax.Option]) -> _Lines:
        return _join(f"option {self.option(each)};".split("\n") for each in self.printed(options))

    def option(self, option: syntax.Option) -> str:
        value = option.value
        if isinstance(value, list) and len(value) == 1:
            # Unlike one within a message, on the line of its brackets.
            return f"{'.'.join(option.name)} = [{self.value(value[0])}]"
        return f"{'.'.join(option.name)} = {self.value(value)}"

    def value(self, value: syntax.Value) -> str:
        if isinstance(value, syntax.Quoted):
            return _quoted(unquote(value))
        if isinstance(value, syntax.Aggregate):
            entries = [f"{name}: {self.value(each)}" for name, each in syntax.merged(value).items()]
            return f"{{\n{_listed(entries)}}}"
        if isinstance(value, list):
            return f"[\n{_listed([self.value(each) for each in value])}]"
        return value


def _as_java(value: syntax.Value) -> str:
    """Return a value as Java prints the objects that the registry has for it."""
    if isinstance(value, syntax.Quoted):
        return unquote(value)
    if isinstance(value, syntax.Aggregate):
        return f"{{{', '.join(f'{name}={_as_java(each)}' for name, each in syntax.merged(value).items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_as_java, value))}]"
    kind = (
        "NUMBER"
        if value[0].isdigit() or value[0] == "-"
        else "BOOLEAN"
        if value in ("true", "false")
        else "ENUM"
    )
    return f"OptionPrimitive(kind={kind}, value={value})"


def _listed(items: list[str]) -> str:
    """Return items on lines of their own, indented."""
    return "".join(f"{line}\n" for line in _indent(",\n".join(items).split("\n")) if items)


def _suffixed(head: str, options: list[str]) -> _Lines:
    """Return an element with its options in brackets: one on its line, several on lines of their own."""
    if not options:
        return [f"{head};"]
    if len(options) == 1:
        return f"{head} [{options[0]}];".split("\n")
    return f"{head} [\n{_listed(options)}];".split("\n")


def _range(numbers: syntax.Range) -> str:
    if len(numbers) == 1:
        return str(numbers[0])
    last = "max" if numbers[1] in (syntax.MAX_NUMBER, 2**31 - 1) else numbers[1]
    return f"{numbers[0]} to {last}"


def _visible(node: syntax.Message | syntax.Enum) -> str:
    return f"{node.visibility} " if node.visibility else ""


def _join(elements: Iterable[_Lines]) -> _Lines:
    return [line for lines in elements for line in lines]
