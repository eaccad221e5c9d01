"""The tree that a registry keeps if asked to normalize: sorted, with full names, without parts that mean nothing."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import replace
from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation

from kcodec.formats.protobuf.descriptor import SCALARS
from kcodec.formats.protobuf.language import syntax
from kcodec.formats.protobuf.language.known import KNOWN
from kcodec.formats.protobuf.language.literals import unquote
from kcodec.formats.protobuf.language.names import Names, full_name
from kcodec.java.numbers import format_java_double, format_java_float

#: What numbers are rounded to, with digits enough for all doubles and some beyond.
_THOUSANDTH = Decimal("0.001")
_ENOUGH = Context(prec=5000)

#: What looks like an option of a field, and the types whose defaults the registry takes for numbers.
_ATTRIBUTES = (("default",), ("json_name",))
_NUMBERS = SCALARS - {"bool", "string"}


def normalize(names: Names, path: str) -> syntax.File:
    """Return the normalized tree of a file; `SchemaError` if a type cannot be resolved."""
    return _Normalizer(names, path).file()


def check_names(names: Names, path: str) -> None:
    """Check that the types that a file names exist, those of maps excepted, as the registry does.

    The first that does not is a `SchemaError` with its place.
    """
    _Normalizer(names, path).file()


class _Normalizer:
    def __init__(self, names: Names, path: str) -> None:
        self.names = names
        self.path = path

    def type(self, scope: str, name: str, at: int) -> str:
        """Return a type's full name with a dot in front."""
        if name in SCALARS:
            return name
        full = self.names.find(self.path, scope, name)
        if full is None:
            self.names.fail(self.path, at, f"unknown type {name}")
        return f".{full}"

    def value_type(self, scope: str, name: str) -> str:
        """Return the full name of the type of a map's values; the registry lets unknown ones pass."""
        full = None if name in SCALARS else self.names.find(self.path, scope, name)
        return name if full is None else f".{full}"

    def file(self) -> syntax.File:
        file = self.names.files[self.path]
        scope = file.package
        kinds = {kind: {each.path for each in file.imports if each.kind == kind} for kind in ("", "public")}
        return syntax.File(
            syntax=file.syntax if file.syntax != "proto2" else "",
            package=file.package,
            imports=[syntax.Import(path, kind) for kind, paths in kinds.items() for path in sorted(paths)],
            options=self.options(scope, file.options),
            messages=[self.message(scope, each) for each in file.messages if not syntax.is_map_entry(each)],
            enums=[self.enum(scope, each) for each in file.enums],
            extends=self.extends(scope, file.extends),
            services=[self.service(scope, each) for each in file.services],
        )

    def message(self, scope: str, node: syntax.Message) -> syntax.Message:
        full = full_name(scope, node.name)
        fields = self.fields(full, node.fields)
        first = {id(each.oneof): each.number for each in reversed(fields) if each.group is None}
        oneofs = {
            id(each): replace(each, options=self.options(full, each.options))
            for each in sorted(node.oneofs, key=lambda each: first.get(id(each), 0))
        }
        for each in fields:
            each.oneof = oneofs[id(each.oneof)] if each.oneof is not None else None
        return syntax.Message(
            node.name,
            fields,
            list(oneofs.values()),
            [self.message(full, each) for each in node.messages if not syntax.is_map_entry(each)],
            [self.enum(full, each) for each in node.enums],
            self.extends(full, node.extends),
            self.extensions(full, node.extensions),
            _reserved(node.reserved),
            self.options(full, node.options),
        )

    def fields(self, scope: str, nodes: Iterable[syntax.Field]) -> list[syntax.Field]:
        return sorted((self.field(scope, each) for each in nodes), key=lambda each: each.number)

    def field(self, scope: str, node: syntax.Field) -> syntax.Field:
        attributes = _attributes(node)
        options = self.options(scope, [each for each in node.options if each.name not in _ATTRIBUTES])
        options = sorted([*attributes, *options], key=lambda each: each.name[0].strip("()"))
        if node.group is not None:
            group = replace(node.group, fields=self.fields(scope, node.group.fields))
            return replace(node, group=group, options=options)
        if node.key:
            return replace(node, type=self.value_type(scope, node.type), options=options)
        kind = self.type(scope, node.type, node.at)
        entry = self.names.types.get(kind[1:]) if node.label == "repeated" else None
        if isinstance(entry, syntax.Message) and syntax.is_map_entry(entry):
            members = {each.number: each for each in entry.fields}
            if 1 in members and 2 in members:
                value = self.value_type(kind[1:], members[2].type)
                return replace(node, label="", key=members[1].type, type=value, options=options)
        return replace(node, type=kind, options=options)

    def enum(self, scope: str, node: syntax.Enum) -> syntax.Enum:
        values = [
            replace(each, options=self.options(scope, each.options))
            for each in sorted(node.values, key=lambda each: (each.number, each.name))
        ]
        return replace(
            node,
            values=values,
            options=self.options(scope, node.options),
            reserved=_reserved(node.reserved),
        )

    def extends(self, scope: str, nodes: list[syntax.Extend]) -> list[syntax.Extend]:
        found: dict[str, list[syntax.Field]] = {}
        for each in nodes:
            found.setdefault(self.type(scope, each.target, each.at), []).extend(each.fields)
        return [syntax.Extend(target, self.fields(scope, fields)) for target, fields in found.items()]

    def extensions(self, scope: str, nodes: list[syntax.Extensions]) -> list[syntax.Extensions]:
        found = [
            syntax.Extensions([_shortened(numbers)], self.options(scope, each.options))
            for each in nodes
            for numbers in each.ranges
        ]
        return sorted(found, key=lambda each: each.ranges[0])

    def service(self, scope: str, node: syntax.Service) -> syntax.Service:
        rpcs = [self.rpc(scope, each) for each in node.rpcs]
        return replace(node, rpcs=rpcs, options=self.options(scope, node.options))

    def rpc(self, scope: str, node: syntax.Rpc) -> syntax.Rpc:
        return replace(
            node,
            request=self.type(scope, node.request, node.at),
            response=self.type(scope, node.response, node.at),
            options=self.options(scope, node.options),
        )

    # Options

    def options(self, scope: str, nodes: list[syntax.Option]) -> list[syntax.Option]:
        """Return options sorted by name; what is said of one message in several statements is put together."""
        found: list[syntax.Option] = []
        merged: dict[str, syntax.Option] = {}
        for each in nodes:
            full = None
            if each.name[0].startswith("("):
                full = self.names.find_extension(scope, each.name[0][1:-1], known=True)
            if full is None:
                found.append(replace(each))
                continue
            option = syntax.Option((f"({full})",), _wrapped(each), each.at)
            if self.names.extensions[full].field.label == "repeated":
                found.append(option)
            elif full not in merged:
                merged[full] = option
                found.append(option)
            else:
                before, after = merged[full].value, option.value
                if isinstance(before, syntax.Aggregate) and isinstance(after, syntax.Aggregate):
                    after = self.merge(self.message_of(full), before, after)
                merged[full].value = after
        for each in found:
            # Of a list only what it has is taken out of lists of one element, not that which is the value itself.
            value = each.value
            parts = value if isinstance(value, list) else [value]
            normal = [_normal(part, lambda name: self.member(scope, name)) for part in parts]
            each.value = normal if isinstance(value, list) else normal[0]
        return sorted(found, key=lambda each: each.name[0].strip("()"))

    def member(self, scope: str, name: str) -> str:
        """Return the name of a field of an option's value, that of an extension in full."""
        full = self.names.find_extension(scope, name[1:-1]) if name[:1] == "[" else None
        return name if full is None else f"[{full}]"

    def message_of(self, extension: str) -> str | None:
        """Return the full name of the message that an extension is."""
        path, scope, _, field = self.names.extensions[extension]
        return self.names.find(path, scope, field.type)

    def merge(
        self, message: str | None, before: syntax.Aggregate, after: syntax.Aggregate
    ) -> syntax.Aggregate:
        """Join two values of one message.

        Of messages whose types stand in the message that holds them the registry keeps the later only. What a field
        has several times is put together, once what is equal; so it is of a field that the message does not declare.
        """
        node = self.names.types.get(message or "")
        members = {each.name: each for each in node.fields} if isinstance(node, syntax.Message) else {}
        path = self.names.paths.get(message or "", "")
        found = dict(before.entries)
        for name, value in after.entries:
            member, old = members.get(name), found.get(name)
            # In the registry's own known files, maps are lists of entries.
            is_list = member is None or member.label == "repeated" or (member.key and path in KNOWN)
            if old is not None and is_list:
                found[name] = _distinct([*_elements(old), *_elements(value)])
            elif (
                isinstance(old, syntax.Aggregate)
                and isinstance(value, syntax.Aggregate)
                and member
                and not member.key
            ):
                package = self.names.files[path].package
                kind = self.names.find(path, package, member.type, known=False)
                found[name] = value if kind is None else self.merge(kind, old, value)
            else:
                found[name] = value
        return syntax.Aggregate(list(found.items()))


