"""Measure kcodec in Spark beside a codec of zero cost and a loop over the usual library: ``python spark_peers.py``.

Every codec runs in the same kind of Arrow UDF, on the same cached rows, into the noop sink: records of 15 fields,
plain Avro beside fastavro, or with ``--format protobuf`` plain Protobuf beside google.protobuf (upb). ``zero cost``
returns what was there before: it costs what Spark costs. Rounds are interleaved; medians are printed and written as
JSON. Classic and Connect sessions run in processes of their own, one after the other.

With ``--spark 3.5 4.0 4.1`` kcodec alone is measured, in these versions of Spark, by the processor time of a session
and all its processes: decoding by the function of columns that the version has, and by ``kcodec_spark.decode``. All are
compared with the function of the last version. Environments are those of ``tests/services/artifacts.py``.
"""

import functools
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from rounds import command_line, interleaved, processor_time

import kcodec

ROOT = str(Path(kcodec.__file__).parents[1])
HOST = "127.0.0.1"
SETTINGS = {
    "spark.driver.memory": "4g",
    "spark.driver.bindAddress": HOST,
    "spark.driver.host": HOST,
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    # Vectorised readers hand out smaller batches, and slower.
    "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "false",
}
_MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
FIELDS = [
    ("id", "long"),
    ("customer", "long"),
    ("status", "string"),
    ("currency", "string"),
    ("channel", "string"),
    ("email", ["null", "string"]),
    ("note", ["null", "string"]),
    ("quantity", "int"),
    ("price", "double"),
    ("weight", "double"),
    ("score", ["null", "double"]),
    ("gift", "boolean"),
    ("created", _MILLIS),
    ("updated", ["null", _MILLIS]),
    ("device", "string"),
]
SCHEMA = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": name, "type": kind} for name, kind in FIELDS],
}
PROTO = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
enum Status { NEW = 0; PAID = 1; SHIPPED = 2; DELIVERED = 3; }
message Order {
  int64 id = 1; int64 customer = 2; Status status = 3; string currency = 4; string channel = 5;
  optional string email = 6; optional string note = 7; int32 quantity = 8; double price = 9; double weight = 10;
  optional double score = 11; bool gift = 12; google.protobuf.Timestamp created = 13;
  google.protobuf.Timestamp updated = 14; string device = 15;
}
"""
#: How many different records there are; they repeat.
DISTINCT = 20_000
#: Rows that Spark gives to Python at once.
BATCH = 10_000


def records(seed: int = 11) -> pa.StructArray:
    """Make the records, about 137 bytes of Avro or 132 of Protobuf each."""
    r = random.Random(seed)

    def one(row: int) -> dict[str, Any]:
        created = (1_700_000_000_000 + row * 37) * 1000
        return {
            "id": 10_000_000_000 + row,
            "customer": r.randrange(5_000_000),
            "status": r.choice(("NEW", "PAID", "SHIPPED", "DELIVERED")),
            "currency": r.choice(("EUR", "USD", "CHF")),
            "channel": r.choice(("web", "ios", "android", "partner")),
            "email": f"user{r.randrange(10**6)}@example.com" if r.random() < 0.8 else None,
            "note": "leave at the front door" if r.random() < 0.3 else None,
            "quantity": r.randrange(1, 200),
            "price": r.random() * 100,
            "weight": r.random() * 30,
            "score": r.random() if r.random() < 0.6 else None,
            "gift": r.random() < 0.1,
            "created": created,
            "updated": created + 5_000_000 if r.random() < 0.5 else None,
            "device": f"{r.getrandbits(64):016x}-{r.getrandbits(64):016x}",
        }

    return pa.array([one(row) for row in range(DISTINCT)], kcodec.AvroCodec(json.dumps(SCHEMA)).arrow_type)


class Format(NamedTuple):
    """A format: kcodec's codec and columns, and what a careful user would run without them."""

    codec: Any
    decode: Any
    encode: Any
    peer: str
    peer_decode: Callable[[pa.Array], pa.Array]
    peer_encode: Callable[[pa.Array], pa.Array]


