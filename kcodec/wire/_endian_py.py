"""The plain-Python twin of ``_endian``: the same functions, short and slow."""


def move(source, offset, stride, target, target_offset, target_stride, count, size, swap):
    """Move ``count`` values of ``size`` bytes, turning their bytes around with ``swap``."""
    source, target = memoryview(source).cast("B"), memoryview(target).cast("B")
    if size not in (2, 4, 8) or offset < 0 or target_offset < 0 or stride < size or target_stride < size:
        raise ValueError("size, offset or stride out of range")
    last = max(count - 1, 0)
    if count > 0 and (
        offset + last * stride + size > len(source) or target_offset + last * target_stride + size > len(target)
    ):
        raise ValueError("the values reach outside a buffer")
    for i in range(count):
        value = bytes(source[offset + i * stride : offset + i * stride + size])
        at = target_offset + i * target_stride
        target[at : at + size] = value[::-1] if swap else value
