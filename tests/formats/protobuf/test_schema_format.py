"""Texts, indexes and verdicts of Confluent's registry."""

import base64
import datetime
import pickle

import pyarrow as pa
import pytest
from cases import cases
from google.protobuf import descriptor_pb2
from vector_files import read_vectors

from kcodec import ConfigError, SchemaError
from kcodec.formats.language import NamedText
from kcodec.formats.protobuf.changes.compatibility import message_differences
from kcodec.formats.protobuf.codec import ProtobufCodec
from kcodec.formats.protobuf.exported.serialized import serialized
from kcodec.formats.protobuf.language.parse import parse
from kcodec.formats.protobuf.language.text import print_file
from kcodec.formats.protobuf.schema import ProtobufSchema
from kcodec.formats.protobuf.schema_format import ProtobufFormat
from kcodec.registry import Metadata, Reference, Schema
from kcodec.registry.base import guid

PROTOBUF = ProtobufFormat()


def protobuf_lines(name):
    return [line for line in read_vectors(name) if line.get("type", "PROTOBUF") == "PROTOBUF"]


NORMALIZE = protobuf_lines("registry_normalize.jsonl.gz")
INDEXES = protobuf_lines("registry_message_indexes.jsonl.gz")
INVALID = protobuf_lines("registry_invalid.jsonl.gz")
GUID = protobuf_lines("registry_guid.jsonl.gz")

#: Names that the original looks for part by part, so that it finds another message, or none; and what is said here.
INEXACT = {
    "indexes/enum-name-asked/A.F": "an enum",
    "indexes/missing/p.A.Nope": "no message",
    "indexes/package-part-is-message/Foo.Foo.Bar": [0, 1],
    "indexes/public-and-own/leaf.p.A.B": "declared in another file",
}


def by_id(lines):
    return pytest.mark.parametrize("line", lines, ids=[line["id"] for line in lines])


def parsed(line):
    named = [NamedText(each["name"], each["schema"]) for each in line.get("references", ())]
    return PROTOBUF.parse(line["schema"], named)


@by_id(NORMALIZE)
def test_canonical_and_normalized_texts(line):
    schema = parsed(line)
    assert PROTOBUF.canonical(schema) == line["canonical"]
    assert print_file(schema.main, extensions=False) == line["ignore_extensions"]
    assert PROTOBUF.normalized(schema) == line["normalized"]
    # Both are texts of the same schema, and stay as they are.
    for text in (line["canonical"], line["normalized"]):
        again = parsed({**line, "schema": text})
        assert PROTOBUF.canonical(again) == text
        assert PROTOBUF.normalized(again) == line["normalized"]
        assert again.messages.keys() >= {
            name for name in schema.messages if not schema.messages[name].map_entry
        }


@by_id(NORMALIZE)
def test_serialized_descriptors(line):
    assert serialized(parsed(line)) == base64.b64decode(line["serialized"])


@by_id(GUID)
def test_guids(line):
    schema = parsed(line)
    text = PROTOBUF.normalized(schema) if line.get("normalize") else PROTOBUF.canonical(schema)
    assert text == line["canonical"]
    if "ruleSet" in line:
        # Part of the GUID, but not of what is registered here.
        return
    metadata = line.get("metadata")
    metadata = metadata and Metadata.of(
        metadata.get("properties"), metadata.get("tags"), metadata.get("sensitive")
    )
    references = [
        Reference(each["name"], each["subject"], each["version"]) for each in line.get("references", ())
    ]
    if line.get("normalize"):
        references.sort(key=lambda each: (each.subject, each.version))
    assert guid(Schema(text, "PROTOBUF", references, metadata)) == line["guid"]


@by_id(INDEXES)
def test_message_indexes(line):
    schema = parsed(line)
    normalized = parsed({**line, "schema": PROTOBUF.normalized(schema)})
    assert schema.message().name == line["default_name"]
    if "probe" in line:
        if line["probe_name"] is None:
            with pytest.raises(SchemaError, match="no message of the indexes"):
                schema.message(line["probe"])
        else:
            assert schema.message(line["probe"]).name == line["probe_name"]
        return
    expected = INEXACT.get(line["id"], line["indexes"])
    if isinstance(expected, str):
        with pytest.raises(SchemaError):
            schema.indexes(line["message"])
        return
    assert schema.indexes(line["message"]) == expected
    full = schema.message(line["message"])
    assert schema.message(expected).name == full.name
    if not full.map_entry and line["id"] not in INEXACT:
        assert normalized.indexes(full.name) == line["indexes_normalized"]


