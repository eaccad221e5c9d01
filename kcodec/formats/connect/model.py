"""Kafka Connect's types, as every schema language comes to them.

`kcodec.ConnectSchema` is one that envelopes carry, or that an Arrow type gives. Schemas of Avro, Protobuf and JSON
Schema are looked at where they stand, by `from_avro`, `from_protobuf` and `from_json_schema`: such a schema may contain
itself, so what is below a type is found when it is asked for.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeVar

from kcodec.errors import SchemaError
from kcodec.java.numbers import parse_java_integer

__all__ = [
    "BITS",
    "DATE",
    "DECIMAL",
    "LOGICAL",
    "PACKAGE",
    "PRECISION",
    "TIME",
    "TIMESTAMP",
    "ConnectType",
    "parse_integer",
    "struct_fields",
]

#: The integers of Connect, and their bits.
BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}

#: What logical types are named in.
PACKAGE = "org.apache.kafka.connect.data"
DECIMAL = f"{PACKAGE}.Decimal"
DATE = f"{PACKAGE}.Date"
TIME = f"{PACKAGE}.Time"
TIMESTAMP = f"{PACKAGE}.Timestamp"

#: Names of schemas that make them logical types, and the types that these names are for.
LOGICAL = {DECIMAL: "bytes", DATE: "int32", TIME: "int32", TIMESTAMP: "int64"}

#: The parameter in which Connect's converters keep the precision of a decimal.
PRECISION = "connect.decimal.precision"

T = TypeVar("T", bound="ConnectType")


class ConnectType(Protocol):
    """A type of Kafka Connect, of which a language may have only some attributes; see `kcodec.ConnectSchema`."""

    @property
    def type(self) -> str:
        """Connect's name of the type; empty for what it has no type for."""

    @property
    def optional(self) -> bool:
        """Whether the value may be null."""
        return False

    @property
    def default(self) -> Any:
        """What a null stands for."""
        return None

    @property
    def name(self) -> str | None:
        """The name, which may make it a logical type."""
        return None

    @property
    def parameters(self) -> Mapping[str, str]:
        """Further facts."""
        return {}

    @property
    def fields(self) -> "Mapping[str, ConnectType]":
        """The fields of a struct."""
        return {}

    @property
    def parts(self) -> "tuple[ConnectType, ...]":
        """The item of an array, or key and value of a map."""
        return ()

    @property
    def scale(self) -> int | None:
        """Digits of a Decimal behind the point; None without a valid number."""
        return parse_integer(self.parameters.get("scale", ""))

    @property
    def precision(self) -> int | None:
        """Digits of a Decimal in all; None without a valid number."""
        return parse_integer(self.parameters.get(PRECISION, ""))


def struct_fields(fields: Iterable[tuple[str, T]]) -> dict[str, T]:
    """Return the fields of a struct by their names, or raise `SchemaError` where two have the same, as Connect does."""
    found: dict[str, T] = {}
    for name, field in fields:
        if name in found:
            raise SchemaError(f"Cannot create field because of field name duplication {name}")
        found[name] = field
    return found


def parse_integer(text: str) -> int | None:
    """Read an integer as ``Integer.parseInt`` does; None for what it refuses."""
    try:
        return parse_java_integer(text, 32)
    except ValueError:
        return None
