"""What reads Protobuf's messages as Python objects, compiled or by columns."""

from kcodec import _impl
from kcodec.objects.form import ObjectForm
from kcodec.objects.kernel import Reader
from kcodec.plan import Limits, Plan

__all__ = ["object_reader"]


def object_reader(plan: Plan, limits: Limits, columns: Reader, form: ObjectForm) -> Reader:
    """Return what reads the messages of a plan of columns; `columns` reads those that are not plain."""
    made: Reader = _impl.kernel("formats.protobuf.objects._read").object_reader(plan, limits, columns, form)
    return made
