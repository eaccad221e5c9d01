"""Columns for the tests of the wire layer, and a run of both implementations."""

import numpy as np
import pytest

from kcodec import DecodeError, EncodeError


def column(values: list[bytes], kind=np.int32) -> tuple[bytes, np.ndarray]:
    """Put byte strings into one column."""
    return b"".join(values), np.cumsum([0, *map(len, values)]).astype(kind)


def facts(value):
    """Make a result comparable."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.tolist()
    if isinstance(value, tuple):
        return tuple(facts(part) for part in value)
    return value


def same(function, *args, **kwargs):
    """Run a function on both implementations; their one answer, or the facts of their one error."""
    answers = []
    for name in ("native", "pure"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("KCODEC_IMPL", name)
            try:
                answers.append((facts(function(*args, **kwargs)), None))
            except (DecodeError, EncodeError) as error:
                answers.append((None, (type(error), error.row, error.offset, error.code)))
            except (ValueError, OverflowError) as error:
                answers.append((None, (type(error), str(error))))
    assert answers[0] == answers[1]
    return answers[0]
