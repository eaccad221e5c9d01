"""Two schemas, compared without a registry that has either."""

from kcodec.errors import ConfigError, check_choice
from kcodec.formats.schema_format import Difference, NamedText, schema_format
from kcodec.registry.base import Schema, SchemaRegistry
from kcodec.registry.references import named_texts

__all__ = ["differences"]


def differences(
    old: Schema, new: Schema, *, policy: str = "STRICT", registry: SchemaRegistry | None = None
) -> list[Difference]:
    """Return what a reader with a new schema cannot read, or converts, of what was written with an old one.

    So a list with nothing but logical types means that the new one is backward compatible, for which they do not count:
    no schema registry looks at them. The other way round, with both in the other order, it is forward compatible.

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
        If one is no schema.
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
    for name, schema in (("old", old), ("new", new)):
        if not isinstance(schema, Schema):
            raise ConfigError(
                f"{name} is a Schema, such as Schema(text, 'AVRO'), not a {type(schema).__name__}"
            )
    known = schema_format(new.type)
    if old.type != new.type:
        raise ConfigError(f"a schema of {new.type} does not compare with one of {old.type}")
    check_choice("policy", policy, known.policies)
    writer, reader = (known.parse_known(schema.text, _references(schema, registry)) for schema in (old, new))
    found = known.differences(reader, writer, **({} if policy == "STRICT" else {"policy": policy}))
    return [*found, *known.conversions(reader, writer)]


def _references(schema: Schema, registry: SchemaRegistry | None) -> tuple[NamedText, ...]:
    if not schema.references:
        return ()
    if registry is None:
        raise ConfigError("the schema refers to others: registry= says where they are")
    return named_texts(registry, schema)
