"""Serdes: frames, registry and Avro together."""

import pickle
import subprocess
import sys
import threading
import uuid
from typing import ClassVar

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcodec import AvroCodec, JsonCodec, Serde
from kcodec.errors import CapacityError, ConfigError, DecodeError, EncodeError, RegistryError, SchemaError
from kcodec.registry import Config, Metadata, Reference, RegisteredSchema, Schema
from kcodec.registry.memory import MemoryRegistry
from kcodec.serde.config import KEYS, SerdeConfig
from kcodec.serde.metrics import SerdeMetrics

pytestmark = pytest.mark.usefixtures("impl")

V1 = '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"int"}]}'
V2 = (
    '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"long"},'
    '{"name":"note","type":["null","string"],"default":null}]}'
)
V3 = (
    '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"note","type":["null","string"],'
    '"default":null},{"name":"id","type":"long"},{"name":"qty","type":"int","default":1}]}'
)
HEADER_OUT = {
    "value.schema.id.serializer": "io.confluent.kafka.serializers.schema.id.HeaderSchemaIdSerializer"
}


class Counted(MemoryRegistry):
    """A registry that remembers what it was asked."""

    def __init__(self):
        super().__init__(uuid.uuid4().hex)
        self.calls = []

    def get(self, schema_id):
        self.calls.append(("get", schema_id))
        return super().get(schema_id)

    def get_by_guid(self, guid):
        self.calls.append(("guid", guid))
        return super().get_by_guid(guid)

    def get_version(self, subject, version="latest", *, deleted=False):
        self.calls.append(("version", subject, version))
        return super().get_version(subject, version, deleted=deleted)

    def register(self, subject, schema, *, normalize=False):
        self.calls.append(("register", subject))
        return super().register(subject, schema, normalize=normalize)


@pytest.fixture
def registry():
    found = Counted()
    found.set_config(Config("NONE"))
    found.calls.clear()
    return found


@pytest.fixture
def orders(registry):
    """Three versions of a schema under one subject, ids 1 to 3."""
    for text in (V1, V2, V3):
        registry.register("orders-value", Schema(text))
    registry.calls.clear()
    return registry


def frame(schema_id, payload):
    return b"\0" + schema_id.to_bytes(4, "big") + payload


def written(schema_id, text, rows):
    codec = AvroCodec(text)
    return [frame(schema_id, each) for each in codec.encode(pa.array(rows, codec.arrow_type)).to_pylist()]


@pytest.fixture
def mixed():
    """Rows of three ids, interleaved."""
    ones = written(1, V1, [{"id": 1}, {"id": 4}])
    twos = written(2, V2, [{"id": 2, "note": "b"}, {"id": 5, "note": None}])
    threes = written(3, V3, [{"note": "c", "id": 3, "qty": 7}, {"note": None, "id": 6, "qty": 8}])
    return [each for row in zip(ones, twos, threes, strict=True) for each in row]


