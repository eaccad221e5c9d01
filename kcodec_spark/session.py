"""What the Spark of a session can do: found out by trying, since vendors have their own version numbers."""

import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The first version of Apache Spark that has both.
_FULL = (4, 1)


class Abilities(NamedTuple):
    """Abilities that functions of this package depend on."""

    #: Whether functions of Arrow arrays run: `pyspark.sql.functions.arrow_udf`.
    arrow_functions: bool
    #: Whether there is a type for times of the day.
    time_type: bool


#: What servers of Spark Connect can do, by session.
_servers: "weakref.WeakKeyDictionary[Any, Abilities]" = weakref.WeakKeyDictionary()


def abilities(spark: "SparkSession | None" = None) -> Abilities:
    """Return what a session, or else the active one, can do; without one, what this pyspark can."""
    from pyspark.sql import functions, types
    from pyspark.sql.utils import is_remote

    here = Abilities(hasattr(functions, "arrow_udf"), hasattr(types, "TimeType"))
    if not here.arrow_functions or not is_remote():
        return here
    session = spark if spark is not None else _active()
    if session is None:
        return here
    if session not in _servers:
        # A server may be older than its client, and one that calls itself older may have them all the same.
        known = version_of(session.version) >= _FULL or _runs_arrow_functions(session)
        _servers[session] = here if known else Abilities(False, False)
    return _servers[session]


def version_of(text: str) -> tuple[int, int]:
    """Return major and minor version.

    >>> version_of("4.1.0-preview2")
    (4, 1)
    """
    major, minor = text.split(".")[:2]
    return int(major), int("".join(digit for digit in minor if digit.isdigit()) or 0)


def is_column(given: Any) -> bool:
    """Return whether something is a column, for which Connect sessions have a class of their own before Spark 4.0.

    >>> is_column("offset")
    False
    """
    return type(given).__name__ == "Column" and type(given).__module__.startswith("pyspark.")


def _active() -> Any:
    from pyspark.sql import SparkSession

    try:
        return SparkSession.active()
    except Exception:
        # Without a session Spark's classes raise errors of several kinds.
        return None


def _runs_arrow_functions(session: Any) -> bool:
    """Run a query of one row: servers that do not know these functions refuse it before they start a worker."""
    from pyspark.errors import PySparkException
    from pyspark.sql.functions import arrow_udf

    same = arrow_udf(lambda column: column, "bigint")
    try:
        session.range(1).select(same("id")).collect()
    except PySparkException:
        return False
    return True
