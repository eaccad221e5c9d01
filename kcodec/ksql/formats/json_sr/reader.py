"""ksqlDB's reading of JSON_SR, a row at a time: what Connect's ``JsonSchemaData`` answers, leniencies and all.

This is the specification of ``compat="ksqldb"``, and the slow path for rows that the row loop refuses. A value of a
wrong type is 0, false or null, without a word.
"""

import json
import math
from decimal import Decimal
from typing import Any

from kcodec.columns.types.plain import MILLIS_PER_DAY
from kcodec.formats.connect.from_json_schema import JsonSchemaAsConnect
from kcodec.formats.connect.json_reader import read_base64, read_unscaled
from kcodec.formats.connect.model import BITS
from kcodec.formats.connect.values import is_integer
from kcodec.java.jackson import JacksonError, node_type, read_tree, write_tree
from kcodec.java.numbers import narrow_integer, round_to_double
from kcodec.java.utf8 import replace_surrogates
from kcodec.ksql.formats.json.reader import TIME_RANGE, fit
from kcodec.ksql.formats.reading import Reading
from kcodec.plan.failure import RowError

#: Why a value is of no member of a union.
NO_MEMBER = "Did not find matching oneof field for data"


def read_document_row(data: bytes, found: Reading, source: JsonSchemaAsConnect) -> Any:
    """Read one document to what `pyarrow.array` takes, before it is coerced; raise `RowError` for what is refused."""
    try:
        tree = read_tree(data, nonfinite=True)
    except JacksonError as error:
        raise RowError("json_syntax", 0, "", str(error)) from None
    return _value(tree, found, source)


def default_of(found: Reading, source: JsonSchemaAsConnect) -> Any:
    """Return the default of a list, map or struct; None where the schema has none."""
    value = source.node.get("default")
    return None if value is None else _value(value, found, source)


def _value(node: Any, found: Reading, source: JsonSchemaAsConnect) -> Any:
    if found.problem:
        return None
    if node is None or node is ...:
        if source.default:
            return _leaf(json.loads(source.default, parse_float=Decimal), found, source)
        if node is ... or source.optional or found.default is not None:
            return None
        raise RowError("null_value", None, "", f"Invalid null value for required {source.type.upper()} field")
    base = found.kind.base
    if base == "STRUCT":
        return _struct(node, found, source)
    if base == "ARRAY":
        items = node if isinstance(node, list) else list(node.values()) if isinstance(node, dict) else []
        (part,), (below,) = found.parts, source.parts
        return [_within(f"[{number}]", item, part, below) for number, item in enumerate(items)]
    return _map(node, found, source) if base == "MAP" else _leaf(node, found, source)


def _within(step: str, node: Any, found: Reading, source: JsonSchemaAsConnect) -> Any:
    try:
        return _value(node, found, source)
    except RowError as error:
        raise error.within(step) from None


def _struct(node: Any, found: Reading, source: JsonSchemaAsConnect) -> Any:
    if found.union is not None:
        # Taken apart later.
        return write_tree(node, escape_surrogates=True, nonfinite=True)
    if source.is_union:
        number = source.chooser()(node)
        if number is None:
            raise RowError("json_type", None, "", NO_MEMBER)
        name, member = list(source.fields.items())[number]
        return {part.field: _value(node, part, member) for part in found.parts if part.field == name}
    if not isinstance(node, dict):
        raise _wrong(node, "Structs should be encoded as JSON objects")
    return {
        part.field: _within(part.field, node.get(part.field, ...), part, source.fields[part.field])
        for part in found.parts
        if part.field is not None and not part.problem
    }


def _map(node: Any, found: Reading, source: JsonSchemaAsConnect) -> Any:
    keys, items = found.parts
    if not source.has_entries:
        if not isinstance(node, dict):
            raise _wrong(node, "Maps with string fields should be encoded as JSON objects")
        pairs: list[tuple[Any, Any]] = list(node.items())
    else:
        if not isinstance(node, list):
            raise _wrong(node, "Maps with non-string fields should be encoded as JSON array of objects")
        for entry in node:
            if not isinstance(entry, dict) or len(entry) != 2:
                raise RowError("json_type", None, "", "Found invalid map entry")
        pairs = [(entry.get("key", ...), entry.get("value", ...)) for entry in node]
    made: dict[Any, Any] = {}
    for number, (key, item) in enumerate(pairs):
        name = _within(f"[{number}].key", key, keys, source.parts[0])
        if name is None:
            raise RowError("null_value", None, f"[{number}].key", "a key of a map is null")
        made[name] = _within(f"[{number}].value", item, items, source.parts[1])
    return list(made.items())


def _leaf(node: Any, found: Reading, source: JsonSchemaAsConnect) -> Any:
    kind, base = source.type, found.kind.base
    is_number = isinstance(node, (int, float, Decimal)) and not isinstance(node, bool)
    if base == "DECIMAL":
        return _decimal(node, is_number, found, source)
    if kind == "boolean":
        return node is True
    if kind in ("float", "double"):
        return round_to_double(node) if is_number else 0.0
    if kind == "string":
        return replace_surrogates(node) if isinstance(node, str) else None
    if kind == "bytes":
        if not isinstance(node, str):
            raise _wrong(node, "Invalid bytes field")
        return read_base64(node, "Invalid bytes field")
    # What is too large for a moment wraps, but for a day or a time of a day it is no integer.
    is_whole = isinstance(node, int) and is_number if kind == "int64" else is_integer(node, 32)
    if source.name and not is_whole:
        simple = source.name.rpartition(".")[2]
        raise _wrong(node, f"Invalid type for {simple}, underlying representation should be integer")
    number = _narrowed(node, BITS[kind]) if is_number else 0
    if base == "TIME" and not 0 <= number < MILLIS_PER_DAY:
        raise RowError("out_of_range", None, "", TIME_RANGE)
    if base == "TIMESTAMP":
        number *= 1000
        if not -(1 << 63) <= number < 1 << 63:
            raise RowError("out_of_range")
    return number


def _narrowed(node: float | Decimal, bits: int) -> int:
    """Convert to an integer as Jackson's nodes do; doubles that are not integers go through at least 32 bits."""
    if not isinstance(node, float):
        return narrow_integer(node, bits)
    half = 1 << max(bits, 32) - 1
    return narrow_integer(0 if math.isnan(node) else half - 1 if node > 0 else -half, bits)


def _decimal(node: Any, is_number: bool, found: Reading, source: JsonSchemaAsConnect) -> Any:
    if isinstance(node, float):
        raise RowError("invalid_number", None, "", "A number that is not finite is no Decimal")
    if is_number:
        number = Decimal(node)
    elif isinstance(node, str):
        number = read_unscaled(node, source.scale or 0)
    else:
        raise _wrong(node, "Invalid type for Decimal, underlying representation should be numeric or bytes")
    fitted, code, reason = fit(number, found.kind)
    if fitted is None:
        raise RowError(code, None, "", reason)
    return fitted


def _wrong(node: Any, reason: str) -> RowError:
    return RowError("json_type", None, "", f"{reason}, but found {node_type(node)}")
