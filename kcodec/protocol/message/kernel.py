"""The row loops of Kafka's messages that are in use."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from kcodec import _impl
from kcodec.errors import Fault
from kcodec.plan import Limits, Plan
from kcodec.plan.kernel import RowKernel

if TYPE_CHECKING:
    from kcodec.protocol.message import _kernel_py


class MessageKernel(RowKernel, Protocol):
    """The row loops of Kafka's messages, compiled or in plain Python."""

    def Program(self, plan: Plan, limits: Limits = ..., lenient: bool = False) -> Any:
        """Make a plan ready to run; if lenient, it reads all that Kafka's own reader accepts."""

    def decode(
        self,
        values: pa.Array,
        programs: Sequence[Any],
        *,
        selector: Any = None,
        starts: Any = None,
        start: int = 0,
        trailing: bool = False,
        stop: bool = False,
    ) -> tuple[pa.Array, list[Fault]]:
        """Decode one message per row; without `starts`, all of them from the same byte on."""

    def decode_one(
        self, data: Any, program: Any, *, start: int = 0, trailing: bool = False
    ) -> tuple[Any, Fault | None]:
        """Decode one message to a dict, or return why it failed."""

    def encode(
        self,
        array: pa.Array,
        programs: Sequence[Any],
        *,
        selector: Any = None,
        large: bool = False,
        stop: bool = False,
    ) -> tuple[pa.Array, Sequence[Fault]]:
        """Encode one message per row, each by the program that it chooses; rows that choose None are null."""

    def encode_one(self, value: Any, program: Any) -> tuple[Any, Fault | None]:
        """Encode one message from a dict, or return why it failed."""

    def version_selector(
        self, values: pa.Array, versions: Sequence[int], at: int, key: int | None = None
    ) -> Any:
        """Return per row which of some versions an int16 near its start names, as a buffer of int32.

        One behind the last stands for other versions, two for rows that do not start with `key`; null rows, and
        those too short to have a version, have 0.
        """


def kernel() -> MessageKernel:
    """Return the module that is in use."""
    return _impl.kernel("protocol.message._kernel")


if TYPE_CHECKING:
    _twin: MessageKernel = _kernel_py
