"""JSON Schemas in Connect's types, as its ``JsonSchemaData`` has them: references are followed, members combined."""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from typing import Any

from kcodec.errors import SchemaError, is_whole
from kcodec.formats.connect.model import BITS, LOGICAL, ConnectType
from kcodec.formats.json_schema.connect_keywords import connect_parameters, connect_type
from kcodec.formats.json_schema.references import Documents, Resource
from kcodec.java.hashing import hash_order
from kcodec.java.jackson import write_tree
from kcodec.java.numbers import format_java_double, format_java_float, round_to_double, round_to_float

#: What Connect calls the members of a union, by their numbers.
_MEMBER = "io.confluent.connect.json.OneOf.field."

#: References that lead to references, combinations within combinations.
_MAX_REFERENCES = 100

#: Schemas that one place is combined of.
_MAX_PARTS = 1000

#: A schema, and the document that it stands in.
_Place = tuple[Any, Resource]


class JsonSchemaAsConnect(ConnectType):
    """A type of JSON Schema as Connect's ``JsonSchemaData`` has it.

    Its default is known as JSON: what stands for null, empty where that is none of a simple type.
    """

    optional = False

    def __init__(
        self,
        node: Any,
        resource: Resource,
        documents: Documents,
        optional: bool = False,
        parts: list[int] | None = None,
        depth: int = 0,
    ) -> None:
        #: Of how many schemas the type of this place was found.
        self._parts = [0] if parts is None else parts
        self._parts[0] += 1
        self._depth = depth
        if self._parts[0] > _MAX_PARTS or depth > _MAX_REFERENCES:
            raise SchemaError("references of the schema go in circles, or there are too many for one value")
        self._documents = documents
        self.optional = optional
        self._choices: list[Any] | None = None
        self._is_choice = False
        self._properties: dict[str, _Place] | None = None
        node, self._resource = self._followed(node, resource)
        #: Empty where anything may stand, or nothing.
        self.node: Mapping[str, Any] = node if isinstance(node, Mapping) else {}
        self._combine(self.node)

    def _followed(self, node: Any, resource: Resource) -> tuple[Any, Resource]:
        for _ in range(_MAX_REFERENCES):
            resource = self._documents.home(node, resource)
            if not isinstance(node, Mapping) or not isinstance(node.get("$ref"), str):
                return node, resource
            target = self._documents.find(resource, node["$ref"], "#")
            if target.resource is None:
                return {}, resource
            node, resource = target.part("#", node["$ref"]), target.resource
        raise SchemaError("references of the schema go in circles")

    def _at(self, node: Any, optional: bool) -> "JsonSchemaAsConnect":
        """Return what stands in the place of this one."""
        return JsonSchemaAsConnect(
            node, self._resource, self._documents, optional, self._parts, self._depth + 1
        )

    def _below(self, node: Any) -> "JsonSchemaAsConnect":
        """Return what stands below this one."""
        return JsonSchemaAsConnect(node, self._resource, self._documents)

    def _combine(self, node: Mapping[str, Any]) -> None:
        """Combine types: one beside null is optional, several are a struct of members, `allOf` is one type."""
        choices = [node[key] for key in ("anyOf", "oneOf") if isinstance(node.get(key), list)]
        together = node.get("allOf")
        if not choices and together is None and isinstance(node.get("type"), list):
            # What is said for Connect is said of all types together, which is none.
            own = {key: each for key, each in node.items() if not _is_of_all(key)}
            self._choose([{**own, "type": kind} for kind in node["type"]])
            return
        if isinstance(together, list) or (choices and "properties" in node):
            beside = self._at(
                {key: each for key, each in node.items() if key not in _COMBINED}, self.optional
            )
            members = together if isinstance(together, list) else []
            parts = [self._at(each, self.optional) for each in members]
            if len(parts) == 1 and not choices and not beside._kind:
                # What one member alone is in is that, without a null around it.
                self.__dict__.update(self._at(members[0], False).__dict__)
                return
            # The last ones count, in the places of the first ones; own ones are last, those of choices are none.
            found: dict[str, _Place] = {}
            for part in (*parts, beside):
                found |= {} if part._is_choice else part._places(indexed=False)
            if found:
                self._properties = found
            else:
                self._narrow(node, parts)
        elif choices:
            self._choose(choices[-1])

    def _places(self, indexed: bool = True) -> "dict[str, _Place]":
        """Return the properties with the documents that they stand in, in Connect's order.

        It is that of the indexes, and of those without one that of the hash table which Connect finds them in. Where
        schemas are combined, indexes do not count.
        """
        if self._properties is not None:
            return self._properties
        if self._choices is not None:
            return {}
        properties = self.node.get("properties")
        if not isinstance(properties, Mapping):
            return {}
        ordered: dict[int, tuple[str, Any]] = {}
        for name in hash_order((), properties):
            node = properties[name]
            index = node.get("connect.index") if indexed and isinstance(node, Mapping) else None
            ordered[index if is_whole(index) else len(ordered)] = (name, node)
        return {name: (node, self._resource) for _, (name, node) in sorted(ordered.items())}

    def _choose(self, members: Sequence[Any]) -> None:
        others = [each for each in members if not _is_null(each)]
        optional = self.optional or len(others) < len(members)
        if len(members) <= 2 and len(others) == 1:
            # What one member alone is in may not be null.
            self.__dict__.update(self._at(others[0], optional and len(members) == 2).__dict__)
            self._is_choice = True
        else:
            self.optional = optional
            self._choices = others

    def _narrow(self, node: Mapping[str, Any], parts: "Sequence[JsonSchemaAsConnect]") -> None:
        """Return the type of anything but an object: a combination, a number or text."""
        plain = self._at({key: value for key, value in node.items() if key != "allOf"}, self.optional)
        found = [
            part for part in (plain, *parts) if part._choices is not None or part.optional > self.optional
        ]
        # What names its type counts for more than what has keywords of one.
        named = sorted((plain, *parts), key=lambda part: not part._names_type)
        found += [part for kinds in _NARROW for part in named if part._kind in kinds]
        if found:
            self.__dict__.update(found[0].__dict__)
        else:
            self.node = {}

    @property
    def is_union(self) -> bool:
        """Whether it is one of several types."""
        return self._choices is not None

    @property
    def members(self) -> "list[JsonSchemaAsConnect]":
        """The types of a union."""
        return [
            JsonSchemaAsConnect(each, self._resource, self._documents, optional=True)
            for each in self._choices or ()
        ]

    @property
    def _kind(self) -> str:
        node = self.node
        if self._choices is not None:
            return ""
        if self._properties is not None:
            return "object"
        kind = node.get("type")
        if not isinstance(kind, str):
            kind = next((kind for kind, words in _KEYWORDS.items() if not words.isdisjoint(node)), "")
        return kind or ("string" if "enum" in node or "const" in node else "")

    @property
    def _names_type(self) -> bool:
        return "type" in self.node

    @property
    def _connect_type(self) -> str | None:
        return connect_type(self.node)

    @cached_property
    def type(self) -> str:
        """Connect's name of the type."""
        if self._choices is not None:
            return "struct" if self._choices else ""
        kind = self._kind
        if kind in ("integer", "number"):
            named = self._connect_type
            return named if named in _NUMBERS else "int64" if kind == "integer" else "double"
        if kind == "string":
            return "bytes" if self._connect_type == "bytes" else "string"
        if kind == "array":
            return "map" if self.is_entries else "array"
        if kind == "object":
            return "map" if self._connect_type == "map" else "struct"
        return "boolean" if kind == "boolean" else ""

    def chooser(self) -> Callable[[Any], int | None]:
        """Return what finds the number of the member of a union that a value of JSON is read as; None if of none."""
        members = [(_MATCHES.get(each.type), _Names(each)) for each in self.members]

        def choose(value: Any) -> int | None:
            best, most = None, -1
            for number, (matches, names) in enumerate(members):
                if matches is not None:
                    if matches(value):
                        return number
                elif isinstance(value, dict) and (count := names.count(value)) > most:
                    best, most = number, count
            return best

        return choose

    @property
    def is_plain_union(self) -> bool:
        """Whether the first byte of a value tells which member of a union it is."""
        found: list[str] = []
        for each in self.members:
            # Maps take what would be an array, and fail; members of members are told by their properties.
            kinds = ("array", "object") if each.type == "map" else (_KINDS.get(each.type, "object"),)
            found += kinds if each._choices is None else ("",)
        return bool(found) and "" not in found and len(set(found)) == len(found)

    @property
    def is_entries(self) -> bool:
        """Whether it is a map that its schema says to be a list of entries."""
        if self._kind != "array" or self._connect_type != "map":
            return False
        return self._below(self.node.get("items"))._kind == "object"

    @cached_property
    def has_entries(self) -> bool:
        """Whether documents have such a list; with keys of text that may not be null, Connect has an object."""
        return self.is_entries and (self.parts[0].type != "string" or self.parts[0].optional)

    @cached_property
    def name(self) -> str | None:
        """The name that makes it a logical type."""
        title = self.node.get("title") if self.type in LOGICAL.values() else None
        return title if isinstance(title, str) and LOGICAL.get(title) == self.type else None

    @cached_property
    def parameters(self) -> Mapping[str, str]:
        """What stands in ``connect.parameters``."""
        return connect_parameters(self.node)

    @cached_property
    def default(self) -> bytes:
        """The JSON of what stands for null, if it is a value of a simple type."""
        value, kind = self.node.get("default"), self.type
        fits = isinstance(value, _DEFAULTS.get(kind, ())) and isinstance(value, bool) == (kind == "boolean")
        return write_tree(value).encode() if fits else b""

    @property
    def written_default(self) -> bytes:
        """The default as Jackson writes it."""
        if self.type in ("float", "double") and self.default:
            number = self.node["default"]
            single = self.type == "float"
            made = (
                format_java_float(round_to_float(number))
                if single
                else format_java_double(round_to_double(number))
            )
            return made.encode()
        return self.default

    @cached_property
    def fields(self) -> "Mapping[str, JsonSchemaAsConnect]":
        """The properties, by their indexes where they have some; or the members of a union."""
        if self.is_union:
            return {f"{_MEMBER}{number}": each for number, each in enumerate(self.members)}
        return {
            name: JsonSchemaAsConnect(node, resource, self._documents)
            for name, (node, resource) in self._places().items()
        }

    @cached_property
    def parts(self) -> "tuple[JsonSchemaAsConnect, ...]":
        """The items of an array; the keys and the values of a map."""
        if self.is_entries:
            return self._entry("key"), self._entry("value")
        if self.type == "array":
            return (self._below(self.node.get("items")),)
        return self._below({"type": "string"}), self._below(self.node.get("additionalProperties"))

    def _entry(self, name: str) -> "JsonSchemaAsConnect":
        entry = self._below(self.node["items"])
        properties = entry.node.get("properties")
        return entry._below(properties.get(name) if isinstance(properties, Mapping) else None)


