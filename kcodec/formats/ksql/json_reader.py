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
BYTES      text of Base64 with its padding
TIME       numbers and text as BIGINT: milliseconds from 0 to 86,400,000, both included
DATE       the same: days since 1970-01-01
TIMESTAMP  the same: milliseconds since 1970-01-01 in UTC
ARRAY      an array
MAP        an object
STRUCT     an object; each field is the key of its name, or else the last key whose upper case is its name
=========  ==================================================================================================
"""

import base64
import binascii
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NoReturn

from kcodec.errors import CODES
from kcodec.formats.json.reread import Refused
from kcodec.formats.ksql.types import SqlType
from kcodec.java.jackson import JacksonError, quote, read_tree

__all__ = [
    "LONGEST_DAY",
    "TIME_RANGE",
    "clipped",
    "fit",
    "java_decimal",
    "java_double",
    "java_integer",
    "java_text",
    "read_row",
    "tree_text",
]

LONGEST_DAY = 86_400_000
_LONGEST_REASON = 1000
TIME_RANGE = "Time values must use number of milliseconds greater than 0 and less than 86400000."
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_INTEGER = re.compile(r"[+-]?\d+")
_DECIMAL = re.compile(r"([+-]?)(\d*)(\.\d*)?(?:[eE]([+-]?\d+))?")
_DOUBLE = re.compile(r"[+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?)")
_BEYOND = re.compile("([\ud800-\udfff\U00010000-\U0010ffff]+)")
_HEX_DOUBLE = re.compile(
    r"([+-]?)0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+(?=[fFdD]?$)", re.ASCII
)


def read_row(data: bytes, kind: SqlType, *, wrapped: bool = True) -> Any:
    r"""Read one row.

    Parameters
    ----------
    data : bytes
        A JSON document.
    kind : SqlType
        A STRUCT of the columns; unwrapped, the type of the only one.
    wrapped : bool
        Whether the document is an object of the columns.

    Returns
    -------
    object
        What `pyarrow.array` takes for the type's Arrow type: dict, list, list of pairs (MAP), str, bytes,
        int, float, bool, `decimal.Decimal`, None. TIME and DATE are int, TIMESTAMP is int of microseconds.

    Raises
    ------
    Refused
        If ksqlDB refuses the row, with its reason and path; or if Arrow has no room for a DATE or TIMESTAMP.

    Examples
    --------
    >>> from kcodec.formats.ksql.types import parse_type
    >>> read_row(b'{"id": "7", "At": 1.9}', parse_type("STRUCT<ID INT, `At` BIGINT, X TIME>"))
    {'ID': 7, 'At': 1, 'X': None}
    """
    try:
        tree = read_tree(data)
    except JacksonError as error:
        raise Refused("json_syntax", "", error.offset, str(error)) from None
    if tree is None and wrapped:
        # ksqlDB fails with a NullPointerException.
        raise Refused("null_value", "", None, "null is not a record of columns")
    return _value(tree, kind, _Path("$", ""))


def clipped(reason: str) -> str:
    """Cut a reason that shows a long value.

    Examples
    --------
    >>> len(clipped("x" * 5000))
    1003
    """
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
        shown = clipped(java_text(f"{reason or CODES[code]}, path: {self.java}"))
        raise Refused(code, java_text(self.plain), None, shown)


def _value(node: Any, kind: SqlType, path: _Path) -> Any:
    return None if node is None else _READERS[kind.base](node, kind, path)


def _boolean(node: Any, kind: SqlType, path: _Path) -> bool:
    if not isinstance(node, bool):
        _wrong_type(node, kind, path)
    return node


def _integer(node: Any, kind: SqlType, path: _Path) -> int:
    bits = 32 if kind.base == "INTEGER" else 64
    if isinstance(node, str):
        number = java_integer(node, bits)
        if number is None:
            path.fail("invalid_number", f"Can't coerce string to type. targetType: {kind.base}")
        return number
    if not _is_number(node):
        _wrong_type(node, kind, path)
    return _narrow(node, bits)


def _double(node: Any, kind: SqlType, path: _Path) -> float:
    if isinstance(node, str):
        number = java_double(node)
        if number is None:
            path.fail("invalid_number", "Can't coerce string to type. targetType: DOUBLE")
        return number
    if not _is_number(node):
        _wrong_type(node, kind, path)
    return float(Decimal(node))


def _decimal(node: Any, kind: SqlType, path: _Path) -> Decimal:
    if isinstance(node, str):
        number = java_decimal(node)
        if number is None:
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
        return java_text(node)
    return "" if node is ... else java_text(_list_text(node))


def _bytes(node: Any, kind: SqlType, path: _Path) -> bytes:
    if not isinstance(node, str):
        _wrong_type(node, kind, path)
    if not _BASE64.fullmatch(node):
        path.fail("invalid_base64", f"Value is not a valid Base64 encoded string: {node}")
    try:
        return base64.b64decode(node)
    except binascii.Error:
        path.fail("invalid_base64")


def _time(node: Any, kind: SqlType, path: _Path) -> int:
    number = _integer(node, kind, path)
    if kind.base == "TIME" and not 0 <= number <= LONGEST_DAY:
        path.fail("out_of_range", TIME_RANGE)
    if kind.base == "DATE" and not -(1 << 31) <= number < 1 << 31:
        path.fail("out_of_range")
    if kind.base == "TIMESTAMP":
        number *= 1000
        if not -(1 << 63) <= number < 1 << 63:
            path.fail("out_of_range")
    return number


def _array(node: Any, kind: SqlType, path: _Path) -> list[Any]:
    assert kind.item is not None
    if not isinstance(node, list):
        _wrong_type(node, kind, path)
    return [_value(item, kind.item, path.item(number)) for number, item in enumerate(node)]


def _map(node: Any, kind: SqlType, path: _Path) -> list[tuple[str, Any]]:
    assert kind.item is not None
    if not isinstance(node, dict):
        _wrong_type(node, kind, path)
    entries: dict[str, Any] = {}
    for number, (key, value) in enumerate(node.items()):
        name = java_text(key)
        # As the row loop has it: of equal keys the last stays, where it stands.
        entries.pop(name, None)
        entries[name] = _value(value, kind.item, path.value(key, number))
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


def _narrow(number: int | Decimal, bits: int) -> int:
    """Cut a number to an integer and to its low bits, as ``intValue`` and ``longValue`` do."""
    if isinstance(number, Decimal):
        # 10**64 and more is a multiple of 2**64.
        if number.adjusted() < 0 or int(number.as_tuple().exponent) >= 64:
            return 0
        number = int(number)
    half = 1 << bits - 1
    return (number + half) % (2 * half) - half


def fit(number: Decimal, kind: SqlType) -> tuple[Decimal | None, str, str]:
    """Give a decimal the scale of its type.

    Parameters
    ----------
    number : decimal.Decimal
        Any.
    kind : SqlType
        A DECIMAL.

    Returns
    -------
    tuple of (decimal.Decimal or None, str, str)
        The number, or the code and ksqlDB's reason why it does not fit.

    Examples
    --------
    >>> from kcodec.formats.ksql.types import parse_type
    >>> fit(Decimal("1.120"), parse_type("DECIMAL(4,2)"))[0]
    Decimal('1.12')
    >>> fit(Decimal("1.125"), parse_type("DECIMAL(4,2)"))[1]
    'inexact'
    """
    precision, scale = kind.precision, kind.scale
    if number and number.adjusted() >= precision - scale:
        return None, "decimal_precision", (
            f"Numeric field overflow: A field with precision {precision} and scale {scale} must round to an "
            f"absolute value less than 10^{precision - scale}. Got {number}"
        )  # fmt: skip
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    shift = exponent + scale
    text = "".join(map(str, digits))
    if number and shift < 0:
        if len(text) <= -shift or text[shift:].strip("0"):
            shown = format(number, "f") if -exponent < 1000 else str(number)
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


def java_integer(text: str, bits: int) -> int | None:
    """Parse as ``Integer.parseInt`` and ``Long.parseLong``: digits of any script, no blanks; None if it is none.

    Examples
    --------
    >>> java_integer("+49", 32), java_integer("4.9", 32), java_integer("2147483648", 32)
    (49, None, None)
    """
    # Java looks at UTF-16 units, so a digit beyond U+FFFF is none.
    if not _INTEGER.fullmatch(text) or (not text.isascii() and max(text) > "\uffff"):
        return None
    sign = text[0] if text[0] in "+-" else ""
    digits = _ascii_digits(text[len(sign) :]).lstrip("0") or "0"
    if len(digits) > 20:
        return None
    number = -int(digits) if sign == "-" else int(digits)
    return number if -(1 << bits - 1) <= number < 1 << bits - 1 else None


def java_double(text: str) -> float | None:
    """Parse as ``Double.parseDouble``: blanks around, hexadecimal and a suffix are allowed; None if it is none.

    Examples
    --------
    >>> java_double(" 1d"), java_double("0x1p3"), java_double("NaN "), java_double("1_0")
    (1.0, 8.0, nan, None)
    """
    text = text.strip("".join(map(chr, range(33))))
    if _DOUBLE.fullmatch(text):
        if text.lstrip("+-")[0] in "NI":
            return float(text)
        return float(text.rstrip("fFdD"))
    match = _HEX_DOUBLE.match(text)
    if match is None:
        return None
    try:
        return float.fromhex(match[0])
    except OverflowError:
        return float(match[1] + "inf")


def java_decimal(text: str) -> Decimal | None:
    """Parse as ``new BigDecimal(text)``: digits of any script, no blanks; None if it is none.

    Examples
    --------
    >>> java_decimal(".5"), java_decimal("1e1"), java_decimal("0x1")
    (Decimal('0.5'), Decimal('1E+1'), None)
    """
    match = _DECIMAL.fullmatch(text)
    if match is None or (not text.isascii() and max(text) > "\uffff"):
        return None
    sign, whole, point, exponent = match.groups()
    digits = _ascii_digits(whole + (point or "")[1:])
    power = _ascii_digits((exponent or "0").lstrip("+-")).lstrip("0") or "0"
    if not digits or len(power) > 10:
        return None
    shift = -int(power) if (exponent or "").startswith("-") else int(power)
    scale = len((point or ".")[1:]) - shift
    # The scale and the exponent are Java's int.
    if not (-(1 << 31) <= shift < 1 << 31 and -(1 << 31) <= scale < 1 << 31):
        return None
    number = Decimal(f"{digits}E{-scale}")
    return number if sign != "-" or not number else number.copy_negate()


def _ascii_digits(digits: str) -> str:
    return digits if digits.isascii() else "".join(str(int(digit)) for digit in digits)


def java_text(text: str) -> str:
    """Make halves of surrogate pairs that stand alone the question marks that Java's UTF-8 has for them."""
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text


