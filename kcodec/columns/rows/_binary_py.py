"""Conversions between binary arrays and lists of bytes: the reference that the compiled twin is tested against."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

__all__ = ["binary_array", "bytes_list"]


def binary_array(values: Sequence[Any], others: bool = False) -> pa.Array | None:
    """Return the array of a list or tuple of bytes and None; None if something else is in it, or more than 2 GiB.

    With `others`, bytearrays, memoryviews and text count as the bytes that they hold.
    """
    plain = [_bytes(value) for value in values] if others else values
    if any(not isinstance(value, bytes) and value is not None for value in plain):
        return None
    found = pa.array(plain, pa.binary())
    return found if isinstance(found, pa.Array) else None


def _bytes(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode()
    return bytes(value) if isinstance(value, (bytearray, memoryview)) else value


def bytes_list(array: pa.Array) -> list[bytes | None]:
    """Return the values of a binary array of any layout as a list of bytes and None."""
    return array.to_pylist()
