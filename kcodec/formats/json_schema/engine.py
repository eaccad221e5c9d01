"""The library that validates documents, and bounds for the regular expressions that it is given.

They come from strangers. The library's engine takes linear time for what it can, and else ends after so many steps
back. What compiling an expression costs is estimated from its text, since neither its length nor the size of the result
says it: folding the case of one class of 12 characters takes a millisecond.
"""

import functools
import importlib
import re
from typing import Any

from kcodec.errors import ConfigError

_REPEATED = re.compile(r"\{([0-9]{1,9})?,?([0-9]{1,9})?\}")
#: Classes of Unicode, and any that the case of letters may be ignored in.
_LARGE = re.compile(r"\\[pP]")
_CLASS = re.compile(r"\\[pPWDSwds]|\[|\.")
_IGNORES_CASE = re.compile(r"\(\?[a-zA-Z]*i")

#: Repetitions of a class of Unicode beyond which the size of an expression stops its compilation.
_MOST_REPEATED = 200


@functools.cache
def library() -> Any:
    """Return the module ``jsonschema_rs``; `ConfigError` if it is not installed."""
    try:
        return importlib.import_module("jsonschema_rs")
    except ImportError:
        raise ConfigError("to validate documents, install kcodec[jsonschema]") from None


@functools.cache
def metaschemas() -> dict[str, Any]:
    """Return the schemas that the drafts have for schemas, by their URIs of both schemes, as the library has them."""
    found: dict[str, Any] = {}
    for name in ("draft-04/schema", "draft-06/schema", "draft-07/schema"):
        uri = f"http://json-schema.org/{name}"
        found |= library().bundle({"$schema": f"{uri}#", "$ref": uri})["definitions"]
    for name in ("draft/2019-09/schema", "draft/2020-12/schema"):
        uri = f"https://json-schema.org/{name}"
        found |= library().bundle({"$schema": uri, "$ref": uri})["$defs"]
    return found | {uri.replace("http:", "https:"): each for uri, each in found.items()}


def pattern_options(steps_back: int, size: int | None = None) -> Any:
    """Return the options of an engine that gives up after so many steps back, and takes so large expressions only."""
    return library().FancyRegexOptions(backtrack_limit=steps_back, size_limit=size)


def pattern_cost(pattern: str) -> int:
    r"""Return about how many times ten microseconds it takes to compile a regular expression.

    >>> pattern_cost("^[a-z]+$"), pattern_cost(r"^\p{L}{1,50}$"), pattern_cost("(?i:[\u0001-\uffff])" * 100)
    (1, 2501, 14063)
    """
    times = 1
    for least, most in _REPEATED.findall(pattern):
        times = min(times * max(int(most or least or 1), 1), 1 << 20)
    cost = 1 + len(pattern) // 16 + times // 64
    cost += 50 * min(times, _MOST_REPEATED) * len(_LARGE.findall(pattern))
    if _IGNORES_CASE.search(pattern):
        cost += 140 * len(_CLASS.findall(pattern))
    return cost
