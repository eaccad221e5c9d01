"""The Spark part of ``kcodec demo``; classic and Connect sessions need processes of their own.

``python -m kcodec_spark.demo classic VALUES REGISTRY SUBJECT`` and ``... connect ...`` read Parquet with the
columns ``value`` (framed orders) and ``expected`` (the same written again with the latest schema, or
null). Each finished step is a line of JSON on standard output.
"""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ERROR = "_error"
_HOST = "127.0.0.1"
_SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.driver.bindAddress": _HOST,
    "spark.driver.host": _HOST,
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    # Rows go to Python in batches of 10,000, rather than in the smaller ones of the Parquet reader.
    "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "false",
}


def main(arguments: list[str]) -> None:
    """Run one of the sessions, or the server of the Connect session."""
    # Workers run this Python and find this package, whether or not it is installed.
    root = str(Path(__file__).parents[1])
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    os.environ["SPARK_LOCAL_IP"] = _HOST
    kind, *parameters = arguments
    if kind == "server":
        _serve(parameters[0])
    elif kind == "classic":
        spark = _classic({})
        try:
            _show(spark, *parameters)
        finally:
            spark.stop()
    else:
        _connect(*parameters)


def _classic(settings: dict[str, str]) -> "SparkSession":
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("kcodec demo")
    for name, value in {**_SETTINGS, **settings}.items():
        builder = builder.config(name, value)
    spark: SparkSession = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _serve(port: str) -> None:
    """Run a Connect server until standard input ends."""
    spark = _classic(
        {
            "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
            "spark.connect.grpc.binding.address": _HOST,
            "spark.connect.grpc.binding.port": port,
        }
    )
    try:
        print("ready", flush=True)
        sys.stdin.read()
    finally:
        spark.stop()


def _connect(values: str, registry: str, subject: str) -> None:
    from pyspark.sql import SparkSession

    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "kcodec_spark.demo", "server", str(port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            if not any(line.strip() == "ready" for line in server.stdout):
                raise SystemExit("the Spark Connect server did not start")
            spark = SparkSession.builder.remote(f"sc://{_HOST}:{port}").getOrCreate()
            try:
                _show(spark, values, registry, subject)
            finally:
                spark.stop()
        finally:
            server.stdin.close()
            try:
                server.wait(60)
            except subprocess.TimeoutExpired:
                server.kill()


def _report(step: str, **facts: Any) -> None:
    print(json.dumps({"step": step, **facts}, default=str), flush=True)


def _show(spark: "SparkSession", values: str, registry: str, subject: str) -> None:
    from pyspark.sql import functions as F

    from kcodec_spark import from_avro, to_avro

    _report("started", version=spark.version)
    rows = spark.read.parquet(values)
    decoded = rows.select(
        from_avro(
            "value",
            options={"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _ERROR},
            subject=subject,
            schemaRegistryAddress=registry,
        ).alias("order"),
        "expected",
    )
    fields = [name for name in decoded.select("order.*").columns if name != _ERROR]
    seconds = min(_seconds(decoded) for _ in range(3))
    shown = decoded.where("order.id is not null").select("order.id", "order.customer", "order.total").limit(3)
    bad = decoded.where(f"order.{_ERROR} is not null").select(f"order.{_ERROR}.*")
    codes = sorted(row["code"] for row in bad.select("code").collect())
    _report("decoded", seconds=seconds, rows=[list(row) for row in shown.collect()], codes=codes)

    # Kept as columns, so that the time to encode is not that of decoding as well.
    kept = f"{values}.{os.getpid()}"
    good = decoded.where(f"expected is not null and order.{_ERROR} is null")
    good.select(*(f"order.{name}" for name in fields), "expected").write.parquet(kept)
    orders = spark.read.parquet(kept)
    record = F.struct(*(F.col(name) for name in fields))
    bytes_again = to_avro(record, subject=subject, schemaRegistryAddress=registry)
    encoded = orders.select(bytes_again.alias("encoded"), "expected")
    seconds = min(_seconds(encoded) for _ in range(2))
    counted = encoded.select(F.count("*"), F.count_if(F.col("encoded") == F.col("expected"))).collect()[0]
    _report("encoded", seconds=seconds, count=counted[0], equal=counted[1])


def _seconds(frame: Any) -> float:
    start = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - start


if __name__ == "__main__":
    main(sys.argv[1:])
