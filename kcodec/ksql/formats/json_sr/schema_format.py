"""ksqlDB's JSON_SR: the schemas that it registers, and documents of any JSON Schema as its columns."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from kcodec._kept import Kept
from kcodec.columns.faults import joined
from kcodec.columns.types.exact import ExactType
from kcodec.columns.types.layout import layout
from kcodec.errors import Fault, SchemaError
from kcodec.formats.connect.from_json_schema import JsonSchemaAsConnect
from kcodec.formats.connect.model import DECIMAL, PACKAGE, PRECISION
from kcodec.formats.json.kernel import kernel
from kcodec.formats.json.node import Form, JsonNode, Op
from kcodec.formats.json_schema.schema import JsonSchema
from kcodec.formats.json_schema.schema_format import JsonSchemaFormat
from kcodec.formats.payloads import SchemaDecoder, SchemaEncoder
from kcodec.formats.tagged import TaggedField
from kcodec.java.hashing import hash_order
from kcodec.java.jackson import write_tree
from kcodec.ksql.formats.json.plan import cast_written, encode_plan, with_default, written_type
from kcodec.ksql.formats.json_sr.decoder import DocumentDecoder, annotation
from kcodec.ksql.formats.reading import annotated
from kcodec.ksql.formats.registered import (
    ColumnDecoder,
    ColumnsFormat,
    PayloadReader,
    read_as,
    tagged_columns,
)
from kcodec.ksql.formats.writing import missing_field
from kcodec.ksql.types import RowOptions, SqlType
from kcodec.plan import Limits
from kcodec.plan.node import Plan
from kcodec.plan.programs import Programs

# Schemas that are registered --------------------------------------------------------------------------


def schema_text(kind: SqlType, *, wrapped: bool) -> str:
    """Return the schema of rows, of which only those of a bare column may be null.

    >>> from kcodec.ksql.types import parse_type
    >>> schema_text(parse_type("STRING"), wrapped=False)
    '{"oneOf":[{"type":"null"},{"type":"string"}]}'
    """
    return write_tree(_type(kind) if wrapped else _optional(kind))


_TYPES: dict[str, dict[str, Any]] = {
    "BOOLEAN": {"type": "boolean"},
    "INTEGER": {"type": "integer", "connect.type": "int32"},
    "BIGINT": {"type": "integer", "connect.type": "int64"},
    "DOUBLE": {"type": "number", "connect.type": "float64"},
    "STRING": {"type": "string"},
    "BYTES": {"type": "string", "connect.type": "bytes"},
    **{
        base: {
            "type": "integer",
            "title": f"{PACKAGE}.{name}",
            "connect.version": 1,
            "connect.type": kind,
        }
        for base, name, kind in (
            ("TIME", "Time", "int32"),
            ("DATE", "Date", "int32"),
            ("TIMESTAMP", "Timestamp", "int64"),
        )
    },
}


def _type(kind: SqlType) -> dict[str, Any]:
    if kind.base in _TYPES:
        return _TYPES[kind.base]
    if kind.base == "DECIMAL":
        return {
            "type": "number",
            "title": DECIMAL,
            "connect.version": 1,
            "connect.type": "bytes",
            "connect.parameters": {
                "scale": str(kind.scale),
                PRECISION: str(kind.precision),
            },
        }
    if kind.base == "ARRAY":
        return {"type": "array", "items": _optional(kind.parts[0])}
    if kind.base == "MAP":
        if kind.parts[0].base != "STRING":
            raise SchemaError("JSON only supports MAP types with STRING keys")
        entry = {"key": kind.parts[0], "value": kind.parts[1]}
        return {"type": "array", "connect.type": "map", "items": _object(entry)}
    return _object({field.name: field.type for field in kind.fields})


def _object(fields: dict[str, SqlType]) -> dict[str, Any]:
    # The text is that of ksqlDB only if its properties stand as Connect's hash table has them.
    found = {name: _property(kind, number) for number, (name, kind) in enumerate(fields.items())}
    return {"type": "object", "properties": {name: found[name] for name in hash_order((), found)}}


def _optional(kind: SqlType) -> dict[str, Any]:
    return {"oneOf": [{"type": "null"}, _type(kind)]}


def _property(kind: SqlType, number: int) -> dict[str, Any]:
    return {"connect.index": number, **_optional(kind)}


# The format -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class KsqlJsonSchemaFormat(ColumnsFormat, JsonSchemaFormat):
    """JSON Schema for the columns of a statement."""

    rows: RowOptions | None = None

    def options(self, options: object) -> Any:
        """Return nothing: the columns say all."""
        return None

    def text(self) -> str:
        """Return the schema that is registered."""
        return schema_text(self._rows.kind, wrapped=self._rows.wrapped)

    def definitions(self, schema: Any) -> list[str]:
        """Return nothing: a schema is one type."""
        return []

    def source(self, schema: JsonSchema) -> JsonSchemaAsConnect:
        """Return a schema in Connect's types."""
        documents = schema.documents
        return JsonSchemaAsConnect(documents.main.document, documents.main, documents)

    def tagged_fields(
        self, schema: JsonSchema, ruled: JsonSchema, kind: pa.DataType, options: Any
    ) -> Sequence[TaggedField]:
        """Return the fields of a writer's schema by its names, where the columns have them."""
        return tagged_columns(JsonSchemaFormat(), ruled, kind)

    def decoder(self, schema: Any, options: Any, limits: Limits) -> SchemaDecoder:
        """Return what reads documents of any schema as the columns."""
        rows = self._rows

        def make(writer: JsonSchema, indexes: tuple[int, ...]) -> PayloadReader:
            source = self.source(writer)
            found = annotated(read_as(rows, source), source, annotation(rows))
            decoder = DocumentDecoder(found, source, rows)
            # How unions are read, and what stands for nulls, is said by the schema alone.
            said = "" if found.is_whole else f" {write_tree(writer.document)} {writer.documents.named}"
            program = decoder.program(writer)
            return PayloadReader(f"{program.plan} {found}{said}", found, decoder, program)

        return ColumnDecoder(write_tree(schema.document), rows, make)

    def encoder(self, schema: Any, given: Any, options: Any, limits: Limits) -> SchemaEncoder:
        """Return what writes the columns as a schema, their own or one that was chosen by its id."""
        return _Encoder(self._rows, self.source(schema), limits)


