"""Encrypted fields through a broker and a registry: whoever writes them, whoever reads them, and by which key."""

import base64
import functools
import json
import re
import urllib.request
import uuid
from types import SimpleNamespace

import pyarrow as pa
import pytest
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from encryption_box import SECRET, Box, context
from pyspark.sql import DataFrame
from topics import Message

from kcodec import kafka as topics
from kcodec import registry
from kcodec.cli.main import main
from kcodec.errors import EncodeError
from kcodec.registry.keys.material import new_material
from kcodec.registry.keys.services import wrap
from kcodec.registry.keys.values import Dek, Kek
from kcodec_spark import from_avro, register_kafka

SCHEMA = {
    "type": "record",
    "name": "Customer",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "email", "type": "string", "confluent:tags": ["PII"]},
    ],
}
ROWS = [{"id": number, "email": f"user{number}@example.com"} for number in range(12)]
#: What writers do that find their schema in the registry.
LATEST = {"use.latest.version": True, "auto.register.schemas": False}


class Customers:
    """A topic, its schema with a rule, and the key that encrypts its keys."""

    def __init__(self, kafka, address, *, shared=False):
        self.kafka, self.url = kafka, address
        self.topic = kafka.create(f"customers-{uuid.uuid4().hex[:8]}", partitions=2)
        self.subject, self.kek_name = f"{self.topic}-value", f"kek-{self.topic}"
        self.handle = registry.open(address)
        self.box = Box(self.handle, SimpleNamespace(url=address, requests=[]))
        self.kek = self.handle.keys.register_kek(Kek(self.kek_name, "local-kms", "mykey", shared=shared))
        names = {"encrypt_kek_name": self.kek_name, "encrypt_dek_expiry_days": "9"}
        self.box.register(self.subject, SCHEMA, **names)

    def written_by_theirs(self, rows):
        serializer = self.box.their(AvroSerializer, self.box.client, None)
        values = [serializer(dict(row), context(self.topic)) for row in rows]
        self.kafka.produce(
            self.topic, [Message(b"%02d" % row["id"], value) for row, value in zip(rows, values, strict=True)]
        )

    def written_by_kafka_write(self, rows, secret=SECRET):
        value = {"format": "AVRO", "registry": self.url, "config": settings(LATEST, secret)}
        table = pa.table({"key": [b"%02d" % row["id"] for row in rows], "value": pa.array(rows)})
        topics.write(table, self.topic, servers=self.kafka.address, value=value)

    def rotate(self):
        """Have a second version of the key, as who keeps keys makes one."""
        encrypted = wrap(self.kek, new_material("AES256_GCM"), {"secret": SECRET})
        text = base64.b64encode(encrypted).decode()
        self.handle.keys.register_dek(Dek(self.kek_name, self.subject, 2, encrypted_key_material=text))

    def ask(self, method, path, body=None):
        """Ask the registry for what is no part of a handle."""
        request = urllib.request.Request(
            f"{self.url}/dek-registry/v1/keks/{self.kek_name}{path}",
            None if body is None else json.dumps(body).encode(),
            {"Content-Type": "application/json"},
            method=method,
        )
        urllib.request.urlopen(request, timeout=30).close()


def settings(config, secret=SECRET):
    """Return the settings of a serde that has a secret; one without it looks into its environment."""
    return {**config, **({} if secret is None else {"rule.executors._default_.param.secret": secret})}


class Found:
    """What a reader finds in a topic: rows, and the errors of others."""

    def __init__(self):
        self.rows, self.errors = [], []

    def refused(self, count):
        """Return the reason why no row is read, which names the field of each."""
        assert self.rows == []
        assert [(code, path) for code, path, _ in self.errors] == [("encryption", "email")] * count
        (reason,) = {reason for *_, reason in self.errors}
        return reason


def gathered(customers, rows, errors):
    """Return what was found of each kind of topic: of rows and errors, each behind the name of its topic."""
    found = {each.topic: Found() for each in customers.values()}
    for topic, row in rows:
        found[topic].rows.append(row)
    for topic, *error in errors:
        found[topic].errors.append(tuple(error))
    for each in found.values():
        each.rows.sort(key=lambda row: row["id"])
    return {kind: found[each.topic] for kind, each in customers.items()}


