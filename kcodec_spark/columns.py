"""Columns of Spark that kcodec computes: what ``from_*`` and ``to_*`` functions return.

Each call makes a new UDF, bound to the session type (classic or Connect) of that moment. What the executors run is
pickled with it; see `kcodec_spark.udf` and `kcodec_spark.worker`.
"""

import functools
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kcodec.errors import ConfigError
from kcodec_spark.options import RowsOptions
from kcodec_spark.ship import shipped
from kcodec_spark.types import all_nullable, from_arrow_type
from kcodec_spark.udf import CORRUPT_FIELDS, Reader, Writer, decode_permissive, loader

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType

__all__ = [
    "as_column",
    "computed",
    "decode_udf",
    "decoded",
    "encode_udf",
    "encoded",
    "encoded_by_shape",
    "is_several",
]


def decoded(
    data: "Column | str",
    reader: tuple[Reader | Callable[..., Any], pa.DataType],
    rows: RowsOptions,
    name: str,
    *,
    deterministic: bool = False,
    beside: "Sequence[Column | str]" = (),
) -> "Column":
    """Return the column that decodes another; `beside` are further ones that the reader takes. See `decode_udf`."""
    udf = decode_udf(reader, rows, name, deterministic)
    return udf(as_column(data), *(as_column(column) for column in beside))


def decode_udf(
    reader: tuple[Reader | Callable[..., Any], pa.DataType],
    rows: RowsOptions,
    name: str,
    deterministic: bool = False,
) -> Any:
    """Make the UDF that decodes a column; if the reader takes more arrays than one, so does the UDF.

    `reader` also has the Arrow type of the result; with mode PERMISSIVE all its fields become nullable. Plans show
    `name`.
    """
    read, arrow_type = reader
    column = rows.corrupt_column
    if column is not None:
        if not pa.types.is_struct(arrow_type):
            raise ConfigError(f"columnNameOfCorruptRecord needs a record, and {arrow_type} has no fields")
        taken = [field.name for field in arrow_type if field.name.lower() == column.lower()]
        if taken:
            raise ConfigError(f"columnNameOfCorruptRecord: {taken[0]} is already a field of the record")
        arrow_type = pa.struct([*arrow_type, pa.field(column, pa.struct(CORRUPT_FIELDS))])
    spark_type = from_arrow_type(arrow_type)
    if rows.permissive:
        return _udf(
            name, functools.partial(decode_permissive, read, column), all_nullable(spark_type), deterministic
        )
    return _udf(name, read, spark_type, deterministic)


def encoded(data: "Column | str | Sequence[Column | str]", write: Writer, name: str) -> "Column":
    """Return the column that encodes another, or several as the struct that Spark makes of them."""
    return encode_udf(write, name)(_columns(data, name)[0])


def encoded_by_shape(
    data: "Column | str | Sequence[Column | str]", write: Callable[..., pa.Array], name: str
) -> "Column":
    """Return the column that encodes others as one, and for which the executors get them one by one.

    `write` takes the shape and the columns. The shape is a null of type array of what is to be encoded: it has the
    names and the nullability that no column carries.
    """
    from pyspark.sql import functions as F

    whole, columns = _columns(data, name)
    # A null that the optimizer folds to a literal: only its type reaches the executors.
    return encode_udf(write, name)(F.when(F.lit(False), F.array(whole)), *columns)


def encode_udf(write: Callable[..., pa.Array], name: str) -> Any:
    """Make the UDF that encodes, by a function of arrays; `name` is what plans show."""
    from pyspark.sql.types import BinaryType

    return _udf(name, write, BinaryType(), True)


def computed(
    data: "Column | str", function: Callable[[pa.Array], pa.Array], returns: pa.DataType, name: str
) -> "Column":
    """Return the column of a function of arrays, which returns the same for the same values."""
    return _udf(name, function, from_arrow_type(returns), True)(as_column(data))


def as_column(data: Any) -> "Column":
    """Return a column, or the one of a name."""
    from pyspark.sql import Column
    from pyspark.sql import functions as F

    if not isinstance(data, (str, Column)):
        raise TypeError(f"data is a Column or the name of one, not {type(data).__name__}")
    return F.col(data) if isinstance(data, str) else data


def is_several(data: Any) -> bool:
    """Return whether several columns were given, to be one struct, rather than one column."""
    return isinstance(data, Sequence) and not isinstance(data, str)


def _columns(data: Any, name: str) -> "tuple[Column, list[Column]]":
    """Return the column or struct that was given, and the columns that it was given as."""
    from pyspark.sql import functions as F

    if not is_several(data):
        column = as_column(data)
        return column, [column]
    if not data:
        raise ConfigError(f"{name} needs a column")
    columns = [as_column(item) for item in data]
    return F.struct(*columns), columns


def _udf(name: str, function: Callable[..., pa.Array], returns: "DataType", deterministic: bool) -> Any:
    from pyspark import cloudpickle
    from pyspark.sql.functions import arrow_udf

    work = loader(cloudpickle.dumps(function), shipped(), logging.getLogger("kcodec").level)
    # What plans and unnamed columns show.
    work.__name__ = name
    udf = arrow_udf(work, returns)
    return udf if deterministic else udf.asNondeterministic()
