"""Serializers and deserializers beside those of confluent-kafka: the same bytes, objects and errors."""

import datetime
import enum
import itertools
import json
import uuid
from decimal import Decimal

import pytest
from cases import cases
from confluent_kafka import SerializingProducer
from confluent_kafka.schema_registry import (
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    avro,
    header_schema_id_serializer,
    json_schema,
    protobuf,
    record_subject_name_strategy,
    topic_record_subject_name_strategy,
)
from confluent_kafka.serialization import MessageField, SerializationContext, SerializationError
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import given
from hypothesis import strategies as st
from strategies import avro_payloads, avro_schemas, damaged

from kcodec import confluent
from kcodec.formats.avro.schema.parse import parse

#: A registry of their own for each test, in memory.
NUMBERS = itertools.count()
UTC = datetime.timezone.utc


def client():
    return SchemaRegistryClient.new_client({"url": f"mock://kcodec-{next(NUMBERS)}"})


def context(topic="orders", field=MessageField.VALUE, headers=None):
    return SerializationContext(topic, field, headers)


def answer(call, *arguments):
    """What a call returns, or raises."""
    try:
        return call(*arguments)
    except Exception as error:
        return type(error), str(error)


def record(**fields):
    return {
        "type": "record",
        "name": "User",
        "namespace": "ns",
        "fields": [{"name": name, "type": kind} for name, kind in fields.items()],
    }


def both(values, schema, conf=None, *, registry=None, place=None, **options):
    """What is written and read of each value, three times, by theirs and by ours, each with a registry of its own."""
    found = []
    for home in (avro, confluent):
        chosen = registry() if registry else client()
        text = schema if isinstance(schema, (str, Schema)) else json.dumps(schema)
        serializer = home.AvroSerializer(chosen, text, conf=conf, **options)
        deserializer = home.AvroDeserializer(chosen)
        where = place or context()
        results = []
        for value in values * 3:
            made = answer(serializer, value, where)
            results += [made, answer(deserializer, made, where) if isinstance(made, bytes) else None]
        found.append(results)
    return found


def taken(answers, theirs):
    """Those to what theirs takes: ours may take more, as other numbers for decimals and text for bytes."""
    pairs = zip(answers, theirs, strict=True)
    shown = [repr(each) for each, other in pairs if not isinstance(other, (tuple, type(None)))]
    # The plain-Python twins may give another UTC.
    return [each.replace("zoneinfo.ZoneInfo(key='UTC')", "datetime.timezone.utc") for each in shown]


class TestDocumentedExamples:
    """The programs in confluent-kafka's folder of examples, but for the broker."""

    SCHEMA = """
    {"namespace": "confluent.io.examples.serialization.avro", "name": "User", "type": "record",
     "fields": [{"name": "name", "type": "string"}, {"name": "favorite_number", "type": "long"},
                {"name": "favorite_color", "type": "string"}]}
    """
    JSON_SCHEMA = """
    {"$schema": "http://json-schema.org/draft-07/schema#", "title": "User", "type": "object",
     "properties": {"name": {"type": "string"},
                    "favorite_number": {"type": "number", "exclusiveMinimum": 0},
                    "favorite_color": {"type": "string"}},
     "required": ["name", "favorite_number", "favorite_color"]}
    """
    USERS = (("Ana", 7, "red", "secret"), ("Bo", 2**40, "grün", ""), ("", 1, "", "x"))

    class User:
        def __init__(self, name, number, color, address=None):
            self.name, self.favorite_number, self.favorite_color, self._address = name, number, color, address

        @staticmethod
        def to_dict(user, ctx):
            assert ctx.topic == "users"
            return {
                "name": user.name,
                "favorite_number": user.favorite_number,
                "favorite_color": user.favorite_color,
            }

        @classmethod
        def from_dict(cls, found, ctx):
            assert ctx.topic == "users"
            return (
                None if found is None else cls(**{k.removeprefix("favorite_"): v for k, v in found.items()})
            )

    @pytest.mark.parametrize("language", ["avro", "json"])
    def test_users(self, impl, language):
        where = context("users")
        written, read = [], []
        for home, others in ((avro, json_schema), (confluent, confluent)):
            registry = client()
            if language == "avro":
                serializer = home.AvroSerializer(registry, self.SCHEMA, self.User.to_dict)
                deserializer = home.AvroDeserializer(registry, self.SCHEMA, self.User.from_dict)
            else:
                serializer = others.JSONSerializer(self.JSON_SCHEMA, registry, self.User.to_dict)
                deserializer = others.JSONDeserializer(self.JSON_SCHEMA, from_dict=self.User.from_dict)
            made = [serializer(self.User(*each), where) for each in self.USERS * 2]
            written.append([*made, serializer(None, where)])
            read.append([vars(deserializer(each, where)) for each in made] + [deserializer(None, where)])
        assert written[0] == written[1]
        assert read[0] == read[1]

    def test_a_producer_takes_it(self, impl):
        registry = client()
        producer = SerializingProducer(
            {
                "bootstrap.servers": "127.0.0.1:9",
                "log_level": 0,
                "value.serializer": confluent.AvroSerializer(
                    registry, self.SCHEMA, self.User.to_dict, {"subject.name.strategy.type": "TOPIC"}
                ),
            }
        )
        for each in self.USERS:
            producer.produce("users", value=self.User(*each))
        assert registry.get_subjects() == ["users-value"]
        producer.purge()