def avro() -> Format:
    """Make what is measured of Avro."""
    import io

    from kcodec_spark import from_avro, to_avro

    codec = kcodec.AvroCodec(json.dumps(SCHEMA))
    arrow_type, schema = codec.arrow_type, SCHEMA

    def decode(values: pa.Array) -> pa.Array:
        import fastavro

        parsed = fastavro.parse_schema(schema)
        rows = [fastavro.schemaless_reader(io.BytesIO(value), parsed) for value in values.to_pylist()]
        return pa.array(rows, arrow_type)

    def encode(values: pa.Array) -> pa.Array:
        import fastavro

        parsed = fastavro.parse_schema(schema)
        rows = []
        for row in values.to_pylist():
            out = io.BytesIO()
            fastavro.schemaless_writer(out, parsed, row)
            rows.append(out.getvalue())
        return pa.array(rows, pa.binary())

    return Format(codec, from_avro("value", codec), to_avro("record", codec), "fastavro", decode, encode)


def protobuf() -> Format:
    """Make what is measured of Protobuf; fields without presence that have their default are null, as in Spark."""
    from kcodec_spark import SparkLayout, from_protobuf, to_protobuf

    codec = kcodec.ProtobufCodec(PROTO, absent="null", layout=SparkLayout())
    arrow_type, descriptors = codec.arrow_type, codec.descriptor_set

    def order() -> Any:
        # What a generated module does when it is imported; later calls find what is there.
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2

        pool = descriptor_pool.Default()
        for file in descriptor_pb2.FileDescriptorSet.FromString(descriptors).file:
            if file.name != timestamp_pb2.DESCRIPTOR.name:
                pool.AddSerializedFile(file.SerializeToString())
        return message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))

    def decode(values: pa.Array) -> pa.Array:
        message_class = order()
        parse = message_class.FromString
        messages = [parse(value) for value in values.fill_null(b"").to_pylist()]
        names = {
            value.number: value.name
            for value in message_class.DESCRIPTOR.fields_by_name["status"].enum_type.values
        }
        names[0] = None
        columns = {
            "id": [m.id or None for m in messages],
            "customer": [m.customer or None for m in messages],
            "status": [names[m.status] for m in messages],
            "currency": [m.currency or None for m in messages],
            "channel": [m.channel or None for m in messages],
            "email": [m.email if m.HasField("email") else None for m in messages],
            "note": [m.note if m.HasField("note") else None for m in messages],
            "quantity": [m.quantity or None for m in messages],
            "price": [m.price or None for m in messages],
            "weight": [m.weight or None for m in messages],
            "score": [m.score if m.HasField("score") else None for m in messages],
            "gift": [m.gift or None for m in messages],
            "created": [m.created.ToMicroseconds() if m.HasField("created") else None for m in messages],
            "updated": [m.updated.ToMicroseconds() if m.HasField("updated") else None for m in messages],
            "device": [m.device or None for m in messages],
        }
        arrays = [pa.array(columns[field.name], field.type) for field in arrow_type]
        return pa.StructArray.from_arrays(arrays, fields=list(arrow_type), mask=values.is_null())

    def encode(values: pa.Array) -> pa.Array:
        message_class = order()
        rows = []
        for row in values.to_pylist():
            created, updated = row.pop("created"), row.pop("updated")
            message = message_class(**{name: value for name, value in row.items() if value is not None})
            if created is not None:
                message.created.FromDatetime(created)
            if updated is not None:
                message.updated.FromDatetime(updated)
            rows.append(message.SerializeToString())
        return pa.array(rows, pa.binary())

    columns = from_protobuf("value", schema=PROTO), to_protobuf("record", schema=PROTO)
    return Format(codec, *columns, "upb", decode, encode)


FORMATS = {"avro": avro, "protobuf": protobuf}


