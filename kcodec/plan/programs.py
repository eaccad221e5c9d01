"""A plan made ready for whichever kernel runs it."""

from typing import Any

from kcodec.plan.node import Limits, Plan


class Programs:
    """A plan and its programs, one for each kernel that has run it; it pickles as the plan."""

    def __init__(self, plan: Plan, limits: Limits) -> None:
        self.plan = plan
        self.limits = limits
        self._compiled: dict[str, Any] = {}

    def compiled(self, module: Any) -> Any:
        """Return the program of a kernel."""
        found = self._compiled.get(module.__name__)
        if found is None:
            # Threads that come here at once make the same program; the first one put there stays.
            found = self._compiled.setdefault(module.__name__, module.Program(self.plan, self.limits))
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return Programs, (self.plan, self.limits)