class TestRead:
    def test_mixed_ids_come_out_as_the_latest_in_order(self, orders, mixed):
        serde = Serde("AVRO", orders, topic="orders")
        array = serde.deserialize([None, *mixed, None])
        array.validate(full=True)
        assert array.to_pylist() == [
            None,
            {"note": None, "id": 1, "qty": 1},
            {"note": "b", "id": 2, "qty": 1},
            {"note": "c", "id": 3, "qty": 7},
            {"note": None, "id": 4, "qty": 1},
            {"note": None, "id": 5, "qty": 1},
            {"note": None, "id": 6, "qty": 8},
            None,
        ]
        assert serde.arrow_type == array.type
        assert serde.reader_schema == V3

    @pytest.mark.parametrize(
        ("reader", "names"),
        [
            (V1, ["id"]),
            (2, ["id", "note"]),
            ("id:1", ["id"]),
            ("version:2", ["id", "note"]),
            ("latest", ["note", "id", "qty"]),
            ({"type": "record", "name": "R", "fields": [{"name": "id", "type": "double"}]}, ["id"]),
            (Schema(V2), ["id", "note"]),
        ],
    )
    def test_the_reader_schema_is_given(self, orders, mixed, reader, names):
        serde = Serde("AVRO", orders, topic="orders", reader_schema=reader)
        array, report = serde.deserialize(mixed, errors="report")
        assert [field.name for field in array.type] == names
        # A reader's int does not take a writer's long.
        assert report.num_rows == (4 if reader in (V1, "id:1") else 0)
        assert report["schema_id"].to_pylist() == ([2, 3, 2, 3] if reader in (V1, "id:1") else [])

    def test_without_a_subject_the_first_valid_frame_is_the_reader(self, orders, mixed):
        serde = Serde("AVRO", orders, topic="elsewhere")
        assert serde.arrow_type is None
        assert serde.reader_schema is None
        column = [b"\0\0\0\0\x63", b"junk", mixed[1], mixed[0]]
        array = serde.deserialize(column, errors="null")
        assert array.to_pylist() == [None, None, {"id": 2, "note": "b"}, {"id": 1, "note": None}]
        assert serde.reader_schema == V2
        assert Serde("AVRO", orders).deserialize(mixed[2:]).type == AvroCodec(V3).arrow_type

    def test_nothing_readable_is_a_column_of_nulls(self, orders):
        serde = Serde("AVRO", orders)
        assert serde.deserialize([None, None]).type == pa.null()
        assert serde.deserialize([b"\xff"], errors="null").to_pylist() == [None]

    def test_the_latest_must_exist_where_it_is_asked_for(self, orders, mixed):
        for serde in (
            Serde("AVRO", orders, topic="elsewhere", config={"use.latest.version": True}),
            Serde("AVRO", orders, topic="elsewhere", reader_schema="latest"),
        ):
            with pytest.raises(RegistryError) as info:
                serde.deserialize(mixed, errors="null")
            assert info.value.error_code == 40401

    def test_ids_are_fetched_once_and_unknown_ones_once_a_column(self, orders, mixed):
        serde = Serde("AVRO", orders, topic="orders")
        column = mixed * 20 + [frame(99, b"x")] * 30
        serde.deserialize(column, errors="null")
        asked = [call for call in orders.calls if call[0] == "get"]
        assert asked == [("get", 1), ("get", 2), ("get", 3), ("get", 99)]
        orders.calls.clear()
        serde.deserialize(mixed)
        assert orders.calls == []
        serde.deserialize(column, errors="null")
        assert orders.calls == [("get", 99)]

    def test_ids_that_are_not_there_cost_few_questions(self, orders, mixed):
        """Bytes of any kind may look like frames."""
        serde = Serde("AVRO", orders, topic="orders")
        hostile = [frame(number, b"x") for number in range(1000, 11_000)]
        column = [mixed[0], *hostile, mixed[0], mixed[1]]
        array, report = serde.deserialize(column, errors="report")
        asked = [call[1] for call in orders.calls if call[0] == "get"]
        assert asked == [1, *range(1000, 1100)]
        assert set(report["code"].to_pylist()) == {"unknown_schema_id"}
        assert report["schema_id"].to_pylist() == [*range(1000, 11_000), 2]
        told = report["reason"].to_pylist()
        assert told[0] == told[99] == "the registry has no schema of this id"
        assert set(told[100:]) == {
            "one of more than 100 ids in these values that are not known, too many to ask the registry for"
        }
        assert (array[0].as_py()["id"], array[10_001].as_py()["id"]) == (1, 1)
        # The next column asks for what it has.
        assert serde.deserialize(mixed).null_count == 0
        assert serde.metrics.schema_ids == serde.metrics.fetched == 3

    def test_the_first_id_that_is_not_there_is_the_last_asked_for(self, orders, mixed):
        serde = Serde("AVRO", orders, topic="orders")
        with pytest.raises(DecodeError) as info:
            serde.deserialize([mixed[0], frame(98, b"x"), frame(99, b"x"), mixed[1]])
        assert (info.value.row, info.value.code, info.value.schema_id) == (1, "unknown_schema_id", 98)
        assert [call[1] for call in orders.calls if call[0] == "get"] == [1, 98]

    def test_each_fault_costs_its_row(self, orders, mixed):
        column = [
            mixed[0],
            frame(99, b"x"),
            b"",
            b"\x02abcd",
            b"\0\0\0",
            frame(1, b""),
            frame(2, b"\x02\x08"),
            None,
        ]
        serde = Serde("AVRO", orders, topic="orders")
        array, report = serde.deserialize(column, errors="report")
        assert [row is not None for row in array.to_pylist()] == [True] + [False] * 7
        found = [(row["row"], row["code"], row["schema_id"]) for row in report.to_pylist()]
        assert found == [
            (1, "unknown_schema_id", 99),
            (2, "frame_truncated", None),
            (3, "frame_magic", None),
            (4, "frame_truncated", None),
            (5, "truncated", 1),
            (6, "union_index", 2),
        ]
        assert serde.deserialize(column, errors="null").equals(array)
        with pytest.raises(DecodeError) as info:
            serde.deserialize(column)
        assert (info.value.row, info.value.code, info.value.schema_id) == (1, "unknown_schema_id", 99)
        with pytest.raises(DecodeError) as info:
            serde.deserialize(pa.chunked_array([[mixed[0]], [mixed[1], frame(1, b"")]], pa.binary()))
        assert (info.value.row, info.value.offset, info.value.path) == (2, 5, "id")

    def test_a_schema_that_cannot_be_used_costs_its_rows(self, orders, mixed):
        registered = orders.register("json", Schema('{"type":"object"}', "JSON"))

        class Broken(Counted):
            def get(self, schema_id):
                if schema_id == 77:
                    return RegisteredSchema(77, "", Schema('{"type":"nonsense"}'))
                if schema_id == 78:
                    return RegisteredSchema(78, "", Schema('"int"', references=(Reference("x", "gone", 1),)))
                return orders.get(schema_id)

        serde = Serde("AVRO", Broken(), reader_schema=V1)
        column = [frame(77, b""), mixed[0], frame(registered.id, b""), frame(78, b"")]
        array, report = serde.deserialize(column, errors="report")
        assert array.to_pylist() == [None, {"id": 1}, None, None]
        assert report["code"].to_pylist() == ["schema_error"] * 3
        assert report["schema_id"].to_pylist() == [77, registered.id, 78]

    def test_a_registry_that_fails_is_not_an_error_of_rows(self, mixed):
        class Down(Counted):
            def get(self, schema_id):
                raise RegistryError("out of order", 500, 50001)

        with pytest.raises(RegistryError, match="out of order"):
            Serde("AVRO", Down(), reader_schema=V1).deserialize(mixed, errors="null")

    def test_a_registry_that_fails_is_in_the_report_and_asked_again(self, orders, mixed, caplog):
        class Flaky(Counted):
            asked = 0

            def get(self, schema_id):
                Flaky.asked += 1
                if Flaky.asked <= 2:
                    raise RegistryError("out of order", 503, 50301)
                return orders.get(schema_id)

        serde = Serde("AVRO", Flaky(), reader_schema=V3)
        column = [*mixed, frame(77, b""), b"not framed"]
        array, report = serde.deserialize(column, errors="report")
        assert Flaky.asked == 1
        assert array.null_count == len(column)
        assert report["code"].to_pylist() == ["registry_error"] * (len(mixed) + 1) + ["frame_magic"]
        assert report["schema_id"].to_pylist()[:2] == [1, 2]
        assert "could not be asked" in report["reason"][0].as_py()
        assert "out of order" in report["reason"][0].as_py()
        with pytest.raises(RegistryError, match="out of order"):
            serde.deserialize(mixed)
        assert serde.deserialize(mixed).null_count == 0
        told = [record for record in caplog.records if record.levelname == "WARNING"]
        assert [record.name for record in told] == ["kcodec"] * 2
        assert told[1].codes == {"registry_error": len(mixed) + 1, "frame_magic": 1}

    def test_counts_what_it_reads(self, orders, mixed, caplog):
        caplog.set_level("DEBUG", "kcodec")
        serde = Serde("AVRO", orders, topic="orders")
        serde.deserialize(mixed)
        before = serde.metrics
        ids = len({value[:5] for value in mixed if value})
        assert before == SerdeMetrics(1, len(mixed), 0, ids, ids)
        serde.deserialize(pa.chunked_array([mixed, [b"", None, mixed[0]]], pa.binary()), errors="null")
        assert serde.metrics - before == SerdeMetrics(2, len(mixed) + 3, 1, 0, 0)
        last = caplog.records[-1]
        assert (last.rows, last.bad_rows, last.schema_ids, last.fetched) == (3, 1, 1, 0)
        assert last.getMessage() == "read 3 rows: 1 bad (frame_truncated 1), 1 schema ids, 0 fetched"
        assert pickle.loads(pickle.dumps(serde)).metrics == SerdeMetrics()

    @pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary_view()])
    def test_layouts_slices_and_chunks(self, orders, mixed, kind):
        serde = Serde("AVRO", orders, topic="orders")
        whole = serde.deserialize(mixed)
        array = pa.array([b"\0", None, *mixed], kind)
        assert serde.deserialize(array[2:]).equals(whole)
        chunks = pa.chunked_array([array[2:4], array[2:2], array[4:]])
        assert serde.deserialize(chunks).combine_chunks().equals(whole)
        empty = serde.deserialize(pa.chunked_array([], kind))
        assert (len(empty), empty.type) == (0, whole.type)

    def test_trailing_bytes_are_accepted_unless_refused(self, orders, mixed):
        column = [mixed[0] + b"!"]
        assert Serde("AVRO", orders, topic="orders").deserialize(column)[0].as_py()["id"] == 1
        strict = Serde("AVRO", orders, topic="orders", config={"avro.fail.on.trailing.data": "true"})
        with pytest.raises(DecodeError, match="trailing_bytes"):
            strict.deserialize(column)

    def test_references(self, registry):
        registry.register("order", Schema(V1))
        cart = Schema(
            '{"type":"record","name":"Cart","namespace":"shop","fields":[{"name":"first","type":"Order"}]}',
            references=(Reference("shop.Order", "order", 1),),
        )
        serde = Serde("AVRO", registry, topic="carts", schema=cart)
        rows = pa.array([{"first": {"id": 7}}], pa.struct([("first", pa.struct([("id", pa.int32())]))]))
        values = serde.serialize(rows)
        assert values.to_pylist() == [frame(2, b"\x0e")]
        assert Serde("AVRO", registry, topic="carts").deserialize(values).to_pylist() == [
            {"first": {"id": 7}}
        ]

    @given(st.lists(st.one_of(st.none(), st.binary(max_size=12)), max_size=8), st.integers(0, 4))
    def test_any_bytes_give_a_value_or_a_fault(self, rows, schema_id):
        store = MemoryRegistry()
        store.set_config(Config("NONE"))
        for text in (V1, V2, '"bytes"'):
            store.register("orders-value", Schema(text))
        column = [
            row if row is None or index % 2 else frame(schema_id, row) for index, row in enumerate(rows)
        ]
        for reader in (V2, '"bytes"'):
            serde = Serde("AVRO", store, reader_schema=reader)
            array, report = serde.deserialize(column, errors="report")
            array.validate(full=True)
            bad = set(report["row"].to_pylist())
            assert len(bad) == report.num_rows
            for index, (row, value) in enumerate(zip(column, array.to_pylist(), strict=True)):
                assert (value is None) == (row is None or index in bad)


