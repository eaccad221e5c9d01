"""Decimals as Kafka's tools write them: unscaled bytes, Base64, text; exactly."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kcodec import DecimalCodec
from kcodec.errors import ConfigError, check_booleans
from kcodec_spark.functions.codecs import reader_of
from kcodec_spark.functions.columns import computed, decoded
from kcodec_spark.options import rows_options

if TYPE_CHECKING:
    from pyspark.sql import Column


def decode_decimal(
    data: "Column | str",
    scale: int,
    precision: int = 38,
    options: Mapping[str, Any] | None = None,
    *,
    text: str = "base64",
) -> "Column":
    """Read decimals as Connect, Avro and Debezium write them.

    Parameters
    ----------
    data : Column or str
        Binary: unscaled values, big-endian two's complement. String: the same in Base64, or numbers. Struct of
        ``scale`` and ``value``: Debezium's ``VariableScaleDecimal``. Float or double: Debezium's mode
        ``double``, by the shortest number that reads as this double.
    scale : int
        Digits behind the point, of unscaled values and of the result: 0 to `precision`.
    precision : int
        Digits of the result in all, up to 38.
    options : dict, optional
        ``mode``: FAILFAST (default: a value that is damaged or does not fit without rounding fails the query) or
        PERMISSIVE (it becomes null).
    text : {"base64", "number"}
        What a string column holds.

    Returns
    -------
    Column
        Decimal of that precision and scale.

    Raises
    ------
    ConfigError
        When called, for an argument that is not valid.

    Examples
    --------
    >>> from kcodec_spark import decode_decimal
    >>> df.select(decode_decimal("price", 2, 9))                                        # doctest: +SKIP
    """
    return _decoded("decode_decimal", data, DecimalCodec(scale, precision, text=text), options)


def text_to_decimal(
    data: "Column | str", scale: int, precision: int = 38, options: Mapping[str, Any] | None = None
) -> "Column":
    """Read numbers in text, plain or with an exponent, exactly: where ``CAST`` rounds, this is an error.

    Parameters
    ----------
    data : Column or str
        String: Debezium's mode ``string``, or what ``BigDecimal.toString`` prints.
    scale, precision, options
        As for `decode_decimal`.

    Returns
    -------
    Column
        Decimal of that precision and scale.

    Raises
    ------
    ConfigError
        When called, for an argument that is not valid.

    Examples
    --------
    >>> from kcodec_spark import text_to_decimal
    >>> df.select(text_to_decimal("price", 2, 9))                                       # doctest: +SKIP
    """
    codec = DecimalCodec(scale, precision, text="number")
    return _decoded("text_to_decimal", data, codec, options)


def encode_decimal(
    data: "Column | str", scale: int, options: Mapping[str, Any] | None = None, *, base64: bool = False
) -> "Column":
    """Write decimals, or any numbers, as unscaled values: the fewest bytes of big-endian two's complement.

    Parameters
    ----------
    data : Column or str
        Numbers.
    scale : int
        Digits behind the point that the reader assumes.
    options : dict, optional
        ``mode``: FAILFAST (default: a number with more digits behind the point fails the query) or PERMISSIVE (it
        becomes null).
    base64 : bool
        Write Base64, as JsonConverter does, instead of bytes.

    Returns
    -------
    Column
        Binary, or string.

    Raises
    ------
    ConfigError
        When called, for an argument that is not valid.

    Examples
    --------
    >>> from kcodec_spark import encode_decimal
    >>> df.select(encode_decimal("price", 2))                                           # doctest: +SKIP
    """
    check_booleans(base64=base64)
    codec = DecimalCodec(scale, output="base64" if base64 else "bytes")
    rows = rows_options(options, "encode_decimal", has_error_column=False)
    return computed(data, codec.encode, pa.string() if base64 else pa.binary(), "encode_decimal", rows)


def decimal_to_text(
    data: "Column | str", scale: int, options: Mapping[str, Any] | None = None, *, plain: bool = False
) -> "Column":
    """Write decimals in any of the forms that `decode_decimal` takes as numbers, of up to 10,000 digits.

    Parameters
    ----------
    data : Column or str
        As for `decode_decimal`; strings are Base64.
    scale : int
        Digits behind the point, of unscaled values. Integers, decimals and structs keep their own.
    options : dict, optional
        ``mode``, as for `decode_decimal`.
    plain : bool
        As ``BigDecimal.toPlainString`` prints it, without exponents; by default as ``toString``.

    Returns
    -------
    Column
        String.

    Examples
    --------
    >>> from kcodec_spark import decimal_to_text
    >>> df.select(decimal_to_text("price", 2))                                          # doctest: +SKIP
    """
    codec = DecimalCodec(scale, as_text=True, plain=plain)
    rows = rows_options(options, "decimal_to_text", has_error_column=False)
    return computed(data, codec.decode, pa.string(), "decimal_to_text", rows)


def _decoded(
    name: str, col: "Column | str", codec: DecimalCodec, options: Mapping[str, Any] | None
) -> "Column":
    kind = codec.arrow_type
    if kind.precision > 38 or not 0 <= kind.scale <= kind.precision:
        raise ConfigError(
            "Spark's decimals have up to 38 digits, and no more than these behind the point: "
            f"not precision={kind.precision} and scale={kind.scale}"
        )
    rows = rows_options(options, name, has_error_column=False)
    return decoded(col, reader_of(codec), rows, name, deterministic=True)
