"""What the references of a schema name: documents at hand, and parts of them. Nothing is ever fetched."""

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import unquote, unquote_plus, urldefrag, urljoin

from kcodec.errors import SchemaError
from kcodec.java.hashing import hash_order

#: What stands for a value that is not given; null is one that is.
ABSENT: Any = object()

#: Metaschemas, and the drafts that they are of.
_METASCHEMAS = {
    f"{scheme}://json-schema.org/{path}": draft
    for path, draft in (
        ("draft-04/schema", 4),
        ("draft-06/schema", 6),
        ("draft-07/schema", 7),
        ("draft/2019-09/schema", 2020),
        ("draft/2020-12/schema", 2020),
    )
    for scheme in ("http", "https")
}
#: What the older drafts are known by as well, and with anything behind these names.
_OLDER = {
    **{name: draft for name, draft in _METASCHEMAS.items() if draft < 2020},
    "http://json-schema.org/schema": 4,
    "https://json-schema.org/schema": 4,
}
_DEFAULT_DRAFT = 7
#: Characters of the identifiers of the schemas in one document, each with what it is relative to.
_MAX_IDENTIFIERS = 64 << 20
#: Of a document that the reader of draft 4 does not take.
_NO_DRAFT = 0

#: A character of a URI as ``java.net.URI`` has them: of any script, others in hexadecimal digits.
_CHARACTER = r"""(?:
    [^\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"<>\\^`{|}%\[\]#?/] | %[0-9A-Fa-f]{2}
)"""
_URI = re.compile(
    rf"""
    (?: [A-Za-z][A-Za-z0-9+.\-]*: (?=[^#]) | (?! [^/?#]*: ) )
    (?:
        (?<=:) (?!/) (?: {_CHARACTER} | [/?\[\]] )*
      |
        (?! //\Z ) (?: // (?: {_CHARACTER}*@ )? \[[0-9A-Fa-f:.]+\] (?: :[0-9]* )? )?
        (?: {_CHARACTER} | / )*
        (?: \? (?: {_CHARACTER} | [/?\[\]] )* )?
    )
    (?: [#] (?: {_CHARACTER} | [/?\[\]] )* )?
    """,
    re.VERBOSE,
)


@dataclass
class Resource:
    """A document, or a part of a document with its own identifier."""

    #: What its references are relative to.
    base: str
    document: Any
    #: The draft whose vocabulary it is read by: 4, 6, 7 or 2020; 0 for none.
    draft: int
    #: Whether it is the main document, or a part of that.
    is_main: bool = True
    anchors: dict[str, Any] = field(default_factory=dict)
    #: The document that it is a part of.
    whole: "Resource | None" = None


class Referent(NamedTuple):
    """What a reference names: a part of a resource; without one, a metaschema of the drafts."""

    resource: Resource | None
    place: str
    fragment: str = ""

    def part(self, path: str, reference: str) -> Any:
        """Return the part; one that is not there is a `SchemaError` at the path of the reference."""
        assert self.resource is not None
        found = _part(self.resource, self.fragment)
        if found is ABSENT:
            raise SchemaError(f"{path}: {reference} does not exist")
        return found


