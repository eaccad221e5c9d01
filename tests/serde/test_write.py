"""Serdes write frames: what is registered, and under which subject."""

import json
from uuid import UUID

import pyarrow as pa
import pytest
from order_registry import V1, V2, frame

from kcodec import Serde
from kcodec.errors import ConfigError, EncodeError, RegistryError, SchemaError
from kcodec.registry import Config, Metadata, Schema

pytestmark = pytest.mark.usefixtures("impl")


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

    def test_a_derived_schema_that_is_refused_names_what_to_give(self, registry):
        registry.register("t-value", Schema(V1))
        registry.set_config(Config("BACKWARD"), "t-value")
        row = pa.table({"id": [1]})
        with pytest.raises(
            RegistryError, match=r"give the serde a schema, or use\.latest\.version=true"
        ) as caught:
            Serde("AVRO", registry, topic="t").serialize(row)
        assert (caught.value.status, caught.value.error_code) == (409, 40901)
        assert caught.value.details.startswith("Schema being registered is incompatible")
        assert "derived" not in caught.value.details
        with pytest.raises(RegistryError) as caught:
            Serde("AVRO", registry, topic="t", schema='"int"').serialize(pa.array([1]))
        assert "derived" not in str(caught.value)
        written = Serde("AVRO", registry, topic="t", config={"use.latest.version": True}).serialize(row)
        assert written.to_pylist() == [frame(1, b"\x02")]
        assert registry.versions("t-value") == [1]

    @pytest.mark.parametrize(
        ("name", "type_", "text"),
        [
            (
                "AVRO",
                "AVRO",
                '{"type": "record", "name": "R", "fields": [{"name": "m", "type": {"type": "map", "values": "int"}}, '
                '{"name": "n", "type": ["null", "string"], "default": null}]}',
            ),
            (
                "PROTOBUF",
                "PROTOBUF",
                'syntax = "proto3"; message R { map<string, int32> m = 1; optional string n = 2; }',
            ),
            (
                "JSON_SR",
                "JSON",
                '{"type": "object", "properties": {"n": {"type": ["string", "null"]}, '
                '"m": {"type": "object", "additionalProperties": {"type": "integer"}}}}',
            ),
        ],
    )
    @pytest.mark.parametrize("choice", ["use.latest.version", "use.schema.id"])
    def test_a_list_is_of_the_types_of_the_schema_that_is_chosen(self, registry, name, type_, text, choice):
        """What a dict looks like is a struct of its keys, and a null has no type."""
        registry.register("t-value", Schema(text, type_))
        rows = [{"m": {"k": 1}, "n": None}, None]
        serde = Serde(name, registry, topic="t", config={choice: 1 if choice == "use.schema.id" else True})
        given = Serde(name, registry, topic="t", schema=text, config={"auto.register.schemas": False})
        registry.calls.clear()
        values = serde.serialize(rows)
        assert len(registry.calls) == 1
        assert values.equals(given.serialize(rows))
        assert serde.serialize_one(rows[0]) == values[0].as_py()
        with pytest.raises(TypeError):
            serde.serialize([{"m": {"k": "x"}}])

    def test_a_column_need_have_no_schema_of_its_own_where_one_is_chosen(self, registry):
        """Protobuf has no type for columns that are null, nor for lists that are empty."""
        text = 'syntax = "proto3"; message R { int32 id = 1; optional string n = 2; repeated string t = 3; }'
        registry.register("t-value", Schema(text, "PROTOBUF"))
        empty = pa.array([[]], pa.list_(pa.null()))
        column = pa.table({"id": [1], "n": pa.nulls(1), "t": empty})
        serde = Serde("PROTOBUF", registry, topic="t", config={"use.latest.version": True})
        assert serde.serialize(column).to_pylist() == [frame(1, b"\0\x08\x01")]
        registry.calls.clear()
        assert serde.serialize(column.drop_columns("n")).to_pylist() == [frame(1, b"\0\x08\x01")]
        assert registry.calls == []

    def test_what_a_list_holds_need_have_no_type_of_its_own_where_a_schema_is_chosen(self, registry):
        text = '{"type": "record", "name": "R", "fields": [{"name": "u", "type": "string"}]}'
        registry.register("t-value", Schema(text))
        serde = Serde("AVRO", registry, topic="t", config={"use.latest.version": True})
        value = frame(1, b"\x48" + str(UUID(int=7)).encode())
        assert serde.serialize([{"u": UUID(int=7)}]).to_pylist() == [value]
        assert serde.serialize_one({"u": UUID(int=7)}) == value
        with pytest.raises(EncodeError, match="type_mismatch: row 0, u, schema id 1"):
            serde.serialize_one({"u": 7})

    def test_a_list_of_nulls_asks_for_no_schema(self, registry):
        serde = Serde("AVRO", registry, topic="t", config={"use.latest.version": True})
        assert serde.serialize([None, None]).to_pylist() == [None, None]
        assert registry.calls == []

    @pytest.mark.parametrize("name", ["AVRO", "PROTOBUF"])
    @pytest.mark.parametrize(
        "column", [pa.array([2**64 - 1, None], pa.uint64()), pa.array([b"ab", None], pa.binary(2))]
    )
    def test_what_a_schema_is_derived_from_is_written(self, registry, name, column):
        serde = Serde(name, registry, topic="t")
        values = serde.serialize(pa.table({"x": column}))
        assert [row["x"] for row in serde.deserialize(values).to_pylist()] == column.to_pylist()

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
        with pytest.raises(SchemaError, match="record schema, and a JSON Schema needs a title"):
            Serde("JSON_SR", registry, topic="t", schema={"type": "integer"}, config=config).serialize([1])
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

    @pytest.mark.parametrize(
        "setting",
        [
            {"use.latest.version": True},
            {"use.schema.id": 1},
            {"use.latest.with.metadata": {"owner": "shop"}},
        ],
    )
    def test_a_column_without_a_schema_is_written_as_the_one_that_is_used(self, registry, setting):
        registry.register("t-value", Schema(V1, metadata=Metadata(properties={"owner": "shop"})))
        serde = Serde("AVRO", registry, topic="t", config=setting)
        assert serde.serialize(pa.array([{"id": 1}])).to_pylist() == [frame(1, b"\x02")]
        assert registry.versions("t-value") == [1]

    @pytest.mark.parametrize(
        ("schema", "registers"),
        [(V1, {}), (V1, {"auto.register.schemas": "true"}), (None, {"auto.register.schemas": True})],
    )
    @pytest.mark.parametrize("name", ["use.latest.version", "use.schema.id", "use.schema.guid"])
    def test_to_register_and_to_use_another_are_not_both_possible(self, registry, schema, registers, name):
        found = registry.register("t-value", Schema(V1))
        value = {"use.latest.version": True, "use.schema.id": 1, "use.schema.guid": found.guid}[name]
        serde = Serde("AVRO", registry, topic="t", schema=schema, config={name: value, **registers})
        assert serde.deserialize([frame(1, b"\x02")]).to_pylist() == [{"id": 1}]
        with pytest.raises(ConfigError, match=f"cannot enable both auto.register.schemas .* and {name}"):
            serde.serialize(pa.array([{"id": 1}]))
        assert registry.versions("t-value") == [1]

    def test_lookup_refuses_what_is_not_registered(self, orders):
        config = {"auto.register.schemas": False}
        with pytest.raises(RegistryError) as info:
            Serde("AVRO", orders, topic="orders", schema="int", config=config).serialize(pa.array([1]))
        assert (info.value.status, info.value.error_code) == (404, 40403)
        assert "subject 'orders-value' has other schemas, and auto.register.schemas is false" in str(
            info.value
        )

    def test_java_properties_are_left_out_on_request(self, registry):
        text = '{"type":"array","items":{"type":"string","avro.java.string":"String"}}'
        config = {"avro.remove.java.properties": True}
        Serde("AVRO", registry, topic="t", schema=text, config=config).serialize(pa.array([["x"]]))
        assert registry.get(1).schema.text == '{"type":"array","items":"string"}'

    @pytest.mark.parametrize(
        "setting", [{"subject.name.strategy": "RecordNameStrategy"}, {"avro.remove.java.properties": True}]
    )
    def test_a_schema_may_hold_comments(self, registry, setting):
        text = '{"type": "record", // of\n"name": "shop.Order", "fields": [] /* none */}'
        Serde("AVRO", registry, topic="t", schema=text, config=setting).serialize(
            pa.array([{}], pa.struct([]))
        )
        subject = "t-value" if "avro.remove.java.properties" in setting else "shop.Order"
        assert registry.get_version(subject).schema.text == (
            '{"type":"record","name":"Order","namespace":"shop","fields":[]}'
        )

    def test_a_strategy_that_names_no_subject(self, orders, mixed):
        config = {"subject.name.strategy": lambda topic, is_key, schema: None, "use.latest.version": True}
        serde = Serde("AVRO", orders, topic="orders", config=config)
        with pytest.raises(ConfigError, match="gives no subject"):
            serde.deserialize(mixed)
        with pytest.raises(ConfigError, match="gives no subject"):
            serde.serialize(pa.array([1]))


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

    @pytest.mark.parametrize(
        ("chosen", "written"),
        [
            ({"type": "bytes"}, b"\x30\x39"),
            # As in a field: the number stays, at the scale that is chosen.
            ({"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 3}, b"\x01\xe2\x3a"),
            ({"type": "string"}, None),
        ],
    )
    def test_decimals_as_another_schema(self, registry, chosen, written):
        from decimal import Decimal

        given = {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}
        config = {"auto.register.schemas": False, "use.latest.version": True}
        registry.register("d-value", Schema(json.dumps(chosen)))
        serde = Serde("AVRO", registry, topic="d", schema=given, config=config)
        column = pa.array([Decimal("123.45"), None], pa.decimal128(6, 2))
        if written is None:
            # Its digits would be read as text.
            with pytest.raises(EncodeError, match="the writer's decimal is not the reader's string"):
                serde.serialize(column)
        else:
            assert serde.serialize(column).to_pylist() == [frame(1, written), None]

    def test_values_that_are_not_bytes_by_their_own_schema(self, registry):
        config = {
            "auto.register.schemas": False,
            "use.latest.version": True,
            "latest.compatibility.strict": False,
        }
        given = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
        registry.register("e-value", Schema('"bytes"'))
        serde = Serde("AVRO", registry, topic="e", schema=given, config=config)
        array, report = serde.serialize(pa.array(["A", None]), errors="report")
        assert array.to_pylist() == [None, None]
        assert report["code"].to_pylist() == ["unresolvable"]

    def test_other_columns_are_errors_of_their_rows(self, registry):
        serde = Serde("AVRO", registry, topic="b", schema="bytes")
        array, report = serde.serialize(pa.array([1, None]), errors="report")
        assert array.to_pylist() == [None, None]
        assert report["code"].to_pylist() == ["type_mismatch"]
