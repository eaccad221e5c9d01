"""Schema formats are found by type and name, a plugin's by its entry point; registry and serde need nothing else."""

import json
import pickle
import re
from pathlib import Path

import pyarrow as pa
import pytest
from cases import cases
from toy_format import BoxedToyFormat, ToyFormat
from toy_plugin import install

import kcodec
from kcodec import (
    AvroCodec,
    ConfigError,
    ConnectJsonCodec,
    DecodeError,
    EncodeError,
    JsonCodec,
    KsqlCodec,
    ProtobufCodec,
    RegistryError,
    SchemaError,
    Serde,
    registry,
)
from kcodec.formats import schema_format as seam
from kcodec.formats.avro.schema_format import AvroFormat
from kcodec.formats.protobuf.schema_format import ProtobufFormat
from kcodec.registry import Config, Reference, Schema
from kcodec.registry.memory import MemoryRegistry

ROOT = Path(kcodec.__file__).parents[1]


@pytest.fixture
def toy(tmp_path, monkeypatch):
    return install(tmp_path, monkeypatch)


@pytest.fixture(params=["memory", "sqlite"])
def store(request, toy, tmp_path):
    if request.param == "memory":
        return MemoryRegistry()
    return registry.open(f"sqlite:///{tmp_path / 'schemas.db'}")


class TestLookUp:
    def test_the_packages_own(self):
        assert isinstance(seam.schema_format("AVRO"), AvroFormat)
        assert isinstance(seam.schema_format("PROTOBUF"), ProtobufFormat)
        assert seam.find_schema_format("XML") is None

    def test_a_plugin(self, toy):
        assert seam.schema_format("TOY").name == "TOY_SR"
        assert seam.schema_format("TOY_SR").type == "TOY"

    @pytest.mark.parametrize("key", ["XML", "avro", None, 7])
    def test_unknown_ones(self, toy, key):
        with pytest.raises(
            ConfigError, match="is not one of AVRO, BOXED, BROKEN, JSON, JSON_SR, LIAR, PROTOBUF, TOY, TOY_SR"
        ):
            seam.schema_format(key)

    @pytest.mark.parametrize("key", ["XML", "avro", None, 7])
    def test_unknown_ones_of_a_serde(self, toy, key):
        with pytest.raises(ConfigError, match=r"is not one of AVRO, BOXED, JSON_SR, PROTOBUF, TOY_SR(:|$)"):
            kcodec.Serde(key, "memory://formats")

    def test_plugins_that_do_not_load(self, toy):
        with pytest.raises(ConfigError, match=r"BROKEN \(no_such_module:FORMAT\) cannot be loaded"):
            seam.schema_format("BROKEN")
        with pytest.raises(ConfigError, match="is not a SchemaFormat of type or name LIAR"):
            seam.schema_format("LIAR")
        with pytest.raises(RegistryError, match="cannot be loaded") as info:
            MemoryRegistry().register("s", Schema("x", "BROKEN"))
        assert info.value.error_code == 42201

    def test_only_the_table_and_the_default_name_avro(self):
        found = [
            f"{path.relative_to(ROOT)}: {line.strip()}"
            for package in ("kcodec", "kcodec_spark")
            for path in sorted((ROOT / package).rglob("*.py"))
            if "formats/avro" not in str(path)
            for line in path.read_text(encoding="utf-8").splitlines()
            if re.search(r"""==\s*["']AVRO["']|!=\s*["']AVRO["']|["']AVRO["']\s*[=!]=""", line)
        ]
        assert found == []


class TestRegistry:
    def test_texts_are_made_canonical(self, store):
        first = store.register("t-value", Schema(" toy   4 ", "TOY"))
        assert (first.id, first.schema.text, first.schema.type) == (1, "toy 4", "TOY")
        assert store.register("t-value", Schema("toy 4", "TOY")).version == 1
        assert store.lookup("t-value", Schema("toy  4", "TOY")).id == 1
        assert store.get(1).schema == Schema("toy 4", "TOY")

    def test_what_is_no_schema_is_refused(self, store):
        with pytest.raises(RegistryError, match="not toy and a number") as info:
            store.register("t-value", Schema("tea 4", "TOY"))
        assert info.value.error_code == 42201
        with pytest.raises(RegistryError, match="Invalid schema type 'TOY_SR'"):
            store.register("t-value", Schema("toy 4", "TOY_SR"))

    def test_references_are_followed(self, store):
        store.register("size", Schema("toy 2", "TOY"))
        found = store.register("t", Schema("toy s", "TOY", (Reference("s", "size", -1),)))
        assert found.schema.references == (Reference("s", "size", 1),)
        with pytest.raises(RegistryError, match="Invalid schema"):
            store.register("t", Schema("toy s", "TOY"))


