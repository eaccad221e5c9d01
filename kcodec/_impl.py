"""The one place that chooses between the compiled modules and their plain-Python twins."""

import functools
import importlib
import os
import sys
from types import ModuleType

__all__ = ["IMPLEMENTATIONS", "VARIABLE", "chosen", "environment", "kernel"]

IMPLEMENTATIONS = ("native", "pure")

#: The variables as `os.environ` keeps them: asking it for one that is missing takes as long as decoding a small column.
environment = vars(os.environ)["_data"]
VARIABLE = os.environ.encodekey("KCODEC_IMPL")

#: What the environment chooses now, to keep what was made of it apart; None if nothing is said.
chosen = functools.partial(environment.get, VARIABLE)


def kernel(name: str, impl: str | None = None) -> ModuleType:
    """Return the module that implements a kernel, whose compiled module has a dotted name below ``kcodec``.

    Its twin has the same name with ``_py`` appended. One of `IMPLEMENTATIONS` is given, or said by the environment
    variable ``KCODEC_IMPL``; else it is ``"native"``. There is no fallback: a compiled module that cannot be imported
    raises `ImportError`.
    """
    return _module(name, impl or chosen())


@functools.cache
def _module(name: str, value: str | bytes | None) -> ModuleType:
    chosen = os.fsdecode(value or "native")
    if chosen not in IMPLEMENTATIONS:
        raise ValueError(f"implementation {chosen!r} is not one of {', '.join(IMPLEMENTATIONS)}")
    suffix = "" if chosen == "native" else "_py"
    full = f"kcodec.{name}{suffix}"
    try:
        return importlib.import_module(full)
    except ModuleNotFoundError as error:
        if suffix or error.name != full:
            raise
        text = (
            f"there is no compiled {full} for {sys.implementation.cache_tag} on {sys.platform}: kcodec was "
            "installed for another Python or platform, or stands in a zip file, from which Python imports nothing "
            "compiled; KCODEC_IMPL=pure runs without"
        )
        raise ModuleNotFoundError(text, name=full) from None