def contestants(folder: str, format: str = "avro") -> tuple[dict[str, Any], dict[str, Any], Any]:
    """Make the columns to measure: what decodes ``value``, what encodes ``record``; and the payloads.

    What the codecs of zero cost return is in a file of `folder`, which each worker maps once.
    """
    from pyspark.sql.functions import arrow_udf
    from pyspark.sql.types import BinaryType

    from kcodec_spark.types import from_arrow_type

    measured = FORMATS[format]()
    encoded = measured.codec.encode(records())
    ready = measured.codec.decode(encoded)
    assert measured.peer_decode(encoded).equals(ready)
    assert measured.codec.decode(measured.peer_encode(ready)).equals(ready)
    spark_type = from_arrow_type(ready.type)

    prepared = f"{folder}/prepared.arrow"
    batch = pa.record_batch({"record": ready.slice(0, BATCH), "payload": encoded.slice(0, BATCH)})
    with pa.OSFile(prepared, "wb") as file, pa.ipc.new_file(file, batch.schema) as writer:
        writer.write_batch(batch)

    def udf(function: Any, kind: Any, column: str) -> Any:
        return arrow_udf(function, kind).asNondeterministic()(column)

    decode = {
        "zero cost": udf(zero_cost(prepared, "record"), spark_type, "value"),
        "kcodec": measured.decode,
        measured.peer: udf(measured.peer_decode, spark_type, "value"),
    }
    encode = {
        "zero cost": udf(zero_cost(prepared, "payload"), BinaryType(), "record"),
        "kcodec": measured.encode,
        measured.peer: udf(measured.peer_encode, BinaryType(), "record"),
    }
    return decode, encode, encoded


def zero_cost(prepared: str, name: str) -> Callable[[pa.Array], pa.Array]:
    """Return what gives the first rows of a column in a file, which each worker maps once."""

    def give(values: pa.Array) -> pa.Array:
        import pyarrow

        # Workers stay, functions are unpickled for each task.
        kept = pyarrow.__dict__.setdefault("kept_by_benchmarks", {})
        if (prepared, name) not in kept:
            kept[prepared, name] = pyarrow.ipc.open_file(pyarrow.memory_map(prepared)).get_batch(0)[name]
        return kept[prepared, name].slice(0, len(values))

    return give


def measure(kind: str, spark: Any, format: str, rows: int, rounds: int) -> dict[str, Any]:
    """Measure one session."""
    from pyspark.sql import functions as F

    with tempfile.TemporaryDirectory() as folder:
        decode, encode, encoded = contestants(folder, format)
        values = cached(spark, encoded, rows, folder)
        result = {"decode": compare(kind, "decode", values, decode, rounds)}
        # Kept only now: Spark takes what is kept for every query that would make the same.
        orders = values.select(decode["kcodec"].alias("record")).cache()
        assert orders.where(F.col("record.id").isNull()).count() == 0
        result["encode"] = compare(kind, "encode", orders, encode, rounds)
    return result