class TestSerde:
    def test_two_versions(self, store):
        old = Serde("TOY_SR", store, topic="t", schema="toy 2").serialize(pa.array([1, None, -2]))
        assert old.to_pylist() == [b"\0\0\0\0\1\0\1", None, b"\0\0\0\0\1\xff\xfe"]
        new = Serde("TOY_SR", store, topic="t").serialize(pa.array([3], pa.int32()))
        serde = Serde("TOY_SR", store, topic="t")
        column = pa.concat_arrays([old, new])
        array = serde.deserialize(column)
        assert array.equals(pa.array([1, None, -2, 3], pa.int32()))
        assert (serde.reader_schema, serde.arrow_type) == ("toy 4", pa.int32())
        assert repr(serde).startswith("Serde('TOY_SR', ")
        assert pickle.loads(pickle.dumps(serde)).deserialize(column).equals(array)

    def test_rows_that_fail(self, store):
        serde = Serde("TOY_SR", store, topic="t", schema="toy 1")
        with pytest.raises(EncodeError, match="out_of_range"):
            serde.serialize(pa.array([1, 300]))
        array, report = serde.deserialize([b"\0\0\0\0\1\5", b"\0\0\0\0\1", b"\0\0\0\0\7x"], errors="report")
        assert array.to_pylist() == [5, None, None]
        assert report["code"].to_pylist() == ["truncated", "unknown_schema_id"]
        assert report["schema_id"].to_pylist() == [1, 7]
        with pytest.raises(DecodeError, match="truncated"):
            serde.deserialize([b"\0\0\0\0\1"])

    def test_a_schema_that_cannot_be_read_is_an_error_of_its_rows(self, store):
        wide = Serde("TOY_SR", store, topic="t", schema="toy 8").serialize(pa.array([1]))
        _, report = Serde("TOY_SR", store, topic="t", reader_schema="toy 4").deserialize(
            wide, errors="report"
        )
        assert report["reason"].to_pylist() == ["8 bytes are not read as toy 4"]
        store.set_config(Config("NONE"))
        store.register("t-value", Schema('"int"'))
        _, report = Serde("TOY_SR", store, topic="t", reader_schema="toy 4").deserialize(
            [b"\0\0\0\0\2\2"], errors="report"
        )
        assert report["reason"].to_pylist() == [
            "a schema of type AVRO is not of type TOY, which the values of topic t are taken as"
        ]

    def test_checks_and_names(self, store):
        store.register("t-value", Schema("toy 2", "TOY"))
        config = {"auto.register.schemas": False, "use.latest.version": True}
        with pytest.raises(SchemaError, match="Incompatible schema of type 'TOY'"):
            Serde("TOY_SR", store, topic="t", schema="toy 4", config=config).serialize(pa.array([1]))
        config = {"subject.name.strategy": "RecordName"}
        Serde("TOY_SR", store, schema="toy 8", config=config).serialize(pa.array([1]))
        assert store.subjects() == ["Toy8", "t-value"]

    def test_arguments(self, store):
        with pytest.raises(ConfigError, match="'TOY' is a schema type: its format is 'TOY_SR'"):
            Serde("TOY", store)
        with pytest.raises(ConfigError, match="takes no options"):
            Serde("TOY_SR", store, options=kcodec.AvroOptions())
        with pytest.raises(ConfigError, match="its text or a Schema, not dict"):
            Serde("TOY_SR", store, schema={})
        with pytest.raises(ConfigError, match=r"unknown setting 'avro\.fail"):
            Serde("TOY_SR", store, config={"avro.fail.on.trailing.data": True})


class TestMessageIndexes:
    def test_programs_by_id_and_indexes(self, store):
        calls = []
        ask = store.get
        store.get = lambda schema_id: calls.append(schema_id) or ask(schema_id)
        values = Serde("BOXED", store, topic="t", schema="toy 1").serialize(pa.array([5]))
        assert values.to_pylist() == [b"\0\0\0\0\1\4\2\4\5"]
        serde = Serde("BOXED", store, topic="t")
        rows = [values[0].as_py(), b"\0\0\0\0\1\0\5", b"\0\0\0\0\1\6\0\0\0\5", b"\0\0\0\0\1\1", None]
        array, report = serde.deserialize(rows, errors="report")
        assert array.to_pylist() == [8, 5, None, None, None]
        assert report["code"].to_pylist() == ["negative_length", "schema_error"][::-1]
        assert report["reason"].to_pylist()[0] == "there is no box (0, 0, 0)"
        assert calls == [1]
        assert serde.metrics.schema_ids == 1

    def test_a_fetched_schema_serves_all_of_its_messages(self, store):
        store.register("t-value", Schema("toy 1", "BOXED"))
        serde = Serde("BOXED", store, topic="t")
        serde.fetch([1])
        store.get = None
        assert serde.deserialize([b"\0\0\0\0\1\2\2\5"]).to_pylist() == [6]

    def test_headers_hold_them(self, store):
        config = {"value.schema.id.serializer": "HeaderSchemaIdSerializer"}
        serde = Serde("BOXED", store, topic="t", schema="toy 1", config=config)
        values, headers = serde.serialize_with_headers(pa.array([5, None]))
        assert values.to_pylist() == [b"\5", None]
        assert headers[0].as_py()[17:] == b"\4\2\4"
        assert serde.deserialize(values, headers=headers).to_pylist() == [8, None]


