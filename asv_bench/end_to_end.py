"""Measure kcodec where its users live: a Kafka broker, a schema registry and Spark on one machine.

    python asv_bench/end_to_end.py [--rows 1000000] [--rounds 5] [--only topics|spark|source|filters] [--keep]

Starts the services of ``tests/services`` (Maven and Java), fills a topic with framed Avro of 15 fields, and gives
medians of interleaved rounds of

- reading: Kafka source -> decode -> noop sink, beside the source alone, Spark's Java ``from_avro`` behind the
  frame, fastavro in an Arrow UDF, and an Arrow UDF that returns prepared columns (a codec of no cost);
- writing: columns in memory -> encode -> noop sink, beside the same;
- topics as columns, without Spark: `topic_parts.py`;
- the data source ``kcodec_kafka`` beside Spark's own, classic and from a thin client: `spark_topics.py`
  (``--only filters``: where one row of a hundred is wanted);
- a consumer loop: batches of confluent-kafka's ``consume`` decoded by a serde, and by ``AvroDeserializer`` a
  message at a time.

At the end stand the ratios that are wanted. ``--keep`` adds the run, with its date and machine, to
``asv_bench/results/end_to_end.json``.
"""

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
from rounds import command_line
from spark_peers import BATCH, ROOT, SETTINGS, classic, contestants, medians_of, records
from topic_parts import PARTITIONS, SINGLE, TEXT, TUNED, make_topic, produce, topic_parts

import kcodec

sys.path.insert(0, str(Path(ROOT) / "tests" / "services"))

import processes
from artifacts import copy_packages, python, spark_jars

TOPIC = "measured"
SUBJECT = f"{TOPIC}-value"

#: The server of the tests does without, as what runs once is compiled for nothing.
COMPILED = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}

KEPT = Path(__file__).with_name("results") / "end_to_end.json"


def fill(broker: str, registry: str, topic: str, rows: int) -> int:
    """Produce the values to a topic; gives their mean size."""
    values = kcodec.Serde("AVRO", registry, topic=TOPIC, schema=TEXT).serialize(records()).to_pylist()
    make_topic(broker, topic)
    produce(broker, topic, values, rows)
    return sum(map(len, values)) // len(values)


def show(title: str, seconds: dict[str, float]) -> dict[str, float]:
    """Print what was measured, and what it adds to the source alone."""
    print(f"\n{title}")
    for name, each in seconds.items():
        added, times = each - seconds["source alone"], each / seconds["zero cost"]
        print(f"  {name:18} {each:7.2f} s, {added:+7.2f} s, {times:6.2f} of zero cost")
    return {name: round(each, 3) for name, each in seconds.items()}


def wanted(result: dict[str, Any]) -> dict[str, float]:
    """Print the ratios that are wanted, beside those that were measured."""
    found = {}
    print("\nwhat is wanted")
    for part, least in (("reading", 6), ("writing", 5)):
        seconds = result[f"{part}, seconds"]
        added = {name: each - seconds["source alone"] for name, each in seconds.items()}
        times, less = seconds["kcodec"] / seconds["zero cost"], added["fastavro"] / added["kcodec"]
        found |= {
            f"{part}: kcodec in times of zero cost": times,
            f"{part}: fastavro adds in times of kcodec": less,
        }
        print(f"  {part}: kcodec at most 1.15 of zero cost: {times:.2f}: {'yes' if times <= 1.15 else 'NO'}")
        print(
            f"  {part}: kcodec adds {least} times less than fastavro: {less:.1f}: {'yes' if less >= least else 'NO'}"
        )
    rates = result["consumer, messages a second"]
    times = rates["decoded by the serde"] / rates["decoded by AvroDeserializer"]
    print(f"  consumer loop: decode 20 times faster: {times:.0f}: {'yes' if times >= 20 else 'NO'}")
    found["consumer: serde in times of AvroDeserializer"] = times
    # A loop with AvroDeserializer takes what consuming takes here, and what it takes itself.
    consuming = 1 / rates["consumed and decoded"] - 1 / rates["decoded by the serde"]
    other = 1 / (consuming + 1 / rates["decoded by AvroDeserializer"])
    times = rates["consumed and decoded"] / other
    print(f"  consumer loop: as a whole faster by: {times:.1f}")
    found["consumer: whole loop in times of one with AvroDeserializer"] = times
    return {name: round(each, 2) for name, each in found.items()}


