"""Calls for one value, which their compiled twin makes shorter."""

from collections.abc import Callable
from typing import Any

__all__ = ["quick_decode_one", "quick_deserialize_one"]


def quick_decode_one(original: Callable[..., Any]) -> Callable[..., Any]:
    """See `kcodec.objects.kernel`."""
    return original


def quick_deserialize_one(original: Callable[..., Any]) -> Callable[..., Any]:
    """See `kcodec.objects.kernel`."""
    return original
