"""The grammar of a message version, in the manner of Kafka's protocol guide."""

from collections.abc import Iterator

from kcodec.errors import ConfigError
from kcodec.protocol.spec.model import FieldSpec, MessageModel, StructSpec

#: Types whose length has a compact form, and which can be null.
_WITH_LENGTH = ("string", "bytes", "records")


def grammar(spec: MessageModel, version: int) -> str:
    """Print the grammar of a version: see `MessageSpec.describe`."""
    if version not in spec.valid_versions:
        raise ConfigError(f"{spec.name} has no version {version}: its versions are {spec.valid_versions}")
    return "\n".join(_Grammar(spec, version).lines())


class _Grammar:
    def __init__(self, spec: MessageModel, version: int) -> None:
        self.spec = spec
        self.structs = spec.structs
        self.version = version

    def lines(self) -> Iterator[str]:
        struct = self.spec.struct
        yield f"{self.spec.name} version {self.version} => {self.names(struct)}".rstrip()
        yield from self.fields(struct, 1)

    def names(self, struct: StructSpec) -> str:
        names = [
            f"[{field.snake_name}]" if field.type.is_array else field.snake_name
            for field in struct.regular_fields(self.version)
        ]
        if self.spec.flexible_in(self.version):
            names.append("_tagged_fields")
        return " ".join(names)

    def fields(self, struct: StructSpec, depth: int) -> Iterator[str]:
        for field in struct.regular_fields(self.version):
            yield from self.field(field, field.snake_name, depth)
        tagged = struct.tagged_fields(self.version)
        if tagged:
            yield "  " * depth + "_tagged_fields =>"
        for field in tagged:
            yield from self.field(field, f"{field.tag} {field.snake_name}", depth + 1)

    def field(self, field: FieldSpec, label: str, depth: int) -> Iterator[str]:
        compact = "COMPACT_" if self.spec.compact_in(field, self.version) else ""
        nullable = "NULLABLE_" if field.nullable_in(self.version) else ""
        element = field.type.element
        struct = self.structs.get(element)
        if struct is not None:
            kind = f"({self.names(struct)})"
        elif element in _WITH_LENGTH:
            kind = f"{compact}{'' if field.type.is_array else nullable}{element.upper()}"
        else:
            kind = {"bool": "BOOLEAN"}.get(element, element.upper())
        if field.type.is_array:
            kind = f"{compact}{nullable}ARRAY of {kind}"
        elif struct is not None and nullable:
            kind = f"NULLABLE {kind}"
        yield "  " * depth + f"{label} => {kind}"
        if struct is not None:
            yield from self.fields(struct, depth + 1)