class TestAvro:
    @given(data=st.data())
    def test_any_schema(self, data):
        # fastavro takes other names of symbols for an error.
        schema = json.loads(json.dumps(data.draw(avro_schemas())).replace("\\u00df", "Sz"))
        payloads = [data.draw(avro_payloads(parse(schema))) for _ in range(3)]
        registry, text = client(), json.dumps(schema)
        number = registry.register_schema("orders-value", Schema(text, "AVRO"))
        theirs, ours = avro.AvroDeserializer(registry), confluent.AvroDeserializer(registry)
        writers = [home.AvroSerializer(registry, text) for home in (avro, confluent)]
        for payload in payloads * 2:
            framed = b"\0" + number.to_bytes(4, "big") + payload
            read = answer(theirs, framed, context())
            # What is no value for kcodec is one for fastavro, or the other way round.
            made = answer(ours, framed, context())
            if not (isinstance(made, tuple) and made[0] is SerializationError):
                assert repr(made) == repr(read)
                written = [answer(each, read, context()) for each in writers]
                assert written[0] == written[1]

    @given(data=st.data())
    def test_damaged_bytes(self, data):
        schema = data.draw(avro_schemas(plain=True))
        registry = client()
        number = registry.register_schema("orders-value", Schema(json.dumps(schema), "AVRO"))
        ours = confluent.AvroDeserializer(registry)
        prefix = b"\0" + number.to_bytes(4, "big")
        payload = data.draw(avro_payloads(parse(schema)))
        answer(ours, prefix + payload, context())
        bad = prefix + data.draw(damaged(payload))
        if len(bad) > 5 and ours._kept and None not in ours._kept.values():
            found = answer(ours, bad, context())
            assert not isinstance(found, tuple) or found[0] is SerializationError or schema == "bytes"

    def test_it_does_not_ask_fastavro_again(self, impl, monkeypatch):
        registry = client()
        serializer = confluent.AvroSerializer(registry, json.dumps(record(a="int")))
        deserializer = confluent.AvroDeserializer(registry)
        first = serializer({"a": 1}, context())
        assert deserializer(first, context()) == {"a": 1}
        for name in ("schemaless_reader", "schemaless_writer"):
            monkeypatch.delattr(avro.AvroSerializer.__call__.__globals__["__name__"] + "." + name)
        assert serializer({"a": 1}, context()) == first
        assert deserializer(first, context()) == {"a": 1}

    @cases(
        ("kind", "values"),
        [
            ("int", [7, "x", None, 1.5, True]),
            ("double", [7, 1.5, "x", float("inf")]),
            ("float", [1e300, 2, 0.1]),
            ("bytes", [b"x", bytearray(b"y"), "z"]),
            (
                {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2},
                [Decimal("1.5"), Decimal("1.555"), 3],
            ),
            ({"type": "int", "logicalType": "date"}, [datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1, 5), 7]),
            ({"type": "int", "logicalType": "time-millis"}, [datetime.time(1, 2, 3, 4567), datetime.time(1), 7]),
            (
                {"type": "long", "logicalType": "timestamp-millis"},
                [datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 1, 2, 3, 4, 5678, UTC), 7, 7000],
            ),
            ({"type": "long", "logicalType": "local-timestamp-micros"}, [datetime.datetime(2020, 1, 1, 5), 7]),
            (
                {"type": "long", "logicalType": "local-timestamp-millis"},
                [7000, 7, datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))],
            ),
            ({"type": "string", "logicalType": "uuid"}, ["f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "x"]),
            (
                {"type": "map", "values": {"type": "long", "logicalType": "timestamp-micros"}},
                [{"a": datetime.datetime(2020, 1, 1)}],
            ),
            ({"type": "array", "items": ["null", "string"]}, [["a", None], (), ["x"], None, [7]]),
            (["null", "int", "string"], [1, "x", None, True, 1.5, ("int", 4)]),
            (["double", "int"], [1, 1.5]),
            (["string", "bytes", "boolean"], ["x", b"x", True]),
            (["null", record(x="int"), record(y="int") | {"name": "B"}], [{"x": 1}, {"y": 2}, None]),
            ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, ["A", "C", 0]),
            ({"type": "fixed", "name": "F", "size": 2}, [b"ab", b"abc"]),
            (["null", {"type": "array", "items": "int"}, {"type": "map", "values": "int"}], [[1], {"a": 1}, None]),
        ],
    )  # fmt: skip
    def test_values_that_only_one_might_take(self, impl, kind, values):
        theirs, ours = both([{"a": each} for each in values], {**record(a=kind), "name": "Outer"})
        assert taken(ours, theirs) == taken(theirs, theirs)

    def test_times_without_a_zone_are_local(self, impl, monkeypatch):
        zone = datetime.timezone(datetime.timedelta(hours=5))
        at = datetime.datetime(2020, 6, 1, 12)
        kind = {"type": "long", "logicalType": "timestamp-millis"}
        schema = {**record(a=["null", record(b={"type": "array", "items": kind})]), "name": "Outer"}
        theirs, ours = both(
            [{"a": {"b": [at.replace(tzinfo=zone), at]}}, {"a": None}, {"a": {"b": []}}], schema
        )
        assert ours == theirs

    def test_missing_and_unknown_keys(self, impl):
        schema = record(a="int", b=["null", "string"])
        schema["fields"][0]["default"] = 7
        theirs, ours = both([{}, {"a": 1}, {"a": 1, "c": 2}, {"b": "x"}, "x", []], schema)
        assert ours == theirs

    def test_a_schema_that_contains_itself(self, impl):
        schema = record(a="int", next=["null", "ns.User"])
        theirs, ours = both([{"a": 1, "next": {"a": 2, "next": None}}], schema)
        assert ours == theirs
        assert isinstance(ours[0], bytes)

    @cases("schema", ['"bytes"', '"string"', '["null", "long"]', '{"type": "bytes"}'])
    def test_roots(self, impl, schema):
        theirs, ours = both([b"x", "x", 7, ""], schema)
        assert taken(ours, theirs) == taken(theirs, theirs)

    def test_references(self, impl):
        def registry():
            made = client()
            made.register_schema("user", Schema(json.dumps(record(a="int")), "AVRO"))
            return made

        text = json.dumps({"type": "record", "name": "O", "fields": [{"name": "u", "type": "ns.User"}]})
        schema = Schema(text, "AVRO", [SchemaReference("ns.User", "user", 1)])
        theirs, ours = both([{"u": {"a": 1}}], schema, registry=registry)
        assert ours == theirs
        assert isinstance(ours[0], bytes)

    @cases(
        ("conf", "place"),
        [
            ({"subject.name.strategy": record_subject_name_strategy}, context()),
            ({"subject.name.strategy": topic_record_subject_name_strategy}, context(field=MessageField.KEY)),
            ({"subject.name.strategy": lambda ctx, name: f"{ctx.topic}.{name}"}, context()),
            ({"subject.name.strategy.type": "RECORD"}, context()),
            ({"auto.register.schemas": False}, context()),
            ({"normalize.schemas": True}, context()),
            ({"validate.strict": True}, context()),
            ({"schema.id.serializer": header_schema_id_serializer}, context(headers=[])),
        ],
    )
    def test_settings(self, impl, conf, place):
        theirs, ours = both([{"a": 1}, {"a": 2, "b": 3}], record(a="int"), conf, place=place)
        assert ours == theirs

    @pytest.mark.parametrize(
        "conf",
        [
            {"auto.register.schema": True},
            {"use.latest.version": True},
            {"auto.register.schemas": "yes"},
            {"use.schema.id": "7"},
            {"subject.name.strategy": "topic"},
        ],
    )
    def test_settings_that_are_wrong(self, conf):
        for name in ("AvroSerializer", "AvroDeserializer"):
            found = [answer(getattr(home, name), client(), '"int"', None, *rest, conf)
                     for home in (avro, confluent)
                     for rest in [() if name == "AvroSerializer" else (False,)]]  # fmt: skip
            if isinstance(found[0], tuple):
                assert found[0] == found[1]

    def test_without_a_context(self, impl):
        theirs, ours = both([{"a": 1}], record(a="int"), place=None)
        assert ours == theirs
        registry = client()
        found = [answer(home.AvroSerializer(registry, '"int"'), 7) for home in (avro, confluent)]
        assert found[0] == found[1]

    def test_the_latest_version_may_become_another(self, impl):
        conf = {"auto.register.schemas": False, "use.latest.version": True}
        found = []
        for home in (avro, confluent):
            registry = client()
            registry.register_schema("orders-value", Schema(json.dumps(record(a="int")), "AVRO"))
            serializer = home.AvroSerializer(registry, None, conf=conf)
            reading = home.AvroDeserializer(registry, conf={"use.latest.version": True})
            made = [serializer({"a": 1, "b": 2}, context()) for _ in range(2)]
            second = record(a="int", b="int")
            second["fields"][1]["default"] = 9
            registry.register_schema("orders-value", Schema(json.dumps(second), "AVRO"))
            registry.clear_latest_caches()
            made += [serializer({"a": 1, "b": 2}, context()) for _ in range(2)]
            found.append((made, [reading(each, context()) for each in made * 2]))
        assert found[0] == found[1]
        assert found[1][1][0] == {"a": 1, "b": 9}

    def test_a_reader_schema(self, impl):
        wanted = record(b="long", a="double")
        wanted["fields"][0]["default"] = 5
        found = []
        for home in (avro, confluent):
            registry = client()
            made = home.AvroSerializer(registry, json.dumps(record(a="int", c="string")))(
                {"a": 1, "c": ""}, context()
            )
            reading = home.AvroDeserializer(registry, json.dumps(wanted))
            found.append([reading(made, context()) for _ in range(3)])
        assert found[0] == found[1]

    @cases("bad", [b"", b"\0\0\0\0", b"\1" * 30, b"\0\0\0\0\x63xx", b"\7abcdefgh"])
    def test_values_without_a_schema(self, impl, bad):
        registry = client()
        found = [answer(home.AvroDeserializer(registry), bad, context()) for home in (avro, confluent)]
        assert found[0] == found[1]

    def test_bytes_that_are_damaged(self, impl):
        registry = client()
        made = confluent.AvroSerializer(registry, json.dumps(record(a="string")))({"a": "text"}, context())
        reading = confluent.AvroDeserializer(registry)
        assert reading(made, context()) == {"a": "text"}
        with pytest.raises(SerializationError, match="truncated: row 0, byte 6, a: "):
            reading(made[:-1], context())

    def test_the_key_is_known_to_their_rules(self, impl):
        from confluent_kafka.schema_registry.common.serde import get_original_key

        registry = client()
        serializer = confluent.AvroSerializer(registry, '"string"')
        reading = confluent.AvroDeserializer(registry)
        where = context(field=MessageField.KEY)
        for text in ("a", "b", "c"):
            made = serializer(text, where)
            assert get_original_key() == text
            assert reading(made, where) == text
            assert get_original_key() == made


