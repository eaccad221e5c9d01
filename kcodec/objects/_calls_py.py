"""Calls for one value, which their compiled twin makes shorter."""

from collections.abc import Callable
from typing import Any

__all__ = ["quick_decode_one", "quick_deserialize_one"]


def quick_decode_one(decode_one: Callable[..., Any]) -> Callable[..., Any]:
    """See `kcodec.objects.kernel`."""
    return decode_one


def quick_deserialize_one(deserialize_one: Callable[..., Any]) -> Callable[..., Any]:
    """See `kcodec.objects.kernel`."""
    return deserialize_one