class TestRootBytes:
    def test_the_payload_is_the_bytes(self, registry):
        serde = Serde("AVRO", registry, topic="b", schema="bytes")
        column = pa.array([b"abc", None, b""])
        values = serde.serialize(column)
        assert values.to_pylist() == [frame(1, b"abc"), None, frame(1, b"")]
        assert serde.deserialize(values).equals(column)
        assert serde.deserialize(values.cast(pa.large_binary())[1:]).equals(column[1:])

    def test_beside_other_schemas(self, registry):
        registry.register("b-value", Schema('"string"'))
        registry.register("b-value", Schema('"bytes"'))
        registry.register("b-value", Schema('{"type":"bytes","x":1}'))
        serde = Serde("AVRO", registry, topic="b")
        column = [frame(1, b"\x04hi"), frame(2, b"\x04hi"), frame(3, b"")]
        array, report = serde.deserialize(column, errors="report")
        assert array.to_pylist() == [None, b"\x04hi", b""]
        assert report.to_pylist() == [
            {
                "row": 0,
                "offset": 0,
                "path": "",
                "code": "schema_error",
                "reason": "values of a root of string are not read as binary",
                "schema_id": 1,
            }
        ]

    @pytest.mark.parametrize(("writer", "reader"), [('"bytes"', "string"), ('"string"', "bytes")])
    def test_is_not_read_as_anything_else(self, registry, writer, reader):
        registry.register("b-value", Schema(writer))
        serde = Serde("AVRO", registry, topic="b", reader_schema=reader)
        assert serde.deserialize([frame(1, b"\2x")], errors="report")[1]["code"].to_pylist() == [
            "schema_error"
        ]

    def test_decimals_are_written_unscaled(self, registry):
        from decimal import Decimal

        column = pa.array([Decimal("123.45"), None], pa.decimal128(6, 2))
        serde = Serde("AVRO", registry, topic="d")
        values = serde.serialize(column)
        assert values.to_pylist() == [frame(1, b"\x30\x39"), None]
        assert serde.deserialize(values).to_pylist() == [b"\x30\x39", None]

    def test_other_columns_are_errors_of_their_rows(self, registry):
        serde = Serde("AVRO", registry, topic="b", schema="bytes")
        array, report = serde.serialize(pa.array([1, None]), errors="report")
        assert array.to_pylist() == [None, None]
        assert report["code"].to_pylist() == ["type_mismatch"]


