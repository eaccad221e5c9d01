"""ksqlDB's JSON_SR: the schemas that it registers, and documents of any JSON Schema as its columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from kcodec.columns.casts import cast_rows
from kcodec.columns.layout import layout
from kcodec.errors import Fault, SchemaError
from kcodec.formats.json.kernel import kernel
from kcodec.formats.json.reread import reread
from kcodec.formats.json_schema.document import read_document, write_document
from kcodec.formats.json_schema.schema import JsonSchema
from kcodec.formats.json_schema.schema_format import JsonSchemaFormat
from kcodec.formats.ksql.json_sr_reader import read_document_row
from kcodec.formats.ksql.plan import code_of, encode_plan, written_type
from kcodec.formats.ksql.registered import ColumnDecoder, Reader, read_as
from kcodec.formats.ksql.source import Reading
from kcodec.formats.ksql.types import RowOptions, SqlType, arrow_type
from kcodec.formats.schema_format import NamedText, SchemaDecoder, SchemaEncoder
from kcodec.plan import Limits
from kcodec.plan.kept import Kept
from kcodec.plan.node import Form, Node, Op, Plan
from kcodec.plan.programs import Programs

__all__ = ["KsqlJsonSchemaFormat", "schema_text"]

_CONNECT = "org.apache.kafka.connect.data"


# Schemas that are registered --------------------------------------------------------------------------


def schema_text(kind: SqlType) -> str:
    """Return the schema of rows.

    >>> from kcodec.formats.ksql.types import parse_type
    >>> schema_text(parse_type("STRING"))
    '{"oneOf":[{"type":"null"},{"type":"string"}]}'
    """
    return write_document(_type(kind) if kind.base == "STRUCT" else _optional(kind))


def bare_text(kind: SqlType) -> str:
    """Return the schema of a bare column, which may be a STRUCT."""
    return write_document(_optional(kind))


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


#: References that lead to references.
_MAX_REFERENCES = 100


class JsonSource:
    """A type of JSON Schema as Connect's ``JsonSchemaData`` has it; see `kcodec.formats.ksql.source.Source`."""

    def __init__(
        self, node: Any, root: Any, named: Mapping[str, Any], optional: bool = False, depth: int = 0
    ) -> None:
        if depth > _MAX_REFERENCES:
            raise SchemaError("references of the schema go in circles")
        self.named = named
        self.optional = optional
        self.node, self.root = self._followed(node, root)
        self._take_null(depth)

    def _followed(self, node: Any, root: Any) -> tuple[Any, Any]:
        """Follow references."""
        for _ in range(_MAX_REFERENCES):
            if not isinstance(node, Mapping) or not isinstance(node.get("$ref"), str):
                return node, root
            name, _, pointer = node["$ref"].partition("#")
            if name:
                found = self.named.get(name)
                if found is None:
                    raise SchemaError(f"the reference {name} is not registered with the schema")
                root = found
            node = _pointed(root, unquote(pointer), node["$ref"])
        raise SchemaError("references of the schema go in circles")

    def _take_null(self, depth: int) -> None:
        """Take the other one of two types of which one is null."""
        node = self.node
        if not isinstance(node, Mapping):
            return
        for keyword in ("oneOf", "anyOf"):
            members = node.get(keyword)
            if isinstance(members, list):
                others = [each for each in members if not _is_null(each)]
                if len(others) == 1 and len(members) <= 2:
                    optional = self.optional or len(members) == 2
                    inner = JsonSource(others[0], self.root, self.named, optional, depth + 1)
                    self.node, self.root, self.optional = inner.node, inner.root, inner.optional
                return
        kinds = node.get("type")
        if isinstance(kinds, list):
            others = [kind for kind in kinds if kind != "null"]
            if len(others) == 1:
                self.optional = self.optional or len(others) < len(kinds)
                self.node = {**node, "type": others[0]}

    @property
    def _kind(self) -> str:
        node = self.node
        if not isinstance(node, Mapping):
            return ""
        if "enum" in node or "const" in node:
            return "string" if "type" not in node or node["type"] == "string" else str(node["type"])
        kind = node.get("type")
        if isinstance(kind, str):
            return kind
        if "properties" in node:
            return "object"
        return "array" if "items" in node else ""

    @property
    def _connect_type(self) -> str | None:
        kind = self.node.get("connect.type")
        return kind if isinstance(kind, str) else None

    @property
    def type(self) -> str:
        kind = self._kind
        if kind in ("integer", "number"):
            return _NUMBERS.get(self._connect_type or "", "int64" if kind == "integer" else "float64")
        if kind == "string":
            return "bytes" if self._connect_type == "bytes" else "string"
        if kind == "array":
            return "map" if self.is_entries else "array"
        if kind == "object":
            return "map" if self._connect_type == "map" else "struct"
        return "boolean" if kind == "boolean" else ""

    @property
    def is_entries(self) -> bool:
        """Whether it is a map that stands as a list of its entries."""
        if self._kind != "array" or self._connect_type != "map":
            return False
        below = JsonSource(self.node.get("items"), self.root, self.named)
        return below._kind == "object"

    @property
    def logical(self) -> str:
        title = self.node.get("title")
        name = title.removeprefix(f"{_CONNECT}.") if isinstance(title, str) else ""
        wanted = {"Decimal": "bytes", "Date": "int32", "Time": "int32", "Timestamp": "int64"}.get(name)
        return name if wanted is not None and wanted == self.type else ""

    def _parameter(self, name: str) -> int:
        parameters = self.node.get("connect.parameters")
        try:
            return int(parameters[name]) if isinstance(parameters, Mapping) else 0
        except (KeyError, TypeError, ValueError):
            return 0

    @property
    def precision(self) -> int:
        return self._parameter("connect.decimal.precision")

    @property
    def scale(self) -> int:
        return self._parameter("scale")

    @property
    def default(self) -> bytes:
        """The JSON of what stands for null, if it is a value of a simple type."""
        value, kind = self.node.get("default"), self.type
        fits = isinstance(value, _DEFAULTS.get(kind, ())) and isinstance(value, bool) == (kind == "boolean")
        return write_document(value).encode() if fits else b""

    def _inner(self, node: Any) -> "JsonSource":
        return JsonSource(node, self.root, self.named)

    @property
    def fields(self) -> list[tuple[str, "JsonSource"]]:
        """The properties, by their indexes where they have some."""
        properties = self.node.get("properties")
        ordered: dict[int, tuple[str, Any]] = {}
        for name, node in properties.items() if isinstance(properties, Mapping) else ():
            index = node.get("connect.index") if isinstance(node, Mapping) else None
            known = isinstance(index, int) and not isinstance(index, bool)
            ordered[index if known else len(ordered)] = (name, node)  # type: ignore[index]
        return [(name, self._inner(node)) for _, (name, node) in sorted(ordered.items())]

    @property
    def key(self) -> "JsonSource":
        if self.is_entries:
            return self._entry("key")
        return self._inner({"type": "string"})

    @property
    def item(self) -> "JsonSource":
        if self.is_entries:
            return self._entry("value")
        return self._inner(self.node.get("items" if self.type == "array" else "additionalProperties"))

    def _entry(self, name: str) -> "JsonSource":
        entry = self._inner(self.node["items"])
        properties = entry.node.get("properties")
        return entry._inner(properties.get(name) if isinstance(properties, Mapping) else None)


#: Of what type the default of each type is.
_DEFAULTS: dict[str, tuple[type, ...]] = {
    "boolean": (bool,),
    "string": (str,),
    "bytes": (str, int, Decimal),
    **dict.fromkeys(("int8", "int16", "int32", "int64"), (int,)),
    **dict.fromkeys(("float32", "float64"), (int, Decimal)),
}
_NUMBERS = {name: name for name in ("int8", "int16", "int32", "int64", "float32", "float64", "bytes")}


def _is_null(node: Any) -> bool:
    return isinstance(node, Mapping) and node.get("type") == "null"


def _pointed(root: Any, pointer: str, reference: str) -> Any:
    node = root
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping) and key in node:
            node = node[key]
        elif isinstance(node, list) and key.isdecimal() and int(key) < len(node):
            node = node[int(key)]
        else:
            raise SchemaError(f"the reference {reference} leads nowhere")
    return node


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
        rows = self._rows
        return schema_text(rows.kind) if rows.wrapped else bare_text(rows.kind)

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
                raise SchemaError(f"Schema from Schema Registry misses field with name: {field.name}")
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
