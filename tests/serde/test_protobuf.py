"""Protobuf through a registry: many ids and messages in one column, and imports as references."""

import pickle

import pyarrow as pa
import pytest
from cases import cases

from kcodec import ConfigError, DecodeError, EncodeError, RegistryError, SchemaError, Serde
from kcodec.formats.protobuf.codec import ProtobufCodec
from kcodec.registry import Reference, Schema
from kcodec.registry.memory import MemoryRegistry

SHOP = """
syntax = "proto3";
package shop;
message Order { int64 id = 1; string who = 2; message Line { int32 n = 1; } }
message Refund { int64 id = 1; double amount = 2; }
"""
SHOP_2 = SHOP.replace("string who = 2;", "bytes who = 2; int32 added = 3;").replace(
    "message Refund", "message New { } message Refund"
)


def encoded(schema, message, *rows):
    codec = ProtobufCodec(schema, message)
    return [value.as_py() for value in codec.encode(pa.array(rows, codec.arrow_type))]


@pytest.fixture
def registry():
    registry = MemoryRegistry()
    registry.register("t-value", Schema(SHOP, "PROTOBUF"))
    return registry


ORDER = encoded(SHOP, "Order", {"id": 1, "who": "a"})[0]
REFUND = encoded(SHOP, "Refund", {"id": 2, "amount": 0.5})[0]
NEWER = encoded(SHOP_2, "Order", {"id": 3, "who": b"c", "added": 4})[0]
FRAME = b"\0\0\0\0"

#: GUIDs of known files as Java's serializer registers them, of the classes of protobuf-java 4.34.1.
KNOWN_GUIDS = {
    "confluent/meta.proto": "c0287085-cc72-8b0b-edd2-6d9016312587",
    "google/protobuf/struct.proto": "45fece7a-8624-373a-e104-fc439313e744",
    "google/protobuf/timestamp.proto": "95114fce-a2b6-107e-56c9-8aa75a4c036c",
    "google/protobuf/type.proto": "f67750ca-2d3e-3ee4-0883-d579bfa472d5",
    "google/protobuf/wrappers.proto": "6fca5a04-9e02-27ac-5274-1b88b3e529a2",
    "google/type/datetime.proto": "31e3101b-96c7-f335-4b6a-a8efe66531b5",
    "google/type/money.proto": "a6572a3a-1c97-55d8-2432-599f66da0cf4",
}


def test_the_first_value_says_which_message_is_read(impl, registry):
    serde = Serde("PROTOBUF", registry, topic="t")
    assert serde.arrow_type is None
    values = [FRAME + b"\1\2\2" + REFUND, None, FRAME + b"\1\0" + ORDER]
    array, report = serde.deserialize(values, errors="report")
    assert array.to_pylist() == [{"id": 2, "amount": 0.5}, None, None]
    assert report["code"].to_pylist() == ["schema_error"]
    assert "values of the message shop.Order are not read as shop.Refund" in report["reason"][0].as_py()
    # It stays what it was, in copies too.
    again = pickle.loads(pickle.dumps(serde))
    assert again.deserialize([FRAME + b"\1\2\2" + REFUND]).to_pylist() == [{"id": 2, "amount": 0.5}]
    with pytest.raises(DecodeError, match=r"shop\.Order are not read as shop\.Refund"):
        again.deserialize([FRAME + b"\1\0" + ORDER])


@pytest.mark.parametrize(("strategy", "topic"), [("RecordName", ""), ("TopicRecordName", "t-")])
def test_the_first_value_says_under_which_subject_its_latest_is(impl, strategy, topic):
    registry = MemoryRegistry()
    for subject, text in (("shop.Order", SHOP), ("shop.Refund", SHOP_2)):
        registry.register(topic + subject, Schema(text, "PROTOBUF"))
    config = {"value.subject.name.strategy": strategy, "use.latest.version": True}
    serde = Serde("PROTOBUF", registry, topic="t", config=config)
    assert serde.deserialize([FRAME + b"\1\2\2" + REFUND]).to_pylist() == [{"id": 2, "amount": 0.5}]
    assert "message New" in serde.reader_schema
    lost = Serde("PROTOBUF", registry, topic="t", config=config)
    _, report = lost.deserialize([FRAME + b"\1\2\6" + REFUND], errors="report")
    assert report["code"].to_pylist() == ["schema_error"]


