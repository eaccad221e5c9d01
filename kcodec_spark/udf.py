"""Arrow UDFs around codecs: what runs on the executors, and how it is declared to Spark.

Each call makes a new UDF, bound to the session type (classic or Connect) of that moment. The functions sent
to the executors are closures over the codec, which is pickled with them; see `kcodec_spark.worker`.
"""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from kcodec.errors import ConfigError, SchemaError
from kcodec_spark.ship import shipped
from kcodec_spark.types import from_arrow_type, to_avro_type

if TYPE_CHECKING:
    from pyspark.sql.types import DataType

__all__ = ["CORRUPT_FIELDS", "Reader", "Writer", "arrow_function", "decode_udf", "encode_udf"]

#: The struct that tells what is wrong with a row. ``offset`` counts from the first byte of ``bytes``.
CORRUPT_FIELDS = (
    pa.field("reason", pa.string()),
    pa.field("code", pa.string()),
    pa.field("offset", pa.int64()),
    pa.field("path", pa.string()),
    pa.field("schema_id", pa.int64()),
    pa.field("bytes", pa.binary()),
)


class Reader(Protocol):
    """What decodes a column: the ``decode`` of a codec, the ``deserialize`` of a serde."""

    def __call__(self, values: pa.Array, *, errors: str = "raise") -> Any:
        """Return an Arrow array, and with ``errors="report"`` the report too."""


#: What encodes a column: the ``encode`` of a codec, the ``serialize`` of a serde.
Writer = Callable[[pa.Array], pa.Array]


def decode_udf(
    read: Reader | Callable[..., Any],
    arrow_type: pa.DataType,
    *,
    permissive: bool = False,
    corrupt_column: str | None = None,
    deterministic: bool = False,
    name: str = "from_avro",
) -> Any:
    """Make the UDF that decodes a column.

    Parameters
    ----------
    read : Reader
        Decodes an array; if it takes more of them, so does the UDF.
    arrow_type : pyarrow.DataType
        What it gives.
    permissive : bool
        Rows that cannot be decoded become structs of nulls (nulls, if the type is no struct); all fields are
        nullable then.
    corrupt_column : str, optional
        Name of a further field: null, or what is wrong with the row and its bytes (`CORRUPT_FIELDS`).
    deterministic : bool
        Whether Spark may evaluate the UDF again where it pushes a filter through it.
    name : str
        What plans show.

    Returns
    -------
    function
        An Arrow UDF of Spark.

    Raises
    ------
    SchemaError
        If Spark has no type for the Arrow type.
    ConfigError
        If there is no place for the further field.
    """
    if corrupt_column is not None:
        if not pa.types.is_struct(arrow_type):
            raise ConfigError(f"columnNameOfCorruptRecord needs a record, and {arrow_type} has no fields")
        taken = [field.name for field in arrow_type if field.name.lower() == corrupt_column.lower()]
        if taken:
            raise ConfigError(f"columnNameOfCorruptRecord: {taken[0]} is already a field of the record")
        arrow_type = pa.struct([*arrow_type, pa.field(corrupt_column, pa.struct(CORRUPT_FIELDS))])
    spark_type = from_arrow_type(arrow_type)
    if permissive:
        spark_type = _all_nullable(spark_type)

    def decode(values: pa.Array, *more: pa.Array) -> pa.Array:
        return read(values, *more)

    def decode_permissive(values: pa.Array, *more: pa.Array) -> pa.Array:
        array, report = read(values, *more, errors="report")
        return keep_bad_rows(values, array, report, corrupt_column)

    return _udf(name, decode_permissive if permissive else decode, spark_type, deterministic)


def keep_bad_rows(
    values: pa.Array, array: pa.Array, report: pa.Table, corrupt_column: str | None
) -> pa.Array:
    """Turn the null of each bad row into a struct of nulls, as Spark does, and say there what is wrong.

    Parameters
    ----------
    values, array, report
        The bytes, and what they were decoded to.
    corrupt_column : str or None
        Name of the field to add.

    Returns
    -------
    pyarrow.Array
        Null only where `values` is; `array` itself if that has no fields.
    """
    if not pa.types.is_struct(array.type):
        return array
    fields = [field.with_nullable(True) for field in array.type]
    children = array.flatten()
    if corrupt_column is not None:
        fields.append(pa.field(corrupt_column, pa.struct(CORRUPT_FIELDS)))
        children.append(_corrupt_rows(values, report))
    if not children:
        return array
    return pa.StructArray.from_arrays(children, fields=fields, mask=values.is_null())


def _corrupt_rows(values: pa.Array, report: pa.Table) -> pa.Array:
    if not report.num_rows:
        return pa.nulls(len(values), pa.struct(CORRUPT_FIELDS))
    rows = report["row"].combine_chunks()
    columns = [report[field.name].combine_chunks().cast(field.type) for field in CORRUPT_FIELDS[:-1]]
    columns.append(values.take(rows).cast(CORRUPT_FIELDS[-1].type))
    entries = pa.StructArray.from_arrays(columns, fields=CORRUPT_FIELDS)
    places: list[int | None] = [None] * len(values)
    for number, row in enumerate(rows.to_pylist()):
        places[row] = number
    return entries.take(pa.array(places, pa.int64()))


