"""What has no descriptor: texts that a registry keeps, but refuses with ``validateFields``.

The verdicts are those of Confluent's registry (commit 794611bd) with protobuf-java 4.34.1.
"""

import pytest
from cases import cases

from kcodec.errors import SchemaError
from kcodec.formats.protobuf.schema_format import ProtobufFormat

PROTOBUF = ProtobufFormat()

OPTIONS = (
    'syntax = "proto2"; import "google/protobuf/descriptor.proto"; message A {} '
    "extend google.protobuf.FieldOptions "
)
EXTENDED = 'syntax = "proto2"; message A { extensions 5 to 10; } '

TAKEN = [
    'syntax = "proto2"; message A { oneof a { int32 b = 1; } optional int32 a = 2; }',
    'syntax = "proto2"; message A { oneof X { int32 a = 1; } message X {} }',
    'syntax = "proto2"; message A { enum E { Q = 0; } message Q {} }',
    EXTENDED + "extend A { optional int32 x = 5; optional int32 y = 5; }",
    'syntax = "proto2"; message A { extensions 5 to max; } extend A { optional int32 x = 536870911; }',
    OPTIONS + "{ optional int32 x = 50000; }",
    'syntax = "proto2"; package p.q; message p { message q {} }',
    'syntax = "proto2"; message A { optional int32 f = 1 [default = 0x7fffffff]; }',
    'syntax = "proto2"; message A { optional int32 f = 1 [default = "1"]; }',
    'syntax = "proto2"; message A { optional int32 f = 1 [default = 010]; }',
    'syntax = "proto2"; message A { optional int32 f = 1 [default = -2147483648]; }',
    'syntax = "proto2"; message A { optional uint64 f = 1 [default = 18446744073709551615]; }',
    'syntax = "proto2"; message A { optional bool f = 1 [default = 5]; }',
    'syntax = "proto2"; message A { optional string f = 1 [default = 5]; }',
    'syntax = "proto2"; message A { optional E f = 1 [default = Q]; enum E { Q = 0; } }',
    'syntax = "proto2"; message A { optional double f = 1 [default = -inf]; }',
    'syntax = "proto2"; message A { optional double f = 1 [default = 1e100]; }',
    'syntax = "proto2"; message A { repeated E e = 1 [packed = true]; enum E { Q = 0; } }',
    'syntax = "proto2"; message A { repeated string e = 1 [packed = false]; }',
    'syntax = "proto2"; message A { optional group G = 1 { optional int32 a = 1; optional int32 a = 1; } }',
    'syntax = "proto2"; message A { optional group G = 1 { optional int32 a = 1; } optional int32 g = 1; }',
    'syntax = "proto2"; message A { extensions 5; extensions 5; optional int32 a = 5; reserved 5 to 3; }',
    'syntax = "proto3"; message A { extensions 5; }',
    'syntax = "proto3"; message A { optional int32 a = 1; oneof _a { int32 b = 2; } }',
    'syntax = "proto3"; enum E { A = 0; } enum F { A = 0; }',
    'syntax = "proto3"; message A { int32 A = 1; }',
    'syntax = "proto3"; message A { .A.B b = 1; message B {} }',
    'syntax = "proto3"; option optimize_for = "SPEED"; message A { int64 f = 1 [jstype = "JS_NUMBER"]; }',
    'syntax = "proto3"; message A { int64 f = 1 [targets = TARGET_TYPE_FILE, retention = FOREVER]; }',
    'syntax = "proto2"; message A { optional group G = 1 { optional int64 f = 1 [jstype = FOO]; } }',
]

REFUSED = [
    'syntax = "proto2"; message A { optional int32 X = 1; message X {} }',
    'syntax = "proto2"; message A { enum E { Q = 0; } optional int32 E = 1; }',
    'syntax = "proto2"; message A { extensions 5; extend A { optional int32 x = 5; } optional int32 x = 1; }',
    EXTENDED + "extend A { optional int32 A = 5; }",
    EXTENDED + "extend A { optional int32 x = 5; } extend A { optional int32 x = 6; }",
    EXTENDED + "extend A { optional string x = 5 [packed=true]; }",
    EXTENDED + "extend A { optional int32 x = 11; }",
    OPTIONS + "{ optional int32 x = 500; }",
    'syntax = "proto2"; extend E { optional int32 x = 50000; } enum E { Q = 0; }',
    'syntax = "proto2"; message A { optional float f = 1 [default = 0x10]; }',
    'syntax = "proto2"; message A { optional int32 f = 1 [default = 0xffffffff]; }',
    'syntax = "proto2"; message A { optional int32 f = 1 [default = 1.0]; }',
    'syntax = "proto2"; message A { optional int32 f = 1 [default = 09]; }',
    'syntax = "proto2"; message A { optional uint64 f = 1 [default = 18446744073709551616]; }',
    'syntax = "proto2"; message A { optional sint32 f = 1 [default = abc]; }',
    'syntax = "proto2"; message A { optional E f = 1 [default = 0]; enum E { Q = 0; } }',
    'syntax = "proto2"; message A { optional double f = 1 [default = infinity]; }',
    'syntax = "proto2"; message A { optional double f = 1 [default = -nan]; }',
    'syntax = "proto2"; message A { map<string,int32> m = 1 [default = 1]; }',
    'syntax = "proto2"; message A { repeated A e = 1 [packed = true]; }',
    'syntax = "proto2"; message A { repeated bytes e = 1 [packed = true]; }',
    'syntax = "proto2"; message A { oneof o { int32 m = 1 [packed = true]; } }',
    'syntax = "proto2"; service S { rpc M (A) returns (E); } message A {} enum E { Q = 0; }',
    'syntax = "proto2"; service S { rpc M (google.protobuf.Any) returns (A); } message A {}',
    'syntax = "proto3"; message A { A.B b = 1; message A {} message B {} }',
    'syntax = "proto3"; message A { int32 a = 1; int32 a = 2; }',
    'syntax = "proto3"; enum E { A = 0; A = 1; }',
    'syntax = "proto3"; service A {} message A {}',
    'syntax = "proto3"; message A {} service S { rpc M (A) returns (A); rpc M (A) returns (A); }',
    # Options that are no constants of their enums, or no messages.
    'syntax = "proto2"; option optimize_for = 1; message A {}',
    'syntax = "proto3"; message A { int64 f = 1 [jstype = STRING]; }',
    'syntax = "proto3"; message A { map<string, int64> f = 1 [ctype = [CORD]]; }',
    'syntax = "proto3"; message A { oneof o { int64 f = 1 [targets = FIELD]; } }',
    'syntax = "proto2"; message A { extensions 5; } extend A { optional int64 f = 5 [jstype = 1]; }',
    'syntax = "proto3"; message A {} service S { rpc M (A) returns (A) { option idempotency_level = 1; } }',
    'syntax = "proto3"; message A { int64 f = 1 [features = IMPLICIT]; }',
    'syntax = "proto3"; message A { int64 f = 1 [edition_defaults = [{}]]; }',
]


@cases("text", TAKEN)
def test_taken(text):
    PROTOBUF.check_fields(PROTOBUF.parse(text))


@cases("text", REFUSED)
def test_refused(text):
    schema = PROTOBUF.parse(text)
    assert PROTOBUF.canonical(schema)
    assert PROTOBUF.normalized(schema)
    with pytest.raises(SchemaError, match="line 1, column"):
        PROTOBUF.check_fields(schema)