def by_kafka_read(customers, address, url, request, config):
    value = {"format": "AVRO", "registry": url, "config": settings(config)}
    names = [each.topic for each in customers.values()]
    reader, report = topics.read(
        names, servers=address, value=value, columns=["topic", "value"], errors="report"
    )
    rows = [(row["topic"], row["value"]) for row in reader.read_all().to_pylist() if row["value"]]
    errors = report.table().select(["topic", "code", "path", "reason"]).to_pylist()
    return gathered(customers, rows, [tuple(row.values()) for row in errors])


def by_cli(customers, address, url, request, config):
    capture = request.getfixturevalue("capfdbinary")
    names = [each.topic for each in customers.values()]
    given = [each for pair in settings(config).items() for each in ("-X", "=".join(pair))]
    place = ["--server", address, "--value", "avro", "--registry", url]
    status = main(["consume", *names, *place, *given, "--columns", "topic,value"])
    out, told = (each.decode() for each in capture.readouterr())
    rows = [json.loads(line) for line in out.splitlines()]
    errors = re.findall(r"(.*)-\d, offset \d+, value: (\w+): (\w+): (.*)", told)
    assert (status, len(errors)) == (bool(told), len(told.splitlines()))
    return gathered(customers, [(row["topic"], row["value"]) for row in rows if row["value"]], errors)


def of_frames(customers, frames):
    table = functools.reduce(DataFrame.union, frames)
    rows = table.select("topic", "value.id", "value.email", "value._error").collect()
    good = [(row.topic, {"id": row.id, "email": row.email}) for row in rows if row._error is None]
    errors = [(row.topic, row._error.code, row._error.path, row._error.reason) for row in rows if row._error]
    return gathered(customers, good, errors)


