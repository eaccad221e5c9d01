"""What a row kernel offers, compiled or in plain Python."""

from collections.abc import Sequence
from typing import Any, Protocol

import pyarrow as pa

from kcodec.errors import Fault
from kcodec.plan.node import Limits, Plan

__all__ = ["Program", "RowKernel"]


class Program(Protocol):
    """A plan made ready to run; never changed once made, so that threads may share it."""

    @property
    def plan(self) -> Plan:
        """The plan."""

    @property
    def limits(self) -> Limits:
        """Bounds on what a row may cost."""


class RowKernel(Protocol):
    """The row loops of a format. `kcodec._impl.kernel` returns the compiled module or its twin in plain Python."""

    __name__: str

    def Program(self, plan: Plan, limits: Limits = ...) -> Program:  # noqa: N802
        """Make a plan ready to run."""

    def decode(
        self,
        values: pa.Array,
        programs: Sequence[Program | None],
        *,
        selector: Any = None,
        starts: Any = None,
        trailing: bool = False,
        stop: bool = False,
    ) -> tuple[pa.Array, list[Fault]]:
        """Decode one payload per row.

        Parameters
        ----------
        values : pyarrow.Array
            Binary or string of any layout; null rows stay null.
        programs : sequence of Program or None
            Programs of one Arrow type; rows that choose None, or none of them, are null.
        selector : buffer of int32, optional
            Per row which program; by default the first for all.
        starts : buffer of int32, optional
            Per row where the payload starts.
        trailing : bool
            Whether anything may stand behind a value.
        stop : bool
            Whether to return after the first fault; the array is then not meaningful.

        Returns
        -------
        tuple of (pyarrow.Array, list of Fault)
            A value per row, null for rows that failed; and these rows, in order.
        """

    def encode(
        self,
        array: pa.Array,
        program: Program,
        *,
        prefix: bytes = b"",
        large: bool = False,
        stop: bool = False,
    ) -> tuple[pa.Array, list[Fault]]:
        """Encode one payload per row.

        Parameters
        ----------
        array : pyarrow.Array
            Of the type of the program's plan.
        program : Program
            Of an encode plan.
        prefix : bytes
            Put before each payload.
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
            If the payloads hold more than 2 GiB and `large` is not set.
        """
