"""ksqlDB's streams and tables: their statements, and the topics behind them as their columns.

The names below are loaded when they are first used.
"""

from typing import TYPE_CHECKING

from kcodec._lazy import lazy_names

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

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Records": ".records",
        "RowFollower": ".topic",
        "Statement": ".statement",
        "StatementError": "..formats.ksql.types",
        "follow": ".topic",
        "list_statements": ".catalogue",
        "parse": ".parser",
        "read": ".topic",
        "write": ".topic",
    },
)
