"""The row loops of JSON that are in use."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from kcodec import _impl
from kcodec.errors import Fault
from kcodec.plan.kernel import RowKernel

if TYPE_CHECKING:
    from kcodec.formats.json import _kernel_py

__all__ = ["JsonKernel", "kernel"]


class JsonKernel(RowKernel, Protocol):
    """The row loops of JSON, compiled or in plain Python."""

    def decode(
        self,
        values: pa.Array,
        programs: Sequence[Any],
        *,
        selector: Any = None,
        starts: Any = None,
        ends: Any = None,
        trailing: bool = False,
        stop: bool = False,
    ) -> tuple[pa.Array, list[Fault]]:
        """Decode one document per row, which may end before the row does; offsets count from the row's start."""

    def encode(
        self,
        array: pa.Array,
        program: Any,
        *,
        prefix: bytes = b"",
        suffix: bytes = b"",
        large: bool = False,
        stop: bool = False,
    ) -> tuple[pa.Array, list[Fault]]:
        """Encode one document per row.

        Parameters
        ----------
        array : pyarrow.Array
            Of the type of the program's plan.
        program : Program
            Of an encode plan.
        prefix, suffix : bytes
            Put before and behind each document.
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
            If the documents hold more than 2 GiB and `large` is not set.
        """


def kernel() -> JsonKernel:
    """Return the module that is in use."""
    chosen: JsonKernel = _impl.kernel("formats.json._kernel")
    return chosen


if TYPE_CHECKING:
    _twin: JsonKernel = _kernel_py
