"""Which names the regular expressions of a schema match, in time that does not explode."""

import functools
import re

from kcodec.errors import SchemaError

__all__ = ["matches"]

#: A quantified group that holds a quantifier: what lets a backtracking matcher take for ever.
_NESTED = re.compile(r"[*+}?][^()]*\)[*+{]|\\[1-9]")


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
    import pyarrow.compute as pc

    try:
        found = pc.match_substring_regex(pa.array([name]), pattern)
        return bool(found[0].as_py())
    except pa.ArrowInvalid:
        return _backtracking(pattern).search(name) is not None


@functools.lru_cache(1000)
def _backtracking(pattern: str) -> re.Pattern[str]:
    if _NESTED.search(pattern):
        raise SchemaError(f"the regular expression {pattern!r} takes too long")
    try:
        return re.compile(pattern)
    except re.error as error:
        raise SchemaError(f"the regular expression {pattern!r}: {error}") from None
