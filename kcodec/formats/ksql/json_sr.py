"""ksqlDB's JSON_SR: the schemas that it registers, and documents of any JSON Schema as its columns."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from kcodec._kept import Kept
from kcodec.columns.casts import cast_rows
from kcodec.columns.layout import layout
from kcodec.errors import Fault, SchemaError
from kcodec.formats.json.kernel import kernel
from kcodec.formats.json.reread import reread
from kcodec.formats.json_schema.document import read_document, write_document
from kcodec.formats.json_schema.schema import JsonSchema
from kcodec.formats.json_schema.schema_format import JsonSchemaFormat
from kcodec.formats.ksql.json_sr_reader import read_document_row
from kcodec.formats.ksql.json_sr_source import JsonSource
from kcodec.formats.ksql.plan import code_of, encode_plan, written_type
from kcodec.formats.ksql.registered import ColumnDecoder, Reader, read_as
from kcodec.formats.ksql.source import Reading
from kcodec.formats.ksql.types import RowOptions, SqlType, arrow_type
from kcodec.formats.ksql.writing import missing_field
from kcodec.formats.schema_format import NamedText, SchemaDecoder, SchemaEncoder
from kcodec.plan import Limits
from kcodec.plan.node import Form, Node, Op, Plan
from kcodec.plan.programs import Programs

__all__ = ["KsqlJsonSchemaFormat", "schema_text"]

_CONNECT = "org.apache.kafka.connect.data"


# Schemas that are registered --------------------------------------------------------------------------


def schema_text(kind: SqlType, *, wrapped: bool) -> str:
    """Return the schema of rows, of which only those of a bare column may be null.

    >>> from kcodec.formats.ksql.types import parse_type
    >>> schema_text(parse_type("STRING"), wrapped=False)
    '{"oneOf":[{"type":"null"},{"type":"string"}]}'
    """
    return write_document(_type(kind) if wrapped else _optional(kind))


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
            "title": f"{_CONNECT}.{name}",
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
            "title": f"{_CONNECT}.Decimal",
            "connect.version": 1,
            "connect.type": "bytes",
            "connect.parameters": {
                "scale": str(kind.scale),
                "connect.decimal.precision": str(kind.precision),
            },
        }
    if kind.base == "ARRAY":
        return {"type": "array", "items": _optional(kind.parts[0])}
    if kind.base == "MAP":
        if kind.parts[0].base != "STRING":
            raise SchemaError("JSON only supports MAP types with STRING keys")
        entry = {"key": _property(kind.parts[0], 0), "value": _property(kind.parts[1], 1)}
        return {"type": "array", "connect.type": "map", "items": {"type": "object", "properties": entry}}
    properties = {field.name: _property(field.type, number) for number, field in enumerate(kind.fields)}
    return {"type": "object", "properties": properties}


def _optional(kind: SqlType) -> dict[str, Any]:
    return {"oneOf": [{"type": "null"}, _type(kind)]}


def _property(kind: SqlType, number: int) -> dict[str, Any]:
    return {"connect.index": number, **_optional(kind)}


# Schemas that are read --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ReferringSchema:
    """A parsed schema, and the documents that it refers to, by name."""

    schema: JsonSchema
    named: tuple[tuple[str, Any], ...] = ()

    @property
    def document(self) -> Any:
        """The JSON of its text."""
        return self.schema.document

    @property
    def root(self) -> Any:
        """Its model."""
        return self.schema.root


# Reading ----------------------------------------------------------------------------------------------

_SOURCE_TYPES = {
    "boolean": pa.bool_(),
    "float64": pa.float64(),
    "float32": pa.float32(),
    "string": pa.string(),
}


def _stored(found: Reading, source: JsonSource, large: bool) -> pa.DataType:
    """Return the type that documents are read as, before they are coerced: with the fields that a reading has."""
    base = found.kind.base
    if base == "STRUCT":
        below = dict(source.fields)
        return pa.struct(
            [
                (part.field, _stored(part, below[part.field], large))
                for part in found.parts
                if part.field is not None and not part.problem
            ]
        )
    if base == "ARRAY":
        item = _item(found.parts[0], source.item, large)
        return pa.large_list(item) if large else pa.list_(item)
    if base == "MAP":
        return pa.map_(_item(found.parts[0], source.key, large), _item(found.parts[1], source.item, large))
    if base == "STRING" and source.type != "string":
        return _SOURCE_TYPES.get(source.type, pa.int64())
    return arrow_type(found.kind, large=large)


def _item(found: Reading, source: JsonSource, large: bool) -> pa.DataType:
    # What cannot be read is skipped, but counted.
    return pa.string() if found.problem else _stored(found, source, large)


class _Planned:
    """Nodes of a reading; columns are taken in their order."""

    def __init__(self, kind: pa.DataType) -> None:
        self.columns = iter(layout(kind))

    def node(self, found: Reading, source: JsonSource, name: str = "", forms: Form = Form.PLAIN) -> Node:
        column = next(self.columns)
        if source.optional:
            forms |= Form.NULL
        base = found.kind.base
        if found.problem:
            return Node(Op.JSON_TEXT, column.index, name, forms=Form.NULL)
        if base == "STRUCT":
            return Node(Op.JSON_OBJECT, column.index, name, self.fields(found, source), forms=forms)
        if base == "ARRAY":
            item = self.node(found.parts[0], source.item)
            return Node(Op.JSON_LIST, column.index, name, (item,), forms=forms)
        if base == "MAP":
            key = self.node(found.parts[0], source.key, "key" if source.is_entries else "")
            item = self.node(found.parts[1], source.item, "value" if source.is_entries else "")
            if not source.is_entries:
                return Node(Op.JSON_MAP, column.index, name, (key, item), forms=forms)
            # Both are always there.
            entry = (replace(key, forms=key.forms & ~Form.NULL), item)
            whole = Node(Op.JSON_OBJECT, -1, children=entry)
            return Node(Op.JSON_LIST, column.index, name, (whole,), forms=forms)
        made = self.leaf(found.kind, source, column.index, name, forms)
        default = source.default
        return replace(made, forms=made.forms | Form.DEFAULT, data=default) if default else made

    def fields(self, found: Reading, source: JsonSource) -> tuple[Node, ...]:
        below = dict(source.fields)
        return tuple(
            self.node(part, below[part.field], part.field, Form.ABSENT)
            for part in found.parts
            if part.field is not None and not part.problem
        )

    def leaf(self, kind: SqlType, source: JsonSource, column: int, name: str, forms: Form) -> Node:
        if source.type == "boolean":
            return Node(Op.JSON_BOOLEAN, column, name, forms=forms)
        if source.type in ("float32", "float64"):
            return Node(Op.JSON_FLOAT, column, name, forms=forms)
        if source.type == "string":
            return Node(Op.JSON_STRING, column, name, forms=forms | Form.SCALAR)
        if kind.base == "DECIMAL":
            return Node(Op.JSON_DECIMAL, column, name, forms=forms | Form.BASE64, scale=source.scale)
        if source.type == "bytes":
            return Node(Op.JSON_BYTES, column, name, forms=forms)
        factor = 1000 if kind.base == "TIMESTAMP" else 1
        return Node(
            Op.JSON_INTEGER, column, name, factor=factor, forms=forms, bounds=_BOUNDS.get(source.type)
        )


_BOUNDS = {f"int{bits}": (-(1 << bits - 1), (1 << bits - 1) - 1) for bits in (8, 16, 32, 64)}


class _DocumentDecoder(SchemaDecoder):
    """Documents of one schema, of which what a reading needs is decoded.

    Compatible rows that the row loop refuses are read again as ksqlDB reads them.
    """

    def __init__(self, plan: Plan, found: Reading, source: JsonSource, rows: RowOptions) -> None:
        self.text = ""
        self.arrow_type = plan.arrow_type
        self._program = Programs(plan, rows.limits)
        self._found = found
        self._source = source
        self._compatible = rows.compatible

    def program(self, writer: Any, indexes: tuple[int, ...] = ()) -> Programs:
        """Return the program."""
        return self._program

    def decode(
        self, values: pa.Array, programs: Sequence[Any], *, selector: Any, starts: Any, stop: bool
    ) -> tuple[pa.Array, list[Fault]]:
        """Decode an array; what stands behind a document is left alone, as Jackson does."""
        module = kernel()
        compiled = [None if program is None else program.compiled(module) for program in programs]
        array, faults = module.decode(
            values,
            compiled,
            selector=selector,
            starts=starts,
            trailing=True,
            stop=stop and not self._compatible,
        )
        if not faults or not self._compatible:
            return array, faults
        begins = None if starts is None else memoryview(starts).cast("B").cast("i")

        def read(data: bytes, row: int) -> Any:
            body = data if begins is None else data[begins[row] :]
            return read_document_row(body, self._found, self._source)

        return reread(values, array, faults, read, stop=stop)


# The format -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class KsqlJsonSchemaFormat(JsonSchemaFormat):
    """JSON Schema for the columns of a statement."""

    rows: RowOptions | None = None

    @property
    def _rows(self) -> RowOptions:
        assert self.rows is not None
        return self.rows

    def options(self, options: object) -> Any:
        """Return nothing: the columns say all."""
        return None

    def is_large(self, options: Any) -> bool:
        """Return what the columns ask for."""
        return self._rows.large

    def parse(self, text: str, references: Sequence[NamedText] = ()) -> Any:
        """Read a schema, and keep those that it refers to."""
        named = tuple((each.name, read_document(each.text)) for each in references)
        return ReferringSchema(super().parse(text, references), named)

    def text(self) -> str:
        """Return the schema that is registered."""
        return schema_text(self._rows.kind, wrapped=self._rows.wrapped)

    def derived_text(self, kind: pa.DataType) -> str:
        """Return the schema that is registered, whatever columns are given."""
        return self.text()

    def definitions(self, schema: Any) -> list[str]:
        """Return nothing: a schema is one type."""
        return []

    def source(self, schema: Any) -> JsonSource:
        """Return a schema in Connect's types."""
        return JsonSource(schema.document, schema.document, dict(schema.named))

    def decoder(self, schema: Any, options: Any, limits: Limits) -> SchemaDecoder:
        """Return what reads documents of any schema as the columns."""
        rows = self._rows

        def make(writer: ReferringSchema, indexes: tuple[int, ...]) -> Reader:
            source = self.source(writer)
            found = read_as(rows, source)
            stored = _stored(found, source, rows.large)
            plan = Plan("KSQL_JSON_SR", "decode", stored, _Planned(stored).node(found, source))
            decoder = _DocumentDecoder(plan, found, source, rows)
            return Reader(f"{plan} {found}", found, decoder, decoder.program(writer))

        return ColumnDecoder(write_document(schema.document), rows, make)

    def encoder(self, schema: Any, given: Any, options: Any, limits: Limits) -> SchemaEncoder:
        """Return what writes the columns as a schema, their own or one that was chosen by its id."""
        return _Encoder(self._rows, self.source(schema), limits)