def spark_parts(broker: str, registry: str, rows: int, rounds: int) -> dict[str, Any]:
    """Measure reading and writing in a classic session."""
    from pyspark.sql import functions as F
    from pyspark.sql.avro.functions import from_avro as java_from_avro
    from pyspark.sql.avro.functions import to_avro as java_to_avro

    from kcodec_spark import from_avro, to_avro

    spark = classic({"spark.jars": spark_jars()})
    place = {"subject": SUBJECT, "schemaRegistryAddress": registry}
    try:
        with tempfile.TemporaryDirectory() as folder:
            decode, encode, _ = contestants(folder)
            source = (
                spark.read.format("kafka")
                .option("kafka.bootstrap.servers", broker)
                .option("subscribe", TOPIC)
                .load()
                .select("value")
            )
            assert source.count() == rows
            bare = source.select(F.substring("value", 6, 2**31 - 1).alias("value"))
            frames = {
                "source alone": source,
                "Java from_avro": bare.select(java_from_avro("value", TEXT).alias("r")).select("r.*"),
                "zero cost": source.select(decode["zero cost"].alias("r")).select("r.*"),
                "kcodec": source.select(from_avro("value", **place).alias("r")).select("r.*"),
                "fastavro": bare.select(decode["fastavro"].alias("r")).select("r.*"),
            }
            read = show("reading from Kafka", medians_of(frames, rounds))

            orders = source.select(from_avro("value", **place).alias("record")).repartition(8).cache()
            assert orders.where(F.col("record.id").isNotNull()).count() == rows
            frames = {
                "source alone": orders,
                "Java to_avro": orders.select(java_to_avro("record", TEXT).alias("r")),
                "zero cost": orders.select(encode["zero cost"].alias("r")),
                "kcodec": orders.select(to_avro("record", **place).alias("r")),
                "fastavro": orders.select(encode["fastavro"].alias("r")),
            }
            write = show("writing", medians_of(frames, rounds))
    finally:
        spark.stop()
    return {"reading, seconds": read, "writing, seconds": write}


