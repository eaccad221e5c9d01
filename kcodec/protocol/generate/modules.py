"""Typed Python modules from message definitions: ``kcodec protocol generate``.

The modules are laid out as ``ruff format`` lays them out, and depend on nothing but the definitions: the same ones give
the same bytes.
"""

import math
import re
import textwrap
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kcodec.errors import ConfigError
from kcodec.protocol.generated import UNKNOWN_ATTRIBUTE, attributes, class_names, keys
from kcodec.protocol.spec.definitions import Definitions
from kcodec.protocol.spec.message import MessageSpec
from kcodec.protocol.spec.model import FieldSpec, StructSpec, snake_case
from kcodec.protocol.spec.text import spec_text

#: Columns that a line may have: what ruff and black allow if they are not told otherwise.
_WIDTH = 88

_TYPES = {
    "bool": "bool",
    "float64": "float",
    "string": "str",
    "bytes": "bytes",
    "records": "bytes",
    "uuid": "uuid.UUID",
}


def module_name(spec: MessageSpec) -> str:
    """Name the module of a message: ``metadata_request``."""
    return snake_case(spec.name)


def package(definitions: Definitions) -> dict[str, str]:
    """Generate a package of one module for each message that has valid versions: the text of each file by its name.

    Raise `ConfigError` if two messages would have one module or a name is none in Python, `SpecError` if a default is
    no value.
    """
    specs = [spec for spec in definitions.values() if not spec.valid_versions.empty]
    files: dict[str, str] = {}
    for spec in specs:
        for each in (spec.name, *spec.structs):
            if not re.fullmatch(r"[A-Z][A-Za-z0-9_]*", each):
                raise ConfigError(f"{spec.name}: {each!r} cannot be the name of a class")
        name = f"{module_name(spec)}.py"
        if name in files:
            raise ConfigError(f"two messages would be in {name}")
        files[name] = module_text(spec)
    imports = "\n".join(sorted(_import(spec) for spec in specs))
    names = "".join(f'    "{spec.name}",\n' for spec in specs)
    files["__init__.py"] = f'"""Kafka\'s messages."""\n\n{imports}\n\n__all__ = [\n{names}]\n'
    files["py.typed"] = ""
    return files


def write_package(definitions: Definitions, folder: Path) -> list[Path]:
    """Write a package of dataclasses, a module for each message.

    Parameters
    ----------
    definitions : Definitions
        The messages.
    folder : pathlib.Path
        Where it goes; what else is there stays.

    Returns
    -------
    list of pathlib.Path
        The files of the package.

    Raises
    ------
    OSError
        If a file cannot be written.
    ConfigError
        If two messages would have one module, or a name is none in Python.
    SpecError
        If a default is no value.
    """
    files = package(definitions)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, text in sorted(files.items()):
        path = folder / name
        path.write_text(text, encoding="utf-8", newline="\n")
        written.append(path)
    return written


def _import(spec: MessageSpec) -> str:
    line = f"from .{module_name(spec)} import {spec.name}"
    return line if len(line) <= _WIDTH else f"from .{module_name(spec)} import (\n    {spec.name},\n)"


def module_text(spec: MessageSpec) -> str:
    """Generate the module of one message."""
    return "".join(f"{line}\n" if line.strip() else "\n" for line in _Module(spec).lines())


