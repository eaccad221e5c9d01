"""What reads and writes Protobuf's messages as Python objects, compiled or by columns."""

from kcodec import _impl
from kcodec.objects.form import ObjectForm
from kcodec.objects.kernel import Reader, Writer
from kcodec.plan import Limits, Plan

__all__ = ["object_reader", "object_writer"]


def object_reader(plan: Plan, limits: Limits, columns: Reader, form: ObjectForm) -> Reader:
    """Return what reads the messages of a plan of columns; `columns` reads those that are not plain."""
    return _impl.kernel("formats.protobuf.objects._read").object_reader(plan, limits, columns, form)


def object_writer(plan: Plan, columns: Writer) -> Writer:
    """Return what writes the messages of a plan of columns; `columns` writes those that are not plain."""
    return _impl.kernel("formats.protobuf.objects._write").object_writer(plan, columns)
