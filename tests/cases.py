"""Tables: many small cases in one test, which tells of each that fails."""

import functools
import inspect
import traceback
from collections.abc import Callable, Iterable

import pytest


def cases(names: str | tuple[str, ...], values: Iterable, ids: Iterable | Callable | None = None) -> Callable:
    """Run a test for each case, given as to ``pytest.mark.parametrize``, but all in one test.

    A test of its own costs seven milliseconds when four workers run it, whatever it does: too much for the thousand
    lines of a table. All cases run with the same fixtures; those that fail are told by name, with their tracebacks.
    """
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
    table = []
    for value in values:
        name = None
        if isinstance(value, type(pytest.param())):
            assert not value.marks, "a case has no marks of its own"
            name, value = value.id, value.values if len(names) > 1 else value.values[0]
        table.append((name, dict(zip(names, value if len(names) > 1 else [value], strict=True))))
    given = [None] * len(table) if ids is None or callable(ids) else [*ids]
    shown = ids if callable(ids) else repr
    table = [
        (str(name or own or "-".join(str(shown(value)) for value in case.values())), case)
        for (own, case), name in zip(table, given, strict=True)
    ]
    assert table, "no cases"

    def decorate(test: Callable) -> Callable:
        @functools.wraps(test)
        def run(*own, **fixtures):
            told = []
            for name, case in table:
                try:
                    test(*own, **fixtures, **case)
                # One that skips itself would skip those behind it.
                except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:
                    told.append(f"{name}\n{''.join(traceback.format_exception(error))}")
            if told:
                pytest.fail(f"{len(told)} of {len(table)} cases:\n" + "\n".join(told), pytrace=False)

        signature = inspect.signature(test)
        others = [value for key, value in signature.parameters.items() if key not in names]
        run.__signature__ = signature.replace(parameters=others)
        return run

    return decorate
