"""Texts that can be read but, according to protobuf-java, have no descriptor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from kcodec.formats.protobuf.descriptor import SCALARS
from kcodec.formats.protobuf.language import syntax
from kcodec.formats.protobuf.language.literals import unquote
from kcodec.formats.protobuf.language.names import Names, full_name, registry_entry_name
from kcodec.java.numbers import integer_bounds, parse_java_double

#: Types whose repeated values are never packed.
_NEVER_PACKED = ("string", "bytes")

_BITS = {
    **dict.fromkeys(["int32", "sint32", "sfixed32"], (32, True)),
    **dict.fromkeys(["uint32", "fixed32"], (32, False)),
    **dict.fromkeys(["int64", "sint64", "sfixed64"], (64, True)),
    **dict.fromkeys(["uint64", "fixed64"], (64, False)),
}

#: The constants of options that are enums; of others that are, unknown ones are lost.
_CONSTANTS = {
    "ctype": ("STRING", "CORD", "STRING_PIECE"),
    "jstype": ("JS_NORMAL", "JS_STRING", "JS_NUMBER"),
    "targets": (
        "TARGET_TYPE_UNKNOWN",
        "TARGET_TYPE_FILE",
        "TARGET_TYPE_EXTENSION_RANGE",
        "TARGET_TYPE_MESSAGE",
        "TARGET_TYPE_FIELD",
        "TARGET_TYPE_ONEOF",
        "TARGET_TYPE_ENUM",
        "TARGET_TYPE_ENUM_ENTRY",
        "TARGET_TYPE_SERVICE",
        "TARGET_TYPE_METHOD",
    ),
    "optimize_for": ("SPEED", "CODE_SIZE", "LITE_RUNTIME"),
    "idempotency_level": ("IDEMPOTENCY_UNKNOWN", "NO_SIDE_EFFECTS", "IDEMPOTENT"),
}

#: Options of a field that are messages.
_MESSAGES = ("edition_defaults", "feature_support", "features")


def check_descriptors(names: Names, path: str) -> None:
    """Check a file as protobuf-java does that makes a descriptor of it; `SchemaError` with line and column.

    Names that stand twice in one scope, numbers of fields, enums without values, maps in oneofs, types that are not
    imported or that an inner name hides, defaults of another type, options that are no constant of their enum, what
    cannot be packed, and extensions beyond the ranges that are declared for them. Groups have no descriptor there, so
    nobody looks at them.
    """
    file = names.files[path]
    if file.misnamed is not None:
        names.fail(path, *file.misnamed)
    check = _Check(names, path)
    check.constants(file.options, "optimize_for")
    check.level(file.package, file.messages, file.enums, file.extends, file.services)


class _Check:
    """One file that is checked."""

    def __init__(self, names: Names, path: str) -> None:
        self.names = names
        self.path = path

    def fail(self, at: int, message: str) -> NoReturn:
        self.names.fail(self.path, at, message)

    def level(
        self,
        scope: str,
        messages: Sequence[syntax.Message],
        enums: Sequence[syntax.Enum],
        extends: Sequence[syntax.Extend],
        others: Sequence[syntax.Field | syntax.Service] = (),
    ) -> None:
        """Check what stands in a scope, its fields or services among it."""
        extensions = [field for each in extends for field in each.fields]
        self.distinct([*messages, *enums, *extensions, *others])
        for message in messages:
            self.message(scope, message)
        for enum in enums:
            if not enum.values:
                self.fail(enum.at, f"the enum {enum.name} has no value")
            self.distinct(enum.values)
        for extend in extends:
            self.extend(scope, extend)
        for other in others:
            if isinstance(other, syntax.Service):
                self.service(scope, other)

    def distinct(self, nodes: Sequence[object]) -> None:
        """Refuse two that have one name."""
        known: set[str] = set()
        for node in nodes:
            name = node.name  # type: ignore[attr-defined]
            if name in known:
                self.fail(node.at, f"{name} is declared twice")  # type: ignore[attr-defined]
            known.add(name)

    def constants(self, options: list[syntax.Option], *names: str) -> None:
        """Refuse what is no constant of the enum that an option is."""
        for name in names:
            value = syntax.find_option(options, name)
            word = unquote(value) if isinstance(value, syntax.Quoted) else value
            if value is not None and word not in _CONSTANTS[name]:
                at = next(each.at for each in options if each.name == (name,))
                self.fail(at, f"the value of the option {name} is not a constant of its enum")

    def message(self, scope: str, node: syntax.Message) -> None:
        inner = full_name(scope, node.name)
        fields = [field for field in node.fields if field.group is None]
        # Entries of maps are messages among the fields.
        entries = [
            syntax.Field("", "", registry_entry_name(field.name), 0, at=field.at)
            for field in fields
            if field.key
        ]
        self.level(inner, node.messages, node.enums, node.extends, [*fields, *entries])
        numbers: set[int] = set()
        for field in fields:
            if field.number <= 0 or field.number in numbers:
                self.fail(field.at, f"{field.number} is not a number of its own for {field.name}")
            numbers.add(field.number)
            if field.key and field.oneof is not None:
                self.fail(field.at, f"the map {field.name} is in a oneof")
            self.field(inner, field)

    def field(self, scope: str, field: syntax.Field) -> None:
        """Check the type of a field, whether it can be packed, and its default."""
        node = None if field.type in SCALARS else self.type(scope, field.type, field.at)
        is_message = bool(field.key) or isinstance(node, syntax.Message)
        if syntax.find_option(field.options, "packed") == "true" and (
            field.label != "repeated" or is_message or field.type in _NEVER_PACKED
        ):
            self.fail(field.at, f"{field.name} cannot be packed")
        self.constants(field.options, "ctype", "jstype", "targets")
        for option in field.options:
            if (
                option.name[0] in _MESSAGES
                and option.name[1:] == ()
                and not isinstance(option.value, syntax.Aggregate)
            ):
                self.fail(option.at, f"the value of the option {option.name[0]} is not a message")
        default = syntax.find_option(field.options, "default")
        if default is None or isinstance(default, (syntax.Aggregate, list)):
            return
        if field.label == "repeated" or is_message:
            self.fail(field.at, f"{field.name} has no default: it is repeated or a message")
        text = unquote(default) if isinstance(default, syntax.Quoted) else str(default)
        if not _is_of(field.type, node, text):
            self.fail(field.at, f"the default of {field.name} is not of type {field.type}")

    def type(self, scope: str, name: str, at: int) -> syntax.Message | syntax.Enum:
        """Find a type as protobuf-java does: what the first part of its name means hides all outer ones."""
        full = self.names.find(self.path, scope, name)
        first, _, rest = name.partition(".")
        if full is not None and first and rest:
            outer = self.names.find(self.path, scope, first, known=False)
            if outer is not None and len(outer) > len(full) - len(rest) - 1:
                full = None
        if full is None or not self.names.sees(self.path, full):
            self.fail(at, f"{name} is not imported")
        return self.names.types[full]

    def extend(self, scope: str, node: syntax.Extend) -> None:
        target = self.type(scope, node.target, node.at)
        if not isinstance(target, syntax.Message):
            self.fail(node.at, f"{node.target} is not a message")
        ranges = [each for extensions in target.extensions for each in extensions.ranges]
        for field in node.fields:
            if not any(each[0] <= field.number <= each[-1] for each in ranges):
                self.fail(field.at, f"{node.target} has no room for an extension of number {field.number}")
            if field.group is None:
                self.field(scope, field)

    def service(self, scope: str, node: syntax.Service) -> None:
        self.distinct(node.rpcs)
        for rpc in node.rpcs:
            self.constants(rpc.options, "idempotency_level")
            for name in (rpc.request, rpc.response):
                if not isinstance(self.type(scope, name, rpc.at), syntax.Message):
                    self.fail(rpc.at, f"{name} is not a message")


def _is_of(kind: str, node: syntax.Message | syntax.Enum | None, text: str) -> bool:
    """Return whether a text is a default of a type."""
    if isinstance(node, syntax.Enum):
        return any(each.name == text for each in node.values)
    if kind in ("float", "double"):
        return text in ("inf", "-inf", "nan") or _is_double(text)
    if kind not in _BITS:
        return True
    bits, is_signed = _BITS[kind]
    low, high = integer_bounds(bits)
    number = _integer(text)
    if number is None:
        return False
    return low <= number <= high if is_signed else 0 <= number <= high - low


def _integer(text: str) -> int | None:
    """Read an integer as protobuf's text format does: digits behind a zero are octal."""
    digits = text.removeprefix("-")
    base = 16 if digits.startswith("0x") else 8 if digits.startswith("0") else 10
    try:
        number = int(digits.removeprefix("0x"), base)
    except ValueError:
        return None
    return -number if text.startswith("-") else number


def _is_double(text: str) -> bool:
    try:
        parse_java_double(text)
    except ValueError:
        return False
    return True
