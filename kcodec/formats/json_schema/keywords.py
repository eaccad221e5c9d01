"""The keywords of JSON Schema, as the two validators that Confluent's registry reads schemas with know them."""

from typing import Any

TYPES = ("string", "number", "integer", "boolean", "null", "array", "object")

STRING = ("minLength", "maxLength", "pattern", "format")
NUMBER = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
ARRAY = ("items", "additionalItems", "minItems", "maxItems", "uniqueItems")
OBJECT = (
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "dependencies",
    "patternProperties",
    "additionalProperties",
)
#: The same in the newer drafts.
ARRAY_2020 = {"contains", "prefixItems", "unevaluatedItems", *ARRAY} - {"additionalItems"}
OBJECT_2020 = {
    "dependentRequired",
    "dependentSchemas",
    "propertyNames",
    "unevaluatedProperties",
    *OBJECT,
} - {"dependencies"}

COMBINED = ("allOf", "anyOf", "oneOf")
#: What schemas of a draft say of themselves by true or false.
FLAGS = {7: ("readOnly", "writeOnly"), 2020: ("readOnly", "writeOnly", "deprecated")}
CONDITIONAL = ("if", "then", "else")

#: What the reader of the newer drafts knows; another keyword beside them makes it forget those of `FORGOTTEN`.
KNOWN_2020 = frozenset(
    [
        *STRING,
        *NUMBER,
        *COMBINED,
        *CONDITIONAL,
        "$schema",
        "$id",
        "$ref",
        "$dynamicRef",
        "$anchor",
        "$dynamicAnchor",
        "type",
        "enum",
        "const",
        "not",
        "items",
        "prefixItems",
        "minItems",
        "maxItems",
        "uniqueItems",
        "contains",
        "minContains",
        "maxContains",
        "unevaluatedItems",
        "properties",
        "required",
        "minProperties",
        "maxProperties",
        "dependentRequired",
        "dependentSchemas",
        "patternProperties",
        "additionalProperties",
        "propertyNames",
        "unevaluatedProperties",
        "title",
        "description",
        "default",
        "readOnly",
        "writeOnly",
        "deprecated",
    ]
)

#: Whose part of a schema a keyword is, for that reader: that of a type, or its own; others make no part.
OWNERS_2020 = {
    **dict.fromkeys(["minLength", "maxLength", "pattern"], "string"),
    **dict.fromkeys(NUMBER, "number"),
    **dict.fromkeys(ARRAY_2020, "array"),
    **dict.fromkeys(OBJECT_2020, "object"),
    **{key: key for key in ("type", "enum", "const", "not", "if", "$ref", *COMBINED)},
}

#: What that reader comes upon and makes nothing of.
SEEN_2020 = frozenset(["format", "readOnly", "writeOnly"])

#: What the reader of the newer drafts comes upon last, in this order.
LAST_2020 = ("properties", "patternProperties", "unevaluatedItems", "unevaluatedProperties")

CONTAINED = ("minContains", "maxContains")
FORGOTTEN = ("unevaluated", *CONTAINED)

#: What that reader keeps nothing of.
UNSAID = frozenset(["$schema", "format", "readOnly", "writeOnly", "deprecated"])


def said_names(source: Any, kind: str, criterion: str, *, alone: bool) -> set[str] | None:
    """Return the keywords of a schema that one of its parts consists of, for that reader; None if these do not tell.

    The criterion is that of a combined schema; `alone` says that there is no other part.
    """
    if isinstance(source, bool):
        return set()
    if alone:
        names = source.keys() - UNSAID
        return names - {"default"} if source.get("default") is None else names
    if kind == "combined":
        # A list of types is one too.
        return {criterion} if criterion in source and not isinstance(source.get("type"), list) else None
    if kind == "reference":
        return {"$ref"}
    if kind == "conditional":
        return source.keys() & set(CONDITIONAL)
    names = {key for key in source if OWNERS_2020.get(key) == kind}
    type_name = source.get("type")
    if type_name == kind or (type_name == "integer" and kind == "number"):
        names.add("type")
    return names | (source.keys() & set(CONTAINED) if kind == "array" else set())