class _Module:
    def __init__(self, spec: MessageSpec) -> None:
        self.spec = spec
        self.structs = spec.structs
        self.names = class_names(spec)
        self.used = [
            field
            for struct in (spec.struct, *self.structs.values())
            for field in attributes(spec, struct).values()
        ]
        self.keyed = {
            field.type.element
            for field in self.used
            if field.type.is_struct_array and keys(spec, self.structs[field.type.element])
        }

    def lines(self) -> Iterator[str]:
        spec = self.spec
        number = "" if spec.api_key is None else f" {spec.api_key}"
        yield f'"""{spec.name}: {spec.type}{number}, versions {spec.valid_versions}."""'
        yield ""
        if any(field.type.element == "uuid" for field in self.used):
            yield "import uuid"
        yield from ["from dataclasses import dataclass, field", "from typing import ClassVar", ""]
        imported = ["Message", "UnknownTaggedField"]
        if any(str(field.type) == "uuid" and not field.default_value.int for field in self.used):
            imported.append("ZERO_UUID")
        if self.keyed:
            imported.append("Collection")
        yield f"from kcodec.protocol.generated import {', '.join(_sorted(imported))}"
        yield ""
        structs = self.ordered()
        names = [self.names[struct.name, False] for struct in structs]
        names += [self.names[struct.name, True] for struct in structs if struct.name in self.keyed]
        yield from _list("__all__ = ", sorted([*names, spec.name]))
        yield from ["", '_DEFINITION = r"""']
        yield spec_text(spec)
        yield '"""'
        for struct in structs:
            yield from ["", "", "@dataclass(slots=True)", f"class {self.names[struct.name, False]}:"]
            yield from self.docstring(f"{struct.name}, versions {struct.versions}.", struct)
            yield ""
            yield from self.fields(struct)
            if struct.name in self.keyed:
                yield from ["", ""]
                yield from self.collection(struct)
        yield from ["", "", "@dataclass(slots=True)", f"class {spec.name}(Message):"]
        flexible = "" if spec.flexible_versions.empty else f", flexible {spec.flexible_versions}"
        yield from self.docstring(f"{spec.name}, versions {spec.valid_versions}{flexible}.", spec.struct)
        yield from [
            "",
            f"    API_KEY: ClassVar[int | None] = {spec.api_key}",
            f'    VALID_VERSIONS: ClassVar[str] = "{spec.valid_versions}"',
            f'    FLEXIBLE_VERSIONS: ClassVar[str] = "{spec.flexible_versions}"',
            "    DEFINITION: ClassVar[str] = _DEFINITION",
            "",
        ]
        yield from self.fields(spec.struct)

    def ordered(self) -> list[StructSpec]:
        """Return the structs, inner ones before those that hold them."""
        found: dict[str, StructSpec] = {}

        def collect(struct: StructSpec) -> None:
            for field in struct.fields:
                if field.type.has_struct and field.type.element not in found:
                    inner = self.structs[field.type.element]
                    collect(inner)
                    found[inner.name] = inner

        for struct in (self.spec.struct, *self.structs.values()):
            collect(struct)
            if struct.name in self.structs:
                found.setdefault(struct.name, struct)
        return list(found.values())

    def docstring(self, title: str, struct: StructSpec) -> Iterator[str]:
        about: list[str] = []
        indent = "    "
        for name, field in attributes(self.spec, struct).items():
            says = [f"{_plain(field.about)} " if field.about else "", f"Versions {field.versions}"]
            says += [f", nullable {field.nullable_versions}"] if not field.nullable_versions.empty else []
            says += [f", tag {field.tag} in {field.tagged_versions}"] if field.tag is not None else []
            says += [", ignorable"] if field.ignorable else []
            about += [f"{name} : {self.annotation(field)}"]
            about += textwrap.wrap(
                "".join(says) + ".", _WIDTH - len(indent) - 4, initial_indent="    ", subsequent_indent="    "
            )
        raw = "r" if any("\\" in line for line in about) else ""
        if not about:
            yield f'{indent}{raw}"""{title}"""'
            return
        yield from [f'{indent}{raw}"""{title}', "", f"{indent}Attributes", f"{indent}----------"]
        yield from (indent + line for line in about)
        yield f'{indent}"""'

    def annotation(self, field: FieldSpec) -> str:
        element = field.type.element
        kind = self.names[element, False] if field.type.has_struct else _TYPES.get(element, "int")
        if field.type.is_array:
            kind = self.names[element, True] if element in self.keyed else f"list[{kind}]"
        none = not field.nullable_versions.empty or str(field.type) == "records"
        return f"{kind} | None" if none else kind

    def fields(self, struct: StructSpec) -> Iterator[str]:
        for name, field in attributes(self.spec, struct).items():
            yield from _assignment(name, self.annotation(field), *self.default(field))
        yield from _assignment(UNKNOWN_ATTRIBUTE, "list[UnknownTaggedField]", "", "list")

    def default(self, field: FieldSpec) -> tuple[str, str]:
        """Return the default, or else the class that makes it."""
        value = field.default_value
        if value is None or str(field.type) == "records":
            return "None", ""
        element = field.type.element
        if field.type.is_array:
            return "", self.names[element, True] if element in self.keyed else "list"
        return ("", self.names[element, False]) if field.type.is_struct else (_literal(value), "")

    def collection(self, struct: StructSpec) -> Iterator[str]:
        item = self.names[struct.name, False]
        by = keys(self.spec, struct)
        parameters = ("self", *(f"{name}: {self.annotation(field)}" for name, field in by.items()))
        arguments = tuple(f"{name}={name}" for name in by)
        yield from _call("", f"class {self.names[struct.name, True]}", (f"Collection[{item}]",), ":")
        yield f'    """{item} by {", ".join(by)}."""'
        yield from ["", "    __slots__ = ()"]
        for name, says, returns in (
            ("find", "Return the first of a key, if there is one.", f"{item} | None"),
            ("find_all", "Return all of a key, in their order.", f"list[{item}]"),
        ):
            yield ""
            yield from _call("    ", f"def {name}", parameters, f" -> {returns}:")
            yield f'        """{says}"""'
            yield from _call(" " * 8, f"return self._{name}", arguments)


