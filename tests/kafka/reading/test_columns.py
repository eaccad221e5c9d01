"""The columns that reading gives: which ones, their types, and what is not there yet."""

import re

import pyarrow as pa
import pytest
from cases import cases
from fake_broker import PLACE, FakeCluster

import kcodec
from kcodec.errors import ConfigError
from kcodec.kafka import follow, read, write
from kcodec.protocol import write_batches


def test_columns(fast):
    serde = kcodec.Serde("AVRO", "memory://kafka-columns", topic="t", schema='"long"', is_key=True)
    record = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "a", "type": "long"}, {"name": "b", "type": "string"}],
    }
    values = kcodec.Serde("AVRO", "memory://kafka-columns", topic="t", schema=record)
    rows = pa.array([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}])
    table = pa.table({"key": serde.serialize(pa.array([7, 8])), "value": values.serialize(rows)})
    with FakeCluster({"t": 1, "u": 1}) as cluster:
        cluster.put(PLACE, write_batches(table))
        place = {"servers": cluster.address, "config": fast}
        named = {"format": "AVRO", "registry": "memory://kafka-columns", "reader_schema": "latest"}

        def columns(chosen, topics="t", **formats):
            return read(topics, columns=chosen, **place, **formats).read_all().to_pydict()

        for value in (values, named, {**named, "options": kcodec.AvroOptions()}):
            assert columns(["value.b", "offset"], value=value) == {"b": ["x", "y"], "offset": [0, 1]}
            assert columns(["key", "value.*"], key=serde, value=value) == {
                "key": [7, 8],
                "a": [1, 2],
                "b": ["x", "y"],
            }
            assert columns({"z": "value.a"}, value=value) == {"z": [1, 2]}
            assert columns({"value.*": "value.*", "a of": "offset"}, value=value) == {
                "a": [1, 2],
                "b": ["x", "y"],
                "a of": [0, 1],
            }
            assert columns(["value"], value=value) == {"value": rows.to_pylist()}
        assert columns(["key"]) == {"key": table["key"].to_pylist()}
        for chosen, message in (
            (["nothing"], "column 'nothing' is neither one of key, value, topic"),
            (["offset.x"], "column 'offset.x' is neither one of"),
            (["value.c"], "has no field c"),
            (["value.a.x"], "a is not a record, so it has no field x"),
            (["key.*"], "the key is int64, not a struct"),
            (["value.a", "value.a"], "two columns are called 'a'"),
            ([], "columns= is empty"),
            ({"x": "value.*"}, "stands for all fields"),
            ({1: "offset"}, "1 is not a name for the column 'offset'"),
            ("value", "a list of names"),
        ):
            with pytest.raises(ConfigError, match=message):
                columns(chosen, key=serde, value=values)
        with pytest.raises(ConfigError, match=r"needs a registry: .* on the command line --registry URL"):
            columns(["value"], value="avro")
        with pytest.raises(ConfigError, match="format 'avor' is not one of JSON_SR"):
            columns(["value"], value="avor")
        with pytest.raises(ConfigError, match="value: format 'BYTES' has no options: schema"):
            columns(["value"], value={"format": "bytes", "schema": "x"})
        for given, message in (
            (
                {"format": "AVRO", "foo": 1},
                "'AVRO' has no option 'foo': its options are registry, topic, is_key, ",
            ),
            (
                {"format": "avro", "registri": "memory://a"},
                "'AVRO' has no option 'registri': did you mean 'registry'?",
            ),
            ({"format": "AVRO", 1: 2}, "'AVRO' has no option 1: its options are "),
            (
                {"format": "KAFKA", "columns": "", "keys": True},
                "'KAFKA' has no option 'keys': did you mean 'is_key'?",
            ),
            ({"format": "CONNECT_JSON", "foo": 1}, "'CONNECT_JSON' has no option 'foo': its options are "),
        ):
            with pytest.raises(ConfigError, match=f"value: format {re.escape(message)}"):
                columns(["value"], value=given)
        for name in ("JSON", {"format": "JSON", "schema": "ID BIGINT"}):
            with pytest.raises(ConfigError, match=r"value: format 'JSON' needs columns: .*kcodec\.JsonCodec"):
                columns(["value"], value=name)
        with pytest.raises(ConfigError, match="key: format 'KAFKA' needs columns: "):
            columns(["key"], key="KAFKA")
        assert columns(["key"], key={"format": "kafka", "columns": ""}) == {"key": [None, None]}
        with pytest.raises(ConfigError, match="isolation='dirty'"):
            read("t", isolation="dirty", **place)
        with pytest.raises(ConfigError, match="errors='ignore'"):
            read("t", errors="ignore", **place)
        assert columns(["value"], topics="u", value=values) == {"value": []}


