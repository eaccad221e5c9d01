"""Two schemas compared without a registry: the same differences as with one."""

import json
import time

import pytest

from kcodec import registry as registries
from kcodec.errors import ConfigError, SchemaError
from kcodec.registry import Config, Difference, Reference, Schema, differences, losses
from kcodec.registry.memory import MemoryRegistry

CLOSED = Schema('{"type":"object","properties":{"a":{}},"additionalProperties":false}', "JSON")
WIDER = Schema('{"type":"object","properties":{"a":{},"b":{}},"additionalProperties":false}', "JSON")
MORE = 'syntax = "proto3"; message M { int64 a = 1; string b = 2; }'


@pytest.mark.parametrize(
    ("old", "new", "types"),
    [
        (Schema('"int"'), Schema('"long"'), []),
        (Schema('"long"'), Schema('"int"'), ["TYPE_MISMATCH"]),
        (CLOSED, WIDER, []),
        (WIDER, CLOSED, ["PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL"]),
        (Schema(MORE.replace("string b = 2; ", ""), "PROTOBUF"), Schema(MORE, "PROTOBUF"), []),
        (
            Schema(MORE, "PROTOBUF"),
            Schema(MORE.replace("int64", "string"), "PROTOBUF"),
            ["FIELD_SCALAR_KIND_CHANGED"],
        ),
    ],
)
def test_each_type(old, new, types):
    found = differences(old, new)
    assert [each.type for each in found] == types
    assert all(isinstance(each, Difference) for each in found)
    registry = MemoryRegistry()
    registry.register("s", old)
    assert list(registry.check_compatibility("s", new, "BACKWARD").differences) == found
    assert list(registry.check_compatibility("s", new, "FORWARD").differences) == differences(new, old)


def test_an_import_that_is_missing():
    text = 'syntax = "proto3"; import "n.proto"; message M { %s a = 1; %s b = 2; }'
    unused = [Schema(text % (kind, "int32"), "PROTOBUF") for kind in ("int64", "int32")]
    assert differences(*unused) == []
    assert [each.message for each in losses(*unused)] == ["a: of more than 32 bits, int64 is cut to int32"]
    used = [Schema(text % (kind, "n.N"), "PROTOBUF") for kind in ("int64", "int32")]
    for compare in (differences, losses):
        with pytest.raises(SchemaError, match=r"unknown type n\.N"):
            compare(*used)


@pytest.mark.parametrize(
    ("old", "new", "types"),
    [
        ('"long"', '"double"', [("VALUE_ROUNDED", "/")]),
        ('"int"', '"double"', []),
        ('["null","int"]', '["null","float"]', [("VALUE_ROUNDED", "/1")]),
        (
            '{"type":"array","items":"bytes"}',
            '{"type":"array","items":"string"}',
            [("TEXT_EXPECTED", "/items")],
        ),
        (
            '{"type":"record","name":"R","fields":[{"name":"e","type":{"type":"enum","name":"E","symbols":["A","B"]}},'
            '{"name":"r","type":["null","R"]}]}',
            '{"type":"record","name":"R","fields":[{"name":"e","type":{"type":"enum","name":"E","symbols":["A"],'
            '"default":"A"}},{"name":"r","type":["null","R"]}]}',
            [("SYMBOL_UNKNOWN", "/fields/0/type/symbols")],
        ),
    ],
)
def test_losses_of_avro(old, new, types):
    pair = Schema(old), Schema(new)
    assert differences(*pair) == []
    assert [(each.type, each.path) for each in losses(*pair)] == types


def test_a_policy():
    assert differences(WIDER, CLOSED, policy="LENIENT") == []


def test_references():
    registry = registries.open("memory://")
    registry.register("money", Schema('{"type":"fixed","name":"Money","size":8}'))
    text = '{"type":"record","name":"R","fields":[{"name":"a","type":"Money"}]}'
    schema = Schema(text, references=(Reference("Money", "money", 1),))
    assert differences(schema, schema, registry=registry) == []
    with pytest.raises(ConfigError, match="registry="):
        differences(schema, schema)


def test_versions_of_references():
    """A version of the same text that refers to another version has other contents."""
    registry = MemoryRegistry()

    def proto(text, *references):
        return Schema(
            f'syntax = "proto3"; {text}', "PROTOBUF", tuple(Reference(*each) for each in references)
        )

    middle = 'package b; import "c.proto"; message B { c.C c = 1; }'
    main = 'package a; import "b.proto"; message A { b.B b = 1; }'
    registry.set_config(Config("NONE"))
    for version, kind in enumerate(("int32", "string"), 1):
        registry.register("c", proto(f"package c; message C {{ {kind} a = 1; }}"))
        registry.register("b", proto(middle, ("c.proto", "c", version)))
    old, new = (proto(main, ("b.proto", "b", version)) for version in (1, 2))
    assert differences(old, old, registry=registry) == []
    assert [each.path for each in differences(old, new, registry=registry)] == ["#/C/1", "#/B/1", "#/A/1"]
    registry.register("a", old)
    assert not registry.check_compatibility("a", new, "BACKWARD").compatible


def test_what_does_not_compare():
    with pytest.raises(ConfigError, match="AVRO does not compare with one of JSON"):
        differences(CLOSED, Schema('"int"'))
    for texts in (('"int"', Schema('"int"')), (Schema('"int"'), '"int"')):
        with pytest.raises(
            ConfigError, match=r"(old|new) is a Schema, such as Schema\(text, 'AVRO'\), not a str"
        ):
            differences(*texts)
    with pytest.raises(ConfigError, match="STRICT"):
        differences(Schema('"int"'), Schema('"int"'), policy="LENIENT")
    with pytest.raises(SchemaError):
        differences(Schema('"int"'), Schema('{"type":'))


def test_losses_of_unions_of_very_many_records_take_time_that_grows_with_them():
    """Each branch of the writer's looked through the reader's union anew: minutes, on a page that compares versions."""

    def union(kind):
        fields = [{"name": "x", "type": kind}]
        return Schema(
            json.dumps([{"type": "record", "name": f"R{n}", "fields": fields} for n in range(4000)])
        )

    start = time.monotonic()
    found = losses(union("long"), union("double"))
    assert time.monotonic() - start < 10
    assert (len(found), found[0].path) == (1000, "/0/fields/0/type")
