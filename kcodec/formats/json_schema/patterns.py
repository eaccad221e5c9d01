"""Which names the regular expressions of a schema match, in time that does not explode."""

import functools
import re

from kcodec._lazy import compute as pc
from kcodec.errors import SchemaError

__all__ = ["matches"]

#: What lets a backtracking matcher take for ever: a group that is repeated, a group that is referred to.
_EXPLOSIVE = re.compile(r"\)[*+{]|\\[1-9]|\(\?P=|\\k<")
_REPEATED = re.compile(r"[*+]|\{[0-9]*,")

#: Repetitions in a pattern, and characters in a name, that a backtracking matcher is given.
_MAX_REPEATED = 3
_MAX_NAME = 200


def matches(pattern: str, name: str) -> bool:
    r"""Return whether a regular expression is found in a name.

    RE2 is asked, which takes linear time; what it does not take (looking ahead or behind) is matched by backtracking
    only where that cannot explode.

    Raises
    ------
    SchemaError
        If it can.

    Examples
    --------
    >>> matches("^x-", "x-id"), matches("(a|aa)+$", "a" * 50 + "b"), matches("^(?!x)", "y")
    (True, False, True)
    """
    import pyarrow as pa

    try:
        found = pc.match_substring_regex(pa.array([name]), pattern)
        return bool(found[0].as_py())
    except pa.ArrowInvalid:
        if len(name) > _MAX_NAME:
            raise SchemaError(f"matching {pattern!r} takes too long") from None
        return _backtracking(pattern).search(name) is not None


@functools.lru_cache(1000)
def _backtracking(pattern: str) -> re.Pattern[str]:
    if _EXPLOSIVE.search(pattern) or len(_REPEATED.findall(pattern)) > _MAX_REPEATED:
        raise SchemaError(f"matching {pattern!r} takes too long")
    try:
        return re.compile(pattern)
    except re.error as error:
        raise SchemaError(f"the regular expression {pattern!r}: {error}") from None
