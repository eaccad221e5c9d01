"""ksqlDB in Spark: keys and values in its formats, and topics as its streams and tables.

The names below are loaded when they are first used.
"""

from typing import TYPE_CHECKING

from kcodec._lazy import lazy_names

if TYPE_CHECKING:
    from kcodec_spark.ksql.functions import from_ksql, to_ksql
    from kcodec_spark.ksql.topics import (
        KsqlView,
        ksql_views,
        read_ksql,
        readStream_ksql,
        select_ksql,
        write_ksql,
    )

__all__ = [
    "KsqlView",
    "from_ksql",
    "ksql_views",
    "readStream_ksql",
    "read_ksql",
    "select_ksql",
    "to_ksql",
    "write_ksql",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        ".functions": ["from_ksql", "to_ksql"],
        ".topics": ["KsqlView", "ksql_views", "readStream_ksql", "read_ksql", "select_ksql", "write_ksql"],
    },
)