@cases("ask", [read, follow])
@cases(
    ("asked", "message"),
    [
        ({"value": "avor"}, "format 'avor' is not one of .* did you mean 'AVRO'"),
        ({"key": {"format": "AVRO", "registri": "memory://a"}}, "no option 'registri'"),
        ({"columns": ["nothing"]}, "column 'nothing' is neither one of"),
        ({"errors": "ignore"}, "errors='ignore'"),
        ({"start": "erliest"}, "start='erliest' is not earliest, latest"),
        ({"start": {"t": {0: "last"}}}, "start='last' is not earliest, latest"),
    ],
)
def test_arguments_without_a_broker(ask, asked, message):
    """What is wrong without asking anybody is told before anybody is asked."""
    config = {"default.api.timeout.ms": 1, "schema.registry.url": "http://localhost:1"}
    with pytest.raises(ConfigError, match=message):
        ask("t", servers="localhost:1", config=config, **asked)


def test_protobuf(fast):
    registry = "memory://kafka-protobuf"
    text = 'syntax = "proto3"; message M { int64 id = 1; string note = 2; }'
    serde = kcodec.Serde("PROTOBUF", registry, topic="t", schema=text)
    with FakeCluster({"t": 1}) as cluster:
        place = {"servers": cluster.address, "config": fast}
        write(pa.table({"id": [1, 2], "note": ["a", "b"]}), "t", value=serde, **place)
        named = {"format": "PROTOBUF", "registry": registry}
        for value in (serde, named):
            found = read("t", value=value, columns=["value.note", "offset"], **place).read_all()
            assert found.to_pydict() == {"note": ["a", "b"], "offset": [0, 1]}


def test_nulls_before_the_first_value(fast):
    """As long as nothing else is there, they tell no type."""
    text = 'syntax = "proto3"; message R { int64 id = 1; message P { string city = 1; } P place = 3; }'
    for name, known in (("one", {}), ("two", {"schema": text, "reader_schema": text})):
        registry = f"memory://kafka-nulls-{name}"
        serde = kcodec.Serde("PROTOBUF", registry, topic="t", schema=text)
        nulls = write_batches(pa.table({"value": pa.nulls(3, pa.binary())}))
        value = write_batches(pa.table({"value": serde.serialize(pa.array([{"id": 7}]))}), base_offset=3)
        with FakeCluster({"t": 1}) as cluster:
            place = {"servers": cluster.address, "config": {**fast, "max.partition.fetch.bytes": 1}}
            place["value"] = {"format": "PROTOBUF", "registry": registry, **known}
            cluster.put(PLACE, nulls)
            found = read("t", columns=["value.id", "offset"], **place).read_all()
            assert found.to_pydict() == {"id": [None] * 3, "offset": [0, 1, 2]}
            with follow("t", start="earliest", columns=["value.*", "offset"], **place) as follower:
                assert follower.poll(10).to_pydict() == {"offset": [0, 1, 2]}
                assert follower.schema is None
                cluster.put(PLACE, value)
                assert follower.poll(10).to_pylist() == [{"id": 7, "place": None, "offset": 3}]
                cluster.put(
                    PLACE, write_batches(pa.table({"value": pa.nulls(1, pa.binary())}), base_offset=4)
                )
                assert follower.poll(10).to_pylist() == [{"id": None, "place": None, "offset": 4}]
            for columns, row in (
                (["value.id"], {"id": 7}),
                (["value"], {"value": {"id": 7, "place": None}}),
                (["value.*"], {"id": 7, "place": None}),
            ):
                found = read("t", columns=columns, **place).read_all().to_pylist()
                assert found == [*[dict.fromkeys(row)] * 3, row, dict.fromkeys(row)]


