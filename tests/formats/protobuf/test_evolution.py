"""Differences that Confluent's registry finds between pairs of .proto texts."""

import pytest
from vector_files import read_vectors

from kcodec.formats.protobuf.evolution import BREAKING, Side, changes
from kcodec.formats.protobuf.schema_format import ProtobufFormat
from kcodec.formats.schema_format import NamedText

PROTOBUF = ProtobufFormat()


def parsed(text, references=()):
    return PROTOBUF.parse(text, [NamedText(each["name"], each["schema"]) for each in references])


def kinds(old, new):
    sides = [parsed(f'syntax = "proto3"; {text}') for text in (old, new)]
    return [(each.type, each.path) for each in changes(*(Side(side.names, side.path) for side in sides))]


def test_differences_of_the_real_registry():
    lines = read_vectors("registry_protobuf_compat.jsonl.gz")
    seen = set()
    for line in lines:
        old = parsed(line["old"], line.get("old_references", ()))
        new = parsed(line["new"], line.get("new_references", ()))
        found = changes(Side(old.names, old.path), Side(new.names, new.path))
        assert sorted((each.path, each.type) for each in found) == sorted(
            (each["path"], each["type"]) for each in line["differences"]
        ), line["id"]
        assert (not PROTOBUF.differences(new, old)) is line["backward"], line["id"]
        assert not changes(Side(old.names, old.path), Side(old.names, old.path))
        seen.update(each.type for each in found)
    print(f"{len(lines)} pairs, {len(seen)} types of differences")
    assert (len(lines), len(seen), len(BREAKING)) == (275, 26, 11)


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("message M { int32 a = 1; }", "message M { repeated int32 a = 1; }", []),
        (
            "message M { optional int32 a = 1; }",
            "message M { repeated int32 a = 1; }",
            ["FIELD_NUMERIC_LABEL_CHANGED"],
        ),
        (
            "message M { oneof o { int32 a = 1; } }",
            "message M { oneof o { } }",
            ["ONEOF_FIELD_REMOVED"],
        ),
        ("message M { oneof o { int32 a = 1; } }", "message M { }", ["ONEOF_REMOVED"]),
        ("message M { oneof o { } }", "message M { }", ["ONEOF_REMOVED"]),
        (
            "message M { map<string, int32> a = 1; }",
            "message M { map<string, string> a = 1; }",
            ["FIELD_SCALAR_KIND_CHANGED"],
        ),
        (
            "message M { map<string, int32> a = 1; }",
            "message M { repeated AEntry a = 1; message AEntry { option map_entry = true; string key = 1; "
            "int32 value = 2; } }",
            [],
        ),
        (
            "message M { N n = 1; } message N { }",
            "message M { M n = 1; } message N { }",
            ["FIELD_NAMED_TYPE_CHANGED"],
        ),
    ],
)
def test_pairs(old, new, found):
    assert [kind for kind, _ in kinds(old, new)] == found


def test_types_that_contain_themselves_in_other_files():
    imported = 'syntax = "proto3"; package p; message N { %s a = 1; N next = 2; repeated N more = 3; }'
    main = 'syntax = "proto3"; import "n.proto"; message M { p.N n = 1; p.N o = 2; }'
    old = PROTOBUF.parse(main, [NamedText("n.proto", imported % "int32")])
    new = PROTOBUF.parse(main, [NamedText("n.proto", imported % "string")])
    assert [(each.type, each.path) for each in PROTOBUF.differences(new, old)] == [
        ("FIELD_SCALAR_KIND_CHANGED", "#/N/1"),
        ("FIELD_NAMED_TYPE_CHANGED", "#/M/1"),
        ("FIELD_NAMED_TYPE_CHANGED", "#/M/2"),
    ]


def test_many_messages_are_compared():
    texts = [
        "".join(f"message M{n} {{ {kind} a = 1; }}" for n in range(3000)) for kind in ("int32", "string")
    ]
    assert len(kinds(*texts)) == 1000
