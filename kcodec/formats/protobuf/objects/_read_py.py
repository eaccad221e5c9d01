"""Protobuf's messages to Python objects in plain Python: by columns, as what `_read` makes is to be."""

from typing import Any

from kcodec.objects.form import ObjectForm
from kcodec.objects.kernel import Reader
from kcodec.plan import Limits, Plan

__all__ = ["object_reader"]


def object_reader(
    plan: Plan, limits: Limits, columns: Reader, form: ObjectForm, conversion: Any = None
) -> Reader:
    """Return what reads the messages of a plan."""
    return columns
