"""What reads and writes Avro's values as Python objects, compiled or in plain Python."""

from kcodec import _impl
from kcodec.objects.form import ObjectForm
from kcodec.objects.kernel import Reader, Writer
from kcodec.plan import Limits, Plan

__all__ = ["object_reader", "object_writer"]


def object_reader(plan: Plan, limits: Limits, form: ObjectForm, *, trailing: bool) -> Reader:
    """Return what reads payloads of a plan of columns as Python objects."""
    made: Reader = _impl.kernel("formats.avro.objects._read").ObjectReader(
        plan, limits, form, trailing=trailing
    )
    return made


def object_writer(plan: Plan, limits: Limits, form: ObjectForm) -> Writer:
    """Return what writes Python objects by a plan of `kcodec.formats.avro.encode_plan.object_plan`."""
    made: Writer = _impl.kernel("formats.avro.objects._write").ObjectWriter(plan, limits, form)
    return made
