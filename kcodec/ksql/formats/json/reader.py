"""ksqlDB's reading of JSON, a row at a time: what its ``KsqlJsonDeserializer`` answers, leniencies and all.

This is the specification of ``compat="ksqldb"``, and the slow path for rows that the strict row loop refuses.

What SQL types take, of a tree as Jackson reads it (a missing key or null is null for all of them):

=========  ==================================================================================================
BOOLEAN    true and false
INTEGER    numbers, cut to an integer and to its low 32 bits; text by ``Integer.parseInt``
BIGINT     the same with 64 bits
DOUBLE     numbers, those too large as infinity and -0.0 as 0.0; text by ``Double.parseDouble``
DECIMAL    numbers and text (``new BigDecimal(text)``) that fit without rounding
STRING     text; numbers and booleans as Java writes them; an object as compact JSON; an array as ``[a, b]``
BYTES      text of Base64 with its padding, white space between its groups of four
TIME       numbers and text as BIGINT: milliseconds from 0 to 86,399,999; ksqlDB takes 86,400,000 too, Arrow not
DATE       the same: days since 1970-01-01
TIMESTAMP  the same: milliseconds since 1970-01-01 in UTC
ARRAY      an array
MAP        an object
STRUCT     an object; each field is the key of its name, or else the last key whose upper case is its name
=========  ==================================================================================================
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Any, NoReturn

from kcodec.columns.types.plain import MILLIS_PER_DAY
from kcodec.errors import CODES
from kcodec.java.jackson import JacksonError, decode_base64, read_tree, write_tree
from kcodec.java.numbers import (
    format_java_decimal,
    narrow_integer,
    parse_java_decimal,
    parse_java_double,
    parse_java_integer,
    round_to_double,
)
from kcodec.java.utf8 import replace_surrogates
from kcodec.ksql.types import SqlType
from kcodec.plan.failure import RowError

__all__ = ["TIME_RANGE", "clipped", "fit", "read_row"]

_LONGEST_REASON = 1000
TIME_RANGE = "Time values must use number of milliseconds greater than 0 and less than 86400000."


def read_row(data: bytes, kind: SqlType, *, wrapped: bool = True) -> Any:
    """Read one row to what `pyarrow.array` takes; TIME and DATE are int, TIMESTAMP is int of microseconds.

    What ksqlDB refuses, and what Arrow has no room for, is a `RowError` with ksqlDB's reason.

    >>> from kcodec.ksql.types import parse_type
    >>> read_row(b'{"id": "7", "At": 1.9}', parse_type("STRUCT<ID INT, `At` BIGINT, X TIME>"))
    {'ID': 7, 'At': 1, 'X': None}
    """
    try:
        tree = read_tree(data)
    except JacksonError as error:
        raise RowError("json_syntax", error.offset, reason=str(error)) from None
    if tree is None and wrapped:
        # ksqlDB fails with a NullPointerException.
        raise RowError("null_value", reason="null is not a record of columns")
    return _value(tree, kind, _Path("$", ""))


def clipped(reason: str) -> str:
    """Cut a reason that shows a long value."""
    return reason if len(reason) <= _LONGEST_REASON else reason[:_LONGEST_REASON] + "..."


class _Path:
    """Where in the value: as ksqlDB writes it, and as errors of other formats do."""

    def __init__(self, java: str, plain: str) -> None:
        self.java = java
        self.plain = plain

    def field(self, name: str) -> "_Path":
        return _Path(f"{self.java}.{name}", f"{self.plain}.{name}" if self.plain else name)

    def item(self, number: int) -> "_Path":
        return _Path(f"{self.java}[{number}]", f"{self.plain}[{number}]")

    def value(self, key: str, number: int) -> "_Path":
        return _Path(f"{self.java}.{key}.value", f"{self.plain}[{number}].value")

    def fail(self, code: str, reason: str = "") -> NoReturn:
        shown = clipped(replace_surrogates(f"{reason or CODES[code]}, path: {self.java}"))
        raise RowError(code, path=replace_surrogates(self.plain), reason=shown)


def _value(node: Any, kind: SqlType, path: _Path) -> Any:
    return None if node is None else _READERS[kind.base](node, kind, path)


def _boolean(node: Any, kind: SqlType, path: _Path) -> bool:
    if not isinstance(node, bool):
        _wrong_type(node, kind, path)
    return node


def _integer(node: Any, kind: SqlType, path: _Path) -> int:
    bits = 32 if kind.base == "INTEGER" else 64
    if isinstance(node, str):
        try:
            return parse_java_integer(node, bits)
        except ValueError:
            path.fail("invalid_number", f"Can't coerce string to type. targetType: {kind.base}")
    if not _is_number(node):
        _wrong_type(node, kind, path)
    return narrow_integer(node, bits)


def _double(node: Any, kind: SqlType, path: _Path) -> float:
    if isinstance(node, str):
        try:
            return parse_java_double(node)
        except ValueError:
            path.fail("invalid_number", "Can't coerce string to type. targetType: DOUBLE")
    if not _is_number(node):
        _wrong_type(node, kind, path)
    return round_to_double(node)


def _decimal(node: Any, kind: SqlType, path: _Path) -> Decimal:
    if isinstance(node, str):
        try:
            number = parse_java_decimal(node)
        except ValueError:
            path.fail("invalid_number")
    elif _is_number(node):
        number = Decimal(node)
    else:
        _wrong_type(node, kind, path)
    fitted, code, reason = fit(number, kind)
    if fitted is None:
        path.fail(code, reason)
    return fitted


def _string(node: Any, kind: SqlType, path: _Path) -> str:
    if isinstance(node, str):
        return replace_surrogates(node)
    return "" if node is ... else replace_surrogates(_list_text(node))


def _bytes(node: Any, kind: SqlType, path: _Path) -> bytes:
    if not isinstance(node, str):
        _wrong_type(node, kind, path)
    try:
        return decode_base64(node)
    except ValueError:
        path.fail("invalid_base64", f"Value is not a valid Base64 encoded string: {node}")


def _time(node: Any, kind: SqlType, path: _Path) -> int:
    number = _integer(node, kind, path)
    if kind.base == "TIME" and not 0 <= number < MILLIS_PER_DAY:
        path.fail("out_of_range", TIME_RANGE)
    if kind.base == "DATE" and not -(1 << 31) <= number < 1 << 31:
        path.fail("out_of_range")
    if kind.base == "TIMESTAMP":
        number *= 1000
        if not -(1 << 63) <= number < 1 << 63:
            path.fail("out_of_range")
    return number


def _array(node: Any, kind: SqlType, path: _Path) -> list[Any]:
    if not isinstance(node, list):
        _wrong_type(node, kind, path)
    return [_value(item, kind.parts[0], path.item(number)) for number, item in enumerate(node)]


def _map(node: Any, kind: SqlType, path: _Path) -> list[tuple[str, Any]]:
    if not isinstance(node, dict):
        _wrong_type(node, kind, path)
    entries: dict[str, Any] = {}
    for number, (key, value) in enumerate(node.items()):
        name = replace_surrogates(key)
        # As the row loop has it: of equal keys the last stays, where it stands.
        entries.pop(name, None)
        entries[name] = _value(value, kind.parts[1], path.value(key, number))
    return list(entries.items())


def _struct(node: Any, kind: SqlType, path: _Path) -> dict[str, Any]:
    if not isinstance(node, dict):
        _wrong_type(node, kind, path)
    folded = {name.upper(): value for name, value in node.items()}
    return {
        field.name: _value(
            node[field.name] if field.name in node else folded.get(field.name),
            field.type,
            path.field(field.name),
        )
        for field in kind.fields
    }


_READERS: dict[str, Callable[[Any, SqlType, _Path], Any]] = {
    "BOOLEAN": _boolean,
    "INTEGER": _integer,
    "BIGINT": _integer,
    "DOUBLE": _double,
    "DECIMAL": _decimal,
    "STRING": _string,
    "BYTES": _bytes,
    "TIME": _time,
    "DATE": _time,
    "TIMESTAMP": _time,
    "ARRAY": _array,
    "MAP": _map,
    "STRUCT": _struct,
}


def _is_number(node: Any) -> bool:
    return isinstance(node, (int, Decimal)) and not isinstance(node, bool)


def fit(number: Decimal, kind: SqlType) -> tuple[Decimal | None, str, str]:
    """Bring a decimal to the scale of its type; None with a code and ksqlDB's reason if it does not fit."""
    precision, scale = kind.precision, kind.scale
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    is_short = abs(exponent) < _LONGEST_REASON
    if number and number.adjusted() >= precision - scale:
        return None, "decimal_precision", (
            f"Numeric field overflow: A field with precision {precision} and scale {scale} must round to an absolute "
            f"value less than 10^{precision - scale}. Got {format_java_decimal(number, plain=is_short)}"
        )  # fmt: skip
    shift = exponent + scale
    text = "".join(map(str, digits))
    if number and shift < 0:
        if len(text) <= -shift or text[shift:].strip("0"):
            shown = format_java_decimal(number, plain=is_short)
            return None, "inexact", (
                f"Cannot fit decimal '{shown}' into DECIMAL({precision}, {scale}) without rounding. "
                f"(Requires {len(text)},{-exponent})"
            )  # fmt: skip
        text = text[:shift]
    elif number:
        text += "0" * shift
    else:
        sign, text = 0, "0"
    return Decimal(("-" if sign else "") + text + f"E{-scale}"), "", ""


