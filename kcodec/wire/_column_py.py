"""How the plain-Python kernels walk a column of byte slices."""

from kcodec.wire._faults import bad_slice

__all__ = ["element", "elements"]

_FORMATS = {4: "i", 8: "q"}


def elements(data, offsets, width, stride, rows, first=0):
    """Yield index, start and bytes of each element from the first one on."""
    data = memoryview(data).cast("B")
    if width not in (0, 4, 8) or rows < 0 or stride < 0:
        raise ValueError("width, stride or rows of a column out of range")
    if width == 0:
        if stride > 0 and rows > len(data) // stride:
            raise ValueError(f"{rows} values of {stride} bytes do not fit in {len(data)} bytes")
        edges = range(0, stride * rows + 1, stride) if stride else [0] * (rows + 1)
    else:
        edges = memoryview(offsets).cast("B").cast(_FORMATS[width])
        if len(edges) < rows + 1:
            raise ValueError(f"{rows} rows need {rows + 1} offsets")
    for row in range(first, rows):
        start, end = edges[row], edges[row + 1]
        if not 0 <= start <= end <= len(data):
            raise bad_slice(row)
        yield row, start, bytes(data[start:end])


def element(data, size, row):
    """Return one element of a column whose elements all have that size."""
    return bytes(memoryview(data).cast("B")[size * row : size * (row + 1)])
