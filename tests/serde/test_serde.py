"""Serdes: their settings, sharing and bounds."""

import dataclasses
import json
import pickle
import re
import subprocess
import sys
import threading
import uuid
from typing import ClassVar

import pyarrow as pa
import pytest
from cases import cases
from order_registry import V1, V2, V3

import kcodec
from kcodec import AvroCodec, JsonCodec, Serde
from kcodec.errors import CapacityError, ConfigError, DecodeError, EncodeError, RegistryError
from kcodec.registry import Metadata, Reference, Schema
from kcodec.registry.memory import MemoryRegistry
from kcodec.serde.config import KEYS, SerdeConfig

pytestmark = pytest.mark.usefixtures("impl")


class TestConfig:
    def test_unknown_keys_name_the_nearest(self, registry):
        with pytest.raises(ConfigError, match=r"did you mean 'auto\.register\.schemas'"):
            Serde("AVRO", registry, config={"auto.register.schema": True})
        for name in ("basic.auth.user.info", "schema.registry.basic.auth.user.info"):
            told = rf"'{name}': it is the registry's, kcodec\.registry\.open\(url, \{{'basic\.auth\.user\.info': "
            with pytest.raises(ConfigError, match=told) as raised:
                Serde("AVRO", "http://nowhere:8081", topic="t", config={name: "user:password"})
            assert "password" not in str(raised.value)
        with pytest.raises(
            ConfigError, match=r"TopicRecordNameStrategy, .*AssociatedNameStrategy, or a function"
        ):
            Serde("AVRO", "memory://x", topic="t", config={"subject.name.strategy": "Foo"})
        with pytest.raises(ConfigError, match="known are"):
            Serde("AVRO", registry, config={"zzz": True})

    @cases(
        "config",
        [
            {"auto.register.schemas": "yes"},
            {"use.schema.id": "one"},
            {"use.latest.with.metadata": "novalue"},
            {"use.latest.with.metadata": 3},
            {"subject.name.strategy": "NoSuchStrategy"},
            {"subject.name.strategy.fallback.type": "WHATEVER"},
            {"value.schema.id.serializer": "Dual"},
            {"value.schema.id.deserializer": 5},
        ],
    )
    def test_refuses_values(self, config):
        with pytest.raises(ConfigError):
            SerdeConfig.of(config, False)

    def test_every_key_is_accepted(self):
        good = dict.fromkeys(KEYS)
        good |= {
            key: "false"
            for key in KEYS
            if KEYS[key].endswith("(default false)") or "(default true)" in KEYS[key]
        }
        good["use.schema.id"] = -1
        good["use.latest.version"] = good["normalize.schemas"] = True
        assert SerdeConfig.of(good, False).use_latest

    def test_the_registry_is_given_once(self, registry):
        assert (
            Serde("AVRO", "memory://a").registry
            is Serde("AVRO", config={"schema.registry.url": "memory://a"}).registry
        )
        with pytest.raises(ConfigError):
            Serde("AVRO", registry, config={"schema.registry.url": "memory://a"})
        with pytest.raises(ConfigError):
            Serde("AVRO")
        with pytest.raises(ConfigError, match="THRIFT"):
            Serde("THRIFT", registry)

    def test_arguments_that_are_none(self, registry):
        with pytest.raises(ConfigError, match="a registry is a URL or a handle, not int"):
            Serde("AVRO", 5)
        with pytest.raises(ConfigError, match="a registry is a URL or a handle, not int"):
            Serde("AVRO", config={"schema.registry.url": 5})
        with pytest.raises(ConfigError, match="config is a mapping of settings, not str"):
            Serde("AVRO", registry, config="x")
        with pytest.raises(ConfigError, match="a schema is"):
            Serde("AVRO", registry, schema={"type": {"int"}})
        with pytest.raises(ConfigError, match=r"options= are kcodec\.AvroOptions, not int"):
            Serde("AVRO", registry, options=5)

    def test_a_schema_may_be_made_of_lists_and_mappings(self, registry):
        schema = Schema('"int"', references=[], metadata=Metadata({"b": "1", "a": "2"}, sensitive=["b", "a"]))
        assert schema == Schema('"int"', metadata=Metadata.of({"a": "2", "b": "1"}, sensitive=["a", "b"]))
        serde = Serde("AVRO", registry, topic="t", schema=schema)
        assert serde.deserialize(serde.serialize(pa.array([1]))).to_pylist() == [1]
        assert registry.get(1).schema == schema


