"""Python objects to Protobuf's messages in plain Python: by columns, as what `_write` makes is to be."""

from typing import Any

from kcodec.objects.kernel import Writer
from kcodec.plan import Plan

__all__ = ["object_writer"]


def object_writer(plan: Plan, columns: Writer, conversion: Any = None) -> Writer:
    """Return what writes the messages of a plan."""
    return columns
