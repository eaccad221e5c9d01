"""Which names the regular expressions of a schema match, in time that does not explode."""

import re
from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any

from kcodec._lazy import compute as pc
from kcodec.errors import ConfigError, SchemaError
from kcodec.formats.json_schema.engine import library, pattern_cost, pattern_options
from kcodec.formats.json_schema.regular_expressions import translated

#: Steps back, bytes of an expression and characters of a name that a backtracking matcher is given, and steps of a
#: comparison that this is.
_MAX_STEPS_BACK = 2000
_MAX_SIZE = 1 << 20
_MAX_NAME = 200
_STEPS = 10

#: Characters of names that are one step of a comparison.
_CHARACTERS = 10

#: Characters by their codes, which RE2 writes otherwise.
_CODES = re.compile(r"\\u(?:\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{4}))|\\.", re.DOTALL)


def matching(pattern: str, names: Sequence[str], done: Callable[[int], None]) -> set[str]:
    r"""Return the names in which a regular expression is found.

    RE2 is asked, which takes linear time; for what it does not take (looking ahead or behind, groups referred to), the
    library that validates documents, which ends after so many steps back. If neither takes it, or it takes too many
    steps, that is a `SchemaError`. `done` takes the steps of a comparison that come next, and may raise.

    >>> steps = []
    >>> matching("^x-", ["x-id", "id"], steps.append), matching("(a|aa)+$", ["a" * 50 + "b"], steps.append)
    ({'x-id'}, set())
    >>> matching("^(?!x)", ["y"], steps.append), steps
    ({'y'}, [1, 6, 1, 11])
    """
    import pyarrow as pa

    pattern = translated(pattern)
    cost = pattern_cost(pattern)
    done(cost + sum(map(len, names)) // _CHARACTERS)
    try:
        # Halves of surrogate pairs, which UTF-8 has not, are question marks.
        texts = pa.array([name.encode("utf-8", "replace") for name in names], pa.string())
        return set(compress(names, pc.match_substring_regex(texts, _for_re2(pattern)).to_pylist()))
    except (pa.ArrowInvalid, UnicodeEncodeError):
        done(cost + _STEPS * len(names))
    matcher = _matcher(pattern)
    return {name for name in names if _is_found(matcher, pattern, name)}


def _for_re2(pattern: str) -> str:
    return _CODES.sub(
        lambda found: f"\\x{{{found[1] or found[2]}}}" if found[1] or found[2] else found[0], pattern
    )


def _matcher(pattern: str) -> Any:
    try:
        engine = library()
    except ConfigError:
        raise SchemaError(
            f"to match the regular expression {pattern!r}, install kcodec[jsonschema]"
        ) from None
    try:
        options = pattern_options(_MAX_STEPS_BACK, _MAX_SIZE)
        return engine.Draft7Validator({"pattern": pattern}, pattern_options=options)
    except ValueError:
        raise SchemaError(
            f"the regular expression {pattern!r} is too large, or not one of ECMA 262"
        ) from None


def _is_found(matcher: Any, pattern: str, name: str) -> bool:
    if len(name) > _MAX_NAME:
        raise SchemaError(f"matching {pattern!r} takes too long")
    try:
        matcher.validate(name.encode("utf-8", "replace").decode())
    except ValueError as error:
        if isinstance(getattr(error, "kind", None), library().ValidationErrorKind.Pattern):
            return False
        raise SchemaError(f"matching {pattern!r} takes too long") from None
    return True
