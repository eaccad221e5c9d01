"""The plain-Python twin of ``_endian``: the same functions, short and slow."""

from typing import Any


def move(
    source: Any,
    offset: int,
    stride: int,
    target: Any,
    target_offset: int,
    target_stride: int,
    count: int,
    size: int,
    swap: bool,
) -> None:
    """Move ``count`` values of ``size`` bytes, turning their bytes around with ``swap``."""
    source, target = memoryview(source).cast("B"), memoryview(target).cast("B")
    if size not in (2, 4, 8) or offset < 0 or target_offset < 0 or stride < size or target_stride < size:
        raise ValueError("size, offset or stride out of range")
    last = max(count - 1, 0)
    if count > 0 and (
        offset + last * stride + size > len(source)
        or target_offset + last * target_stride + size > len(target)
    ):
        raise ValueError("the values reach outside a buffer")
    for i in range(count):
        value = bytes(source[offset + i * stride : offset + i * stride + size])
        at = target_offset + i * target_stride
        target[at : at + size] = value[::-1] if swap else value
