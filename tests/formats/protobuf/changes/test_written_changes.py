"""All that changed between two .proto texts, and what of their messages is read otherwise than it was written."""

from cases import cases

from kcodec.formats.protobuf.schema_format import ProtobufFormat

PROTOBUF = ProtobufFormat()


def parsed(text):
    return PROTOBUF.parse(text if text.startswith("syntax") else f'syntax = "proto3"; {text}')


def told(old, new):
    return [(each.type, each.path, each.message) for each in PROTOBUF.changes(parsed(old), parsed(new))]


@cases(
    ("old", "new", "found"),
    [
        ("int32 a = 1;", "int64 a = 1;", [("FIELD_TYPE_CHANGED", "#/M/1", "a: int32 → int64")]),
        ("string a = 1;", "bytes a = 1;", [("FIELD_TYPE_CHANGED", "#/M/1", "a: string → bytes")]),
        ("E a = 1;", "int32 a = 1;", [("FIELD_TYPE_CHANGED", "#/M/1", "a: E → int32")]),
        ("int32 a = 1;", "string a = 1;", [("FIELD_SCALAR_KIND_CHANGED", "#/M/1", "a: int32 → string")]),
        ("N a = 1;", "M a = 1;", [("FIELD_NAMED_TYPE_CHANGED", "#/M/1", "a: N → M")]),
        ("N a = 1;", ".N a = 1;", []),
        (
            "map<string, int32> a = 1;",
            "map<string, int64> a = 1;",
            [("FIELD_TYPE_CHANGED", "#/M/1", "a: map<string, int32> → map<string, int64>")],
        ),
        (
            "repeated int32 a = 1;",
            "repeated int32 a = 1 [packed = false];",
            [("OPTION_ADDED", "#/M/1", "a: packed = false")],
        ),
        (
            'int32 a = 1 [json_name = "b", deprecated = true];',
            'int32 a = 1 [json_name = "c"];',
            [
                ("OPTION_CHANGED", "#/M/1", 'a: json_name = "b" → "c"'),
                ("OPTION_REMOVED", "#/M/1", "a: deprecated = true"),
            ],
        ),
        (
            "int32 a = 1;",
            "repeated int32 a = 1;",
            [("FIELD_LABEL_CHANGED", "#/M/1", "a: singular → repeated")],
        ),
        ("N a = 1;", "repeated N a = 1;", [("FIELD_LABEL_CHANGED", "#/M/1", "a: singular → repeated")]),
        (
            "optional int32 a = 1;",
            "int32 a = 1;",
            [("FIELD_LABEL_CHANGED", "#/M/1", "a: optional → singular")],
        ),
        (
            "optional int32 a = 1;",
            "repeated int32 a = 1;",
            [("FIELD_NUMERIC_LABEL_CHANGED", "#/M/1", "a: optional → repeated")],
        ),
        ("int32 a = 1;", "int32 b = 1;", [("FIELD_NAME_CHANGED", "#/M/1", "a → b")]),
        (
            "int32 a = 1;",
            "oneof o { int32 a = 1; }",
            [("ONEOF_ADDED", "#/M/o", "o"), ("FIELD_MOVED", "#/M/o/1", "a: no oneof → oneof o")],
        ),
        (
            "oneof o { int32 a = 1; int32 b = 2; }",
            "oneof o { int32 a = 1; } int32 b = 2;",
            [("ONEOF_FIELD_MOVED_TO_TOP_LEVEL", "#/M/2", "b: oneof o → no oneof")],
        ),
        (
            "enum F { Y = 0; X = 1; }",
            "enum F { Y = 0; W = 1 [deprecated = true]; V = 2; }",
            [
                ("ENUM_CONST_CHANGED", "#/M/F/1", "X → W"),
                ("ENUM_CONST_ADDED", "#/M/F/2", "V"),
                ("OPTION_ADDED", "#/M/F/1", "W: deprecated = true"),
            ],
        ),
        (
            "reserved 5;",
            'reserved 5 to 7, 9; reserved "b"; option deprecated = true;',
            [
                ("OPTION_ADDED", "#/M", "M: deprecated = true"),
                ("RESERVED_REMOVED", "#/M", "5"),
                ("RESERVED_ADDED", "#/M", "5 to 7"),
                ("RESERVED_ADDED", "#/M", "9"),
                ("RESERVED_ADDED", "#/M", "b"),
            ],
        ),
    ],
)
def test_changes_of_a_message(old, new, found):
    more = "message N { } enum E { Z = 0; }"
    assert told(*(f"message M {{ {each} }} {more}" for each in (old, new))) == found