def test_keys_and_values_that_are_known_one_after_the_other(fast):
    registry = "memory://kafka-known"
    keys = kcodec.Serde("AVRO", registry, topic="t", schema='"int"', is_key=True)
    key, value = keys.serialize(pa.array([1])), keys.serialize(pa.array([2]))
    nulls = pa.nulls(1, pa.binary())
    with FakeCluster({"t": 1}) as cluster:
        place = {"servers": cluster.address, "config": {**fast, "max.partition.fetch.bytes": 1}}
        # Their subjects are others.
        format = {"format": "AVRO", "registry": registry, "topic": "u"}
        for number, (one, other) in enumerate([(nulls, nulls), (key, nulls), (nulls, nulls), (nulls, value)]):
            table = pa.table({"key": one, "value": other})
            cluster.put(PLACE, write_batches(table, base_offset=number))
            found = read("t", key=format, value=format, columns=["key", "value"], **place).read_all()
            expected = [(None, None), (1, None), (None, None), (None, 2)][: number + 1]
            assert list(zip(found["key"].to_pylist(), found["value"].to_pylist(), strict=True)) == expected


def test_json_schema(fast):
    registry = "memory://kafka-json-schema"
    schema = {"properties": {"id": {"type": "integer"}, "any": {}}}
    serde = kcodec.Serde("JSON_SR", registry, topic="t", schema=schema)
    with FakeCluster({"t": 1}) as cluster:
        place = {"servers": cluster.address, "config": fast}
        write(pa.table({"id": [1, 2], "any": ["[1, 2]", None]}), "t", value=serde, **place)
        named = {"format": "JSON_SR", "registry": registry}
        for value in (serde, named):
            found = read("t", value=value, columns=["value.any", "offset"], **place).read_all()
            assert found.to_pydict() == {"any": ["[1,2]", None], "offset": [0, 1]}


def test_topics_of_different_columns_are_refused(fast):
    with FakeCluster({"t": 1, "u": 1}) as cluster:
        registry = kcodec.registry.open("memory://kafka-two-topics")
        registry.register("t-value", kcodec.registry.Schema('"long"'))
        registry.register("u-value", kcodec.registry.Schema('"string"'))
        value = {"format": "AVRO", "registry": "memory://kafka-two-topics", "reader_schema": "latest"}
        place = {"servers": cluster.address, "config": fast, "value": value}
        assert read(["t"], **place).schema.field("value").type == pa.int64()
        with pytest.raises(ConfigError, match="values of 'u' have other columns than those of 't'"):
            read(["t", "u"], **place)


def test_fields_of_one_of_several_messages(fast):
    registry = "memory://kafka-messages"
    text = 'syntax = "proto3"; package shop; message Order { int64 id = 1; } message Refund { Order of = 1; }'
    names = ["Order", "Refund"]
    serde = kcodec.Serde("PROTOBUF", registry, topic="t", schema=text, message=names)
    rows = [{"shop.Order": {"id": 7}}, {"shop.Refund": {"of": {"id": 8}}}]
    with FakeCluster({"t": 1}) as cluster:
        place = {"servers": cluster.address, "config": fast}
        write(pa.table({"value": pa.array(rows, serde.arrow_type)}), "t", value=serde, **place)
        columns = {"order": "value.shop.Order.id", "refund": "value.shop.Refund.of.id"}
        for value in (serde, {"format": "PROTOBUF", "registry": registry, "message": names}):
            found = read("t", value=value, columns=columns, **place).read_all()
            assert found.to_pylist() == [{"order": 7, "refund": None}, {"order": None, "refund": 8}]
        with pytest.raises(ConfigError, match="there is no 'shop', it has "):
            read("t", value=serde, columns=["value.shop.Order.none"], **place)
