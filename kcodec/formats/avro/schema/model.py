"""What an Avro schema is: a graph of `Schema` objects, when two are equal, and the text that Avro Java prints."""

import itertools
import json
from collections.abc import Iterable
from typing import Any

from kcodec.errors import SchemaError
from kcodec.java.jackson import write_tree

PRIMITIVES = frozenset(["null", "boolean", "int", "long", "float", "double", "bytes", "string"])
NAMED = frozenset(["record", "enum", "fixed"])

#: Levels of types within types that a schema may have, in its text or once its references are followed.
MAX_NESTING = 100

#: Simple names that Avro Java never prints without their namespace.
_TYPE_NAMES = PRIMITIVES | {"record", "enum", "fixed", "array", "map", "union"}


class Schema:
    """One type of an Avro schema.

    Two schemas are compared with `same`; ``==`` is identity, since schemas may be recursive.
    """

    __slots__ = (
        "_kinds",
        "_numbers",
        "_plain_fields",
        "aliases",
        "branches",
        "default",
        "doc",
        "error",
        "fields",
        "item",
        "logical",
        "name",
        "precision",
        "props",
        "scale",
        "size",
        "symbols",
        "type",
    )

    def __init__(self, kind: str, name: str = "") -> None:
        #: A primitive's name, or "record", "enum", "fixed", "array", "map", "union".
        self.type = kind
        #: Full name of a record, enum or fixed; the type otherwise.
        self.name = name or kind
        self.aliases: tuple[str, ...] = ()
        self.fields: list[Field] = []
        #: Whether a record is declared as an error, which makes no difference but to its text.
        self.error = False
        self.symbols: tuple[str, ...] = ()
        #: Symbol that an enum reads symbols it does not know as.
        self.default: str | None = None
        self.size = 0
        #: Items of an array, values of a map.
        self.item: Schema | None = None
        self.branches: list[Schema] = []
        #: The logical type, where it is known and valid.
        self.logical = ""
        self.precision = 0
        self.scale = 0
        self.doc: str | None = None
        #: All other attributes, the logical type's included.
        self.props: dict[str, Any] = {}
        self._numbers: dict[str, int] = {}
        self._kinds: frozenset[str] | None = None
        self._plain_fields: dict[str, frozenset[str]] | None = None

    @property
    def numbers(self) -> dict[str, int]:
        """The symbols of an enum with their numbers."""
        if not self._numbers:
            self._numbers = {symbol: number for number, symbol in enumerate(self.symbols)}
        return self._numbers

    @property
    def plain_fields(self) -> dict[str, frozenset[str]]:
        """The fields of a record that are of primitive types, or unions of them, with the names of these types."""
        if self._plain_fields is None:
            kinds = ((field.name, field.type.kinds) for field in self.fields)
            self._plain_fields = {name: found for name, found in kinds if found <= PRIMITIVES}
        return self._plain_fields

    @property
    def kinds(self) -> frozenset[str]:
        """The type, or those of the branches of a union."""
        if self._kinds is None:
            branches = self.branches if self.type == "union" else (self,)
            self._kinds = frozenset([branch.type for branch in branches])
        return self._kinds

    @property
    def simple_name(self) -> str:
        """The name without its namespace."""
        return self.name.rpartition(".")[2]

    @property
    def nullable(self) -> bool:
        """Whether a null can be a value: of the null type itself, and of a union with it."""
        return self.type == "null" or any(branch.type == "null" for branch in self.branches)

    @property
    def values(self) -> "list[Schema]":
        """The branches of a union that are not null; of any other type, the type itself."""
        if self.type != "union":
            return [self]
        return [branch for branch in self.branches if branch.type != "null"]

    def __repr__(self) -> str:
        return f"Schema({canonical(self)})"


#: The primitive types where they have nothing but their name.
NAMED_ALONE = {name: Schema(name) for name in PRIMITIVES}

#: The unions of two of them, which most unions are.
PAIRS: dict[tuple[str, str], Schema] = {}
for _names in itertools.permutations(PRIMITIVES, 2):
    _union = PAIRS[_names] = Schema("union")
    _union.branches = [NAMED_ALONE[_name] for _name in _names]


class Field:
    """One field of a record; `props` are the attributes that have no name of their own."""

    __slots__ = ("aliases", "default", "doc", "has_default", "name", "order", "props", "type")

    def __init__(self, name: str, kind: Schema) -> None:
        self.name = name
        self.type = kind
        self.default: Any = None
        self.has_default = False
        self.aliases: tuple[str, ...] = ()
        self.order = "ascending"
        self.doc: str | None = None
        self.props: dict[str, Any] = {}


