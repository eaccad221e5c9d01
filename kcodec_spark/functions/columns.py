"""Columns of Spark that kcodec computes: what ``from_*`` and ``to_*`` functions return.

Each call makes a new UDF, bound to the session type (classic or Connect) of that moment. What the executors run is
pickled with it; see `kcodec_spark.workers.udf` and `kcodec_spark.workers.worker`.
"""

import functools
import logging
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kcodec.errors import ConfigError, check_booleans
from kcodec_spark.functions.codecs import Decoding
from kcodec_spark.options import RowsOptions
from kcodec_spark.session import abilities, is_column
from kcodec_spark.types.arrow import all_nullable, from_arrow_type, sent_type
from kcodec_spark.types.intervals import casts
from kcodec_spark.workers.archives import shipped
from kcodec_spark.workers.local_python import check_local_python
from kcodec_spark.workers.udf import (
    UNWRITTEN_FIELDS,
    Writer,
    corrupt_type,
    decode_permissive,
    encode_permissive,
    loader,
    read_as,
    read_wide,
    write_checked,
)

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType

_REPR = re.compile(r"Column<'(.*)'>", re.DOTALL)


def decoded(
    data: "Column | str",
    reading: Decoding,
    rows: RowsOptions,
    name: str,
    *,
    deterministic: bool = False,
    beside: "Sequence[Column | str]" = (),
) -> "Column":
    """Return the column that decodes another; `beside` are further columns that the reader needs. See `decode_udf`."""
    read, kind = decoding(reading, rows)
    udf = _udf(name, read, kind, deterministic)
    column = udf(as_column(data), *(as_column(each) for each in beside))
    steps = [] if reading.marked is None else casts(kind, reading.marked)
    if not steps:
        return column
    for step in steps:
        column = column.cast(step)
    return column.alias(f"{name}({_shown(data)})")


def decode_udf(reading: Decoding, rows: RowsOptions, name: str, deterministic: bool) -> Any:
    """Make the UDF by which SQL decodes a column; with mode PERMISSIVE all fields of the result become nullable."""
    return _udf(name, *decoding(reading, rows), deterministic, for_sql=True)


def decoding(reading: Decoding, rows: RowsOptions) -> "tuple[Callable[..., pa.Array], DataType]":
    """Return what the executors decode by, and Spark's type of the result."""
    column = rows.corrupt_column
    spark_type = from_arrow_type(corrupt_type(reading.arrow_type, column, text_ids=reading.text_ids))
    kind = sent_type(reading.arrow_type, rows.permissive)
    read = reading.read if kind == reading.arrow_type else functools.partial(read_as, reading.read, kind)
    if not rows.permissive:
        return functools.partial(read_wide, read), spark_type
    permissive = functools.partial(decode_permissive, read, column, rows.null_on_registry_failure)
    return functools.partial(read_wide, permissive), all_nullable(spark_type)


def encoded(
    data: "Column | str | Sequence[Column | str]", write: Writer, name: str, rows: RowsOptions
) -> "Column":
    """Return the column that encodes another, or several as the struct that Spark makes of them."""
    return _named(encode_udf(write, name, rows)(_columns(data, name)[0]), data, name)


def encoded_within(data: "Column | str", write: Writer, name: str, rows: RowsOptions) -> "Column":
    """Return the column that encodes another; executors get it within a struct, which keeps its nullability."""
    from pyspark.sql import functions as F

    column = encode_udf(write, name, rows)(F.struct(as_column(data)))
    return column.alias(f"{name}({_shown(data)})")


def encoded_by_shape(data: "Sequence[Column | str]", write: Writer, name: str, rows: RowsOptions) -> "Column":
    """Return the column that encodes others as one; executors get them one by one.

    `write` takes the shape and the columns. The shape is a null of type array of what is to be encoded: it has the
    names and the nullability that no column carries.
    """
    from pyspark.sql import functions as F

    whole, columns = _columns(data, name)
    # A null that the optimizer folds to a literal: only its type reaches the executors.
    column = encode_udf(write, name, rows)(F.when(F.lit(False), F.array(whole)), *columns)
    return column.alias(f"{name}({_shown(data)})")