def options_of(config):
    named = {f"confluent.schema.registry.{name}": value for name, value in config.items()}
    return {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_error", **named}


@pytest.fixture
def spark(classic, monkeypatch):
    """Return the classic session, whose workers have the secret in their environment."""
    monkeypatch.setitem(classic.sparkContext.environment, "LOCAL_SECRET", SECRET)
    register_kafka(classic)
    return classic


def by_from_avro(customers, address, url, request, config):
    spark = request.getfixturevalue("spark")

    def read(each):
        place = {"subject": each.subject, "schemaRegistryAddress": url}
        value = from_avro("value", options=options_of(config), **place).alias("value")
        return each.kafka.source(spark.read, each.topic).select("topic", value)

    return of_frames(customers, map(read, customers.values()))


def by_kcodec_kafka(customers, address, url, request, config):
    spark = request.getfixturevalue("spark")
    place = {"kafka.bootstrap.servers": address, "schemaRegistryAddress": url, "value.format": "avro"}
    source = spark.read.format("kcodec_kafka").options(**place, **options_of(config))
    loaded = (source.option("subscribe", each.topic).load() for each in customers.values())
    return of_frames(customers, (frame.select("topic", "value") for frame in loaded))


@pytest.fixture(params=[by_kafka_read, by_cli, by_from_avro, by_kcodec_kafka], ids=lambda each: each.__name__)
def read(request, customers, kafka, own_server):
    """Read all topics."""
    return lambda **config: request.param(customers, kafka.address, own_server.address, request, config)


@pytest.fixture(scope="module")
def customers(kafka, own_server):
    """Topics by what became of their keys."""
    kinds = ("right", "wrong", "shared no more", "deleted softly", "gone")
    made = {kind: Customers(kafka, own_server.address, shared="shared" in kind) for kind in kinds}
    right = made["right"]
    right.written_by_theirs(ROWS[:3])
    right.written_by_kafka_write(ROWS[3:6])
    right.rotate()
    right.written_by_theirs(ROWS[6:9])
    right.written_by_kafka_write(ROWS[9:])
    made["wrong"].written_by_kafka_write(ROWS[:2], "another")
    made["shared no more"].written_by_kafka_write(ROWS[:2], None)
    made["shared no more"].ask("PUT", "", {"shared": False})
    for kind in ("deleted softly", "gone"):
        made[kind].written_by_kafka_write(ROWS[:2])
        made[kind].ask("DELETE", f"/deks/{made[kind].subject}")
    made["gone"].ask("DELETE", f"/deks/{made['gone'].subject}?permanent=true")
    return made


def versions(values):
    """Return the versions of the keys that values were encrypted by, from their bytes."""
    # Behind the frame and an id of one byte stands the length of the text, in two bytes.
    return [base64.b64decode(value[8:])[:5] for value in values]


def test_what_is_written(customers):
    """By both, with both versions of the key; and as confluent-kafka reads it."""
    right = customers["right"]
    values = [message.value for message in right.kafka.consume(right.topic, len(ROWS))]
    assert not any(b"example" in value for value in values)
    assert versions(values) == [b"\0\0\0\0\1"] * 6 + [b"\0\0\0\0\2"] * 6
    theirs = right.box.their(AvroDeserializer, right.box.client)
    assert [theirs(value, context(right.topic)) for value in values] == ROWS
    # Of a key that is deleted there is no other before it is deleted for good.
    with pytest.raises(EncodeError, match="encryption: row 0, email"):
        customers["deleted softly"].written_by_kafka_write(ROWS[2:3])


def test_what_is_read(read):
    found = read()
    assert (found["right"].rows, found["right"].errors) == (ROWS, [])
    assert "local-kms does not decrypt by the key kek-" in found["wrong"].refused(2)
    assert "local-kms does not decrypt by the key kek-" in found["shared no more"].refused(2)
    assert (found["deleted softly"].rows, found["deleted softly"].errors) == (ROWS[:2], [])
    assert "not found" in found["gone"].refused(2)


def test_by_option_what_has_no_key_stays_encrypted(read):
    found = read(**{"rule.executors._default_.onFailure": "NONE"})
    assert not any(each.errors for each in found.values())
    assert found["right"].rows == ROWS
    for kind in ("wrong", "shared no more", "gone"):
        assert [row["id"] for row in found[kind].rows] == [0, 1]
        assert not any("@" in row["email"] for row in found[kind].rows)


def test_spark_writes(spark, customers, kafka, own_server):
    """Its workers take the latest version of the key."""
    right = Customers(kafka, own_server.address)
    place = {"kafka.bootstrap.servers": kafka.address, "schemaRegistryAddress": own_server.address}
    frame = spark.createDataFrame(pa.Table.from_pylist(ROWS)).selectExpr("struct(id, email) AS value")
    rows = frame.write.format("kcodec_kafka").options(**place, **{"value.format": "avro"})
    rows.option("topic", right.topic).mode("append").save()
    values = [message.value for message in right.kafka.consume(right.topic, len(ROWS))]
    assert not any(b"example" in value for value in values)
    theirs = right.box.their(AvroDeserializer, right.box.client)
    found = [theirs(value, context(right.topic)) for value in values]
    assert sorted(found, key=lambda row: row["id"]) == ROWS


@pytest.mark.parametrize("session", ["connect"])
def test_workers_without_the_package(request, session, customers, own_server):
    """What is shipped to workers has no `cryptography`: they say what to install, or leave fields encrypted."""
    connect = request.getfixturevalue(session)
    right = customers["right"]
    place = {"subject": right.subject, "schemaRegistryAddress": own_server.address}
    source = right.kafka.source(connect.read, right.topic)

    def read(config):
        value = from_avro("value", options=options_of(config), **place).alias("value")
        return of_frames({"right": right}, [source.select("topic", value)])["right"]

    assert "kcodec[rules]" in read({}).refused(len(ROWS))
    closed = read({"rule.executors._default_.disabled": "true"})
    assert [row["id"] for row in closed.rows] == [row["id"] for row in ROWS]
    assert not any("@" in row["email"] for row in closed.rows)
