"""A codec's call for one value, which its compiled twin makes shorter."""

from collections.abc import Callable
from typing import Any

__all__ = ["quickly"]


def quickly(decode_one: Callable[..., Any]) -> Callable[..., Any]:
    """See `kcodec.objects.kernel`."""
    return decode_one
