"""Arrays of fixed-width numbers in either byte order, with an offset and a stride."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from kcodec._impl import kernel
from kcodec.arguments import Buffer
from kcodec.wire._faults import decode_error
from kcodec.wire.slices import empty

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Bytes of each type.
_SIZES = {
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "uint64": 8,
    "float32": 4,
    "float64": 8,
}


def read_fixed(
    data: Buffer,
    type: str,
    *,
    order: str = "big",
    offset: int = 0,
    stride: int | None = None,
    count: int | None = None,
) -> NDArray[Any]:
    """Read numbers that stand at equal distances.

    Parameters
    ----------
    data : buffer
        Any bytes.
    type : {"int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"}
        What to read.
    order : {"big", "little"}, default "big"
        Byte order in data.
    offset : int, default 0
        Byte where the first begins.
    stride : int, optional
        Bytes from one to the next, not less than the type has; by default they are packed.
    count : int, optional
        How many. By default as many as data has; packed ones must then end where data ends.

    Returns
    -------
    numpy.ndarray
        Of that type, in the machine's order.

    Raises
    ------
    DecodeError
        ``truncated``: data ends before or inside a number; ``row`` is its index, ``offset`` its first byte.
    ValueError
        An argument is out of range.

    Examples
    --------
    >>> read_fixed(bytes([0, 1, 0, 2]), "int16")
    array([1, 2], dtype=int16)
    >>> read_fixed(bytes([9, 1, 0, 9, 2, 0]), "uint16", order="little", offset=1, stride=3)
    array([1, 2], dtype=uint16)
    """
    size, swap = _check(type, order)
    step = size if stride is None else stride
    view = memoryview(data).cast("B")
    if offset < 0 or step < size or (count is not None and count < 0):
        raise ValueError("offset, stride or count out of range")
    whole = max(0, (len(view) - offset - size) // step + 1) if len(view) >= offset + size else 0
    cut = stride is None and len(view) - offset - whole * step != 0
    if (cut and len(view) > offset) if count is None else count > whole:
        raise decode_error("truncated", whole, offset + whole * step)
    values = empty(whole if count is None else count, type)
    kernel("wire.buffers._endian").move(view, offset, step, values, 0, size, len(values), size, swap)
    return values


def write_fixed(
    values: Any,
    type: str,
    *,
    order: str = "big",
    into: Any = None,
    offset: int = 0,
    stride: int | None = None,
) -> Any:
    """Write numbers at equal distances.

    Parameters
    ----------
    values : array
        Numbers that the type holds without loss of range (NumPy's ``same_kind`` casts; Python ints are
        checked).
    type : {"int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"}
        What to write.
    order : {"big", "little"}, default "big"
        Byte order to write.
    into : writable buffer, optional
        Where to write; bytes between the numbers stay as they are. By default a new array of zeros.
    offset : int, default 0
        Byte where the first begins.
    stride : int, optional
        Bytes from one to the next, not less than the type has; by default they are packed.

    Returns
    -------
    numpy.ndarray of uint8, or `into`
        What was written to.

    Raises
    ------
    ValueError
        An argument is out of range, or ``into`` is too short.
    OverflowError
        An integer is outside the type's range.

    Examples
    --------
    >>> write_fixed([1, 2], "int16").tobytes().hex()
    '00010002'
    >>> write_fixed([1, 2], "uint16", order="little", offset=1, stride=3).tobytes().hex()
    '000100000200'
    """
    import numpy as np

    size, swap = _check(type, order)
    step = size if stride is None else stride
    if offset < 0 or step < size:
        raise ValueError("offset or stride out of range")
    source = np.asarray(values)
    numbers = np.ascontiguousarray(source.astype(type))
    if numbers.ndim != 1:
        raise ValueError("values must be one-dimensional")
    if numbers.dtype.kind in "iu" and len(source):
        if source.dtype.kind not in "iu":
            raise TypeError("values must be integers")
        limits = np.iinfo(type)
        if int(source.min()) < limits.min or int(source.max()) > limits.max:
            raise OverflowError(f"a value is outside the range of {type}")
    target = into
    if target is None:
        target = np.zeros(offset + (len(numbers) - 1) * step + size if len(numbers) else offset, np.uint8)
    kernel("wire.buffers._endian").move(numbers, 0, size, target, offset, step, len(numbers), size, swap)
    return target


def _check(type: str, order: str) -> tuple[int, bool]:
    """Return the size of a type, and whether its bytes must be turned around."""
    if type not in _SIZES:
        raise ValueError(f"type must be one of {', '.join(_SIZES)}")
    if order not in ("big", "little"):
        raise ValueError("order must be 'big' or 'little'")
    return _SIZES[type], order != sys.byteorder