class TestJson:
    SCHEMA = '{"title": "T", "type": "object", "properties": {"a": {"type": "integer", "maximum": 9}}}'

    @pytest.mark.parametrize("validate", [True, False])
    @pytest.mark.parametrize(
        "extra", ["", ', "required": ["a"]', ', "patternProperties": {"^x": {"type": "null"}}']
    )
    def test_values(self, validate, extra):
        schema = self.SCHEMA[:-1] + extra + "}"
        values = [{"a": 1}, {}, {"a": 10}, {"a": "x"}, {"x": 1}, [], "ü", {"a": 1.0}, {"b": {1, 2}}]
        found = []
        for home in (json_schema, confluent):
            registry = client()
            conf = {"validate": validate}
            serializer = home.JSONSerializer(schema, registry, conf=conf)
            reading = home.JSONDeserializer(None, schema_registry_client=registry, conf=conf)
            own = home.JSONDeserializer(schema, conf=conf)
            made = [answer(serializer, each, context()) for each in values * 2]
            framed = [b"\0\0\0\0\1" + json.dumps(each).encode() for each in values[:-1]] + [
                b"\0\0\0\0\1{",
                b"\0\0",
            ]
            read = [answer(each, data, context()) for each in (reading, own) for data in framed * 2]
            found.append((made, read))
        assert found[0] == found[1]

    def test_their_code_is_not_asked_again(self, monkeypatch):
        registry = client()
        serializer = confluent.JSONSerializer(self.SCHEMA, registry)
        reading = confluent.JSONDeserializer(None, schema_registry_client=registry)
        first = serializer({"a": 1}, context())
        assert reading(first, context()) == {"a": 1}
        monkeypatch.delattr(json_schema.JSONSerializer, "__call__")
        monkeypatch.delattr(json_schema.JSONDeserializer, "__call__")
        assert serializer({"a": 1}, context()) == first
        assert reading(first, context()) == {"a": 1}

    def test_values_of_which_nothing_is_asked(self):
        """They are the bytes that theirs are; what is no JSON is the same error, also of keys."""
        values = [{"a": 1, "b": [None, 0.1, "ü\x01", 1e16]}, None, {"a": {1}}, {1: 2}, "\ud800", {"c": 2**70}]
        found = []
        for home in (json_schema, confluent):
            for place in (context(), context("other"), context(field=MessageField.KEY), None):
                serializer = home.JSONSerializer(self.SCHEMA, client(), conf={"validate": False})
                found.append([answer(serializer, each, place) for each in values * 3])
        assert found[:4] == found[4:]

    def test_functions_for_text(self):
        options = {"conf": {"validate": False}}
        found = []
        for home in (json_schema, confluent):
            registry = client()
            serializer = home.JSONSerializer(
                self.SCHEMA, registry, json_encode=lambda value: b"!" + value, **options
            )
            reading = home.JSONDeserializer(self.SCHEMA, json_decode=lambda data: data[1:], **options)
            made = [serializer(b"x", context()) for _ in range(2)]
            found.append((made, [reading(each, context()) for each in made]))
        assert found[0] == found[1]