@pytest.mark.parametrize("message", ["shop.Order", "Order"])
def test_the_message_is_chosen(impl, registry, message):
    registry.register("t-value", Schema(SHOP_2, "PROTOBUF"))
    serde = Serde("PROTOBUF", registry, topic="t", message=message, reader_schema=SHOP_2)
    values = [FRAME + b"\1\2\2" + REFUND, FRAME + b"\1\0" + ORDER, FRAME + b"\2\2\0" + NEWER]
    array, report = serde.deserialize(values, errors="report")
    assert array.to_pylist() == [None, {"id": 1, "who": b"a", "added": 0}, {"id": 3, "who": b"c", "added": 4}]
    assert report["row"].to_pylist() == [0]
    assert serde.arrow_type == array.type


def test_many_messages_are_a_struct(impl, registry):
    registry.register("t-value", Schema(SHOP_2, "PROTOBUF"))
    serde = Serde("PROTOBUF", registry, topic="t", message=["shop.Order", "Refund"])
    values = [
        FRAME + b"\1\2\2" + REFUND,
        None,
        FRAME + b"\1\0" + ORDER,
        FRAME + b"\2\2\4" + REFUND,
        FRAME + b"\2\2\2",
        FRAME + b"\1\0\xff",
    ]
    array, report = serde.deserialize(values, errors="report")
    refund = {"shop.Order": None, "shop.Refund": {"id": 2, "amount": 0.5}}
    assert array.to_pylist() == [
        refund,
        None,
        {"shop.Order": {"id": 1, "who": b"a", "added": 0}, "shop.Refund": None},
        refund,
        None,
        None,
    ]
    assert report["row"].to_pylist() == [4, 5]
    assert report["code"].to_pylist() == ["schema_error", "truncated"]
    # The message of no row is a column of nulls, beneath which what is never null has values.
    assert serde.deserialize(values[:2]).field("shop.Order").field("id").null_count == 0
    with pytest.raises(DecodeError, match="row 4"):
        serde.deserialize(values)


