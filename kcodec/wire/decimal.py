"""Columns of decimals: unscaled bytes, text, and the slots of Arrow decimals.

An unscaled value is an integer in big-endian two's complement of any length, as
``java.math.BigInteger.toByteArray`` writes it and Avro, Connect and Protobuf carry it; forms with repeated
sign bytes are read, and no bytes at all are 0. Everything is exact: what would need rounding is an error.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kcodec._impl import kernel
from kcodec.arguments import Buffer
from kcodec.wire.slices import BytesColumn, Growing, Slices, column, empty, narrow

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["decimals_from_arrow", "decimals_from_text", "decimals_to_arrow", "decimals_to_text"]

#: Digits that a value of text may have unless told otherwise: conversion takes time by their square.
MAX_DIGITS = 10_000

_INT32_MAX = 2**31 - 1


def decimals_to_text(
    data: Buffer,
    offsets: Buffer | None = None,
    scale: int = 0,
    *,
    size: int | None = None,
    plain: bool = False,
    precision: int = MAX_DIGITS,
    large: bool = False,
) -> Slices:
    r"""Write decimals as Java's ``BigDecimal.toString()`` or ``toPlainString()`` prints them.

    Parameters
    ----------
    data : buffer
        Unscaled bytes, one value after the other.
    offsets : array of int32 or int64, optional
        Where each value starts, and where the last one ends.
    scale : int, default 0
        Digits behind the point, in the range of a Java int; negative scales are powers of ten.
    size : int, optional
        Bytes of each value, instead of offsets.
    plain : bool, default False
        Never use an exponent.
    precision : int, default 10000
        Most digits that a value may have, one at least. It bounds the work that hostile bytes can cause.
    large : bool, default False
        Give 64-bit offsets.

    Returns
    -------
    Slices
        ASCII text.

    Raises
    ------
    DecodeError
        ``decimal_precision``: a value has more digits; ``row`` is its index, ``offset`` its first byte in
        data.
    ValueError
        The offsets do not ascend within the data, or a number is out of its range.
    OverflowError
        The text has more than 2 GiB and ``large`` is not set.

    Examples
    --------
    >>> decimals_to_text(bytes.fromhex("04d2 ff 00"), [0, 2, 3, 4], scale=2).to_list()
    [b'12.34', b'-0.01', b'0.00']
    >>> decimals_to_text(b"\x01", [0, 1], scale=-3).to_list()
    [b'1E+3']
    >>> decimals_to_text(b"\x01", [0, 1], scale=-3, plain=True).to_list()
    [b'1000']
    """
    scale, precision = _scale(scale), _number("precision", precision, 1, _INT32_MAX)
    source = column(data, offsets, size)
    call = kernel("wire.buffers._decimal").to_text

    def run(first: int, out: Buffer, ends: Buffer) -> int:
        return int(call(source, first, scale, plain, precision, out, ends))

    return _grow(run, source, memoryview(source.data).nbytes * 5 // 2, large)


def decimals_from_text(
    data: Buffer,
    offsets: Buffer,
    scale: int,
    *,
    precision: int = MAX_DIGITS,
    size: int | None = None,
    large: bool = False,
) -> Slices:
    r"""Read decimals from text, plain or with an exponent, as Java's ``BigDecimal`` reads them.

    Parameters
    ----------
    data : buffer
        ASCII text: ``[+-]digits[.digits][e[+-]digits]``.
    offsets : array of int32 or int64
        Where each value starts, and where the last one ends.
    scale : int
        Scale of the result, in the range of a Java int.
    precision : int, default 10000
        Most digits that an unscaled value may have, one at least. It bounds the work that hostile text can cause.
    size : int, optional
        Write exactly that many bytes for each value; by default the fewest.
    large : bool, default False
        Give 64-bit offsets.

    Returns
    -------
    Slices
        Unscaled bytes.

    Raises
    ------
    DecodeError
        ``type_mismatch``: not a number. ``inexact``: digits behind the scale would be lost.
        ``decimal_precision``: more digits than the precision, or more bytes than the size. ``row`` is the
        index, ``offset`` the value's first byte in data.
    ValueError
        The offsets do not ascend within the data, or a number is out of its range.
    OverflowError
        The result has more than 2 GiB and ``large`` is not set.

    Examples
    --------
    >>> decimals_from_text(b"12.34-1e-2", [0, 5, 10], scale=2).to_list()
    [b'\x04\xd2', b'\xff']
    """
    scale, precision = _scale(scale), _number("precision", precision, 1, _INT32_MAX)
    source = column(data, offsets)
    call = kernel("wire.buffers._decimal").from_text
    wanted = _size(size)

    def run(first: int, out: Buffer, ends: Buffer) -> int:
        return int(call(source, first, scale, precision, wanted, out, ends))

    return _grow(run, source, max(wanted, 0) * source.rows + memoryview(source.data).nbytes, large)


def decimals_to_arrow(
    data: Buffer,
    offsets: Buffer | None = None,
    *,
    precision: int,
    size: int | None = None,
    bits: int = 128,
    rescale: int = 0,
) -> NDArray[np.uint8]:
    """Make the value buffer of an Arrow decimal array from unscaled bytes.

    Parameters
    ----------
    data : buffer
        Unscaled bytes, one value after the other.
    offsets : array of int32 or int64, optional
        Where each value starts, and where the last one ends.
    precision : int
        Precision of the Arrow type.
    size : int, optional
        Bytes of each value, instead of offsets.
    bits : {128, 256}, default 128
        Width of the Arrow type.
    rescale : int, default 0
        The Arrow type's scale less that of the bytes: values are multiplied by ``10**rescale``.

    Returns
    -------
    numpy.ndarray of uint8
        16 or 32 bytes for each value, as Arrow has them.

    Raises
    ------
    DecodeError
        ``decimal_precision``: a value has more digits than the precision (than 76 before rescaling).
        ``inexact``: rescaling would lose digits. ``row`` is the index, ``offset`` the value's first byte in
        data.
    ValueError
        The precision is not one of that width, the offsets do not ascend within the data, or another number is
        out of its range.

    Examples
    --------
    >>> import pyarrow as pa
    >>> values = decimals_to_arrow(bytes.fromhex("04d2 ff"), [0, 2, 3], precision=5)
    >>> pa.Array.from_buffers(pa.decimal128(5, 2), 2, [None, pa.py_buffer(values)]).to_pylist()
    [Decimal('12.34'), Decimal('-0.01')]
    """
    import numpy as np

    words = _words(bits)
    precision = _number(f"precision of a decimal{bits}", precision, 1, 19 * words)
    rescale = _rescale(rescale)
    source = column(data, offsets, size)
    out = empty(8 * words * source.rows, np.uint8)
    kernel("wire.buffers._decimal").to_slots(source, precision, words, rescale, out)
    return out


def decimals_from_arrow(
    values: Any, *, size: int | None = None, bits: int = 128, rescale: int = 0, large: bool = False
) -> Slices:
    r"""Make unscaled bytes from the value buffer of an Arrow decimal array.

    Parameters
    ----------
    values : buffer
        16 or 32 bytes for each value, as Arrow has them.
    size : int, optional
        Write exactly that many bytes for each value; by default the fewest.
    bits : {128, 256}, default 128
        Width of the Arrow type.
    rescale : int, default 0
        Scale of the result less that of the Arrow type: values are multiplied by ``10**rescale``.
    large : bool, default False
        Give 64-bit offsets.

    Returns
    -------
    Slices
        Unscaled bytes.

    Raises
    ------
    EncodeError
        ``decimal_precision``: a value needs more bytes than the size, or has more than 76 digits after
        rescaling. ``inexact``: rescaling would lose digits. ``row`` is the index.
    ValueError
        The values do not end with the buffer, or a number is out of its range.
    OverflowError
        The result has more than 2 GiB and ``large`` is not set.

    Examples
    --------
    >>> import pyarrow as pa
    >>> array = pa.array([1234, -1], pa.decimal128(5, 0))
    >>> decimals_from_arrow(array.buffers()[1]).to_list()
    [b'\x04\xd2', b'\xff']
    """
    import numpy as np

    words = _words(bits)
    wanted, rescale = _size(size), _rescale(rescale)
    length = memoryview(values).nbytes
    if length % (8 * words):
        raise ValueError(f"{length} bytes are not a whole number of decimal{bits} values")
    rows = length // (8 * words)
    out = Growing(max(wanted, 32) * rows)
    ends = empty(rows + 1, np.int64)
    kernel("wire.buffers._decimal").from_slots(values, words, rows, rescale, wanted, out.buffer, ends)
    return narrow(out.finish(int(ends[-1])), ends, large)


def _words(bits: int) -> int:
    if bits not in (128, 256):
        raise ValueError("bits must be 128 or 256")
    return int(bits) // 64


def _number(name: str, value: int, lowest: int, highest: int) -> int:
    """Check a number that a C type must hold; raise TypeError for anything but a whole number."""
    number = operator.index(value)
    if not lowest <= number <= highest:
        raise ValueError(f"{name} must be within {lowest} and {highest}")
    return number


def _scale(scale: int) -> int:
    return _number("scale", scale, -_INT32_MAX - 1, _INT32_MAX)


def _rescale(rescale: int) -> int:
    """Check the difference of two scales."""
    return _number("rescale", rescale, -(2**32), 2**32)


def _size(size: int | None) -> int:
    return -1 if size is None else _number("size", size, 1, _INT32_MAX)


def _grow(run: Callable[[int, Any, Any], int], source: BytesColumn, guess: int, large: bool) -> Slices:
    """Run a kernel until all rows are done, giving it more room each time it runs out."""
    import numpy as np

    out = Growing(guess + 4 * source.rows + 256)
    ends = empty(source.rows + 1, np.int64)
    ends[0] = 0
    row = run(0, out.buffer, ends)
    while row < source.rows:
        out.double()
        row = run(row, out.buffer, ends)
    return narrow(out.finish(int(ends[-1])), ends, large)