@by_id(INVALID)
def test_verdicts(line):
    try:
        PROTOBUF.canonical(parsed(line))
        answer = "ok"
    except SchemaError:
        answer = "refused"
    assert answer == ("ok" if line["register"] == "ok" else "refused")


@cases(
    ("text", "message"),
    [
        ('edition = "2023"; message M { }', "line 1, column 1: the registry takes no editions"),
        (
            'syntax = "proto2"; message M { optional group G = 1 [deprecated = true] { } }',
            "no options of a group",
        ),
        (
            'syntax = "proto2"; message M { optional group G = 1 { message N { } } }',
            "nothing but fields in a group",
        ),
        (
            'syntax = "proto2"; message M { optional group G = 1 { optional int32 a = 1; ; } }',
            "column 77: the registry takes no empty statements in a group",
        ),
        (
            'syntax = "proto2"; message M { repeated group G = 1 { repeated group H = 2 { } } }',
            "nothing but fields in a group",
        ),
        (
            'syntax = "proto2"; message M { optional bytes a = 1 [default = "\\377"]; }',
            "column 32: the registry prints defaults of all types but string without quotation marks",
        ),
        ('syntax = "proto2"; message M { option (o) = { [a.b/M]: { } }; }', "takes no URL of a type"),
        ('syntax = "proto2"; message M { option (o).a.(b) = 1; }', "takes no name in parentheses behind one"),
        (
            '\ufeffsyntax = "proto2"; message M { }',
            r"column 1: the registry takes no '\\ufeff' between words",
        ),
        (
            'syntax = "proto2"; /* \f */ message M {\v}',
            r"column 39: the registry takes no '\\x0b' between words",
        ),
        (
            'syntax = "proto2"; message M { optional . M a = 1; }',
            "column 43: the registry takes no blanks in a name",
        ),
        ('syntax = "proto2"; message M { } enum E { A = - 1; }', "takes no blanks behind a sign"),
        ('syntax = "proto2"; message M { extensions 1 to 0x10; }', "ends in hexadecimal digits"),
        (
            'syntax = "proto2"; message M { optional double a = 1 [default = 1e+3]; }',
            "no sign in an exponent",
        ),
        (
            'syntax = "proto3"; message M { int32 a = 1; /* b */ int32 c = 2; }',
            "nothing in the same line after a comment",
        ),
    ],
)
def test_what_only_registries_refuse(text, message):
    schema = ProtobufSchema.parse(text)
    assert schema.message().name == "M"
    with pytest.raises(SchemaError, match=message):
        PROTOBUF.canonical(schema)
    with pytest.raises(SchemaError, match=message):
        PROTOBUF.normalized(schema)


def test_what_only_registries_take():
    text = 'syntax = "proto3"; message M { int32 a = 0; int32 b = 0; map<string, Nope> c = 010; }'
    printed = (
        'syntax = "proto3";\n\nmessage M {\n  int32 a = 0;\n  int32 b = 0;\n  map<string, Nope> c = 10;\n}\n'
    )
    assert PROTOBUF.canonical(PROTOBUF.parse(text)) == printed
    with pytest.raises(SchemaError, match="line 1, column 32: the number 0 of a is not from 1 to 536870911"):
        PROTOBUF.parse(text).messages  # noqa: B018


def test_descriptors_in_base64_are_schemas():
    line = NORMALIZE[0]
    schema = PROTOBUF.parse(line["serialized"])
    assert schema.message().name == "p.Opt"
    assert schema.indexes("p.M") == [2]


@pytest.mark.parametrize("as_texts", [(), ("shop/order.proto",), ("shop/money.proto",)])
def test_descriptors_in_base64_import_others(as_texts):
    """A reference is known by its name, whatever path its descriptor has."""
    texts = {
        "shop/order.proto": 'syntax = "proto3"; import "shop/money.proto"; '
        "message Event { map<string, int32> counts = 1; message Order { Money total = 1; } }",
        "shop/money.proto": 'syntax = "proto3"; message Money { int64 units = 1; }',
    }
    files = descriptor_pb2.FileDescriptorSet.FromString(ProtobufCodec(texts).descriptor_set).file
    registered = dict(texts)
    for file in files:
        if file.name not in as_texts:
            path, file.name = file.name, "money.proto" if "money" in file.name else file.name
            registered[path] = base64.b64encode(file.SerializeToString()).decode()
    order, money = registered.values()
    schema = PROTOBUF.parse(order, [NamedText("shop/money.proto", money)])
    assert [field.name for field in schema.message("Order").fields[0].message.fields] == ["units"]
    # The descriptor spells entries of maps out.
    assert schema.indexes("Event.Order") == ([0, 0] if "shop/order.proto" in as_texts else [0, 1])


