"""From the JSON text of an Avro schema to a graph of `Schema` objects.

Follows the Avro 1.12 specification, and Avro Java 1.12.1 where that accepts more: names of any Unicode
letters, references written as objects, forward references, names looked up without a namespace when the
enclosing one has none such, a type defined again in the same words, and comments as in C.
"""

import json
import math
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, TypeGuard

from kcodec.errors import SchemaError, is_whole, refuse_file
from kcodec.formats.avro.schema.model import (
    MAX_NESTING,
    NAMED,
    NAMED_ALONE,
    PAIRS,
    PRIMITIVES,
    Field,
    Schema,
    same,
)
from kcodec.java.numbers import parse_java_double

__all__ = ["is_valid_default", "load", "parse", "parse_all", "parse_ordered"]


#: Types and fields that schemas parsed together may have in all.
MAX_PARTS = 500_000

#: Logical types by the Avro type they annotate; on any other type they are ignored.
_LOGICAL = {
    "int": {"date", "time-millis"},
    "long": {
        "time-micros",
        "timestamp-millis",
        "timestamp-micros",
        "timestamp-nanos",
        "local-timestamp-millis",
        "local-timestamp-micros",
        "local-timestamp-nanos",
    },
    "string": {"uuid"},
    "bytes": {"decimal"},
    "fixed": {"decimal", "uuid", "duration"},
}

_TYPE_KEYS = frozenset(
    ["type", "name", "namespace", "doc", "fields", "symbols", "size", "items", "values", "aliases"]
)
_FIELD_KEYS = frozenset(["name", "type", "doc", "default", "order", "aliases"])


_MISSING = object()

#: What Avro Java takes behind a schema. Before it stands white space of JSON alone.
_BLANKS = "".join(map(chr, range(0x21)))

#: The longest array that Avro Java makes.
_MAX_SIZE = (1 << 31) - 9

# Texts and comments that do not end go to the end: none is looked for twice.
_COMMENT = re.compile(r'("(?:[^"\\]|\\.?)*"?)|/\*.*?(?:\*/|\Z)|//[^\n\r]*', re.DOTALL)


def parse(schema: object, named: Iterable[object] = (), *, strict: bool = True) -> Schema:
    """Parse an Avro schema: JSON text or what it parses to, or the bare name of a primitive or of a type in `named`.

    Errors have the JSON path of what is wrong. What `strict` is tells `parse_all`.

    Examples
    --------
    >>> parse('{"type": "array", "items": "int"}').item.type
    'int'
    >>> parse("int").type
    'int'
    """
    return parse_all([*named, schema], strict=strict)[-1]


def parse_all(schemas: Sequence[object], *, strict: bool = True) -> list[Schema]:
    """Parse schemas, each of which may use the names of those before it, and return their roots.

    Unless it is strict, defaults of fields, namespaces and the names of aliases are not looked at: data whose schema
    is wrong there can be read, and registries have kept such schemas for years.

    >>> [each.type for each in parse_all(['{"type": "fixed", "name": "F", "size": 2}', '["null", "F"]'])]
    ['fixed', 'union']
    """
    return parse_ordered(schemas, strict=strict)[0]


def parse_ordered(schemas: Sequence[object], *, strict: bool) -> tuple[list[Schema], bool]:
    """Parse schemas as `parse_all` does, and return also whether no type is used before its definition.

    Then types are nested no deeper than in the texts.
    """
    parser = _Parser(strict)
    roots = []
    for number, schema in enumerate(schemas):
        try:
            roots.append(parser.add(schema))
        except SchemaError as error:
            if number == len(schemas) - 1:
                raise
            raise SchemaError(f"named schema {number}: {error}") from None
    return roots, parser.in_order