class TestSharing:
    def test_pickles_with_its_plans(self, orders, mixed):
        serde = Serde("AVRO", MemoryRegistry(), topic="orders", schema=V3)
        for text in (V1, V2, V3):
            serde.registry.register("orders-value", Schema(text))
        whole = serde.deserialize(mixed)
        values = serde.serialize(whole)
        state = pickle.dumps(serde)
        assert pickle.loads(state).deserialize(mixed).equals(whole)
        script = (
            "import pickle, sys\n"
            "serde, values, rows = pickle.load(sys.stdin.buffer)\n"
            "class Gone:\n"
            "    def __getattr__(self, name): raise AssertionError(name)\n"
            "serde._topic.registry = Gone()\n"
            "assert serde.deserialize(values).to_pylist() == rows\n"
            "assert serde.serialize(serde.deserialize(values)).to_pylist()[0][:5] == bytes([0, 0, 0, 0, 3])\n"
            "print([m for m in ('numpy', 'fastavro', 'confluent_kafka', 'pyspark') if m in sys.modules])"
        )
        run = subprocess.run(
            [
                sys.executable,
                "-c",
                "import sys; sys.modules['numpy'] = None\n" + script.replace("('numpy', ", "("),
            ],
            input=pickle.dumps((serde, values, whole.to_pylist())),
            capture_output=True,
        )
        assert run.returncode == 0, run.stderr.decode()
        assert run.stdout.decode().strip() == "[]"

    def test_threads(self, orders, mixed):
        serde = Serde("AVRO", orders, topic="orders", schema=V3)
        results, column = [], mixed * 50

        def work():
            array = serde.deserialize(column)
            results.append((array.to_pylist(), serde.serialize(array).to_pylist()))

        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(results) == 6
        assert all(each == results[0] for each in results)
        assert sorted(call for call in orders.calls if call[0] == "get") == [
            ("get", 1),
            ("get", 2),
            ("get", 3),
        ]
        assert orders.calls.count(("register", "orders-value")) == 1


def test_what_memory_does_not_hold_is_a_capacity_error(impl):
    """60,000 slots of 2 GiB are more than a process can address."""
    schema = {"type": "fixed", "name": "F", "size": 2**31 - 9}
    values = [None] * 60_000
    with pytest.raises(CapacityError, match="60000 rows need more memory"):
        AvroCodec(schema).decode([b"x"] * 60_000, errors="null")
    serde = Serde("AVRO", "memory://capacity", topic="t", reader_schema=schema)
    with pytest.raises(CapacityError, match="60000 rows need more memory"):
        serde.deserialize(values)


def test_paths_and_reasons_of_rows_are_bounded(impl):
    """Names of megabytes, and pages that a server answers with, are not repeated for each row."""
    name = "n" * 50_000
    record = {"type": "record", "name": "R", "fields": [{"name": name, "type": "int"}]}
    _, report = AvroCodec(record).decode([b""] * 100, errors="report")
    assert report.nbytes < 200_000
    assert report["path"][0].as_py() == "n" * 1000 + "..."
    column = pa.array([{}] * 100, pa.struct([]))
    _, report = AvroCodec(record).encode(column, errors="report")
    assert report.nbytes < 200_000
    assert report["reason"][0].as_py().startswith("there is no column nnn")
    with pytest.raises(EncodeError) as info:
        AvroCodec(record).encode(column)
    assert len(str(info.value)) < 2_000
    kind = pa.struct([(name, pa.int8())])
    _, report = JsonCodec(kind).decode([b'{"' + name.encode() + b'":"x"}'] * 100, errors="report")
    assert report.nbytes < 200_000


def test_a_page_of_a_registry_is_not_repeated_for_each_row():
    class Page(MemoryRegistry):
        def get(self, schema_id):
            raise RegistryError("<html>" + "x" * 100_000, 500)

    serde = Serde("AVRO", Page(), topic="t", reader_schema='"int"')
    rows = [b"\0" + number.to_bytes(4, "big") + b"x" for number in range(10_000)]
    _, report = serde.deserialize(rows, errors="report")
    assert report.num_rows == 10_000
    assert report.nbytes < 20_000_000