@cases(
    ("members", "normalized"),
    [
        # The default and the JSON name are sorted among the other options.
        (
            'optional int32 a = 1 [lazy = true, default = 3, (z) = 1, json_name = "x"];',
            '  optional int32 a = 1 [\n    default = 3,\n    json_name = "x",\n    lazy = true,\n    (z) = 1\n  ];\n',
        ),
        # Oneofs without members go; what separated them from others stays.
        ("oneof o {}", ""),
        ("oneof o {} oneof p {} optional int32 a = 1;", "  optional int32 a = 1;\n\n"),
        ("oneof o {} message N {}", "\n  message N {}\n"),
        # So do those of nothing but groups, and where one stands is told by its first field that is none.
        ("oneof o { group G = 1 { } } optional int32 a = 2;", "  optional int32 a = 2;\n\n"),
        (
            "oneof o { group G = 1 { } int32 a = 5; } oneof p { int32 b = 4; }",
            "  oneof p {\n    int32 b = 4;\n  }\n  oneof o {\n    int32 a = 5;\n  \n    group G = 1 {}\n  }\n",
        ),
        # Numbers are floats where these print alike, then doubles, then exact.
        ("optional double a = 1 [default = 0.0025];", "  optional double a = 1 [default = 0.002];\n"),
        (
            "optional double a = 1 [default = 1.5e25];",
            f"  optional double a = 1 [default = 14999999919496042{9 * '0'}];\n",
        ),
        ("optional double a = 1 [default = 1e300];", f"  optional double a = 1 [default = 1{300 * '0'}];\n"),
        (
            "optional double a = 1 [default = 9007199254740993.0];",
            "  optional double a = 1 [default = 9007199254740993];\n",
        ),
        ("optional double a = 1 [default = -0];", "  optional double a = 1 [default = 0];\n"),
        ("optional double a = 1 [default = -0.0];", "  optional double a = 1 [default = -0];\n"),
        ("oneof o {} oneof p { int32 a = 1; }", "  oneof p {\n    int32 a = 1;\n  }\n"),
        # Confluent's own options are known without an import.
        (
            'optional int32 a = 1 [(.confluent.field_meta).doc = "d"];',
            '  optional int32 a = 1 [(confluent.field_meta) = {\n    doc: "d"\n  }];\n',
        ),
        # What is equal stands once in a list that was put together, and what nobody declares is a list.
        (
            'optional int32 a = 1 [(confluent.field_meta).tags = "A", (confluent.field_meta) = {tags: ["A", "b"]}];',
            '  optional int32 a = 1 [(confluent.field_meta) = {\n    tags: [\n      "A",\n      "b"\n    ]\n  }];\n',
        ),
        (
            "optional int32 a = 1 [(confluent.field_meta).nope = 1, (confluent.field_meta).nope = 2];",
            "  optional int32 a = 1 [(confluent.field_meta) = {\n    nope: [\n      1,\n      2\n    ]\n  }];\n",
        ),
    ],
)
def test_normalized_members(members, normalized):
    schema = PROTOBUF.parse(f'syntax = "proto2"; message M {{ {members} }}')
    assert PROTOBUF.normalized(schema) == f"\nmessage M {{\n{normalized}}}\n"


def test_what_stands_later_among_normalized_options():
    """The last value of an option that is not repeated, and the last map."""
    schema = PROTOBUF.parse(
        'syntax = "proto2"; import "google/protobuf/descriptor.proto"; message O { map<string, int32> m = 1; } '
        "extend google.protobuf.FieldOptions { optional O o = 5000; optional int32 i = 5001; } "
        'message M { optional int32 a = 1 [(i) = 1, (i) = 2, (o).m = {key: "a"}, (o).m = {key: "b"}]; }'
    )
    kept = 'a = 1 [\n    (i) = 2,\n    (o) = {\n      m: {\n        key: "b"\n      }\n    }\n  ];'
    assert kept in PROTOBUF.normalized(schema)


