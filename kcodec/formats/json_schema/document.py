"""The JSON of a JSON Schema: read as Jackson reads it for Confluent's registry, and printed again."""

import json
import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from kcodec.errors import ConfigError, SchemaError, refuse_file
from kcodec.java.jackson import MAX_DEPTH, MAX_NUMBER, write_tree

#: Characters of a schema.
MAX_TEXT = 32 << 20

_SPACE = re.compile(r"[ \t\n\r\ufeff]*")


def read_document(text: str) -> Any:
    """Read the first JSON value of a text; what follows it is ignored, and of equal keys the last wins.

    Numbers with a fraction or an exponent are `decimal.Decimal`, those that are no numbers are float. A text that does
    not begin with a JSON value, or goes beyond the limits of Jackson or of `MAX_TEXT`, is a `SchemaError`.

    >>> read_document('{"type": "object", "type": "string"} x')
    {'type': 'string'}
    >>> write_tree(read_document("[1e2, 1e-5, 1.10, -0.0]"))
    '[1E+2,0.00001,1.10,0.0]'
    """
    if len(text) > MAX_TEXT:
        raise SchemaError(f"the text is longer than {MAX_TEXT} characters")
    space = _SPACE.match(text)
    start = 0 if space is None else space.end()
    try:
        value, _ = _decoder.raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        refuse_file(text)
        raise SchemaError(f"not JSON: {error}") from None
    _check_depth(value)
    return value


def schema_text(schema: object) -> str:
    """Return the text of a schema as a user gives it: text, or what JSON's objects and booleans are in Python."""
    if isinstance(schema, str):
        return schema
    if isinstance(schema, (Mapping, bool)):
        try:
            _check_names(schema)
            return write_tree(schema)
        except (TypeError, ValueError, AttributeError) as error:
            raise ConfigError(f"the schema is not JSON: {error}") from None
    raise ConfigError(f"a schema is its text or a dict, not {type(schema).__name__}")


def _check_names(document: Any) -> None:
    """Check that the names of all members are text, since Python writes the text of others too; circles are refused."""
    nodes = [(document, 0)]
    while nodes:
        node, depth = nodes.pop()
        if depth > MAX_DEPTH:
            raise ValueError(f"nested deeper than {MAX_DEPTH}")
        if isinstance(node, Mapping):
            for name in node:
                if not isinstance(name, str):
                    raise TypeError(f"the name {name!r} is not text")
            nodes += [(each, depth + 1) for each in node.values()]
        elif isinstance(node, (list, tuple)):
            nodes += [(each, depth + 1) for each in node]


def sorted_document(document: Any) -> Any:
    """Return a document with the keys of all objects in the order of their UTF-16 units.

    One that is nested too deeply for that is a `SchemaError`.
    """
    try:
        return _sorted(document)
    except RecursionError:
        raise SchemaError("values in the schema are nested too deeply") from None


def _sorted(document: Any) -> Any:
    if isinstance(document, dict):
        return {key: _sorted(document[key]) for key in sorted(document, key=_utf16)}
    if isinstance(document, list):
        return [_sorted(each) for each in document]
    return document


def _utf16(key: str) -> bytes:
    return key.encode("utf-16-be", "surrogatepass")


def _fraction(text: str) -> Decimal:
    if len(text) > MAX_NUMBER:
        raise ValueError(f"a number has more than {MAX_NUMBER} characters")
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text} is out of range") from None
    exponent = value.as_tuple().exponent
    # A BigDecimal's scale is a Java int, and it has no negative zero.
    if not isinstance(exponent, int) or not -(2**31) < exponent <= 2**31:
        raise ValueError(f"{text} is out of range")
    return value if value else value.copy_abs()


def _integer(text: str) -> int:
    if len(text) > MAX_NUMBER:
        raise ValueError(f"a number has more than {MAX_NUMBER} characters")
    return int(text)


_decoder = json.JSONDecoder(parse_float=_fraction, parse_int=_integer, parse_constant=float)


def _check_depth(value: Any) -> None:
    """Refuse what is nested deeper than Jackson reads; Python's own limit of recursion is less on most systems."""
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise SchemaError(f"not JSON: nested deeper than {MAX_DEPTH}")
        below: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                below += [item for item in each.values() if isinstance(item, (dict, list))]
            elif isinstance(each, list):
                below += [item for item in each if isinstance(item, (dict, list))]
        level = below
