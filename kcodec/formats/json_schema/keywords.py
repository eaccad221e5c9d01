"""The keywords of JSON Schema, as the two validators that Confluent's registry reads schemas with know them."""

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

#: What the reader of the newer drafts comes upon last, in this order.
LAST_2020 = ("properties", "patternProperties", "unevaluatedItems", "unevaluatedProperties")

CONTAINED = ("minContains", "maxContains")
FORGOTTEN = ("unevaluated", *CONTAINED)