def test_normalized_attributes_of_a_field_stand_once():
    """They are no options to the registry, which keeps all of an option that is said twice."""
    schema = PROTOBUF.parse(
        'syntax = "proto2"; message M { optional int32 a = 1 [default = 1, json_name = "x", deprecated = true, '
        'deprecated = true, json_name = "y", default = 2]; }'
    )
    names = 'default = 2,\n    deprecated = true,\n    deprecated = true,\n    json_name = "y"'
    assert f"a = 1 [\n    {names}\n  ];" in PROTOBUF.normalized(schema)


@pytest.mark.parametrize(
    "option", ["lazy = true", "weak = true", "nope = 1", "features.field_presence = IMPLICIT"]
)
def test_serialized_descriptors_lose_options(option):
    texts = [f'syntax = "proto3"; message M {{ int32 a = 1{each}; }}' for each in ("", f" [{option}]")]
    plain, with_option = (PROTOBUF.printed(PROTOBUF.parse(text), "serialized") for text in texts)
    assert with_option == plain


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("message M { map<string, bool> a = 1; }", 0),
        ("message M { map<string, bool> a = 1; } message AEntry { }", 0),
        ("message M { map<string, bool> a = 1; } message aEntry { }", 11),
    ],
)
def test_serialized_maps_have_a_type_if_one_is_called_as_their_entries(text, kind):
    """The registry's code looks for the type of each field by its name (commit 794611bd)."""
    made = PROTOBUF.printed(PROTOBUF.parse(f'syntax = "proto3"; package p; {text}'), "serialized")
    file = descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(made))
    assert (
        file.message_type[0].field[0].type if kind else file.message_type[0].field[0].HasField("type")
    ) == kind


def test_serialized_ranges_and_extensions():
    """The highest number of enums is that of fields; ``optional`` of extensions is not noted."""
    text = """
        syntax = "proto3"; import "google/protobuf/descriptor.proto";
        extend google.protobuf.FieldOptions { optional string s = 50000; }
        message M { optional int32 a = 1; }
        enum E { A = 0; reserved 3, 5 to max, 2147483647; }
    """
    file = descriptor_pb2.FileDescriptorProto.FromString(
        base64.b64decode(PROTOBUF.printed(PROTOBUF.parse(text), "serialized"))
    )
    ranges = [(each.start, each.end) for each in file.enum_type[0].reserved_range]
    assert ranges == [(3, 3), (5, 536870911), (2147483647, 2147483647)]
    assert not file.extension[0].HasField("proto3_optional")
    assert file.message_type[0].field[0].proto3_optional


def test_serialized_defaults_may_be_empty():
    schema = PROTOBUF.parse('syntax = "proto2"; message M { optional string a = 1 [default = ""]; }')
    file = descriptor_pb2.FileDescriptorProto.FromString(serialized(schema))
    assert file.message_type[0].field[0].HasField("default_value")


def test_texts_of_descriptors():
    """Each reserved range and name has a statement, lists are lists, and fields keep options that files define."""
    text = """
        syntax = "proto2";
        package p;
        import "confluent/meta.proto";
        import "google/protobuf/descriptor.proto";
        extend google.protobuf.FieldOptions { optional string note = 50000; }
        message M {
          reserved 2, 9 to 11; reserved "x", "y";
          option (confluent.message_meta) = { tags: "PII" params: { key: "k" value: "v" } };
          optional int32 a = 1 [default = 7, (p.note) = "n"];
        }
        enum E { A = 0; reserved 5, 7 to max; }
    """
    data = ProtobufCodec(text, "M").descriptor_set
    schema = PROTOBUF.parse(PROTOBUF.given_text(data), PROTOBUF.given_imports(data))
    message = PROTOBUF.canonical(schema).partition("message M ")[2].partition("extend")[0]
    assert (
        message
        == """{
  reserved 2;
  reserved 9 to 11;
  reserved "x";
  reserved "y";

  option (confluent.message_meta) = {
    params: [
      {
        key: "k",
        value: "v"
      }
    ],
    tags: [
      "PII"
    ]
  };

  optional int32 a = 1 [
    (p.note) = "n",
    default = 7
  ];
}
enum E {
  reserved 5;
  reserved 7 to max;
  A = 0;
}

"""
    )