class TestOneValue:
    """What moves a loop over messages here step by step."""

    SCHEMA: ClassVar = {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "note", "type": ["null", "string"], "default": None},
        ],
    }

    def test_values_and_tombstones(self, impl):
        serde = Serde("AVRO", f"memory://{uuid.uuid4()}", topic="t", schema=self.SCHEMA)
        value = serde.serialize_one({"id": 7})
        assert value == b"\0\0\0\0\1\x0e\0"
        assert serde.deserialize_one(value) == {"id": 7, "note": None}
        assert serde.serialize_one(None) is serde.deserialize_one(None) is None
        with pytest.raises(EncodeError, match=r"unknown_field: .*schema id 1.*did you mean 'id'"):
            serde.serialize_one({"ID": 7})
        with pytest.raises(DecodeError):
            serde.deserialize_one(b"{}")

    def test_without_a_schema_it_is_that_of_the_value(self, impl):
        serde = Serde("AVRO", f"memory://{uuid.uuid4()}", topic="t")
        assert serde.deserialize_one(serde.serialize_one({"id": 7})) == {"id": 7}

    def test_headers(self, impl):
        config = {"value.schema.id.serializer": "HeaderSchemaIdSerializer"}
        serde = Serde("AVRO", f"memory://{uuid.uuid4()}", topic="t", schema='"int"', config=config)
        values, headers = serde.serialize_with_headers([7])
        pairs = [("other", b"x"), (serde.header, headers[0].as_py())]
        assert serde.deserialize_one(values[0].as_py(), pairs) == 7
        assert serde.deserialize_one(values[0].as_py(), headers[0].as_py()) == 7

    def test_it_is_what_a_column_gives(self, orders, mixed, impl):
        """Values of several ids and all that can be wrong with one, each twice."""
        serde = Serde("AVRO", orders, topic="orders")
        good = mixed[0]
        wrong = [
            b"",
            b"{}",
            b"\0\0",
            b"\0\0\0\0",
            b"\0\0\0\xff\xff",
            b"\1" * 17,
            b"\1" * 9,
            good[:-1],
            good[:5],
        ]
        for value in [*mixed, *wrong] * 2:
            column, report = Serde("AVRO", orders, topic="orders").deserialize([value], errors="report")
            if report.num_rows:
                with pytest.raises(DecodeError) as caught:
                    serde.deserialize_one(value)
                found = {name: getattr(caught.value, name) for name in report.column_names}
                assert [found] == report.to_pylist()
            else:
                assert [serde.deserialize_one(value)] == column.to_pylist()

    def test_it_is_counted(self, impl):
        serde = Serde("AVRO", f"memory://{uuid.uuid4()}", topic="t", schema=self.SCHEMA)
        value = serde.serialize_one({"id": 7})
        for _ in range(3):
            serde.deserialize_one(value)
        serde.deserialize_one(None)
        with pytest.raises(DecodeError):
            serde.deserialize_one(value[:-1])
        counts = serde.metrics
        assert (counts.batches, counts.rows, counts.bad_rows, counts.schema_ids) == (5, 5, 1, 1)

    def test_the_form_of_an_object(self, impl):
        fields = [
            {"name": "m", "type": {"type": "map", "values": "int"}},
            {"name": "u", "type": ["int", "string"]},
        ]
        schema = {"type": "record", "name": "R", "fields": fields}
        serde = Serde("AVRO", f"memory://{uuid.uuid4()}", topic="t", schema=schema)
        value = serde.serialize_one({"m": {"a": 1}, "u": "x"}, unions="value")
        assert serde.deserialize_one(value) == {"m": [("a", 1)], "u": {"member0": None, "member1": "x"}}
        assert serde.deserialize_one(value, maps="dict", unions="value") == {"m": {"a": 1}, "u": "x"}
        row = dataclasses.make_dataclass("Row", ["m", "u"])
        assert serde.deserialize_one(value, unions="value", into=row) == row({"a": 1}, "x")
        assert serde.deserialize_one(value, maps="pairs", unions="value", into=row) == row([("a", 1)], "x")
        with pytest.raises(ConfigError, match="maps='all'"):
            serde.deserialize_one(value, maps="all")

    def test_unions_by_value_are_of_avro(self, impl):
        schema = {"type": "object", "properties": {"u": {"oneOf": [{"type": "number"}, {"type": "string"}]}}}
        serde = Serde("JSON_SR", f"memory://{uuid.uuid4()}", topic="t", schema=schema)
        with pytest.raises(ConfigError, match=r"unions='value' is Avro's.*a dict of one member"):
            serde.serialize_one({"u": "x"}, unions="value")
        registry = f"memory://{uuid.uuid4()}"
        Serde("AVRO", registry, topic="t", schema='"int"').serialize_one(7)
        with pytest.raises(ConfigError, match="unions='value' is Avro's, and needs schema="):
            Serde("AVRO", registry, topic="t").serialize_one(7, unions="value")

    def test_it_pickles_and_selects(self, impl):
        serde = Serde("AVRO", f"memory://{uuid.uuid4()}", topic="t", schema=self.SCHEMA)
        value = serde.serialize_one({"id": 7})
        assert serde.deserialize_one(value) == {"id": 7, "note": None}
        copy = pickle.loads(pickle.dumps(serde))
        assert copy.deserialize_one(value) == {"id": 7, "note": None}
        assert copy.serialize_one({"id": 7}) == value
        assert serde.select(["id"]).deserialize_one(value) == {"id": 7}

    def test_bytes_that_stand_as_they_are(self, impl):
        serde = Serde("AVRO", f"memory://{uuid.uuid4()}", topic="t", schema='"bytes"')
        value = serde.serialize_one(b"ab")
        assert value == b"\0\0\0\0\1ab"
        assert serde.deserialize_one(value) == serde.deserialize_one(value) == b"ab"

    def test_values_of_another_schema_are_converted(self, impl):
        registry = MemoryRegistry()
        wider = {
            **self.SCHEMA,
            "fields": [*self.SCHEMA["fields"], {"name": "n", "type": "int", "default": 3}],
        }
        registry.register("t-value", Schema(json.dumps(wider)))
        config = {"auto.register.schemas": False, "use.latest.version": True}
        serde = Serde("AVRO", registry, topic="t", schema=self.SCHEMA, config=config)
        assert serde.serialize_one({"id": 7}) == b"\0\0\0\0\1\x0e\0\6"


