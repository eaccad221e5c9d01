"""The grammar of a message version, in the manner of Kafka's protocol guide."""

from kcodec.errors import ConfigError
from kcodec.protocol.spec.model import FieldSpec, MessageModel, StructSpec

__all__ = ["check_version", "grammar"]

#: Types whose length has a compact form, and which can be null.
_WITH_LENGTH = ("string", "bytes", "records")


def check_version(spec: MessageModel, version: int) -> None:
    """Raise `ConfigError` if a message has no such version."""
    if version not in spec.valid_versions:
        raise ConfigError(f"{spec.name} has no version {version}: its versions are {spec.valid_versions}")


def grammar(spec: MessageModel, version: int) -> str:
    """Print the grammar of a version: see `MessageSpec.describe`."""
    check_version(spec, version)
    structs = spec.structs
    lines = [f"{spec.name} version {version} => {_names(spec, spec.struct, version)}".rstrip()]
    _fields(spec, structs, spec.struct, version, 1, lines)
    return "\n".join(lines)


def _names(spec: MessageModel, struct: StructSpec, version: int) -> str:
    names = [
        f"[{field.snake_name}]" if field.type.is_array else field.snake_name
        for field in struct.regular_fields(version)
    ]
    if spec.flexible_in(version):
        names.append("_tagged_fields")
    return " ".join(names)


def _fields(
    spec: MessageModel,
    structs: dict[str, StructSpec],
    struct: StructSpec,
    version: int,
    depth: int,
    lines: list[str],
) -> None:
    for field in struct.regular_fields(version):
        _field(spec, structs, field, field.snake_name, version, depth, lines)
    tagged = struct.tagged_fields(version)
    if tagged:
        lines.append("  " * depth + "_tagged_fields =>")
    for field in tagged:
        _field(spec, structs, field, f"{field.tag} {field.snake_name}", version, depth + 1, lines)


def _field(
    spec: MessageModel,
    structs: dict[str, StructSpec],
    field: FieldSpec,
    label: str,
    version: int,
    depth: int,
    lines: list[str],
) -> None:
    compact = "COMPACT_" if spec.compact_in(field, version) else ""
    nullable = "NULLABLE_" if field.nullable_in(version) else ""
    element = field.type.element
    struct = structs.get(element)
    if struct is not None:
        kind = f"({_names(spec, struct, version)})"
    elif element in _WITH_LENGTH:
        kind = f"{compact}{'' if field.type.is_array else nullable}{element.upper()}"
    else:
        kind = {"bool": "BOOLEAN"}.get(element, element.upper())
    if field.type.is_array:
        kind = f"{compact}{nullable}ARRAY of {kind}"
    elif struct is not None and nullable:
        kind = f"NULLABLE {kind}"
    lines.append("  " * depth + f"{label} => {kind}")
    if struct is not None:
        _fields(spec, structs, struct, version, depth + 1, lines)
