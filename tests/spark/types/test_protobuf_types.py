"""Types and values that from_protobuf gives for Spark's options, without Spark: the table of Spark's documentation."""

import pickle

import pyarrow as pa
import pytest

from kcodec import ConfigError, ProtobufCodec, SchemaError
from kcodec_spark.protobuf import _codec_options, from_protobuf
from kcodec_spark.types.arrow import from_arrow_type

SCALARS = """
syntax = "proto3";
package p;
import "google/protobuf/any.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
enum Color { RED = 0; BLUE = 1; }
message Inner { int32 a = 1; }
message M {
  bool b = 1; int32 i = 2; sint32 si = 3; uint32 u = 4; fixed32 f = 5; sfixed32 sf = 6;
  int64 l = 7; sint64 sl = 8; uint64 ul = 9; fixed64 fl = 10; sfixed64 sfl = 11;
  float fo = 12; double d = 13; string s = 14; bytes y = 15; Color e = 16; Inner m = 17;
  repeated int32 r = 18; repeated Inner rm = 19; map<string, Inner> mm = 20; optional int32 o = 21;
  oneof choice { int32 x = 22; string z = 23; }
  google.protobuf.Timestamp ts = 24; google.protobuf.Duration du = 25; google.protobuf.Any any = 26;
  google.protobuf.Int32Value wi = 27; google.protobuf.UInt64Value wu = 28; google.protobuf.StringValue ws = 29;
  repeated google.protobuf.Timestamp rts = 30; map<int32, uint32> mu = 31; repeated Color re = 32;
}
"""
#: What Spark's own function returns without options.
PLAIN = {
    "b": "boolean", "i": "int", "si": "int", "u": "int", "f": "int", "sf": "int", "l": "bigint", "sl": "bigint",
    "ul": "bigint", "fl": "bigint", "sfl": "bigint", "fo": "float", "d": "double", "s": "string", "y": "binary",
    "e": "string", "m": "struct<a:int>", "r": "array<int>", "rm": "array<struct<a:int>>",
    "mm": "map<string,struct<a:int>>", "o": "int", "x": "int", "z": "string", "ts": "timestamp",
    "du": "interval day to second", "any": "struct<type_url:string,value:binary>", "wi": "struct<value:int>",
    "wu": "struct<value:bigint>", "ws": "struct<value:string>", "rts": "array<timestamp>", "mu": "map<int,int>",
    "re": "array<string>",
}  # fmt: skip
CHANGED = {
    "enums.as.ints": {"e": "int", "re": "array<int>"},
    "upcast.unsigned.ints": {
        "u": "bigint", "ul": "decimal(20,0)", "wu": "struct<value:decimal(20,0)>", "mu": "map<int,bigint>",
    },
    "unwrap.primitive.wrapper.types": {"wi": "int", "wu": "bigint", "ws": "string"},
    "convert.any.fields.to.json": {"any": "string"},
    "emit.default.values": {},
    "retain.empty.message.types": {},
}  # fmt: skip


def shaped(text, message=None, **options):
    options = {name.replace("_", "."): str(value).lower() for name, value in options.items()}
    codec = ProtobufCodec(text, message, **_codec_options(options))
    return codec.decode, from_arrow_type(codec.arrow_type)


@pytest.mark.parametrize("option", [None, *CHANGED])
def test_types_are_those_of_spark(option):
    _, kind = shaped(SCALARS, "M", **({option.replace(".", "_"): True} if option else {}))
    assert {field.name: field.dataType.simpleString() for field in kind} == {
        **PLAIN,
        **CHANGED.get(option, {}),
    }
    assert all(field.nullable for field in kind)
    assert not kind["r"].dataType.containsNull
    assert not kind["mm"].dataType.valueContainsNull
    assert kind["rm"].dataType.elementType["a"].nullable


def test_recursion_is_cut_where_spark_cuts_it():
    text = (
        'syntax = "proto3"; message Person { string name = 1; Person friend = 2; repeated Person all = 3;'
        " map<int32, Person> by = 4; Only only = 5; } message Only { Person person = 1; }"
    )
    with pytest.raises(SchemaError, match="recursive_depth"):
        shaped(text)
    with pytest.raises(SchemaError):
        shaped(text, recursive_fields_max_depth=0)
    one = shaped(text, recursive_fields_max_depth=1)[1]
    assert one.simpleString() == "struct<name:string>"
    two = shaped(text, recursive_fields_max_depth=2)[1]
    below = "struct<name:string>"
    assert two.simpleString() == (
        f"struct<name:string,friend:{below},all:array<{below}>,by:map<int,{below}>,only:struct<person:{below}>>"
    )
    with pytest.raises(ConfigError, match="more than 10"):
        shaped(text, recursive_fields_max_depth=11)


