"""Differences that Confluent's registry finds between pairs of .proto texts."""

from cases import cases
from vector_files import read_vectors

from kcodec.formats.language import NamedText
from kcodec.formats.protobuf.changes.evolution import BREAKING, Side, changes
from kcodec.formats.protobuf.schema_format import ProtobufFormat

PROTOBUF = ProtobufFormat()


def parsed(text, references=()):
    return PROTOBUF.parse(
        text,
        [
            NamedText(
                each["name"],
                each["schema"],
                None if each.get("indirect") else (each["subject"], each["version"]),
            )
            for each in references
        ],
    )


def found_between(old, new):
    return changes(*(Side(side.names, side.path, side.places) for side in (old, new)))


def kinds(old, new):
    found = found_between(*(parsed(f'syntax = "proto3"; {text}') for text in (old, new)))
    return [(each.type, each.path) for each in found]


def test_differences_of_the_real_registry():
    lines = read_vectors("registry_protobuf_compat.jsonl.gz")
    seen = set()
    for line in lines:
        old = parsed(line["old"], line.get("old_references", ()))
        new = parsed(line["new"], line.get("new_references", ()))
        found = found_between(old, new)
        assert sorted((each.path, each.type) for each in found) == sorted(
            (each["path"], each["type"]) for each in line["differences"]
        ), line["id"]
        assert (not PROTOBUF.differences(new, old)) is line["backward"], line["id"]
        assert not found_between(old, old)
        seen.update(each.type for each in found)
    print(f"{len(lines)} pairs, {len(seen)} types of differences")
    assert (len(lines), len(seen), len(BREAKING)) == (275, 26, 11)


@cases(
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
        # What an entry's fields are called says what they are.
        (
            "message M { repeated AEntry a = 1; message AEntry { option map_entry = true; string key = 24; "
            "int32 value = 2; } }",
            "message M { map<string, int32> a = 1; }",
            [],
        ),
        (
            "message M { N n = 1; } message N { }",
            "message M { M n = 1; } message N { }",
            ["FIELD_NAMED_TYPE_CHANGED"],
        ),
        # Labels count only where the kinds of scalars are the same.
        (
            "message M { optional int32 a = 1; }",
            "message M { repeated string a = 1; }",
            ["FIELD_SCALAR_KIND_CHANGED"],
        ),
        ("message M { optional M a = 1; }", "message M { repeated int32 a = 1; }", ["FIELD_KIND_CHANGED"]),
        # Of types that are not known only what is written counts.
        (
            "message M { map<int32, N> a = 1; }",
            "message M { map<int32, N> a = 1; message N { } }",
            ["MESSAGE_ADDED"],
        ),
        (
            "message M { map<int32, N> a = 1; }",
            "message M { map<int32, .N> a = 1; }",
            ["FIELD_NAMED_TYPE_CHANGED"],
        ),
        # Entries that are spelled out on both sides are messages like others.
        (
            "message M { message E { option map_entry = true; int32 key = 1; int32 value = 2; } }",
            "message M { message E { option map_entry = true; int32 key = 1; string value = 2; } }",
            ["FIELD_SCALAR_KIND_CHANGED"],
        ),
    ],
)
def test_pairs(old, new, found):
    assert [kind for kind, _ in kinds(old, new)] == found


def test_constants_stand_in_the_order_of_a_hash_table():
    """As the registry's own rules list them, at its commit 794611bd."""
    old = "enum E { A = 0; B = 77; C = -3; D = 70000; F = 17; }"
    found = kinds(old, "enum E { A = 0; C = -16; D = 4; }")
    assert [int(path.removeprefix("#/E/")) for _, path in found] == [70000, 17, -3, 4, 77, -16]


def test_types_that_contain_themselves_in_other_files():
    imported = 'syntax = "proto3"; package p; message N { %s a = 1; N next = 2; repeated N more = 3; }'
    main = 'syntax = "proto3"; import "n.proto"; message M { p.N n = 1; p.N o = 2; }'
    old = PROTOBUF.parse(main, [NamedText("n.proto", imported % "int32")])
    new = PROTOBUF.parse(main, [NamedText("n.proto", imported % "string")])
    # As the registry has it: once for each field.
    assert [(each.type, each.path) for each in PROTOBUF.differences(new, old)] == [
        ("FIELD_SCALAR_KIND_CHANGED", "#/N/1"),
        ("FIELD_NAMED_TYPE_CHANGED", "#/M/1"),
        ("FIELD_SCALAR_KIND_CHANGED", "#/N/1"),
        ("FIELD_NAMED_TYPE_CHANGED", "#/M/2"),
    ]


