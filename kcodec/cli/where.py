"""Conditions on records, as ``--where`` takes them: comparisons of columns with values, joined by and, or, not."""

import ast
import operator
from decimal import Decimal
from typing import Any

import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.columns.fields import field_path
from kcodec.errors import ConfigError

__all__ = ["condition", "named_columns"]

#: Arrow goes down an expression as deep as it is, in the end beyond the stack.
_MOST_PARTS = 1000
_COMPARISONS: dict[type, Any] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def condition(text: str, schema: pa.Schema) -> Any:
    """Return the Arrow expression of a condition.

    Examples
    --------
    >>> schema = pa.schema([("value", pa.struct([("id", pa.int64())])), ("offset", pa.int64())])
    >>> str(condition("value.id > 5 and offset != 7", schema))
    '((FieldRef.Nested(FieldRef.Name(value) FieldRef.Name(id)) > 5) and (offset != 7))'
    """
    found = _condition(_parsed_text(text), schema, text)
    try:
        schema.empty_table().filter(found)
    except pa.ArrowException as error:
        raise ConfigError(f"--where {text!r}: {error}") from None
    return found


def named_columns(text: str) -> dict[str, bool]:
    """Return the names that a condition begins with, and whether fields of them are meant.

    Examples
    --------
    >>> named_columns("value.id > 5 and offset != 7")
    {'value': True, 'offset': False}
    """
    found: dict[str, bool] = {}
    for node in ast.walk(_parsed_text(text)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found[node.value.id] = True
        elif isinstance(node, ast.Name):
            found.setdefault(node.id, False)
    return found


def _parsed_text(text: str) -> ast.expr:
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = getattr(error, "msg", "too long")
        raise ConfigError(
            f"--where {text!r}: {reason}: it is such as \"value.id >= 5 and (topic == 'orders' or value.note is None)\""
        ) from None
    if sum(len(node.values) for node in ast.walk(tree) if isinstance(node, ast.BoolOp)) > _MOST_PARTS:
        raise ConfigError(f"--where of more than {_MOST_PARTS} parts: `in` takes many values")
    return tree


def _condition(node: ast.expr, schema: pa.Schema, text: str) -> Any:
    if isinstance(node, ast.BoolOp):
        parts = [_condition(each, schema, text) for each in node.values]
        whole = parts[0]
        for part in parts[1:]:
            whole = whole & part if isinstance(node.op, ast.And) else whole | part
        return whole
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return ~_condition(node.operand, schema, text)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _comparison(node.ops[0], node.left, node.comparators[0], schema, text)
    if isinstance(node, (ast.Name, ast.Attribute)):
        return _column(node, schema, text)[0]
    raise ConfigError(f"--where {text!r}: compare columns with values, joined by and, or, not")


def _comparison(op: ast.cmpop, left: ast.expr, right: ast.expr, schema: pa.Schema, text: str) -> Any:
    column, kind = _column(left, schema, text)
    try:
        value = ast.literal_eval(right)
    except (ValueError, TypeError):
        raise ConfigError(
            f"--where {text!r}: on the right stands a value: a number, 'text', True, None"
        ) from None
    if isinstance(op, (ast.Is, ast.IsNot)) and value is None:
        return column.is_null() if isinstance(op, ast.Is) else column.is_valid()
    try:
        if isinstance(op, (ast.In, ast.NotIn)) and isinstance(value, (list, tuple)):
            found = column.isin(pa.array([_scalar(each, kind).cast(kind).as_py() for each in value], kind))
            return found if isinstance(op, ast.In) else ~found
        compare = _COMPARISONS.get(type(op))
        if compare is not None and value is not None:
            return compare(column, _scalar(value, kind))
    except (pa.ArrowException, OverflowError, TypeError) as error:
        raise ConfigError(f"--where {text!r}: {error}") from None
    raise ConfigError(f"--where {text!r}: that comparison is none of ==, !=, <, <=, >, >=, in, is None")


def _scalar(value: Any, kind: pa.DataType) -> pa.Scalar:
    if isinstance(value, str) and not pa.types.is_string(kind):
        return _parsed(value, kind)
    if isinstance(value, float) and pa.types.is_integer(kind):
        # As an integer it would lose its fraction.
        return pa.scalar(value)
    if type(value) in (int, float) and pa.types.is_decimal(kind):
        return pa.scalar(Decimal(repr(value)))
    return pa.scalar(value, kind)


def _parsed(text: str, kind: pa.DataType) -> pa.Scalar:
    """Read text as a value; times without a zone are UTC, as those of ``--from``."""
    found = pa.scalar(text)
    try:
        return found.cast(kind)
    except pa.ArrowInvalid:
        if not pa.types.is_timestamp(kind) or kind.tz is None:
            raise
        try:
            return found.cast(pa.timestamp(kind.unit)).cast(kind)
        except pa.ArrowInvalid:
            raise TypeError(f"{text!r} is no time such as 2026-01-31T12:00:00Z") from None


def _column(node: ast.expr, schema: pa.Schema, text: str) -> tuple[Any, pa.DataType]:
    path: list[str] = []
    while isinstance(node, ast.Attribute):
        path.insert(0, node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        raise ConfigError(f"--where {text!r}: on the left stands a column, such as value.id")
    path.insert(0, node.id)
    kind: Any = pa.struct(list(schema))
    path = field_path(kind, path) or path
    for name in path:
        index = kind.get_field_index(name) if pa.types.is_struct(kind) else -1
        if index < 0:
            has = ", ".join(field.name for field in kind) if pa.types.is_struct(kind) else str(kind)
            raise ConfigError(f"--where {text!r}: there is no {name!r} in {has}")
        kind = kind.field(index).type
    return pc.field(*path), kind
