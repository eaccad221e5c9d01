"""Spark before 4.1, which has no functions of Arrow arrays: in an environment of its own, with the same answers."""

import json
import os
from pathlib import Path

import artifacts
import pytest
from crossings import OLDER
from processes import SPARK, run, worker_path

HERE = Path(__file__).parent
ROWS = [
    '{"id":1152921504606846976,"price":1234567890123456.7890,"prices":[1.20,null],"at":"1500-01-01T00:53:28.000+00:53",'
    '"day":"1500-02-27","time":3723000004,"scores":{"a":[1,2],"b":[]},"raw":"AP8=","deep":[]}',
    '{"id":-5,"text":"ü€𝄞","price":-0.0001,"prices":[],"at":"2024-10-27T01:59:59.999+02:00",'
    '"local":"2024-03-31T02:30:00.000","day":"2024-01-01","scores":{},'
    '"inner":{"times":[null,"2024-10-27T02:30:00.000+01:00"]},"raw":"","deep":[{"parts":[]},{"parts":[{'
    '"at":"1500-01-01T00:53:28.000+00:53","noon":43200000,"marks":{"a":[1234567890123456789.5],"b":[]}}]}],'
    '"lasted":"INTERVAL \'-0 00:00:00.000001\' DAY TO SECOND","months":"INTERVAL \'1-1\' YEAR TO MONTH"}',
    None,
]


UNSIGNED = {
    "type": "struct<small:bigint,large:decimal(20,0),lasted:interval day to second,many:array<decimal(20,0)>,"
    "by:map<string,interval day to second>,fixed:int>",
    "rows": [
        "(4294967295, Decimal('18446744073709551615'), \"INTERVAL '-3 00:00:00.000001' DAY TO SECOND\", "
        "[Decimal('9223372036854775808'), Decimal('0')], \"INTERVAL '-3 00:00:00.000001' DAY TO SECOND\", "
        "-2147483648)",
        "(None, None, None, [], None, None)",
        "(None, None, None, None, None, None)",
    ],
    "again": [True, True, True],
}


#: Of a session of some twenty jobs, and the first start of an environment, on a machine that has more to do.
pytestmark = pytest.mark.timeout(900)


def told_by(name, functions, folder):
    """Return what functions do in a session of a version."""
    python = artifacts.had(lambda: artifacts.python(name))
    artifacts.had(lambda: artifacts.java(artifacts.SPARK_JAVA))
    (pyspark,) = Path(python).parents[1].glob("lib/python*/site-packages/pyspark")
    path = os.pathsep.join([worker_path(folder / "path", pyspark), str(HERE.parents[2])])
    environment = {**os.environ, "PYSPARK_PYTHON": python, "PYTHONPATH": path}
    # As all others here, but for the archive of classes, which is the newest Spark's.
    environment["JDK_JAVA_OPTIONS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    environment.pop("SPARK_CONNECT_MODE_ENABLED", None)
    arguments = [functions, json.dumps(SPARK)]
    printed = run(python, HERE / "older_session.py", *arguments, env=environment, timeout=700)
    told = json.loads(printed.splitlines()[-1])
    assert told["spark"].startswith(name.removeprefix("spark-"))
    return told


@pytest.mark.parametrize("name", OLDER)
def test_functions(name, tmp_path):
    told = told_by(name, "rows", tmp_path)
    assert told["ready"]
    assert told["server"].endswith(
        "ready: from_* functions run as pandas UDFs, and kcodec_spark.encode takes the place of to_*"
    )
    assert told["type"] == (
        "struct<id:bigint,text:string,price:decimal(38,4),prices:array<decimal(12,2)>,at:timestamp,"
        "local:timestamp_ntz,day:date,time:bigint,scores:map<string,array<int>>,"
        "inner:struct<x:int,times:array<timestamp>>,raw:binary,deep:array<struct<parts:array<struct<"
        "at:timestamp,noon:int,marks:map<string,array<decimal(20,1)>>>>>>,lasted:interval day to second,"
        "months:interval year to month>"
    )
    # Newer ones print the seconds of an offset too.
    assert [row and row.replace("+00:53:28", "+00:53") for row in told["rows"]] == ROWS
    assert told["null"] is True
    assert told["permissive"] == [[-5, None, None], [None, "truncated", "01"], [None, None, None]]
    assert "kcodec.errors.DecodeError: truncated: row 1, byte 1, text" in told["failfast"]
    assert told["to_avro"] == (
        "to_avro: before Spark 4.1 a column loses types on its way to Python: kcodec_spark.encode(df, ...) writes "
        "whole DataFrames there"
    )
    assert told["again"] == [True, True, True]
    assert told["frame"] == [None, "truncated", None]
    topics = told["topics"]
    assert topics["read_topic"] == [[0, 3, 3], [1, 3, 3]]
    assert topics["columns"] == (
        "struct<key:binary,value:struct<id:bigint>,topic:string,partition:int,offset:bigint,timestamp:timestamp,"
        "timestampType:int,headers:array<struct<key:string,value:binary>>>"
    )
    assert topics["sum"] == 2 * sum(range(20))
    if name == "spark-3.5":
        # Newer ones send it to the folder of a session.
        assert told["shipped"] == [True]
        assert topics["no source"].endswith(
            "read_topic(spark, options) reads batches; streams come from Spark's source kafka, decoded by from_avro"
        )
        return
    assert topics["source"] == [[0, 3], [1, 3]]
    assert topics["written"] == [3, 3]
    assert topics["batches"] == [[3, 3], [3, 3]]
    assert (
        "streams are written to kcodec_kafka from Spark 4.1 on: before, foreachBatch" in topics["writeStream"]
    )


@pytest.mark.thorough
@pytest.mark.parametrize("name", OLDER)
def test_other_functions(name, tmp_path):
    told = told_by(name, "others", tmp_path)
    assert told["filtered"] == ["ü€𝄞"]
    assert told["fields"] == ["id", "prices"]
    lax, strict = told["streamed"]
    assert lax == [[-5, None], [None, "truncated"]]
    assert "kcodec.errors.DecodeError: truncated: row 1, byte 1, text" in strict
    assert told["unsigned"] == UNSIGNED
    assert told["numbers"] == [["1.25", "9007199254740991", "1.20", "bytearray(b'x')"], ["None"] * 4]
    assert told["sql"] == [2**60, -5, None]
    assert told["plain"] == 7
    assert told["text"] == ['{"a":[1.25,null]}', None]
