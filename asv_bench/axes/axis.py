"""What an axis is: something that grows, and the work whose cost is measured as it does."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["Axis", "record"]


class Axis(NamedTuple):
    """What grows, its points, what makes the work of a point, and what makes that of a peer."""

    title: str
    points: tuple[int, ...]
    prepare: Callable[[int], Callable[[], Any]]
    peer: str = ""
    prepare_peer: Callable[[int], Callable[[], Any]] | None = None
    #: Whether a call leaves all as it was, so that short ones can be timed together.
    repeats: bool = True
    #: What is measured: where the work is that of other processes, the time that passes.
    clock: Callable[[], float] = time.process_time
    #: What else there is to say of the last point.
    tell: Callable[[int], str] | None = None


def record(fields: int, name: str = "R") -> dict[str, Any]:
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": f"f{number}", "type": "long"} for number in range(fields)],
    }
