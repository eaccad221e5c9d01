"""How the plain-Python kernels walk a column of byte slices."""

from collections.abc import Iterator
from typing import Any

from kcodec.arguments import Buffer
from kcodec.wire._faults import bad_slice
from kcodec.wire.slices import BytesColumn

__all__ = ["element", "elements"]


def elements(source: BytesColumn, first: int = 0) -> Iterator[tuple[int, int, bytes]]:
    """Yield index, start and bytes of each element from the first one on."""
    edges: Any
    data, offsets, width, stride, rows = source
    view = memoryview(data).cast("B")
    if width not in (0, 4, 8) or rows < 0 or stride < 0:
        raise ValueError("width, stride or rows of a column out of range")
    if width == 0:
        if stride > 0 and rows > len(view) // stride:
            raise ValueError(f"{rows} values of {stride} bytes do not fit in {len(view)} bytes")
        edges = [stride * row for row in range(rows + 1)]
    else:
        edges = memoryview(offsets).cast("B").cast("i" if width == 4 else "q")
        if len(edges) < rows + 1:
            raise ValueError(f"{rows} rows need {rows + 1} offsets")
    for row in range(first, rows):
        start, end = edges[row], edges[row + 1]
        if not 0 <= start <= end <= len(view):
            raise bad_slice(row)
        yield row, start, bytes(view[start:end])


def element(data: Buffer, size: int, row: int) -> bytes:
    """Return one element of a column whose elements all have that size."""
    return bytes(memoryview(data).cast("B")[size * row : size * (row + 1)])
