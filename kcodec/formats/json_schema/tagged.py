"""The properties of documents that rules are about."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from kcodec.columns.types.plain import is_list
from kcodec.formats.json_schema.references import Documents, Resource
from kcodec.formats.json_schema.schema import JsonSchema
from kcodec.formats.json_schema.shape import MAX_LEVELS, Shape, shape_of
from kcodec.formats.json_schema.types import JsonSchemaOptions, entry_of, is_map, item_of, kinds_of
from kcodec.formats.tagged import ITEMS, TaggedField, tags_of

_KINDS = {"string": "STRING", "integer": "INT", "number": "DOUBLE", "boolean": "BOOLEAN"}


class _Owner(NamedTuple):
    """The property that values belong to, and the parts of the schema that have been followed to them."""

    name: str
    tags: frozenset[str]


class _Place(NamedTuple):
    """Where values stand: what may be there, the type of their column, the way to it."""

    shape: Shape
    kind: pa.DataType
    steps: tuple[str | int, ...]


def tagged_fields(
    reader: JsonSchema, ruled: JsonSchema, kind: pa.DataType, options: JsonSchemaOptions
) -> list[TaggedField]:
    """Return the properties of a column that is laid out as one schema, by the names and tags of another; or the same.

    A property that stands in several members of a union has the tags of the first.

    >>> from kcodec.formats.json_schema.schema import parse
    >>> schema = parse('{"properties": {"email": {"type": "string", "confluent:tags": ["PII"]}}}')
    >>> found, = tagged_fields(schema, schema, pa.struct([("email", pa.string())]), JsonSchemaOptions())
    >>> found.steps, found.name, sorted(found.tags), found.kind
    (('email',), '$.email', ['PII'], 'STRING')
    """
    shape = shape_of(reader.documents, options.recursive_depth)
    walk = _Walk(ruled.documents)
    main = ruled.documents.main
    found = walk.part(main.document, main, _Place(shape, kind, ()), _Owner("$", frozenset()), 0)
    first: dict[tuple[str | int, ...], TaggedField] = {}
    for each in found:
        first.setdefault(each.steps, each)
    return list(first.values())


class _Walk:
    def __init__(self, documents: Documents) -> None:
        self.documents = documents

    def part(
        self, part: Any, resource: Resource, place: _Place, owner: _Owner, level: int
    ) -> Iterator[TaggedField]:
        """Go through a schema as Confluent's rules do: what is behind a reference, combined, or below."""
        if not isinstance(part, dict) or level > MAX_LEVELS:
            return
        resource = self.documents.home(part, resource)
        for key in ("allOf", "anyOf", "oneOf"):
            for each in _list(part.get(key)):
                yield from self.part(each, resource, place, owner, level + 1)
        reference = part.get("$ref")
        if isinstance(reference, str):
            target = self.documents.find(resource, reference, owner.name)
            if target.resource is not None:
                found = target.part(owner.name, reference)
                yield from self.part(found, target.resource, place, owner, level + 1)
        items = self._items(place)
        if items is not None:
            yield from self.part(part.get("items"), resource, items, owner, level + 1)
        yield from self._properties(part, resource, place, owner, level)
        kind = self._leaf(part)
        if kind and owner.name != "$":
            note = place.shape.note("string")
            is_base64 = note.connect == "bytes" or (note.encoding or "").lower() == "base64"
            yield TaggedField(
                self._of_kind(place, kind), owner.name, owner.tags, kind, is_base64 and kind == "STRING"
            )

    def _properties(
        self, part: Mapping[str, Any], resource: Resource, place: _Place, owner: _Owner, level: int
    ) -> Iterator[TaggedField]:
        shape, kind, steps = place
        several = len(kinds_of(shape)) > 1
        if several:
            kind, steps = _member(kind, "object"), (*steps, "object")
        properties = part.get("properties")
        if not isinstance(properties, dict) or is_map(shape):
            return
        for name, each in properties.items():
            below, shape_below = _member(kind, name), shape.fields.get(name)
            if not isinstance(each, dict) or below is None or shape_below is None:
                continue
            inner = _Owner(f"{owner.name}.{name}", tags_of(each))
            yield from self.part(each, resource, _Place(shape_below, below, (*steps, name)), inner, level + 1)

    def _items(self, place: _Place) -> _Place | None:
        """Return the place of the items of a list, if there may be one."""
        shape, kind, steps = place
        if len(kinds_of(shape)) > 1:
            kind, steps = _member(kind, "array"), (*steps, "array")
        entry = entry_of(shape)
        if kind is None or not is_list(kind) or entry is not None or shape.is_tuple:
            return None
        return _Place(item_of(shape), kind.value_type, (*steps, ITEMS))

    def _of_kind(self, place: _Place, kind: str) -> tuple[str | int, ...]:
        """Return the steps to the values of a kind, which are members where there are several."""
        name = {"STRING": "string", "INT": "integer", "DOUBLE": "number", "BOOLEAN": "boolean"}.get(kind)
        several = len(kinds_of(place.shape)) > 1
        return (*place.steps, name) if several and name else place.steps

    def _leaf(self, part: Mapping[str, Any]) -> str:
        """Return what rules call the type of single values; nothing if they are not about them."""
        types = part.get("type")
        named = [each for each in (types if isinstance(types, list) else [types]) if each in _KINDS]
        if not named:
            return ""
        is_enum = part.get("enum") is not None or part.get("const") is not None
        return "ENUM" if is_enum else _KINDS[named[0]]


def _member(kind: pa.DataType | None, name: str) -> pa.DataType | None:
    at = kind.get_field_index(name) if kind is not None and pa.types.is_struct(kind) else -1
    return None if at < 0 or kind is None else kind.field(at).type


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
