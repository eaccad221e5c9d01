"""The canonical text of a schema: what a registry keeps, compares and takes the GUID of.

Avro schemas are printed as Avro Java prints them. Protobuf and JSON Schema texts are kept as they are sent.

Normalization (``normalize=true``: sorted properties and aliases, of which this text knows nothing) belongs
beside this module; it turns a schema into another before it is printed.
"""

import json
import math
import re
from collections.abc import Iterable
from typing import Any

from kcodec.errors import SchemaError

__all__ = ["avro_text"]

_PRIMITIVES = frozenset(("null", "boolean", "int", "long", "float", "double", "bytes", "string"))
_NAMED = frozenset(("record", "error", "enum", "fixed"))
_SCHEMA_KEYS = frozenset(
    ("type", "name", "namespace", "doc", "fields", "items", "values", "size", "symbols", "aliases")
)
_FIELD_KEYS = frozenset(("name", "type", "doc", "default", "order", "aliases"))
_LOWER_ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*\\u00)(1[a-f]|0[bef])")
_MAX_DEPTH = 200


def avro_text(text: str, references: Iterable[str] = (), *, inline: bool = False) -> str:
    """Print an Avro schema as Avro Java 1.12 does.

    Attributes come in the order type, name, namespace, doc, fields or symbols or size or items or values,
    other properties, aliases; names are relative to the enclosing namespace; a type is written out where it
    is first met and named after that.

    Parameters
    ----------
    text : str
        The schema, JSON.
    references : iterable of str
        Texts of the schemas it refers to, deepest first.
    inline : bool
        Write out the referenced types as well.

    Returns
    -------
    str
        Compact JSON.

    Raises
    ------
    SchemaError
        If it is not JSON, or a type has no name, no ``type`` or refers to one that is not known. Whether the
        schema is good in all other respects is not checked.

    Examples
    --------
    >>> avro_text('{"name": "n.R", "type": "record", "fields": [{"type": {"type": "int"}, "name": "a"}]}')
    '{"type":"record","name":"R","namespace":"n","fields":[{"name":"a","type":"int"}]}'
    """
    try:
        printer = _Printer()
        for reference in references:
            printer.collect(json.loads(reference), "", 0)
        if not inline:
            printer.printed.update(printer.types)
        schema = json.loads(text)
        printer.collect(schema, "", 0)
        return printer.schema(schema, "", 0)
    except json.JSONDecodeError as error:
        raise SchemaError(f"not JSON: {error}") from None
    except RecursionError:
        raise SchemaError("the schema is nested too deeply") from None