@pytest.mark.parametrize("text", ["garbage", "Z2FyYmFnZQ=="])
def test_what_is_neither_text_nor_descriptor(text):
    with pytest.raises(SchemaError, match=r"^line 1, column 1: expected a message"):
        PROTOBUF.parse(text)


def test_names_and_imports():
    text = 'package p; import public "b.proto"; import "a/c.proto"; import "google/protobuf/any.proto"; message M { }'
    assert PROTOBUF.record_name(text) == "p.M"
    assert (
        PROTOBUF.of_message("N.O").record_name("package p; message M { } message N { message O { } }")
        == "p.N.O"
    )
    assert PROTOBUF.record_name("enum E { A = 0; }") is None
    assert PROTOBUF.imports(text) == ("a/c.proto", "b.proto")
    known = PROTOBUF.configured({"skip.known.types": "false"})
    assert known.imports(text) == ("a/c.proto", "google/protobuf/any.proto", "b.proto")
    assert PROTOBUF.reference_subject("a/c.proto") == "a/c.proto"
    qualified = PROTOBUF.configured({"reference.subject.name.strategy": "Qualified"})
    assert qualified.reference_subject("a/c.proto") == "a.c"
    assert pickle.loads(pickle.dumps(qualified)) == qualified
    with pytest.raises(ConfigError, match=r"reference\.subject\.name\.strategy='Other' is not one of"):
        PROTOBUF.configured({"reference.subject.name.strategy": "Other"})
    for message in (7, [], ["a", 1]):
        with pytest.raises(ConfigError, match="is not the name of a message"):
            PROTOBUF.of_message(message)


def test_same():
    left = PROTOBUF.parse("package p; message M { optional N n = 2; optional int32 a = 1; } message N { }")
    right = PROTOBUF.parse("package p; message M { optional int32 a = 1; optional p.N n = 2; } message N { }")
    other = PROTOBUF.parse("package p; message M { optional int32 a = 1; } message N { }")
    assert PROTOBUF.same(left, right)
    assert not PROTOBUF.same(left, other)
    assert PROTOBUF.differences(left, other) == []


@cases(
    ("reader", "writer", "expected"),
    [
        ("int64 a = 1;", "uint32 a = 1;", []),
        ("E a = 1;", "bool a = 1;", []),
        ("bytes a = 1;", "string b = 1;", []),
        ("sint32 a = 1;", "int32 a = 1;", ["FIELD_SCALAR_KIND_CHANGED #/M/1"]),
        ("fixed32 a = 1;", "float a = 1;", ["FIELD_SCALAR_KIND_CHANGED #/M/1"]),
        ("M a = 1;", "int32 a = 1;", ["FIELD_KIND_CHANGED #/M/1"]),
        ("repeated int32 a = 1;", "int32 a = 1;", []),
        ("int32 a = 1;", "repeated int32 a = 1;", ["FIELD_NUMERIC_LABEL_CHANGED #/M/1"]),
        ("int32 a = 1;", "repeated int32 a = 1 [packed = false];", []),
        ("string a = 1;", "repeated string a = 1;", []),
        ("N a = 1;", "N2 a = 1;", []),
        ("N a = 1;", "F a = 1;", ["FIELD_SCALAR_KIND_CHANGED #/M/1/1"]),
        ("map<string, int32> a = 1;", "map<string, float> a = 1;", ["FIELD_SCALAR_KIND_CHANGED #/M/1/2"]),
        ("repeated P a = 1;", "map<string, int32> a = 1;", []),
        ("int32 b = 2;", "int32 a = 1;", []),
        (
            "oneof o { int32 a = 1; int32 b = 2; }",
            "int32 a = 1; int32 b = 2;",
            ["MULTIPLE_FIELDS_MOVED_TO_ONEOF #/M/o"],
        ),
        ("oneof o { int32 a = 1; int32 c = 3; }", "int32 a = 1; int32 b = 2;", []),
    ],
)
def test_messages_that_bytes_cannot_be_read_as(reader, writer, expected):
    more = "enum E { E0 = 0; } message N { int32 x = 1; } message N2 { int64 y = 1; } message F { double x = 1; }"
    more += "message P { string k = 1; int32 v = 2; }"
    old, new = (
        PROTOBUF.parse(f'syntax = "proto3"; message M {{ {each} }} {more}') for each in (writer, reader)
    )
    found = message_differences(new.message("M"), old.message("M"))
    assert [f"{each.type} {each.path}" for each in found] == expected