def test_ids_and_references_are_those_of_the_subject_s_context():
    registry = MemoryRegistry()
    registry.register("other", Schema('"string"'))
    registry.register("item", Schema('"long"'))
    item = '{"type":"record","name":"Item","fields":[{"name":"n","type":"int"}]}'
    registry.register(":.lab:item", Schema(item))
    order = Schema(
        '{"type":"record","name":"Order","fields":[{"name":"item","type":"Item"}]}',
        references=(Reference("Item", "item", 1),),
    )
    config = {"subject.name.strategy": lambda topic, is_key, schema: f":.lab:{topic}-value"}
    writer = Serde("AVRO", registry, topic="orders", schema=order, config=config)
    column = pa.array([{"item": {"n": 1}}])
    values = writer.serialize(column)
    assert values[0].as_py()[:5].hex() == "0000000002"
    assert registry.subjects() == [":.lab:item", ":.lab:orders-value", "item", "other"]
    reader = Serde("AVRO", registry, topic="orders", config=config)
    assert reader.deserialize(values).to_pylist() == column.to_pylist()


@cases(
    ("name", "value", "instead"),
    [
        ("schema.id.serializer", print, "value.schema.id.serializer take its name"),
        ("schema.id.deserializer", print, "value.schema.id.deserializer take its name"),
        ("subject.name.strategy.type", "RECORD", "subject.name.strategy takes its name"),
        ("subject.name.strategy.conf", {}, "subject.name.strategy.fallback.type and"),
        ("validate", True, "json.fail.invalid.schema validates documents"),
        ("validate.strict", False, "values are always checked by their schema"),
    ],
)
def test_settings_of_confluent_kafka_alone(name, value, instead):
    with pytest.raises(ConfigError, match=re.escape(f"unknown setting {name!r}: ")) as found:
        Serde("AVRO", "memory://settings", topic="t", config={name: value})
    assert instead in str(found.value)
    Serde("AVRO", "memory://settings", topic="t", config={name: None, "use.schema.id": None})


@pytest.mark.parametrize(
    ("name", "subject"),
    [
        ("topic_subject_name_strategy", "t-value"),
        ("record_subject_name_strategy", "shop.Order"),
        ("topic_record_subject_name_strategy", "t-shop.Order"),
    ],
)
def test_strategies_of_confluent_kafka(name, subject):
    """Its functions take other arguments."""
    confluent = pytest.importorskip("confluent_kafka.schema_registry")
    schema = {"type": "record", "name": "Order", "namespace": "shop", "fields": []}
    config = {"subject.name.strategy": getattr(confluent, name)}
    registry = kcodec.registry.open(f"memory://{name}-{uuid.uuid4()}")
    Serde("AVRO", registry, topic="t", schema=schema, config=config).serialize([{}])
    assert registry.subjects() == [subject]


def test_a_strategy_that_takes_other_arguments():
    with pytest.raises(ConfigError, match="takes a topic, whether it is the key, and a schema"):
        Serde("AVRO", "memory://a", topic="t", config={"subject.name.strategy": lambda context, name: name})
