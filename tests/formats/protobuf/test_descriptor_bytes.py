"""Descriptors of texts, compared with protoc's."""

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import HealthCheck, given, settings
from proto_texts import proto_files
from protoc import protoc
from vector_files import read_vectors

from kcodec.formats.protobuf.descriptor_bytes import write_descriptor, write_descriptor_set
from kcodec.formats.protobuf.schema import ProtobufSchema

CONSTRUCTS = {
    "defaults": """
        syntax = "proto2"; message M { optional int32 a = 1 [default = 0x1F]; optional int64 b = 2 [default = -010];
        optional float c = 3 [default = 1e10]; optional double d = 4 [default = -1.5E-7]; optional float e = 5 [default = inf];
        optional double f = 6 [default = -nan]; optional bool g = 7 [default = true]; optional string h = 8 [default = 'a"b\\'\\x41\\101\\n'];
        optional bytes i = 9 [default = "\\001\\xfe\\"\\\\ " "more"]; optional E j = 10 [default = B]; enum E { A = 1; B = 2; }
        optional uint64 k = 11 [default = 18446744073709551615]; optional float l = 12 [default = 3.4028235e38]; optional double m = 13 [default = .5];
        optional string n = 14 [default = "\\u00e9\\U0001F600\\303\\251"]; optional sfixed32 o = 15 [default = -2147483648]; optional double p = 16 [default = 7]; }
        """,
    "groups": """
        syntax = "proto2"; package g; message M { optional group Aa = 1 [deprecated = true] { optional int32 x = 1; optional group Bb = 2 { repeated string y = 1; } enum E { Z = 0; } message N { } }
        repeated group Cc = 5 { required int32 z = 1; } oneof o { group Dd = 6 { optional Aa.N n = 1; } int32 p = 7; } extensions 100 to max; extend M { optional group Ee = 100 { optional int32 q = 1; } } }
        extend M { repeated group Ff = 101 { optional int32 r = 1; } optional M.N2 s = 102; } message N { }
        """.replace("M.N2", "N"),
    "features": """
        edition = "2023"; package f; option features.field_presence = IMPLICIT; option features = { enum_type: CLOSED repeated_field_encoding: EXPANDED };
        message M { option features.message_encoding = DELIMITED; int32 a = 1; int32 b = 2 [features.field_presence = EXPLICIT]; repeated int32 c = 3; M d = 4; N e = 5 [features.message_encoding = LENGTH_PREFIXED];
        map<string, N> f = 6; string g = 7 [features.utf8_validation = NONE]; E h = 8; int32 i = 9 [features.field_presence = LEGACY_REQUIRED]; oneof o { int32 j = 10; N k = 11; } reserved foo, bar; reserved 20 to 30, 40 to max; repeated N l = 12; }
        message N { } enum E { option features.enum_type = OPEN; A = 0; } enum C { B = 0; D = -5; reserved -10 to -8, 7, 100 to max; reserved x; }
        """,
    "options": """
        syntax = "proto3"; package o; import "google/protobuf/descriptor.proto"; import public "google/protobuf/any.proto"; import weak "google/protobuf/empty.proto";
        option java_package = "a.b"; option optimize_for = CODE_SIZE; option (file) = "x"; option cc_enable_arenas = false;
        message O { string s = 1; repeated int32 n = 2; O o = 3; repeated O os = 4; K k = 5; double d = 6; bytes b = 7; map<string, int32> m = 8; bool t = 9; float f = 10; sint64 z = 11; fixed32 x = 12; extensions 0; }
        """.replace("extensions 0; ", "")
    + """
        enum K { K0 = 0; K1 = 1 [(ev) = 5, deprecated = true]; option (en) = -1; }
        extend google.protobuf.FileOptions { string file = 50000; } extend google.protobuf.MessageOptions { O m = 50000; repeated string r = 50001; repeated O ro = 50002; }
        extend google.protobuf.FieldOptions { O f = 50000; K fk = 50001; bytes fb = 50002; float ff = 50003; uint64 fu = 50004; } extend google.protobuf.EnumOptions { sint32 en = 50000; }
        extend google.protobuf.EnumValueOptions { uint32 ev = 50000; } extend google.protobuf.OneofOptions { bool oo = 50000; } extend google.protobuf.ServiceOptions { double sv = 50000; } extend google.protobuf.MethodOptions { O mt = 50000; }
        message M { option deprecated = true; option (m) = { s: "a" "b" n: [1, 2] n: 3, o { o: { s: 'q' } } os: [ { k: K1 }, { d: 1e3 } ]; os < b: "\\001" > m: { key: "x" value: 1 } m { key: "y", value: 2 } t: true f: inf z: -7 x: 0x10 };
        option (r) = "1"; option (r) = "2"; option (ro) = { s: "1" }; option (ro).o.s = "2";
        int32 a = 1 [(f).o.o.s = "deep", (f).n = 1, (f).n = 2, (.o.fk) = K1, (o.fb) = "\\xff", (ff) = -1.5, (fu) = 18446744073709551615, json_name = "Aa", deprecated = false];
        repeated int32 p = 2 [packed = false]; oneof one { option (oo) = true; string q = 3; } optional int64 l = 4 [jstype = JS_STRING, retention = RETENTION_SOURCE]; }
        """.replace(", retention = RETENTION_SOURCE", "")
    + """
        service S { option (sv) = nan; rpc A (M) returns (stream .o.M); rpc B (stream O) returns (google.protobuf.Any) { option (mt).n = 4; option idempotency_level = IDEMPOTENT; } }
        """,
    "extensions": """
        syntax = "proto2"; package e; message M { extensions 4, 10 to 20, 1000 to max; extensions 30 to 40 [verification = UNVERIFIED]; extensions 50 to 60 [declaration = { number: 50 full_name: ".e.a" type: "int32" }]; message N { extend M { optional N n = 10; } } }
        extend M { optional int32 a = 50; repeated string b = 11 [packed = false]; required_ c = 12; } message required_ { }
        """.replace("required_ c", "optional required_ c").replace(" [packed = false]", ""),
    "message-set": """
        syntax = "proto2"; message S { option message_set_wire_format = true; extensions 4 to max; } message I { extend S { optional I i = 2000000000; } }
        """,
    "edition-2024": """
        edition = "2024"; package v; export message A { local message B { } export enum C { X = 0; } } local enum D { Y = 0; } message E { string s = 1; }
        """,
    "names": """
        syntax = "proto3"; package a.b.c; message b { message c { } c x = 1; .a.b.c.b y = 2; b.c z = 3; d.e w = 4; a_b v = 5; } message d { message e { } } message a_b { optional int32 __x = 1; optional int32 X = 2; map<int32, b.c> a_map_ = 3; oneof _y { int32 q = 4; } optional int32 y = 5; }
        """.replace("oneof _y { int32 q = 4; } ", ""),
    "comments": """
        // head
        syntax /* a */ = "proto3" ; ; /* b * / ** */ message M{int32 a=1;;// c
        int32 b /*d*/ = /*e*/ 2 ; }
        """,
}  # fmt: skip


