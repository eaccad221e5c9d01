"""What the row loops in plain Python share: a plan that is ready to run, and how a row ends that cannot be read."""

from collections.abc import Callable

import pyarrow as pa

from kcodec.errors import CODES, Fault
from kcodec.plan.node import Limits, Plan

__all__ = ["BadRow", "Program", "encode_rows", "step"]


class Program:
    """A plan made ready to run.

    Parameters
    ----------
    plan : Plan
        What to do.
    limits : Limits, optional
        What a row may cost.
    """

    def __init__(self, plan: Plan, limits: Limits = Limits()) -> None:  # noqa: B008
        self._plan = plan
        self._limits = limits

    @property
    def plan(self) -> Plan:
        """The plan."""
        return self._plan

    @property
    def limits(self) -> Limits:
        """The limits."""
        return self._limits


class BadRow(Exception):
    """What is wrong with the row at hand."""

    def __init__(self, code: str, offset: int | None, path: str, reason: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.offset = offset
        self.path = path
        self.reason = reason or CODES[code]

    def fault(self, row: int) -> Fault:
        """Give the facts of a row that cannot be read or written."""
        return Fault(row, self.offset, self.path, self.code, self.reason)


def step(path: str, name: str) -> str:
    """Go from a value to a member of it."""
    return f"{path}.{name}" if path and name else path or name


def encode_rows(
    array: pa.Array, write: Callable[[int], bytes], *, large: bool, stop: bool
) -> tuple[pa.Array, list[Fault]]:
    """Write the rows that are not null, by their number; a row that cannot be written is null and a fault."""
    result: list[bytes | None] = []
    faults: list[Fault] = []
    for row in range(len(array)):
        data = None
        if not pa.types.is_null(array.type) and array[row].is_valid:
            try:
                data = write(row)
            except BadRow as bad:
                faults.append(bad.fault(row))
                if stop:
                    break
        result.append(data)
    return pa.array(result, pa.large_binary() if large else pa.binary()), faults
