"""Which types other files may name, as edition 2024 has it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kcodec.formats.protobuf.descriptor import SCALARS
from kcodec.formats.protobuf.language.names import Names, full_name
from kcodec.formats.protobuf.language.syntax import MAX_NUMBER, Enum, Extend, Field, File, Message

#: What types are that do not say it themselves, by a feature of their file; this is how edition 2024 begins.
EXPORT_TOP_LEVEL = "EXPORT_TOP_LEVEL"
_EXPORT_ALL, _STRICT = "EXPORT_ALL", "STRICT"

#: A type that is named: where, in which scope, and how.
_Use = tuple[int, str, str]


def check_visibility(names: Names, defaults: Mapping[str, str]) -> None:
    """Check the types that files name.

    `defaults` has, by path of the files whose types may be local, what they are if they do not say it. It is a
    `SchemaError`, with its place, if a type is local to another file, if only options are imported from its file, or if
    it is nested and exported although the file is strict.
    """
    local: set[str] = set()
    for path, default in defaults.items():
        local.update(_local(names, path, default))
    # A name that is looked for may be that of a known file, which is added.
    for path, file in list(names.files.items()):
        optional = {each.path for each in file.imports if each.kind == "option"}
        if not file.text or not (local or optional):
            continue
        for at, scope, name in _uses(file):
            full = names.find(path, scope, name)
            if full is None or names.paths[full] == path:
                continue
            if full in local:
                names.fail(path, at, f"{full} is local to {names.paths[full]}")
            if names.paths[full] in optional and not names.sees(path, full):
                names.fail(path, at, f"{full} is imported for options only")


def _local(names: Names, path: str, default: str) -> Iterator[str]:
    """Yield the full names of the types that only their own file may name."""
    file = names.files[path]
    nodes: list[Message | Enum] = [*file.messages, *file.enums]
    exported = default in (_EXPORT_ALL, EXPORT_TOP_LEVEL)
    for node in nodes:
        full = full_name(file.package, node.name)
        if node.visibility == "local" or not (node.visibility or exported):
            yield full
        if isinstance(node, Message):
            yield from _nested(names, path, default, full, node, is_namespace=_is_namespace(node))


def _nested(
    names: Names, path: str, default: str, scope: str, message: Message, *, is_namespace: bool = False
) -> Iterator[str]:
    nodes: list[Message | Enum] = [*message.messages, *message.enums]
    for node in nodes:
        full = full_name(scope, node.name)
        is_message = isinstance(node, Message)
        if node.visibility == "export" and default == _STRICT and (is_message or not is_namespace):
            names.fail(path, node.at, f"{full} is nested, so that a strict file does not export it")
        if node.visibility == "local" or not (node.visibility or default == _EXPORT_ALL):
            yield full
        if isinstance(node, Message):
            yield from _nested(names, path, default, full, node)


def _is_namespace(message: Message) -> bool:
    """Return whether a message at the top, local in a strict file, is only there for its enums."""
    numbers = [each for reserved in message.reserved for each in reserved.items if not isinstance(each, str)]
    return message.visibility != "export" and numbers == [(1, MAX_NUMBER)]


def _uses(file: File) -> Iterator[_Use]:
    """Yield the types that a file names."""
    for node in file.messages:
        yield from _of_message(file.package, node)
    yield from _of_extends(file.package, file.extends)
    for service in file.services:
        full = full_name(file.package, service.name)
        for rpc in service.rpcs:
            yield rpc.at, full, rpc.request
            yield rpc.at, full, rpc.response


def _of_message(scope: str, message: Message) -> Iterator[_Use]:
    full = full_name(scope, message.name)
    yield from _of_fields(full, message.fields)
    yield from _of_extends(full, message.extends)
    for node in message.messages:
        yield from _of_message(full, node)


def _of_extends(scope: str, extends: Iterable[Extend]) -> Iterator[_Use]:
    for extend in extends:
        yield extend.at, scope, extend.target
        yield from _of_fields(scope, extend.fields)


def _of_fields(scope: str, fields: Iterable[Field]) -> Iterator[_Use]:
    for field in fields:
        if field.group is not None:
            yield from _of_message(scope, field.group)
        elif field.type not in SCALARS:
            yield field.at, scope, field.type