def test_required_fields_and_groups_differ():
    old = PROTOBUF.parse("message M { optional int32 a = 1; optional group G = 2 { } }")
    new = PROTOBUF.parse(
        "message M { required int32 a = 1; optional N g = 2; required int32 c = 3; } message N { }"
    )
    found = message_differences(new.message("M"), old.message("M"))
    assert [(each.type, each.path) for each in found] == [
        ("REQUIRED_FIELD_ADDED", "#/M/1"),
        ("FIELD_KIND_CHANGED", "#/M/2"),
        ("REQUIRED_FIELD_ADDED", "#/M/3"),
    ]
    # A registry looks at labels that are written on both sides, and not at groups.
    assert [(each.type, each.path) for each in PROTOBUF.differences(new, old)] == [
        ("FIELD_NUMERIC_LABEL_CHANGED", "#/M/1"),
        ("REQUIRED_FIELD_ADDED", "#/M/3"),
    ]
    found = [each.type for each in PROTOBUF.differences(old, new)]
    assert found == ["FIELD_NUMERIC_LABEL_CHANGED", "REQUIRED_FIELD_REMOVED", "MESSAGE_REMOVED"]


class TestDerivedTexts:
    def test_a_text_that_a_person_would_write(self):
        line = pa.struct([pa.field("sku", pa.string(), False), ("price", pa.decimal128(10, 2))])
        kind = pa.struct(
            [
                pa.field("id", pa.int64(), False),
                ("customer", pa.dictionary(pa.int32(), pa.large_string())),
                ("placed_at", pa.timestamp("us", "UTC")),
                ("order_lines", pa.list_(line)),
                ("labels", pa.map_(pa.string(), pa.int16())),
                ("ship_on", pa.date32()),
            ]
        )
        text = ProtobufFormat(("shop.v1.Order",)).derived_text(kind)
        assert text == (
            'syntax = "proto3";\npackage shop.v1;\n\n'
            'import "confluent/meta.proto";\nimport "confluent/type/decimal.proto";\n'
            'import "google/protobuf/timestamp.proto";\nimport "google/type/date.proto";\n\n'
            "message Order {\n  int64 id = 1;\n  optional string customer = 2;\n"
            "  google.protobuf.Timestamp placed_at = 3;\n  repeated OrderLines order_lines = 4;\n"
            "  map<string, int32> labels = 5;\n  google.type.Date ship_on = 6;\n\n"
            "  message OrderLines {\n    string sku = 1;\n"
            "    confluent.type.Decimal price = 2 [(confluent.field_meta) = {\n      params: [\n"
            '        {\n          key: "precision",\n          value: "10"\n        },\n'
            '        {\n          key: "scale",\n          value: "2"\n        }\n      ]\n    }];\n  }\n}\n'
        )
        assert PROTOBUF.canonical(PROTOBUF.parse(text)) == text
        options = ProtobufSchema.parse(text).message("OrderLines").by_name["price"].options
        assert options == {"(confluent.field_meta).params": {"precision": "10", "scale": "2"}}

    def test_days_in_milliseconds_are_dates(self, impl):
        day = datetime.date(2024, 5, 1)
        kind = pa.struct([("on", pa.date64()), ("days", pa.list_(pa.field("item", pa.date64(), False)))])
        text = PROTOBUF.derived_text(kind)
        assert "  google.type.Date on = 1;\n  repeated google.type.Date days = 2;\n" in text
        codec = ProtobufCodec(text)
        rows = [{"on": day, "days": [day]}, {"on": None, "days": []}]
        assert codec.decode(codec.encode(pa.array(rows, kind))).to_pylist() == rows
        assert PROTOBUF.derived_text(pa.struct([("on", pa.dictionary(pa.int8(), pa.date64()))])) == (
            PROTOBUF.derived_text(pa.struct([("on", pa.date32())]))
        )

    def test_columns_come_back(self):
        kind = pa.struct(
            [
                pa.field("i", pa.int32(), False),
                ("f", pa.float64()),
                ("s", pa.struct([("b", pa.binary()), ("t", pa.bool_())])),
                pa.field("l", pa.list_(pa.field("item", pa.string(), False)), False),
                ("ts", pa.timestamp("us", "UTC")),
                ("d", pa.duration("us")),
                ("day", pa.date32()),
                ("time", pa.time64("us")),
            ]
        )
        codec = ProtobufCodec(PROTOBUF.derived_text(kind))
        assert codec.arrow_type == kind
        rows = [
            {
                "i": 1,
                "f": None,
                "s": {"b": b"x", "t": None},
                "l": ["a"],
                "ts": None,
                "d": None,
                "day": None,
                "time": None,
            }
        ]
        assert codec.decode(codec.encode(pa.array(rows, kind))).to_pylist() == rows

    @cases(
        ("kind", "message"),
        [
            (pa.int32(), "derived from a struct, not from int32"),
            (pa.struct([("a b", pa.int32())]), "'a b' is not a name in Protobuf"),
            (pa.struct([("a", pa.int32()), ("a", pa.int32())]), "'a' is there twice"),
            (
                pa.struct([("a", pa.list_(pa.list_(pa.int32())))]),
                "a: Protobuf has no lists or maps in lists or maps",
            ),
            (
                pa.struct([("a", pa.map_(pa.float64(), pa.int32()))]),
                "a: Protobuf has no maps with keys of double",
            ),
            (pa.struct([("a", pa.struct([("b", pa.null())]))]), r"a\.b: Protobuf has no null"),
            (pa.struct([("a", pa.list_view(pa.int32()))]), r"a: Protobuf has no list_view<item: int32>"),
            (
                pa.struct([("a", pa.timestamp("us"))]),
                r"a: Protobuf has no timestamp\[us\]: its timestamps have a time zone",
            ),
        ],
    )
    def test_what_cannot_be_derived(self, kind, message):
        with pytest.raises(SchemaError, match=message):
            PROTOBUF.derived_text(kind)


