"""Arrays of varints.

A varint is 7 bits a byte, the lowest group first; the top bit of a byte says that another follows. Zigzag
maps 0, -1, 1, -2 ... to 0, 1, 2, 3 ... so that small negative numbers stay short (Avro int and long,
Protobuf sint32 and sint64, Kafka records). Reading is strict: at most 5 or 10 bytes, and no bits
beyond the type. Within that, forms padded with zero groups are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcodec._impl import kernel
from kcodec.arguments import Buffer
from kcodec.wire.slices import Growing, empty

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def decode_varints(
    data: Buffer, count: int | None = None, *, bits: int = 64, zigzag: bool = False, start: int = 0
) -> tuple[NDArray[Any], int]:
    """Decode varints that stand one after the other.

    Parameters
    ----------
    data : buffer
        Packed varints.
    count : int, optional
        How many; by default all to the end of data.
    bits : {64, 32}, default 64
        Width of the type.
    zigzag : bool, default False
        Whether they are zigzag; the result is then signed.
    start : int, default 0
        Byte where the first begins.

    Returns
    -------
    values : numpy.ndarray
        uint32 or uint64; int32 or int64 with zigzag.
    end : int
        The byte after the last.

    Raises
    ------
    DecodeError
        ``truncated``, ``varint_overlong`` or ``varint_overflow``; ``row`` is the index, ``offset`` the
        first byte of that varint in data.
    ValueError
        An argument is out of range.

    Examples
    --------
    >>> decode_varints(bytes([1, 0xAC, 2, 3]))
    (array([  1, 300,   3], dtype=uint64), 4)
    >>> decode_varints(bytes([1, 0xAC, 2, 3]), 2, bits=32, zigzag=True)
    (array([ -1, 150], dtype=int32), 3)
    """
    import numpy as np

    _check_bits(bits)
    view = memoryview(data).cast("B")
    if not 0 <= start <= len(view):
        raise ValueError("start is not within data")
    call = kernel("wire.buffers._varint")
    if count is None:
        # A varint that is cut off at the end counts, so that it is found.
        count = call.count_ends(view[start:]) + bool(len(view) > start and view[-1] >= 0x80)
    if count < 0:
        raise ValueError("count is negative")
    values = empty(min(count, len(view) - start), np.dtype(f"{'i' if zigzag else 'u'}{bits // 8}"))
    return values, call.decode(view, start, count, bits, zigzag, values)


def encode_varints(values: Any, *, bits: int = 64, zigzag: bool = False) -> NDArray[np.uint8]:
    """Encode integers as varints, one after the other, each in the fewest bytes.

    Parameters
    ----------
    values : array of integers
        Any integer type.
    bits : {64, 32}, default 64
        Width of the type.
    zigzag : bool, default False
        Whether to write zigzag; without it negative values are refused.

    Returns
    -------
    numpy.ndarray of uint8
        Packed varints.

    Raises
    ------
    EncodeError
        ``out_of_range``: a value does not fit the type; ``row`` is its index.
    TypeError
        The values are not integers.

    Examples
    --------
    >>> encode_varints([1, 300, 3]).tobytes().hex()
    '01ac0203'
    >>> encode_varints([-1, 150], zigzag=True).tobytes().hex()
    '01ac02'
    """
    import numpy as np

    _check_bits(bits)
    numbers = np.asarray(values)
    if numbers.size == 0:
        return np.empty(0, np.uint8)
    if numbers.dtype.kind not in "iu" or numbers.ndim != 1:
        raise TypeError("values must be a one-dimensional array of integers")
    signed = numbers.dtype.kind == "i"
    wide = np.ascontiguousarray(numbers, np.int64 if signed else np.uint64)
    out = Growing((5 if bits == 32 else 10) * len(wide))
    return out.finish(
        kernel("wire.buffers._varint").encode(wide, len(wide), signed, zigzag, bits, out.buffer)
    )


def _check_bits(bits: int) -> None:
    if bits not in (32, 64):
        raise ValueError("bits must be 32 or 64")