class TestHeaders:
    def test_round_trip(self, registry):
        serde = Serde("AVRO", registry, topic="t", schema=V1, config=HEADER_OUT)
        column = pa.array([{"id": 1}, None, {"id": 2}])
        values, headers = serde.serialize_with_headers(column)
        assert values.to_pylist() == [b"\x02", None, b"\x04"]
        expected = b"\x01" + uuid.UUID(registry.get(1).guid).bytes
        assert headers.to_pylist() == [expected, None, expected]
        assert serde.deserialize(values, headers=headers).to_pylist() == column.to_pylist()
        with pytest.raises(ConfigError, match="serialize_with_headers"):
            serde.serialize(column)
        with pytest.raises(ConfigError, match="HeaderSchemaIdSerializer"):
            Serde("AVRO", registry, topic="t").serialize_with_headers(column)

    def test_forms_of_headers(self, registry):
        guid = b"\x01" + uuid.UUID(registry.register("t-value", Schema(V1)).guid).bytes
        serde = Serde("AVRO", registry, topic="t")
        values = [b"\x02", frame(1, b"\x04"), None, frame(1, b"\x06")]
        pairs = [[("x", b""), (serde.header, b"bad"), (serde.header, guid)], [], None, [(serde.header, None)]]
        spark = pa.array(
            [row and [{"key": key, "value": value} for key, value in row] for row in pairs],
            pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
        )
        content = pa.array([guid, None, None, None])
        expected = [{"id": 1}, {"id": 2}, None, {"id": 3}]
        for headers in (
            pairs,
            spark,
            content,
            content.to_pylist(),
            pa.chunked_array([content[:1], content[1:]]),
        ):
            assert serde.deserialize(values, headers=headers).to_pylist() == expected
        assert serde.deserialize(values[1:], headers=spark[1:]).to_pylist() == expected[1:]
        chunked = pa.chunked_array([values[:2], values[2:]], pa.binary())
        assert serde.deserialize(chunked, headers=spark).to_pylist() == expected

    def test_bad_headers_are_errors_of_their_rows(self, registry):
        registry.register("t-value", Schema(V1))
        serde = Serde("AVRO", registry, topic="t")
        headers = [b"", b"\x02\0\0\0\x01", b"\0\0\0", b"\0\0\0\0\x63", b"\0\0\0\0\x01 and more"]
        array, report = serde.deserialize([b"\x02"] * 5, errors="report", headers=headers)
        assert array.to_pylist() == [None] * 4 + [{"id": 1}]
        assert report["code"].to_pylist() == [
            "frame_truncated",
            "frame_magic",
            "frame_truncated",
            "unknown_schema_id",
        ]
        assert report["offset"].to_pylist() == [None] * 4

    def test_the_deserializer_is_chosen(self, registry):
        found = registry.register("t-value", Schema(V1))
        header = b"\x01" + uuid.UUID(found.guid).bytes

        def serde(name, **more):
            config = {"value.schema.id.deserializer": f"{name}SchemaIdDeserializer", **more}
            return Serde("AVRO", registry, topic="t", config=config)

        assert serde("Prefix").deserialize([frame(1, b"\x02")], headers=[b"junk"]).to_pylist() == [{"id": 1}]
        array, report = serde("Header").deserialize(
            [b"\x02", frame(1, b"\x02"), None], "report", [header, None, None]
        )
        assert array.to_pylist() == [{"id": 1}, None, None]
        assert report["code"].to_pylist() == ["frame_truncated"]
        for setting in ({"use.schema.id": "1"}, {"use.schema.guid": found.guid}):
            assert serde("Config", **setting).deserialize([b"\x02", None]).to_pylist() == [{"id": 1}, None]
        with pytest.raises(ConfigError):
            serde("Config").deserialize([b"\x02"])
        with pytest.raises(ConfigError):
            serde("Header").deserialize([b"\x02"])
        with pytest.raises(ConfigError, match="1 headers for 2 values"):
            serde("Dual").deserialize([b"\x02", None], headers=[header])

    def test_only_keys_of_rows_without_header_are_looked_up(self, registry):
        header = b"\x01" + uuid.UUID(registry.register("t-value", Schema(V1)).guid).bytes
        registry.calls.clear()
        serde = Serde("AVRO", registry, topic="t", reader_schema='{"type":"record","name":"E","fields":[]}')
        serde.deserialize([b"\0\0\0\0\x63payload"], errors="null", headers=[header])
        assert [call[0] for call in registry.calls] == ["guid"]


