"""What the row loops in plain Python share: a plan that is ready to run, and how a row ends that cannot be read."""

from kcodec.errors import CODES, Fault
from kcodec.plan.node import Limits, Plan

__all__ = ["BadRow", "Program", "step"]


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
