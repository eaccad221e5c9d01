"""Descriptors of texts, compared with protoc's."""

from pathlib import Path

import pytest
from cases import cases
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import HealthCheck, given, settings
from proto_texts import proto_files
from protoc import protoc
from vector_files import read_vectors

from kcodec import SchemaError
from kcodec.formats.protobuf.exported.descriptor_bytes import write_descriptor_set
from kcodec.formats.protobuf.exported.serialized import serialized
from kcodec.formats.protobuf.schema import ProtobufSchema

TEXTS = {file.stem: file.read_text() for file in sorted((Path(__file__).parents[1] / "texts").iterdir())}


def ours(text, imports=None):
    schema = ProtobufSchema.parse({"main.proto": text, **(imports or {})})
    # The main file comes after those that it imports.
    return descriptor_pb2.FileDescriptorSet.FromString(write_descriptor_set(schema)).file[-1]


@cases("name", TEXTS)
def test_constructs(name):
    text = TEXTS[name]
    expected = protoc(text)
    assert expected is not None
    assert ours(text) == expected


def test_files_may_give_one_number_to_two_extensions():
    """Protoc warns of it; readers of either file's options know no better."""
    text = 'syntax = "proto3"; import "google/protobuf/descriptor.proto"; %s'
    extend = "extend google.protobuf.FieldOptions { string %s = 50000; }"
    imports = {"a.proto": text % (extend % "a"), "b.proto": text % (extend % "b")}
    for options in ('(a) = "x"', '(b) = "x"'):
        main = (
            f'syntax = "proto3"; import "a.proto"; import "b.proto"; message M {{ int32 f = 1 [{options}]; }}'
        )
        expected = protoc(main, imports)
        assert expected is not None
        assert ours(main, imports) == expected


OPTIONS = (
    'import "google/protobuf/descriptor.proto"; extend google.protobuf.FileOptions { optional O o = 50000; } '
)
OPTIONS += "message O { %s } message M { } enum E { A = 1; B = 2; } option (o)%s;"


