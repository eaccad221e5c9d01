"""ksqlDB's AVRO: the schemas that it registers, and any schema of Avro read and written as its columns."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from kcodec.columns.arrays.nested import cast_leaf
from kcodec.errors import SchemaError
from kcodec.formats.avro.kernel import kernel
from kcodec.formats.avro.payloads import AvroDecoder, AvroEncoder, BytesEncoder
from kcodec.formats.avro.schema.model import Field, Schema, canonical
from kcodec.formats.avro.schema.parse import parse
from kcodec.formats.avro.schema.types import AvroOptions, widest
from kcodec.formats.avro.schema_format import AvroFormat, ParsedSchema
from kcodec.formats.connect.from_avro import AvroAsConnect, member_name
from kcodec.formats.connect.model import DECIMAL, PACKAGE, PRECISION
from kcodec.formats.payloads import SchemaDecoder, SchemaEncoder
from kcodec.formats.tagged import TaggedField
from kcodec.ksql.formats.avro.defaults import field_default, with_default, with_logical_types
from kcodec.ksql.formats.avro.maps import with_maps
from kcodec.ksql.formats.reading import Reading, annotated
from kcodec.ksql.formats.registered import (
    ColumnDecoder,
    ColumnsFormat,
    PayloadReader,
    ProgramDecoder,
    read_as,
    tagged_columns,
)
from kcodec.ksql.formats.writing import Change, ColumnEncoder, in_utc, missing_field, time_of_day
from kcodec.ksql.types import MAX_NESTING, RowOptions, SqlField, SqlType
from kcodec.plan import Limits
from kcodec.plan.programs import Programs

__all__ = ["KsqlAvroFormat", "key_name", "schema_text"]

_NAMESPACE = "io.confluent.ksql.avro_schemas"
#: The record of values, where no name is given.
VALUE_NAME = f"{_NAMESPACE}.KsqlDataSourceSchema"


def key_name(source: str) -> str:
    """Return the name of the record of the keys of a stream or table, as Guava makes it from UPPER_UNDERSCORE.

    >>> key_name("LEFT_TABLE")
    'io.confluent.ksql.avro_schemas.LeftTableKey'
    """
    camel = "".join(word[:1].upper() + word[1:].lower() for word in source.split("_"))
    return f"{_NAMESPACE}.{camel}Key"


# Schemas that are registered --------------------------------------------------------------------------


def schema_text(kind: SqlType, name: str) -> str:
    """Return the schema of rows, whose root record has a full name.

    >>> from kcodec.ksql.types import parse_type
    >>> schema_text(parse_type("BIGINT"), VALUE_NAME)
    '"long"'
    """
    made = _Written(name).root(kind)
    try:
        return canonical(parse(json.dumps(made)))
    except SchemaError as error:
        raise SchemaError(f"Schema is not compatible with Avro: {error}") from error


_PRIMITIVES = {
    "BOOLEAN": "boolean",
    "INTEGER": "int",
    "BIGINT": "long",
    "DOUBLE": "double",
    "STRING": "string",
    "BYTES": "bytes",
}
_LOGICAL = {
    "TIME": ("int", "Time", "time-millis"),
    "DATE": ("int", "Date", "date"),
    "TIMESTAMP": ("long", "Timestamp", "timestamp-millis"),
}


def _avro_name(name: str) -> str:
    """Return what a column is called in Avro."""
    return name.replace(".", "_")


class _Written:
    """Makes the JSON of a schema."""

    def __init__(self, name: str) -> None:
        self.name = name

    def root(self, kind: SqlType) -> Any:
        """Write the root, which is never null, and whose logical type has no version."""
        made = self.type(kind, self.name)
        if kind.base in _LOGICAL or kind.base == "DECIMAL":
            del made["connect.version"]
        return made

    def type(self, kind: SqlType, name: str) -> Any:
        if kind.base in _PRIMITIVES:
            return _PRIMITIVES[kind.base]
        if kind.base in _LOGICAL:
            base, connect, logical = _LOGICAL[kind.base]
            return {
                "type": base,
                "connect.version": 1,
                "connect.name": f"{PACKAGE}.{connect}",
                "logicalType": logical,
            }
        if kind.base == "DECIMAL":
            scale, precision = str(kind.scale), str(kind.precision)
            return {
                "type": "bytes",
                "scale": kind.scale,
                "precision": kind.precision,
                "connect.version": 1,
                "connect.parameters": {"scale": scale, PRECISION: precision},
                "connect.name": DECIMAL,
                "logicalType": "decimal",
            }
        if kind.base == "ARRAY":
            return {"type": "array", "items": self.optional(kind.parts[0], name)}
        if kind.base == "MAP":
            key, item = kind.parts
            if key.base != "STRING":
                raise SchemaError("Avro only supports MAPs with STRING keys")
            fields = [
                self.field("key", key, f"{name}_MapKey"),
                self.field("value", item, f"{name}_MapValue"),
            ]
            entry = {**_record(name, fields), "connect.internal.type": "MapEntry"}
            return {"type": "array", "items": entry, "connect.name": name}
        fields = [
            self.field(_avro_name(field.name), field.type, f"{name}_{field.name}") for field in kind.fields
        ]
        return {**_record(name, fields), "connect.name": name}

    def field(self, name: str, kind: SqlType, inner: str) -> dict[str, Any]:
        return {"name": name, "type": self.optional(kind, inner), "default": None}

    def optional(self, kind: SqlType, name: str) -> list[Any]:
        return ["null", self.type(kind, name)]


def _record(name: str, fields: list[dict[str, Any]]) -> dict[str, Any]:
    space, _, simple = name.rpartition(".")
    return {"type": "record", "name": simple, "namespace": space, "fields": fields}


# Schemas that are read --------------------------------------------------------------------------------


def reader_schema(found: Reading, writer: Schema) -> Schema:
    """Return the schema that a writer's is resolved against, so that its columns need as little coercion as can be."""
    values = writer.values
    if len(values) == 1:
        union = Schema("union")
        union.branches = [Schema("null"), _plain(found, values[0], promoted=True)]
        return union
    if widest(writer):
        raise SchemaError(
            f"a union of {values[0].type} and {values[1].type} is one number here, and no STRUCT of both"
        )
    # A struct of the members; those that are not read stand as they are.
    below = {part.field: part for part in found.parts if part.field is not None and not part.problem}
    union = Schema("union")
    union.branches = [
        branch
        if branch.type == "null" or member_name(branch) not in below
        else _plain(below[member_name(branch)], branch, promoted=False)
        for branch in writer.branches
    ]
    return union


