"""Where new users stumbled, tried again with the real services."""

import base64
import io
import json

import fastavro
import pytest
from artifacts import JAVA, had, jars, program, run
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro as from_avro_of_spark
from pyspark.sql.avro.functions import to_avro as to_avro_of_spark
from topics import Message, deserializer, of_spark, order, order_schema, serializer

import kcodec
from kcodec import RegistryError, Serde, registry
from kcodec_spark import (
    check_server,
    dead_letters,
    from_avro,
    from_connect_json,
    from_json,
    register_segments,
    to_avro,
    unwrap,
)

PERMISSIVE = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_error"}
#: One try, so that what fails does so soon.
SHORT = {"confluent.schema.registry.max.retries": "0", "confluent.schema.registry.timeout": "5"}


def fill(kafka, registry_url, topic, numbers, version=1):
    value = serializer(registry_url, order_schema(version), topic)
    kafka.produce(topic, [Message(b"%d" % number, value(order(number, version))) for number in numbers])


def test_microseconds_for_milliseconds(spark, registry_url, topic):
    schema = json.dumps(
        {
            "type": "record",
            "name": "T",
            "fields": [{"name": "t", "type": {"type": "long", "logicalType": "timestamp-millis"}}],
        }
    )
    times = spark.sql(
        "SELECT struct(make_timestamp(1969 + id, 12, 31, 23, 59, 59.999999) t) AS s FROM range(3)"
    )
    place = {"subject": f"{topic}-value", "schemaRegistryAddress": registry_url}
    options = {"confluent.schema.registry.auto.register.schemas": "true"}
    with pytest.raises(PySparkException, match=r"EncodeError: inexact: row 0, t.*round"):
        times.select(to_avro("s", schema, options=options, **place)).collect()
    own = to_avro("s", schema, options={**options, "round": "truncate"}, **place)
    rows = times.select(own.alias("own"), to_avro_of_spark("s", schema).alias("sparks")).collect()
    assert [bytes(row["own"])[5:] for row in rows] == [bytes(row["sparks"]) for row in rows]


def test_a_wrong_path_of_the_registry(spark, registry_url, topic):
    root, _, path = registry_url.partition("/apis")
    assert path
    with pytest.raises(RegistryError, match=f"{root}: HTTP 404: .*is the base path missing"):
        from_avro("value", options=SHORT, subject=f"{topic}-value", schemaRegistryAddress=root)
    report = check_server(spark, root, SHORT)
    assert not report.ready
    assert f"the workers cannot ask the registry: {root}: HTTP 404" in report.advice
    assert check_server(spark, registry_url).ready


class Stream:
    """Orders to Parquet, and what cannot be read beside them."""

    def __init__(self, spark, kafka, topic, column, folder):
        decoded = kafka.source(spark.readStream, topic).select("*", column.alias("order"))
        good = decoded.where("order._error is null").select("order.id")
        self.queries = [
            frame.writeStream.format("parquet")
            .option("path", f"{folder}/{name}")
            .option("checkpointLocation", f"{folder}/{name}-checkpoint")
            .trigger(availableNow=True)
            .start()
            for name, frame in (("good", good), ("dead", dead_letters(decoded)))
        ]

    def failures(self):
        """Wait for the end of both; gives the errors of those that failed."""
        found = []
        for query in self.queries:
            try:
                query.awaitTermination(120)
            except PySparkException as error:
                found.append(str(error))
        return found


def test_an_outage_in_the_middle_of_a_stream(spark, front, kafka, registry_url, topic, tmp_path):
    """Only what is bad becomes a dead letter, nothing is lost, and nothing comes twice."""
    fill(kafka, registry_url, topic, range(10))
    column = from_avro(
        "value", options={**PERMISSIVE, **SHORT}, subject=f"{topic}-value", schemaRegistryAddress=front.url
    )
    assert Stream(spark, kafka, topic, column, tmp_path).failures() == []
    # A version that no worker has, while the registry is down.
    fill(kafka, registry_url, topic, range(10, 30), version=2)
    kafka.produce(topic, [Message(b"bad", b"\0\0\0\x98\x96abc")])
    front.down()
    failures = Stream(spark, kafka, topic, column, tmp_path).failures()
    assert len(failures) == 2
    assert all("RegistryError" in each for each in failures)
    front.up()
    assert Stream(spark, kafka, topic, column, tmp_path).failures() == []
    ids = spark.read.parquet(f"{tmp_path}/good").collect()
    assert sorted(row["id"] for row in ids) == list(range(30))
    (letter,) = spark.read.parquet(f"{tmp_path}/dead").collect()
    assert bytes(letter["value"]) == b"\0\0\0\x98\x96abc"
    headers = {header["key"]: bytes(header["value"]) for header in letter["headers"]}
    assert headers["error.code"] == b"unknown_schema_id"
    assert headers["error.topic"] == topic.encode()
    assert headers["error.schema_id"] == b"39062"


def test_patterns_of_folders(spark, broker, kafka, registry_url, topic):
    fill(kafka, registry_url, topic, range(40))
    register_segments(spark)
    source = spark.read.format("kcodec_segment")
    records = source.load(f"{broker.folder}/data/{topic}-*").select("topic", "partition", "offset").collect()
    known = kafka.source(spark.read, topic).select("topic", "partition", "offset").collect()
    assert sorted(records) == sorted(known)
    assert len(records) == 40
    with pytest.raises(PySparkException, match=r"no \.log or \.checkpoint at"):
        print(source.load(f"{broker.folder}/data/nothing-*").schema)


