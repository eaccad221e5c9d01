"""JSON Schemas as Connect's ``JsonSchemaData`` has them: the types of documents, references followed."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import unquote

from kcodec.errors import SchemaError
from kcodec.formats.json_schema.document import write_document

__all__ = ["JsonSource"]

_CONNECT = "org.apache.kafka.connect.data"

#: References that lead to references.
_MAX_REFERENCES = 100


class JsonSource:
    """A type of JSON Schema as Connect's ``JsonSchemaData`` has it; see `kcodec.formats.ksql.source.Source`."""

    def __init__(
        self, node: Any, root: Any, named: Mapping[str, Any], optional: bool = False, depth: int = 0
    ) -> None:
        if depth > _MAX_REFERENCES:
            raise SchemaError("references of the schema go in circles")
        self.named = named
        self.optional = optional
        self.node, self.root = self._followed(node, root)
        self._take_null(depth)

    def _followed(self, node: Any, root: Any) -> tuple[Any, Any]:
        """Follow references."""
        for _ in range(_MAX_REFERENCES):
            if not isinstance(node, Mapping) or not isinstance(node.get("$ref"), str):
                return node, root
            name, _, pointer = node["$ref"].partition("#")
            if name:
                found = self.named.get(name)
                if found is None:
                    raise SchemaError(f"the reference {name} is not registered with the schema")
                root = found
            node = _pointed(root, unquote(pointer), node["$ref"])
        raise SchemaError("references of the schema go in circles")

    def _take_null(self, depth: int) -> None:
        """Take the other one of two types of which one is null."""
        node = self.node
        if not isinstance(node, Mapping):
            return
        for keyword in ("oneOf", "anyOf"):
            members = node.get(keyword)
            if isinstance(members, list):
                others = [each for each in members if not _is_null(each)]
                if len(others) == 1 and len(members) <= 2:
                    optional = self.optional or len(members) == 2
                    inner = JsonSource(others[0], self.root, self.named, optional, depth + 1)
                    self.node, self.root, self.optional = inner.node, inner.root, inner.optional
                return
        kinds = node.get("type")
        if isinstance(kinds, list):
            others = [kind for kind in kinds if kind != "null"]
            if len(others) == 1:
                self.optional = self.optional or len(others) < len(kinds)
                self.node = {**node, "type": others[0]}

    @property
    def _kind(self) -> str:
        node = self.node
        if not isinstance(node, Mapping):
            return ""
        if "enum" in node or "const" in node:
            return "string" if "type" not in node or node["type"] == "string" else str(node["type"])
        kind = node.get("type")
        if isinstance(kind, str):
            return kind
        if "properties" in node:
            return "object"
        return "array" if "items" in node else ""

    @property
    def _connect_type(self) -> str | None:
        kind = self.node.get("connect.type")
        return kind if isinstance(kind, str) else None

    @property
    def type(self) -> str:
        """Connect's name of the type."""
        kind = self._kind
        if kind in ("integer", "number"):
            return _NUMBERS.get(self._connect_type or "", "int64" if kind == "integer" else "float64")
        if kind == "string":
            return "bytes" if self._connect_type == "bytes" else "string"
        if kind == "array":
            return "map" if self.is_entries else "array"
        if kind == "object":
            return "map" if self._connect_type == "map" else "struct"
        return "boolean" if kind == "boolean" else ""

    @property
    def is_entries(self) -> bool:
        """Whether it is a map that stands as a list of its entries."""
        if self._kind != "array" or self._connect_type != "map":
            return False
        below = JsonSource(self.node.get("items"), self.root, self.named)
        return below._kind == "object"

    @property
    def logical(self) -> str:
        """Connect's name of the logical type."""
        title = self.node.get("title")
        name = title.removeprefix(f"{_CONNECT}.") if isinstance(title, str) else ""
        wanted = {"Decimal": "bytes", "Date": "int32", "Time": "int32", "Timestamp": "int64"}.get(name)
        return name if wanted is not None and wanted == self.type else ""

    def _parameter(self, name: str) -> int:
        parameters = self.node.get("connect.parameters")
        try:
            return int(parameters[name]) if isinstance(parameters, Mapping) else 0
        except (KeyError, TypeError, ValueError):
            return 0

    @property
    def precision(self) -> int:
        """Digits of a Decimal, 0 where the schema has none."""
        return self._parameter("connect.decimal.precision")

    @property
    def scale(self) -> int:
        """Digits of a Decimal behind the point."""
        return self._parameter("scale")

    @property
    def default(self) -> bytes:
        """The JSON of what stands for null, if it is a value of a simple type."""
        value, kind = self.node.get("default"), self.type
        fits = isinstance(value, _DEFAULTS.get(kind, ())) and isinstance(value, bool) == (kind == "boolean")
        return write_document(value).encode() if fits else b""

    def _inner(self, node: Any) -> "JsonSource":
        return JsonSource(node, self.root, self.named)

    @property
    def fields(self) -> list[tuple[str, "JsonSource"]]:
        """The properties, by their indexes where they have some."""
        properties = self.node.get("properties")
        ordered: dict[int, tuple[str, Any]] = {}
        for name, node in properties.items() if isinstance(properties, Mapping) else ():
            index = node.get("connect.index") if isinstance(node, Mapping) else None
            known = isinstance(index, int) and not isinstance(index, bool)
            ordered[index if known else len(ordered)] = (name, node)  # type: ignore[index]
        return [(name, self._inner(node)) for _, (name, node) in sorted(ordered.items())]

    @property
    def key(self) -> "JsonSource":
        """The keys of a map."""
        if self.is_entries:
            return self._entry("key")
        return self._inner({"type": "string"})

    @property
    def item(self) -> "JsonSource":
        """The items of an array, the values of a map."""
        if self.is_entries:
            return self._entry("value")
        return self._inner(self.node.get("items" if self.type == "array" else "additionalProperties"))

    def _entry(self, name: str) -> "JsonSource":
        entry = self._inner(self.node["items"])
        properties = entry.node.get("properties")
        return entry._inner(properties.get(name) if isinstance(properties, Mapping) else None)


#: Of what type the default of each type is.
_DEFAULTS: dict[str, tuple[type, ...]] = {
    "boolean": (bool,),
    "string": (str,),
    "bytes": (str, int, Decimal),
    **dict.fromkeys(("int8", "int16", "int32", "int64"), (int,)),
    **dict.fromkeys(("float32", "float64"), (int, Decimal)),
}
_NUMBERS = {name: name for name in ("int8", "int16", "int32", "int64", "float32", "float64", "bytes")}


def _is_null(node: Any) -> bool:
    return isinstance(node, Mapping) and node.get("type") == "null"


def _pointed(root: Any, pointer: str, reference: str) -> Any:
    node = root
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping) and key in node:
            node = node[key]
        elif isinstance(node, list) and key.isdecimal() and int(key) < len(node):
            node = node[int(key)]
        else:
            raise SchemaError(f"the reference {reference} leads nowhere")
    return node