def test_comments_are_kept_by_place():
    text = '// one\nsyntax = "proto3"; /* two */ message M { }'
    assert [text[start:end] for start, end in parse(text).comments] == ["// one", "/* two */"]


def test_letters_that_are_no_escapes_to_the_registry():
    text = r'syntax = "proto2"; message M { optional string s = 1 [default = "\u00e9\U0001F600\x41\101\q"]; }'
    schema = PROTOBUF.parse(text)
    assert '[default = "u00e9U0001F600AAq"]' in PROTOBUF.canonical(schema)
    # As protoc has it, which made the messages.
    assert schema.message("M").by_name["s"].default == "\u00e9\U0001f600AAq"
    name = schema.parse(r'syntax = "proto3"; message M { int32 a = 1 [json_name = "\u00e9"]; }')
    assert name.message("M").by_name["a"].json_name == "\u00e9"


def test_an_empty_list_is_dropped_from_a_normalized_option():
    text = (
        'syntax = "proto3"; import "google/protobuf/descriptor.proto"; message O { repeated int32 n = 1; string s = 2; '
        "O o = 3; } extend google.protobuf.MessageOptions { O o = 50000; } "
        'message M { option (o) = { n: [] s: "z" o { n: [] } }; }'
    )
    schema = PROTOBUF.parse(text)
    assert "n: [\n    ]" in PROTOBUF.canonical(schema)
    assert '{\n    o: {\n    },\n    s: "z"\n  }' in PROTOBUF.normalized(schema)


@pytest.mark.parametrize(
    "text",
    [
        "message A-B {\n}",
        "message A {\n  A-B b = 1;\n\n  message A-B {}\n}",
        "message A {\n  int32 a-b-1 = 1;\n}",
        "message A {\n  oneof x-y {\n    int32 a = 1;\n  }\n}",
        "enum E {\n  A-B = 0;\n}",
        "enum E-F {\n  A = 0;\n}",
        "message M {}\n\nservice S-T {\n  rpc a-b (M) returns (M);\n}",
    ],
)
def test_names_with_dashes_are_kept_but_have_no_descriptor(text):
    schema = PROTOBUF.parse(f'syntax = "proto3";\n\n{text}\n')
    assert PROTOBUF.canonical(schema) == f'syntax = "proto3";\n\n{text}\n'.replace("{\n}", "{}")
    for use in (PROTOBUF.check_fields, lambda schema: schema.messages):
        with pytest.raises(SchemaError, match=r"line 3|line 4|line 5|line 6") as caught:
            use(schema)
        assert "is not a name: it has a dash" in str(caught.value)


def test_dashes_that_are_in_no_name():
    for text in ("message A -B {}", "message A- B {}", "message -A {}", "message 1-A {}"):
        with pytest.raises(SchemaError, match="expected"):
            PROTOBUF.canonical(PROTOBUF.parse(f'syntax = "proto3"; {text}'))