def message_classes():
    file = descriptor_pb2.FileDescriptorProto(name="orders.proto", package="shop", syntax="proto3")
    order = file.message_type.add(name="Order")
    order.field.add(name="id", number=1, type=3, label=1)
    line = order.nested_type.add(name="Line")
    line.field.add(name="text", number=2, type=9, label=1)
    file.message_type.add(name="Other").field.add(name="x", number=1, type=8, label=1)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    names = ("shop.Order", "shop.Order.Line", "shop.Other")
    return [message_factory.GetMessageClass(pool.FindMessageTypeByName(name)) for name in names]


class TestProtobuf:
    CLASSES = message_classes()

    @pytest.mark.parametrize(("at", "fields"), [(0, {"id": 7}), (1, {"text": "ü"}), (2, {})])
    def test_messages(self, at, fields):
        kind = self.CLASSES[at]
        found = []
        for home in (protobuf, confluent):
            registry = client()
            serializer = home.ProtobufSerializer(kind, registry)
            readers = [home.ProtobufDeserializer(kind, None, each) for each in (registry, None)]
            made = [answer(serializer, each, context()) for each in [kind(**fields), kind(), None] * 2]
            made.append(answer(serializer, self.CLASSES[at - 1](), context()))
            framed = [each for each in made if isinstance(each, bytes)]
            damage = [
                framed[0] + b"\x0a\x09",
                b"\0",
                b"\0\0\0\0\1",
                b"\0\0\0\0\1\3\2",
                b"\7" * 9,
                framed[0][:6],
            ]
            read = [answer(each, data, context()) for each in readers for data in [*framed, *damage] * 2]
            found.append((made, read))
        assert found[0] == found[1]

    def test_their_code_is_not_asked_again(self, monkeypatch):
        registry, kind = client(), self.CLASSES[1]
        serializer = confluent.ProtobufSerializer(kind, registry)
        reading = confluent.ProtobufDeserializer(kind, None, registry)
        first = serializer(kind(text="a"), context())
        assert reading(first, context()) == kind(text="a")
        monkeypatch.delattr(protobuf.ProtobufSerializer, "__call__")
        monkeypatch.delattr(protobuf.ProtobufDeserializer, "__call__")
        assert serializer(kind(text="a"), context()) == first
        assert reading(first, context()) == kind(text="a")