def spark_topics(
    broker: str, registry: str, rows: int, rounds: int, folder: Path, only: Sequence[str] = ()
) -> dict[str, dict[str, float]]:
    """Measure the data source, in a classic session and from a thin client."""
    prepared = folder / "prepared.arrow"
    batch = pa.record_batch(
        {"record": kcodec.AvroCodec(TEXT).decode(kcodec.AvroCodec(TEXT).encode(records()))}
    )
    with pa.OSFile(str(prepared), "wb") as file, pa.ipc.new_file(file, batch.schema) as writer:
        writer.write_batch(batch.slice(0, BATCH))
    prepared.with_name("prepared.arrow.avsc").write_text(TEXT)
    if not only:
        fill(broker, registry, f"{TOPIC}-long", 3 * rows)
    given = [broker, registry, TOPIC, SUBJECT, str(prepared), str(rows), str(rounds), *only]
    script = str(Path(__file__).with_name("spark_topics.py"))
    packages = folder / "packages"
    packages.mkdir()
    copy_packages(packages)
    service, address = processes.connect_server(folder, {**SETTINGS, **COMPILED})
    settings = json.dumps({**SETTINGS, "spark.jars": spark_jars()})
    found = {}
    for kind, interpreter, place, path in (
        ("classic", sys.executable, f"classic {settings}", os.environ["PYTHONPATH"]),
        ("thin client", python("thin"), address, str(packages)),
    ):
        if kind != "classic":
            service.start()
        try:
            done = subprocess.run(
                [interpreter, script, place, *given],
                env={**os.environ, "PYTHONPATH": path},
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
        finally:
            service.stop()
        found[kind] = json.loads(done.stdout.splitlines()[-1])
        print(f"\ntopic to 15 columns in Spark, {kind}")
        for name, seconds in found[kind].items():
            print(f"  {name:29} {seconds:8.3f} s")
        ends = ("", ", stream", ", running stream")
        bars = [
            (name, end, most) for name, most in (("Java from_avro", 0.5), ("zero cost", 0.45)) for end in ends
        ]
        for name, end, most in [*([] if only else bars), ("Java from_avro", ", 1 %", 0.35)]:
            times = found[kind][f"kcodec_kafka{end}"] / found[kind][f"{name}{end}"]
            print(f"  at most {most} of {name}{end}: {times:.2f}: {'yes' if times <= most else 'NO'}")
    return found


def consumer_loop(broker: str, registry: str, rows: int) -> dict[str, Any]:
    """Measure a consumer without Spark."""
    from confluent_kafka import Consumer
    from confluent_kafka.schema_registry import SchemaRegistryClient
    from confluent_kafka.schema_registry.avro import AvroDeserializer
    from confluent_kafka.serialization import MessageField, SerializationContext

    serde = kcodec.Serde("AVRO", registry, topic=TOPIC, reader_schema="latest")
    deserialize = AvroDeserializer(SchemaRegistryClient({"url": registry, "timeout": 10}))
    context = SerializationContext(TOPIC, MessageField.VALUE)
    place = {"bootstrap.servers": broker, "group.id": "measure", "auto.offset.reset": "earliest"}
    consumer = Consumer({**place, **TUNED})
    consumer.subscribe([TOPIC])
    read = 0
    columns, singles = [], []
    begin = None
    while read < rows:
        messages = consumer.consume(10_000, 5)
        values = [message.value() for message in messages]
        if not values:
            continue
        begin = begin or time.perf_counter()
        start = time.perf_counter()
        orders = serde.deserialize(values)
        columns.append((time.perf_counter() - start) / len(values))
        if read < SINGLE:
            start = time.perf_counter()
            rows_of = [deserialize(value, context) for value in values]
            singles.append((time.perf_counter() - start) / len(values))
            begin += time.perf_counter() - start
            assert [row["id"] for row in rows_of] == orders.field("id").to_pylist()
        read += len(values)
    whole = rows / (time.perf_counter() - begin)
    consumer.close()
    batch, single = 1 / statistics.median(columns), 1 / statistics.median(singles)
    print("\na consumer loop, messages per second")
    print(f"  consume and decode {whole:12,.0f}")
    print(f"  decode: serde      {batch:12,.0f}")
    print(f"  decode: one by one {single:12,.0f}")
    return {
        "consumed and decoded": round(whole),
        "decoded by the serde": round(batch),
        "decoded by AvroDeserializer": round(single),
    }


def machine() -> dict[str, Any]:
    """Return what this was measured on."""
    import confluent_kafka
    import pyspark

    models = [
        line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")
    ]
    return {
        "processor": models[0].partition(":")[2].strip() if models else platform.processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "pyspark": pyspark.__version__,
        "pyarrow": pa.__version__,
        "confluent-kafka": confluent_kafka.__version__,
        "kcodec": kcodec.__version__,
    }


def main() -> None:
    """Run the services and measure."""
    parser = command_line(__doc__, rows=1_000_000, rounds=5)
    parser.add_argument(
        "--only", choices=("topics", "spark", "source", "filters"), help="leave out the other parts"
    )
    parser.add_argument("--keep", action="store_true", help=f"add the results to {KEPT.relative_to(ROOT)}")
    given = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [ROOT, os.environ.get("PYTHONPATH")]))
    with tempfile.TemporaryDirectory(prefix="kcodec-end-to-end-") as folder:
        started, places = [], []
        try:
            for make in (processes.broker, processes.registry):
                place = Path(folder, make.__name__)
                place.mkdir()
                service, address = make(place)
                service.start()
                started.append(service)
                places.append(address)
            result = {"date": date.today().isoformat(), "machine": machine()}
            result |= {"rows": given.rows, "rounds": given.rounds}
            if given.only in (None, "topics"):
                result["topics"] = topic_parts(*places, given.rows, given.rounds)
            if given.only != "topics":
                result["bytes a value"] = size = fill(*places, TOPIC, given.rows)
                print(
                    f"{given.rows:,} values of {size} bytes, 15 fields, in a topic of {PARTITIONS} partitions"
                )
            if given.only in (None, "source", "filters"):
                only = ["filters"] if given.only == "filters" else []
                place = Path(folder)
                result["data source, seconds"] = spark_topics(*places, given.rows, given.rounds, place, only)
            if given.only in (None, "spark"):
                result |= spark_parts(*places, given.rows, given.rounds)
                result["consumer, messages a second"] = consumer_loop(*places, given.rows)
                result["ratios"] = wanted(result)
        finally:
            for service in started:
                service.stop()
    if given.keep:
        KEPT.parent.mkdir(exist_ok=True)
        runs = json.loads(KEPT.read_text()) if KEPT.exists() else []
        KEPT.write_text(json.dumps([*runs, result], indent=1) + "\n")


if __name__ == "__main__":
    main()
