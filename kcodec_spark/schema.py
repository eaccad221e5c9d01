"""``schema_of``: the schema that a data frame would be written with."""

from typing import TYPE_CHECKING

import kcodec
from kcodec_spark.types.arrow import to_arrow_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType


def schema_of(
    data: "DataFrame | DataType", format: str = "AVRO", *, name: str = "", namespace: str = ""
) -> str:
    """Return the schema that a data frame would be written with, without running it.

    Parameters
    ----------
    data : DataFrame or DataType
        A frame, or its ``schema``.
    format, name, namespace
        As for `kcodec.schema_of`.

    Returns
    -------
    str
        The text of the schema.

    Raises
    ------
    SchemaError, ConfigError
        As `kcodec.schema_of`.

    Examples
    --------
    >>> from kcodec_spark import schema_of
    >>> schema_of(df.select("id", "note"), "PROTOBUF", name="Order", namespace="shop")  # doctest: +SKIP
    """
    kind = to_arrow_type(getattr(data, "schema", data))
    return kcodec.schema_of(kind, format, name=name, namespace=namespace)