def load(source: object, known: Container[str] = ()) -> object:
    """Return what the text of a schema holds, comments left out; names are those of primitive types and those known.

    Examples
    --------
    >>> load('{"type": /* whole */ "int"}'), load("int")
    ({'type': 'int'}, 'int')
    """
    if not isinstance(source, str):
        return source
    name = source.strip()
    if name in PRIMITIVES or name in known:
        return name
    text = source.rstrip(_BLANKS)
    try:
        try:
            return _decoder.decode(text)
        except ValueError:
            # Behind the schema stands nothing, a comment neither.
            plain = _COMMENT.sub(
                lambda match: match[1] or (match.end() < len(text) and " ") or match[0], text
            )
            return json.loads(plain, parse_constant=_refuse)
    except RecursionError:
        raise SchemaError(f"$: the schema is nested deeper than {MAX_NESTING} levels") from None
    except ValueError as error:
        refuse_file(name)
        raise SchemaError(f"$: not JSON: {error}") from None


def _refuse(word: str) -> object:
    raise ValueError(f"{word} is not a JSON value")


#: Made once: `json.loads` makes a new one for each text.
_decoder = json.JSONDecoder(parse_constant=_refuse)


class _Parser:
    """State of one parse: the names known so far, and what can only be checked at the end."""

    def __init__(self, strict: bool = True) -> None:
        self.strict = strict
        self.parts = 0
        #: Whether no type was used before its definition.
        self.in_order = True
        self.names: dict[str, Schema] = {}
        self.made: list[Schema] = []
        self.unions: list[tuple[Schema, str]] = []
        self.fields: list[tuple[Field, str]] = []
        self.repeated: list[tuple[Schema, Schema, str]] = []
        self.pending: dict[int, tuple[Schema, str]] = {}
        #: The names of the records whose fields are being read.
        self.open: set[str] = set()

    def add(self, source: object) -> Schema:
        root = self.schema(load(source, self.names), "", "$", 0)
        self.link()
        root = self.follow(root)
        for union, path in self.unions:
            _check_union(union, path)
        for field, path in self.fields:
            if field.has_default and self.strict:
                _check_default(field, path)
        for old, new, path in self.repeated:
            if not same(old, new):
                raise SchemaError(f"{path}: {new.name} is already defined as something else")
        for part in (self.made, self.unions, self.fields, self.repeated):
            part.clear()
        self.pending.clear()
        return root

    def follow(self, schema: Schema) -> Schema:
        if id(schema) not in self.pending:
            return schema
        _, path = self.pending[id(schema)]
        found = self.names.get(schema.name)
        if found is None:
            raise SchemaError(f"{path}: {schema.name} is not defined")
        return found

    def link(self) -> None:
        """Resolve the types that were used before their definition."""
        if not self.pending:
            return
        for schema in self.made:
            if schema.item is not None:
                schema.item = self.follow(schema.item)
            schema.branches = [self.follow(branch) for branch in schema.branches]
        for field, _ in self.fields:
            field.type = self.follow(field.type)

    def count(self, parts: int, path: str) -> None:
        self.parts += parts
        if self.parts > MAX_PARTS:
            raise SchemaError(f"{path}: the schema has more than {MAX_PARTS} parts")

    def schema(self, node: object, space: str, path: str, depth: int) -> Schema:
        if depth > MAX_NESTING:
            raise SchemaError(f"{path}: the schema is nested deeper than {MAX_NESTING} levels")
        self.count(1, path)
        if isinstance(node, str):
            return self.reference(node, space, path)
        # The types of parsed JSON first: abstract classes take their time.
        if isinstance(node, list) or (
            isinstance(node, Sequence) and not isinstance(node, (bytes, bytearray))
        ):
            return self.union(node, space, path, depth)
        if not isinstance(node, (dict, Mapping)):
            raise SchemaError(f"{path}: a schema is a name, an object or a list, not {_show(node)}")
        kind = node.get("type", _MISSING)
        if kind is _MISSING:
            raise SchemaError(f"{path}: the type is missing")
        if not isinstance(kind, str):
            raise SchemaError(f"{path}.type: {_show(kind)} is not the name of a type")
        if kind in PRIMITIVES:
            result = Schema(kind)
        elif kind in ("record", "error", "enum", "fixed"):
            return self.named(node, kind, space, path, depth)
        elif kind in ("array", "map"):
            key = "items" if kind == "array" else "values"
            if key not in node:
                raise SchemaError(f"{path}: {key} are missing")
            result = Schema(kind)
            result.item = self.schema(node[key], space, f"{path}.{key}", depth + 1)
        else:
            return self.reference(kind, space, f"{path}.type")
        self.made.append(result)
        _annotate(result, node, path)
        return result

    def union(self, node: Sequence[Any], space: str, path: str, depth: int) -> Schema:
        if len(node) == 2 and depth < MAX_NESTING:
            first, second = node
            if isinstance(first, str) and isinstance(second, str) and (first, second) in PAIRS:
                return PAIRS[first, second]
        union = Schema("union")
        self.made.append(union)
        self.unions.append((union, path))
        union.branches = [
            self.schema(branch, space, f"{path}[{i}]", depth + 1) for i, branch in enumerate(node)
        ]
        return union

    def reference(self, name: str, space: str, path: str) -> Schema:
        if name in PRIMITIVES:
            return NAMED_ALONE[name]
        full = name if "." in name or not space else f"{space}.{name}"
        found = self.names.get(full)
        if (found is None or full in self.open) and name not in self.open:
            # Avro Java finds types once they are complete, one without a namespace too: an open one comes last.
            found = self.names.get(name, found)
        if found is not None:
            return found
        schema = Schema("reference", full)
        self.pending[id(schema)] = (schema, path)
        self.in_order = False
        return schema

    def named(self, node: Mapping[str, Any], kind: str, space: str, path: str, depth: int) -> Schema:
        given = _text(node, "name", path)
        if given is None:
            raise SchemaError(f"{path}: the name of the {kind} is missing")
        own = node.get("namespace")
        if not isinstance(own, str):
            own = None
        name = given if "." in given else f"{space if own is None else own}.{given}"
        before, _, simple = name.rpartition(".")
        for part in name.split(".") if before and self.strict else [simple]:
            _check_name(part, path)
        full = f"{before}.{simple}" if before else simple
        if full in PRIMITIVES:
            raise SchemaError(f"{path}: a {kind} may not be named after the primitive type {full}")
        error = kind == "error"
        result = Schema("record" if error else kind, full)
        result.error = error
        aliases = node.get("aliases", ())
        if not _is_texts(aliases):
            raise SchemaError(f"{path}.aliases: not a list of names")
        for alias in aliases if self.strict else ():
            # Avro Java leaves their namespaces as they are.
            _check_name(alias.rpartition(".")[2], f"{path}.aliases")
        result.aliases = tuple(dict.fromkeys(_full_name(alias, before) for alias in aliases))
        known = self.names.get(full)
        if known is None:
            self.names[full] = result
        else:
            self.repeated.append((known, result, path))
        if result.type == "record":
            self.open.add(full)
            self.record(result, node, before, path, depth)
            self.open.discard(full)
        elif kind == "enum":
            _read_symbols(result, node, path)
        else:
            size = node.get("size")
            if not is_whole(size):
                raise SchemaError(f"{path}.size: {_show(size)} is not an integer")
            if not 0 <= size <= _MAX_SIZE:
                raise SchemaError(f"{path}.size: {size} is outside 0 to {_MAX_SIZE}")
            result.size = size
        _annotate(result, node, path)
        return known or result

    def record(self, result: Schema, node: Mapping[str, Any], space: str, path: str, depth: int) -> None:
        fields = node.get("fields")
        if not isinstance(fields, (list, Sequence)) or isinstance(fields, (str, bytes)):
            raise SchemaError(f"{path}.fields: a record has a list of fields")
        self.count(len(fields), path)
        seen: set[str] = set()
        for i, item in enumerate(fields):
            where = f"{path}.fields[{i}]"
            if not isinstance(item, (dict, Mapping)):
                raise SchemaError(f"{where}: a field is an object, not {_show(item)}")
            name = item.get("name")
            if not isinstance(name, str):
                _text(item, "name", where)
                raise SchemaError(f"{where}: the field's name is missing")
            _check_name(name, where)
            if name in seen:
                raise SchemaError(f"{where}: {name} is already a field of {result.name}")
            seen.add(name)
            if "type" not in item:
                raise SchemaError(f"{where}: the type of the field {name} is missing")
            kind = item["type"]
            plain = NAMED_ALONE.get(kind) if isinstance(kind, str) and depth < MAX_NESTING else None
            field = Field(name, plain or self.schema(kind, space, f"{where}.type", depth + 1))
            if "aliases" in item:
                aliases = item["aliases"]
                if not _is_texts(aliases):
                    raise SchemaError(f"{where}.aliases: not a list of names")
                field.aliases = tuple(dict.fromkeys(aliases))
            if "order" in item:
                order = item["order"]
                if not isinstance(order, str) or order.upper() not in ("ASCENDING", "DESCENDING", "IGNORE"):
                    raise SchemaError(f"{where}.order: {_show(order)} is not an order")
                # A dotless i too is an I once it is upper case.
                field.order = order.upper().lower()
            if "doc" in item:
                field.doc = _text(item, "doc", where)
            if "default" in item:
                field.default = self.default(item["default"], field.type, where)
                field.has_default = True
                if self.strict and (self.pending or isinstance(field.default, (dict, list))):
                    _check_default(field, where, self.open)
            if not _FIELD_KEYS.issuperset(item):
                field.props = {key: value for key, value in item.items() if key not in _FIELD_KEYS}
            result.fields.append(field)
            # What is looked at again, or may be linked.
            if self.strict or self.pending:
                self.fields.append((field, where))

    def default(self, value: object, kind: Schema, path: str) -> object:
        """Return a default with text that stands for a number of its type made one."""
        if kind.type not in ("float", "double") or not isinstance(value, str):
            return value
        try:
            return parse_java_double(value)
        except ValueError:
            if self.strict:
                raise SchemaError(f"{path}.default: {_show(value)} is not a number") from None
            return value


