import base64
import contextlib
import pickle

import pytest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from tries import tries
from vector_files import read_vectors

from kcodec import ProtobufCodec, SchemaError
from kcodec.formats.protobuf.schema import ProtobufSchema

SCHEMAS = {
    line["name"]: line for line in read_vectors("protobuf_vectors.jsonl.gz") if line["kind"] == "schema"
}

NESTED = """
syntax = "proto3";
package p;
message A { message B { message C { } message D { } } message E { } }
message F { message B { } }
"""


def described(schema):
    """Everything that is resolved, in a form that compares."""
    return {
        "messages": {
            name: (
                message.map_entry,
                message.message_set,
                message.syntax,
                [described_field(field) for field in message.fields],
                {number: described_field(field) for number, field in message.extensions.items()},
            )
            for name, message in schema.messages.items()
        },
        "enums": {name: (enum.values, enum.closed) for name, enum in schema.enums.items()},
    }


def described_field(field):
    return {
        "name": field.name,
        "number": field.number,
        "type": field.type,
        "repeated": field.repeated,
        "required": field.required,
        "presence": field.presence,
        "packed": field.packed,
        "message": field.message and field.message.name,
        "enum": field.enum and field.enum.name,
        "oneof": field.oneof,
        "default": repr(field.default),
        "json_name": field.json_name,
        "utf8": field.utf8,
        "options": field.options,
    }


@cases("name", SCHEMAS)
def test_text_and_descriptor_mean_the_same(name):
    line = SCHEMAS[name]
    from_text = ProtobufSchema.parse(line["proto"])
    from_descriptor = ProtobufSchema.parse(base64.b64decode(line["descriptor_set"]))
    assert described(from_text) == described(from_descriptor)
    assert from_text.message().name == from_descriptor.message().name == f"k.{name}.M"


@given(st.data())
@settings(max_examples=tries(200))
def test_damaged_descriptors(data):
    line = SCHEMAS[data.draw(st.sampled_from(sorted(SCHEMAS)))]
    damaged = bytearray(base64.b64decode(line["descriptor_set"]))
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(SchemaError):
        ProtobufSchema.parse(bytes(damaged[: data.draw(st.integers(0, len(damaged)))]))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "holds no file|no message"),
        (b"\xff" * 20, "these bytes are no google.protobuf.FileDescriptorProto"),
        (bytes.fromhex("0a02") + b"\x62\x00", ".*"),
        (b"\x0a\x03\x62\x01x", "the syntax 'x' is not known"),
        (b"\x0a\x0c\x62\x08editions\x70\x01", "the edition 1 is not known"),
    ],
)
def test_bytes_that_are_no_descriptors(data, message):
    with pytest.raises(SchemaError, match=message):
        ProtobufSchema.parse(data).message()


@pytest.mark.parametrize("in_set", [False, True])
def test_parts_of_descriptors_are_bounded(in_set, monkeypatch):
    module = "kcodec.formats.protobuf.language.descriptor_set"
    monkeypatch.setattr(f"{module}.MAX_PARTS", 50)

    def descriptor(messages):
        data = b"\x0a\1f" + b"".join(b"\x22\x04\x0a\x02M%c" % (65 + at) for at in range(messages))
        return b"\x0a" + bytes([0x80 | len(data) & 127, len(data) >> 7]) + data if in_set else data

    assert len(ProtobufSchema.parse(descriptor(49)).messages) == 49
    with pytest.raises(SchemaError, match="descriptors of more than 50 parts"):
        ProtobufSchema.parse(descriptor(51))


@pytest.mark.parametrize("source", [7, None, object(), [], {}])
def test_what_is_no_schema_at_all(source):
    with pytest.raises(SchemaError):
        ProtobufSchema.parse(source)


def test_messages_are_found_by_name_and_by_indexes():
    schema = ProtobufSchema.parse(NESTED)
    assert schema.message().name == schema.message("A").name == schema.message([]).name == "p.A"
    assert schema.message("p.A.B.D").name == schema.message([0, 0, 1]).name == schema.message("D").name
    assert schema.indexes("p.A.B.D") == [0, 0, 1]
    with pytest.raises(SchemaError, match=r"'B' may be p\.A\.B or p\.F\.B"):
        schema.message("B")
    with pytest.raises(SchemaError, match="no message 'Nope'"):
        schema.message("Nope")
    with pytest.raises(SchemaError, match=r"no message of the indexes \[2\]"):
        schema.message([2])


@pytest.mark.parametrize("name", ["G", "M.G", "M.N.H", "E"])
def test_groups_have_no_indexes(name):
    schema = ProtobufSchema.parse(
        """
        syntax = "proto2";
        message M {
          optional group G = 1 { }
          message N { oneof one { group H = 1 { } } }
          extensions 2;
        }
        extend M { optional group E = 2 { } }
        """
    )
    assert schema.message(name).fields == ()
    with pytest.raises(SchemaError, match=f"{name} is a group: frames count messages only"):
        schema.indexes(name)


@pytest.mark.parametrize(
    ("fields", "row"),
    [
        ("string key = 1;", {"key": ""}),
        ("int32 value = 2;", {"value": 0}),
        ("string key = 1; int32 other = 3;", {"key": "", "other": 0}),
    ],
)
def test_entries_without_a_key_or_a_value_are_messages(fields, row):
    codec = ProtobufCodec(
        'syntax = "proto3"; message M { repeated AEntry a = 1; '
        f"message AEntry {{ option map_entry = true; {fields} }} }}",
        "M",
    )
    array = codec.decode([b"\n\0"])
    assert array.to_pylist() == [{"a": [row]}]
    assert codec.encode(array).to_pylist() == [b"\n\0"]


def test_schemas_pickle_and_compare():
    schema = ProtobufSchema.parse(NESTED)
    again = pickle.loads(pickle.dumps(schema))
    assert again == schema
    assert hash(again) == hash(schema)
    assert again != ProtobufSchema.parse(NESTED + " message G { }")
    assert described(again) == described(schema)


def test_generated_classes_are_schemas():
    from google.protobuf import type_pb2

    assert ProtobufSchema.parse(type_pb2.Field).message("Field").name == "google.protobuf.Field"
    assert ProtobufSchema.parse(type_pb2).main.package == "google.protobuf"


def test_errors_have_a_place():
    with pytest.raises(SchemaError, match="line 3, column 15: a has the unknown type Nope"):
        ProtobufSchema.parse('syntax = "proto3";\nmessage L { }\n message M {  Nope a = 1; }')


def test_defaults_keep_the_sign_of_zero_in_descriptors():
    text = 'syntax = "proto2"; message M { optional float a = 1 [default = -0.0]; }'
    descriptor = ProtobufCodec(text).descriptor_set
    assert ProtobufCodec(descriptor).to_json(b"", defaults="all") == '{"a":-0.0}'
