"""Objects by the thousand, made while Python's collector of garbage waits."""

import gc
import sys
from collections.abc import Callable
from typing import Any

#: Where threads run at once, others would be without it too.
_HAS_GIL = getattr(sys, "_is_gil_enabled", lambda: True)()


def uncollected(make: Callable[..., Any], *given: Any) -> Any:
    """Call what makes objects without circles among them, and calls no code of users.

    For every 700 new dicts and lists the collector would look through those that are there, again and again, and find
    nothing: a fifth of the time of what makes many.

    >>> uncollected(list, ((each,) for each in "ab"))
    [('a',), ('b',)]
    """
    if not (_HAS_GIL and gc.isenabled()):
        return make(*given)
    gc.disable()
    try:
        return make(*given)
    finally:
        gc.enable()