def test_changes_of_a_file():
    old = 'syntax = "proto2"; package p; import "a.proto"; message M { optional group G = 1 { optional int32 a = 1; } }'
    old += " service S { rpc Get (M) returns (M); rpc Put (M) returns (M); } message X { extensions 5; }"
    old += " extend X { optional int32 x = 5; }"
    new = (
        old.replace("a.proto", "b.proto")
        .replace("optional int32", "optional int64")
        .replace("package p", "package q")
    )
    new = (
        new.replace("Get (M)", "Get (stream M)")
        .replace("rpc Put (M) returns (M);", "")
        .replace("extensions 5", "extensions 6")
    )
    assert told(old, new) == [
        ("PACKAGE_CHANGED", "#/", "p → q"),
        ("IMPORT_REMOVED", "#/", "a.proto"),
        ("IMPORT_ADDED", "#/", "b.proto"),
        ("FIELD_TYPE_CHANGED", "#/M/1/1", "a: int32 → int64"),
        ("EXTENSIONS_REMOVED", "#/X", "5"),
        ("EXTENSIONS_ADDED", "#/X", "6"),
        ("FIELD_TYPE_CHANGED", "#/extend X/5", "x: int32 → int64"),
        ("RPC_CHANGED", "#/S/Get", "Get: (M) returns (M) → (stream M) returns (M)"),
        ("RPC_REMOVED", "#/S/Put", "Put"),
    ]
    assert told(old, old.partition(" service")[0])[:1] == [("MESSAGE_REMOVED", "#/X", "X")]
    assert ("SERVICE_REMOVED", "#/S", "S") in told(old, old.partition(" service")[0])
    assert told("message M { }", 'syntax = "proto2"; message M { }') == [
        ("SYNTAX_CHANGED", "#/", "proto3 → proto2")
    ]
    assert told(old, old) == []


@cases(
    ("writer", "reader", "found"),
    [
        ("int64 a = 1;", "int32 a = 1;", ["VALUE_CUT"]),
        ("int32 a = 1;", "int64 a = 1;", []),
        ("uint32 a = 1;", "int64 a = 1;", []),
        ("uint32 a = 1;", "int32 a = 1;", ["SIGN_CHANGED"]),
        ("int32 a = 1;", "uint64 a = 1;", ["SIGN_CHANGED"]),
        ("int32 a = 1;", "bool a = 1;", ["VALUE_CUT"]),
        ("bool a = 1;", "uint32 a = 1;", []),
        ("sint64 a = 1;", "sint32 a = 1;", ["VALUE_CUT"]),
        ("fixed64 a = 1;", "sfixed64 a = 1;", ["SIGN_CHANGED"]),
        ("int32 a = 1;", "string a = 1;", []),
        ("bytes a = 1;", "string a = 1;", ["TEXT_EXPECTED"]),
        ("string a = 1;", "bytes a = 1;", []),
        ("map<string, int64> a = 1;", "map<string, int32> a = 1;", ["VALUE_CUT"]),
        ("repeated int32 a = 1;", "int32 a = 1;", ["LIST_UNREAD"]),
        ("repeated string a = 1;", "string a = 1;", ["LAST_VALUE_ONLY"]),
        ("repeated N a = 1;", "N a = 1;", ["VALUES_MERGED"]),
        ("string a = 1;", "repeated string a = 1;", []),
        ("optional int32 a = 1;", "int32 a = 1;", ["PRESENCE_LOST"]),
        ("int32 a = 1;", "optional int32 a = 1;", []),
        ("E a = 1;", "int32 a = 1;", []),
        ("int32 a = 1;", "E a = 1;", ["SYMBOL_UNKNOWN"]),
        ("E a = 1;", "F a = 1;", ["SYMBOL_UNKNOWN"]),
        ("F a = 1;", "E a = 1;", []),
        ("int32 a = 1; int32 b = 2;", "int32 a = 1;", []),
    ],
)
def test_what_a_reader_loses(writer, reader, found):
    more = "message N { } enum E { Z = 0; Y = 1; } enum F { X = 0; }"
    new, old = (parsed(f"package p; message M {{ {each} }} {more}") for each in (reader, writer))
    lost = PROTOBUF.losses(new, old)
    assert [(each.type, each.path) for each in lost] == [(kind, "#/M/1") for kind in found]
