"""Apicurio's serializers in Java, by their own API: with kcodec's registry server, and with Apicurio's own."""

import json
import urllib.request

import pyarrow as pa
import pytest
from artifacts import JAVA, SPARK_JAVA, had, jars, program, run
from topics import Message

from kcodec import Serde, registry
from kcodec import kafka as topics
from kcodec.errors import RegistryError
from kcodec.registry import Reference, Schema

MONEY = '{"type":"record","name":"Money","namespace":"shop","fields":[{"name":"units","type":"long"}]}'
NAME = '{"name":"by","type":["null","string"],"default":null}'
FIELDS = f'[{{"name":"id","type":"long"}},{NAME},{{"name":"total","type":%s}}]'
#: With the type of the total written out, and with its name.
ORDER = '{"type":"record","name":"Order","namespace":"shop","fields":%s}' % (FIELDS % MONEY)
REFERRING = '{"type":"record","name":"Order","namespace":"shop","fields":%s}' % (FIELDS % '"Money"')
JSON_ORDER = json.dumps(
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Order",
        "type": "object",
        "properties": {"id": {"type": "integer"}, "by": {"type": ["null", "string"]}},
        "required": ["id"],
    }
)
LATEST = {"auto.register.schemas": False, "use.latest.version": True}
ROWS = [
    {"id": row, "by": None if row % 3 else f"zoë {row}", "total": {"units": row * row}} for row in range(30)
]
DOCUMENTS = [{"id": row["id"], "by": row["by"]} for row in ROWS]
AVRO_LINES = [json.dumps({**row, "by": row["by"] and {"string": row["by"]}}) for row in ROWS]


@pytest.fixture
def run_java(kafka, own_server, topic):
    """Return what writes or reads the topic, with further settings of the serializers."""

    def run_topic(command, kind, lines=(), topic=topic, **settings):
        source = JAVA / "apicurio" / "ApicurioTopic.java"
        names = {"bootstrap.servers": kafka.address, "apicurio.registry.url": own_server.address}
        names |= {f"apicurio.registry.{name.replace('_', '-')}": value for name, value in settings.items()}
        java = had(lambda: program(source, jars("apicurio"), SPARK_JAVA, JAVA / "Topic.java"))
        named = [f"{name}={value}" for name, value in names.items()]
        printed = run([*java, command, kind, topic, ORDER, *named], lines)
        return [json.loads(line) for line in printed if line.startswith("{")]

    return run_topic


@pytest.fixture
def handle(own_server):
    opened = registry.open(own_server.address)
    yield opened
    opened.close()


def register(handle, topic):
    """Register the schema of orders with a reference; returns it."""
    handle.register(f"{topic}-money", Schema(MONEY))
    reference = Reference("shop.Money", f"{topic}-money", 1)
    return handle.register(f"{topic}-value", Schema(REFERRING, references=(reference,)))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "settings",
    [{"auto_register": "true"}, {"find_latest": "true"}, {}, {"find_latest": "true", "use_id": "globalId"}],
    ids=["registers", "takes the latest", "looks for its own", "by global id"],
)
def test_java_writes_avro(kafka, handle, own_server, topic, run_java, settings):
    # It sends the types within a type as references.
    known = None if "auto_register" in settings else register(handle, topic)
    run_java("write", "AVRO", AVRO_LINES, **settings)
    values = [message.value for message in kafka.consume(topic, len(ROWS))]
    assert Serde("AVRO", own_server.address, topic=topic).deserialize(values).to_pylist() == ROWS
    (version,) = handle.versions(f"{topic}-value")
    assert known in (None, handle.get_version(f"{topic}-value", version))


def test_java_writes_to_a_group(handle, topic, run_java):
    """As Apicurio's own API of Confluent's shows it."""
    run_java("write", "AVRO", AVRO_LINES[:1], auto_register="true", **{"artifact.group_id": "shop"})
    assert handle.versions(f"shop:{topic}-value") == [1]


@pytest.mark.parametrize("use_id", ["contentId", "globalId"])
def test_java_reads_avro(kafka, handle, own_server, topic, run_java, use_id):
    """With a reference, which it asks for."""
    registered = register(handle, topic)
    serde = Serde("AVRO", own_server.address, topic=topic, config=LATEST)
    values = serde.serialize(pa.array(ROWS)).to_pylist()
    assert int.from_bytes(values[0][1:5], "big") == registered.id
    kafka.produce(topic, [Message(b"%06d" % row, value) for row, value in enumerate(values)])
    assert run_java("read", "AVRO", use_id=use_id) == ROWS


def test_json(kafka, handle, own_server, topic, run_java):
    handle.register(f"{topic}-value", Schema(JSON_ORDER, "JSON"))
    run_java("write", "JSON", map(json.dumps, DOCUMENTS), find_latest="true")
    values = [message.value for message in kafka.consume(topic, len(ROWS))]
    serde = Serde("JSON_SR", own_server.address, topic=topic)
    assert serde.deserialize(values).to_pylist() == DOCUMENTS
    assert run_java("read", "JSON") == DOCUMENTS


def test_json_of_kcodec(kafka, own_server, topic, run_java):
    serde = Serde("JSON_SR", own_server.address, topic=topic, schema=JSON_ORDER)
    values = serde.serialize(pa.array(DOCUMENTS)).to_pylist()
    kafka.produce(topic, [Message(b"%06d" % row, value) for row, value in enumerate(values)])
    assert run_java("read", "JSON") == DOCUMENTS