def test_types_that_name_each_other_without_end():
    """Beyond so many steps each is compared once."""
    imported = "".join(
        f"message N{n} {{ %s a = 1; " + "".join(f"N{n + 1} b{i} = {i}; " for i in range(2, 7)) + "}"
        for n in range(20)
    )
    imported = f'syntax = "proto3"; package p; {imported} message N20 {{ }}'
    main = 'syntax = "proto3"; import "n.proto"; message M { p.N0 n = 1; }'
    old, new = (
        PROTOBUF.parse(main, [NamedText("n.proto", imported.replace("%s", kind))])
        for kind in ("int32", "string")
    )
    found = [(each.type, each.path) for each in PROTOBUF.differences(new, old)]
    assert [path for kind, path in found if kind == "FIELD_SCALAR_KIND_CHANGED"] == [
        f"#/N{n}/1" for n in range(20)
    ]
    assert found[-1] == ("FIELD_NAMED_TYPE_CHANGED", "#/M/1")


def test_versions_of_imports_are_compared():
    """A file of the same text has other contents if it is a version that refers to others."""
    leaf = 'syntax = "proto3"; package c; message C { %s a = 1; }'
    middle = 'syntax = "proto3"; package b; import "c.proto"; message B { c.C c = 1; }'
    main = 'syntax = "proto3"; package a; import "b.proto"; message A { b.B b = 1; }'
    old, same, newer = (
        PROTOBUF.parse(
            main, [NamedText("c.proto", leaf % kind), NamedText("b.proto", middle, ("b", version))]
        )
        for kind, version in (("int32", 1), ("string", 1), ("string", 2))
    )
    assert PROTOBUF.differences(same, old) == []
    assert [(each.type, each.path) for each in PROTOBUF.differences(newer, old)] == [
        ("FIELD_SCALAR_KIND_CHANGED", "#/C/1"),
        ("FIELD_NAMED_TYPE_CHANGED", "#/B/1"),
        ("FIELD_NAMED_TYPE_CHANGED", "#/A/1"),
    ]


def test_many_messages_are_compared():
    texts = [
        "".join(f"message M{n} {{ {kind} a{more} = 1; }}" for n in range(3000))
        for kind, more in (("int32", ""), ("string", "b"))
    ]
    old, new = (parsed(f'syntax = "proto3"; {text}') for text in texts)
    # What breaks nothing takes no place of what does.
    assert [each.type for each in PROTOBUF.differences(new, old)] == ["FIELD_SCALAR_KIND_CHANGED"] * 1000
    assert len(PROTOBUF.changes(old, new)) == 1000


def test_order_of_differences():
    """That of the registry's messages: names as in its hash table, fields by number, what is nested after these."""
    old = parsed(
        'syntax = "proto2"; message Outer { required int32 a = 1798; optional int32 b = 3; oneof z { int32 c = 4; } '
        "oneof y { int32 d = 5; } message In {} } message Aa { optional int32 a = 1; } message C {}"
    )
    new = parsed(
        'syntax = "proto2"; message C {} message Aa { optional string a = 1; } message Outer { required int32 a = 2; '
        "optional string b = 3; oneof x { int32 c = 4; int32 e = 3000; } required int32 f = 17; }"
    )
    assert [(each.type, each.path) for each in found_between(old, new)] == [
        ("FIELD_SCALAR_KIND_CHANGED", "#/Aa/1"),
        ("MESSAGE_MOVED", "#/C"),
        ("ONEOF_ADDED", "#/Outer/x"),
        ("ONEOF_REMOVED", "#/Outer/y"),
        ("ONEOF_REMOVED", "#/Outer/z"),
        ("REQUIRED_FIELD_ADDED", "#/Outer/2"),
        ("FIELD_SCALAR_KIND_CHANGED", "#/Outer/3"),
        ("REQUIRED_FIELD_ADDED", "#/Outer/17"),
        ("REQUIRED_FIELD_REMOVED", "#/Outer/1798"),
        ("ONEOF_FIELD_ADDED", "#/Outer/x/3000"),
        ("MESSAGE_REMOVED", "#/Outer/In"),
        ("MESSAGE_MOVED", "#/Outer"),
    ]