class TestStructsOfMessages:
    """Columns with a member for each message of a topic, of which one is set."""

    def test_are_written(self, impl):
        registry = MemoryRegistry()
        serde = Serde("PROTOBUF", registry, topic="t", schema=SHOP_2, message=["shop.Order", "Refund"])
        order = {"id": 1, "who": b"a", "added": 4}
        rows = [
            {"shop.Order": None, "shop.Refund": {"id": 2, "amount": 0.5}},
            None,
            {"shop.Order": order, "shop.Refund": None},
        ]
        values = serde.serialize(rows)
        assert values.to_pylist() == [FRAME + b"\1\2\4" + REFUND, None, FRAME + b"\1\0" + ORDER + b"\x18\4"]
        assert serde.deserialize(values).to_pylist() == rows
        column = pa.array(rows, serde.arrow_type)
        assert serde.serialize(pa.chunked_array([column[:1], column[1:]])).to_pylist() == values.to_pylist()
        again = pickle.loads(pickle.dumps(serde))
        assert again.serialize(column) == values
        assert registry.subjects() == ["t-value"]

    def test_have_exactly_one(self, impl):
        serde = Serde("PROTOBUF", MemoryRegistry(), topic="t", schema=SHOP, message=["Order", "Refund"])
        kind = pa.struct(
            [
                ("Refund", pa.struct([("id", pa.int64()), ("amount", pa.float64())])),
                ("Order", pa.struct([("id", pa.decimal128(20, 0))])),
            ]
        )
        array = pa.array(
            [
                {"Refund": {"id": 2, "amount": 0.5}, "Order": None},
                {"Refund": {"id": 2}, "Order": {"id": 1}},
                {"Refund": None, "Order": None},
                {"Order": {"id": 1 << 63}},
                {"Order": {"id": 1}},
            ],
            kind,
        )
        values, report = serde.serialize(array, errors="report")
        assert values.to_pylist() == [FRAME + b"\1\2\2" + REFUND, None, None, None, FRAME + b"\1\0\x08\1"]
        assert report.select(["row", "path", "code"]).to_pylist() == [
            {"row": 1, "path": "", "code": "union_members"},
            {"row": 2, "path": "", "code": "union_members"},
            {"row": 3, "path": "Order.id", "code": "out_of_range"},
        ]
        with pytest.raises(EncodeError, match="row 1: not exactly one member of the union is set"):
            serde.serialize(array)
        assert serde.serialize(array.slice(0, 0)).to_pylist() == []
        assert serde.serialize(pa.chunked_array([], kind)).chunks == []
        assert serde.serialize(array.slice(1, 2), errors="null").to_pylist() == [None, None]

    def test_subjects_are_those_of_each_message(self, impl):
        registry = MemoryRegistry()
        config = {"value.subject.name.strategy": "TopicRecordNameStrategy"}
        serde = Serde(
            "PROTOBUF", registry, topic="t", schema=SHOP, message=["Order", "Refund"], config=config
        )
        rows = [{"shop.Order": {"id": 1, "who": "a"}, "shop.Refund": None}]
        serde.serialize(rows)
        assert registry.subjects() == ["t-shop.Order"]
        serde.serialize([*rows, {"shop.Order": None, "shop.Refund": {"id": 1, "amount": 0.0}}])
        assert registry.subjects() == ["t-shop.Order", "t-shop.Refund"]

    def test_of_derived_schemas(self, impl):
        registry = MemoryRegistry()
        config = {"value.subject.name.strategy": "RecordNameStrategy"}
        serde = Serde("PROTOBUF", registry, message=["a.B", "a.C"], config=config)
        kind = pa.struct([("a.B", pa.struct([("x", pa.int64())])), ("a.C", pa.struct([("y", pa.string())]))])
        column = pa.array([{"a.B": {"x": 1}}, {"a.C": {"y": "z"}}], kind)
        values = serde.serialize(column)
        assert registry.subjects() == ["a.B", "a.C"]
        names = [Serde("PROTOBUF", registry).deserialize(values[at : at + 1]).to_pylist() for at in (0, 1)]
        assert names == [[{"x": 1}], [{"y": "z"}]]

    def test_derived_schemas_have_no_subject_in_common(self, impl):
        registry = MemoryRegistry()
        serde = Serde("PROTOBUF", registry, topic="t", message=["B", "C"])
        kind = pa.struct([("B", pa.struct([("x", pa.int64())])), ("C", pa.struct([("y", pa.string())]))])
        assert serde.serialize(pa.array([None], kind)).to_pylist() == [None]
        with pytest.raises(
            ConfigError, match="several messages of t-value need a schema that has them all: "
        ):
            serde.serialize(pa.array([{"B": {"x": 1}}, {"C": {"y": "z"}}], kind))
        assert registry.subjects() == []
        text = 'syntax = "proto3"; message B { int64 x = 1; } message C { string y = 1; }'
        registry.register("t-value", Schema(text, "PROTOBUF"))
        config = {"use.latest.version": True, "auto.register.schemas": False}
        latest = Serde("PROTOBUF", registry, topic="t", message=["B", "C"], config=config)
        written = latest.serialize(pa.array([{"B": {"x": 1}}, {"C": {"y": "z"}}], kind))
        assert written.to_pylist() == [FRAME + b"\1\0\x08\1", FRAME + b"\1\2\2\x0a\1z"]

    def test_what_cannot_be_written(self, impl):
        settings = {"topic": "t", "schema": SHOP, "message": ["Order", "Refund"]}
        serde = Serde("PROTOBUF", MemoryRegistry(), **settings)
        with pytest.raises(SchemaError, match="the member Line is not one of the messages Order, Refund"):
            serde.serialize(pa.array([{"Line": {"n": 1}}]))
        with pytest.raises(SchemaError, match="a column of several messages is a struct of them, not int64"):
            serde.serialize(pa.array([1]))
        headers = {"value.schema.id.serializer": "HeaderSchemaIdSerializer"}
        serde = Serde("PROTOBUF", MemoryRegistry(), **settings, config=headers)
        with pytest.raises(ConfigError, match="HeaderSchemaIdSerializer names one message"):
            serde.serialize_with_headers(pa.array([{"Order": {"id": 1}}]))