#: How its Java serializers are set, and how kcodec is set to the same: by default they write content ids of four bytes.
NATIVE = {
    "by default": ({}, "APICURIO_LEGACY", {}),
    "eight bytes": (
        {"id_handler": "io.apicurio.registry.serde.Legacy8ByteIdHandler", "use_id": "globalId"},
        "APICURIO",
        {"use.id": "globalId"},
    ),
    "in headers": (
        {"headers.enabled": "true", "use_id": "globalId"},
        "APICURIO_GLOBAL_ID",
        {"use.id": "globalId"},
    ),
}


class TestItsOwnServer:
    """Apicurio Registry by its own API: ``apicurio://``."""

    @pytest.fixture
    def root(self, registry_server):
        return registry_server.address.replace("/apis/ccompat/v7", "")

    @pytest.fixture
    def address(self, root):
        return root.replace("http://", "apicurio://")

    def value(self, address, frame, config, **more):
        """Return the format of values as `kcodec.kafka` takes it."""
        return {"format": "AVRO", "registry": registry.open(address, config), "frame": frame, **more}

    @pytest.mark.sampled(2)
    @pytest.mark.parametrize("name", NATIVE)
    def test_both_ways(self, kafka, root, address, topic, run_java, name):
        """Java's records are read, with the types within as references; and ours by Java."""
        settings, frame, config = NATIVE[name]
        place = {"url": f"{root}/apis/registry/v3"}
        run_java("write", "AVRO", AVRO_LINES, auto_register="true", **place, **settings)
        value = self.value(address, frame, config)
        where = {"servers": kafka.address, "columns": ["value.*"]}
        assert topics.read(topic, value=value, **where).read_all().sort_by("id").to_pylist() == ROWS

        other = kafka.create(f"{topic}-ours")
        ours = self.value(address, frame, config, schema=ORDER)
        keys = [b"%06d" % row["id"] for row in ROWS]
        topics.write(
            pa.table({"key": keys, "value": pa.array(ROWS)}), other, servers=kafka.address, value=ours
        )
        assert run_java("read", "AVRO", topic=other, **place, **settings) == ROWS

    def test_versions(self, address, topic):
        """Ids of contents are not those of versions."""
        subject = f"{topic}-value"
        by_content, by_version = (
            registry.open(address, {"use.id": each}) for each in ("contentId", "globalId")
        )
        first, second = (by_version.register(subject, Schema(text)) for text in ('"int"', '"long"'))
        assert (first.version, second.version) == (1, 2)
        assert by_version.get(second.id).schema.text == '"long"'
        # The same content under another name has another global id.
        same = by_version.register(f"{subject}-2", Schema('"int"'))
        assert same.id not in (first.id, second.id)
        assert by_content.get_version(subject, 1).id == by_content.get_version(f"{subject}-2").id
        assert by_version.versions(subject) == [1, 2]
        assert by_version.lookup(subject, Schema('"int"')) == first
        assert by_version.get_version(subject) == second

    def test_references_and_groups(self, address, topic):
        shop = registry.open(address, {"group.id": f"shop-{topic}"})
        registered = register(shop, topic)
        assert shop.get(registered.id).schema == registered.schema
        assert registry.open(address).get_version(f"shop-{topic}:{topic}-value").id == registered.id
        serde = Serde("AVRO", shop, topic=topic, config=LATEST, frame="APICURIO")
        assert serde.deserialize(serde.serialize(ROWS)).to_pylist() == ROWS

    @pytest.mark.parametrize(
        ("kind", "text"),
        [("JSON", JSON_ORDER), ("PROTOBUF", 'syntax = "proto3"; message Order { int64 id = 1; }')],
    )
    def test_formats(self, address, topic, kind, text):
        name = "JSON_SR" if kind == "JSON" else kind
        serde = Serde(name, address, topic=topic, schema=text, frame="APICURIO")
        rows = [{"id": row} for row in range(3)]
        found = Serde(name, address, topic=topic, frame="APICURIO").deserialize(serde.serialize(rows))
        assert [row["id"] for row in found.to_pylist()] == [0, 1, 2]

    def test_what_is_not_there(self, address, topic):
        handle = registry.open(address)
        for ask in (
            lambda: handle.get(10**6),
            lambda: handle.get_version(topic),
            lambda: handle.versions(topic),
            lambda: handle.lookup(topic, Schema('"int"')),
        ):
            with pytest.raises(RegistryError) as caught:
                ask()
            assert (caught.value.status, caught.value.error_code) == (404, 40403)
        rows, report = Serde("AVRO", handle, topic=topic, frame="APICURIO").deserialize(
            [bytes(6) + b"\1\0\0" + b"\2", b"\0\x7f" + b"\xff" * 7 + b"\2"], errors="report"
        )
        assert (rows.to_pylist(), report["code"].to_pylist()) == ([None] * 2, ["unknown_schema_id"] * 2)
        with pytest.raises(RegistryError, match="is the base path"):
            registry.open(f"{address}/elsewhere").get(1)

    def test_incompatible(self, root, address, topic):
        handle = registry.open(address)
        handle.register(topic, Schema('"int"'))
        rules = f"{root}/apis/registry/v3/groups/default/artifacts/{topic}/rules"
        body = json.dumps({"ruleType": "COMPATIBILITY", "config": "BACKWARD"}).encode()
        asked = urllib.request.Request(rules, body, {"Content-Type": "application/json"})
        urllib.request.urlopen(asked, timeout=30).close()
        with pytest.raises(RegistryError, match="Incompatible artifact") as caught:
            handle.register(topic, Schema('"string"'))
        assert (caught.value.status, caught.value.error_code) == (409, 40901)
