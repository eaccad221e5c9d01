"""Plans of JSON in plain Python, which runs them as they are."""

from kcodec.plan.node import Limits, Plan


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
