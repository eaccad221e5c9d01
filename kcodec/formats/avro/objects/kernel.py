"""What reads and writes Avro's values as Python objects, compiled or in plain Python."""

from kcodec import _impl
from kcodec.formats.avro.plans.node import AvroNode
from kcodec.objects.form import ObjectForm
from kcodec.objects.kernel import Reader, Writer
from kcodec.plan import Limits, Plan


def object_reader(plan: Plan, limits: Limits, form: ObjectForm, *, trailing: bool) -> Reader:
    """Return what reads payloads of a plan of columns as Python objects."""
    module = _impl.kernel("formats.avro.objects._read")
    if _converts(plan.root) or any(_converts(node) for _, node in plan.named):
        # Where a reader's logical types are others, which is seldom, the twin reads: by columns.
        module = _impl.kernel("formats.avro.objects._read", "pure")
    return module.ObjectReader(plan, limits, form, trailing=trailing)


def _converts(node: AvroNode) -> bool:
    """Return whether something below a node is read at another scale, or in a coarser unit."""
    return node.shift != 0 or node.divisor != 1 or any(map(_converts, node.children))


def object_writer(plan: Plan, limits: Limits, form: ObjectForm) -> Writer:
    """Return what writes Python objects by a plan of `kcodec.formats.avro.plans.encode_plan.object_plan`."""
    return _impl.kernel("formats.avro.objects._write").ObjectWriter(plan, limits, form)
