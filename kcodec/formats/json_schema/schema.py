"""JSON Schemas as a registry compares them: JSON text to a graph of `Node`.

Confluent's registry does not compare keywords but the classes of two validators' models: the everit library's for
drafts 4, 6 and 7, which is also what its translation of drafts 2019-09 and 2020-12 gives. A node is one object of that
model. What a document says in one JSON object becomes several nodes where it says several things: they are the members
of an ``allOf`` that nobody wrote.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NoReturn

from kcodec.errors import SchemaError, is_whole
from kcodec.formats.json_schema.connect_keywords import connect_type
from kcodec.formats.json_schema.copies import DEFINITIONS, Target, met_in_order, resolve
from kcodec.formats.json_schema.document import read_document
from kcodec.formats.json_schema.keywords import (
    ARRAY,
    ARRAY_2020,
    COMBINED,
    CONDITIONAL,
    CONTAINED,
    FLAGS,
    FORGOTTEN,
    KNOWN_2020,
    LAST_2020,
    NUMBER,
    OBJECT,
    OBJECT_2020,
    OWNERS_2020,
    SEEN_2020,
    STRING,
    TYPES,
    said_names,
)
from kcodec.formats.json_schema.pattern_syntax import check_pattern
from kcodec.formats.json_schema.references import ABSENT, Documents, Resource, is_uri, names_of
from kcodec.formats.language import NamedText
from kcodec.java.hashing import hash_order

__all__ = ["ABSENT", "MAX_NESTING", "MAX_NODES", "JsonSchema", "Node", "parse"]

#: Levels of schemas within schemas in one document; references do not count.
MAX_NESTING = 100

#: Nodes of one schema, those of all it refers to included.
MAX_NODES = 1_000_000


class Node:
    """One schema of the model."""

    __slots__ = ("bytes", "default", "description", "id", "kind", "members", "rules", "target", "title")

    def __init__(
        self, kind: str, rules: dict[str, Any] | None = None, members: Sequence["Node"] = ()
    ) -> None:
        #: ``empty``, ``false``, ``string``, ``number``, ``boolean``, ``null``, ``array``, ``object``, ``enum``,
        #: ``const``, ``not``, ``conditional``, ``combined`` or ``reference``.
        self.kind = kind
        #: What it demands, by keyword. An array has its tuple as ``prefix``; what it and an object take beyond what is
        #: listed is ``additional``, a bool or a node, and ``unevaluated``, a node. A number that is an integer has
        #: ``integer``; an empty one written as true has ``boolean``.
        self.rules = {} if rules is None else rules
        #: Of a combined schema.
        self.members = list(members)
        #: Of a reference, once everything is read.
        self.target: Node | None = None
        self.id: str | None = None
        self.title: str | None = None
        self.description: str | None = None
        self.default: Any = ABSENT
        #: Whether Kafka Connect keeps bytes in it.
        self.bytes = False

    def __repr__(self) -> str:
        return f"<Node {self.kind} {self.rules} {self.members}>"


@dataclass(frozen=True, eq=False)
class JsonSchema:
    """A schema: its document, those it refers to, and the model of it."""

    #: The JSON of its text.
    document: Any
    #: Its model.
    root: Node
    #: It and those that it refers to.
    documents: Documents


def parse(text: str, references: Sequence[NamedText] = ()) -> JsonSchema:
    """Read a schema and those it needs.

    Raises
    ------
    SchemaError
        With the place of what is wrong.

    Examples
    --------
    >>> schema = parse('{"type": "object", "properties": {"a": {"$ref": "a.json"}}}', [NamedText("a.json", "{}")])
    >>> schema.root.kind, schema.root.rules["properties"]["a"].target.kind
    ('object', 'empty')
    """
    document = read_document(text)
    if not isinstance(document, (dict, bool)):
        raise SchemaError("a JSON Schema is an object or a boolean")
    named = []
    for each in references:
        try:
            named.append((each.name, read_document(each.text)))
        except SchemaError as error:
            raise SchemaError(f"the reference {each.name}: {error}") from None
    try:
        loader = _Loader(document, named)
        return JsonSchema(document, loader.root(), loader.documents)
    except RecursionError:
        raise SchemaError("values in the schema are nested too deeply") from None


class _Loader:
    """One reading: the documents at hand, and the references that are still to be followed."""

    def __init__(self, document: Any, named: Sequence[tuple[str, Any]]) -> None:
        self.nodes = 0
        self.digests: dict[int, bytes] = {}
        self.documents = Documents(document, named)
        if self.documents.main.draft != 2020:
            for name, each in named:
                if not isinstance(each, dict):
                    raise SchemaError(f"the reference {name}: before draft 2019-09 a reference is an object")
        self.targets: dict[tuple[int, str], Target] = {}
        self.waiting: list[tuple[Node, Resource, str, str]] = []
        #: References of the newer drafts that were met, and where all lead.
        self.met: list[Any] = []
        self.led: dict[int, Target] = {}
        #: Schemas whose definitions have been read.
        self.defining: set[int] = set()
        #: The schema that has a name, by its URI: in the newer drafts each has another.
        self.named: dict[str, Any] = {}
        #: Those in the main document.
        self.main_named: set[int] = set()

    def root(self) -> Node:
        main = self.documents.main
        if main.draft == 2020:
            for name, part, key in names_of(main.document):
                if name in self.named and key != "$dynamicAnchor":
                    raise SchemaError(f"{key}: {part[key]!r} stands twice")
                self.named[name] = part
                self.main_named.add(id(part))
        root = self.target(main.document, main, "#")
        if main.draft == 2020:
            self.targets[id(main), ""] = root
        while self.waiting:
            node, resource, reference, path = self.waiting.pop()
            target = self.led[id(node)] = self.follow(resource, reference, path)
            node.target = target.node
        if main.draft == 2020:
            resolve(root, self.led)
        return root.node

    def target(self, part: Any, resource: Resource, path: str) -> Target:
        self.met = []
        return Target(self.schema(part, resource, path, 0), self.met)

    def follow(self, resource: Resource, reference: str, path: str) -> Target:
        found = self.documents.find(resource, reference, path)
        if found.resource is None:
            return Target(Node("combined", {"criterion": "allOf", "metaschema": found.place}))
        key = (id(found.resource), found.fragment)
        known = self.targets.get(key)
        if known is None:
            part = found.part(path, reference)
            known = self.targets[key] = self.target(part, found.resource, f"{found.place}#{found.fragment}")
            if found.resource.draft == 2020 and not found.resource.is_main:
                self.whole(found.resource, found.place)
        return known

    def whole(self, resource: Resource, place: str) -> None:
        """Read all of a document, as the reader of the newer drafts does where a part of it is referred to."""
        key = (id(resource), "")
        if key not in self.targets:
            self.targets[key] = self.target(resource.document, resource, f"{place}#")

    # One schema

    def distinct(self, members: Sequence[Any]) -> dict[bytes, tuple[int, Any]]:
        """Return the members of a list by their digests, each with its place; of equal members only the first."""
        found: dict[bytes, tuple[int, Any]] = {}
        for number, each in enumerate(members):
            found.setdefault(self.digest(each), (number, each))
        return found

    def digest(self, value: Any) -> bytes:
        """Return a digest that only equal JSON values share, whatever the order of keys."""
        if not isinstance(value, (dict, list)):
            text = f"{type(value).__name__}:{value}"
            return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        known = self.digests.get(id(value))
        if known is None:
            whole = hashlib.blake2b(b"{" if isinstance(value, dict) else b"[", digest_size=16)
            if isinstance(value, dict):
                for key in sorted(value):
                    whole.update(self.digest(key) + self.digest(value[key]))
            else:
                for each in value:
                    whole.update(self.digest(each))
            known = self.digests[id(value)] = whole.digest()
        return known

    def schema(self, source: Any, resource: Resource, path: str, depth: int) -> Node:
        self.nodes += 1
        if depth > MAX_NESTING:
            raise SchemaError(f"{path}: schemas are nested deeper than {MAX_NESTING}")
        if self.nodes > MAX_NODES:
            raise SchemaError(f"the schema has more than {MAX_NODES} parts")
        if isinstance(source, bool):
            return Node("empty", {"boolean": True}) if source else Node("false")
        if not isinstance(source, Mapping):
            _refuse(path, "a schema is an object or a boolean")
        reader = _SchemaReader(self, source, self.documents.home(source, resource), path, depth)
        node = reader.read()
        if reader.draft == 2020 and (reader.met or reader.reference):
            self.met += met_in_order(reader.in_order(), reader.met, reader.reference, resource.is_main)
        return node


class _SchemaReader:
    """One JSON object that is a schema: its keywords that are not yet part of a node, and the nodes so far."""

    def __init__(
        self, loader: _Loader, source: Mapping[str, Any], resource: Resource, path: str, depth: int
    ) -> None:
        self.loader = loader
        self.source = source
        self.left = set(source)
        self.resource = resource
        self.draft = resource.draft
        self.path = path
        self.depth = depth
        self.reference: Node | None = None
        self.met: dict[str, list[tuple[str, list[Any]]]] = {}

    def read(self) -> Node:
        if self.draft == 2020 and id(self.source) not in self.loader.defining:
            self.loader.defining.add(id(self.source))
            self.names()
            self.definitions()
        if "$ref" in self.source:
            reference = self.text("$ref")
            if not reference:
                self.refuse("$ref", "empty")
            node = self.reference = Node("reference")
            self.loader.waiting.append((node, self.resource, reference, self.path))
            if self.draft != 2020:
                return self.described(node)
            parts = self.parts(node)
        else:
            parts = self.parts()
        if not parts:
            return self.described(Node("empty"))
        if len(parts) == 1:
            if self.draft == 2020 and not KNOWN_2020.issuperset(self.source):
                for key in FORGOTTEN:
                    parts[0].rules.pop(key, None)
            elif self.draft != 2020 and parts[0].kind == "array":
                # Not known to these drafts, and compared all the same where nothing but an array is.
                for key in CONTAINED:
                    if _is_number(self.source.get(key)):
                        parts[0].rules[key] = self.source[key]
            return self.described(parts[0])
        return self.described(Node("combined", {"criterion": "allOf", "implied": True}, parts))

    def definitions(self) -> None:
        """Read the definitions: in the newer drafts they have to be schemas even if nothing refers to them."""
        if "$defs" in self.source:
            written = self.source.get("definitions")
            for name, each in self.mapping("$defs").items():
                # Those of the root's ``definitions`` are among them.
                is_older = isinstance(written, Mapping) and written.get(name) is each
                self.at(each, f"{'definitions' if is_older else '$defs'}/{name}")

    def names(self) -> None:
        """Check the names of a schema, each its own in the newer drafts, and what it refers to by one."""
        if self.resource.document is self.source:
            self.name("$id", self.resource.base.removesuffix("#"))
        for key in ("$anchor", "$dynamicAnchor"):
            name = self.source.get(key)
            if isinstance(name, str):
                if not is_uri(f"#{name}") or (not name and self.path != "#"):
                    self.refuse(key, "not the fragment of a URI")
                self.name(key, f"{self.resource.base}#{name}")
            elif key == "$dynamicAnchor" and key in self.source:
                self.refuse(key, "not text")
        if "$dynamicRef" in self.source:
            # What it names has to be a schema.
            reference = self.text("$dynamicRef")
            self.loader.waiting.append((Node("reference"), self.resource, reference, self.path))

    def name(self, key: str, name: str) -> None:
        if id(self.source) in self.loader.main_named:
            return
        if self.loader.named.get(name, self.source) is not self.source and key != "$dynamicAnchor":
            self.refuse(key, f"{self.source.get(key)!r} stands twice")
        self.loader.named[name] = self.source

    def described(self, node: Node) -> Node:
        """Record the identifier, title, description and default of a schema."""
        key = "id" if self.draft == 4 else "$id"
        name = self.source.get(key)
        if self.draft != 2020:
            # The server's translation of the newer drafts loses it.
            name = node.id = self.text_or_none(key)
        if isinstance(name, str):
            if not is_uri(name):
                self.refuse(key, "not a URI")
            if self.draft == 2020 and self.path == "#" and name.partition("#")[2]:
                self.refuse(key, "with a fragment")
        node.title = self.text_or_none("title")
        node.description = self.text_or_none("description")
        node.default = self.source.get("default", ABSENT)
        if self.draft == 2020 and node.default is None:
            # As if it were not there, in the newer drafts.
            node.default = ABSENT
        for key in FLAGS.get(self.draft, ()):
            if not isinstance(self.source.get(key, False), bool):
                self.refuse(key, "not a boolean")
        node.bytes = connect_type(self.source) == "bytes"
        return node

    def parts(self, *first: Node) -> list[Node]:
        """Return the nodes that the schema consists of, behind a first one if there is a reference."""
        if self.draft != 2020:
            return [*first, *self.nodes()]
        # Those of the newer drafts stand where the server comes upon the first of their keywords.
        places = {key: number for number, key in enumerate(self.in_order())}
        found = [(places["$ref"], node) for node in first]
        left = set(self.left)
        for node in self.nodes():
            found.append((min(places[key] for key in left - self.left if key in OWNERS_2020), node))
            left = set(self.left)
        return [node for _, node in sorted(found, key=lambda each: each[0])]

    def in_order(self) -> list[str]:
        """Return the keywords in the order in which the server's reader of the newer drafts comes upon them.

        That of a hash table in the main document, that of the text in others.
        """
        keys = hash_order(self.source) if self.resource.is_main else list(self.source)
        last = [key for key in LAST_2020 if key in self.source]
        return [key for key in keys if key not in last] + last

    def nodes(self) -> Iterator[Node]:
        if "enum" in self.left:
            values = self.take("enum")
            if not isinstance(values, list):
                self.refuse("enum", "not a list")
            yield Node("enum", {"enum": values})
        for criterion in COMBINED:
            if criterion in self.left:
                yield self.combined(criterion)
        if "not" in self.left:
            yield Node("not", {"not": self.inner("not")})
        if "const" in self.left and self.draft > 4:
            yield Node("const", {"const": self.take("const")})
        if "type" in self.left:
            yield self.typed(self.take("type"))
        yield from self.untyped()
        if self.draft >= 7 and (
            "if" in self.left if self.draft == 2020 else self.left.intersection(CONDITIONAL)
        ):
            yield Node("conditional", {key: self.inner(key) for key in CONDITIONAL if key in self.left})

    def combined(self, criterion: str) -> Node:
        members = self.take(criterion)
        if not isinstance(members, list):
            self.refuse(criterion, "not a list")
        distinct = self.loader.distinct(members)
        nodes = [self.at(each, f"{criterion}/{number}") for number, each in distinct.values()]
        if self.draft == 2020:
            return self.combined_parts(criterion, members, dict(zip(distinct, nodes, strict=True)))
        rules = {"criterion": criterion, "texts": list(distinct), "written": len(members)}
        return Node("combined", rules, nodes)

    def combined_parts(self, criterion: str, members: list[Any], read: Mapping[bytes, Node]) -> Node:
        """Return a combined schema of the newer drafts, given the nodes of its members by their digests.

        The server's translation takes several keywords of one member for several members, and has but one of those
        that say the same.
        """
        found: dict[Any, Node] = {}
        written = 0
        for each in members:
            node = read[self.loader.digest(each)]
            parts = node.members if "implied" in node.rules else [node]
            written += len(parts)
            for part in parts:
                names = said_names(each, part.kind, part.rules.get("criterion", ""), alone=part is node)
                # What is not told apart by its keywords is itself alone.
                said = (
                    id(part)
                    if names is None
                    else frozenset((key, self.loader.digest(each[key])) for key in names)
                )
                found.setdefault((part.kind, each is True, said), part)
        return Node(
            "combined",
            {"criterion": criterion, "texts": list(found), "written": written},
            list(found.values()),
        )

    def typed(self, kinds: Any) -> Node:
        if isinstance(kinds, str):
            return self.of_type(kinds)
        if not isinstance(kinds, list):
            self.refuse("type", "neither a name nor a list of names")
        # Each of several types takes all of its keywords; in the newer drafts of numbers and integers the first alone.
        left = self.taken_up(kinds)
        found: dict[str, Node] = {}
        nodes = []
        for kind in kinds:
            name = "number" if kind == "integer" and self.draft == 2020 else str(kind)
            node = found.get(name)
            if node is None or self.draft == 2020:
                before, self.left = self.left, set(left) if node is None else set()
                node = self.of_type(kind)
                self.left = before - (left - self.left) if name not in found else before
                found.setdefault(name, node)
            nodes.append(node)
        return Node("combined", {"criterion": "anyOf"}, nodes)

    def taken_up(self, kinds: list[Any]) -> set[str]:
        """Return the keywords that a list of types takes up; in the newer drafts only those met with nothing else."""
        if self.draft != 2020:
            return set(self.left)
        of = {"number" if kind == "integer" else str(kind) for kind in kinds}
        before: dict[str, str] = {}
        taken: set[str] = set()
        is_met = False
        for key in self.in_order():
            what = "nothing" if key in SEEN_2020 else OWNERS_2020.get(key)
            if key == "type":
                if not of.issuperset(before.values()):
                    break
                is_met, taken = True, set(before)
            elif what is None:
                continue
            elif not is_met:
                before[key] = what
                if len(set(before.values())) > 1:
                    break
            elif what not in of:
                break
            else:
                taken.add(key)
        return taken

    def of_type(self, kind: Any) -> Node:
        if kind not in TYPES:
            self.refuse("type", f"{kind!r} is not a type")
        if kind == "string":
            return self.string()
        if kind in ("number", "integer"):
            return self.number(integer=kind == "integer")
        if kind == "array":
            return self.array()
        if kind == "object":
            return self.object()
        return Node(str(kind))

    def untyped(self) -> Iterator[Node]:
        """Yield the rules of keywords that are about one type, in a schema that names no type."""
        newer = self.draft == 2020
        array = {"contains", *ARRAY} if self.draft > 4 else set(ARRAY)
        objects = {"propertyNames", *OBJECT} if self.draft > 4 else set(OBJECT)
        if newer:
            array, objects = ARRAY_2020, OBJECT_2020
            # There these demand nothing: the server's translation leaves them out.
            objects = objects - {
                key for key in ("properties", "patternProperties") if self.source.get(key) == {}
            }
            if "format" in self.left:
                self.text("format")
        if self.left & array:
            yield self.array()
        if self.left & objects:
            yield self.object()
        if self.left.intersection(NUMBER):
            yield self.number()
        if self.left.intersection(STRING):
            yield self.string()

    def string(self) -> Node:
        rules: dict[str, Any] = {}
        self.lengths(rules, "minLength", "maxLength")
        if "pattern" in self.left:
            rules["pattern"] = self.text("pattern")
            check_pattern(rules["pattern"], f"{self.path}/pattern")
        if "format" in self.left:
            self.text("format")
        return Node("string", rules)

    def number(self, integer: bool = False) -> Node:
        rules: dict[str, Any] = {"integer": integer}
        for key in NUMBER:
            if key in self.left:
                value = self.take(key)
                if self.draft == 4 and key.startswith("exclusive"):
                    if not isinstance(value, bool):
                        self.refuse(key, "not a boolean")
                elif not _is_number(value):
                    self.refuse(key, "not a number")
                elif key == "multipleOf" and self.draft != 2020 and _is_zero(value):
                    self.refuse(key, "zero")
                else:
                    rules[key] = value
        return Node("number", rules)

    def array(self) -> Node:
        rules: dict[str, Any] = {}
        newer = self.draft == 2020
        self.lengths(rules, "minItems", "maxItems")
        if "uniqueItems" in self.left:
            rules["uniqueItems"] = self.flag("uniqueItems")
        extra = "additionalItems"
        if newer:
            only_flag = isinstance(self.source.get("items"), bool)
            extra = "items" if "prefixItems" in self.source or only_flag else ""
        tuple_key = "prefixItems" if newer else "items"
        if isinstance(self.source.get(tuple_key), list) and tuple_key in self.left:
            rules["prefix"] = [
                self.at(each, f"{tuple_key}/{number}") for number, each in enumerate(self.take(tuple_key))
            ]
        elif newer and "prefixItems" in self.left:
            self.refuse("prefixItems", "not a list")
        elif "items" in self.left and extra != "items":
            if self.draft == 4 and isinstance(self.source["items"], bool):
                self.refuse("items", "not an object or a list")
            rules["items"] = self.inner("items")
        if extra in self.left:
            rules["additional"] = self.bool_or_schema(extra)
            if "items" in rules and rules["additional"] is False:
                # Where all items have one schema there are none beyond them.
                del rules["additional"]
        if "contains" in self.left and self.draft > 4:
            self.inner("contains")
            if newer:
                rules["minContains"] = 1
        if newer:
            for key in CONTAINED:
                # Other values than whole numbers demand nothing.
                if key in self.left and "contains" in self.source and _is_integral(self.source[key]):
                    rules[key] = self.integer(key)
            if "unevaluatedItems" in self.left:
                rules["unevaluated"] = self.inner("unevaluatedItems")
        return Node("array", rules)

    def object(self) -> Node:
        rules: dict[str, Any] = {}
        newer = self.draft == 2020
        self.lengths(rules, "minProperties", "maxProperties")
        if "properties" in self.left:
            rules["properties"] = self.schemas("properties")
        if "required" in self.left:
            required = self.take("required")
            if not isinstance(required, list) or not all(isinstance(each, str) for each in required):
                self.refuse("required", "not a list of names")
            # In their order, and found fast.
            rules["required"] = dict.fromkeys(required)
        if "patternProperties" in self.left:
            rules["patterns"] = self.schemas("patternProperties")
            for pattern in rules["patterns"]:
                check_pattern(pattern, f"{self.path}/patternProperties")
        if "additionalProperties" in self.left:
            rules["additional"] = self.bool_or_schema("additionalProperties")
        if "propertyNames" in self.left and self.draft > 4:
            self.inner("propertyNames")
        dependencies: dict[str, Any] = {}
        if newer:
            if "dependentRequired" in self.left:
                for key, value in self.mapping("dependentRequired").items():
                    dependencies[key] = self.dependency(key, value, "dependentRequired", schemas=False)
            if "dependentSchemas" in self.left:
                rules["dependentSchemas"] = self.schemas("dependentSchemas")
        elif "dependencies" in self.left:
            schemas: dict[str, Node] = {}
            for key, value in self.mapping("dependencies").items():
                found = self.dependency(key, value, "dependencies", schemas=True)
                (schemas if isinstance(found, Node) else dependencies)[key] = found
            rules["dependentSchemas"] = schemas
        # What demands no other property is no dependency.
        dependencies = {key: value for key, value in dependencies.items() if value}
        if dependencies:
            rules["dependentRequired"] = dependencies
        if newer and "unevaluatedProperties" in self.left:
            rules["unevaluated"] = self.inner("unevaluatedProperties")
        return Node("object", rules)

    def dependency(self, key: str, value: Any, keyword: str, *, schemas: bool) -> Any:
        if isinstance(value, list):
            if not all(isinstance(each, str) for each in value):
                self.refuse(f"{keyword}/{key}", "not a list of names")
            return value
        kinds = (dict,) if self.draft == 4 else (dict, bool)
        if not schemas or not isinstance(value, kinds):
            self.refuse(f"{keyword}/{key}", "not a list of names" + " or a schema" * schemas)
        return self.at(value, f"{keyword}/{key}")

    # Values of keywords

    def take(self, key: str) -> Any:
        self.left.discard(key)
        return self.source[key]

    def inner(self, key: str) -> Node:
        return self.at(self.take(key), key)

    def at(self, source: Any, step: str) -> Node:
        outer, self.loader.met = self.loader.met, []
        node = self.loader.schema(source, self.resource, f"{self.path}/{step}", self.depth + 1)
        keyword, _, name = step.partition("/")
        if self.loader.met or keyword in DEFINITIONS:
            self.met.setdefault(keyword, []).append((name, self.loader.met))
        self.loader.met = outer
        return node

    def mapping(self, key: str) -> Mapping[str, Any]:
        value = self.take(key)
        if not isinstance(value, Mapping):
            self.refuse(key, "not an object")
        return value

    def schemas(self, key: str) -> dict[str, Node]:
        return {name: self.at(each, f"{key}/{name}") for name, each in self.mapping(key).items()}

    def bool_or_schema(self, key: str) -> bool | Node:
        value = self.take(key)
        return value if isinstance(value, bool) else self.at(value, key)

    def text(self, key: str) -> str:
        value = self.take(key)
        if not isinstance(value, str):
            self.refuse(key, "not text")
        return value

    def text_or_none(self, key: str) -> str | None:
        return self.text(key) if key in self.source else None

    def flag(self, key: str) -> bool:
        value = self.take(key)
        if not isinstance(value, bool):
            self.refuse(key, "not a boolean")
        return value

    def integer(self, key: str) -> int | Decimal:
        value = self.take(key)
        # Up to draft 7 Confluent's reader takes 2e0, not 2.0, and nothing beyond 32 bits.
        exact = not isinstance(value, Decimal) or value.as_tuple().exponent == 0 or self.draft == 2020
        if not _is_integral(value) or not exact:
            self.refuse(key, "not an integer")
        if self.draft != 2020 and not -(1 << 31) <= value < 1 << 31:
            self.refuse(key, "not an integer of 32 bits")
        # What is written with an exponent stays so: as an int it may have a billion digits.
        return value

    def lengths(self, rules: dict[str, Any], *keys: str) -> None:
        for key in keys:
            if key in self.left:
                value = self.source[key]
                if self.draft == 2020 and isinstance(value, Decimal) and not _is_integral(value):
                    # The reader of the newer drafts cuts fractions off.
                    self.left.discard(key)
                    rules[key] = int(value)
                else:
                    rules[key] = self.integer(key)

    def refuse(self, step: str, reason: str) -> NoReturn:
        _refuse(f"{self.path}/{step}", reason)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, Decimal)) and not isinstance(value, bool)


def _is_integral(value: Any) -> bool:
    return value == value.to_integral_value() if isinstance(value, Decimal) else is_whole(value)


def _is_zero(value: int | Decimal) -> bool:
    """Return whether a number is zero as a double."""
    return value == 0 or (isinstance(value, Decimal) and float(value) == 0)


def _refuse(path: str, reason: str) -> NoReturn:
    raise SchemaError(f"{path}: {reason}")
