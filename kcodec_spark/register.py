"""Functions for SQL."""

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kcodec.errors import ConfigError
from kcodec_spark.functions.codecs import check_codec, reader_of, writer_of
from kcodec_spark.functions.columns import decode_udf, encode_udf
from kcodec_spark.options import rows_options
from kcodec_spark.workers.udf import take_one

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(
    spark: "SparkSession",
    functions: Mapping[str, Any],
    *,
    options: Mapping[str, Any] | None = None,
    deterministic: bool = False,
) -> None:
    """Register codecs and serdes as functions for SQL.

    Parameters
    ----------
    spark : SparkSession
        Classic or Connect; the functions are there for this session.
    functions : mapping
        Name of each function: a codec or serde, which decodes; or a tuple of one and ``"decode"`` or
        ``"encode"``.
    options : dict, optional
        ``mode``, ``columnNameOfCorruptRecord`` and ``onRegistryFailure``, as for `from_avro` and `to_avro`, for all
        functions.
    deterministic : bool
        As for `from_avro`, for all functions that decode.

    Raises
    ------
    ConfigError
        If a direction or an option is not one of these, or a `kcodec.MessageCodec` of several versions cannot tell
        them from the messages.
    TypeError
        If an argument is of another type.

    Examples
    --------
    >>> register(spark, {"order_of": codec, "order_bytes": (codec, "encode")})          # doctest: +SKIP
    >>> spark.sql("SELECT order_of(value).id FROM orders")                              # doctest: +SKIP
    """
    rows = rows_options(options, "register", "; others are the codec's", has_registry=True)
    if not isinstance(functions, Mapping):
        raise TypeError(f"functions are a dict, not {type(functions).__name__}")
    udfs = {}
    for name, given in functions.items():
        if not isinstance(name, str):
            raise TypeError(f"the name of a function is a str, not {type(name).__name__}")
        pair = given if isinstance(given, tuple) else (given, "decode")
        if len(pair) != 2:
            raise TypeError(
                f"{name} is a codec or serde, or a tuple of one and a direction, not {len(pair)} items"
            )
        codec, direction = check_codec(pair[0], {}, f"{name} is"), pair[1]
        if direction == "decode":
            reading = reader_of(codec)
            reading = reading._replace(read=functools.partial(take_one, reading.read, name, ""))
            udfs[name] = decode_udf(reading, rows, name, deterministic)
        elif direction == "encode":
            write = functools.partial(
                take_one, writer_of(codec), name, "; several are a struct: named_struct"
            )
            udfs[name] = encode_udf(write, name, rows)
        else:
            raise ConfigError(f"{name}: {direction!r} is neither decode nor encode")
    for name, udf in udfs.items():
        spark.udf.register(name, udf)