def _read_symbols(result: Schema, node: Mapping[str, Any], path: str) -> None:
    symbols = node.get("symbols")
    if not _is_texts(symbols):
        raise SchemaError(f"{path}.symbols: an enum has a list of symbols")
    result.symbols = tuple(symbols)
    for i, symbol in enumerate(result.symbols):
        _check_name(symbol, f"{path}.symbols[{i}]")
    if len(set(result.symbols)) != len(result.symbols):
        raise SchemaError(f"{path}.symbols: a symbol stands there twice")
    default = node.get("default")
    if isinstance(default, str):
        if default not in result.symbols:
            raise SchemaError(f"{path}.default: {_show(default)} is not a symbol of {result.name}")
        result.default = default


def _annotate(schema: Schema, node: Mapping[str, Any], path: str) -> None:
    schema.doc = _text(node, "doc", path) if schema.type in NAMED else None
    keys = _TYPE_KEYS | {"default"} if schema.type == "enum" else _TYPE_KEYS
    schema.props = {key: value for key, value in node.items() if key not in keys}
    if schema.props and schema.type in ("record", "array", "map"):
        _check_numbers(schema.props, path)
    logical = schema.props.get("logicalType")
    if not isinstance(logical, str) or logical not in _LOGICAL.get(schema.type, ()):
        return
    if logical == "decimal":
        precision, scale = schema.props.get("precision"), schema.props.get("scale", 0)
        if not (is_whole(precision) and is_whole(scale)):
            return
        if not (0 < precision < 1 << 31 and 0 <= scale <= precision):
            return
        if schema.type == "fixed" and precision > math.floor(math.log10(2) * (8 * schema.size - 1)):
            return
        schema.precision, schema.scale = precision, scale
    elif schema.type == "fixed" and schema.size != {"uuid": 16, "duration": 12}[logical]:
        return
    schema.logical = logical


