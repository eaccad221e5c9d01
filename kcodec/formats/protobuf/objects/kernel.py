"""What reads and writes Protobuf's messages as Python objects, compiled or by columns."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pyarrow as pa

from kcodec import _impl
from kcodec.formats.protobuf.descriptor import MessageType
from kcodec.formats.protobuf.plans.node import FieldNode
from kcodec.objects.form import ObjectForm
from kcodec.objects.kernel import Reader, Writer
from kcodec.plan import Limits, Plan


class Conversion(NamedTuple):
    """How the messages of a plan that are one value each become objects, or are made of them."""

    #: The type that the plan is of.
    message: MessageType
    #: That of its columns, with values in place of bytes.
    kind: pa.DataType
    #: Makes what converts a message of a type, of the type of its column, and so many levels down; None if columns are
    #: to.
    convert: Callable[[MessageType, pa.DataType, int], Callable[[Any], Any] | None]


def message_in(message: MessageType | None, field: FieldNode) -> MessageType | None:
    """Return the type of the messages in a field of a plan; None where the type of the plan is not told."""
    return None if message is None else message.by_number[field.number].message


def object_reader(
    plan: Plan, limits: Limits, columns: Reader, form: ObjectForm, conversion: Conversion | None = None
) -> Reader:
    """Return what reads the messages of a plan of columns; `columns` reads those that are not plain."""
    module = _impl.kernel("formats.protobuf.objects._read")
    return module.object_reader(plan, limits, columns, form, conversion)


def object_writer(plan: Plan, columns: Writer, conversion: Conversion | None = None) -> Writer:
    """Return what writes the messages of a plan of columns; `columns` writes those that are not plain."""
    return _impl.kernel("formats.protobuf.objects._write").object_writer(plan, columns, conversion)