class TestWrite:
    def test_registers_once(self, registry):
        serde = Serde("AVRO", registry, topic="t", schema=V1)
        column = pa.array([{"id": 1}])
        assert serde.serialize(column).to_pylist() == [frame(1, b"\x02")]
        assert serde.serialize(column.cast(pa.struct([("id", pa.int64())]))).to_pylist() == [
            frame(1, b"\x02")
        ]
        assert registry.calls == [("register", "t-value")]

    def test_tombstones_register_nothing(self, registry):
        serde = Serde("AVRO", registry, topic="t", schema=V1)
        assert serde.serialize(pa.array([None, None])).to_pylist() == [None, None]
        assert serde.serialize(pa.array([], pa.int32())).to_pylist() == []
        assert registry.calls == []

    def test_a_schema_is_derived_from_the_type(self, registry):
        kind = pa.struct([pa.field("id", pa.int64(), False), pa.field("tags", pa.list_(pa.string()))])
        column = pa.array([{"id": 1, "tags": ["a", None]}, None], kind)
        serde = Serde("AVRO", registry, topic="t")
        values = serde.serialize(column)
        assert serde.deserialize(values).to_pylist() == column.to_pylist()
        table = pa.table({"id": pa.array([2]), "tags": pa.array([["b"]])})
        assert serde.serialize(table).num_chunks == 1

    def test_keys_have_their_own_subject(self, registry):
        Serde("AVRO", registry, topic="t", is_key=True, schema="int").serialize(pa.array([1]))
        assert registry.subjects() == ["t-key"]

    @pytest.mark.parametrize(
        ("named", "subject"),
        [
            ("TopicNameStrategy", "t-value"),
            ("RecordName", "shop.Order"),
            ("io.confluent.kafka.serializers.subject.TopicRecordNameStrategy", "t-shop.Order"),
            ("AssociatedNameStrategy", "t-value"),
            (lambda topic, is_key, schema: f"{topic}/{is_key}", "t/False"),
        ],
    )
    def test_strategies(self, registry, named, subject):
        config = {"value.subject.name.strategy": named, "key.subject.name.strategy": "TopicName"}
        serde = Serde("AVRO", registry, topic="t", schema=V1, config=config)
        values = serde.serialize(pa.array([{"id": 1}]))
        assert registry.subjects() == [subject]
        registry.register(subject, Schema(V2))
        reader = Serde("AVRO", registry, topic="t", config=config)
        assert reader.deserialize(values).to_pylist() == [{"id": 1, "note": None}]

    def test_a_record_is_needed_to_name_a_subject_after_it(self, registry):
        config = {"subject.name.strategy": "RecordNameStrategy"}
        with pytest.raises(SchemaError, match="must only be a record schema"):
            Serde("AVRO", registry, topic="t", schema="int", config=config).serialize(pa.array([1]))
        with pytest.raises(ConfigError, match="topic"):
            Serde("AVRO", registry, schema="int").serialize(pa.array([1]))
        assert registry.calls == []

    def test_latest_with_what_the_schema_lacks_and_has_more(self, orders):
        given = V1[:-2] + ',{"name":"extra","type":"string"}]}'
        config = {"auto.register.schemas": False, "use.latest.version": True}
        serde = Serde("AVRO", orders, topic="orders", schema=given, config=config)
        column = pa.array([{"id": 5, "extra": "x"}, None, {"id": None, "extra": "y"}])
        values, report = serde.serialize(column, errors="report")
        assert serde.deserialize(values).to_pylist() == [{"note": None, "id": 5, "qty": 1}, None, None]
        assert [(row["row"], row["code"], row["schema_id"]) for row in report.to_pylist()] == [
            (2, "null_value", 3)
        ]
        with pytest.raises(EncodeError) as info:
            serde.serialize(column)
        assert (info.value.row, info.value.path) == (2, "id")

    def test_strict_checks(self, registry):
        registry.register("t-value", Schema(V1))
        for switch, setting in (
            ("latest.compatibility.strict", {"use.latest.version": True}),
            ("id.compatibility.strict", {"use.schema.id": 1}),
        ):
            config = {"auto.register.schemas": "false", **setting}
            with pytest.raises(SchemaError, match=switch):
                Serde("AVRO", registry, topic="t", schema=V2, config=config).serialize(pa.array([{"id": 1}]))
            lax = Serde("AVRO", registry, topic="t", schema=V2, config={**config, switch: "false"})
            _, report = lax.serialize(pa.array([{"id": 1}]), errors="report")
            assert report["code"].to_pylist() == ["unresolvable"]
            # Without a schema, the column is written as the one chosen.
            free = Serde("AVRO", registry, topic="t", config=config)
            assert free.serialize(pa.array([{"id": 1}])).to_pylist() == [frame(1, b"\x02")]

    def test_lookup_refuses_what_is_not_registered(self, orders):
        config = {"auto.register.schemas": False}
        with pytest.raises(RegistryError) as info:
            Serde("AVRO", orders, topic="orders", schema="int", config=config).serialize(pa.array([1]))
        assert info.value.error_code == 40403

    def test_java_properties_are_left_out_on_request(self, registry):
        text = '{"type":"array","items":{"type":"string","avro.java.string":"String"}}'
        config = {"avro.remove.java.properties": True}
        Serde("AVRO", registry, topic="t", schema=text, config=config).serialize(pa.array([["x"]]))
        assert registry.get(1).schema.text == '{"type":"array","items":"string"}'

    def test_a_strategy_that_names_no_subject(self, orders, mixed):
        config = {"subject.name.strategy": lambda topic, is_key, schema: None, "use.latest.version": True}
        serde = Serde("AVRO", orders, topic="orders", config=config)
        with pytest.raises(ConfigError, match="gives no subject"):
            serde.deserialize(mixed)
        with pytest.raises(ConfigError, match="gives no subject"):
            serde.serialize(pa.array([1]))