@cases(
    ("field", "value"),
    [
        ("map<string, int32> o = 3;", ".o = { value: 3 }"),
        ("map<int32, double> o = 3;", ".o = { key: 3 }"),
        ("map<bool, M> o = 3;", " = { o { key: t } }"),
        ("optional bool o = 3;", " = { o: t }"),
        ("repeated bool o = 3;", " = { o: [False, 1, f, True] }"),
        ("optional E o = 3;", " = { o: 2 }"),
        ("repeated double o = 3;", " = { o: [Infinity, -INF] o: NaN }"),
        ("optional group Some = 3 { optional int32 o = 1; }", " = { Some { o: 1 } }"),
        ("repeated group Some = 3 { optional group O = 1 { } }", " = { Some { O { } } some { o { } } }"),
    ],
)
def test_values_of_options(field, value):
    text = 'syntax = "proto2"; ' + OPTIONS % (field, value)
    expected = protoc(text)
    assert expected is not None
    # The options are an unknown field, which an entry's default may or may not stand in.
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(descriptor_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(expected)
    options = message_factory.GetMessageClass(pool.FindMessageTypeByName("google.protobuf.FileOptions"))
    theirs, mine = (options.FromString(each.options.SerializeToString()) for each in (expected, ours(text)))
    assert str(mine) == str(theirs)
    assert serialized(ProtobufSchema.parse(text))


@pytest.mark.parametrize("number", [16, 23])
def test_extensions_with_the_number_of_a_field_are_left_out_of_options(number):
    text = f"extend google.protobuf.FileOptions {{ optional string own = {number}; }}"
    text = f'import "google/protobuf/descriptor.proto"; {text} option (own) = "x"; option java_package = "p";'
    assert ours(text).options == descriptor_pb2.FileOptions(java_package="p")


@cases(
    "text",
    [
        *(
            OPTIONS % each
            for each in [
                ("optional int32 b = 3;", ' = { b: "x" }'),
                ("optional int32 b = 3;", ".b = 3000000000"),
                ("repeated sint32 b = 3;", " = { b: [1.5] }"),
                ("optional string b = 3;", " = { b: {} }"),
                ("optional bytes b = 3;", ".b = x"),
                ("optional double b = 3;", '.b = "1"'),
                ("optional bool b = 3;", ".b = t"),
                ("optional E b = 3;", ".b = C"),
                ("optional M b = 3;", ".b = 1"),
                ("repeated O b = 3;", ".b.b = 1"),
                ("map<string, int32> b = 3;", '.b = { key: "x" value: "y" }'),
                ("map<string, int32> b = 3;", ".b = { key: [1] }"),
            ]
        ),
        "message M { optional int32 a = 1 [ctype = [1, 2]]; }",
        "message M { repeated int32 a = 1 [packed = {x: 1}]; }",
        "message M { optional int32 a = 1 [deprecated.x = 1]; }",
        'message M { optional int32 a = 1 [weak = "true"]; }',
    ],
)
def test_values_of_options_that_are_not_of_their_type(text):
    assert protoc(f'syntax = "proto2"; {text}') is None
    with pytest.raises(SchemaError, match=r"the option (ctype|packed|deprecated|weak|b|value) "):
        write_descriptor_set(ProtobufSchema.parse(text))


def registry_texts():
    lines = [line for line in read_vectors("registry_normalize.jsonl.gz") if line["type"] == "PROTOBUF"]
    lines += read_vectors("registry_message_indexes.jsonl.gz")
    # What is canonical already is so under several keys.
    seen = set()
    for line in lines:
        imports = {each["name"]: each["schema"] for each in line.get("references", ())}
        for key in ("schema", "canonical", "normalized"):
            case = (line.get(key), *imports.items())
            if line.get(key) and case not in seen:
                seen.add(case)
                yield pytest.param(line[key], imports, id=f"{line['id']}-{key}")


@cases(("text", "imports"), list(registry_texts()))
def test_texts_of_registries(text, imports):
    expected = protoc(text, imports)
    # What the compiler does not take, such as an explicit map_entry, has a descriptor all the same.
    found = ours(text, imports)
    assert expected is None or found == expected
    assert found.name == "main.proto"


@given(proto_files())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_text(text):
    expected = protoc(text)
    assert expected is not None
    assert ours(text) == expected


def test_a_pool_makes_classes():
    imports = {"x/leaf.proto": 'syntax = "proto3"; package x; message Leaf { int32 a = 1; }'}
    text = (
        'syntax = "proto3"; import "x/leaf.proto"; message M { x.Leaf leaf = 1; map<string, x.Leaf> m = 2; }'
    )
    schema = ProtobufSchema.parse({"main.proto": text, **imports})
    files = descriptor_pb2.FileDescriptorSet.FromString(write_descriptor_set(schema)).file
    assert [file.name for file in files] == ["x/leaf.proto", "main.proto"]
    pool = descriptor_pool.DescriptorPool()
    for file in files:
        pool.Add(file)
    made = message_factory.GetMessageClass(pool.FindMessageTypeByName("M"))
    message = made(leaf={"a": 7})
    assert ProtobufSchema.parse(made).message("M").by_name["leaf"].message.name == "x.Leaf"
    assert message.SerializeToString().hex() == "0a020807"


@pytest.mark.parametrize(
    "option",
    [
        'option (o) = { any { [type.googleapis.com/M] { s: "a" n: { s: "b" } } } };',
        'option (o).any = { [type.googleapis.com/M] { s: "a" n { s: "b" } } };',
        'option (any) = { [type.googleapis.com/M]: { s: "a" n { s: "b" } } };',
    ],
)
def test_an_any_that_is_written_out_in_an_option(option):
    head = (
        'syntax = "proto3"; import "google/protobuf/descriptor.proto"; import "google/protobuf/any.proto"; '
        "message M { string s = 1; M n = 2; } message O { google.protobuf.Any any = 1; } extend "
        "google.protobuf.FileOptions { O o = 50000; google.protobuf.Any any = 50001; } "
    )
    data = write_descriptor_set(ProtobufSchema.parse(head + option))
    options = descriptor_pb2.FileDescriptorSet.FromString(data).file[-1].options.SerializeToString()
    assert b"\n\x15type.googleapis.com/M\x12\x08\n\x01a\x12\x03\n\x01b" in options
    with pytest.raises(SchemaError, match="a message of the type Nope, which is not known"):
        write_descriptor_set(ProtobufSchema.parse(head + option.replace("com/M", "com/Nope")))
