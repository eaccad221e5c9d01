"""``from_json_schema`` and ``to_json_schema``: documents of JSON Schemas, alone or framed for a schema registry."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kcodec import JsonSchemaCodec
from kcodec.errors import ConfigError
from kcodec_spark.functions.codecs import field_names
from kcodec_spark.functions.schemas import decoded_by_schema, encoded_by_schema
from kcodec_spark.types.arrow import given_type

if TYPE_CHECKING:
    from pyspark.sql import Column

_VALIDATE = "json.fail.invalid.schema"


def from_json_schema(
    data: "Column | str",
    schema: Any = None,
    options: Mapping[str, Any] | None = None,
    subject: "str | Column | None" = None,
    schemaRegistryAddress: "str | Column | None" = None,
    *,
    fields: Sequence[str] | None = None,
    deterministic: bool = False,
    **arguments: Any,
) -> "Column":
    """Decode a column of JSON documents by a JSON Schema.

    Parameters
    ----------
    data : Column or str
        Binary or string column. Null gives null.
    schema : str, dict, codec or serde, optional
        Without a registry: the schema of the documents, or a codec or serde (`kcodec.JsonSchemaCodec`,
        `kcodec.Serde`). With a registry: the schema to read as, if not the subject's latest, as its text or its id.
    options : dict, optional
        ``mode``, ``columnNameOfCorruptRecord`` and ``onRegistryFailure``, as for `from_avro`;
        ``confluent.schema.registry.`` and a setting of confluent-kafka's registry client.
    subject, schemaRegistryAddress : str or literal Column, optional
        Subject and address of the registry: the values are framed then, with whatever schema ids, and read as the
        subject's latest when the query is made. Executors fetch the other schemas when they meet their ids.
    fields : sequence of str, optional
        The only fields to decode, dotted below objects; the others are skipped.
    deterministic : bool
        As for `from_avro`.
    **arguments
        Of `kcodec.JsonSchemaCodec`, such as ``validate=True`` or ``unknown="keep"``; its ``arrow_type`` may also be a
        type of Spark, or DDL.

    Returns
    -------
    Column
        A struct of the schema's properties. What has no columns is a string of JSON.

    Raises
    ------
    SchemaError, ConfigError, RegistryError
        When called. A bad row fails the query with `pyspark.errors.PythonException`, or in mode PERMISSIVE is a
        struct of nulls.

    Examples
    --------
    >>> from kcodec_spark import from_json_schema
    >>> df.select(from_json_schema("value", schema).alias("order"))                     # doctest: +SKIP
    >>> df.select(from_json_schema("value", subject="orders-value",                     # doctest: +SKIP
    ...                            schemaRegistryAddress="http://registry:8081").alias("order"))
    """
    if fields is not None:
        arguments["fields"] = field_names(fields)
    if arguments.get("arrow_type") is not None:
        arguments["arrow_type"] = given_type(arguments["arrow_type"])
    settings = _settings(subject, arguments)
    place = (subject, schemaRegistryAddress, arguments)
    return decoded_by_schema(
        "JSON_SR", data, schema, options, *place, settings=settings, deterministic=deterministic
    )


def to_json_schema(
    data: "Column | str | Sequence[Column | str]",
    schema: Any = None,
    options: Mapping[str, Any] | None = None,
    subject: "str | Column | None" = None,
    schemaRegistryAddress: "str | Column | None" = None,
    **arguments: Any,
) -> "Column":
    """Encode a column, or several as one object, as JSON documents of a JSON Schema.

    Parameters
    ----------
    data : Column or str or sequence of these
        What to encode, such as ``struct("*")``; null gives null. Several columns are what ``struct`` of them is.
    schema : str, dict, codec or serde, optional
        The schema to write as. Without one it is derived from the column's type; with a registry, it is the subject's
        latest.
    options : dict, optional
        ``mode``, ``columnNameOfCorruptRecord`` and ``round``, as for `to_avro`; ``confluent.schema.registry.`` and a
        setting of confluent-kafka's registry client, or ``auto.register.schemas`` or ``use.schema.id``.
    subject, schemaRegistryAddress : str or literal Column, optional
        Subject and address of the registry: each value is framed with the id that the schema has there. A schema that
        is not registered under the subject is an error, unless registering is asked for.
    **arguments
        Of `kcodec.JsonSchemaCodec`, such as ``validate=True``.

    Returns
    -------
    Column
        Binary.

    Raises
    ------
    SchemaError, ConfigError, RegistryError
        When called. A value that cannot be written fails the query.

    Examples
    --------
    >>> from kcodec_spark import to_json_schema
    >>> df.select(to_json_schema(struct("*"), schema).alias("value"))                   # doctest: +SKIP
    """
    settings = _settings(subject, arguments)
    if schema is None and subject is None:
        # Arguments are checked now, the type is known later.
        JsonSchemaCodec(True, **arguments)
    place = (subject, schemaRegistryAddress, arguments)
    return encoded_by_schema("JSON_SR", data, schema, options, *place, settings=settings)


def _settings(subject: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the setting of a serde that an argument of the codec stands for, where there is a registry."""
    if subject is None:
        return {}
    if "references" in arguments:
        raise ConfigError("with a registry, references are those that the schema has there")
    return {_VALIDATE: True} if arguments.pop("validate", False) else {}
