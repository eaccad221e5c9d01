"""Schemas of data that has none: of Arrow types, of tables, and of data frames."""

from typing import Any

import pyarrow as pa

from kcodec.columns.stream import reader_of
from kcodec.columns.types.ddl import ddl_text, ddl_type
from kcodec.errors import ConfigError, check_names
from kcodec.formats.schema_format import serde_format


def schema_of(data: Any, format: str = "AVRO", *, name: str = "", namespace: str = "") -> str:
    """Return the schema that data would be written with.

    Parameters
    ----------
    data : pyarrow.Schema, DataType, Table or RecordBatch, a data frame, or str
        What has columns: also frames of pandas and polars, lazy ones too, relations of DuckDB, lists of dicts, and what
        else `kcodec.kafka.write` takes; text is Spark's DDL, such as ``id BIGINT NOT NULL, note STRING``. For data
        frames of Spark there is `kcodec_spark.schema_of`.
    format : str
        ``"AVRO"``, ``"PROTOBUF"``, ``"JSON_SR"`` (a JSON Schema) or a plugin's, in any case; ``"DDL"`` for Spark's DDL.
    name : str, optional
        Of the record, the message, or the title of the JSON Schema. By default that of `kcodec.Serde`, where it derives
        a schema itself: ``topLevelRecord``, ``TopLevelRecord`` or none.
    namespace : str, optional
        Of the record; the package of the message. A JSON Schema has none.

    Returns
    -------
    str
        The text of the schema. Columns that may be null may be so in the schema as well, with null as the default; data
        frames do not say, so that all of theirs may be.

    Raises
    ------
    SchemaError
        If the format has nothing for a type, or no such name for a column.
    ConfigError
        If there is no such format, or it has no such names.
    TypeError
        If the data has no columns.

    Examples
    --------
    >>> orders = pa.schema([pa.field("id", pa.int64(), nullable=False), ("note", pa.string())])
    >>> print(schema_of(orders, name="Order", namespace="shop"))  # doctest: +NORMALIZE_WHITESPACE
    {"type": "record", "name": "Order", "namespace": "shop", "fields": [{"name": "id", "type": "long"},
     {"name": "note", "type": ["null", "string"], "default": null}]}
    >>> print(schema_of(orders, "PROTOBUF", name="Order", namespace="shop"))
    syntax = "proto3";
    package shop;
    <BLANKLINE>
    message Order {
      int64 id = 1;
      optional string note = 2;
    }
    <BLANKLINE>
    >>> schema_of(orders, "ddl")
    'id BIGINT NOT NULL, note STRING'
    """
    check_names(format=format, name=name, namespace=namespace)
    kind = _type_of(data)
    format = format.upper().replace("-", "_")
    if format == "DDL":
        if name or namespace:
            raise ConfigError("Spark's DDL has no names: leave out name= and namespace=")
        return ddl_text(kind)
    language = serde_format(format)
    text = language.named_text(kind, name, namespace) if name or namespace else language.derived_text(kind)
    # Not every name of a column is one in every language.
    language.parse(text)
    return text


def _type_of(data: Any) -> pa.DataType:
    if isinstance(data, str):
        return ddl_type(data)
    if isinstance(data, pa.DataType):
        return data
    if hasattr(data, "collect_schema") and not hasattr(data, "__arrow_c_stream__"):
        # A lazy frame, of which no row is to be computed.
        data = data.clear()
    found = data if isinstance(data, pa.Schema) else reader_of(data).schema
    return pa.struct(list(found))