def test_payloads_of_any_message_are_read_where_asked_for(impl, registry):
    config = {"protobuf.any.message": "true"}
    serde = Serde("PROTOBUF", registry, topic="t", message="Order", config=config)
    # dotnet once wrote indexes in the wrong order.
    values = [
        FRAME + b"\1\4\0\2" + ORDER,
        FRAME + b"\1\2\2" + encoded(SHOP, "Order", {"id": 5, "who": ""})[0],
    ]
    assert serde.deserialize(values).to_pylist() == [{"id": 1, "who": "a"}, {"id": 5, "who": ""}]


def test_values_without_a_frame(impl, registry):
    config = {"value.schema.id.deserializer": "ConfigSchemaIdDeserializer", "use.schema.id": "1"}
    serde = Serde("PROTOBUF", registry, topic="t", config={**config, "use.message.indexes": "1"})
    assert serde.deserialize([REFUND]).to_pylist() == [{"id": 2, "amount": 0.5}]
    assert (
        Serde("PROTOBUF", registry, topic="t", config=config).deserialize([ORDER]).to_pylist()[0]["who"]
        == "a"
    )
    with pytest.raises(ConfigError, match=r"use\.message\.indexes='x' is not numbers"):
        Serde("PROTOBUF", registry, config={"use.message.indexes": "x"})


def test_indexes_that_mean_nothing(impl, registry):
    serde = Serde("PROTOBUF", registry, topic="t", message="Order")
    array, report = serde.deserialize(
        [FRAME + b"\1\2\6" + ORDER, FRAME + b"\1\4\0\2" + ORDER, FRAME + b"\1\0" + ORDER], errors="report"
    )
    assert array.to_pylist() == [None, None, {"id": 1, "who": "a"}]
    assert [each.as_py() for each in report["reason"]] == [
        "the schema has no message of the indexes [3]",
        "the schema has no message of the indexes [0, 1]",
    ]


def test_changes_that_lose_values_are_errors(impl, registry):
    changed = SHOP.replace("int64 id = 1; string who", "string id = 1; string who")
    serde = Serde("PROTOBUF", registry, topic="t", message="Order", reader_schema=changed)
    with pytest.raises(
        DecodeError,
        match=r"FIELD_SCALAR_KIND_CHANGED at #/shop\.Order/1: id is string, but was written as int64",
    ):
        serde.deserialize([FRAME + b"\1\0" + ORDER])


def test_generated_classes_are_written(impl):
    from google.protobuf import timestamp_pb2

    registry = MemoryRegistry()
    serde = Serde(
        "PROTOBUF",
        registry,
        topic="t",
        schema=timestamp_pb2.Timestamp,
        config={"value.subject.name.strategy": "RecordName"},
    )
    values = serde.serialize(pa.array([{"seconds": 7, "nanos": 0}]))
    assert values.to_pylist() == [b"\0\0\0\0\1\0\x08\x07"]
    assert registry.subjects() == ["google.protobuf.Timestamp"]


def test_derived_schemas(impl):
    registry = MemoryRegistry()
    serde = Serde("PROTOBUF", registry, topic="t", message="shop.Order")
    kind = pa.struct([pa.field("id", pa.int64(), False), ("at", pa.timestamp("us", "UTC"))])
    array = pa.array([{"id": 7, "at": 1_000_000}, None], kind)
    values = serde.serialize(array)
    assert serde.deserialize(values) == array
    assert registry.get_version("t-value").schema.text == (
        'syntax = "proto3";\npackage shop;\n\nimport "google/protobuf/timestamp.proto";\n\n'
        "message Order {\n  int64 id = 1;\n  google.protobuf.Timestamp at = 2;\n}\n"
    )


