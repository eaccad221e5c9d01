"""Conditions as text: comparisons of columns with values, joined by and, or, not, as Python or SQL writes them."""

import ast
import io
import keyword
import re
import tokenize
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.columns.types.fields import field_path
from kcodec.errors import ConfigError
from kcodec.kafka.conditions.condition import (
    AnyOf,
    Compare,
    Condition,
    Every,
    Holds,
    IsNull,
    Not,
    OneOf,
    Path,
    Text,
    mask,
    paths,
)

#: Python goes down a condition as deep as it is, and a step for each part of it costs the time of all rows.
_MOST_PARTS = 1000
#: Conditions within others: Python has as many parentheses, and each is a call, on whatever stack rows are read.
_MOST_DEPTH = 200
_COMPARISONS: dict[type, str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
#: Of a condition, in an error.
_MOST_SHOWN = 500
#: How SQL writes it, in capitals or not -> how Python does.
_SQL = {
    "AND": "and",
    "OR": "or",
    "NOT": "not",
    "IN": "in",
    "IS": "is",
    "NULL": "None",
    "TRUE": "True",
    "FALSE": "False",
    "=": "==",
    "<>": "!=",
}
#: How Python is given ``like`` and ``not like``: as operators that bind more than comparisons, and nothing else has.
_LIKE = {False: "@", True: "//"}
#: What stands before the bytes of a name that Python would not take as it is.
_NAMED = "kcodec_named_"
_PATTERN = re.compile(r"(?:[^\\]|\\[%_\\])*", re.DOTALL)
_NONE = "compare columns with values, joined by and, or, not"
_EXAMPLE = "\"value.id >= 5 and (topic = 'orders' or value.note is null)\""
#: Of layout, which a condition of one line has no use for.
_LAYOUT = (tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


class Where:
    """A condition on the columns of a schema, such as ``value.country = 'DE' and value.total > 10``.

    Errors name what the condition was given as. A text that is no condition, or names columns that the schema does not
    have, is a `ConfigError`.

    >>> batch = pa.record_batch({"offset": [6, 7, 8], "value": [{"id": 5}, {"id": 6}, {"id": None}]})
    >>> Where("value.id > 5 and offset <> 8", batch.schema, "where").rows(batch).to_pylist()
    [{'offset': 7, 'value': {'id': 6}}]
    """

    def __init__(self, text: str, schema: pa.Schema, name: str) -> None:
        self._condition = parse(text, name)
        try:
            self.rows(empty(schema))
        except ConfigError as error:
            raise ConfigError(f"{name} {_shortened(text)}: {error}") from None

    def rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows for which it holds."""
        return matching(self._condition, batch)


class Look(NamedTuple):
    """A condition, and the columns of records that it needs.

    >>> look = Look(parse("id > 5", "where"), {"id": "value.id"}, pa.schema([("id", pa.int64())]))
    >>> look.holds(pa.record_batch({"id": pa.array([5, 6, None], pa.int32())})).to_pylist()
    [False, True, None]
    """

    condition: Condition
    #: What it reads, by the names that it has for them, as `kcodec.kafka.read` takes columns.
    columns: Mapping[str, str]
    #: Of what types these are to be compared.
    schema: pa.Schema

    def holds(self, batch: pa.RecordBatch) -> pa.Array:
        """Return for each row of these columns whether the condition holds."""
        arrays = [column.cast(field.type) for column, field in zip(batch.columns, self.schema, strict=True)]
        rows = pa.RecordBatch.from_arrays(arrays, schema=self.schema)
        return mask(self.condition, lambda path: column_at(rows, path))


def matching(condition: Condition, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows of a batch for which a condition holds.

    Columns that it does not have, or that cannot be compared with such values, are a `ConfigError`, also of an empty
    batch.

    >>> batch = pa.record_batch({"value": [{"shop.Order": {"id": 6}}, {"shop.Order": {"id": 7}}]})
    >>> matching(parse("value.shop.Order.id > 6", "where"), batch).to_pylist()
    [{'value': {'shop.Order': {'id': 7}}}]
    """
    return batch.filter(mask(condition, lambda path: column_at(batch, path)))


def empty(schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch without rows.

    >>> empty(pa.schema([("id", pa.int64())])).to_pydict()
    {'id': []}
    """
    return pa.RecordBatch.from_arrays([pa.nulls(0, each.type) for each in schema], schema=schema)


def column_at(batch: pa.RecordBatch, path: Path) -> pa.Array:
    """Return the column or the nested field that the steps of a dotted name lead to; names may have dots themselves.

    If there is none, it is a `ConfigError`.

    >>> batch = pa.record_batch({"value": [{"shop.Order": {"id": 7}}]})
    >>> column_at(batch, ("value", "shop", "Order", "id")).to_pylist()
    [7]
    """
    kind: Any = pa.struct(list(batch.schema))
    names = field_path(kind, path)
    if names is None:
        for name in path:
            index = kind.get_field_index(name) if pa.types.is_struct(kind) else -1
            if index < 0:
                break
            kind = kind.field(index).type
        has = ", ".join(field.name for field in kind) if pa.types.is_struct(kind) else str(kind)
        raise ConfigError(f"there is no {_shortened(name)} in {_cut(has)}")
    column = batch.column(names[0])
    return pc.struct_field(column, names[1:]) if names[1:] else column


def named_columns(text: str, name: str) -> dict[str, bool]:
    """Return the columns that a condition names, and whether it names fields within them.

    >>> named_columns("value.id > 5 and offset != 7", "where")
    {'value': True, 'offset': False}
    """
    found: dict[str, bool] = {}
    for path in paths(parse(text, name)):
        found[path[0]] = found.get(path[0], False) or len(path) > 1
    return found


def parse(text: str, name: str) -> Condition:
    """Read a condition; `name` is what it was given as, for errors.

    Raises
    ------
    ConfigError
        If it is none.

    Examples
    --------
    >>> parse("value.id > 5 AND NOT flag", "where")
    Every(parts=(Compare(path=('value', 'id'), op='>', value=5), Not(part=Holds(path=('flag',)))))
    """
    try:
        python = _as_python(text)
        tree = ast.parse(python, mode="eval").body
        if sum(len(node.values) for node in ast.walk(tree) if isinstance(node, ast.BoolOp)) > _MOST_PARTS:
            raise ConfigError(f"it has more than {_MOST_PARTS} parts: `in` takes many values")
        return _condition(tree, python, 0)
    except ConfigError as error:
        raise ConfigError(f"{name} {_shortened(text)}: {error}") from None
    except (RecursionError, MemoryError):
        reason = "too long"
    except tokenize.TokenError as error:
        reason = error.args[0]
    except SyntaxError as error:
        reason = error.msg
    except ValueError as error:
        reason = str(error)
    raise ConfigError(f"{name} {_shortened(text)}: {reason}: it is such as {_EXAMPLE}")


def _shortened(text: str) -> str:
    return repr(_cut(text))


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


def _as_python(text: str) -> str:
    """Return a condition as Python writes it."""
    words: list[str] = []
    before = None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        word = token.string
        if token.type in _LAYOUT:
            continue
        if before is not None and before.type == token.type == tokenize.STRING:
            # Python makes one of them, and SQL writes a quote within a text so.
            raise ConfigError(f'two texts in a row, {before.string} and {word}: write "it\'s"')
        if before is not None and before.string + word == "<>" and before.end == token.start:
            # A token of its own to some versions of Python only.
            words[-1] = "!="
        else:
            is_field = before is not None and before.string == "."
            if token.type == tokenize.OP and word in _LIKE.values():
                raise ConfigError(_NONE)
            if token.type == tokenize.STRING:
                words.append(_kept(word) if words and words[-1] in _LIKE.values() else word)
            elif not is_field and word.upper() == "LIKE":
                is_not = bool(words) and words[-1] == "not"
                words[len(words) - is_not :] = [_LIKE[is_not]]
            else:
                words.append(_named(word, is_field) if token.type == tokenize.NAME else _SQL.get(word, word))
        before = token
    return " ".join(words)


def _named(word: str, is_field: bool) -> str:
    """Return a word as Python takes it: of SQL, or a name, in which it would not see what stands there."""
    if not is_field and word.upper() in _SQL:
        return _SQL[word.upper()]
    # Python has words of its own, and takes the micro sign for the Greek letter.
    is_own = is_field and keyword.iskeyword(word)
    return _NAMED + word.encode().hex() if is_own or not word.isascii() or word.startswith(_NAMED) else word


def _name(word: str) -> str:
    return bytes.fromhex(word.removeprefix(_NAMED)).decode() if word.startswith(_NAMED) else word


def _kept(text: str) -> str:
    r"""Return a pattern in quotes in which ``\%`` and ``\_`` keep their backslash, as in Spark's SQL.

    >>> print(_kept(r"'5\%'"))
    '5\\%'
    """
    return text if text[0] in "rR" else re.sub(r"(?<!\\)((?:\\\\)*)\\([%_])", r"\1\\\\\2", text)


def _condition(node: ast.expr, text: str, depth: int) -> Condition:
    if depth > _MOST_DEPTH:
        raise ConfigError(f"it is nested deeper than {_MOST_DEPTH}")
    if isinstance(node, ast.BoolOp):
        parts = tuple(_condition(each, text, depth + 1) for each in node.values)
        return Every(parts) if isinstance(node.op, ast.And) else AnyOf(parts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return Not(_condition(node.operand, text, depth + 1))
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _comparison(node.ops[0], node.left, node.comparators[0], text)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.MatMult, ast.FloorDiv)):
        like = _like(_path(node.left), _literal(node.right, text))
        return like if isinstance(node.op, ast.MatMult) else Not(like)
    if isinstance(node, (ast.Name, ast.Attribute)):
        return Holds(_path(node))
    raise ConfigError(_NONE)


def _like(path: Path, pattern: Any) -> Condition:
    if not isinstance(pattern, str):
        raise ConfigError("like takes a text, in which % stands for any characters and _ for one")
    if _PATTERN.fullmatch(pattern) is None:
        raise ConfigError(
            f"like {pattern!r}: a backslash stands before %, _ or another one, for the character itself"
        )
    return Text(path, "match_like", pattern)


def _comparison(op: ast.cmpop, left: ast.expr, right: ast.expr, text: str) -> Condition:
    path = _path(left)
    if isinstance(op, (ast.In, ast.NotIn)):
        # SQL's list of one stands for what is within.
        items = right.elts if isinstance(right, (ast.List, ast.Tuple, ast.Set)) else [right]
        among = OneOf(path, tuple(_literal(each, text) for each in items))
        if None in among.values:
            raise ConfigError("a list cannot hold null: add `or ... is null`")
        return among if isinstance(op, ast.In) else Not(among)
    if isinstance(op, (ast.Is, ast.IsNot)):
        if _literal(right, text) is not None:
            raise ConfigError("the comparison is not one of =, !=, <, <=, >, >=, in, like, is null")
        return IsNull(path) if isinstance(op, ast.Is) else Not(IsNull(path))
    value = _literal(right, text)
    if value is None:
        raise ConfigError("nothing compares with null: is null, is not null")
    return Compare(path, _COMPARISONS[type(op)], value)


def _literal(node: ast.expr, text: str) -> Any:
    """Return a value; a number with a fraction as the decimal that it is written as."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        number = _literal(node.operand, text)
        if type(number) in (int, Decimal):
            # Not Decimal's own minus, which rounds to the digits of a context.
            negative = number.copy_negate() if isinstance(number, Decimal) else -number
            return negative if isinstance(node.op, ast.USub) else number
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, float):
            written = ast.get_source_segment(text, node)
            try:
                return Decimal((written or repr(node.value)).replace("_", ""))
            except InvalidOperation:
                raise ConfigError("a number has an exponent beyond those of decimals") from None
        if node.value is None or isinstance(node.value, (bool, int, str, bytes)):
            return node.value
    raise ConfigError("on the right stands a value: a number, 'text', true, null")


def _path(node: ast.expr) -> Path:
    if isinstance(node, ast.Attribute):
        return (*_path(node.value), _name(node.attr))
    if isinstance(node, ast.Name):
        return (_name(node.id),)
    raise ConfigError("on the left stands a column, such as value.id")
