"""How ksqlDB reads the types of Kafka Connect as columns: Avro, Protobuf and JSON Schema are such types to it.

Which columns they may be read as, and which columns a schema gives, is so the same for all languages.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from kcodec.errors import Fault, SchemaError
from kcodec.formats.connect.model import BITS, DATE, DECIMAL, TIME, TIMESTAMP, ConnectType
from kcodec.formats.connect.values import CLASSES
from kcodec.ksql.types import MAX_NESTING, SqlColumn, SqlField, SqlType

#: Types that the columns of a schema may come to.
_MAX_TYPES = 10_000

#: Digits of a DECIMAL whose schema names none.
DECIMAL_PRECISION = 64


#: The types of Connect that are read as a SQL type, the one that it is itself first.
_CONNECT = {
    "BOOLEAN": ("boolean",),
    "INTEGER": ("int32", "int16", "int8"),
    "BIGINT": ("int64", "int32", "int16", "int8"),
    "DOUBLE": ("double", "float"),
    "DECIMAL": ("bytes",),
    "STRING": ("string", *BITS, "float", "double", "boolean"),
    "BYTES": ("bytes",),
    "TIME": ("int32", "int16", "int8"),
    "DATE": ("int32", "int16", "int8"),
    "TIMESTAMP": ("int64", "int32", "int16", "int8"),
    "ARRAY": ("array",),
    "MAP": ("map",),
    "STRUCT": ("struct",),
}


def _shown(type: str) -> str:
    """Return what ksqlDB calls a type."""
    return CLASSES[type][1].lower() if type else "null"


@dataclasses.dataclass(frozen=True)
class Reading:
    """How a type of a schema is read as a SQL type."""

    #: What it is read as.
    kind: SqlType
    #: The name of the field of a struct that it is; None where the schema has none, so that all is null.
    field: str | None = ""
    #: Why it cannot be read, in ksqlDB's words; every value, nulls too, is an error of its row then.
    problem: str = ""
    #: As the parts of `kind`.
    parts: "tuple[Reading, ...]" = ()
    #: Of a Decimal that is read.
    scale: int = 0
    #: What stands for its null as a field of a struct, in some type that it is read from.
    default: Any = None
    #: What reads a union that is given as texts: it returns structs of the members, and faults.
    union: Callable[[Any], tuple[Any, list[Fault]]] | None = dataclasses.field(
        default=None, repr=False, compare=False
    )
    #: Whether everything in it is read as it is.
    is_whole: bool = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        is_plain = not self.problem and self.default is None and self.union is None
        object.__setattr__(self, "is_whole", is_plain and all(part.is_whole for part in self.parts))


def reading(kind: SqlType, source: ConnectType, field: str = "", path: str = "") -> Reading:
    """Find out how a type is read as a SQL type, as ksqlDB's ``ConnectDataTranslator`` does.

    Every field of a struct is read as the column of exactly its name, or else as the one that it is in upper case; of
    several fields that are one column the last one counts.
    """
    accepted = _CONNECT[kind.base]
    if source.type not in accepted:
        found, wanted = _shown(source.type), _shown(accepted[0])
        return Reading(kind, field, f"Cannot deserialize type {found} as type {wanted} for path: {path}")
    is_decimal = source.name == DECIMAL
    if source.type == "bytes" and is_decimal != (kind.base == "DECIMAL"):
        found = "a Decimal" if is_decimal else "bytes"
        return Reading(kind, field, f"Cannot read {found} as {kind} for path: {path}")
    parts: tuple[Reading, ...] = ()
    if kind.base == "STRUCT":
        parts = _fields(kind, source, path)
    elif kind.base in _STEPS:
        below = zip(kind.parts, source.parts, _STEPS[kind.base], strict=True)
        parts = tuple(reading(part, each, path=f"{path}->{step}") for part, each, step in below)
    return Reading(kind, field, "", parts, source.scale or 0)


_STEPS = {"ARRAY": ("ARRAY",), "MAP": ("MAP_KEY", "MAP_VAL")}


def _fields(kind: SqlType, source: ConnectType, path: str) -> tuple[Reading, ...]:
    columns = {each.name: each for each in kind.fields}
    found: dict[str, Reading] = {}
    for name, below in source.fields.items():
        column = columns.get(name) or columns.get(name.upper())
        if column is None:
            continue
        before = found.get(column.name)
        made = reading(column.type, below, name, f"{path}->{column.name}")
        # ksqlDB reads all of them, one after the other.
        found[column.name] = before if before is not None and before.problem else made
    return tuple(found.get(each.name) or Reading(each.type, None) for each in kind.fields)


def annotated(found: Reading, source: Any, annotate: "Callable[[Reading, Any], Reading]") -> Reading:
    """Return a reading with what a language says of it and of its parts beside their types."""
    if found.problem or found.field is None:
        return found
    below: Sequence[Any] = ()
    if found.kind.base == "STRUCT":
        below = [source.fields.get(part.field) for part in found.parts]
    elif found.parts:
        below = source.parts
    parts = tuple(annotated(part, each, annotate) for part, each in zip(found.parts, below, strict=True))
    return annotate(dataclasses.replace(found, parts=parts), source)


def inferred_columns(
    source: ConnectType, *, wrapped: bool, key: bool, original_names: bool
) -> tuple[SqlColumn, ...]:
    """Return the columns that ksqlDB takes from a schema where a statement has none.

    Names are in upper case, unless the schema was chosen by its id. A column that is bare is ROWKEY or ROWVAL. Fields
    of types that ksqlDB does not have are left out.
    """
    kind = "key" if key else "value"
    inference = _Inference(original_names)
    if not wrapped:
        return (SqlColumn("ROWKEY" if key else "ROWVAL", inference.root(source), kind),)
    if source.type != "struct":
        raise SchemaError(
            "Schema returned from schema registry is anonymous type. To use this schema with ksqlDB, set "
            "'WRAP_SINGLE_VALUE=false' in the WITH clause properties."
        )
    record = inference.root(source)
    if not record.fields:
        raise SchemaError("Schema does not include any columns with types that ksqlDB supports.")
    return tuple(SqlColumn(field.name, field.type, kind) for field in record.fields)


class _Unsupported(Exception):
    """A type that ksqlDB does not have."""


_LEAVES = {
    **dict.fromkeys(("int8", "int16", "int32"), "INTEGER"),
    "int64": "BIGINT",
    "float": "DOUBLE",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
    "string": "STRING",
}
_TIMES: dict[tuple[str, str | None], str] = {
    ("int32", DATE): "DATE",
    ("int32", TIME): "TIME",
    ("int64", TIMESTAMP): "TIMESTAMP",
}
_KEYS = (*BITS, "boolean", "string")


class _Inference:
    """Makes SQL types; a schema may refer to itself, so that there may be any number of them."""

    def __init__(self, original_names: bool) -> None:
        self.original_names = original_names
        self.types = 0
        #: Names of the fields around a type, the outermost first.
        self.names: list[str] = []

    def root(self, source: ConnectType) -> SqlType:
        try:
            return self.type(source, 0)
        except _Unsupported as error:
            raise SchemaError(f"Unsupported type at root of schema: {error}") from None

    def type(self, source: ConnectType, depth: int) -> SqlType:
        self.types += 1
        if depth > MAX_NESTING or self.types > _MAX_TYPES:
            within = f"within {'.'.join(self.names[:3])} " if self.names else ""
            raise SchemaError(
                f"types {within}are nested deeper than {MAX_NESTING}, or more than {_MAX_TYPES}: "
                "a schema that contains itself has no columns in ksqlDB"
            )
        if source.type in _LEAVES:
            return SqlType(_TIMES.get((source.type, source.name), _LEAVES[source.type]))
        if source.type == "bytes":
            return self.bytes(source)
        if source.type == "array":
            return SqlType("ARRAY", item=self.type(source.parts[0], depth + 1))
        if source.type == "map":
            key, item = source.parts
            if key.type not in _KEYS:
                raise _Unsupported(f"Unsupported type for map key: {_shown(key.type)}")
            return SqlType("MAP", key=SqlType("STRING"), item=self.type(item, depth + 1))
        if source.type == "struct":
            return self.struct(source, depth)
        raise _Unsupported(f"Unsupported type: {source.type}")

    def bytes(self, source: ConnectType) -> SqlType:
        if source.name != DECIMAL:
            return SqlType("BYTES")
        precision, scale = source.precision or DECIMAL_PRECISION, source.scale or 0
        if not 0 <= scale <= precision:
            raise SchemaError(
                f"DECIMAL scale must be at least 0 and no more than the precision: DECIMAL({precision},{scale})"
            )
        return SqlType("DECIMAL", precision, scale)

    def struct(self, source: ConnectType, depth: int) -> SqlType:
        fields: dict[str, SqlField] = {}
        for name, below in source.fields.items():
            named = name if self.original_names else name.upper()
            self.names.append(name)
            try:
                made = SqlField(named, self.type(below, depth + 1))
            except _Unsupported:
                continue
            finally:
                self.names.pop()
            if named in fields:
                raise SchemaError(f"Cannot create field because of field name duplication {named}")
            fields[named] = made
        return SqlType("STRUCT", fields=tuple(fields.values()))
