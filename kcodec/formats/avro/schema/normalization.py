"""The normalized text of an Avro schema: equal for schemas that differ in nothing but how they are written.

As in Confluent's registry, it is a schema written out anew, then parsed and printed as any other; so a type without a
namespace that stands within one moves into it.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from kcodec.errors import SchemaError
from kcodec.formats.avro.schema.model import NAMED, PRIMITIVES, Field, Schema, canonical
from kcodec.formats.avro.schema.parse import parse_all
from kcodec.java.numbers import format_java_float, round_to_float

#: What stands for a default that is lost.
_LOST: Any = object()

#: The types of which a text is a default.
_TEXTS = frozenset(["string", "bytes", "enum", "fixed"])

#: What the server's parser takes for a logical type beside those that have an Arrow type of their own.
_LOGICAL = {("bytes", "big-decimal")}


def normalized(root: Schema, texts: Sequence[str] = (), known: Iterable[str] = ()) -> str:
    """Return the normalized text of a schema.

    `texts` are those that it refers to, deepest first, and `known` the names of the types that they define at their
    roots. It is a `SchemaError` where the server fails: if an attribute, or a list or an object that is a default,
    holds an integer beyond 64 bits, a field is a union of nothing, the default of a record has what the record has
    not, a part of a default is not a value of its type, or not finite, or a list is the default of what is no array;
    and if the schema is nested too deeply.

    >>> from kcodec.formats.avro.schema.parse import parse
    >>> normalized(parse('{"type": "fixed", "name": "n.F", "z": 1, "a": {"c": 2, "b": 3}, "size": 2, "doc": ""}'))
    '{"type":"fixed","name":"F","namespace":"n","size":2,"a":{"b":3,"c":2},"z":1}'
    """
    known = tuple(known)
    try:
        tree = _tree(root, set(known))
        *_, again = parse_all([*texts, tree], strict=False)
        return canonical(again, known)
    except RecursionError:
        raise SchemaError("the schema is nested too deeply to be normalized") from None


def _tree(schema: Schema, written: set[str]) -> Any:
    kind = schema.type
    if kind == "union":
        return [_tree(branch, written) for branch in schema.branches]
    if kind in PRIMITIVES and not schema.props:
        return kind
    if kind in NAMED:
        if schema.name in written:
            return schema.name
        written.add(schema.name)
        tree: dict[str, Any] = {"name": schema.name, "type": kind}
        if kind == "record":
            tree["fields"] = [_field(field, written) for field in schema.fields]
        elif kind == "enum":
            tree["symbols"] = list(schema.symbols)
            if schema.default is not None:
                tree["default"] = schema.default
        else:
            tree["size"] = schema.size
        if schema.doc:
            tree["doc"] = schema.doc
        if schema.aliases:
            tree["aliases"] = sorted(schema.aliases)
    else:
        tree = {"type": kind}
        if schema.item is not None:
            tree["items" if kind == "array" else "values"] = _tree(schema.item, written)
    logical = schema.props.get("logicalType")
    if schema.logical or (isinstance(logical, str) and (kind, logical) in _LOGICAL):
        tree["logicalType"] = logical
        if logical == "decimal":
            tree["precision"] = schema.precision
            if schema.scale:
                tree["scale"] = schema.scale
    return tree | _sorted({key: value for key, value in schema.props.items() if key not in tree})


def _field(field: Field, written: set[str]) -> dict[str, Any]:
    if field.type.type == "union" and not field.type.branches:
        raise SchemaError(f"the field {field.name} is a union of nothing")
    tree: dict[str, Any] = {"name": field.name, "type": _tree(field.type, written), "order": field.order}
    if field.aliases:
        tree["aliases"] = sorted(field.aliases)
    if field.doc is not None:
        tree["doc"] = field.doc
    # An integer beyond 64 bits is lost.
    if field.has_default and not _is_long(field.default):
        value = _default(field.default, field.type)
        if field.type.type == "union":
            _check_finite(value, field.type)
        if value is not _LOST:
            tree["default"] = value
    tree.update(_sorted(field.props))
    return tree


def _sorted(value: Any) -> Any:
    """Return an attribute with the keys of its objects in the order of their UTF-16 units."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value, key=_utf16)}
    if isinstance(value, list):
        return [_sorted(each) for each in value]
    if _is_long(value):
        raise SchemaError(f"an attribute holds {value}, which has more than 64 bits")
    return value


def _is_long(value: Any) -> bool:
    """Return whether a value is an integer that Java's long does not hold."""
    return isinstance(value, int) and not -(1 << 63) <= value < 1 << 63


def _utf16(key: str) -> bytes:
    return key.encode("utf-16-be", "surrogatepass")


def _default(value: Any, schema: Schema | None) -> Any:
    """Return a default as Avro Java prints it; `_LOST` if it is not a value of the type.

    Of a union only the first branch counts: the default of another one is lost.
    """
    if schema is not None and schema.type == "union":
        if not schema.branches:
            raise SchemaError("a default is one of a union of nothing")
        schema = schema.branches[0]
    kind = "" if schema is None else schema.type
    if value is None or isinstance(value, bool):
        return value
    if _is_long(value):
        raise SchemaError(f"a default holds {value}, which has more than 64 bits")
    if isinstance(value, int):
        return value if kind in ("", "int", "long") else _real(value, kind)
    if isinstance(value, float):
        return _real(value, kind or "double")
    if isinstance(value, str):
        if kind in ("bytes", "fixed"):
            # What is no byte is lost.
            return value.encode("latin-1", "replace").decode("latin-1")
        return value if kind in ("", "string", "enum") else _LOST
    if isinstance(value, list):
        if value and kind not in ("", "array"):
            raise SchemaError(f"a list is the default of a type {kind}")
        return [_part(each, None if schema is None else schema.item) for each in value]
    types: dict[str, Schema | None] = dict.fromkeys(value)
    if schema is not None and kind == "map":
        types = dict.fromkeys(value, schema.item)
    elif schema is not None and kind == "record":
        types = {field.name: field.type for field in schema.fields}
        for name in value:
            if name not in types:
                raise SchemaError(f"a default has {name}, which {schema.name} does not")
    return {key: _part(value[key], types[key]) for key in sorted(value, key=_utf16)}


def _part(value: Any, schema: Schema | None) -> Any:
    """Return a part of a default, which the server fails at where a whole one is lost."""
    made = _default(value, schema)
    if made is _LOST:
        raise SchemaError("a part of a default is not a value of its type")
    _check_finite(made, schema)
    return made


def _check_finite(value: Any, schema: Schema | None) -> None:
    """Refuse what the server writes as text, where that is no value: only fields of a floating type read a number."""
    if isinstance(value, float) and value - value != 0:
        branches = () if schema is None else schema.branches
        if all(branch.type not in _TEXTS for branch in branches):
            raise SchemaError(f"a default holds {value}, which is written as text")


def _real(value: float, kind: str) -> Any:
    if kind == "double" or (kind == "float" and value - value != 0):
        # Not finite, which the server writes as text that Avro Java reads as the number again.
        return float(value)
    return float(format_java_float(round_to_float(str(value)))) if kind == "float" else _LOST