class _Encoder(SchemaEncoder):
    def __init__(self, rows: RowOptions, source: JsonSource, limits: Limits) -> None:
        self._rows = rows
        self._limits = limits
        self._programs: Kept[pa.DataType, Programs] = Kept()
        known = dict(source.fields) if source.type == "struct" else {}
        for field in rows.kind.fields if rows.wrapped else ():
            if field.name not in known:
                raise missing_field(field.name)
        self._entries = _entries(rows.kind, source)

    def encode(
        self, array: pa.Array, *, prefix: bytes, large: bool, stop: bool
    ) -> tuple[pa.Array, list[Fault]]:
        """Encode an array of the columns; nulls are written as ``null``."""
        rows, module = self._rows, kernel()
        kind = written_type(rows.kind, array.type)
        plain, lost = cast_rows(array, kind, code_of)

        def make() -> Programs:
            return Programs(
                encode_plan(rows.kind, kind, floor=rows.floor, entries=self._entries), self._limits
            )

        program = self._programs.get(kind, make).compiled(module)
        encoded, faults = module.encode(plain, program, prefix=prefix, large=large, stop=stop)
        return encoded, sorted([*lost, *faults], key=lambda fault: fault.row) if lost else faults


def _entries(kind: SqlType, source: JsonSource) -> bool:
    """Return whether the maps of a schema are lists of entries, as those of ksqlDB are; not if the first one is not."""
    if kind.base == "MAP":
        return source.is_entries
    if kind.base == "ARRAY" and source.type == "array":
        return not kind.has_map or _entries(kind.parts[0], source.item)
    if kind.base == "STRUCT" and source.type == "struct":
        below = dict(source.fields)
        found = [
            _entries(each.type, below[each.name])
            for each in kind.fields
            if each.type.has_map and each.name in below
        ]
        return all(found)
    return True