def encode_udf(write: Writer, name: str, rows: RowsOptions) -> Any:
    """Make the UDF that encodes, by a function of arrays; `name` is what plans show."""
    if not abilities().arrow_functions:
        raise ConfigError(
            f"{name}: before Spark 4.1 a column loses types on its way to Python: kcodec_spark.encode(df, ...) writes "
            "whole DataFrames there"
        )
    function, kind, deterministic = encoding(write, rows)
    return _udf(name, function, kind, deterministic)


def encoding(write: Writer, rows: RowsOptions) -> "tuple[Callable[..., pa.Array], DataType, bool]":
    """Return what the executors encode by, Spark's type of the result, and whether Spark may call it more than once."""
    column = rows.corrupt_column
    write = functools.partial(write_checked, write)
    if not rows.permissive:
        return write, from_arrow_type(pa.binary()), True
    if column is not None and column.lower() == "value":
        raise ConfigError("columnNameOfCorruptRecord: value is the field of what is written")
    kind = (
        pa.struct([("value", pa.binary()), (column, pa.struct(UNWRITTEN_FIELDS))]) if column else pa.binary()
    )
    # Spark would call a deterministic one for each of the two fields.
    return functools.partial(encode_permissive, write, column), from_arrow_type(kind), column is None


def computed(
    data: "Column | str", function: Writer, returns: pa.DataType, name: str, rows: RowsOptions
) -> "Column":
    """Return the column of a function of arrays, which returns the same for the same values."""
    if rows.permissive:
        function = functools.partial(encode_permissive, function, None)
    return _udf(name, function, from_arrow_type(returns), True)(as_column(data))


def _named(column: "Column", data: Any, name: str) -> "Column":
    """Return a column under the name that a function of Spark would have; of structs Spark names that of a UDF else."""
    shown = _shown(data)
    return column.alias(f"{name}({shown})") if "struct(" in shown else column


def _shown(data: Any) -> str:
    """Return how columns are shown in the name of a function's result."""
    if is_several(data):
        return f"struct({', '.join(_shown(each) for each in data)})"
    if isinstance(data, str):
        return data
    found = _REPR.fullmatch(repr(data))
    return found[1] if found else repr(data)


def as_column(data: Any) -> "Column":
    """Return a column, or the one of a name."""
    from pyspark.sql import functions as F

    if isinstance(data, str):
        return F.col(data)
    if not is_column(data):
        raise TypeError(f"data is a Column or the name of one, not {type(data).__name__}")
    return data


def quoted(*names: str) -> str:
    """Return the quoted form in which `functions.col` takes a column, or a field of it, of any name."""
    return ".".join("`" + name.replace("`", "``") + "`" for name in names)


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


def _udf(
    name: str,
    function: Callable[..., pa.Array],
    returns: "DataType",
    deterministic: bool,
    *,
    for_sql: bool = False,
) -> Any:
    """Make a UDF of a function of Arrow arrays; `for_sql` where SQL calls it by its name, and takes what it returns."""
    from pyspark import cloudpickle
    from pyspark.sql.types import StructField, StructType

    check_booleans(deterministic=deterministic)
    check_local_python()
    content = cloudpickle.dumps(function)
    marker, level = shipped(), logging.getLogger("kcodec").level
    form = None
    if not abilities().arrow_functions:
        form = "plain" if not isinstance(returns, StructType) else "frame" if for_sql else "boxed"
    work = loader(content, marker, level, name, form)
    # What plans and unnamed columns show.
    work.__name__ = name
    if form is None:
        from pyspark.sql.functions import arrow_udf

        udf: Any = arrow_udf(work, returns)
    else:
        import pandas as pd
        from pyspark.sql.functions import pandas_udf

        from kcodec_spark.workers.series import BOX

        # What Spark takes to be a function of columns by.
        work.__annotations__ = {"columns": pd.Series, "return": pd.Series}
        if form == "boxed":
            returns = StructType([StructField(BOX, returns)])
        elif form == "frame":
            # Columns of a DataFrame may be null, whatever is declared.
            returns = StructType([StructField(field.name, field.dataType) for field in returns])
        udf = pandas_udf(work, returns)
    if not deterministic:
        udf = udf.asNondeterministic()
    return _unboxed(udf, BOX, name) if form == "boxed" else udf


def _unboxed(udf: Any, field: str, name: str) -> "Callable[..., Column]":
    """Return a function that calls a UDF which returns structs of one field, and takes the field."""

    def call(*columns: Any) -> "Column":
        return udf(*columns).getField(field).alias(f"{name}({', '.join(map(_shown, columns))})")

    return call
