"""A Protobuf schema: a main file and what it imports, from texts or descriptors, resolved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from kcodec.errors import ConfigError, SchemaError
from kcodec.formats.protobuf.descriptor import EnumType, FieldType, MessageType
from kcodec.formats.protobuf.language.descriptor_set import read_descriptors
from kcodec.formats.protobuf.language.editions import check_editions
from kcodec.formats.protobuf.language.link import Linked, link
from kcodec.formats.protobuf.language.names import Names, full_name, with_known
from kcodec.formats.protobuf.language.parse import parse
from kcodec.formats.protobuf.language.syntax import File, Message


class ProtobufSchema:
    """A schema whose names are resolved.

    Two are equal if they were made from the same texts or bytes.

    >>> schema = ProtobufSchema.parse('syntax = "proto3"; package p; message M { message N { int32 a = 1; } }')
    >>> schema.message().name, schema.message([0, 0]).name, schema.indexes("p.M.N")
    ('p.M', 'p.M.N', [0, 0])
    >>> [field.name for field in schema.message("M.N").fields]
    ['a']
    """

    def __init__(
        self,
        sources: tuple[tuple[str, str | bytes], ...],
        places: Mapping[str, tuple[str, int]] | None = None,
    ) -> None:
        self.sources = sources
        #: By path of the imports that the schema itself refers to: under which subject and version a registry has them.
        self.places = dict(places or {})
        files: dict[str, File] = {}
        for path, source in sources:
            if isinstance(source, bytes):
                trees = read_descriptors(source)
                if path and len(trees) == 1:
                    # An import is known by the path that it was given under.
                    trees = dict.fromkeys([path], *trees.values())
                for name, tree in trees.items():
                    files.setdefault(name, tree)
            else:
                files.setdefault(path, _parse(path if len(sources) > 1 else "", source))
        #: The trees by path: the main one, what it imports, and the known files among those.
        self.files = with_known(files)
        #: The main file's path, often empty, and its tree.
        self.path, self.main = next(iter(files.items()))

    @classmethod
    def parse(cls, source: Any, imports: Mapping[str, str] | None = None) -> ProtobufSchema:
        """Return the schema of any source, or raise `SchemaError` with line and column of what is wrong.

        A source is the text of a .proto file; texts by path, of which the first is the main one; bytes of a
        FileDescriptorSet, or of one FileDescriptorProto; a generated class or a descriptor of google.protobuf.
        `imports` are the texts of imported files, by path.
        """
        schema = cls.of(source, imports)
        schema._linked  # noqa: B018 - it may fail
        return schema

    @classmethod
    def of(
        cls,
        source: Any,
        imports: Mapping[str, str | bytes] | None = None,
        places: Mapping[str, tuple[str, int]] | None = None,
    ) -> ProtobufSchema:
        """Return the schema of any source, without looking whether its names mean anything; see `parse`."""
        more = tuple((imports or {}).items())
        if isinstance(source, ProtobufSchema):
            return source
        if isinstance(source, str):
            return cls((("", source), *more), places)
        if isinstance(source, (bytes, bytearray, memoryview)):
            return cls((("", bytes(source)), *more), places)
        if isinstance(source, Mapping):
            if not source:
                raise SchemaError("no file is given")
            return cls((*source.items(), *more))
        found = _descriptors(source)
        if found is None:
            raise SchemaError(f"a Protobuf schema is not made from {type(source).__name__}")
        return cls((*found, *more))

    @cached_property
    def names(self) -> Names:
        """What names mean in the files."""
        return Names(self.files)

    @cached_property
    def _linked(self) -> Linked:
        linked = link(self.names)
        check_editions(self.names, linked)
        return linked

    @property
    def messages(self) -> dict[str, MessageType]:
        """All messages by full name, the main file's first, entries of maps and groups too."""
        return self._linked.messages

    @property
    def enums(self) -> dict[str, EnumType]:
        """All enums by full name."""
        return self._linked.enums

    @property
    def extensions(self) -> dict[str, FieldType]:
        """All extensions by full name."""
        return self._linked.extensions

    def message(self, name: str | Sequence[int] | None = None) -> MessageType:
        """Return a message by its name or its indexes, by default the first of the main file.

        A name is the full one; or one without its package, or the last part of one, where that means one message only.
        It is a `SchemaError` if there is no such message, or more than one.
        """
        if name is not None and not isinstance(name, (str, Sequence)):
            raise ConfigError(f"message={name!r} is not a name, nor a list of indexes")
        if not isinstance(name, str):
            return self.messages[self._at(() if name is None else tuple(name))]
        full = name.removeprefix(".")
        if full in self.messages:
            return self.messages[full]
        ends = [each for each in self._numbered if each.endswith(f".{full}")]
        if not ends:
            ends = [
                each
                for each, kind in self.messages.items()
                if each.endswith(f".{full}") and not kind.map_entry
            ]
        if len(ends) == 1:
            return self.messages[ends[0]]
        if ends:
            raise SchemaError(f"{name!r} may be {' or '.join(sorted(ends)[:5])}")
        raise SchemaError(f"the schema has no message {name!r}")

    def indexes(self, name: str | Sequence[int] | None = None) -> list[int]:
        """Return where a message stands in the main file, as Confluent's framing counts; refuse one of another file."""
        found = self.message(name)
        full = found.name
        if full not in self._numbered:
            fields = (
                field
                for each in self.messages.values()
                for field in (*each.fields, *each.extensions.values())
            )
            if any(field.type == "group" and field.message is found for field in fields):
                raise SchemaError(f"{full} is a group: frames count messages only, so that none can name it")
            raise SchemaError(f"{full} is not declared in the main file")
        return list(self._numbered[full])

    def numbered_names(self) -> list[str]:
        """Return the full names of all that indexes may mean, in their order; no name needs to be resolved for that."""
        return list(self._numbered)

    def declared(self) -> list[str]:
        """Return the full names of the messages that the main file declares, nested ones too, but no map entries."""
        return [name for name in self._numbered if not self.messages[name].map_entry]

    @cached_property
    def _counted(self) -> File:
        """The file whose messages are counted: for one that only imports another publicly, that one."""
        file, seen = self.main, 0
        while not file.messages and not file.enums and seen < len(self.files):
            public = [each.path for each in file.imports if each.kind == "public"]
            if len(public) != 1 or public[0] not in self.files:
                break
            file, seen = self.files[public[0]], seen + 1
        return file

    @cached_property
    def _numbered(self) -> dict[str, tuple[int, ...]]:
        found: dict[str, tuple[int, ...]] = {}

        def number(scope: str, messages: list[Message], before: tuple[int, ...]) -> None:
            for i, each in enumerate(messages):
                full = full_name(scope, each.name)
                found[full] = (*before, i)
                number(full, each.messages, found[full])

        number(self._counted.package, self._counted.messages, ())
        return found

    def _at(self, indexes: tuple[int, ...]) -> str:
        wanted = indexes or (0,)
        for full, place in self._numbered.items():
            if place == wanted:
                return full
        if not indexes:
            raise SchemaError("the schema has no message")
        raise SchemaError(f"the schema has no message of the indexes {list(indexes)}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ProtobufSchema) and self.sources == other.sources

    def __hash__(self) -> int:
        return hash(self.sources)

    def __reduce__(self) -> tuple[Any, ...]:
        return ProtobufSchema, (self.sources, self.places)

    def __repr__(self) -> str:
        return f"<ProtobufSchema of {', '.join(list(self._numbered)[:5]) or 'no message'}>"


def message_of(source: object) -> str | None:
    """Return the full name of the message that a generated class or its descriptor is of; None for other sources."""
    name = getattr(getattr(source, "DESCRIPTOR", source), "full_name", None)
    return name if isinstance(name, str) else None


def _parse(path: str, text: str) -> File:
    try:
        return parse(text)
    except SchemaError as error:
        raise SchemaError(f"{path}, {error}" if path else str(error)) from None


def _descriptors(source: Any) -> list[tuple[str, bytes]] | None:
    """Return the descriptors of a class or descriptor of google.protobuf, the main one first."""
    descriptor = getattr(source, "DESCRIPTOR", source)
    file = getattr(descriptor, "file", descriptor)
    if not isinstance(getattr(file, "serialized_pb", None), bytes):
        return None
    found: dict[str, bytes] = {}
    pending = [file]
    while pending:
        each = pending.pop(0)
        if each.name not in found:
            found[each.name] = each.serialized_pb
            pending += each.dependencies
    return list(found.items())
