"""ksqlDB's AVRO: the schemas that it registers, and any schema of Avro read and written as its columns."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from kcodec.errors import Fault, SchemaError
from kcodec.formats.avro.kernel import kernel
from kcodec.formats.avro.payloads import AvroDecoder, AvroEncoder, BytesEncoder
from kcodec.formats.avro.schema import Field, Schema, canonical, parse
from kcodec.formats.avro.schema_format import AvroFormat, ParsedSchema
from kcodec.formats.avro.types import TypeOptions, widest
from kcodec.formats.ksql.avro_maps import with_maps
from kcodec.formats.ksql.avro_source import AvroSource, member_name
from kcodec.formats.ksql.plan import match_fields
from kcodec.formats.ksql.registered import ColumnDecoder, Reader, missing_field, prepared, read_as
from kcodec.formats.ksql.source import Reading
from kcodec.formats.ksql.types import MAX_NESTING, RowOptions, SqlField, SqlType
from kcodec.formats.schema_format import SchemaDecoder, SchemaEncoder
from kcodec.plan import Limits
from kcodec.plan.programs import Programs

__all__ = ["KsqlAvroFormat", "key_name", "schema_text"]

_NAMESPACE = "io.confluent.ksql.avro_schemas"
#: The record of values, where no name is given.
VALUE_NAME = f"{_NAMESPACE}.KsqlDataSourceSchema"
_CONNECT = "org.apache.kafka.connect.data"


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

    >>> from kcodec.formats.ksql.types import parse_type
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
                "connect.name": f"{_CONNECT}.{connect}",
                "logicalType": logical,
            }
        if kind.base == "DECIMAL":
            scale, precision = str(kind.scale), str(kind.precision)
            return {
                "type": "bytes",
                "scale": kind.scale,
                "precision": kind.precision,
                "connect.version": 1,
                "connect.parameters": {"scale": scale, "connect.decimal.precision": precision},
                "connect.name": f"{_CONNECT}.Decimal",
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
class KsqlAvroFormat(AvroFormat):
    """Avro for the columns of a statement: its root record has the full name `record`."""

    rows: RowOptions | None = None
    record: str = VALUE_NAME

    def configured(self, config: Mapping[str, Any]) -> AvroFormat:
        """Return the format with the flags of a serde's settings."""
        known = super().configured(config)
        return replace(self, fail_on_trailing=known.fail_on_trailing, remove_java=known.remove_java)

    @property
    def _rows(self) -> RowOptions:
        assert self.rows is not None
        return self.rows

    def is_large(self, options: Any) -> bool:
        """Return what the columns ask for."""
        return self._rows.large

    def text(self) -> str:
        """Return the schema that is registered."""
        return schema_text(self._rows.kind, self.record)

    def derived_text(self, kind: pa.DataType) -> str:
        """Return the schema that is registered, whatever columns are given."""
        return self.text()

    def source(self, schema: ParsedSchema) -> AvroSource:
        """Return a schema in Connect's types."""
        return AvroSource(schema.root)

    def definitions(self, schema: ParsedSchema) -> list[str]:
        """Return nothing: a schema is one type."""
        return []

    def decoder(self, schema: ParsedSchema, options: Any, limits: Limits) -> SchemaDecoder:
        """Return what reads payloads of any schema as the columns."""
        rows, trailing = self._rows, not self.fail_on_trailing
        named = rows._replace(kind=_avro_names(rows.kind))
        # The reader's schema is no deeper than the columns are.
        inner = TypeOptions(rows.large, MAX_NESTING, union_members="type", union_prefix="")

        def make(writer: ParsedSchema, indexes: tuple[int, ...]) -> Reader:
            found = read_as(named, AvroSource(writer.root))
            root = reader_schema(found, writer.root)
            if writer.root.type == "bytes":
                # These payloads have no length before them, and are what they are.
                root = Schema("bytes")
            text = canonical(root)
            decoder: SchemaDecoder = AvroDecoder(text, root, inner, limits, trailing=trailing)
            program = decoder.program(writer)
            if isinstance(program, Programs):
                decoder = _Decoder(text, Programs(with_maps(program.plan, found), limits), trailing)
                program = decoder.program(writer)
            return Reader(f"{text} {decoder.arrow_type} {found}", found, decoder, program)

        return ColumnDecoder(schema.text, rows, make)

    def encoder(
        self, schema: ParsedSchema, given: ParsedSchema | None, options: Any, limits: Limits
    ) -> SchemaEncoder:
        """Return what writes the columns as a schema, their own or one that was chosen by its id."""
        return _Encoder(self._rows, schema.root, limits)