def _attributes(node: syntax.Field) -> list[syntax.Option]:
    """Return the default and the JSON name of a field, the last of each: the registry has neither among the options.

    They stay as they are written, but for defaults of numbers and bytes that are numbers.
    """
    last = {each.name: replace(each) for each in node.options if each.name in _ATTRIBUTES}
    default = last.get(("default",))
    if default is not None and node.type in _NUMBERS and not node.key:
        value = default.value
        word = unquote(value) if isinstance(value, syntax.Quoted) else value
        if isinstance(word, str):
            sign, digits = ("-", word[1:]) if word[:1] == "-" else ("", word)
            is_fraction = digits[:1] == "." and digits[1:2].isdigit()
            default.value = _number(syntax.Word(f"{sign}0{digits}" if is_fraction else word))
    return list(last.values())


def _elements(value: syntax.Value) -> list[syntax.Value]:
    return value if isinstance(value, list) else [value]


def _distinct(values: list[syntax.Value]) -> list[syntax.Value]:
    texts = {repr(_plain(_normal(each, str))): each for each in reversed(values)}
    return list(reversed(texts.values()))


def _plain(value: syntax.Value) -> object:
    """Return what tells values apart: texts by what they say, however they are written."""
    if isinstance(value, syntax.Aggregate):
        return [(name, _plain(each)) for name, each in value.entries]
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return (unquote(value),) if isinstance(value, syntax.Quoted) else value


