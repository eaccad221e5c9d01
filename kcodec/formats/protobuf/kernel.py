"""The row loops of Protobuf that are in use."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from kcodec import _impl
from kcodec.errors import Fault
from kcodec.plan.kernel import RowKernel

if TYPE_CHECKING:
    from kcodec.formats.protobuf import _kernel_py


class ProtobufKernel(RowKernel, Protocol):
    """The row loops of Protobuf, compiled or in plain Python.

    Nothing marks the end of a message, so ``trailing`` of `decode` means nothing.
    """

    def decode(
        self,
        values: pa.Array,
        programs: Sequence[Any],
        *,
        selector: Any = None,
        starts: Any = None,
        trailing: bool = False,
        stop: bool = False,
        picked: Any = None,
    ) -> tuple[pa.Array, Sequence[Fault]]:
        """Decode one message per row.

        `picked`, a buffer of int32, has the only rows that are decoded, in order, by the first program; the others
        are null.
        """

    def encode(
        self, array: pa.Array, program: Any, *, prefix: bytes = b"", large: bool = False, stop: bool = False
    ) -> tuple[pa.Array, Sequence[Fault]]:
        """Encode one message per row, of a column of the type of the program's plan, as `decode` decodes.

        Each message stands behind `prefix`; `large` is whether the result has 64-bit offsets.
        """


def kernel() -> ProtobufKernel:
    """Return the module that is in use."""
    return _impl.kernel("formats.protobuf._kernel")


if TYPE_CHECKING:
    _twin: ProtobufKernel = _kernel_py