ONE_FIELD = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]}


@cases(
    ("make", "told"),
    [
        (lambda: Serde("JSON", "memory://x"), "'JSON_SR'; .* kcodec.JsonCodec"),
        (lambda: Serde("AVRO", "memory://x", topic=5), "^topic=5 is not text$"),
        (lambda: KsqlCodec("AVRO", registry="memory://x", topic=["a"]), "^topic=.* is not text$"),
        (lambda: KsqlCodec("AVRO", registry="memory://x", topic="a", source=5), "^source=5 is not text$"),
        (lambda: Serde("avro", "memory://x"), "did you mean 'AVRO'"),
        (lambda: KsqlCodec("AVRO"), "needs registry="),
        (lambda: KsqlCodec("jsn", "ID INT"), "did you mean 'JSON'"),
        (
            lambda: KsqlCodec("JSON", "create or replace stream s (id int) with (...);"),
            "between its parentheses",
        ),
        (lambda: KsqlCodec("JSON", "CREATE TABLE t"), "between its parentheses"),
        (lambda: ConnectJsonCodec(pa.struct([("id", pa.int8())])).encode([{"ID": 1}]), "did you mean 'id'"),
        (
            lambda: JsonCodec(pa.struct([("id", pa.int8())])).encode(pa.array([{"ID": 1}])),
            "did you mean 'id'",
        ),
        (lambda: AvroCodec(ONE_FIELD, fields=["ID"]), "did you mean 'id'"),
        (lambda: KsqlCodec("JSON", "id BIGINT").encode(pa.table({"idd": [1]})), "did you mean 'ID'"),
    ],
)
def test_what_stands_elsewhere_or_is_near_is_named(make, told):
    with pytest.raises((ConfigError, SchemaError, TypeError), match=told):
        make()


@pytest.mark.parametrize(
    ("codec", "told"),
    [
        (AvroCodec(ONE_FIELD), "the record R has no field for the column ID: did you mean 'id'?"),
        (
            ProtobufCodec('syntax = "proto3"; message R { int64 id = 1; }'),
            "the message R has no field for the column ID: did you mean 'id'?",
        ),
    ],
    ids=["avro", "protobuf"],
)
def test_columns_of_nearly_the_right_name(codec, told, impl):
    _, report = codec.encode(pa.table({"ID": [1]}), errors="report")
    assert report["reason"][0].as_py() == told


RECORD = (
    '{"type":"record","name":"R","fields":[{"name":"a","type":["null","long"]},{"name":"b","type":"bytes"}]}'
)
MESSAGES = 'syntax = "proto3"; message A { int64 big_id = 1; } message B { A a = 1; repeated string t = 2; }'


@cases(
    ("kind", "schema", "payload", "indexes", "text"),
    [
        ("AVRO", RECORD, b"\2\x08\4\xff\0", (), '{"a":{"long":4},"b":"ÿ\\u0000"}'),
        ("AVRO", '"null"', b"", (), "null"),
        ("AVRO", '"bytes"', b"ab", (), '"ab"'),
        ("PROTOBUF", MESSAGES, b"\x08\5", (), '{"bigId":"5"}'),
        ("PROTOBUF", MESSAGES, b"\x0a\2\x08\5\x12\1x", (1,), '{"a":{"bigId":"5"},"t":["x"]}'),
        ("JSON", "{}", b'{"a": 1.50, "b": 1e400}', (), '{"a": 1.50, "b": 1e400}'),
        ("JSON", "{}", b"9" * 5000, (), "9" * 5000),
    ],
)
def test_a_payload_as_json(impl, kind, schema, payload, indexes, text):
    known = seam.schema_format(kind)
    parsed = known.parse(schema)
    assert known.json_text(parsed, payload, 0, indexes) == text
    assert known.json_text(parsed, b"frame" + payload, 5, indexes) == text