def test_to_dict_is_called_once_for_a_value():
    """Also for one that their code writes, or refuses, after ours did not take it."""
    calls = []

    def to_dict(value, ctx):
        calls.append(value)
        return {"name": value, "at": 7} if value != "odd" else {"name": value, "at": "x"}

    document = {
        "title": "User",
        "type": "object",
        "properties": {"name": {"type": "string"}, "at": {"type": "integer"}},
    }
    schema = json.dumps(record(name="string", at="long"))
    for serializer in (
        confluent.AvroSerializer(client(), schema, to_dict),
        confluent.JSONSerializer(json.dumps(document), client(), to_dict),
    ):
        for value in ("a", "b", "odd", "odd", "c"):
            answer(serializer, value, context())
        assert calls == ["a", "b", "odd", "odd", "c"]
        calls.clear()


class _Color(enum.Enum):
    RED = "red"


class _Size(enum.Enum):
    LARGE = 3


@pytest.mark.parametrize("to_dict", [None, lambda value, ctx: value], ids=["", "to_dict"])
def test_uuids_and_enumerations_are_what_they_hold(to_dict):
    """Whether theirs writes them, as the first value of a subject, or ours."""
    document = {
        "title": "R",
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "colors": {"type": "array", "items": {"enum": ["red"]}},
            "size": {"type": "integer"},
        },
    }
    colors = {"type": "array", "items": {"type": "enum", "name": "Color", "symbols": ["blue", "red"]}}
    schema = json.dumps(record(id="string", colors=colors, size="long"))
    key = uuid.UUID(int=7)
    held = {"id": str(key), "colors": ["red"], "size": 3}
    value = {"id": key, "colors": [_Color.RED], "size": _Size.LARGE}
    for serializer in (
        confluent.AvroSerializer(client(), schema, to_dict),
        confluent.JSONSerializer(json.dumps(document), client(), to_dict),
    ):
        first = serializer(value, context())
        assert serializer(value, context()) == serializer(held, context()) == first
        for odd in ({**held, "id": _Size.LARGE}, {**held, "size": _Color.RED}):
            with pytest.raises((SerializationError, ValueError, TypeError)):
                serializer(odd, context())


