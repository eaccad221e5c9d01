"""Arrow columns to Python objects: the reference that `_rows` is tested against."""

from typing import Any

import pyarrow as pa

__all__ = ["rows"]


def rows(array: pa.Array) -> list[Any]:
    """Return the values of a checked array as a list of Python objects."""
    return array.to_pylist()
