"""The references of a schema, followed to all the schemas that it needs."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from kcodec.errors import RegistryError, SchemaError, check_kind
from kcodec.formats.language import NamedText
from kcodec.registry.base import (
    DEFAULT_CONTEXT,
    Reference,
    RegisteredSchema,
    Schema,
    context_of,
    invalid,
    qualified,
)

__all__ = [
    "MAX_REFERENCED",
    "MAX_REFERENCES",
    "MAX_REFERENCE_DEPTH",
    "Resolved",
    "named_texts",
    "needed_subjects",
    "resolve",
]

#: Schemas that one schema may need.
MAX_REFERENCES = 1000

#: References that may lie between a schema and one it needs.
MAX_REFERENCE_DEPTH = 100

#: Characters of all the schemas that one schema needs.
MAX_REFERENCED = 16 << 20


class Resolved(NamedTuple):
    """A reference, and the schema that it leads to.

    Attributes
    ----------
    reference : Reference
        As the referring schema has it.
    schema : Schema
        The schema it names.

    Examples
    --------
    >>> from kcodec.registry import open
    >>> registry = open("memory://resolved")
    >>> item = '{"type": "record", "name": "Item", "fields": []}'
    >>> registry.register("items", Schema(item)).version
    1
    >>> [found] = resolve(registry, Schema('["null", "Item"]', references=(Reference("Item", "items", 1),)))
    >>> found.reference.subject, found.schema.text
    ('items', '{"type":"record","name":"Item","fields":[]}')
    """

    reference: Reference
    schema: Schema


class VersionLookup(Protocol):
    """Where versions are looked up: a registry."""

    def get_version(self, subject: str, version: int, *, deleted: bool = False) -> RegisteredSchema:
        """Find a version of a subject."""


def resolve(registry: VersionLookup, schema: Schema, context: str = DEFAULT_CONTEXT) -> list[Resolved]:
    """Fetch every schema that a schema refers to, directly or through others.

    Depth first, a name once, softly deleted versions too, subjects in the context of the schema that names them, as
    ``AbstractSchemaProvider.java`` of the Schema Registry's client does.

    Parameters
    ----------
    registry : SchemaRegistry
        Where the references are registered.
    schema : Schema
        The schema.
    context : str
        Where it is registered itself.

    Returns
    -------
    list of Resolved
        Deepest first: each stands after all that it refers to itself.

    Raises
    ------
    SchemaError
        If references form a circle, or go beyond `MAX_REFERENCES`, `MAX_REFERENCE_DEPTH` or `MAX_REFERENCED`.
    RegistryError
        If one does not exist.

    Examples
    --------
    >>> from kcodec.registry import open
    >>> registry = open("memory://resolve")
    >>> types = {"a": '{"type": "record", "name": "A", "fields": []}', "b": '["null", "A"]'}
    >>> registry.register("a", Schema(types["a"])).version
    1
    >>> registry.register("b", Schema(types["b"], references=(Reference("A", "a", 1),))).version
    1
    >>> schema = Schema('{"type": "array", "items": "A"}', references=(Reference("B", "b", 1),))
    >>> [each.reference.name for each in resolve(registry, schema)]
    ['A', 'B']
    """
    found: dict[str, Resolved] = {}
    path: list[tuple[str, int]] = []
    size = 0

    def visit(references: tuple[Reference, ...], context: str) -> None:
        nonlocal size
        for reference in references:
            subject = qualified(reference.subject, context)
            place = (subject, reference.version)
            if place in path:
                raise SchemaError(f"references form a circle: {reference}")
            if reference.name in found:
                continue
            if len(path) >= MAX_REFERENCE_DEPTH:
                raise SchemaError(f"references are nested deeper than {MAX_REFERENCE_DEPTH}")
            target = registry.get_version(subject, reference.version, deleted=True).schema
            size += len(target.text)
            if size > MAX_REFERENCED:
                raise SchemaError(
                    f"the schemas that the schema needs have more than {MAX_REFERENCED} characters"
                )
            path.append(place)
            visit(target.references, context_of(subject))
            path.pop()
            found[reference.name] = Resolved(reference, target)
            if len(found) > MAX_REFERENCES:
                raise SchemaError(f"the schema needs more than {MAX_REFERENCES} others")

    check_kind(Schema, "a kcodec.registry.Schema", schema=schema)
    visit(schema.references, context)
    return list(found.values())


def needed_subjects(registry: VersionLookup, schema: Schema, context: str = DEFAULT_CONTEXT) -> Iterator[str]:
    """Yield the subjects that a schema refers to, directly or through others, each before it is asked for.

    The names are whole, and come as often as there are versions of a subject that are needed; what is not registered is
    passed over. `context` is where the schema is registered itself. More than `MAX_REFERENCES` are refused (42201).

    >>> from kcodec.registry import open
    >>> registry = open("memory://needed")
    >>> schema = Schema('"A"', references=(Reference("A", "a", 1),))
    >>> list(needed_subjects(registry, schema, ".lab"))
    [':.lab:a']
    """
    waiting = [(each, context) for each in schema.references]
    seen: set[tuple[str, int]] = set()
    while waiting:
        reference, context = waiting.pop()
        place = (qualified(reference.subject, context), reference.version)
        if place in seen:
            continue
        seen.add(place)
        if len(seen) > MAX_REFERENCES:
            invalid(f"Invalid schema: the schema needs more than {MAX_REFERENCES} others")
        yield place[0]
        try:
            found = registry.get_version(*place, deleted=True)
        except RegistryError:
            continue
        waiting += [(each, context_of(place[0])) for each in found.schema.references]


def named_texts(
    registry: VersionLookup, schema: Schema, context: str = DEFAULT_CONTEXT
) -> tuple[NamedText, ...]:
    """Return the texts of all the schemas that a schema needs, as its schema format takes them; see `resolve`."""
    places = {each.name: (each.subject, each.version) for each in schema.references}
    return tuple(
        NamedText(each.reference.name, each.schema.text, places.get(each.reference.name))
        for each in resolve(registry, schema, context)
    )