def _sorted(names: list[str]) -> list[str]:
    """Order names as ruff orders imports: constants first."""
    return sorted(names, key=lambda name: (not name.isupper(), name))


def _plain(text: str) -> str:
    """Make text fit for a docstring."""
    shown = "".join(letter for letter in " ".join(text.split()) if letter.isprintable())
    return shown.replace('"""', "'''")


def _literal(value: Any) -> str:
    if isinstance(value, uuid.UUID):
        return f"field(default=uuid.UUID(int={value.int}))" if value.int else "ZERO_UUID"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, bytes):
        return 'b""'
    if not isinstance(value, str):
        return repr(value)
    quote = '"' if value.count('"') <= value.count("'") else "'"
    letters = (
        f"\\{quote}" if each == quote else each if each in "'\"" else repr(each)[1:-1] for each in value
    )
    return f"{quote}{''.join(letters)}{quote}"


def _call(indent: str, function: str, arguments: tuple[str, ...], tail: str = "") -> list[str]:
    """Lay out a call as ruff does: on a line, the arguments on a line, or one to a line."""
    line = f"{indent}{function}({', '.join(arguments)}){tail}"
    if len(line) <= _WIDTH:
        return [line]
    inner = f"{indent}    {', '.join(arguments)}"
    rows = [inner] if len(inner) <= _WIDTH else [f"{indent}    {argument}," for argument in arguments]
    return [f"{indent}{function}(", *rows, f"{indent}){tail}"]


def _list(head: str, names: list[str]) -> list[str]:
    quoted = [f'"{name}"' for name in names]
    line = f"{head}[{', '.join(quoted)}]"
    return [line] if len(line) <= _WIDTH else [f"{head}[", *(f"    {name}," for name in quoted), "]"]


def _assignment(name: str, annotation: str, value: str, factory: str) -> list[str]:
    """Lay out a field of a dataclass as ruff does."""
    head = f"    {name}: {annotation} = "
    if factory:
        value = f"field(default_factory={factory})"
    if len(head) + len(value) <= _WIDTH:
        return [head + value]
    if factory and len(head) + len("field(") <= _WIDTH:
        return [f"{head}field(", f"        default_factory={factory}", "    )"]
    if factory and len(head) + 1 <= _WIDTH:
        return [f"{head}(", f"        {value}", "    )"]
    return [f"{head}{value}  # fmt: skip"]
