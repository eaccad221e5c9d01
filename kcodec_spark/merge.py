"""``merge_newest``: changes by key, merged into a table of Delta Lake, Iceberg or what else has MERGE."""

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kcodec.errors import ConfigError, SchemaError
from kcodec_spark.functions.columns import quoted
from kcodec_spark.session import is_column

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_DELETED, _PLACE = "__kcodec_deleted", "__kcodec_place"
#: What Spark says of a source that is read twice, and may be another the second time.
_NOT_DETERMINISTIC = "INVALID_NON_DETERMINISTIC_EXPRESSIONS"


def merge_newest(
    df: "DataFrame",
    table: str,
    keys: str | Sequence[str],
    *,
    order: "str | Column | Sequence[str | Column]" = "offset",
    deleted: "str | Column | None" = None,
    columns: Sequence[str] | None = None,
) -> None:
    """Bring a table up to date: of each key, the newest row of some changes is updated, inserted or deleted.

    The table is one of any source that has ``MERGE``, such as Delta Lake and Iceberg. Changes that come again change
    nothing, so that the function may be called by ``foreachBatch``, which repeats a batch that has failed. Iceberg
    reads them twice, which Spark refuses of functions that are not ``deterministic``: their rows are kept by the
    executors (`localCheckpoint`) until they are merged.

    Parameters
    ----------
    df : DataFrame
        The changes, a row each, of a batch; classic or Connect.
    table : str
        Name of the table, as SQL has it.
    keys : str or list of str
        The columns that say which row it is. A key that is null is one, too.
    order : str, Column or list of these
        What tells which change of a key is newer: the one with the greatest. All changes of a key are in one partition
        of a topic, unless some were added: then ``["timestamp", "offset"]``.
    deleted : str or Column, optional
        The condition, as SQL if it is text, that a change is a delete: ``"__deleted = 'true'"`` behind
        `unwrap` with ``delete_tombstone_handling_mode="rewrite"``. By default, none is.
    columns : list of str, optional
        What is written, keys included; by default all columns of the table.

    Raises
    ------
    SchemaError
        If the changes have no such columns.
    ConfigError
        If there are no keys, or a column stands for none of the arguments.
    pyspark.errors.PySparkException
        If the table has no ``MERGE``, or does not take the rows.

    Examples
    --------
    >>> from kcodec_spark import from_avro, merge_newest, unwrap
    >>> changes = unwrap(events, delete_tombstone_handling_mode="rewrite").select("value.*", "offset") # doctest: +SKIP
    >>> merge_newest(changes, "shop.orders", "id", deleted="__deleted = 'true'")                # doctest: +SKIP
    """
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F

    named = [keys] if isinstance(keys, str) else list(keys)
    if not named or not all(isinstance(each, str) for each in named):
        raise ConfigError(f"keys={keys!r} is not a list of one name or more")
    spark = df.sparkSession
    written = list(spark.table(table).columns if columns is None else columns)
    missing = [name for name in (*written, *named) if name not in df.columns]
    if missing:
        raise SchemaError(f"the changes have no column {missing[0]}: they have {', '.join(df.columns)}")
    if not set(named) <= set(written):
        raise ConfigError(f"columns={written} has not all of the keys {', '.join(named)}")
    rows = _newest(df, named, written, order, F.lit(False) if deleted is None else deleted)
    try:
        _merge(rows, table, named, written)
    except PySparkException as error:
        if _NOT_DETERMINISTIC not in str(error):
            raise
        _merge(rows.localCheckpoint(), table, named, written)


def _merge(rows: "DataFrame", table: str, keys: list[str], written: list[str]) -> None:
    spark = rows.sparkSession
    view = f"kcodec_{uuid.uuid4().hex}"
    rows.createOrReplaceTempView(view)
    try:
        spark.sql(_statement(table, view, keys, written)).collect()
    finally:
        spark.catalog.dropTempView(view)


def _newest(
    df: "DataFrame",
    keys: list[str],
    written: list[str],
    order: "str | Column | Sequence[str | Column]",
    deleted: "str | Column",
) -> "DataFrame":
    """Return the newest row of each key, and whether it is a delete."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    given: Any = order
    by = [given] if isinstance(given, str) or is_column(given) else list(given)
    newest_first = [(F.col(quoted(each)) if isinstance(each, str) else each).desc_nulls_last() for each in by]
    condition = F.expr(deleted) if isinstance(deleted, str) else deleted
    window = Window.partitionBy(*(F.col(quoted(name)) for name in keys)).orderBy(*newest_first)
    return (
        df.withColumn(_DELETED, F.coalesce(condition, F.lit(False)))
        .withColumn(_PLACE, F.row_number().over(window))
        .where(F.col(_PLACE) == 1)
        .select(*(F.col(quoted(name)) for name in written), _DELETED)
    )


def _statement(table: str, view: str, keys: list[str], written: list[str]) -> str:
    """Return what merges a view of newest rows into a table."""
    same = " AND ".join(f"target.{quoted(name)} <=> source.{quoted(name)}" for name in keys)
    values = [f"source.{quoted(name)}" for name in written]
    update = ", ".join(
        f"target.{quoted(name)} = {value}" for name, value in zip(written, values, strict=True)
    )
    return (
        f"MERGE INTO {table} AS target USING {view} AS source ON {same} "
        f"WHEN MATCHED AND source.{_DELETED} THEN DELETE "
        f"WHEN MATCHED THEN UPDATE SET {update} "
        f"WHEN NOT MATCHED AND NOT source.{_DELETED} THEN INSERT ({', '.join(map(quoted, written))}) "
        f"VALUES ({', '.join(values)})"
    )
