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

#: What stands for a null; None is no value.
_NULL: Any = object()

#: What the server's parser takes for a logical type beside those that have an Arrow type of their own.
_LOGICAL = {("bytes", "big-decimal")}


def normalized(root: Schema, texts: Sequence[str] = (), known: Iterable[str] = ()) -> str:
    """Return the normalized text of a schema.

    `texts` are those that it refers to, deepest first, and `known` the names of the types that they define at their
    roots. It is a `SchemaError` where the server fails: if an attribute, or a list or an object that is a default,
    holds an integer beyond 64 bits, a field is a union of nothing, or the default of a record has what the record has
    not; and if the schema is nested too deeply.

    Examples
    --------
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
        if value is not None:
            tree["default"] = _json(value)
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
    """Return a default as Avro Java prints it; None (which is not null) if it is not a value of the type.

    Of a union only the first branch counts: the default of another one is lost.
    """
    if schema is not None and schema.type == "union":
        schema = schema.branches[0] if schema.branches else None
    kind = "" if schema is None else schema.type
    if value is None:
        return _NULL
    if isinstance(value, bool):
        return value
    if _is_long(value):
        raise SchemaError(f"a default holds {value}, which has more than 64 bits")
    if isinstance(value, int):
        if kind == "int" and not -(1 << 31) <= value < 1 << 31:
            return None
        if kind in ("", "int", "long"):
            return value
        return _real(value, kind)
    if isinstance(value, float):
        return _real(value, kind or "double")
    if isinstance(value, str):
        if kind in ("bytes", "fixed"):
            # What is no byte is lost.
            return value.encode("latin-1", "replace").decode("latin-1")
        return value if kind in ("", "string", "enum") else None
    if isinstance(value, list):
        return [_default(each, None if schema is None else schema.item) for each in value]
    if kind == "record" and schema is not None:
        types: dict[str, Schema | None] = {field.name: field.type for field in schema.fields}
        for name in value:
            if name not in types:
                raise SchemaError(f"a default has {name}, which {schema.name} does not")
    else:
        types = dict.fromkeys(value, None if schema is None else schema.item)
    return {key: _default(value[key], types.get(key)) for key in sorted(value, key=_utf16)}


def _real(value: float, kind: str) -> float | None:
    if kind == "double" or (kind == "float" and value - value != 0):
        # Not finite, which the server writes as text that Avro Java reads as the number again.
        return float(value)
    return float(format_java_float(round_to_float(str(value)))) if kind == "float" else None


def _json(value: Any) -> Any:
    """Return a default with nulls in it, those of Avro and those of Java alike."""
    if isinstance(value, list):
        return [_json(each) for each in value]
    if isinstance(value, dict):
        return {key: _json(each) for key, each in value.items()}
    return None if value is _NULL else value
