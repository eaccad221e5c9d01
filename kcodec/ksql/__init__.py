"""ksqlDB's streams and tables: their statements, and the topics behind them as their columns.

The names below are loaded when they are first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kcodec.formats.ksql.types import StatementError
    from kcodec.ksql.catalogue import list_statements
    from kcodec.ksql.parser import parse
    from kcodec.ksql.records import Records
    from kcodec.ksql.statement import Statement
    from kcodec.ksql.topic import RowFollower, follow, read, write

__all__ = [
    "Records",
    "RowFollower",
    "Statement",
    "StatementError",
    "follow",
    "list_statements",
    "parse",
    "read",
    "write",
]

_MODULES = {
    "Records": "kcodec.ksql.records",
    "RowFollower": "kcodec.ksql.topic",
    "Statement": "kcodec.ksql.statement",
    "StatementError": "kcodec.formats.ksql.types",
    "follow": "kcodec.ksql.topic",
    "list_statements": "kcodec.ksql.catalogue",
    "parse": "kcodec.ksql.parser",
    "read": "kcodec.ksql.topic",
    "write": "kcodec.ksql.topic",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value = globals()[name] = getattr(importlib.import_module(_MODULES[name]), name)
        return value
    raise AttributeError(f"module 'kcodec.ksql' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