def _plain(found: Reading, writer: Schema, *, promoted: bool) -> Schema:
    base = found.kind.base
    made = Schema(writer.type, writer.name)
    if base == "STRUCT":
        fields = {field.name: field.type for field in writer.fields}
        made.fields = [
            Field(part.field, reader_schema(part, fields[part.field]))
            for part in found.parts
            if part.field is not None and not part.problem
        ]
    elif base == "ARRAY" or (base == "MAP" and writer.type == "map"):
        assert writer.item is not None
        made.item = _item(found.parts[-1], writer.item)
    elif base == "MAP":
        entry = writer.item
        assert entry is not None
        made.item = Schema("record", entry.name)
        made.item.fields = [
            Field(field.name, _item(part, field.type))
            for part, field in zip(found.parts, entry.fields, strict=True)
        ]
    else:
        return _leaf(found.kind, writer, promoted)
    return made


def _item(found: Reading, writer: Schema) -> Schema:
    # What cannot be read is not looked at, but counted.
    return writer if found.problem else reader_schema(found, writer)


def _leaf(kind: SqlType, writer: Schema, promoted: bool) -> Schema:
    if promoted and kind.base in _PROMOTED:
        name, logical = _PROMOTED[kind.base]
        made = Schema(name)
        made.logical = logical
        return made
    made = Schema(writer.type, writer.name)
    made.symbols, made.default, made.size = writer.symbols, writer.default, writer.size
    if kind.base == "DECIMAL" and writer.logical and writer.scale == kind.scale:
        made.logical, made.precision, made.scale = "decimal", kind.precision, writer.scale
    return made


_PROMOTED = {
    "BIGINT": ("long", ""),
    "DOUBLE": ("double", ""),
    "TIME": ("int", "time-millis"),
    "DATE": ("int", "date"),
    "TIMESTAMP": ("long", "timestamp-millis"),
}


