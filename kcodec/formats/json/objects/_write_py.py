"""Python objects to JSON documents in plain Python: by columns, as what `_write` makes is to be."""

from kcodec.objects.kernel import Writer
from kcodec.plan import Plan

__all__ = ["object_writer"]


def object_writer(
    plan: Plan, columns: Writer, *, fills: bool, before: bytes = b"", behind: bytes = b""
) -> Writer:
    """Return what writes the documents of a plan."""
    return columns