def tree_text(root: Any) -> str:
    """Write a tree as compact JSON, with what it holds in the order in which it came.

    Examples
    --------
    >>> tree_text({"b": [Decimal("1.50"), None], "a": "x"})
    '{"b":[1.50,null],"a":"x"}'
    """
    return _flat(root, ",", _leaf_text)


def _list_text(root: Any) -> str:
    """Write lists as ``[a, b]`` with their items as text, and objects in them as JSON."""
    return _flat(root, ", ", lambda node: tree_text(node) if isinstance(node, dict) else _scalar_text(node))


def _flat(root: Any, comma: str, other: Callable[[Any], str]) -> str:
    """Write lists, and the objects that are below them, with a stack: they may be deeper than Python can call."""
    out: list[str] = []
    # What is still to be written, the last first: nodes, and tuples of text.
    stack: list[Any] = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            out += node
        elif isinstance(node, list):
            out.append("[")
            stack.append(("]",))
            for number in range(len(node) - 1, -1, -1):
                stack += [node[number], (comma if number else "",)]
        elif isinstance(node, dict) and other is _leaf_text:
            out.append("{")
            stack.append(("}",))
            for number, (name, value) in reversed(list(enumerate(node.items()))):
                stack += [value, (comma if number else "", _leaf_text(name), ":")]
        else:
            out.append(other(node))
    return "".join(out)


def _scalar_text(node: Any) -> str:
    if node is None:
        return "null"
    return str(node).lower() if isinstance(node, bool) else str(node)


def _leaf_text(node: Any) -> str:
    if not isinstance(node, str):
        return _scalar_text(node)
    # A generator that writes characters, not bytes, leaves surrogates as they are.
    parts = _BEYOND.split(node)
    return '"' + "".join(part if i % 2 else quote(part)[1:-1] for i, part in enumerate(parts)) + '"'


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
    if kind.base == "ARRAY":
        assert kind.item is not None
        return f"ARRAY<{java_type(kind.item)}>"
    if kind.base == "MAP":
        assert kind.key is not None
        assert kind.item is not None
        return f"MAP<{java_type(kind.key)}, {java_type(kind.item)}>"
    return base if base is not None and base != "DECIMAL" else _SHORT.get(kind.base, str(kind))


_SHORT = {"INTEGER": "INT", "STRING": "VARCHAR"}