def _list_text(root: Any) -> str:
    """Write lists as ``[a, b]`` with their items as text, and objects in them as JSON."""
    parts: list[str] = []
    # What is still to be written, the last first: values, and the marks between them.
    stack: list[tuple[bool, Any]] = [(False, root)]
    while stack:
        is_mark, node = stack.pop()
        if isinstance(node, list):
            parts.append("[")
            stack.append((True, "]"))
            for number in range(len(node) - 1, -1, -1):
                stack += [(False, node[number]), (True, ", " if number else "")]
        else:
            parts.append(node if is_mark or isinstance(node, str) else write_tree(node))
    return "".join(parts)


def _wrong_type(node: Any, kind: SqlType, path: _Path) -> NoReturn:
    path.fail(
        "json_type",
        f"Can't convert type. sourceType: {_java_node(node)}, requiredType: {java_type(kind, kind.base)}",
    )


def _java_node(node: Any) -> str:
    """Name the class of a node of Jackson's tree."""
    if isinstance(node, bool):
        return "BooleanNode"
    if isinstance(node, int):
        if -(1 << 31) <= node < 1 << 31:
            return "IntNode"
        return "LongNode" if -(1 << 63) <= node < 1 << 63 else "BigIntegerNode"
    if node is ...:
        return "MissingNode"
    return {str: "TextNode", Decimal: "DecimalNode", list: "ArrayNode", dict: "ObjectNode"}[type(node)]


def java_type(kind: SqlType, base: str | None = None) -> str:
    """Write a type as ksqlDB's messages do: names without quotes, and within others the short names."""
    if kind.base == "STRUCT":
        return f"STRUCT<{', '.join(f'{field.name} {java_type(field.type)}' for field in kind.fields)}>"
    if kind.base in ("ARRAY", "MAP"):
        return f"{kind.base}<{', '.join(map(java_type, kind.parts))}>"
    return base if base is not None and base != "DECIMAL" else _SHORT.get(kind.base, str(kind))


#: Times have the names of the numbers that they are.
_SHORT = {"INTEGER": "INT", "STRING": "VARCHAR", "TIME": "INT", "DATE": "INT", "TIMESTAMP": "BIGINT"}