def test_what_others_read_is_read_the_same(spark, kafka, registry_url, topic):
    """The migrations of docs/migrate.md, row by row."""
    fill(kafka, registry_url, topic, range(25))
    place = {"subject": f"{topic}-value", "schemaRegistryAddress": registry_url}
    schema = registry.open(registry_url).get_version(f"{topic}-value").schema.text
    frame = kafka.source(spark.read, topic)
    payload = F.expr("substring(value, 6)")

    def rows(column):
        found = frame.select(column.alias("order")).select("order.*").orderBy("id")
        return [of_spark(row) for row in found.collect()]

    expected = rows(from_avro_of_spark(payload, schema))
    assert [each["id"] for each in expected] == list(range(25))
    # Spark's, Databricks' and ABRiS' functions
    assert rows(from_avro(payload, schema)) == expected
    assert rows(from_avro("value", **place)) == expected
    literal = {name: F.lit(each) for name, each in place.items()}
    assert rows(from_avro("value", options=PERMISSIVE, **literal).dropFields("_error")) == expected
    assert rows(from_avro("value", options={"readerSchemaVersion": 1}, **place)) == expected
    # confluent-kafka's deserializer, fastavro
    values = [bytes(row["value"]) for row in frame.select("value").collect()]
    column = Serde("AVRO", registry_url, topic=topic, reader_schema="latest").deserialize(values)
    deserialize = deserializer(registry_url, topic)
    dicts = [deserialize(value) for value in values]
    assert _by_arrow(column) == dicts
    parsed = fastavro.parse_schema(json.loads(schema))
    assert [fastavro.schemaless_reader(io.BytesIO(value[5:]), parsed) for value in values] == dicts
    assert _by_arrow(kcodec.AvroCodec(schema).decode([value[5:] for value in values])) == dicts
    # from_json
    texts = frame.select(
        F.to_json(F.struct(F.col("partition"), F.col("offset"), F.col("topic"))).alias("text")
    )
    ddl = "partition INT, offset BIGINT, topic STRING"
    both = texts.select(F.from_json("text", ddl).alias("old"), from_json("text", ddl).alias("new")).collect()
    assert [row["new"] for row in both] == [row["old"] for row in both]
    assert len(both) == 25


def _by_arrow(column):
    """Return columns as the dicts of Avro's libraries."""
    found = column.to_pylist()
    for each in found:
        each["tags"] = dict(each["tags"])
    return found


@pytest.fixture(scope="session")
def transform():
    """Return what runs Debezium's ExtractNewRecordState: the rows that it lets pass of Connect's JSON."""
    command = had(lambda: program(JAVA / "debezium" / "Transform.java", jars("debezium"), 17))

    def transformed(events, **settings):
        named = [f"{name.replace('_', '.')}={value}" for name, value in settings.items()]
        lines = ["" if event is None else base64.b64encode(event).decode() for event in events]
        printed = run([*command, *named], lines)
        answers = [line.split("\t") for line in printed if line.startswith(("kept", "dropped"))]
        assert len(answers) == len(events)
        return [
            json.loads(base64.b64decode(text)) if text else None for word, text in answers if word == "kept"
        ]

    return transformed


def changes():
    """Make a snapshot, an insert, an update, a delete with its tombstone, and a truncation, as Debezium writes them."""
    row = {
        "type": "struct",
        "optional": True,
        "name": "shop.orders.Value",
        "fields": [{"field": "id", "type": "int32"}, {"field": "name", "type": "string", "optional": True}],
    }
    source = {
        "type": "struct",
        "name": "source",
        "fields": [{"field": "table", "type": "string"}, {"field": "lsn", "type": "int64", "optional": True}],
    }
    schema = {
        "type": "struct",
        "name": "shop.orders.Envelope",
        "fields": [
            {**row, "field": "before"},
            {**row, "field": "after"},
            {**source, "field": "source"},
            {"field": "op", "type": "string"},
            {"field": "ts_ms", "type": "int64", "optional": True},
        ],
    }
    old, new = {"id": 7, "name": "a"}, {"id": 7, "name": None}
    found = [
        ("r", None, old),
        ("c", None, {**old, "id": 8}),
        ("u", old, new),
        ("d", new, None),
        None,
        ("t", None, None),
    ]
    for number, change in enumerate(found):
        if change is None:
            yield None
            continue
        op, before, after = change
        payload = {"before": before, "after": after, "op": op, "ts_ms": 10 * number}
        payload["source"] = {"table": "orders", "lsn": number}
        yield json.dumps({"schema": schema, "payload": payload}).encode()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"delete_tombstone_handling_mode": "drop"},
        {"delete_tombstone_handling_mode": "delete-to-tombstone"},
        {"delete_tombstone_handling_mode": "rewrite", "add_fields": "op,lsn,source.table:from"},
        {
            "delete_tombstone_handling_mode": "rewrite-with-tombstone",
            "add_fields": "op",
            "add_fields_prefix": "meta.",
        },
    ],
    ids=lambda settings: settings.get("delete_tombstone_handling_mode", "default"),
)
def test_debeziums_transform_and_unwrap_make_the_same_rows(spark, kafka, topic, transform, settings):
    """The seventh migration of docs/migrate.md: the transform itself, and a topic without one."""
    events = list(changes())
    kafka.produce(topic, [Message(b"7", event) for event in events], partition=0)
    frame = kafka.source(spark.read, topic).orderBy("offset")
    decoded = frame.withColumn("value", from_connect_json("value", schema=json.loads(events[0])["schema"]))
    rows = unwrap(decoded, **settings).orderBy("offset").select("value").collect()
    found = [None if row["value"] is None else row["value"].asDict() for row in rows]
    assert found == transform(events, **settings)
    assert len(found) >= 3
