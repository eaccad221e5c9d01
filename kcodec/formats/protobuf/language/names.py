"""What names of types and extensions mean, in files that import each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, NoReturn

from kcodec.formats.protobuf.language.known import EXTENSIONS, KNOWN, known_file
from kcodec.formats.protobuf.language.syntax import Enum, Extend, Field, File, Message, Option, Word
from kcodec.formats.protobuf.language.tokens import fail

__all__ = ["Extension", "Names", "entry_name", "entry_of", "full_name", "registry_entry_name", "with_known"]


#: Messages and enums that the files of a schema may declare.
MAX_TYPES = 100_000

#: The longest full name: one is looked for in each scope around it.
MAX_NAME = 1024


def full_name(scope: str, name: str) -> str:
    """Return the full name of what a scope declares, which is empty at the top of a file without a package.

    >>> full_name("shop.v1", "Order"), full_name("", "Order")
    ('shop.v1.Order', 'Order')
    """
    return f"{scope}.{name}" if scope else name


class Extension(NamedTuple):
    """A field of another message, and where it was declared."""

    path: str
    scope: str
    target: str
    field: Field


class Names:
    """The declared names of some files.

    Known files count as if they were imported, as the registry has it.
    """

    def __init__(self, files: Mapping[str, File]) -> None:
        #: The files by path; known ones may be added when a name is looked for.
        self.files = dict(files)
        #: What each full name declares, entries of ``map<>`` fields too, and in which file.
        self.types: dict[str, Message | Enum] = {}
        self.paths: dict[str, str] = {}
        #: The names of entries of ``map<>`` fields, which no field can name.
        self.entries: set[str] = set()
        #: By full name.
        self.extensions: dict[str, Extension] = {}
        self._visible: dict[str, set[str]] = {}
        self._found: dict[tuple[str, str, str], str] = {}
        for path in files:
            self._declare(path)

    def find(self, path: str, scope: str, name: str, *, known: bool = True) -> str | None:
        """Return the full name of the type that a name means in a scope of a file; None if there is none.

        The innermost scope comes first; names of files that are not imported are found last, with `known` those of
        known files too.
        """
        key = (path, scope, name)
        if key in self._found:
            return self._found[key]
        visible = self._visible_from(path)
        names = [full for full in candidates(scope, name) if full not in self.entries]
        found = next((full for full in names if self.paths.get(full) in visible), None)
        found = found or next((full for full in names if full in self.types), None)
        if found is not None:
            self._found[key] = found
            return found
        if known and self._declare_known():
            return self.find(path, scope, name)
        return None

    def find_extension(self, scope: str, name: str, *, known: bool = False) -> str | None:
        """Return the full name of an extension, with `known` even of a file that is not imported."""
        if known and not EXTENSIONS.isdisjoint(candidates(scope, name)):
            self._declare_known()
        return next((full for full in candidates(scope, name) if full in self.extensions), None)

    def fail(self, path: str, at: int, message: str) -> NoReturn:
        """Raise a SchemaError at a place of a file."""
        fail(self.files[path].text, at, message, path if len(self.files) > 1 else "")

    def sees(self, path: str, full: str) -> bool:
        """Return whether a file declares a type, or imports it."""
        return self.paths.get(full) in self._visible_from(path)

    def _visible_from(self, path: str) -> set[str]:
        """Return the files whose types one sees: its imports, and what those import publicly, circles or not."""
        if path not in self._visible:
            seen = self._visible[path] = {path}
            pending = [each.path for each in self.files[path].imports if each.kind != "option"]
            while pending:
                each = pending.pop()
                if each in self.files and each not in seen:
                    seen.add(each)
                    pending += [more.path for more in self.files[each].imports if more.kind == "public"]
        return self._visible[path]

    def _declare_known(self) -> bool:
        """Add the known files that are missing; return whether there were any."""
        missing = sorted(KNOWN - self.files.keys())
        for path in missing:
            file = known_file(path)
            nodes: list[Message | Enum] = [*file.messages, *file.enums]
            if not any(f"{file.package}.{each.name}" in self.types for each in nodes):
                self.files[path] = file
                self._declare(path)
            else:
                self.files[path] = File()
        return bool(missing)

    def _declare(self, path: str) -> None:
        file = self.files[path]
        self._declare_types(path, file.package, file.messages, file.enums)
        self._declare_extensions(path, file.package, file.extends)

    def _declare_types(self, path: str, scope: str, messages: list[Message], enums: list[Enum]) -> None:
        for message in messages:
            full = self._add(path, scope, message)
            entries = [entry for field in message.fields if (entry := entry_of(field))]
            self.entries.update(full_name(full, entry.name) for entry in entries)
            groups = [field.group for field in message.fields if field.group]
            self._declare_types(path, full, [*message.messages, *entries, *groups], message.enums)
            self._declare_extensions(path, full, message.extends)
        for enum in enums:
            self._add(path, scope, enum)

    def _declare_extensions(self, path: str, scope: str, extends: list[Extend]) -> None:
        for extend in extends:
            for field in extend.fields:
                full = full_name(scope, field.name)
                self.extensions[full] = Extension(path, scope, extend.target, field)
            self._declare_types(path, scope, [field.group for field in extend.fields if field.group], [])

    def _add(self, path: str, scope: str, node: Message | Enum) -> str:
        full = full_name(scope, node.name)
        if len(full) > MAX_NAME:
            self.fail(path, node.at, f"a name of {len(full)} characters is longer than {MAX_NAME}")
        if full in self.types:
            self.fail(path, node.at, f"{full} is declared twice")
        if len(self.types) == MAX_TYPES:
            self.fail(path, node.at, f"more than {MAX_TYPES} messages and enums")
        self.types[full] = node
        self.paths[full] = path
        return full


def candidates(scope: str, name: str) -> Iterator[str]:
    """Yield the full names that a name may mean, innermost scope first."""
    if name.startswith("."):
        yield name[1:]
        return
    while scope:
        yield f"{scope}.{name}"
        scope = scope.rpartition(".")[0]
    yield name


def entry_name(field: str) -> str:
    """Return the name of the message that the entries of a map field are.

    >>> entry_name("map_field")
    'MapFieldEntry'
    """
    return "".join(each[:1].upper() + each[1:] for each in field.split("_")) + "Entry"


def registry_entry_name(field: str) -> str:
    """Return what the registry calls the entries of a map: not as protoc does."""
    return "".join(map(str.capitalize, field.split("_"))) + "Entry" if "_" in field else f"{field}Entry"


def entry_of(field: Field) -> Message | None:
    """Return the message that the entries of a ``map<>`` are; None for another field."""
    if not field.key:
        return None
    features = [each for each in field.options if each.name[0] == "features"]
    fields = [
        Field("", field.key, "key", 1, features, at=field.at),
        Field("", field.type, "value", 2, features, at=field.at),
    ]
    option = Option(("map_entry",), Word("true"), field.at)
    return Message(entry_name(field.name), fields, options=[option], at=field.at)


def with_known(files: Mapping[str, File]) -> dict[str, File]:
    """Return files with those known files added that they import."""
    found = dict(files)
    pending = list(files.values())
    while pending:
        for each in pending.pop().imports:
            if each.path not in found and each.path in KNOWN:
                found[each.path] = known_file(each.path)
                pending.append(found[each.path])
    return found