class _Encoder(SchemaEncoder):
    def __init__(self, rows: RowOptions, source: JsonSchemaAsConnect, limits: Limits) -> None:
        self._rows = rows
        self._limits = limits
        self._programs: Kept[pa.DataType, Programs] = Kept()
        self._written_types: Kept[ExactType, pa.DataType] = Kept()
        known = dict(source.fields) if source.type == "struct" and rows.wrapped else {}
        for field in rows.kind.fields if rows.wrapped else ():
            if known.pop(field.name, None) is None:
                raise missing_field(field.name)
        self._source = source
        # Properties that have no column, and what is written for them; others that may not be null are left out.
        self._rest = tuple(
            with_default(JsonNode(Op.JSON_NULL, 0, name, forms=Form.NULL), each)
            for name, each in known.items()
            if each.type and (each.optional or each.written_default)
        )

    def encode(
        self, array: pa.Array, *, prefix: bytes, large: bool, stop: bool
    ) -> tuple[pa.Array, Sequence[Fault]]:
        """Encode an array of the columns; nulls are written as ``null``."""
        rows, module = self._rows, kernel()
        given = array.type
        kind = self._written_types.get(ExactType(given), lambda: written_type(rows.kind, given))
        plain, lost = cast_written(array, rows.kind, kind)

        def make() -> Programs:
            plan = encode_plan(rows.kind, kind, floor=rows.floor, source=self._source)
            return Programs(self._completed(plan) if self._rest else plan, self._limits)

        program = self._programs.get(kind, make).compiled(module)
        if self._rest:
            plain = _with_nulls(plain)
        encoded, faults = module.encode(plain, program, prefix=prefix, large=large, stop=stop)
        return encoded, joined([lost, faults])

    def _completed(self, plan: Plan) -> Plan:
        """Return a plan that writes the properties without a column too, from the column of `_with_nulls`."""
        column = len(layout(plan.arrow_type))
        rest = (replace(node, column=column) for node in self._rest)
        return replace(
            plan,
            arrow_type=pa.struct([*plan.arrow_type, _NULLS]),
            root=replace(plan.root, children=(*plan.root.children, *rest)),
        )


_NULLS = pa.field("", pa.null())


def _with_nulls(array: pa.Array) -> pa.Array:
    """Return structs with one more field, which is null."""
    parts = [array.field(number) for number in range(array.type.num_fields)]
    mask = array.is_null() if array.null_count else None
    fields = [*array.type, _NULLS]
    return pa.StructArray.from_arrays([*parts, pa.nulls(len(array))], fields=fields, mask=mask)