def cached(spark: Any, encoded: pa.Array, rows: int, folder: str) -> Any:
    """Return a DataFrame of payloads, which repeat, in memory."""
    file = f"{folder}/values.parquet"
    pq.write_table(pa.table({"value": encoded}), file)
    times = -(-rows // DISTINCT)
    values = spark.read.parquet(file).crossJoin(spark.range(times)).select("value").limit(rows)
    values = values.repartition(8).cache()
    assert values.count() == rows
    return values


def functions(rows: int, rounds: int) -> dict[str, float]:
    """Measure decoding in this version of Spark: seconds of processor time of a million rows."""
    from kcodec_spark import decode, from_avro

    codec = kcodec.AvroCodec(json.dumps(SCHEMA))
    spark = classic({})
    try:
        with tempfile.TemporaryDirectory() as folder:
            values = cached(spark, codec.encode(records()), rows, folder)
            frames = {
                "function": values.select(from_avro("value", codec).alias("r")).select("r.*"),
                "DataFrame": decode(values, {"r": ("value", codec)}, keep=[]).select("r.*"),
            }
            medians = medians_of(frames, rounds, processor_time)
    finally:
        spark.stop()
    return {name: seconds * 1e6 / rows for name, seconds in medians.items()}


def versions(names: list[str], rows: int, rounds: int) -> dict[str, dict[str, float]]:
    """Measure versions of Spark one after the other, and print them beside the last one."""
    sys.path.append(f"{ROOT}/tests/services")
    from artifacts import python

    result = {}
    for name in names:
        with tempfile.NamedTemporaryFile() as file:
            of_child = {"session": "functions", "rows": rows, "rounds": rounds, "out": file.name}
            command = [
                python(f"spark-{name}"),
                __file__,
                *(f"--{key}={value}" for key, value in of_child.items()),
            ]
            subprocess.run(command, check=True)
            result[name] = json.loads(Path(file.name).read_text())
    for name, medians in result.items():
        for way, seconds in medians.items():
            ratio = seconds / result[names[-1]]["function"]
            print(f"Spark {name}, {way:9} {seconds:6.2f} s of a processor for a million rows, {ratio:5.2f}")
    return result


def compare(kind: str, direction: str, source: Any, columns: dict[str, Any], rounds: int) -> dict[str, float]:
    """Measure one direction and print it."""
    wanted = "r.*" if direction == "decode" else "r"
    frames = {name: source.select(column.alias("r")).select(wanted) for name, column in columns.items()}
    medians = medians_of(frames, rounds)
    for name, seconds in medians.items():
        ratio = seconds / medians["zero cost"]
        print(f"{kind:8} {direction} {name:10} {seconds:6.2f} s, {ratio:5.2f} of zero cost", flush=True)
    return medians


def medians_of(
    frames: dict[str, Any], rounds: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """Return the median seconds of each frame, by a clock."""
    return interleaved({name: functools.partial(run, frame) for name, frame in frames.items()}, rounds, clock)


def run(frame: Any) -> None:
    """Make all rows of a frame."""
    frame.write.format("noop").mode("overwrite").save()


def classic(settings: dict[str, str]) -> Any:
    """Start a classic session."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("kcodec peers")
    for name, value in {**SETTINGS, **settings}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def serve(port: str) -> None:
    """Run a Connect server until standard input ends."""
    spark = classic(
        {
            "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
            "spark.connect.grpc.binding.address": HOST,
            "spark.connect.grpc.binding.port": port,
        }
    )
    print("ready", flush=True)
    sys.stdin.read()
    spark.stop()


def connect(format: str, rows: int, rounds: int) -> dict[str, Any]:
    """Measure a Connect session, whose server is another process."""
    from pyspark.sql import SparkSession

    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port = probe.getsockname()[1]
    command = [sys.executable, __file__, "--session=server", f"--port={port}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            if not any(line.strip() == "ready" for line in server.stdout):
                raise SystemExit("the Spark Connect server did not start")
            spark = SparkSession.builder.remote(f"sc://{HOST}:{port}").getOrCreate()
            try:
                return measure("connect", spark, format, rows, rounds)
            finally:
                spark.stop()
        finally:
            server.stdin.close()
            server.wait(60)


def main() -> None:
    """Measure the sessions asked for."""
    parser = command_line(__doc__, rows=1_000_000, rounds=5)
    parser.add_argument("--format", choices=list(FORMATS), default="avro")
    parser.add_argument(
        "--session", choices=["both", "classic", "connect", "server", "functions"], default="both"
    )
    parser.add_argument("--spark", nargs="+", metavar="VERSION", help="3.5, 4.0, 4.1: measure these")
    parser.add_argument("--port")
    parser.add_argument("--out", type=Path, help="write the medians, in seconds, as JSON")
    given = parser.parse_args()
    size = (given.format, given.rows, given.rounds)
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [ROOT, os.environ.get("PYTHONPATH")]))
    if given.session == "server":
        serve(given.port)
        return
    if given.spark:
        result: dict[str, Any] = versions(given.spark, given.rows, given.rounds)
    elif given.session == "functions":
        result = functions(given.rows, given.rounds)
    elif given.session == "both":
        result = {}
        for kind in ("classic", "connect"):
            with tempfile.NamedTemporaryFile() as file:
                options = dict(
                    zip(("format", "rows", "rounds"), size, strict=True), session=kind, out=file.name
                )
                command = [f"--{name}={value}" for name, value in options.items()]
                subprocess.run([sys.executable, __file__, *command], check=True)
                result |= json.loads(Path(file.name).read_text())
    elif given.session == "classic":
        spark = classic({})
        try:
            result = {"classic": measure("classic", spark, *size)}
        finally:
            spark.stop()
    else:
        result = {"connect": connect(*size)}
    if given.out:
        given.out.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
