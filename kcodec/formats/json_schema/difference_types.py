"""The types of differences between two JSON Schemas: which of them break readers, and what they say."""

_BOUNDS = ("LENGTH", "ITEMS", "PROPERTIES", "CONTAINS")

#: Types of differences by which a new schema refuses what the old one accepts.
BREAKING = frozenset(
    [
        "ADDITIONAL_ITEMS_NARROWED",
        "ADDITIONAL_ITEMS_REMOVED",
        "ADDITIONAL_PROPERTIES_NARROWED",
        "ADDITIONAL_PROPERTIES_REMOVED",
        "COMBINED_TYPE_CHANGED",
        "COMBINED_TYPE_SUBSCHEMAS_CHANGED",
        "DEPENDENCY_ARRAY_ADDED",
        "DEPENDENCY_ARRAY_CHANGED",
        "DEPENDENCY_ARRAY_EXTENDED",
        "DEPENDENCY_SCHEMA_ADDED",
        "ENUM_ARRAY_CHANGED",
        "ENUM_ARRAY_NARROWED",
        "EXCLUSIVE_MAXIMUM_ADDED",
        "EXCLUSIVE_MAXIMUM_DECREASED",
        "EXCLUSIVE_MINIMUM_ADDED",
        "EXCLUSIVE_MINIMUM_INCREASED",
        "ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        "ITEM_ADDED_TO_OPEN_CONTENT_MODEL",
        "ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL",
        "ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        "MAXIMUM_ADDED",
        "MAXIMUM_DECREASED",
        "MINIMUM_ADDED",
        "MINIMUM_INCREASED",
        *(f"MAX_{each}_{what}" for each in _BOUNDS for what in ("ADDED", "DECREASED")),
        *(f"MIN_{each}_{what}" for each in _BOUNDS for what in ("ADDED", "INCREASED")),
        "MULTIPLE_OF_ADDED",
        "MULTIPLE_OF_CHANGED",
        "MULTIPLE_OF_EXPANDED",
        "NOT_TYPE_EXTENDED",
        "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
        "PATTERN_ADDED",
        "PATTERN_CHANGED",
        "PRODUCT_TYPE_EXTENDED",
        "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL",
        "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        "REQUIRED_ATTRIBUTE_ADDED",
        "REQUIRED_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
        "REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL",
        "REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL",
        "RESERVED_PROPERTY_CONFLICTS_WITH_PROPERTY",
        "RESERVED_PROPERTY_REMOVED",
        "SCHEMA_ADDED",
        "SUM_TYPE_NARROWED",
        "TYPE_CHANGED",
        "TYPE_NARROWED",
        "UNEVALUATED_ITEMS_NARROWED",
        "UNEVALUATED_ITEMS_REMOVED",
        "UNEVALUATED_PROPERTIES_NARROWED",
        "UNEVALUATED_PROPERTIES_REMOVED",
        "UNIQUE_ITEMS_ADDED",
    ]
)

#: Those of them that the policy LENIENT lets pass.
LENIENT = frozenset(
    [
        "ADDITIONAL_PROPERTIES_NARROWED",
        "ADDITIONAL_PROPERTIES_REMOVED",
        "UNEVALUATED_PROPERTIES_NARROWED",
        "UNEVALUATED_PROPERTIES_REMOVED",
        "REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL",
        "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
        "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL",
        "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
    ]
)


def describe(kind: str, path: str, reader: str, writer: str) -> str:
    """Return what a breaking difference means in the server's words, with what the two schemas are called."""
    if kind in _SENTENCES:
        return _SENTENCES[kind].format(path=path, reader=reader, writer=writer)
    stem, _, what = kind.rpartition("_")
    if stem.startswith("TYPE") or kind in _TYPES_CHANGED:
        sentence = "A type at path '{path}' is different between the {reader} schema and the {writer} schema"
    elif what == "NARROWED":
        sentence = (
            "An array or combined type at path '{path}' has fewer elements in the {reader} schema than the "
            "{writer} schema"
        )
    elif what == "EXTENDED":
        sentence = (
            "An array or combined type at path '{path}' has more elements in the {reader} schema than the "
            "{writer} schema"
        )
    elif what in ("INCREASED", "EXPANDED"):
        sentence = (
            "The value at path '{path}' in the {reader} schema is more than its value in the {writer} schema"
        )
    elif what in ("DECREASED", "REDUCED"):
        sentence = (
            "The value at path '{path}' in the {reader} schema is less than its value in the {writer} schema"
        )
    elif what == "CHANGED":
        sentence = "The value at path '{path}' is different between the {reader} and {writer} schema"
    else:
        sentence = "The keyword at path '{path}' in the {reader} schema is not present in the {writer} schema"
    return sentence.format(path=path, reader=reader, writer=writer)


_TYPES_CHANGED = ("COMBINED_TYPE_CHANGED", "COMBINED_TYPE_SUBSCHEMAS_CHANGED", "ENUM_ARRAY_CHANGED")

_OPEN = (
    "The {reader} schema has an open content model and has a property or item at path '{path}' which is missing "
    "in the {writer} schema"
)
_CLOSED = (
    "The {reader} has a closed content model and is missing a property or item present at path '{path}' in the "
    "{writer} schema"
)
_REMOVED = (
    "A property or item is missing in the {reader} schema but present at path '{path}' in the {writer} schema and is "
    "not covered by its partially open content model"
)
_ADDED = (
    "The {reader} schema has a property or item at path '{path}' which is missing in the {writer} schema and is not "
    "covered by its partially open content model"
)
_SENTENCES = {
    "ITEM_ADDED_TO_OPEN_CONTENT_MODEL": _OPEN,
    "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL": _OPEN,
    "REQUIRED_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL": _OPEN,
    "REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL": _OPEN,
    "REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL": "The {reader} schema has an unopen content model and has a "
    "required property at path '{path}' which is missing in the {writer} schema",
    "ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL": _CLOSED,
    "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL": _CLOSED,
    "ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL": _REMOVED,
    "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL": _REMOVED,
    "ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL": _ADDED,
    "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL": _ADDED,
}
