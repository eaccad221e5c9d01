"""ksqlDB's DELIMITED: the cells of a row, as commons-csv 1.4 reads and writes them.

Columns are read and written by the row loop of JSON, as lists; ``_delimited`` turns these into delimited text.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from kcodec._impl import kernel
from kcodec.columns.faults import Faults, Way, joined
from kcodec.errors import CODES, ConfigError, Fault, SchemaError
from kcodec.formats.json.kernel import kernel as json_kernel
from kcodec.formats.json.node import Form, JsonNode, Op
from kcodec.formats.json.reread import reread
from kcodec.ksql.formats.delimited._kernel_py import Odd
from kcodec.ksql.formats.delimited.objects import DelimitedReader, DelimitedWriter, plain_cells
from kcodec.ksql.formats.delimited.reader import count_mismatch, read_record
from kcodec.ksql.formats.json.rows import JsonRows
from kcodec.ksql.types import RowOptions
from kcodec.objects.form import ObjectForm
from kcodec.objects.kernel import Reader, Writer
from kcodec.plan.node import Plan

_NAMES = {"TAB": "\t", "SPACE": " "}
_REFUSED = ("ARRAY", "MAP", "STRUCT")
#: What a cell may be in a list of JSON; all else is text.
_KINDS = {"STRING": b"s", "BYTES": b"s", "BOOLEAN": b"b"}


def delimiter_of(text: str) -> str:
    """Read the property ``delimiter``: one character, ``TAB`` or ``SPACE``."""
    if not any(letter > " " for letter in text):
        raise ConfigError(
            "Delimiter cannot be empty, if you meant to have a tab or space for delimiter, please use the special "
            f"values {' or '.join(map(repr, _NAMES))}"
        )
    delimiter = _NAMES.get(text, text)
    # Java's characters are units of UTF-16.
    if len(delimiter) != 1 or delimiter > "\uffff":
        raise ConfigError(
            f"Invalid delimiter value: '{text}'. Delimiter must be a single character or {','.join(_NAMES)}"
        )
    if delimiter in '"\r\n' or "\ud800" <= delimiter <= "\udfff":
        raise ConfigError(f"the delimiter cannot be {delimiter!r}")
    return delimiter


class DelimitedRows(JsonRows):
    """How rows of some columns stand in delimited text, which is turned into lists of JSON, and back."""

    def __init__(self, options: RowOptions) -> None:
        for field in options.kind.fields:
            if field.type.base in _REFUSED:
                raise SchemaError(
                    f"The 'DELIMITED' format does not support type '{field.type.base}', column: `{field.name}`"
                )
        super().__init__(options._replace(compatible=False))
        self._options = options
        self._delimiter = delimiter_of(options.properties.get("delimiter", ","))
        self._kinds = b"".join(_KINDS.get(field.type.base, b"n") for field in options.kind.fields)
        cells = tuple(_cell(node) for node in self.plan.root.children)
        self.plan = Plan(
            "KSQL_DELIMITED", "decode", self.arrow_type, JsonNode(Op.JSON_TUPLE, 0, children=cells)
        )

    def decode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
        """Read an array of payloads; rows that the row loops do not read are read again one by one."""
        module = json_kernel()
        lists, odd = kernel("ksql.formats.delimited._kernel").to_json(
            array, self._delimiter, self._kinds, self._options.large
        )
        decoded, faults = module.decode(lists, [self._program(module, None)])
        refused, unknown = self._told_apart(odd)
        array, again = reread(array, decoded, joined([faults, unknown]), self._reread, stop=stop)
        return array, joined([refused, again])

    def object_reader(self, columns: Reader, form: ObjectForm) -> Reader:
        """Return what reads rows as Python objects; `columns` reads those that are not plain."""
        cells = plain_cells(self._options.kind.fields, self._delimiter)
        return (
            columns
            if cells is None or form != ObjectForm()
            else DelimitedReader(cells, self._delimiter, columns)
        )

    def object_writer(self, columns: Writer) -> Writer:
        """Return what writes Python objects as rows; `columns` writes those that are not plain."""
        cells = plain_cells(self._options.kind.fields, self._delimiter)
        return columns if cells is None else DelimitedWriter(cells, self._delimiter, columns)

    def _told_apart(self, odd: list[Odd]) -> tuple[Sequence[Fault], list[Fault]]:
        """Return the odd rows that are wrong in any case, and those that have to be read again."""
        refused: list[tuple[int, int | None, Way]] = []
        unknown: list[Fault] = []
        not_utf8 = "", "invalid_utf8", CODES["invalid_utf8"]
        counts = {cells for _, _, cells in odd if cells is not None}
        miscounted = {got: ("", "column_count", count_mismatch(len(self._kinds), got)) for got in counts}
        for row, offset, cells in odd:
            if cells is not None:
                refused.append((row, None, miscounted[cells]))
            elif offset is not None and not self._options.compatible:
                refused.append((row, offset, not_utf8))
            else:
                unknown.append(Fault(row, None, "", "delimited_syntax", CODES["delimited_syntax"]))
        return Faults.told_apart(refused), unknown

    def _reread(self, data: bytes, row: int) -> Any:
        return read_record(data, self._options.kind, self._delimiter, strict=not self._options.compatible)

    def encode(self, array: pa.Array, stop: bool) -> tuple[pa.Array, Sequence[Fault]]:
        """Write an array."""
        lists, faults = super().encode(array, stop)
        if faults and stop:
            return None, faults
        return kernel("ksql.formats.delimited._kernel").from_json(
            lists, self._delimiter, self._options.large
        ), faults

    def _written(self, kind: pa.DataType) -> Plan:
        # Text stands as it is, and a decimal without an exponent.
        cells = tuple(
            dataclasses.replace(node, forms=node.forms & ~(Form.ESCAPED | Form.SCIENTIFIC))
            for node in super()._written(kind).root.children
        )
        return Plan(
            "KSQL_DELIMITED", "encode", kind, JsonNode(Op.JSON_TUPLE, 0, children=cells, forms=Form.NULL)
        )


def _cell(node: JsonNode) -> JsonNode:
    """Make the node of a column that of a cell: never missing, text only text, integers only digits."""
    forms = node.forms & ~(Form.ABSENT | Form.SCALAR)
    return dataclasses.replace(node, forms=forms | Form.CANONICAL if node.op is Op.JSON_INTEGER else forms)