def _wrapped(option: syntax.Option) -> syntax.Value:
    """Return the value of an option with the names after its first as messages around it."""
    value = option.value
    for name in reversed(option.name[1:]):
        value = syntax.Aggregate([(name.strip("()"), value)])
    return value


def _normal(value: syntax.Value, full_name_of: Callable[[str], str]) -> syntax.Value:
    """Return a value with sorted names, lists of one element as that element, and numbers as the registry has them."""
    if isinstance(value, syntax.Aggregate):
        # Lists without an element are dropped; of names that come to be the same the last one counts.
        entries = {
            full_name_of(name): _normal(each, full_name_of)
            for name, each in sorted(syntax.merged(value).items(), key=lambda each: each[0])
            if each != []
        }
        return syntax.Aggregate(sorted(entries.items(), key=lambda each: each[0]))
    if isinstance(value, list):
        values = [_normal(each, full_name_of) for each in value]
        return values[0] if len(values) == 1 else values
    return _number(value) if isinstance(value, syntax.Word) else value


def _number(word: syntax.Word) -> syntax.Word:
    """Return a number with at most three decimals, as the registry prints it; other words as they are."""
    digits = word.removeprefix("-")
    if not digits[:1].isdigit() or "_" in digits:
        return word
    try:
        if digits[:2] in ("0x", "0X"):
            value = Decimal(int(digits, 16))
        else:
            suffix = digits[-1].lower() if digits[-1] in "fFdDlL" else ""
            digits = digits.removesuffix(digits[-1]) if suffix else digits
            if digits.isdigit() and suffix not in ("f", "d"):
                # As Java's Long.decode has it.
                value = Decimal(int(digits, 8) if digits[0] == "0" else int(digits))
            elif suffix == "l":
                return word
            else:
                value = _fraction(digits, suffix)
    except (ValueError, InvalidOperation):
        return word
    text = f"{value:f}"
    is_whole = "." not in text
    text = text if is_whole else text.rstrip("0").rstrip(".")
    # Whole zeros have no sign.
    return syntax.Word(f"-{text}" if word.startswith("-") and not (is_whole and text == "0") else text)


def _fraction(digits: str, suffix: str) -> Decimal:
    """Return a number with a point or an exponent as commons-lang reads it and NumberFormat rounds it.

    That is as a float if that prints as the double does, as a double if that is all of it, or exactly; with f or d
    behind it as that, unless it is too large or too small.
    """
    number = float(digits)
    try:
        (narrow,) = struct.unpack("<f", struct.pack("<f", number))
    except OverflowError:
        narrow = 0.0
    exact = Decimal(digits)
    is_finite = number - number == 0 and bool(number or not exact)
    if (narrow or not exact) and narrow - narrow == 0 and (suffix == "f" or _prints_as(narrow, number)):
        number = narrow
    elif not is_finite or (suffix != "d" and exact != Decimal(repr(number))):
        return exact.quantize(_THOUSANDTH, ROUND_HALF_EVEN, _ENOUGH)
    # The fewest digits that tell a double; it is rounded by what it is.
    shown = Decimal(repr(number))
    found = shown if shown == shown.quantize(_THOUSANDTH, ROUND_HALF_EVEN, _ENOUGH) else Decimal(number)
    return found.quantize(_THOUSANDTH, ROUND_HALF_EVEN, _ENOUGH)


def _prints_as(narrow: float, number: float) -> bool:
    return format_java_float(narrow) == format_java_double(number)


def _shortened(numbers: syntax.Range) -> syntax.Range:
    return numbers[:1] if numbers[0] == numbers[-1] else numbers


def _reserved(nodes: list[syntax.Reserved]) -> list[syntax.Reserved]:
    """Return reserved numbers and names, one a statement, numbers first."""
    items = [each for node in nodes for each in node.items]
    numbers = sorted(_shortened(each) for each in items if not isinstance(each, str))
    names = sorted(each for each in items if isinstance(each, str))
    return [*(syntax.Reserved([each]) for each in numbers), *(syntax.Reserved([each]) for each in names)]
