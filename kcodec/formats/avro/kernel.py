"""The row loops of Avro that are in use."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from kcodec import _impl
from kcodec.errors import Fault
from kcodec.plan.kernel import RowKernel

if TYPE_CHECKING:
    from kcodec.formats.avro import _kernel_py


class AvroKernel(RowKernel, Protocol):
    """The row loops of Avro, compiled or in plain Python."""

    def encode(
        self, array: pa.Array, program: Any, *, prefix: bytes = b"", large: bool = False, stop: bool = False
    ) -> tuple[pa.Array, Sequence[Fault]]:
        """Encode one datum per row, of a column of the type of the program's plan, as `decode` decodes.

        Each datum stands behind `prefix`; `large` is whether the result has 64-bit offsets.
        """


def kernel() -> AvroKernel:
    """Return the module that is in use."""
    return _impl.kernel("formats.avro._kernel")


if TYPE_CHECKING:
    _twin: AvroKernel = _kernel_py