class Documents:
    """A document and those that it may refer to.

    >>> documents = Documents({"$ref": "a.json#/x"}, [("a.json", {"x": {"type": "string"}})])
    >>> documents.find(documents.main, "a.json#/x", "#").part("#", "a.json#/x")
    {'type': 'string'}
    """

    def __init__(self, document: Any, named: Sequence[tuple[str, Any]]) -> None:
        self._resources: dict[str, Resource] = {}
        #: Parts of documents that have a base of their own.
        self._parts: dict[int, Resource] = {}
        self.main = self._resource("", document, _main_draft(document))
        self._resources.setdefault("", self.main)
        given = []
        for name, each in named:
            known = self._resource(
                _join(self.main.base, name), each, reference_draft(each, self.main.draft), is_main=False
            )
            given.append((name, known.document))
            self._resources.setdefault(name, known)
            self._resources.setdefault(_join(self.main.base, name), known)
        #: The others, each with its name.
        self.named = tuple(given)

    def home(self, part: Any, resource: Resource) -> Resource:
        """Return the resource that a part is itself, or else the one given."""
        return self._parts.get(id(part), resource)

    def find(self, resource: Resource, reference: str, path: str) -> Referent:
        """Return what a reference in a resource names; `SchemaError` with the path if its document is not at hand."""
        place, fragment = urldefrag(_join(resource.base, reference))
        home = self._resources.get(place)
        if home is None and not reference.startswith("#"):
            home = self._resources.get(urldefrag(reference)[0])
        if reference.startswith("#"):
            home = _pointed_into(resource, fragment)
        if home is None:
            if place in _METASCHEMAS or place.startswith("https://json-schema.org/draft/"):
                return Referent(None, place)
            raise SchemaError(f"{path}: {reference} is not the name of a reference")
        if home.draft == _NO_DRAFT:
            raise SchemaError(f"{path}: {reference} is of a draft that draft 4 cannot refer to")
        return Referent(home, place, fragment_of(fragment, home.draft, home.anchors))

    def _resource(self, base: str, document: Any, draft: int, *, is_main: bool = True) -> Resource:
        """Make a document known, under its identifier and those of its parts."""
        if isinstance(document, dict) and isinstance(document.get("definitions"), dict):
            defs = document.get("$defs", {})
            if isinstance(defs, dict):
                document = {**document, "$defs": {**document["definitions"], **defs}}
        key = "id" if draft == 4 else "$id"
        own = document.get(key) if isinstance(document, dict) else None
        resource = Resource(base, document, draft, is_main)
        if isinstance(own, str):
            resource.base = _join(base, own)
            self._resources.setdefault(urldefrag(resource.base)[0], resource)
        for part, part_base in _identified(document, key, resource.base):
            inner = Resource(part_base, part, draft, is_main)
            if draft != 2020:
                inner.anchors = resource.anchors
            inner.whole = resource
            self._resources.setdefault(part_base, inner)
            self._parts[id(part)] = inner
        _find_anchors(resource, key, self._parts if draft == 2020 else {})
        return resource


def fragment_of(fragment: str, draft: int, anchors: Container[str]) -> str:
    """Return the anchor or the JSON pointer that a fragment of a URI is to the readers of Java.

    A plus sign in a pointer is a space. In the drafts up to 7 what is no anchor is a pointer, of which neither what
    stands in front of the first slash counts nor empty steps at the end.

    >>> fragment_of("/a%2Fb/c+d/", 2020, ()), fragment_of("/a%2Fb/c+d/", 7, ()), fragment_of("x", 7, ())
    ('/a~1b/c d/', '/a~1b/c d', '')
    """
    name = unquote(fragment)
    if name and not name.startswith("/") and (draft == 2020 or name in anchors):
        return name
    pointer = "".join(f"/{unquote_plus(step).replace('/', '~1')}" for step in fragment.split("/")[1:])
    return pointer if draft == 2020 else pointer.rstrip("/")


def rooted(document: Any, draft: int) -> Callable[[str], str | None]:
    """Return what finds the pointer or anchor that a fragment means in a document, where parts with a base have it.

    It finds none where the fragment is of such a part alone.

    >>> meant = rooted({"a": {"$id": "b.json", "not": {"$ref": "#/c"}}, "c": True}, 7)
    >>> meant("/c"), meant("/not"), meant("name")
    ('/c', None, '')
    """
    whole = Resource("", document, draft)
    _find_anchors(whole, "id" if draft == 4 else "$id", {})

    def meant(fragment: str) -> str | None:
        found = fragment_of(fragment, draft, whole.anchors)
        return None if _part(whole, found) is ABSENT else found

    return meant


def _pointed_into(resource: Resource, fragment: str) -> Resource:
    """Return what a pointer in a resource starts from: up to draft 7 the whole document, if the pointer fits that."""
    if resource.whole is None or resource.draft == 2020:
        return resource
    found = _part(resource.whole, fragment_of(fragment, resource.draft, resource.anchors))
    return resource if found is ABSENT else resource.whole


def is_uri(text: str) -> bool:
    """Return whether ``java.net.URI`` takes a text, in which some characters have to be quoted.

    >>> is_uri("#/$defs/Page[Order]"), is_uri("#/$defs/Page%3COrder%3E"), is_uri("#/$defs/Page<Order>")
    (True, True, False)
    """
    return _URI.fullmatch(text) is not None