def test_messages_without_fields():
    text = 'syntax = "proto3"; message M { E e = 1; repeated E r = 2; int32 a = 3; } message E { }'
    assert shaped(text, "M")[1].simpleString() == "struct<a:int>"
    reader, kind = shaped(text, "M", retain_empty_message_types=True)
    dummy = "struct<__dummy_field_in_empty_struct:string>"
    assert kind.simpleString() == f"struct<e:{dummy},r:array<{dummy}>,a:int>"
    empty = {"__dummy_field_in_empty_struct": None}
    assert reader(pa.array([b"\x0a\0\x12\0\x12\0", b""])).to_pylist() == [
        {"e": empty, "r": [empty, empty], "a": None},
        {"e": None, "r": [], "a": None},
    ]
    assert shaped(text, "E")[1].simpleString() == "struct<>"
    assert shaped(text, "E", retain_empty_message_types=True)[1].simpleString() == dummy


def test_fields_that_are_not_set():
    reader, _ = shaped(SCALARS, "M")
    nothing = reader(pa.array([b""])).to_pylist()[0]
    empty = {"r", "rm", "rts", "re", "mm", "mu"}
    assert nothing == {name: [] if name in empty else None for name in PLAIN}
    reader, _ = shaped(SCALARS, "M", emit_default_values=True)
    emitted = reader(pa.array([b"", None])).to_pylist()
    assert emitted[1] is None
    set_to = {
        **dict.fromkeys(["i", "si", "u", "f", "sf", "l", "sl", "ul", "fl", "sfl"], 0), "b": False, "fo": 0.0, "d": 0.0,
        "s": "", "y": b"", "e": "RED",
    }  # fmt: skip
    assert emitted[0] == {**nothing, **set_to}


def test_defaults_of_proto2():
    text = """
    syntax = "proto2";
    enum E { A = 1; B = 2; }
    message In { required int32 a = 1; optional string s = 2 [default = "in"]; }
    message M {
      optional int32 i = 1 [default = -5]; optional uint32 u = 2 [default = 4294967295]; optional float f = 3;
      optional double d = 4 [default = inf]; optional E e = 5 [default = B]; optional bytes y = 6 [default = "\\377"];
      optional bool b = 7 [default = true]; repeated In r = 8; map<int32, In> m = 9; optional In in = 10;
      optional uint64 ul = 11 [default = 18446744073709551615]; optional E plain = 12;
      oneof o { int32 x = 13 [default = 1]; int32 z = 14; } required string needed = 15;
    }
    """
    reader, kind = shaped(text, "M")
    assert [field.name for field in kind if not field.nullable] == ["needed"]
    assert [field.name for field in kind["in"].dataType if not field.nullable] == ["a"]
    rows = [bytes.fromhex("7a00"), bytes.fromhex("0800420208014a0608011202080170017a00"), None]
    first, second, third = reader(pa.array(rows)).to_pylist()
    assert first == {
        "i": -5, "u": -1, "f": None, "d": float("inf"), "e": "B", "y": b"\xff", "b": True, "r": [], "m": [],
        "in": None, "ul": -1, "plain": None, "x": 1, "z": None, "needed": "",
    }  # fmt: skip
    inner = {"a": 1, "s": "in"}
    assert (second["i"], second["r"], second["m"]) == (0, [inner], [(1, inner)])
    assert third is None
    options = {"upcast_unsigned_ints": True, "enums_as_ints": True}
    wide = shaped(text, "M", **options)[0](pa.array(rows)).to_pylist()[0]
    assert (wide["u"], wide["ul"], wide["e"]) == (2**32 - 1, 2**64 - 1, 2)