def _avro_names(kind: SqlType) -> SqlType:
    """Return a type with the names that its columns have in Avro."""
    return replace(
        kind,
        key=None if kind.key is None else _avro_names(kind.key),
        item=None if kind.item is None else _avro_names(kind.item),
        fields=tuple(SqlField(_avro_name(field.name), _avro_names(field.type)) for field in kind.fields),
    )


class _Decoder(SchemaDecoder):
    """Columns of programs that read maps as such."""

    def __init__(self, text: str, program: Programs, trailing: bool) -> None:
        self.text = text
        self.arrow_type = program.plan.arrow_type
        self._program = program
        self._trailing = trailing

    def program(self, writer: Any, indexes: tuple[int, ...] = ()) -> Programs:
        """Return the program, which is that of one writer."""
        return self._program

    def decode(
        self, values: pa.Array, programs: Sequence[Any], *, selector: Any, starts: Any, stop: bool
    ) -> tuple[pa.Array, list[Fault]]:
        """Decode an array."""
        module = kernel()
        compiled = [None if program is None else program.compiled(module) for program in programs]
        return module.decode(
            values, compiled, selector=selector, starts=starts, trailing=self._trailing, stop=stop
        )


class _Encoder(SchemaEncoder):
    def __init__(self, rows: RowOptions, schema: Schema, limits: Limits) -> None:
        self._rows = rows
        self._schema = schema
        options = TypeOptions(large=rows.large, round="truncate" if rows.floor else "error")
        self._inner: SchemaEncoder = (
            BytesEncoder(schema, options, limits)
            if schema.type == "bytes"
            else AvroEncoder(schema, None, options, limits)
        )
        _check(rows.kind, schema)

    def encode(
        self, array: pa.Array, *, prefix: bytes, large: bool, stop: bool
    ) -> tuple[pa.Array, list[Fault]]:
        """Encode an array of the columns."""
        plain, lost = prepared(array, self._rows.kind)
        shaped = _shaped(plain, self._rows.kind, self._schema)
        encoded, faults = self._inner.encode(shaped, prefix=prefix, large=large, stop=stop)
        return encoded, sorted([*lost, *faults], key=lambda fault: fault.row) if lost else faults


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


def _shaped(array: pa.Array, kind: SqlType, schema: Schema) -> pa.Array:
    """Return unpacked columns in the form of a schema: with its names, and maps as lists where it has them so."""
    target = schema.values[0] if len(schema.values) == 1 else schema
    if pa.types.is_null(array.type):
        return array
    validity = array.buffers()[0] if array.null_count else None
    if kind.base == "STRUCT" and target.type == "record":
        fields = {field.name: field.type for field in target.fields}
        parts, names = [], []
        for field, place in zip(kind.fields, match_fields(kind.fields, array.type), strict=True):
            name = _avro_name(field.name)
            if place is not None:
                if name not in fields:
                    raise missing_field(name)
                parts.append(_shaped(array.field(place), field.type, fields[name]))
                names.append(name)
        made = pa.struct([(name, part.type) for name, part in zip(names, parts, strict=True)])
        return pa.Array.from_buffers(made, len(array), [validity], children=parts)
    if kind.base == "ARRAY" and target.type == "array":
        assert target.item is not None
        items = _shaped(array.values, kind.parts[0], target.item)
        made = pa.large_list(items.type) if pa.types.is_large_list(array.type) else pa.list_(items.type)
        return pa.Array.from_buffers(made, len(array), [validity, array.buffers()[1]], children=[items])
    if kind.base == "MAP":
        return _entries(array, kind, target, validity)
    if kind.base == "TIMESTAMP" and pa.types.is_timestamp(array.type) and array.type.tz is None:
        return array.cast(pa.timestamp(array.type.unit, "UTC"))
    if kind.base == "TIME" and pa.types.is_integer(array.type):
        return array.cast(pa.int32())
    if kind.base == "BYTES" and pa.types.is_fixed_size_binary(array.type) and target.type == "bytes":
        return array.cast(pa.binary())
    return array


def _entries(array: pa.Array, kind: SqlType, target: Schema, validity: pa.Buffer | None) -> pa.Array:
    assert target.item is not None
    keys, items = array.values.field(0), array.values.field(1)
    if target.type == "map":
        items = _shaped(items, kind.parts[1], target.item)
        made: pa.DataType = pa.map_(keys.type, items.type)
        entries = pa.StructArray.from_arrays([keys, items], fields=[made.key_field, made.item_field])
    else:
        entry = target.item
        parts = [
            _shaped(part, below, field.type)
            for part, below, field in zip((keys, items), kind.parts, entry.fields, strict=True)
        ]
        entries = pa.StructArray.from_arrays(parts, ["key", "value"])
        made = pa.list_(pa.field("item", entries.type, nullable=False))
    return pa.Array.from_buffers(made, len(array), [validity, array.buffers()[1]], children=[entries])
