"""ksqlDB's streams and tables: their statements, and the topics behind them as their columns.

The names below are loaded when they are first used.
"""

from typing import TYPE_CHECKING

from kcodec._lazy import lazy_names

if TYPE_CHECKING:
    from kcodec.ksql.catalogue import list_statements
    from kcodec.ksql.records.records import Records
    from kcodec.ksql.statement.parser import parse
    from kcodec.ksql.statement.statement import Statement
    from kcodec.ksql.topic import RowFollower, follow, read, write
    from kcodec.ksql.types import StatementError

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
        ".catalogue": ["list_statements"],
        ".records.records": ["Records"],
        ".statement.parser": ["parse"],
        ".statement.statement": ["Statement"],
        ".topic": ["RowFollower", "follow", "read", "write"],
        ".types": ["StatementError"],
    },
)
