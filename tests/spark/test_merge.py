"""``merge_newest``: the rows that are merged, and the statement that does it; Spark has no such table of its own."""

import pytest

from kcodec.errors import ConfigError, SchemaError
from kcodec_spark import merge, merge_newest

CHANGES = [
    (1, None, "new", 1, False),
    (1, None, "paid", 3, False),
    (2, "x", "new", 2, False),
    (2, "x", None, 4, True),
    (3, None, "new", 5, None),
]


@pytest.fixture
def changes(spark):
    return spark.createDataFrame(
        CHANGES, "id bigint, `the.part` string, status string, offset bigint, gone boolean"
    )


@pytest.mark.parametrize("order", ["offset", ["gone", "offset"]])
def test_the_newest_of_each_key(changes, order):
    found = merge._newest(changes, ["id", "the.part"], ["id", "status"], order, "gone")
    assert sorted(map(tuple, found.collect())) == [(1, "paid", False), (2, None, True), (3, "new", False)]


def test_an_order_by_a_column_of_any_class(changes, monkeypatch):
    """Before Spark 4.0 those of Connect sessions are not of the class that pyspark.sql names."""
    monkeypatch.setattr("pyspark.sql.Column", type("Column", (), {}))
    found = merge._newest(changes, ["id", "the.part"], ["id"], changes["offset"], "gone")
    assert sorted(map(tuple, found.collect())) == [(1, False), (2, True), (3, False)]


def test_the_statement_is_one_of_sparks(classic):
    text = merge._statement("shop.orders", "changes", ["id", "the.part"], ["id", "the.part", "status"])
    plan = classic._jsparkSession.sessionState().sqlParser().parsePlan(text).toString()
    assert "MergeIntoTable" in plan
    assert text == (
        "MERGE INTO shop.orders AS target USING changes AS source "
        "ON target.`id` <=> source.`id` AND target.`the.part` <=> source.`the.part` "
        "WHEN MATCHED AND source.__kcodec_deleted THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET target.`id` = source.`id`, target.`the.part` = source.`the.part`, "
        "target.`status` = source.`status` "
        "WHEN NOT MATCHED AND NOT source.__kcodec_deleted THEN INSERT (`id`, `the.part`, `status`) "
        "VALUES (source.`id`, source.`the.part`, source.`status`)"
    )


def test_what_is_not_merged(changes):
    changes.createOrReplaceTempView("no_table")
    for given, error, message in (
        ({"keys": []}, ConfigError, "is not a list of one name or more"),
        ({"keys": "none", "columns": ["id"]}, SchemaError, "the changes have no column none"),
        ({"keys": "id", "columns": ["status"]}, ConfigError, "has not all of the keys id"),
    ):
        with pytest.raises(error, match=message):
            merge_newest(changes, "no_table", **given)
    # A view has no MERGE, which Spark says, and no view is left behind.
    views = changes.sparkSession.sql("SHOW VIEWS").count()
    with pytest.raises(Exception, match=r"(?i)merge|UNSUPPORTED"):
        merge_newest(changes, "no_table", "id", deleted="gone")
    assert changes.sparkSession.sql("SHOW VIEWS").count() == views