@cases(
    ("kind", "schema", "payload", "indexes", "code", "offset", "path"),
    [
        ("AVRO", RECORD, b"\2", (), "truncated", 1, "a"),
        ("AVRO", RECORD, b"\4", (), "union_index", 0, "a"),
        ("AVRO", RECORD, b"\0\0\0", (), "trailing_bytes", 2, ""),
        ("PROTOBUF", MESSAGES, b"\x0a\5\x08\5", (1,), "truncated", 1, "a"),
        ("PROTOBUF", MESSAGES, b"\x12\1\xff", (1,), "invalid_utf8", 2, "t[0]"),
        ("JSON", "{}", b"", (), "json_syntax", 0, ""),
        ("JSON", "{}", '"ü" x'.encode(), (), "json_syntax", 5, ""),
        ("JSON", "{}", b'"\xff"', (), "invalid_utf8", 1, ""),
        ("JSON", "{}", b"[" * 100_000, (), "depth_limit", 0, ""),
    ],
)
def test_what_is_wrong_with_a_payload(impl, kind, schema, payload, indexes, code, offset, path):
    known = seam.schema_format(kind)
    for frame in (b"", b"frame"):
        with pytest.raises(DecodeError) as caught:
            known.json_text(known.parse(schema), frame + payload, len(frame), indexes)
        error = caught.value
        assert (error.code, error.offset, error.path) == (code, len(frame) + offset, path)


def test_a_payload_of_no_message_is_refused():
    known = seam.schema_format("PROTOBUF")
    with pytest.raises(SchemaError, match=r"indexes \[7\]"):
        known.json_text(known.parse(MESSAGES), b"", 0, (7,))


def test_payloads_of_a_plugin_as_json():
    assert ToyFormat().json_text(2, b"\0\7") == "7"
    assert BoxedToyFormat().json_text(2, b"....\0\7", 4, (1, 2)) == "10"
    with pytest.raises(DecodeError, match="ends inside"):
        ToyFormat().json_text(4, b"\0\7")


@pytest.mark.parametrize(
    ("kind", "reader", "writer", "sentence"),
    [
        (
            "AVRO",
            '"int"',
            '"long"',
            "The type (path '/') of a field in the my schema does not match with the your schema",
        ),
        (
            "PROTOBUF",
            MESSAGES.replace("A a = 1;", "int32 a = 1;"),
            MESSAGES,
            "The type of a field at path '#/B/1' in the my schema does not match the your schema",
        ),
        (
            "JSON",
            '{"maximum": 1}',
            '{"maximum": 2}',
            "The value at path '#/maximum' in the my schema is less than its value in the your schema",
        ),
    ],
)
def test_a_difference_in_a_sentence(kind, reader, writer, sentence):
    known = seam.schema_format(kind)
    [difference] = known.differences(known.parse(reader), known.parse(writer))
    assert known.describe(difference, "my", "your") == sentence
    assert sentence in known.explain(difference, "my", "your")


def test_a_difference_of_a_plugin_in_a_sentence():
    [difference] = ToyFormat().differences(2, 4)
    assert ToyFormat().describe(difference, "new", "old") == "4 bytes (path '' of the new schema)"
    assert ToyFormat().changes(2, 4) == ToyFormat().losses(2, 4) == []


def test_changes_of_messages_name_their_fields():
    known = seam.schema_format("PROTOBUF")
    old = known.parse(
        'syntax = "proto3"; package p; message M { message N { int32 a = 1; int32 gone = 2; } }'
    )
    new = known.parse(
        'syntax = "proto3"; package p; message M { message N { int64 b = 1; int32 more = 3; } } enum E { Z = 0; }'
    )
    found = {(each.type, each.path, each.message) for each in known.changes(old, new)}
    assert found == {
        ("FIELD_NAME_CHANGED", "#/M/N/1", "a → b"),
        ("FIELD_TYPE_CHANGED", "#/M/N/1", "b: int32 → int64"),
        ("FIELD_REMOVED", "#/M/N/2", "gone"),
        ("FIELD_ADDED", "#/M/N/3", "more"),
        ("ENUM_ADDED", "#/E", "E"),
    }


@pytest.mark.parametrize(
    ("codec", "schema", "reason"),
    [
        (AvroCodec, json.dumps("x\n\x1b[31m" + "y" * 1_000_000), "is not defined"),
        (
            ProtobufCodec,
            'syntax = "proto3"; message M { Z a = 1; }'.replace("Z", "Z" * 1_000_000),
            "the unknown type",
        ),
        (kcodec.JsonSchemaCodec, json.dumps({"type": "x\x1b[31m" + "y" * 1_000_000}), "is not a type"),
    ],
)
def test_what_is_wrong_with_a_schema_is_of_bounded_length_and_printable(codec, schema, reason):
    """Schemas come from registries: what they name may be long, and controls of a terminal."""
    with pytest.raises(SchemaError, match=reason) as caught:
        codec(schema)
    text = str(caught.value)
    assert all(line.isprintable() for line in text.split("\n"))
    assert len(text) < 1600
    assert str(pickle.loads(pickle.dumps(caught.value))) == text
