"""What reads and writes JSON documents as Python objects, compiled or by columns."""

from kcodec import _impl
from kcodec.objects.form import ObjectForm
from kcodec.objects.kernel import Reader, Writer
from kcodec.plan import Limits, Plan


def object_reader(plan: Plan, limits: Limits, columns: Reader, form: ObjectForm) -> Reader:
    """Return what reads the documents of a plan of columns; `columns` reads those that are not plain."""
    return _impl.kernel("formats.json.objects._read").object_reader(plan, limits, columns, form)


def object_writer(
    plan: Plan, columns: Writer, *, fills: bool, before: bytes = b"", behind: bytes = b""
) -> Writer:
    """Return what writes the documents of a plan of columns; `columns` writes those that are not plain.

    With `fills` a key that a dict lacks is a null, as its column would have it. Otherwise the type of such a column has
    no field for it, unless another dict has the key: then nothing is written. What `columns` writes has `before` and
    `behind` around each document.
    """
    module = _impl.kernel("formats.json.objects._write")
    return module.object_writer(plan, columns, fills=fills, before=before, behind=behind)