class TestConfig:
    def test_unknown_keys_name_the_nearest(self, registry):
        with pytest.raises(ConfigError, match=r"did you mean 'auto\.register\.schemas'"):
            Serde("AVRO", registry, config={"auto.register.schema": True})
        with pytest.raises(ConfigError, match="known are"):
            Serde("AVRO", registry, config={"zzz": True})

    @pytest.mark.parametrize(
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
        with pytest.raises(ConfigError, match=r"options= are kcodec\.TypeOptions, not int"):
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
    schema = {"type": "fixed", "name": "F", "size": 2**31 - 1}
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
    column = pa.array([{"other": 1}] * 100)
    _, report = AvroCodec(record).encode(column, errors="report")
    assert report.nbytes < 200_000
    assert (
        report["reason"][0].as_py().startswith("there is no column nnn")
        or "no field" in report["reason"][0].as_py()
    )
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
        with pytest.raises(TypeError, match="did you mean 'id'"):
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


def test_programs_of_the_last_ids_are_kept(monkeypatch):
    monkeypatch.setattr("kcodec.serde.read._MAX_SOURCES", 3)
    registry = MemoryRegistry("many-ids")
    option = '{"name": "x%d", "type": ["null", "int"], "default": null}'
    record = '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}, %s]}'
    texts = [record % (option % number) for number in range(8)]
    ids = [registry.register(f"s{number}", Schema(text)).id for number, text in enumerate(texts)]
    frames = [b"\0" + schema_id.to_bytes(4, "big") + bytes([2 * n, 0]) for n, schema_id in enumerate(ids)]
    serde = Serde("AVRO", registry, reader_schema=texts[0])
    # More than are kept within one column, twice.
    for _ in range(2):
        assert serde.deserialize(frames).field("id").to_pylist() == [*range(8)]
    assert serde.metrics.fetched == 16
    again = pickle.loads(pickle.dumps(serde))
    for each in (serde, again):
        before = each.metrics
        assert each.deserialize(frames[5:]).field("id").to_pylist() == [5, 6, 7]
        assert (each.metrics - before).fetched == 0
        assert len(each._reader._sources) == 3