def _check_numbers(value: object, path: str) -> None:
    """Refuse the integers that Avro Java cannot keep in attributes of the types that it copies."""
    left = [value]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            left += value.values()
        elif isinstance(value, list):
            left += value
        elif is_whole(value) and not -(1 << 63) <= value < 1 << 63:
            raise SchemaError(f"{path}: an attribute holds {_show(value)}, which has more than 64 bits")


def _check_union(union: Schema, path: str) -> None:
    seen: set[str] = set()
    for i, branch in enumerate(union.branches):
        if branch.type == "union":
            raise SchemaError(f"{path}[{i}]: a union may not stand directly in a union")
        if branch.name in seen:
            raise SchemaError(f"{path}[{i}]: {branch.name} is already a branch of the union")
        seen.add(branch.name)


def _check_default(field: Field, path: str, open_: Container[str] = ()) -> None:
    """Refuse a default that is no value of its field's type, as it is known while the records `open_` are read."""
    if not is_valid_default(field.type, field.default, open_):
        shown = _show_type(field.type)
        raise SchemaError(f"{path}.default: {_show(field.default)} is not a value of {shown}")


def is_valid_default(schema: Schema, value: object, open_: Container[str] = ()) -> bool:
    """Return whether a default is a value of a type (for a union, of any branch), as Avro Java checks it.

    >>> is_valid_default(parse('["null", "int"]'), 5), is_valid_default(parse("int"), 5.0)
    (True, False)
    """
    return _is_valid(schema, value, 0, open_)