def same(left: Schema, right: Schema) -> bool:
    """Return whether two schemas are equal as Avro Java's ``Schema.equals`` has it.

    Names, fields with their defaults and order, symbols, sizes and further attributes count; aliases,
    documentation and the defaults of enums do not.

    >>> from kcodec.formats.avro.schema.parse import parse
    >>> same(parse('["null", "int"]'), parse('["null", {"type": "int"}]'))
    True
    """
    return _same(left, right, set())


def _same(left: Schema, right: Schema, seen: set[tuple[int, int]]) -> bool:
    if left is right:
        return True
    if left.type != right.type or left.name != right.name or not _same_json(left.props, right.props):
        return False
    if left.type == "record":
        if (id(left), id(right)) in seen:
            return True
        seen.add((id(left), id(right)))
        return len(left.fields) == len(right.fields) and all(
            a.name == b.name
            and a.order == b.order
            and a.has_default == b.has_default
            and _same_json(a.default, b.default)
            and _same_json(a.props, b.props)
            and _same(a.type, b.type, seen)
            for a, b in zip(left.fields, right.fields, strict=True)
        )
    if left.type in ("array", "map"):
        assert left.item is not None
        assert right.item is not None
        return _same(left.item, right.item, seen)
    if left.type == "union":
        return len(left.branches) == len(right.branches) and all(
            _same(a, b, seen) for a, b in zip(left.branches, right.branches, strict=True)
        )
    return left.symbols == right.symbols and left.size == right.size


def _same_json(left: object, right: object) -> bool:
    """Compare JSON values with true apart from 1, and 1 apart from 1.0; a NaN is equal to itself."""
    return (left == right or left != left) and json.dumps(left, sort_keys=True, default=repr) == json.dumps(
        right, sort_keys=True, default=repr
    )


def canonical(schema: Schema, known: Iterable[str] = ()) -> str:
    """Print a schema as Avro Java prints it, which is the text that schema registries store.

    A type is written out where it first occurs and named after that; those named in `known` are never written out.

    >>> from kcodec.formats.avro.schema.parse import parse
    >>> canonical(parse('{"name": "n.F", "size": 2, "type": "fixed", "doc": "two"}'))
    '{"type":"fixed","name":"F","namespace":"n","doc":"two","size":2}'
    """
    try:
        return write_tree(_print(schema, "", set(known)))
    except RecursionError:
        raise SchemaError("types written out within each other are nested too deeply") from None


def _print(schema: Schema, space: str, known: set[str]) -> object:
    if schema.type == "union":
        return [_print(branch, space, known) for branch in schema.branches]
    if schema.type in PRIMITIVES and not schema.props:
        return schema.type
    result: dict[str, object] = {"type": "error" if schema.error else schema.type}
    own, _, simple = schema.name.rpartition(".")
    if schema.type in NAMED:
        if schema.name in known:
            return _relative(schema.name, space)
        known.add(schema.name)
        result["name"] = simple
        if own != space:
            result["namespace"] = own
        if schema.doc is not None:
            result["doc"] = schema.doc
        if schema.type == "record":
            result["fields"] = [_print_field(field, own, known) for field in schema.fields]
        elif schema.type == "enum":
            result["symbols"] = list(schema.symbols)
            if schema.default is not None:
                result["default"] = schema.default
        else:
            result["size"] = schema.size
    elif schema.item is not None:
        result["items" if schema.type == "array" else "values"] = _print(schema.item, space, known)
    result.update(schema.props)
    if schema.aliases:
        result["aliases"] = [_relative(alias, own) for alias in schema.aliases]
    return result


def _relative(name: str, space: str) -> str:
    own, _, simple = name.rpartition(".")
    return simple if own == space and simple not in _TYPE_NAMES else name


def _print_field(field: Field, space: str, known: set[str]) -> dict[str, object]:
    result: dict[str, object] = {"name": field.name, "type": _print(field.type, space, known)}
    if field.doc is not None:
        result["doc"] = field.doc
    if field.has_default:
        result["default"] = field.default
    if field.order != "ascending":
        result["order"] = field.order
    if field.aliases:
        result["aliases"] = list(field.aliases)
    result.update(field.props)
    return result
