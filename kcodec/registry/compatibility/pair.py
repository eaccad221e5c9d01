"""Two schemas, compared without a registry that has either."""

from typing import Any

from kcodec.errors import ConfigError, check_choice
from kcodec.formats.language import Difference, NamedText, SchemaLanguage
from kcodec.formats.schema_format import schema_format
from kcodec.registry.base import Schema, SchemaRegistry
from kcodec.registry.references import named_texts


def differences(
    old: Schema, new: Schema, *, policy: str = "STRICT", registry: SchemaRegistry | None = None
) -> list[Difference]:
    """Return what a reader with a new schema cannot read, or converts, of what was written with an old one.

    So a list with nothing but logical types, which no schema registry looks at, means that the new one is backward
    compatible by the rules that a registry has for its levels: not that each value is read as it was written, which
    `losses` tells. The other way round, with both in the other order, it is forward compatible.

    Parameters
    ----------
    old, new : Schema
        Two schemas of one type.
    policy : str
        ``"LENIENT"``: of JSON Schemas, differences that only closed content models bring pass.
    registry : SchemaRegistry, optional
        Where the schemas that these refer to are registered.

    Returns
    -------
    list of Difference
        Type, path and message of each, under the names that the language's reference implementation has: Avro Java's
        ``SchemaCompatibility``, or the Schema Registry's for JSON Schema and Protobuf. Behind them logical types that
        changed: ``LOGICAL_TYPE_CONVERTED`` where kcodec converts the values, and ``LOGICAL_TYPE_MISMATCH`` where they
        are the error ``logical_type`` of their rows.

    Raises
    ------
    ConfigError
        If one is no `Schema`, the types differ, the type has no such policy, or there are references and no registry.
    SchemaError
        If one is no schema, or names types of an import that is missing.
    RegistryError
        If a reference is not registered.

    Examples
    --------
    >>> differences(Schema('"int"'), Schema('"long"'))
    []
    >>> differences(Schema('"long"'), Schema('"int"'))
    [Difference(type='TYPE_MISMATCH', path='/', message='reader type: INT not compatible with writer type: LONG')]
    >>> millis = Schema('{"type": "long", "logicalType": "timestamp-millis"}')
    >>> micros = Schema('{"type": "long", "logicalType": "timestamp-micros"}')
    >>> [each.message for each in differences(millis, micros)]
    ['timestamp-millis -> timestamp-micros: converted']
    """
    known, writer, reader = _parsed(old, new, registry)
    check_choice("policy", policy, known.policies)
    found = known.differences(reader, writer, **({} if policy == "STRICT" else {"policy": policy}))
    return [*found, *known.conversions(reader, writer)]


def losses(old: Schema, new: Schema, *, registry: SchemaRegistry | None = None) -> list[Difference]:
    """Return which values a reader with a new schema gets changed, compared to how an old one wrote them.

    That is what compatible schemas do to values: integers are cut, numbers rounded, unknown symbols replaced. Where
    `differences` has something, what it concerns is not told here.

    Parameters
    ----------
    old, new : Schema
        Two schemas of one type.
    registry : SchemaRegistry, optional
        Where the schemas that these refer to are registered.

    Returns
    -------
    list of Difference
        Type, path in the new schema, and in words what is lost. Empty for JSON Schemas, whose values stay as they are.

    Raises
    ------
    ConfigError, SchemaError, RegistryError
        As `differences`.

    Examples
    --------
    >>> texts = (f'syntax = "proto3"; message M {{ {kind} n = 1; }}' for kind in ("int64", "int32"))
    >>> old, new = (Schema(text, "PROTOBUF") for text in texts)
    >>> differences(old, new)
    []
    >>> losses(old, new)
    [Difference(type='VALUE_CUT', path='#/M/1', message='n: of more than 32 bits, int64 is cut to int32')]
    """
    known, writer, reader = _parsed(old, new, registry)
    return known.losses(reader, writer)


def _parsed(old: Schema, new: Schema, registry: SchemaRegistry | None) -> tuple[SchemaLanguage, Any, Any]:
    """Return the language of two schemas, and what they parse to."""
    for name, schema in (("old", old), ("new", new)):
        if not isinstance(schema, Schema):
            raise ConfigError(
                f"{name} is a Schema, such as Schema(text, 'AVRO'), not a {type(schema).__name__}"
            )
    known = schema_format(new.type)
    if old.type != new.type:
        raise ConfigError(f"a schema of {new.type} does not compare with one of {old.type}")
    parsed = [known.parse_known(schema.text, _references(schema, registry)) for schema in (old, new)]
    for each in parsed:
        known.check_references(each)
    return known, parsed[0], parsed[1]


def _references(schema: Schema, registry: SchemaRegistry | None) -> tuple[NamedText, ...]:
    if not schema.references:
        return ()
    if registry is None:
        raise ConfigError("the schema refers to others: registry= says where they are")
    return named_texts(registry, schema)
