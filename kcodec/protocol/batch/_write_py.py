"""Records of magic 2 in plain Python; ``_kernel_py`` shows their layout."""

from itertools import pairwise
from typing import Any

import pyarrow as pa

from kcodec.errors import CODES, EncodeError
from kcodec.wire.single import write

__all__ = ["encode"]

_HEADER = 61


def encode(
    keys: pa.Array | None,
    values: pa.Array,
    headers: Any,
    offsets: Any,
    timestamps: Any,
    breaks: Any,
    max_bytes: int,
) -> tuple[pa.Buffer, list[tuple[int, int, int, int]]]:
    """Write the records of batches, each with room before it for the header of its batch.

    `headers` are where the headers of each row start and end, all of their keys, and all of their values. `breaks` is
    not 0 where a batch starts in any case. None stands for null keys, offsets that number the rows, timestamps that are
    all the same, and batches that end by their size alone. Returned are the bytes, and for each batch its first row,
    the row after its last, where its records start and end.
    """
    rows = len(values)
    offsets = range(rows) if offsets is None else memoryview(offsets).cast("B").cast("q")
    timestamps = bytes(8 * rows) if timestamps is None else timestamps
    timestamps = memoryview(timestamps).cast("B").cast("q")
    breaks = bytes(rows) if breaks is None else memoryview(breaks)
    texts = _texts(headers)
    out = bytearray()
    batches: list[tuple[int, int, int, int]] = []
    first = start = 0
    for row, (key, value) in enumerate(
        zip([None] * rows if keys is None else _bytes(keys), _bytes(values), strict=True)
    ):
        content = (key, value, texts[row] if texts else [], offsets, timestamps)
        record = _record(row, first, *content)
        is_full = row > first and _HEADER + len(out) - start + len(record) > max_bytes
        if row == 0 or breaks[row] or is_full:
            if row:
                batches.append((first, row, start, len(out)))
            out += bytes(_HEADER)
            first, start = row, len(out)
            record = _record(row, first, *content)
        if _HEADER + len(record) > 0x7FFFFFFF:
            raise EncodeError(row, None, "", "size_limit", CODES["size_limit"])
        out += record
    if rows:
        batches.append((first, rows, start, len(out)))
    return pa.py_buffer(bytes(out)), batches


def _record(
    row: int, first: int, key: bytes | None, value: bytes | None, headers: Any, offsets: Any, timestamps: Any
) -> bytes:
    delta = (timestamps[row] - timestamps[first] + (1 << 63)) % (1 << 64) - (1 << 63)
    body = b"\0" + _zigzag(delta) + _zigzag(offsets[row] - offsets[first]) + _sized(key) + _sized(value)
    body += _zigzag(len(headers))
    for name, content in headers:
        if name is None:
            raise EncodeError(row, None, "headers.key", "null_value", CODES["null_value"])
        body += _sized(name) + _sized(content)
    return _zigzag(len(body)) + body


def _zigzag(value: int) -> bytes:
    return write(value << 1 ^ value >> 63)


def _sized(value: bytes | None) -> bytes:
    return b"\1" if value is None else _zigzag(len(value)) + value


def _bytes(array: pa.Array) -> list[bytes | None]:
    return [
        value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
        for value in array.to_pylist()
    ]


def _texts(headers: Any) -> list[list[tuple[bytes | None, bytes | None]]]:
    if headers is None:
        return []
    edges, names, contents = headers
    pairs = list(zip(_bytes(names), _bytes(contents), strict=True))
    return [pairs[first:last] for first, last in pairwise(memoryview(edges).cast("B").cast("i").tolist())]
