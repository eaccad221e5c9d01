"""What every row loop provides, whether compiled or in plain Python."""

from collections.abc import Sequence
from typing import Any, Protocol

import pyarrow as pa

from kcodec.errors import Fault
from kcodec.plan.node import Limits, Plan


class RowKernel(Protocol):
    """A compiled module or its twin in plain Python. Each format also has an ``encode`` of its own."""

    __name__: str

    def Program(self, plan: Plan, limits: Limits = ...) -> Any:
        """Make a plan ready to run: an object that is never changed, so that threads may share it."""

    def decode(
        self,
        values: pa.Array,
        programs: Sequence[Any],
        *,
        selector: Any = None,
        starts: Any = None,
        trailing: bool = False,
        stop: bool = False,
    ) -> tuple[pa.Array, Sequence[Fault]]:
        """Decode one payload per row.

        Parameters
        ----------
        values : pyarrow.Array
            Binary or string of any layout; null rows stay null.
        programs : sequence of Program or None
            Programs of one Arrow type; rows that choose None, or none of them, are null.
        selector : buffer of int32, optional
            Per row which program; by default the first for all.
        starts : buffer of int32, or bytes, optional
            Per row where the payload starts; or what all rows start with before it, and
            `kcodec.plan.failure.OtherPrefix` is raised where one does not.
        trailing : bool
            Whether anything may stand behind a value.
        stop : bool
            Whether to return after the first fault; the array is then not meaningful.

        Returns
        -------
        tuple of (pyarrow.Array, sequence of Fault)
            A value per row, null for rows that failed; and these rows, in order.
        """