def encode_udf(write: Writer | None, *, packed: bool = False, name: str = "to_avro") -> Any:
    """Make the UDF that encodes.

    Parameters
    ----------
    write : Writer or None
        Encodes an array; None derives an Avro schema from the type of what arrives.
    packed : bool
        Whether the UDF takes several columns, to encode them as one struct.
    name : str
        What plans show.

    Returns
    -------
    function
        An Arrow UDF of one column; if `packed` or without `write`, its first argument is the shape: a null
        of type array of what is to be encoded, which tells names and nullability that no column carries.
    """
    from pyspark.sql.types import BinaryType

    if write is None:
        return _udf(name, _deriving(packed), BinaryType(), True)
    known = write

    def encode(values: pa.Array) -> pa.Array:
        return known(values)

    def encode_columns(shape: pa.Array, *columns: pa.Array) -> pa.Array:
        return known(pack(shape, columns))

    return _udf(name, encode_columns if packed else encode, BinaryType(), True)


def arrow_function(function: Callable[..., pa.Array], returns: pa.DataType, name: str) -> Any:
    """Make the UDF of a function of arrays, which gives the same for the same values.

    Parameters
    ----------
    function : callable
        Takes and gives arrays.
    returns : pyarrow.DataType
        What it gives.
    name : str
        What plans show.

    Returns
    -------
    function
        An Arrow UDF of Spark.
    """

    def apply(*columns: pa.Array) -> pa.Array:
        return function(*columns)

    return _udf(name, apply, from_arrow_type(returns), True)


def _deriving(packed: bool) -> Callable[..., pa.Array]:
    # One codec per type; a worker sees one type for as long as the query runs.
    writers: dict[pa.Field, Writer] = {}

    def encode_derived(shape: pa.Array, *columns: pa.Array) -> pa.Array:
        item = shape.type.value_field
        if item not in writers:
            writers[item] = derived_writer(item)
        return writers[item](pack(shape, columns) if packed else columns[0])

    return encode_derived


def derived_writer(item: pa.Field) -> Writer:
    """Make what encodes by the schema that Spark's ``to_avro`` derives where none is given.

    Parameters
    ----------
    item : pyarrow.Field
        Type and nullability of the column.

    Returns
    -------
    callable
        Takes an array of the type, gives binary.

    Raises
    ------
    SchemaError
        If Spark derives no Avro schema from the type either.
    """
    from kcodec import AvroCodec

    codec = AvroCodec(to_avro_type(from_arrow_type(item.type), item.nullable))
    plain = _without_durations(item.type)

    def encode(array: pa.Array) -> pa.Array:
        return codec.encode(array if plain == item.type else array.cast(plain))

    return encode


def _without_durations(kind: pa.DataType) -> pa.DataType:
    """Make intervals the longs that Spark writes them as."""
    if pa.types.is_duration(kind):
        return pa.int64()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_without_durations(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_without_durations(kind.value_type)))
    if pa.types.is_map(kind):
        value = kind.item_field.with_type(_without_durations(kind.item_type))
        return pa.map_(kind.key_field, value)
    return kind


def pack(shape: pa.Array, columns: tuple[pa.Array, ...]) -> pa.Array:
    """Make one struct of columns, with the names that the shape has for them."""
    fields = list(shape.type.value_type)
    if len(fields) != len(columns):
        raise SchemaError(f"{len(columns)} columns for {len(fields)} fields: give * within a struct")
    return pa.StructArray.from_arrays(list(columns), fields=fields)


def _udf(name: str, function: Callable[..., pa.Array], returns: "DataType", deterministic: bool) -> Any:
    from pyspark import cloudpickle
    from pyspark.sql.functions import arrow_udf

    work = _sent(cloudpickle.dumps(function), shipped(), logging.getLogger("kcodec").level)
    # What plans and unnamed columns show.
    work.__name__ = name
    udf = arrow_udf(work, returns)
    return udf if deterministic else udf.asNondeterministic()


def _sent(content: bytes, marker: str | None, level: int) -> Callable[..., pa.Array]:
    """Make what Spark sends: it names nothing of these packages, so that it can look for them first."""

    def work(*columns: pa.Array) -> pa.Array:
        try:
            from kcodec_spark.worker import load
        except ModuleNotFoundError:
            import sys
            from pathlib import Path

            from pyspark.core.files import SparkFiles

            # In a streaming query Spark puts what was shipped into the folder of a session made for the
            # query, but has workers look in the folder above it.
            places = [] if marker is None else Path(SparkFiles.getRootDirectory()).glob(f"*/kcodec/{marker}")
            folder = next((str(place.parents[1]) for place in places), None)
            if folder is None:
                raise
            sys.path.append(folder)
            from kcodec_spark.worker import load
        result: pa.Array = load(content, level)(*columns)
        return result

    return work


def _all_nullable(kind: "DataType") -> "DataType":
    from pyspark.sql import types as spark

    if isinstance(kind, spark.StructType):
        return spark.StructType(
            [spark.StructField(field.name, _all_nullable(field.dataType)) for field in kind.fields]
        )
    if isinstance(kind, spark.ArrayType):
        return spark.ArrayType(_all_nullable(kind.elementType))
    if isinstance(kind, spark.MapType):
        return spark.MapType(kind.keyType, _all_nullable(kind.valueType))
    return kind