DIAMOND = {
    "main.proto": 'syntax = "proto3"; import "a/left.proto"; import public "right.proto"; '
    'import "google/protobuf/duration.proto"; message M { Left l = 1; Right r = 2; }',
    "a/left.proto": 'syntax = "proto3"; import "leaf.proto"; message Left { Leaf leaf = 1; }',
    "right.proto": 'syntax = "proto3"; import public "leaf.proto"; message Right { repeated Leaf leaf = 1; }',
    "leaf.proto": 'syntax = "proto3"; message Leaf { int32 a = 1; }',
}
ROWS = pa.array([{"l": {"leaf": {"a": 1}}, "r": {"leaf": [{"a": 2}, {"a": 3}]}}])


class TestReferences:
    def test_imports_are_registered_leaf_first(self, impl):
        registry = MemoryRegistry()
        serde = Serde("PROTOBUF", registry, topic="t", schema=DIAMOND)
        values = serde.serialize(ROWS)
        ids = {subject: registry.get_version(subject).id for subject in registry.subjects()}
        assert ids == {"leaf.proto": 1, "a/left.proto": 2, "right.proto": 3, "t-value": 4}
        assert registry.get_version("t-value").schema.references == (
            Reference("a/left.proto", "a/left.proto", 1),
            Reference("right.proto", "right.proto", 1),
        )
        assert registry.get_version("right.proto").schema.references == (
            Reference("leaf.proto", "leaf.proto", 1),
        )
        # A reader needs the registry alone.
        assert Serde("PROTOBUF", registry, topic="t").deserialize(values).to_pylist() == ROWS.to_pylist()

    def test_qualified_subjects(self, impl):
        registry = MemoryRegistry()
        config = {"reference.subject.name.strategy": "QualifiedReferenceSubjectNameStrategy"}
        Serde("PROTOBUF", registry, topic="t", schema=DIAMOND, config=config).serialize(ROWS)
        assert registry.subjects() == ["a.left", "leaf", "right", "t-value"]

    def test_known_types_are_registered_where_asked_for(self, impl):
        registry = MemoryRegistry()
        texts = {
            "m": 'syntax = "proto3"; import "google/protobuf/duration.proto"; message M { int32 a = 1; }'
        }
        array = pa.array([{"a": 1}])
        Serde("PROTOBUF", registry, topic="t", schema=texts).serialize(array)
        assert registry.subjects() == ["t-value"]
        Serde("PROTOBUF", registry, topic="u", schema=texts, config={"skip.known.types": "false"}).serialize(
            array
        )
        assert registry.subjects() == ["google/protobuf/duration.proto", "t-value", "u-value"]
        assert registry.get_version("u-value").schema.references[0].name == "google/protobuf/duration.proto"

    @cases(("path", "guid"), KNOWN_GUIDS.items())
    def test_known_types_have_the_texts_of_javas_classes(self, impl, path, guid):
        registry = MemoryRegistry()
        texts = {"m": f'syntax = "proto3"; import "{path}"; message M {{ int32 a = 1; }}'}
        config = {"skip.known.types": "false"}
        Serde("PROTOBUF", registry, topic="t", schema=texts, config=config).serialize(pa.array([{"a": 1}]))
        assert registry.get_version(path).guid == guid

    def test_references_may_only_be_looked_up(self, impl):
        registry = MemoryRegistry()
        config = {"reference.lookup.only": "true"}
        serde = Serde("PROTOBUF", registry, topic="t", schema=DIAMOND, config=config)
        with pytest.raises(RegistryError, match=r"leaf\.proto"):
            serde.serialize(ROWS)
        assert registry.subjects() == []
        Serde("PROTOBUF", registry, topic="u", schema=DIAMOND).serialize(ROWS)
        assert serde.serialize(ROWS).to_pylist()[0][:6] == b"\0\0\0\0\4\0"

    def test_nothing_is_registered_without_leave(self, impl):
        registry = MemoryRegistry()
        config = {"auto.register.schemas": "false"}
        serde = Serde("PROTOBUF", registry, topic="t", schema=DIAMOND, config=config)
        with pytest.raises(RegistryError):
            serde.serialize(ROWS)
        Serde("PROTOBUF", registry, topic="t", schema=DIAMOND).serialize(ROWS)
        assert serde.serialize(ROWS).to_pylist()[0][:6] == b"\0\0\0\0\4\0"

    def test_circles_are_refused(self, impl):
        texts = {
            "a": 'syntax = "proto3"; import "b"; message A { }',
            "b": 'syntax = "proto3"; import "c"; message B { }',
            "c": 'syntax = "proto3"; import "b"; message C { }',
        }
        with pytest.raises(SchemaError, match="imports form a circle: b -> c -> b"):
            Serde("PROTOBUF", MemoryRegistry(), topic="t", schema=texts).serialize(
                pa.array([{}], pa.struct([]))
            )

    def test_readers_have_imports_too(self, impl, registry):
        texts = {
            "main": 'syntax = "proto3"; package shop; import "id"; message Order { ids.Id id = 4; string who = 2; }',
            "id": 'syntax = "proto3"; package ids; message Id { int32 a = 1; }',
        }
        serde = Serde("PROTOBUF", registry, topic="t", reader_schema=texts)
        assert serde.deserialize([FRAME + b"\1\0" + ORDER]).to_pylist() == [{"id": None, "who": "a"}]