def ours(text, imports=None):
    schema = ProtobufSchema.parse({"main.proto": text, **(imports or {})})
    return descriptor_pb2.FileDescriptorProto.FromString(write_descriptor(schema))


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_constructs(name):
    text = CONSTRUCTS[name]
    expected = protoc(text)
    assert expected is not None
    assert ours(text) == expected


def registry_texts():
    lines = [line for line in read_vectors("registry_normalize.jsonl.gz") if line["type"] == "PROTOBUF"]
    lines += read_vectors("registry_message_indexes.jsonl.gz")
    for line in lines:
        imports = {each["name"]: each["schema"] for each in line.get("references", ())}
        for key in ("schema", "canonical", "normalized"):
            if line.get(key):
                yield pytest.param(line[key], imports, id=f"{line['id']}-{key}")


@pytest.mark.parametrize(("text", "imports"), list(registry_texts()))
def test_texts_of_registries(text, imports):
    expected = protoc(text, imports)
    # What the compiler does not take, such as an explicit map_entry, has a descriptor all the same.
    assert expected is None or ours(text, imports) == expected
    assert ours(text, imports).name == "main.proto"


@given(proto_files())
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_any_text(text):
    expected = protoc(text)
    assert expected is not None
    assert ours(text) == expected


def test_a_pool_makes_classes():
    imports = {"x/leaf.proto": 'syntax = "proto3"; package x; message Leaf { int32 a = 1; }'}
    text = 'syntax = "proto3"; import "x/leaf.proto"; message M { x.Leaf leaf = 1; map<string, x.Leaf> m = 2; }'
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