def test_wrappers():
    text = """
    syntax = "proto3";
    import "google/protobuf/wrappers.proto";
    message M {
      google.protobuf.Int32Value i = 1; google.protobuf.StringValue s = 2; google.protobuf.DoubleValue d = 3;
      repeated google.protobuf.BoolValue r = 4; google.protobuf.UInt64Value u = 5; google.protobuf.BoolValue b = 6;
      google.protobuf.BytesValue y = 7;
    }
    """
    empty = bytes.fromhex("0a0012001a0022002a0032003a00")
    values = bytes.fromhex("0a02080512030a01611a09090000000000000080220208012a020801320208013a030a0100")
    rows = pa.array([b"", empty, values])
    nulls = {**dict.fromkeys("isduby"), "r": []}
    full = {"i": 5, "s": "a", "d": -0.0, "r": [True], "u": 1, "b": True, "y": b"\0"}
    # As in Spark, a wrapper of the default is null unless defaults are asked for.
    unwrapped = shaped(text, unwrap_primitive_wrapper_types=True)[0](rows).to_pylist()
    assert unwrapped == [nulls, {**nulls, "r": [False]}, full]
    defaults = {"i": 0, "s": "", "d": 0.0, "r": [False], "u": 0, "b": False, "y": b""}
    options = {"unwrap_primitive_wrapper_types": True, "emit_default_values": True}
    assert shaped(text, **options)[0](rows).to_pylist() == [nulls, defaults, full]
    structs = shaped(text)[0](rows).to_pylist()
    assert structs[1]["i"] == {"value": None}


def test_times_are_cut_to_microseconds():
    reader, _ = shaped(SCALARS, "M")
    # One second and 1999 nanoseconds.
    for data, name in (("c20105080110cf0f", "ts"), ("ca0105080110cf0f", "du")):
        value = reader(pa.array([bytes.fromhex(data)])).field(name)
        assert value.cast(pa.int64()).to_pylist() == [1_000_001]


def test_readers_pickle():
    reader, _ = shaped(SCALARS, "M", emit_default_values=True)
    again = pickle.loads(pickle.dumps(reader))
    rows = pa.array([b"\x08\x01", b"\x08", None])
    array, report = again(rows, errors="report")
    assert array.equals(reader(rows, errors="null"))
    assert report["code"].to_pylist() == ["truncated"]


def test_bad_arguments(tmp_path):
    missing = str(tmp_path / "missing.desc")
    for call, error, reason in (
        (lambda: from_protobuf("v"), ConfigError, "a schema is needed"),
        (lambda: from_protobuf("v", "p.M"), ConfigError, "a schema is needed"),
        (lambda: from_protobuf("v", "p.M", missing), ConfigError, "No such file"),
        (lambda: from_protobuf("v", "p.M", "a", None, b""), ConfigError, "one of descFilePath"),
        (lambda: from_protobuf("v", "p.M", None, None, "text"), TypeError, "binaryDescriptorSet is bytes"),
        (lambda: from_protobuf("v", "p.N", schema=SCALARS), SchemaError, "no message 'p.N'"),
        (lambda: from_protobuf("v", 5, schema=SCALARS), TypeError, "messageName is a str"),
        (lambda: from_protobuf("v", 5), TypeError, "messageName is a codec or a serde, not int"),
        (lambda: from_protobuf("v", schema="message {"), SchemaError, "line"),
        (
            lambda: from_protobuf("v", schema=SCALARS, options={"emit.defaults": True}),
            ConfigError,
            "did you mean",
        ),
        (
            lambda: from_protobuf("v", schema=SCALARS, options={"enums.as.ints": 1}),
            ConfigError,
            "neither true",
        ),
        (lambda: from_protobuf("v", schema=SCALARS, subject="s"), ConfigError, "together"),
        (
            lambda: from_protobuf("v", options={"schema.registry.subject": "s"}, subject="s"),
            ConfigError,
            "given twice",
        ),
        (
            lambda: from_protobuf("v", options={"schema.registry.schema.evolution.mode": "restart"}),
            ConfigError,
            "only none",
        ),
        (
            lambda: from_protobuf("v", ProtobufCodec(SCALARS, "M"), options={"enums.as.ints": "true"}),
            ConfigError,
            "enums.as.ints: to be given to the ProtobufCodec itself",
        ),
        (lambda: from_protobuf("v", "M", schema=SCALARS, fields=["nothing"]), ConfigError, "nothing"),
    ):
        with pytest.raises(error, match=reason):
            call()
