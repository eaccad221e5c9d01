"""Columns of byte slices, as every function of `kcodec.wire` takes and returns them."""

from __future__ import annotations

import operator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from kcodec.arguments import Buffer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Slices"]


class Slices(NamedTuple):
    r"""A column of byte strings: element i is ``data[offsets[i]:offsets[i + 1]]``.

    These are the buffers of an Arrow binary or string array.

    Attributes
    ----------
    data : numpy.ndarray of uint8
        All bytes.
    offsets : numpy.ndarray of int32 or int64
        One more than there are elements.

    Examples
    --------
    >>> from kcodec.wire import decimals_to_text
    >>> text = decimals_to_text(b"\x04\xd2", [0, 2], scale=2)
    >>> text.to_list()
    [b'12.34']
    """

    data: NDArray[np.uint8]
    offsets: NDArray[np.int32] | NDArray[np.int64]

    def to_list(self) -> list[bytes]:
        """Return the elements as bytes objects."""
        data = self.data.tobytes()
        edges: list[int] = self.offsets.tolist()
        return [data[first:last] for first, last in pairwise(edges)]


class BytesColumn(NamedTuple):
    """What kernels take: data with offsets of a width, or (width 0) with a stride."""

    data: Any
    offsets: Any
    width: int
    stride: int
    rows: int


def column(data: Buffer, offsets: Buffer, size: int | None = None) -> BytesColumn:
    """Make a kernel's column from data and either offsets or the size that all elements have."""
    import numpy as np

    if (offsets is None) == (size is None):
        raise TypeError("give either offsets or the size that all elements have")
    if size is not None:
        size = operator.index(size)
        if size < 1:
            raise ValueError("size must be at least 1")
        length = memoryview(data).nbytes
        if length % size:
            raise ValueError(f"{length} bytes are not a whole number of elements of {size} bytes")
        return BytesColumn(data, b"", 0, size, length // size)
    return BytesColumn(data, *plain_offsets(np, offsets))


def plain_offsets(np: Any, offsets: Buffer) -> tuple[Any, int, int, int]:
    """Return a contiguous array of int32 or int64, its width, no stride, and the number of rows."""
    edges = np.asarray(offsets)
    if isinstance(offsets, (list, tuple)):
        edges = edges.astype(np.int64)
    if edges.dtype not in (np.dtype(np.int32), np.dtype(np.int64)) or edges.ndim != 1 or len(edges) == 0:
        raise TypeError("offsets must be a one-dimensional array of int32 or int64, one more than elements")
    return np.ascontiguousarray(edges), edges.dtype.itemsize, 0, len(edges) - 1


class Growing:
    """Bytes of a result whose length is known only at the end, in pyarrow's memory pool.

    The pool hands back pages that are already mapped; touching fresh ones costs more than filling them.
    """

    def __init__(self, size: int) -> None:
        import pyarrow as pa

        self.buffer = pa.allocate_buffer(size, resizable=True)

    def double(self) -> None:
        """Make twice the room; what is written stays."""
        self.buffer.resize(2 * self.buffer.size)

    def finish(self, size: int) -> NDArray[np.uint8]:
        """Return the first bytes, and free the others."""
        import numpy as np

        self.buffer.resize(size, shrink_to_fit=True)
        return np.frombuffer(self.buffer, np.uint8)


def empty(count: int, dtype: Any) -> NDArray[Any]:
    """Make an array to be filled, in pyarrow's memory pool."""
    import numpy as np
    import pyarrow as pa

    return np.frombuffer(pa.allocate_buffer(count * np.dtype(dtype).itemsize), dtype)


def narrow(data: NDArray[Any], offsets: NDArray[Any], large: bool) -> Slices:
    """Make the result from data and int64 offsets."""
    import numpy as np

    if large:
        return Slices(data, offsets)
    if int(offsets[-1]) > 0x7FFFFFFF:
        raise OverflowError("the result has more than 2 GiB: use large=True for 64-bit offsets")
    result = empty(len(offsets), np.int32)
    np.copyto(result, offsets, casting="same_kind")
    return Slices(data, result)
