"""The row loops of JSON that are in use."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from kcodec import _impl
from kcodec.errors import Fault
from kcodec.plan.kernel import RowKernel

if TYPE_CHECKING:
    from kcodec.formats.json import _kernel_py


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
    ) -> tuple[pa.Array, Sequence[Fault]]:
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
    ) -> tuple[pa.Array, Sequence[Fault]]:
        """Encode one document per row, with the same bytes before and behind each; else as Avro does."""


def kernel() -> JsonKernel:
    """Return the module that is in use."""
    return _impl.kernel("formats.json._kernel")


if TYPE_CHECKING:
    _twin: JsonKernel = _kernel_py