def test_other_formats_have_no_messages():
    with pytest.raises(ConfigError, match="the format AVRO takes no message="):
        Serde("AVRO", MemoryRegistry(), topic="t", message="M")
    with pytest.raises(ConfigError, match="a Protobuf schema is not made from int"):
        Serde("PROTOBUF", MemoryRegistry(), topic="t", schema=7)


def test_a_class_stands_for_its_message(impl):
    from google.protobuf import type_pb2

    serde = Serde("PROTOBUF", MemoryRegistry(), topic="t", schema=type_pb2.Option)
    values = serde.serialize(pa.array([{"name": "a"}])).to_pylist()
    assert values == [b"\0\0\0\0\1\2\x08\x0a\1a"]
    assert type_pb2.Option.FromString(values[0][7:]).name == "a"


OLD = (
    'syntax = "proto3"; message A { string name = 1; message B { int32 n = 1; } } message C { int32 n = 1; }'
)


@pytest.mark.parametrize(
    ("message", "indexes"), [("A", b"\0"), ("A.B", b"\2\0\0"), ("C", b"\1\1")], ids=["A", "A.B", "C"]
)
def test_message_indexes_without_zigzag(message, indexes):
    """As confluent-kafka wrote them up to 1.7, and with ``use.deprecated.format``."""
    registry = MemoryRegistry()
    config = {"use.deprecated.format": True}
    value = {"name": "a"} if message == "A" else {"n": 5}
    new = Serde("PROTOBUF", registry, topic="t", schema=OLD, message=message).serialize(
        [value], as_list=True
    )[0]
    serde = Serde("PROTOBUF", registry, topic="t", schema=OLD, message=message, config=config)
    (old,) = serde.serialize([value], as_list=True)
    assert old == new[:5] + indexes + new[-len(value.get("name", "a")) - (2 if message == "A" else 1) :]
    for _ in range(2):
        # Once more with what is known of the key.
        assert serde.deserialize([old, None, old]).to_pylist() == [value, None, value]


@pytest.mark.parametrize(
    ("indexes", "code"), [(b"\1\1", "negative_length"), (b"", "out_of_range"), (b"\4\0", "frame_truncated")]
)
def test_message_indexes_that_are_none_are_told_as_such(indexes, code):
    registry = MemoryRegistry()
    serde = Serde("PROTOBUF", registry, topic="t", schema=OLD, message="C")
    new = serde.serialize([{"n": 5}], as_list=True)[0]
    payload = b"\x0a\x03abc" if code == "out_of_range" else b"\x08\x05" if code == "negative_length" else b""
    _, report = serde.deserialize([new, new[:5] + indexes + payload], errors="report")
    (fault,) = report.to_pylist()
    assert (fault["row"], fault["offset"], fault["code"], fault["schema_id"]) == (1, 5, code, 1)
    assert fault["reason"].startswith("message indexes: ")
