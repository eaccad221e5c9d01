"""A binary array of Python's bytes: the reference that the compiled twin is tested against."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

__all__ = ["binary_array"]


def binary_array(values: Sequence[Any]) -> pa.Array | None:
    """Return the array of a sequence of bytes and None; None if something else is in it, or more than 2 GiB."""
    if any(not isinstance(value, bytes) and value is not None for value in values):
        return None
    found = pa.array(values, pa.binary())
    return found if isinstance(found, pa.Array) else None
