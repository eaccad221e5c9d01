"""Message definitions as text: the JSON that they are read from."""

import json
from typing import Any

from kcodec.protocol.spec.message import MessageSpec
from kcodec.protocol.spec.model import FieldSpec, StructSpec
from kcodec.protocol.spec.versions import Versions


def spec_text(spec: MessageSpec) -> str:
    """Print a definition as JSON, a line for each field, without what is said about it.

    Equal definitions are printed equal, and read back equal.
    """
    head: dict[str, Any] = {} if spec.api_key is None else {"apiKey": spec.api_key}
    head |= {"type": spec.type, "name": spec.name}
    if spec.listeners:
        head["listeners"] = list(spec.listeners)
    versions: dict[str, Any] = {"validVersions": str(spec.valid_versions)}
    if not spec.struct.deprecated_versions.empty:
        versions["deprecatedVersions"] = str(spec.struct.deprecated_versions)
    versions["flexibleVersions"] = str(spec.flexible_versions)
    if spec.latest_version_unstable:
        versions["latestVersionUnstable"] = True
    lines = ["{", f"  {_members(head)},", f"  {_members(versions)},"]
    if spec.header_versions is not None:
        headers = {str(range_): str(header) for range_, header in spec.header_versions}
        lines.append(f'  "headerVersions": {json.dumps(headers)},')
    common = [
        line
        for number, struct in enumerate(spec.common_structs)
        for line in _struct(struct, number + 1 < len(spec.common_structs))
    ]
    lines += [*_fields(spec.fields, "  ", "," if common else "")]
    if common:
        lines += ['  "commonStructs": [', *common, "  ]"]
    return "\n".join([*lines, "}"])


def _members(values: dict[str, Any]) -> str:
    return ", ".join(f'"{name}": {json.dumps(value)}' for name, value in values.items())


def _fields(fields: tuple[FieldSpec, ...], indent: str, tail: str) -> list[str]:
    if not fields:
        return [f'{indent}"fields": []{tail}']
    lines = [f'{indent}"fields": [']
    for number, field in enumerate(fields):
        lines += _field(field, indent + "  ", "," if number + 1 < len(fields) else "")
    return [*lines, f"{indent}]{tail}"]


def _struct(struct: StructSpec, more: bool) -> list[str]:
    head = {"name": struct.name, "versions": str(struct.versions)}
    if not struct.deprecated_versions.empty:
        head["deprecatedVersions"] = str(struct.deprecated_versions)
    return [
        f"    {{{_members(head)},",
        *_fields(struct.fields, "      ", ""),
        "    }," if more else "    }",
    ]


def _field(field: FieldSpec, indent: str, tail: str) -> list[str]:
    members: dict[str, Any] = {"name": field.name, "type": str(field.type), "versions": str(field.versions)}
    ranges = {
        "nullableVersions": field.nullable_versions,
        "taggedVersions": field.tagged_versions,
    }
    members |= {name: str(versions) for name, versions in ranges.items() if versions != Versions.NONE}
    if field.tag is not None:
        members["tag"] = field.tag
    if field.flexible_versions is not None:
        members["flexibleVersions"] = str(field.flexible_versions)
    if field.default:
        members["default"] = field.default
    flags = {"ignorable": field.ignorable, "mapKey": field.map_key, "zeroCopy": field.zero_copy}
    members |= {name: True for name, flag in flags.items() if flag}
    if field.entity_type != "unknown":
        members["entityType"] = field.entity_type
    if not field.fields:
        return [f"{indent}{{{_members(members)}}}{tail}"]
    return [
        f"{indent}{{{_members(members)},",
        *_fields(field.fields, indent + "  ", ""),
        f"{indent}}}{tail}",
    ]
