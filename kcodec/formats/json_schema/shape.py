"""What may stand in each place of a schema's documents: the part of a schema that columns follow from.

A schema says which documents are valid; a `Shape` says of which kinds the values in one place are, and what is below
them. Keywords that only narrow values down, such as ``minimum``, have no part in it.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, NamedTuple

from kcodec.errors import SchemaError, is_whole
from kcodec.formats.json_schema.connect_keywords import connect_parameters, connect_type
from kcodec.formats.json_schema.references import ABSENT, Documents, Resource

__all__ = ["ANYTHING", "KINDS", "MAX_LEVELS", "MAX_PLACES", "Note", "Shape", "either", "shape_of"]

#: Kinds of values; an integer is a number too.
KINDS = ("null", "boolean", "integer", "number", "string", "array", "object")

#: Levels of schemas within schemas, references and members of combinations included, that have columns.
MAX_LEVELS = 64

#: Places of one schema, each reference to a part counted again.
MAX_PLACES = 120_000

#: Properties that are copied while the members of combinations are merged.
MAX_COPIED = 10_000_000

#: Keywords that mean only values of one kind, and so tell the kind where ``type`` does not.
_TELLING = {
    "string": ("minLength", "maxLength", "pattern", "format", "contentEncoding"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "array": ("items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems", "contains"),
    "object": (
        "properties",
        "required",
        "additionalProperties",
        "patternProperties",
        "propertyNames",
        "minProperties",
        "maxProperties",
        "dependencies",
        "dependentRequired",
        "dependentSchemas",
    ),
}


_KIND_OF = {key: kind for kind, keys in _TELLING.items() for key in keys}


class Note(NamedTuple):
    """What a schema says of values of one kind beyond it."""

    #: The keyword ``format``.
    format: str | None = None
    #: The keyword ``contentEncoding``.
    encoding: str | None = None
    #: Kafka Connect's type, as its model spells it; empty where the schema names one that Connect does not have.
    connect: str | None = None
    #: The name of a logical type of Connect: the ``title`` of what has a ``connect.type``.
    name: str | None = None
    #: Those of Connect's type, ``connect.parameters``.
    parameters: tuple[tuple[str, str], ...] = ()

    def merged(self, other: "Note") -> "Note":
        """Return what either note says; where both do, what the first says."""
        return Note(
            self.format or other.format,
            self.encoding or other.encoding,
            self.connect or other.connect,
            self.name or other.name,
            self.parameters or other.parameters,
        )


@dataclass(frozen=True, eq=False)
class Shape:
    """What may stand in one place."""

    #: Of `KINDS`; None where the schema does not say.
    kinds: frozenset[str] | None = None
    #: Those that its keywords are about.
    hints: frozenset[str] = frozenset()
    #: What it says of values of a kind.
    notes: Mapping[str, Note] = field(default_factory=dict)
    #: The properties of objects.
    fields: "Mapping[str, Shape]" = field(default_factory=dict)
    #: Those that must be there.
    required: frozenset[str] = frozenset()
    #: What other properties hold, where the schema says that.
    values: "Shape | None" = None
    #: The items of arrays, or those behind `prefix`.
    items: "Shape | None" = None
    #: Items by their places.
    prefix: "tuple[Shape, ...]" = ()
    #: Whether arrays have all items of `prefix`, and no others.
    is_tuple: bool = False
    #: The place among the fields of its object that Connect gave it, ``connect.index``.
    index: int | None = None
    #: What stands where a property is missing; `ABSENT` if the schema has no default.
    default: Any = ABSENT
    #: Why there are no columns below, if there are none: such as a schema that contains itself.
    cut: str = ""
    #: Whether only a part of the schema says all this that need not hold: what others say is not narrowed down by it.
    perhaps: bool = False
    #: Whether it is a property of some members of a union, of which none requires it: a null there could keep a
    #: document from being the member that it is.
    spare: bool = False
    #: Properties of objects that a null is not written for unless they are required, since the schema draws conclusions
    #: from their being there; None for all.
    unasked: frozenset[str] | None = frozenset()

    @property
    def likely(self) -> frozenset[str]:
        """The kinds, or else those that the keywords are about; empty if anything may stand here."""
        return self.kinds if self.kinds is not None else self.hints

    @property
    def accepts_null(self) -> bool:
        """Whether null is a value here."""
        return self.kinds is None or "null" in self.kinds

    def writes_null(self, name: str) -> bool:
        """Return whether a null of a property is written, rather than the property left out."""
        below = self.fields[name]
        if name in self.required:
            return below.accepts_null
        # A column cannot tell a null from what is not there: where the schema names none, nothing is added.
        is_asked = self.unasked is not None and name not in self.unasked
        return below.kinds is not None and "null" in below.kinds and not below.spare and is_asked

    def may_be(self, kind: str) -> bool:
        """Whether values may be of a kind, as the keywords tell it."""
        return (not self.likely and self.kinds is None) or kind in self.likely

    def note(self, kind: str) -> Note:
        """Return what the schema says of values of a kind."""
        return self.notes.get(kind, _NO_NOTE)


_NO_NOTE = Note()
_NO_NAMES = frozenset[str]()

#: Keywords that may draw conclusions from the presence of properties.
_ASKING = frozenset(
    [
        "maxProperties",
        "propertyNames",
        "dependencies",
        "dependentRequired",
        "dependentSchemas",
        "if",
        "not",
        "oneOf",
    ]
)

#: A place of which nothing is said.
ANYTHING = Shape()


def shape_of(documents: Documents, recursive_depth: int = 0) -> Shape:
    """Return the shape of a schema's documents; refuse one with more than `MAX_PLACES` places.

    A schema that contains itself is followed into itself `recursive_depth` times. One whose places are more work
    to merge than `MAX_COPIED` is refused as well.

    >>> shape = shape_of(Documents({"properties": {"id": {"type": ["integer", "null"]}}}, []))
    >>> sorted(shape.likely), sorted(shape.fields["id"].kinds)
    (['object'], ['integer', 'null'])
    """
    return _ShapeReader(documents, recursive_depth).part(documents.main.document, documents.main, "#", 0)


class _Whole(NamedTuple):
    """A part of which nothing was cut: it is the same wherever it stands, as deep as there are levels for it."""

    shape: Shape
    places: int
    copied: int
    levels: int


class _ShapeReader:
    """One reading: how many places there were so far, and which parts it is within."""

    def __init__(self, documents: Documents, recursive_depth: int) -> None:
        self.documents = documents
        self.recursive_depth = recursive_depth
        self.places = 0
        self.copied = 0
        self.cuts = 0
        self.deepest = 0
        self.within: dict[int, int] = {}
        self.whole: dict[tuple[int, int], _Whole] = {}

    def count(self, places: int, copied: int) -> None:
        self.places += places
        if self.places > MAX_PLACES:
            raise SchemaError(
                f"the schema has more than {MAX_PLACES} places for values; "
                "JsonCodec takes the columns that are wanted instead of a schema"
            )
        self.copied += copied
        if self.copied > MAX_COPIED:
            raise SchemaError("the schema joins too many schemas with too many properties")

    def part(self, part: Any, resource: Resource, path: str, level: int) -> Shape:
        known = self.whole.get((id(part), id(resource)))
        if known is not None and level + known.levels <= MAX_LEVELS:
            self.count(known.places, known.copied)
            self.deepest = max(self.deepest, level + known.levels)
            return known.shape
        places, copied, cuts = self.places, self.copied, self.cuts
        self.count(1, 0)
        if part is False:
            return Shape(kinds=frozenset())
        if not isinstance(part, dict) or not part:
            return ANYTHING
        times = self.within.get(id(part), 0)
        if level > MAX_LEVELS or times > self.recursive_depth:
            self.cuts += 1
            is_deep = level > MAX_LEVELS
            cut = f"nested deeper than {MAX_LEVELS} levels" if is_deep else "the schema contains itself"
            return Shape(_own_kinds(part, resource), cut=cut)
        outer, self.deepest = self.deepest, level
        self.within[id(part)] = times + 1
        shape = self.read(part, self.documents.home(part, resource), path, level + 1)
        self.within[id(part)] = times
        if self.cuts == cuts:
            read = self.places - places, self.copied - copied, self.deepest - level
            self.whole[id(part), id(resource)] = _Whole(shape, *read)
        self.deepest = max(self.deepest, outer)
        return shape

    def read(self, part: Mapping[str, Any], resource: Resource, path: str, level: int) -> Shape:
        shapes = []
        for key in ("$ref", "$dynamicRef"):
            reference = part.get(key)
            if isinstance(reference, str) and (key == "$ref" or resource.draft == 2020):
                target = self.documents.find(resource, reference, path)
                if target.resource is None:
                    # A metaschema.
                    shapes.append(Shape(hints=frozenset(("object",)), cut="a schema of schemas"))
                else:
                    found = target.part(path, reference)
                    shapes.append(
                        self.part(found, target.resource, f"{target.place}#{target.fragment}", level)
                    )
                if resource.draft != 2020:
                    return _annotated(shapes[0], part)
        at = functools.partial(self.part, resource=resource, level=level)
        shapes.insert(0, self.own(part, resource, at, path))
        for number, each in enumerate(_list(part.get("allOf"))):
            shapes.append(at(each, path=f"{path}/allOf/{number}"))
        for key in ("anyOf", "oneOf"):
            members = [
                at(each, path=f"{path}/{key}/{number}") for number, each in enumerate(_list(part.get(key)))
            ]
            if members:
                shapes.append(either(members))
        # Which of these holds is not known before the value.
        ways = [
            at(part[key], path=f"{path}/{key}") for key in ("then", "else") if "if" in part and key in part
        ]
        is_either = len(ways) == 2 and all(each.likely for each in ways)
        shapes.extend([either(ways)] if is_either else map(_perhaps, ways))
        for key in ("dependentSchemas", "dependencies"):
            for name, each in _mapping(part.get(key)).items():
                if isinstance(each, dict):
                    shapes.append(_perhaps(at(each, path=f"{path}/{key}/{name}")))
        return _annotated(functools.reduce(self.both, shapes), part)

    def both(self, left: Shape, right: Shape) -> Shape:
        # What many members add up to is copied with each of them.
        self.count(0, len(left.fields) + len(left.required) + len(left.unasked or ()))
        return _both(left, right)

    def own(self, part: Mapping[str, Any], resource: Resource, at: Any, path: str) -> Shape:
        """Return what a schema says itself, without the schemas that it combines."""
        kinds = _own_kinds(part, resource)
        hints = frozenset(_KIND_OF[key] for key in part.keys() & _KIND_OF.keys())
        fields = {
            name: at(each, path=f"{path}/properties/{name}")
            for name, each in _mapping(part.get("properties")).items()
        }
        required = _names(part)
        others = [
            at(each, path=f"{path}/patternProperties/{name}")
            for name, each in _mapping(part.get("patternProperties")).items()
        ]
        additional = part.get("additionalProperties", bool(others) or None)
        if additional is not None and additional is not False:
            others.append(at(additional, path=f"{path}/additionalProperties"))
        prefix, items, is_closed = self.arrayed(part, at, path)
        note = _note(part)
        return Shape(
            kinds,
            hints,
            dict.fromkeys(hints if kinds is None else kinds, note) if any(note) else {},
            fields,
            required,
            either(others) if others else None,
            items,
            prefix,
            bool(prefix) and is_closed and part.get("minItems") == len(prefix),
            unasked=_unasked(part),
        )

    def arrayed(
        self, part: Mapping[str, Any], at: Any, path: str
    ) -> tuple[tuple[Shape, ...], Shape | None, bool]:
        """Return the first items by their places, the items after them, and whether none may follow the first."""
        items = part.get("items")
        listed, rest, behind = part.get("prefixItems"), items, "items"
        if isinstance(items, list):
            listed, rest, behind = items, part.get("additionalItems"), "additionalItems"
        prefix = tuple(
            at(each, path=f"{path}/{'prefixItems' if listed is not items else 'items'}/{number}")
            for number, each in enumerate(_list(listed))
        )
        is_closed = rest is False or (bool(prefix) and part.get("maxItems") == len(prefix))
        if rest is None or rest is False:
            return prefix, None, is_closed
        return prefix, at(rest, path=f"{path}/{behind}"), is_closed


def _annotated(shape: Shape, part: Mapping[str, Any]) -> Shape:
    """Return a shape with what a schema says of its place, and of all values there."""
    index, default = part.get("connect.index"), part.get("default", ABSENT)
    changes: dict[str, Any] = {}
    if is_whole(index):
        changes["index"] = index
    if default is not ABSENT:
        changes["default"] = default
    return replace(shape, **changes) if changes else shape


def _own_kinds(part: Mapping[str, Any], resource: Resource) -> frozenset[str] | None:
    """Return the kinds that a schema allows itself, without those that it combines; None if it does not say."""
    given = part.get("type")
    kinds = None
    if isinstance(given, (str, list)):
        kinds = _kinds([given] if isinstance(given, str) else given)
    for key in ("enum", "const"):
        if key in part and (key == "enum" or resource.draft > 4):
            values = part[key] if key == "enum" else [part[key]]
            found = _kinds(map(_kind_of, _list(values)))
            kinds = found if kinds is None else _common(kinds, found)
    return kinds


def _unasked(part: Mapping[str, Any]) -> frozenset[str] | None:
    """Return the properties whose presence matters to the validity of a document; None for all."""
    if part.keys().isdisjoint(_ASKING):
        return _NO_NAMES
    if "maxProperties" in part or "propertyNames" in part:
        return None
    names: set[str] = set()
    for key in ("dependencies", "dependentRequired", "dependentSchemas"):
        names.update(_mapping(part.get(key)))
    for key in ("if", "not"):
        inner = _mapping(part.get(key))
        names.update(_mapping(inner.get("properties")), _names(inner))
    # What some members require of the properties around them, and others do not, tells them apart.
    members = [each for each in _list(part.get("oneOf")) if isinstance(each, dict)]
    required = [_names(each) for each in members]
    common = frozenset.intersection(*required) if required else frozenset[str]()
    for each, own in zip(members, required, strict=True):
        names |= own.difference(common, _mapping(each.get("properties")))
    return frozenset(names)


def _names(part: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(each for each in _list(part.get("required")) if isinstance(each, str))


def _note(part: Mapping[str, Any]) -> Note:
    connect = connect_type(part)
    return Note(
        _text(part.get("format")),
        _text(part.get("contentEncoding")),
        connect,
        _text(part.get("title")) if connect is not None else None,
        tuple(connect_parameters(part).items()),
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _kind_of(value: Any) -> str:
    if value is None:
        return "null"
    for kind, types in (
        ("boolean", bool),
        ("integer", int),
        ("number", (float, Decimal)),
        ("string", str),
        ("array", list),
    ):
        if isinstance(value, types):
            return kind
    return "object"


def _kinds(kinds: Iterable[Any]) -> frozenset[str]:
    """Return the kinds among names, without integers where there are numbers."""
    found = frozenset(kind for kind in kinds if kind in KINDS)
    return found - {"integer"} if "number" in found else found


def _common(left: frozenset[str], right: frozenset[str]) -> frozenset[str]:
    both = _with_integers(left) & _with_integers(right)
    return both - {"integer"} if "number" in both else both


def _with_integers(kinds: frozenset[str]) -> frozenset[str]:
    return kinds | {"integer"} if "number" in kinds else kinds


def _both(left: Shape, right: Shape) -> Shape:
    if left is ANYTHING or right is ANYTHING:
        return right if left is ANYTHING else left
    if left.perhaps and right.perhaps:
        return either([left, right])
    if left.perhaps or right.perhaps:
        return _filled(right, left) if left.perhaps else _filled(left, right)
    if left.kinds is None or right.kinds is None:
        kinds = right.kinds if left.kinds is None else left.kinds
    else:
        kinds = _common(left.kinds, right.kinds)
    return Shape(
        kinds,
        left.hints | right.hints,
        _merged(left.notes, right.notes, lambda mine, other: mine.merged(other)),
        _merged(left.fields, right.fields, _both),
        left.required | right.required,
        _both_or_one(left.values, right.values),
        _both_or_one(left.items, right.items),
        left.prefix or right.prefix,
        left.is_tuple or right.is_tuple,
        right.index if left.index is None else left.index,
        right.default if left.default is ABSENT else left.default,
        left.cut or right.cut,
        unasked=_all_unasked([left, right]),
    )


def _filled(shape: Shape, other: Shape) -> Shape:
    """Return a shape, completed where it says nothing by a shape that need not hold."""
    says = shape.kinds is not None
    return Shape(
        shape.kinds if says else other.kinds,
        shape.hints | other.hints,
        shape.notes if says else _merged(shape.notes, other.notes, Note.merged),
        _merged(shape.fields, {name: _unsure(below) for name, below in other.fields.items()}, _both),
        shape.required,
        _both_or_one(shape.values, other.values and _unsure(other.values)),
        _both_or_one(shape.items, other.items and _unsure(other.items)),
        shape.prefix or other.prefix,
        shape.is_tuple if shape.prefix or shape.items else other.is_tuple,
        other.index if shape.index is None else shape.index,
        other.default if shape.default is ABSENT else shape.default,
        shape.cut or other.cut,
        not says,
        unasked=_all_unasked([shape, other]),
    )


def _unsure(shape: Shape) -> Shape:
    return shape if shape is ANYTHING else replace(shape, perhaps=True)


def _both_or_one(left: Shape | None, right: Shape | None) -> Shape | None:
    if left is None or right is None:
        return right if left is None else left
    return _both(left, right)


def either(shapes: Sequence[Shape]) -> Shape:
    """Return the shape of values of any of some shapes."""
    # What has no values is no choice.
    shapes = [each for each in shapes if each.kinds != frozenset()] or list(shapes)
    if len(shapes) == 1:
        return shapes[0]
    kinds, hints = _either_kinds(shapes)
    objects = [each for each in shapes if each.may_be("object")]
    lists = [each for each in shapes if each.may_be("array")]
    # Tuples of different lengths are lists of all that may stand in them.
    by_place = len({len(each.prefix) for each in lists}) == 1
    items = [_items(each, by_place) for each in lists]
    notes = {
        kind: found.pop()
        for kind in KINDS
        if len(found := {each.note(kind) for each in shapes if each.may_be(kind)}) == 1
    }
    return Shape(
        kinds,
        hints,
        notes,
        _either_fields(shapes, objects),
        frozenset.intersection(*(each.required for each in objects)) if objects else frozenset(),
        _either_or_none([each.values for each in objects]),
        either([below for each in items for below in each]) if items and all(items) else None,
        tuple(map(either, zip(*(each.prefix for each in lists), strict=True))) if by_place else (),
        by_place and all(each.is_tuple for each in lists),
        next((each.index for each in shapes if each.index is not None), None),
        ABSENT,
        next((each.cut for each in shapes if each.cut), ""),
        any(each.perhaps for each in shapes),
        unasked=_all_unasked(shapes),
    )


def _either_kinds(shapes: Sequence[Shape]) -> tuple[frozenset[str] | None, frozenset[str]]:
    """Return the kinds, and those that keywords are about, of values of any of some shapes."""
    if not all(each.likely for each in shapes):
        return None, _NO_NAMES
    hints = _NO_NAMES.union(*(each.hints for each in shapes))
    if all(each.kinds is None for each in shapes):
        return None, hints
    return _kinds(kind for each in shapes for kind in each.likely), hints


def _either_fields(shapes: Sequence[Shape], objects: Sequence[Shape]) -> Mapping[str, Shape]:
    """Return the properties of any of some shapes, of which some may be objects."""
    fields: dict[str, list[Shape]] = {}
    for each in shapes:
        for name, below in each.fields.items():
            fields.setdefault(name, []).append(below)
    asked = _NO_NAMES.union(*(each.required for each in objects))
    return {
        # Where others do not have it, anything may stand there.
        name: either(found)
        if len(found) == len(objects)
        else replace(_unsure(either(found)), spare=name not in asked)
        for name, found in fields.items()
    }


def _items(shape: Shape, by_place: bool) -> list[Shape]:
    """Return what the items of arrays may be, without those that are told by their places."""
    below = [] if shape.items is None else [shape.items]
    return below if by_place else [*shape.prefix, *below]


def _either_or_none(shapes: Sequence[Shape | None]) -> Shape | None:
    found = [each for each in shapes if each is not None]
    return either(found) if found and len(found) == len(shapes) else None


def _perhaps(shape: Shape) -> Shape:
    """Return what remains of a shape that need not hold: its fields become optional."""
    if not shape.fields:
        return ANYTHING
    fields = {name: _unsure(below) for name, below in shape.fields.items()}
    return Shape(hints=shape.hints, fields=fields, unasked=shape.unasked)


def _all_unasked(shapes: Sequence[Shape]) -> frozenset[str] | None:
    if not any(each.unasked is None or each.unasked for each in shapes):
        return _NO_NAMES
    found = [each.unasked for each in shapes if each.unasked is not None]
    return frozenset[str]().union(*found) if len(found) == len(shapes) else None


def _merged(left: Mapping[str, Any], right: Mapping[str, Any], both: Any) -> Mapping[str, Any]:
    if not left or not right:
        return left or right
    merged = dict(left)
    for key, value in right.items():
        merged[key] = both(merged[key], value) if key in merged else value
    return merged