def names_of(document: Any) -> Iterator[tuple[str, Any, str]]:
    """Yield the URIs of the schemas in a document of the newer drafts, each with its schema and the keyword for it.

    They are looked for as their reader does it: in unknown keywords too, in the copies of definitions, and in the order
    of a hash table.

    >>> [name for name, _, _ in names_of({"$id": "http://e.org/a", "x": [{"$anchor": "b"}, {"$id": "c"}]})]
    ['http://e.org/a', 'http://e.org/a#b', 'http://e.org/c']
    """
    waiting = [(document, "")]
    length = 0
    while waiting:
        part, base = waiting.pop()
        if isinstance(part, dict):
            own = part.get("$id")
            if isinstance(own, str) and not base.endswith(own):
                base = _join(base, own)
            names = [(base.removesuffix("#"), "$id")] if isinstance(own, str) or part is document else []
            names += [
                (f"{urldefrag(base)[0]}#{part[key]}", key)
                for key in ("$anchor", "$dynamicAnchor")
                if isinstance(part.get(key), str)
            ]
            for name, key in names:
                length = _lengthened(length, name)
                yield name, part, key
            below = [part[key] for key in hash_order((), part) if key not in ("enum", "const")]
        else:
            below = part if isinstance(part, list) else []
        waiting += [(each, base) for each in reversed(below)]


def _main_draft(document: Any) -> int:
    if not isinstance(document, dict) or "$schema" not in document:
        return _DEFAULT_DRAFT
    if not isinstance(document["$schema"], str):
        raise SchemaError("#/$schema: not text")
    return _draft(document["$schema"]) or _DEFAULT_DRAFT


def reference_draft(document: Any, main: int) -> int:
    """Return the draft that a document is read by for one of the draft `main`, as Confluent's two readers do."""
    if main == 2020 or not isinstance(document, dict) or "$schema" not in document:
        return main
    if not isinstance(document["$schema"], str):
        return _NO_DRAFT
    draft = _draft(document["$schema"])
    if draft is None or draft == 2020:
        return _NO_DRAFT if main == 4 else main
    return draft


def _draft(name: str) -> int | None:
    found = (draft for each, draft in _OLDER.items() if name.startswith(each))
    return _METASCHEMAS.get(name.removesuffix("#")) or next(found, None)


def _join(base: str, reference: str) -> str:
    try:
        return urljoin(base, reference)
    except ValueError as error:
        raise SchemaError(f"{reference!r} is not a URI: {error}") from None


def _identified(document: Any, key: str, base: str) -> Iterator[tuple[Any, str]]:
    """Yield the parts of a document that have an identifier of their own, with their bases."""
    waiting = [(each, base) for each in _below(document)]
    length = 0
    while waiting:
        part, outer = waiting.pop()
        if isinstance(part, dict):
            own = part.get(key)
            if isinstance(own, str) and not own.startswith("#"):
                outer = urldefrag(_join(outer, own))[0]
                length = _lengthened(length, outer)
                yield part, outer
        waiting += [(each, outer) for each in _below(part)]


def _lengthened(length: int, name: str) -> int:
    if length + len(name) > _MAX_IDENTIFIERS:
        raise SchemaError(f"the identifiers in the schema have more than {_MAX_IDENTIFIERS} characters")
    return length + len(name)


def _find_anchors(resource: Resource, key: str, parts: Mapping[int, Resource]) -> None:
    """Give a document its anchors, and those of `parts` to them."""
    waiting = [(resource.document, resource)]
    while waiting:
        part, home = waiting.pop()
        if isinstance(part, dict):
            home = parts.get(id(part), home)
            for name in ("$anchor", "$dynamicAnchor") if resource.draft == 2020 else ():
                if isinstance(part.get(name), str):
                    home.anchors.setdefault(part[name], part)
            own = part.get(key)
            if isinstance(own, str) and own.startswith("#"):
                home.anchors.setdefault(own[1:], part)
        waiting += [(each, home) for each in _below(part)]


def _below(part: Any) -> list[Any]:
    if isinstance(part, dict):
        return [each for each in part.values() if isinstance(each, (dict, list))]
    return [each for each in part if isinstance(each, (dict, list))] if isinstance(part, list) else []


def _part(resource: Resource, fragment: str) -> Any:
    """Return what a JSON pointer or an anchor names in a document."""
    if not fragment:
        return resource.document
    if not fragment.startswith("/"):
        return resource.anchors.get(fragment, ABSENT)
    part = resource.document
    for step in fragment[1:].split("/"):
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(part, dict) and step in part:
            part = part[step]
        elif isinstance(part, list) and step.isdecimal() and step.isascii() and len(step) < 10:
            if int(step) >= len(part):
                return ABSENT
            part = part[int(step)]
        else:
            return ABSENT
    return part
