"""Tasks of Spark: the same rows in more and more partitions."""

import functools
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from axes.axis import Axis, record

_ROWS = 100_000


@functools.lru_cache(1)
def _frame(partitions: int) -> Any:
    """Return a DataFrame of payloads, in a session that is started for the first of them."""
    from pyspark.sql import functions as F
    from spark_peers import ROOT, classic

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = ROOT
    spark = classic({})
    value = F.lit(bytes(range(0, 20, 2)))
    frame = spark.range(_ROWS).select(value.alias("value")).repartition(partitions).cache()
    frame.count()
    return frame


def _run(count: int, column: Callable[[], Any]) -> Callable[[], Any]:
    from spark_peers import run

    frame, made = _frame(count), column()

    return functools.partial(run, frame.select(made.alias("r")))


def tasks(count: int) -> Callable[[], Any]:
    import json

    from kcodec_spark import from_avro

    return _run(count, lambda: from_avro("value", json.dumps(record(10))))


def tasks_of_nothing(count: int) -> Callable[[], Any]:
    from pyspark.sql.functions import arrow_udf

    return _run(count, lambda: arrow_udf(lambda values: values, "binary")("value"))


AXES = {
    "tasks": Axis(
        "from_avro, 100,000 rows in partitions (Spark)",
        (1, 10, 100, 1_000),
        tasks,
        "a UDF of nothing",
        tasks_of_nothing,
        clock=time.perf_counter,
    ),
}