def test_a_release_without_what_is_used_of_it(monkeypatch):
    """Its own code does everything."""
    monkeypatch.setattr("kcodec.confluent.quick.common", None)
    registry, schema = client(), json.dumps(record(name="string"))
    theirs = avro.AvroSerializer(registry, schema)
    serializer, deserializer = (
        confluent.AvroSerializer(registry, schema),
        confluent.AvroDeserializer(registry),
    )
    for value in ({"name": "a"}, {"name": "b"}):
        made = serializer(value, context())
        assert made == theirs(value, context())
        assert deserializer(made, context()) == value


@pytest.mark.parametrize(
    ("kind", "default", "wanted"),
    [
        ("bytes", "\u00ff", "\u00ff"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, "\u0001", "\u0001"),
        ([{"type": "long", "logicalType": "timestamp-millis"}, "null"], 7, 7),
        (["null", "bytes"], None, None),
        ("string", "x", "x"),
    ],
)
def test_defaults_are_theirs(kind, default, wanted):
    """Those of bytes and of logical types are the JSON of the schema there, for each value alike."""
    read = record(name="string", more=kind)
    read["fields"][1]["default"] = default
    registry = client()
    made = confluent.AvroSerializer(registry, json.dumps(record(name="string")))({"name": "a"}, context())
    for home in (avro, confluent):
        deserializer = home.AvroDeserializer(registry, json.dumps(read))
        assert [deserializer(made, context()) for _ in range(3)] == [{"name": "a", "more": wanted}] * 3


def test_rules_in_the_schema_itself_are_run_for_each_value():
    rule = {"confluent:rules": [{"name": "positive", "expr": "this > 0"}]}
    document = {"title": "R", "type": "object", "properties": {"a": {"type": "integer", **rule}}}
    schema = record(a="long")
    schema["fields"][0].update(rule)
    conf = {"validation.rules.execution": "BEFORE_DOMAIN_RULES"}
    for serializer in (
        confluent.AvroSerializer(client(), json.dumps(schema), conf=conf),
        confluent.JSONSerializer(json.dumps(document), client(), conf=conf),
    ):
        assert serializer({"a": 1}, context())
        with pytest.raises(SerializationError, match="positive"):
            serializer({"a": -1}, context())
