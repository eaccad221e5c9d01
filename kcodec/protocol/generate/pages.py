"""What people read of message definitions: Arrow schemas, and a page of documentation."""

from collections.abc import Iterable, Iterator

import pyarrow as pa

from kcodec.protocol.message.plan import message_type
from kcodec.protocol.spec.message import MessageSpec
from kcodec.protocol.spec.model import FieldSpec


def arrow_page(specs: Iterable[MessageSpec]) -> str:
    """Print the Arrow schema of each version of some messages."""
    pages = []
    for spec in specs:
        for version in spec.valid_versions:
            schema = pa.schema(list(message_type(spec, [version])))
            pages.append(f"{spec.name} version {version}\n{''.join(_lines(schema, 1))}")
    return "\n".join(pages)


def _lines(fields: Iterable[pa.Field], depth: int) -> Iterator[str]:
    for field in fields:
        kind, item = field.type, ""
        if pa.types.is_list(kind):
            kind, item = kind.value_type, "list of "
        null = "" if field.nullable else " not null"
        if pa.types.is_struct(kind):
            yield f"{'  ' * depth}{field.name}: {item}struct{null}\n"
            yield from _lines(list(kind), depth + 1)
        else:
            yield f"{'  ' * depth}{field.name}: {item}{kind}{null}\n"


def markdown_page(specs: Iterable[MessageSpec]) -> str:
    """Write a page about some messages: their fields, and the grammar of each version."""
    lines = ["# Kafka's messages", ""]
    for spec in specs:
        lines += [f"## {spec.name}", "", _title(spec), ""]
        if spec.fields:
            lines += ["| field | type | versions | default | about |", "|---|---|---|---|---|"]
            lines += _rows(spec, spec.fields, "")
            lines.append("")
        for version in spec.valid_versions:
            lines += ["```", spec.describe(version), "```", ""]
    return "\n".join(lines)


def _title(spec: MessageSpec) -> str:
    number = "" if spec.api_key is None else f", API key {spec.api_key}"
    flexible = "" if spec.flexible_versions.empty else f", flexible {spec.flexible_versions}"
    unstable = ", the highest unstable" if spec.latest_version_unstable else ""
    return f"Type {spec.type}{number}, versions {spec.valid_versions}{flexible}{unstable}."


def _rows(spec: MessageSpec, fields: tuple[FieldSpec, ...], path: str) -> Iterator[str]:
    structs = spec.structs
    for field in fields:
        name = f"{path}{field.name}"
        versions = str(field.versions)
        if not field.nullable_versions.empty:
            versions += f", nullable {field.nullable_versions}"
        if field.tag is not None:
            versions += f", tag {field.tag} in {field.tagged_versions}"
        if field.ignorable:
            versions += ", ignorable"
        default = f"`{_cell(field.default)}`" if field.default else ""
        yield f"| {name} | {field.type} | {versions} | {default} | {_cell(field.about)} |"
        if field.type.has_struct:
            yield from _rows(spec, structs[field.type.element].fields, f"{name}.")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