class _Printer:
    def __init__(self) -> None:
        self.types: dict[str, tuple[dict[str, Any], str]] = {}
        self.printed: set[str] = set()

    def collect(self, schema: Any, space: str, depth: int) -> None:
        """Note every named type with the namespace around it."""
        if depth > _MAX_DEPTH:
            raise SchemaError(f"the schema is nested deeper than {_MAX_DEPTH}")
        if isinstance(schema, list):
            for branch in schema:
                self.collect(branch, space, depth + 1)
        elif isinstance(schema, dict):
            kind = schema.get("type")
            if isinstance(kind, str) and kind in _NAMED:
                name, inner = _full_name(schema, space)
                if name in self.types and self.types[name][0] != schema:
                    raise SchemaError(f"type {name} is defined twice")
                self.types[name] = (schema, space)
                fields = schema.get("fields", [])
                if kind in ("record", "error"):
                    if not isinstance(fields, list) or not all(isinstance(each, dict) for each in fields):
                        raise SchemaError(f"record {name} has no list of fields")
                    for each in fields:
                        self.collect(each.get("type"), inner, depth + 1)
            elif kind == "array":
                self.collect(schema.get("items"), space, depth + 1)
            elif kind == "map":
                self.collect(schema.get("values"), space, depth + 1)

    def schema(self, schema: Any, space: str, depth: int) -> str:
        """Print a schema that stands within namespace ``space``."""
        if depth > _MAX_DEPTH:
            raise SchemaError(f"the schema is nested deeper than {_MAX_DEPTH}")
        if isinstance(schema, str):
            return self.name(schema, space, space, depth)
        if isinstance(schema, list):
            return "[" + ",".join(self.schema(branch, space, depth + 1) for branch in schema) + "]"
        if not isinstance(schema, dict) or not isinstance(schema.get("type"), str):
            raise SchemaError(f"no type: {_json(schema)}")
        kind = schema["type"]
        if kind in _NAMED:
            return self.name(_full_name(schema, space)[0], "", space, depth)
        if kind in ("array", "map"):
            content = "items" if kind == "array" else "values"
            parts = [("type", _json(kind)), (content, self.schema(schema.get(content), space, depth + 1))]
            return _object([*parts, *_properties(schema, _SCHEMA_KEYS)])
        if kind in _PRIMITIVES:
            properties = _properties(schema, _SCHEMA_KEYS)
            return _object([("type", _json(kind)), *properties]) if properties else _json(kind)
        return self.name(kind, space, space, depth)

    def name(self, name: str, scope: str, space: str, depth: int) -> str:
        """Print a type by its name, or in full where it is met first."""
        if name in _PRIMITIVES:
            return _json(name)
        full = f"{scope}.{name}" if scope and "." not in name else name
        if full not in self.types:
            full = name
        if full not in self.types:
            raise SchemaError(f"type {name!r} is not known")
        if full in self.printed:
            before, _, simple = full.rpartition(".")
            return _json(simple if before == space and simple not in _PRIMITIVES else full)
        self.printed.add(full)
        return self.definition(full, space, depth)

    def definition(self, full: str, space: str, depth: int) -> str:
        schema, _ = self.types[full]
        kind = schema["type"]
        inner, _, simple = full.rpartition(".")
        parts = [("type", _json(kind)), ("name", _json(simple))]
        if inner != space:
            parts.append(("namespace", _json(inner)))
        if isinstance(schema.get("doc"), str):
            parts.append(("doc", _json(schema["doc"])))
        reserved = _SCHEMA_KEYS
        if kind == "fixed":
            parts.append(("size", _json(schema.get("size"))))
        elif kind == "enum":
            reserved = reserved | {"default"}
            parts.append(("symbols", _json(schema.get("symbols"))))
            if "default" in schema:
                parts.append(("default", _json(schema["default"])))
        else:
            fields = schema.get("fields", [])
            parts.append(
                ("fields", "[" + ",".join(self.field(each, inner, depth + 1) for each in fields) + "]")
            )
        parts += _properties(schema, reserved)
        if schema.get("aliases"):
            parts.append(("aliases", _json([_relative(alias, inner) for alias in schema["aliases"]])))
        return _object(parts)

    def field(self, field: dict[str, Any], space: str, depth: int) -> str:
        parts = [("name", _json(field.get("name"))), ("type", self.schema(field.get("type"), space, depth))]
        if isinstance(field.get("doc"), str):
            parts.append(("doc", _json(field["doc"])))
        if "default" in field:
            parts.append(("default", _json(field["default"])))
        order = str(field.get("order", "ascending")).lower()
        if order != "ascending":
            parts.append(("order", _json(order)))
        if field.get("aliases"):
            parts.append(("aliases", _json(field["aliases"])))
        return _object([*parts, *_properties(field, _FIELD_KEYS)])


def _full_name(schema: dict[str, Any], space: str) -> tuple[str, str]:
    name = schema.get("name")
    if not isinstance(name, str) or not name:
        raise SchemaError(f"a {schema['type']} has no name")
    if "." in name:
        before, _, simple = name.rpartition(".")
        return (f"{before}.{simple}" if before else simple), before
    inner = schema.get("namespace", space)
    if not isinstance(inner, str):
        inner = space
    return (f"{inner}.{name}" if inner else name), inner


def _relative(alias: Any, space: str) -> Any:
    if isinstance(alias, str) and space and alias.rpartition(".")[0] == space:
        return alias.rpartition(".")[2]
    return alias


def _properties(schema: dict[str, Any], reserved: frozenset[str]) -> list[tuple[str, str]]:
    return [(key, _json(value)) for key, value in schema.items() if key not in reserved]


def _object(parts: list[tuple[str, str]]) -> str:
    return "{" + ",".join(f"{_json(key)}:{value}" for key, value in parts) + "}"


def _json(value: Any) -> str:
    """Print a JSON value as Jackson does, doubles as Java's ``Double.toString``."""
    if isinstance(value, dict):
        return _object([(key, _json(each)) for key, each in value.items()])
    if isinstance(value, list):
        return "[" + ",".join(map(_json, value)) + "]"
    if isinstance(value, float):
        return _java_double(value)
    text = json.dumps(value, ensure_ascii=False)
    return _LOWER_ESCAPE.sub(lambda found: found[1] + found[2].upper(), text) if "\\u" in text else text


def _java_double(value: float) -> str:
    if not math.isfinite(value):
        return '"NaN"' if math.isnan(value) else ('"Infinity"' if value > 0 else '"-Infinity"')
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return f"{value:.17g}" if "e" in repr(value) else repr(value)
    digits, _, exponent = f"{value!r}".partition("e")
    if not exponent:
        sign, digits = ("-", digits[1:]) if digits[0] == "-" else ("", digits)
        whole, _, rest = digits.partition(".")
        if whole == "0":
            stripped = rest.lstrip("0")
            power = -(len(rest) - len(stripped) + 1)
        else:
            stripped = (whole + rest).rstrip("0") or "0"
            power = len(whole) - 1
        return f"{sign}{stripped[0]}.{stripped[1:].rstrip('0') or '0'}E{power}"
    return f"{digits if '.' in digits else digits + '.0'}E{int(exponent)}"
