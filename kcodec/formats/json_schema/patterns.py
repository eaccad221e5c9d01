"""Which names the regular expressions of a schema match, in time that does not explode."""

import functools
import re
from collections.abc import Callable, Sequence
from itertools import compress

from kcodec._lazy import compute as pc
from kcodec.errors import SchemaError
from kcodec.formats.json_schema.regular_expressions import translated

__all__ = ["matching"]

#: What lets a backtracking matcher take for ever: a group that is repeated, a group that is referred to.
_EXPLOSIVE = re.compile(r"\)[*+{]|\\[1-9]|\(\?P=|\\k<")
_REPEATED = re.compile(r"[*+]|\{[0-9]*,")

#: Repetitions in a pattern, and characters in a name, that a backtracking matcher is given.
_MAX_REPEATED = 3
_MAX_NAME = 200


#: Characters of names that are one step of a comparison, and steps back of a backtracking matcher that are.
_CHARACTERS = 10
_STEPS_BACK = 10_000


def matching(pattern: str, names: Sequence[str], done: Callable[[int], None]) -> set[str]:
    r"""Return the names in which a regular expression is found.

    RE2 is asked, which takes linear time; what it does not take (looking ahead or behind) is matched by backtracking
    only where that cannot explode.

    Parameters
    ----------
    pattern : str
        The regular expression.
    names : sequence of str
        The names.
    done : function
        Takes the steps of a comparison that come next, and may raise.

    Raises
    ------
    SchemaError
        If it can.

    Examples
    --------
    >>> steps = []
    >>> matching("^x-", ["x-id", "id"], steps.append), matching("(a|aa)+$", ["a" * 50 + "b"], steps.append)
    ({'x-id'}, set())
    >>> matching("^(?!x)", ["y"], steps.append), steps
    ({'y'}, [1, 6, 1, 0])
    """
    import pyarrow as pa

    pattern = translated(pattern)
    done(1 + sum(map(len, names)) // _CHARACTERS)
    try:
        # Halves of surrogate pairs, which UTF-8 has not, are question marks.
        texts = pa.array([name.encode("utf-8", "replace") for name in names], pa.string())
        found = pc.match_substring_regex(texts, pattern).to_pylist()
    except (pa.ArrowInvalid, UnicodeEncodeError):
        matcher, repeated = _backtracking(pattern)
        found = []
        for name in names:
            if len(name) > _MAX_NAME:
                raise SchemaError(f"matching {pattern!r} takes too long") from None
            done(len(name) ** (1 + repeated) // _STEPS_BACK)
            found.append(matcher.search(name))
    return set(compress(names, found))


@functools.lru_cache(1000)
def _backtracking(pattern: str) -> tuple[re.Pattern[str], int]:
    """Return a matcher, and how many repetitions it has."""
    repeated = len(_REPEATED.findall(pattern))
    if _EXPLOSIVE.search(pattern) or repeated > _MAX_REPEATED:
        raise SchemaError(f"matching {pattern!r} takes too long")
    try:
        return re.compile(pattern), repeated
    except re.error as error:
        raise SchemaError(f"the regular expression {pattern!r}: {error}") from None