def _is_valid(schema: Schema, value: Any, depth: int, open_: Container[str]) -> bool:
    kind = schema.type
    if depth > MAX_NESTING:
        return False
    if kind == "union":
        return any(_is_valid(branch, value, depth + 1, open_) for branch in schema.branches)
    if kind == "array":
        assert schema.item is not None
        return isinstance(value, list) and all(
            _is_valid(schema.item, item, depth + 1, open_) for item in value
        )
    if kind == "map":
        assert schema.item is not None
        return isinstance(value, dict) and all(
            _is_valid(schema.item, item, depth + 1, open_) for item in value.values()
        )
    if kind == "reference":
        return isinstance(value, dict)
    if kind == "record":
        if schema.name in open_ and isinstance(value, dict):
            raise SchemaError(f"a default of {schema.name} may not stand within it")
        return isinstance(value, dict) and all(
            _is_valid(field.type, value[field.name], depth + 1, open_)
            if field.name in value
            else field.has_default
            for field in schema.fields
        )
    if kind == "null":
        return value is None
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "int":
        return is_whole(value) and -(1 << 31) <= value < 1 << 31
    if kind == "long":
        return is_whole(value) and -(1 << 63) <= value < 1 << 63
    if kind in ("float", "double"):
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, str)


def _full_name(name: str, space: str) -> str:
    before, dot, simple = name.rpartition(".")
    if dot:
        return name if before else simple
    return f"{space}.{name}" if space else name


def _check_name(name: str, path: str) -> None:
    """Apply Avro Java's rule: a letter or underscore, then letters, digits and underscores, of any script."""
    if name.isascii() and name.isidentifier():
        return
    for i, letter in enumerate(name):
        if ord(letter) > 0xFFFF or not (letter == "_" or letter.isalpha() or (i and letter.isdecimal())):
            raise SchemaError(f"{path}: {_show(name)} is not a name")
    if not name:
        raise SchemaError(f"{path}: a name is empty")


def _text(node: Mapping[str, Any], key: str, path: str) -> str | None:
    value = node.get(key)
    if value is not None and not isinstance(value, str):
        if key == "doc":
            return None
        raise SchemaError(f"{path}.{key}: {_show(value)} is not text")
    return value


def _is_texts(value: object) -> TypeGuard[Sequence[str]]:
    return isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value)


def _show(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 60 else text[:57] + "..."


def _show_type(schema: Schema) -> str:
    if schema.type == "union":
        return "a union of " + ", ".join(branch.name for branch in schema.branches)
    return schema.name if schema.type in NAMED else schema.type
