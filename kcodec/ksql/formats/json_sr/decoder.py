"""Documents of any JSON Schema as the columns of a statement: types, plans and unions of ksqlDB's JSON_SR."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from kcodec.columns.framed.frames import payload_starts
from kcodec.columns.types.layout import layout
from kcodec.errors import Fault
from kcodec.formats.connect.from_json_schema import JsonSchemaAsConnect
from kcodec.formats.json.kernel import kernel
from kcodec.formats.json.node import Form, JsonNode, Op
from kcodec.formats.json.reread import reread
from kcodec.java.jackson import JacksonError, read_tree
from kcodec.java.numbers import integer_bounds
from kcodec.ksql.formats.json_sr.reader import NO_MEMBER, default_of, read_document_row
from kcodec.ksql.formats.reading import Reading
from kcodec.ksql.formats.registered import ProgramDecoder
from kcodec.ksql.types import RowOptions, SqlType, arrow_type
from kcodec.plan.failure import RowError
from kcodec.plan.node import Plan
from kcodec.plan.programs import Programs

_SOURCE_TYPES = {
    "boolean": pa.bool_(),
    "double": pa.float64(),
    "float": pa.float32(),
    "string": pa.string(),
}


def _stored(found: Reading, source: JsonSchemaAsConnect, large: bool) -> pa.DataType:
    """Return the type that documents are read as before they are coerced: with the fields that the reading names."""
    base = found.kind.base
    if found.union is not None:
        return _text(large)
    if base == "STRUCT":
        return pa.struct(
            [
                (part.field, _stored(part, source.fields[part.field], large))
                for part in found.parts
                if part.field is not None and not part.problem
            ]
        )
    if base == "ARRAY":
        item = _item(found.parts[0], source.parts[0], large)
        return pa.large_list(item) if large else pa.list_(item)
    if base == "MAP":
        key, item = (_item(part, each, large) for part, each in zip(found.parts, source.parts, strict=True))
        return pa.map_(key, item)
    if (base == "STRING" and source.type != "string") or source.type == "float":
        return _SOURCE_TYPES.get(source.type, pa.int64())
    return arrow_type(found.kind, large=large)


def _item(found: Reading, source: JsonSchemaAsConnect, large: bool) -> pa.DataType:
    # What cannot be read is skipped, but counted.
    return _text(large) if found.problem else _stored(found, source, large)


def _text(large: bool) -> pa.DataType:
    return pa.large_string() if large else pa.string()


class _Planned:
    """Nodes of a reading; columns are taken in their order."""

    def __init__(self, kind: pa.DataType, compatible: bool) -> None:
        self.columns = iter(layout(kind))
        self.compatible = compatible

    def node(
        self, found: Reading, source: JsonSchemaAsConnect, name: str = "", forms: Form = Form.PLAIN
    ) -> JsonNode:
        column = next(self.columns)
        if source.optional or found.default is not None:
            forms |= Form.NULL
        base = found.kind.base
        if found.problem:
            return JsonNode(Op.JSON_TEXT, column.index, name, forms=Form.NULL)
        if found.union is not None:
            return JsonNode(Op.JSON_TEXT, column.index, name, forms=forms)
        if source.is_union:
            children = tuple(
                replace(child, forms=_IN_UNION.get(child.op, child.forms & ~Form.ABSENT) | Form.NULL)
                for child in self.fields(found, source)
            )
            return JsonNode(Op.JSON_UNION, column.index, name, children, forms=forms)
        if base == "STRUCT":
            return JsonNode(Op.JSON_OBJECT, column.index, name, self.fields(found, source), forms=forms)
        if base == "ARRAY":
            item = self.node(found.parts[0], source.parts[0])
            return JsonNode(Op.JSON_LIST, column.index, name, (item,), forms=forms)
        if base == "MAP":
            names = ("key", "value") if source.has_entries else ("", "")
            key, item = map(self.node, found.parts, source.parts, names)
            if not source.has_entries:
                return JsonNode(Op.JSON_MAP, column.index, name, (key, item), forms=forms)
            # Both are always there.
            entry = (replace(key, forms=key.forms & ~Form.NULL), item)
            whole = JsonNode(Op.JSON_OBJECT, -1, children=entry)
            return JsonNode(Op.JSON_LIST, column.index, name, (whole,), forms=forms)
        made = self.leaf(found.kind, source, column.index, name, forms)
        default = source.default
        return replace(made, forms=made.forms | Form.DEFAULT, data=default) if default else made

    def fields(self, found: Reading, source: JsonSchemaAsConnect) -> tuple[JsonNode, ...]:
        return tuple(
            self.node(part, source.fields[part.field], part.field, Form.ABSENT)
            for part in found.parts
            if part.field is not None and not part.problem
        )

    def leaf(
        self, kind: SqlType, source: JsonSchemaAsConnect, column: int, name: str, forms: Form
    ) -> JsonNode:
        if source.type == "boolean":
            return JsonNode(Op.JSON_BOOLEAN, column, name, forms=forms)
        if source.type in ("float", "double"):
            forms |= Form.CANONICAL if self.compatible else Form.PLAIN
            return JsonNode(Op.JSON_FLOAT, column, name, forms=forms)
        if source.type == "string":
            forms |= Form.PLAIN if self.compatible else Form.SCALAR
            return JsonNode(Op.JSON_STRING, column, name, forms=forms)
        if kind.base == "DECIMAL":
            return JsonNode(Op.JSON_DECIMAL, column, name, forms=forms | Form.BASE64, scale=source.scale or 0)
        if source.type == "bytes":
            return JsonNode(Op.JSON_BYTES, column, name, forms=forms)
        if self.compatible and source.name:
            # Not 1.0, which other integers are.
            forms |= Form.CANONICAL
        factor = 1000 if kind.base == "TIMESTAMP" else 1
        return JsonNode(
            Op.JSON_INTEGER, column, name, factor=factor, forms=forms, bounds=_BOUNDS.get(source.type)
        )


_BOUNDS = {f"int{bits}": integer_bounds(bits) for bits in (8, 16, 32, 64)}


#: Forms of the members of a union, which are of exactly their kinds.
_IN_UNION = {Op.JSON_INTEGER: Form.CANONICAL, Op.JSON_FLOAT: Form.PLAIN, Op.JSON_STRING: Form.PLAIN}


class DocumentDecoder(ProgramDecoder):
    """Decodes those parts of the documents of one schema that the columns need; text behind a document is ignored.

    Compatible rows that the row loop refuses are read again as ksqlDB reads them.
    """

    def __init__(self, found: Reading, source: JsonSchemaAsConnect, rows: RowOptions) -> None:
        kind = _stored(found, source, rows.large)
        plan = Plan("KSQL_JSON_SR", "decode", kind, _Planned(kind, rows.compatible).node(found, source))
        super().__init__(kernel, Programs(plan, rows.limits), trailing=True)
        self._found = found
        self._source = source
        self._compatible = rows.compatible

    def decode(
        self, values: pa.Array, programs: Sequence[Any], *, selector: Any, starts: Any, stop: bool
    ) -> tuple[pa.Array, Sequence[Fault]]:
        """Decode an array."""
        array, faults = super().decode(
            values, programs, selector=selector, starts=starts, stop=stop and not self._compatible
        )
        if not faults or not self._compatible:
            return array, faults

        start_of = payload_starts(starts)

        def read(data: bytes, row: int) -> Any:
            return read_document_row(data[start_of(row) :], self._found, self._source)

        return reread(values, array, faults, read, stop=stop)


# Unions -----------------------------------------------------------------------------------------------


def annotation(rows: RowOptions) -> Callable[[Reading, JsonSchemaAsConnect], Reading]:
    """Return what says which unions are read as texts, and what stands for the nulls of lists, maps and structs."""

    def annotate(found: Reading, source: JsonSchemaAsConnect) -> Reading:
        if found.kind.base not in ("STRUCT", "ARRAY", "MAP"):
            return found
        if not source.is_union:
            try:
                value = default_of(found, source)
                default = None if value is None else pa.scalar(value, _stored(found, source, rows.large))
            except (RowError, pa.ArrowException, ValueError, TypeError):
                return found
            return replace(found, default=default)
        read = [part for part in found.parts if part.field is not None and not part.problem]
        is_plain = source.is_plain_union and len(read) == len(source.members)
        return found if is_plain else replace(found, union=_Union(found, source, rows))

    return annotate


class _Union:
    """Texts of values, each of which is read as the member of a union that it matches."""

    def __init__(self, found: Reading, source: JsonSchemaAsConnect, rows: RowOptions) -> None:
        self._choose = source.chooser()
        self._names = list(source.fields)
        self._decoders = {
            part.field: DocumentDecoder(part, source.fields[part.field], rows)
            for part in found.parts
            if part.field is not None and not part.problem
        }

    def __call__(self, texts: pa.Array) -> tuple[pa.Array, list[Fault]]:
        """Return structs of the members, and the values that match no member."""
        faults: list[Fault] = []
        chosen = np.full(len(texts), -1, np.int32)
        for place, text in enumerate(texts.to_pylist()):
            if text is not None:
                number, fault = self._chosen(text)
                chosen[place] = number
                faults += [] if fault is None else [fault._replace(row=place)]
        members = []
        for number, name in enumerate(self._names):
            if name in self._decoders:
                decoder = self._decoders[name]
                selector = np.where(chosen == number, 0, -1).astype(np.int32)
                member, lost = decoder.decode(
                    texts, [decoder.program(None)], selector=selector, starts=None, stop=False
                )
                faults += [fault._replace(offset=None) for fault in lost]
                members.append((name, member))
        mask = texts.is_null()
        return pa.StructArray.from_arrays(
            [member for _, member in members], [name for name, _ in members], mask=mask
        ), sorted(faults)

    def _chosen(self, text: str) -> tuple[int, Fault | None]:
        """Return the number of the member that a value matches, or -1 and the reason why it matches none."""
        try:
            value = read_tree(text.encode(), nonfinite=True)
        except JacksonError as error:
            return -1, Fault(0, None, "", "json_syntax", str(error))
        if value is None:
            return -1, Fault(0, None, "", "null_value", "Invalid null value for required STRUCT field")
        number = self._choose(value)
        return (-1, Fault(0, None, "", "json_type", NO_MEMBER)) if number is None else (number, None)