# The format -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class KsqlAvroFormat(ColumnsFormat, AvroFormat):
    """Avro for the columns of a statement: its root record has the full name `record`."""

    rows: RowOptions | None = None
    record: str = VALUE_NAME

    def text(self) -> str:
        """Return the schema that is registered."""
        return schema_text(self._rows.kind, self.record)

    def source(self, schema: ParsedSchema) -> AvroAsConnect:
        """Return a schema in Connect's types."""
        return AvroAsConnect(schema.root)

    def definitions(self, schema: ParsedSchema) -> list[str]:
        """Return nothing: a schema is one type."""
        return []

    def tagged_fields(
        self, schema: ParsedSchema, ruled: ParsedSchema, kind: pa.DataType, options: Any
    ) -> Sequence[TaggedField]:
        """Return the fields of a writer's schema by its names, where the columns have them."""
        return tagged_columns(AvroFormat(), ruled, kind)

    def decoder(self, schema: ParsedSchema, options: Any, limits: Limits) -> SchemaDecoder:
        """Return what reads payloads of any schema as the columns."""
        rows, trailing = self._rows, not self.fail_on_trailing
        named = rows._replace(kind=_avro_names(rows.kind))
        # The reader's schema is no deeper than the columns are.
        inner = AvroOptions(rows.large, MAX_NESTING, union_members="type", union_prefix="", compat="avro")

        def make(writer: ParsedSchema, indexes: tuple[int, ...]) -> PayloadReader:
            source = AvroAsConnect(writer.root)
            found = annotated(read_as(named, source), source, with_default)
            root = reader_schema(found, writer.root)
            if writer.root.type == "bytes":
                # These payloads have no length before them, and are what they are.
                root = Schema("bytes")
            text = canonical(root)
            decoder: SchemaDecoder = AvroDecoder(text, root, inner, limits, trailing=trailing)
            program = decoder.program(writer)
            if isinstance(program, Programs):
                maps = Programs(with_maps(program.plan, found), limits)
                decoder = ProgramDecoder(kernel, maps, trailing=trailing, text=text)
                program = decoder.program(writer)
            return PayloadReader(f"{text} {decoder.arrow_type} {found}", found, decoder, program)

        return ColumnDecoder(schema.text, rows, make)

    def encoder(
        self, schema: ParsedSchema, given: ParsedSchema | None, options: Any, limits: Limits
    ) -> SchemaEncoder:
        """Return what writes the columns as a schema, their own or one that was chosen by its id."""
        rows, root = self._rows, schema.root
        _check(rows.kind, root)
        written = AvroOptions(
            large=rows.large,
            round="truncate" if rows.floor else "error",
            union_members="type",
            union_prefix="",
        )
        encoder = BytesEncoder if root.type == "bytes" else AvroEncoder
        logical = with_logical_types(root)
        return ColumnEncoder(rows.kind, _Target(root), encoder(logical, None, written, limits).encode)


def _avro_names(kind: SqlType) -> SqlType:
    """Return a type with the names that its columns have in Avro."""
    return replace(
        kind,
        key=None if kind.key is None else _avro_names(kind.key),
        item=None if kind.item is None else _avro_names(kind.item),
        fields=tuple(SqlField(_avro_name(field.name), _avro_names(field.type)) for field in kind.fields),
    )


def _check(kind: SqlType, schema: Schema) -> None:
    """Refuse a schema that the columns cannot be written as, with ksqlDB's reasons."""
    record = schema.values[0] if len(schema.values) == 1 else schema
    if kind.base != "STRUCT" or record.type != "record":
        return
    names = {_avro_name(field.name) for field in kind.fields}
    written = {field.name for field in record.fields}
    for name in (_avro_name(field.name) for field in kind.fields):
        if name not in written:
            raise missing_field(name)
    for field in record.fields:
        if field.name not in names and not field.has_default and not field.type.nullable:
            raise SchemaError(
                f"Missing default value for required Avro field: [{field.name}]. This field appears in Avro "
                "schema in Schema Registry"
            )


class _Target:
    """A type of Avro that columns are written as; see `kcodec.ksql.formats.writing.WrittenType`."""

    is_union = False

    def __init__(self, schema: Schema, field: Field | None = None) -> None:
        self._schema = schema.values[0] if len(schema.values) == 1 else schema
        self._field = field
        self.is_record = self._schema.type == "record"
        self.is_map = self._schema.type == "map"

    @property
    def item(self) -> "_Target | None":
        item = self._schema.item
        return None if item is None or self._schema.type != "array" else _Target(item)

    @property
    def entry(self) -> "tuple[_Target, _Target] | None":
        """The fields of the record that an entry is, or what a map has."""
        item = self._schema.item
        if item is None:
            return None
        if self.is_map:
            return _Target(Schema("string")), _Target(item)
        return (_Target(item.fields[0].type), _Target(item.fields[1].type)) if len(item.fields) == 2 else None

    def field(self, column: str) -> "tuple[str, _Target]":
        """Return the name and the type of a column's field."""
        name = _avro_name(column)
        for field in self._schema.fields:
            if field.name == name:
                return name, _Target(field.type, field)
        raise missing_field(name)

    def leaf(self, kind: SqlType, given: pa.DataType) -> Change | None:
        """Return what is done to values of a simple type."""
        if kind.base == "TIMESTAMP" and pa.types.is_timestamp(given) and given.tz is None:
            return in_utc
        if kind.base == "TIME" and pa.types.is_integer(given):
            return time_of_day
        if kind.base == "BYTES" and pa.types.is_fixed_size_binary(given) and self._schema.type == "bytes":
            return lambda array: (cast_leaf(array, pa.binary()), [])
        return None

    def default(self, kind: SqlType) -> pa.Scalar | None:
        """Return the default of a field, or of its type for Connect."""
        return None if self._field is None else field_default(self._field, kind)
