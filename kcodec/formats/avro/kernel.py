"""The row loops of Avro that are in use."""

from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from kcodec import _impl
from kcodec.errors import Fault
from kcodec.plan.kernel import RowKernel

if TYPE_CHECKING:
    from kcodec.formats.avro import _kernel_py

__all__ = ["AvroKernel", "kernel"]


class AvroKernel(RowKernel, Protocol):
    """The row loops of Avro, compiled or in plain Python."""

    def encode(
        self, array: pa.Array, program: Any, *, prefix: bytes = b"", large: bool = False, stop: bool = False
    ) -> tuple[pa.Array, list[Fault]]:
        """Encode one datum per row.

        Parameters
        ----------
        array : pyarrow.Array
            Of the type of the program's plan.
        program : Program
            Of an encode plan.
        prefix : bytes
            Put before each datum.
        large : bool
            Whether the result has 64-bit offsets.
        stop : bool
            Whether to return after the first fault; the array is then not meaningful.

        Returns
        -------
        tuple of (pyarrow.Array, list of Fault)
            Binary, null for null rows and for rows that failed; and these rows, in order.

        Raises
        ------
        CapacityError
            If the datums hold more than 2 GiB and `large` is not set.
        """


def kernel() -> AvroKernel:
    """Return the module that is in use."""
    chosen: AvroKernel = _impl.kernel("formats.avro._kernel")
    return chosen


if TYPE_CHECKING:
    _twin: AvroKernel = _kernel_py
