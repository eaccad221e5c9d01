"""Texts that can be read but, according to protobuf-java, have no descriptor."""

from __future__ import annotations

from kcodec.formats.protobuf.descriptor import SCALARS
from kcodec.formats.protobuf.language.names import Names, full_name
from kcodec.formats.protobuf.language.syntax import Enum, Message

__all__ = ["check_descriptors"]


def check_descriptors(names: Names, path: str) -> None:
    """Check a file: numbers of fields, enums without values, maps in oneofs, types that are not imported.

    Raises
    ------
    SchemaError
        With line and column of what is wrong.
    """
    file = names.files[path]
    if file.misnamed is not None:
        names.fail(path, *file.misnamed)
    waiting: list[tuple[str, Message | Enum]] = []
    waiting += [(file.package, each) for each in file.messages]
    waiting += [(file.package, each) for each in file.enums]
    while waiting:
        scope, node = waiting.pop()
        if isinstance(node, Enum):
            if not node.values:
                names.fail(path, node.at, f"the enum {node.name} has no value")
            continue
        inner = full_name(scope, node.name)
        waiting += [(inner, each) for each in node.messages]
        waiting += [(inner, each) for each in node.enums]
        numbers: set[int] = set()
        for field in node.fields:
            if field.number <= 0 or field.number in numbers:
                names.fail(path, field.at, f"{field.number} is not a number of its own for {field.name}")
            numbers.add(field.number)
            if field.key and field.oneof is not None:
                names.fail(path, field.at, f"the map {field.name} is in a oneof")
            if field.group is None and field.type not in SCALARS:
                full = names.find(path, inner, field.type)
                if full is None or not names.sees(path, full):
                    names.fail(path, field.at, f"{field.type} is not imported")