class _Names:
    """The properties of a struct, those of the structs below it too once they are asked for."""

    def __init__(self, source: JsonSchemaAsConnect) -> None:
        try:
            self._fields = source.fields if source.type == "struct" else {}
        except SchemaError:
            # What is below a member may go in circles where no column reads it.
            self._fields = {}
        self._below: dict[str, _Names] = {}

    def _of(self, name: str) -> "_Names":
        if name not in self._below:
            self._below[name] = _Names(self._fields[name])
        return self._below[name]

    def count(self, value: Mapping[str, Any]) -> int:
        """Return how many properties of an object are known, those of objects below known ones counted too."""
        count = 0
        waiting = [(self, value)]
        while waiting:
            names, node = waiting.pop()
            common = node.keys() & names._fields
            count += len(common)
            waiting += [(names._of(name), node[name]) for name in common if isinstance(node[name], dict)]
        return count


#: Keywords that combine schemas.
_COMBINED = ("allOf", "anyOf", "oneOf")

#: Of what type the default of each type is.
_DEFAULTS: dict[str, tuple[type, ...]] = {
    "boolean": (bool,),
    "string": (str,),
    "bytes": (str, int, Decimal),
    **dict.fromkeys(BITS, (int,)),
    **dict.fromkeys(("float", "double"), (int, Decimal)),
}
#: The types of combined schemas, in the order in which one of them is taken.
_NARROW = (("number", "integer"), ("string",))
#: Keywords that stand for a type where there is none.
_KEYWORDS = {
    "object": frozenset(
        ("properties", "required", "minProperties", "maxProperties", "dependencies", "patternProperties",
         "additionalProperties", "propertyNames")
    ),
    "array": frozenset(("items",)),
    "number": frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")),
    "string": frozenset(("minLength", "maxLength", "pattern", "format")),
}  # fmt: skip
#: What numbers may be.
_NUMBERS = (*BITS, "float", "double", "bytes")


def _is_of_all(key: str) -> bool:
    return key in ("default", "title") or key.startswith("connect.")


def _is_null(node: Any) -> bool:
    return isinstance(node, Mapping) and node.get("type") == "null"


#: Which values are those of a type, of the members of a union; structs are told by their properties.
_MATCHES: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(BITS, is_whole),
    **dict.fromkeys(
        ("float", "double"), lambda value: isinstance(value, (float, Decimal)) or is_whole(value)
    ),
    "boolean": lambda value: isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    # Text is not bytes, and a number that has no fraction is no Decimal.
    "bytes": lambda value: isinstance(value, Decimal),
    "array": lambda value: isinstance(value, list),
    "map": lambda value: isinstance(value, (dict, list)),
    "": lambda value: False,
}
_KINDS = {
    **dict.fromkeys((*BITS, "float", "double"), "number"),
    **{name: name for name in ("boolean", "string", "array")},
    "bytes": "",
    "": "",
}
