"""The JSON form of single messages: printed as JsonFormat prints it, read in all spellings, refused with a place."""

import base64
import json
import math
import struct

import pytest
from cases import cases
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from hypothesis import given
from hypothesis import strategies as st
from protobuf_vectors import ROWS, SCHEMAS, VECTORS, type_of

from kcodec import ConfigError, DecodeError
from kcodec.formats.protobuf.codec import ProtobufCodec
from kcodec.formats.protobuf.json.reader import _TextReader, from_json
from kcodec.formats.protobuf.json.writer import JsonWriting, to_json
from kcodec.formats.protobuf.messages.message import Message, read_message, write_message
from kcodec.formats.protobuf.messages.wire import BYTES, write_tag, write_varint
from kcodec.formats.protobuf.schema import ProtobufSchema
from kcodec.plan.failure import RowError

FORMS = {
    "default": JsonWriting(indent=True),
    "compact": JsonWriting(),
    "defaults": JsonWriting(defaults="all"),
    "no_presence": JsonWriting(defaults="no_presence"),
    "names": JsonWriting(proto_names=True),
    "names_defaults": JsonWriting(proto_names=True, defaults="all"),
}
WITH_JSON = [row for row in ROWS if "json" in row]
#: What JSON does not keep: text that is not UTF-8, bits of NaN, an unset Value, the case of names in a field mask.
LOST = ("utf8", "edge-6", "edge-2", "value-unset", "bad-path")


def types_of(row):
    return SCHEMAS[row["schema"]].messages


@cases("row", WITH_JSON, ids=lambda row: row["id"])
def test_vectors(row):
    # Where DynamicMessage and generated classes differ, messages are as the latter, but for what starts afresh.
    expected = row["json"] if "encoded_generated" in row else {**row["json"], **row.get("json_generated", {})}
    message = read_message(type_of(row), bytes.fromhex(row["row"]))
    for name, how in FORMS.items():
        if isinstance(expected[name], dict):
            with pytest.raises(RowError) as caught:
                to_json(message, types_of(row), how)
            assert caught.value.code in ("out_of_range", "unresolvable")
        else:
            assert to_json(message, types_of(row), how) == expected[name]


@cases(
    "row",
    [
        row
        for row in WITH_JSON
        if isinstance(row["json"]["default"], str) and not any(part in row["id"] for part in LOST)
    ],
    ids=lambda row: row["id"],
)
def test_vectors_return(row):
    message = read_message(type_of(row), bytes.fromhex(row["row"]))
    texts = [to_json(message, types_of(row), FORMS[form]) for form in ("default", "compact", "names")]
    _drop_unknown(message)
    for text in texts:
        assert write_message(from_json(text.encode(), type_of(row), types_of(row))) == write_message(message)


def _drop_unknown(message):
    message.unknown.clear()
    for value in message.values.values():
        for each in (
            value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
        ):
            if isinstance(each, Message):
                _drop_unknown(each)


TEXT = """
syntax = "proto3";
package p;
import "google/protobuf/any.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/field_mask.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
enum Color { RED = 0; BLUE = 1; AZURE = 1; reserved 2; }
message M {
  int32 int_32 = 1; uint64 u64 = 2; float f = 3; double d = 4; bool b = 5; string s = 6; bytes y = 7; Color e = 8;
  M m = 9; repeated int32 r = 10; repeated M rm = 11; map<int32, string> mi = 12; map<string, Color> me = 13;
  map<bool, M> mb = 14; oneof o { int32 x = 15; string z = 16; google.protobuf.NullValue n = 17; }
  google.protobuf.Any any = 20; google.protobuf.Duration du = 21; google.protobuf.FieldMask fm = 22;
  google.protobuf.Struct st = 23; google.protobuf.Value v = 24; google.protobuf.ListValue l = 25;
  google.protobuf.Timestamp ts = 26; google.protobuf.Int64Value w = 27; repeated google.protobuf.Value rv = 28;
  repeated Color re = 29; repeated google.protobuf.NullValue rn = 30; optional int32 opt = 31;
}
"""
SCHEMA = ProtobufSchema.parse(TEXT)
TYPES = SCHEMA.messages
M = SCHEMA.message("M")


def read(text, **options):
    """Read a text, and print what it became."""
    data = text if isinstance(text, bytes) else text.encode()
    return to_json(from_json(data, M, TYPES, **options), TYPES)


@cases(
    ("text", "printed"),
    [
        ('{"int_32": 1}', '{"int32":1}'),
        ('{"int32": "1e2", "r": [1.0, "-2.00e1", 0.5e1]}', '{"int32":100,"r":[1,-20,5]}'),
        ('{"u64": 18446744073709551615}', '{"u64":"18446744073709551615"}'),
        ('{"f": "1.5", "d": "Infinity"}', '{"f":1.5,"d":"Infinity"}'),
        ('{"f": "NaN", "d": "-Infinity"}', '{"f":"NaN","d":"-Infinity"}'),
        ('{"f": 1e-50, "d": -0.0}', '{"d":-0.0}'),
        ('{"b": true, "s": "\\u00e9\\ud83d\\ude00<"}', '{"b":true,"s":"é😀\\u003c"}'),
        ('{"y": "-_"}', '{"y":"+w=="}'),
        ('{"y": "+w"}', '{"y":"+w=="}'),
        ('{"y": "+w=="}', '{"y":"+w=="}'),
        ('{"e": "BLUE"}', '{"e":"BLUE"}'),
        ('{"e": "AZURE"}', '{"e":"BLUE"}'),
        ('{"e": "1"}', '{"e":"BLUE"}'),
        ('{"e": 9, "re": [0, -1]}', '{"e":9,"re":["RED",-1]}'),
        ('{"m": {"m": {}}, "rm": [{}, {"b": true}]}', '{"m":{"m":{}},"rm":[{},{"b":true}]}'),
        ('{"mi": {"1": "a", "-1": "b"}, "me": {"k": 1}}', '{"mi":{"1":"a","-1":"b"},"me":{"k":"BLUE"}}'),
        ('{"mb": {"true": {}, "false": {"b": true}}}', '{"mb":{"true":{},"false":{"b":true}}}'),
        ('{"int32": null, "r": null, "mi": null, "m": null, "x": null, "w": null, "ts": null}', "{}"),
        ('{"n": null}', '{"n":null}'),
        ('{"n": "NULL_VALUE"}', '{"n":null}'),
        ('{"rn": [null, null]}', '{"rn":[null,null]}'),
        ('{"x": null, "z": "a"}', '{"z":"a"}'),
        ('{"w": "5"}', '{"w":"5"}'),
        ('{"w": 0, "opt": 0}', '{"w":"0","opt":0}'),
        (
            '{"v": null, "rv": [null, 1, "a", [true], {"k": {}}]}',
            '{"v":null,"rv":[null,1.0,"a",[true],{"k":{}}]}',
        ),
        ('{"st": {"a": [null]}, "l": [[]]}', '{"st":{"a":[null]},"l":[[]]}'),
        ('{"fm": "a.bC,d"}', '{"fm":"a.bC,d"}'),
        (
            '{"du": "-0.5s", "ts": "2000-02-29T23:59:59.1+23:59"}',
            '{"du":"-0.500s","ts":"2000-02-29T00:00:59.100Z"}',
        ),
        ('{"du": "315576000000.999999999s"}', '{"du":"315576000000.999999999s"}'),
        ('{"any": {}}', '{"any":{}}'),
        (
            '{"any": {"b": true, "@type": "a/p.M", "any": {"value": "1s", "@type": "a/google.protobuf.Duration"}}}',
            '{"any":{"@type":"a/p.M","b":true,"any":{"@type":"a/google.protobuf.Duration","value":"1s"}}}',
        ),
        ('{"any":{"@type":"a/google.protobuf.Value","value":null}}',) * 2,
        (' \n{"s" :\t"a" }\r\n', '{"s":"a"}'),
    ],
)
def test_spellings(text, printed):
    assert read(text) == printed
    assert read(printed) == printed


@cases(
    ("text", "code", "offset", "path"),
    [
        ("", "truncated", 0, ""),
        ("null", "json_type", 0, ""),
        ("[]", "json_type", 0, ""),
        ("{} {}", "trailing_bytes", 3, ""),
        ('{"s": "a"', "truncated", 9, ""),
        ('{"s": "a",}', "json_syntax", 10, ""),
        ('{"r": [1,]}', "json_syntax", 9, "r[1]"),
        ("{'s': \"a\"}", "json_syntax", 1, ""),
        ('{"unknown": 1}', "unknown_field", 1, "unknown"),
        ('{"m": {"@type": 1}}', "unknown_field", 7, "m.@type"),
        ('{"s": 1}', "json_type", 6, "s"),
        ('{"s": "\\ud800"}', "lone_surrogate", 7, "s"),
        (b'{"s": "\xff"}', "invalid_utf8", 6, "s"),
        (b'{"\xff": 1}', "invalid_utf8", 1, ""),
        ('{"b": "true"}', "json_type", 6, "b"),
        ('{"b": TRUE}', "json_syntax", 6, "b"),
        ('{"int32": 01}', "json_syntax", 11, ""),
        ('{"int32": +1}', "json_syntax", 10, "int_32"),
        ('{"int32": " 1"}', "invalid_number", 10, "int_32"),
        ('{"int32": ""}', "invalid_number", 10, "int_32"),
        ('{"int32": "0x1"}', "invalid_number", 10, "int_32"),
        ('{"int32": 0.5}', "inexact", 10, "int_32"),
        ('{"int32": 1e-999999999}', "inexact", 10, "int_32"),
        ('{"int32": 2147483648}', "out_of_range", 10, "int_32"),
        ('{"int32": 1e999999999}', "out_of_range", 10, "int_32"),
        ('{"int32": 1e9999999999999999999999}', "out_of_range", 10, "int_32"),
        ('{"int32": ' + "1" * 1001 + "}", "number_length", 10, "int_32"),
        ('{"int32": true}', "json_type", 10, "int_32"),
        ('{"u64": -1}', "out_of_range", 8, "u64"),
        ('{"f": 3.5e38}', "out_of_range", 6, "f"),
        ('{"d": 1.8e308}', "out_of_range", 6, "d"),
        ('{"d": Infinity}', "json_syntax", 6, "d"),
        ('{"d": -Infinity}', "json_syntax", 7, "d"),
        ('{"d": "inf"}', "invalid_number", 6, "d"),
        ('{"y": "a"}', "invalid_base64", 6, "y"),
        ('{"y": "+_aa"}', "invalid_base64", 6, "y"),
        ('{"y": "aa==="}', "invalid_base64", 6, "y"),
        ('{"e": "GREEN"}', "unknown_symbol", 6, "e"),
        ('{"e": 1.5}', "inexact", 6, "e"),
        ('{"e": true}', "json_type", 6, "e"),
        ('{"m": 1}', "json_type", 6, "m"),
        ('{"r": 1}', "json_type", 6, "r"),
        ('{"r": [null]}', "null_value", 7, "r[0]"),
        ('{"rm": [{}, null]}', "null_value", 12, "rm[1]"),
        ('{"rm": [{}, {"s": 1}]}', "json_type", 18, "rm[1].s"),
        ('{"mi": {"a": "x"}}', "invalid_number", 8, "mi['a']"),
        ('{"mi": {"1": null}}', "null_value", 13, "mi['1']"),
        ('{"mi": {"1": "a", "1.0": "b"}}', "duplicate_key", 18, "mi['1.0']"),
        ('{"mb": {"1": {}}}', "json_type", 8, "mb['1']"),
        ('{"int32": 0, "int_32": 0}', "duplicate_key", 13, "int_32"),
        ('{"x": 1, "z": "a"}', "union_members", 9, "z"),
        ('{"w": {}}', "json_type", 6, "w"),
        ('{"v": NaN}', "json_syntax", 6, "v"),
        ('{"v": 1e999}', "out_of_range", 6, "v"),
        ('{"fm": "a_b"}', "type_mismatch", 7, "fm"),
        ('{"ts": "1970-01-01t00:00:00Z"}', "invalid_time", 7, "ts"),
        ('{"ts": "1970-01-01T00:00:00"}', "invalid_time", 7, "ts"),
        ('{"ts": "1970-02-30T00:00:00Z"}', "invalid_time", 7, "ts"),
        ('{"ts": "1970-01-01T24:00:00Z"}', "invalid_time", 7, "ts"),
        ('{"ts": "1970-01-01T00:00:00.0000000000Z"}', "invalid_time", 7, "ts"),
        ('{"ts": "0001-01-01T00:00:00+00:01"}', "out_of_range", 7, "ts"),
        ('{"du": "1"}', "invalid_time", 7, "du"),
        ('{"du": "--1s"}', "invalid_time", 7, "du"),
        ('{"du": "315576000001s"}', "out_of_range", 7, "du"),
        ('{"any": {"b": true}}', "missing_key", 8, "any.@type"),
        ('{"any": {"@type": "p.M"}}', "unresolvable", 18, "any"),
        ('{"any": {"@type": "a/p.N"}}', "unresolvable", 18, "any"),
        ('{"any": {"@type": "a/p.M", "@type": "a/p.M"}}', "duplicate_key", 27, "any"),
        ('{"any": {"@type": "a/google.protobuf.Duration", "x": 1}}', "unknown_field", 48, "any.x"),
        ('{"m": ' * 101 + "{}" + "}" * 101, "depth_limit", 606, ".".join(["m"] * 101)),
        ('{"v": ' + "[" * 60, "depth_limit", 56, "v"),
    ],
)
def test_refusals(text, code, offset, path):
    with pytest.raises(RowError) as caught:
        read(text)
    error = caught.value
    if code == "depth_limit" and path == "v":
        path = error.path
    assert (error.code, error.offset, error.path) == (code, offset, path)


def test_depth():
    deepest = '{"m":' * 100 + "{}" + "}" * 100
    assert read(deepest) == deepest
    # What was read can be read back from its bytes.
    assert to_json(read_message(M, write_message(from_json(deepest.encode(), M, TYPES))), TYPES) == deepest
    # An Any starts no new count: its messages are counted with those around it.
    data = b""
    for _ in range(102):
        out = bytearray()
        for number, part in ((1, b"a/google.protobuf.Any"), (2, data)):
            write_tag(out, number, BYTES)
            write_varint(out, len(part))
            out += part
        data = bytes(out)
    with pytest.raises(RowError, match="deeper"):
        to_json(read_message(SCHEMA.message("google.protobuf.Any"), data), TYPES)


def test_unknown_names_may_be_passed_over():
    texts = [
        '{"x1": {"a": [1, {"b": null}]}, "s": "a"}',
        '{"e": "GREEN", "s": "a"}',
        '{"re": ["GREEN"], "s": "a"}',
        '{"me": {"k": "GREEN"}, "s": "a"}',
        '{"s": "a", "any": {"@type": "a/google.protobuf.Duration", "x": 1, "value": "0s"}}',
    ]
    for text in texts[:4]:
        assert read(text, ignore_unknown=True) == '{"s":"a"}'
        with pytest.raises(RowError):
            read(text)
    assert read(texts[4], ignore_unknown=True).startswith('{"s":"a","any":')
    assert read('{"re": ["GREEN", "BLUE"]}', ignore_unknown=True) == '{"re":["BLUE"]}'
    for number, code in (("2147483648", "out_of_range"), ('"-1e99"', "out_of_range"), ("1.5", "inexact")):
        with pytest.raises(RowError) as caught:
            read(f'{{"e": {number}}}')
        assert caught.value.code == code
        assert read(f'{{"s": "a", "e": {number}}}', ignore_unknown=True) == '{"s":"a"}'
    # Only names: wrong values stay wrong.
    with pytest.raises(RowError):
        read('{"e": true}', ignore_unknown=True)


def test_extensions():
    schema = ProtobufSchema.parse(
        'syntax = "proto2"; package q; message E { optional int32 a = 1; extensions 100 to 199;'
        " extend E { optional E in = 100; } } extend E { repeated string tags = 101; }"
        " message R { required int32 a = 1; map<string, R> m = 2; }"
        " enum C { ONE = 1; } message Closed { optional C c = 1; }"
    )
    kind, types = schema.message("E"), schema.messages
    text = '{"a":1,"[q.E.in]":{"a":2},"[q.tags]":["x"]}'
    message = from_json(text.encode(), kind, types)
    data = write_message(message)
    assert to_json(message, types) == to_json(read_message(kind, data, extensions=True), types) == text
    # Without, they are unknown fields, as for Java without a registry of extensions.
    assert to_json(read_message(kind, data), types) == '{"a":1}'
    for wrong in ('{"[q.nothing]": 1}', '{"q.tags": []}'):
        with pytest.raises(RowError):
            from_json(wrong.encode(), kind, types)
    with pytest.raises(RowError) as caught:
        from_json(b'{"a": 1, "m": {"k": {}}}', schema.message("R"), types)
    assert (caught.value.code, caught.value.path) == ("missing_required", "m[0].value.a")
    with pytest.raises(RowError) as caught:
        from_json(b'{"c": 2}', schema.message("Closed"), types)
    assert caught.value.code == "unknown_symbol"


def test_own_types_with_the_names_of_known_ones_are_messages():
    text = 'syntax = "proto3"; package google.protobuf; message Timestamp { string text = 1; }'
    schema = ProtobufSchema.parse(text)
    message = from_json(b'{"text": "now"}', schema.message("Timestamp"), schema.messages)
    assert to_json(message, schema.messages) == '{"text":"now"}'


def test_messages_in_any():
    any_type = TYPES["google.protobuf.Any"]

    def fault(data):
        with pytest.raises(RowError) as caught:
            to_json(read_message(any_type, data), TYPES)
        return caught.value.code, caught.value.path

    assert fault(b"\x0a\x05a/p.M\x12\x02\x08\xff") == ("truncated", "value.int_32")
    assert fault(b"\x0a\x05a/p.N") == ("unresolvable", "")
    assert fault(b"\x0a\x03p.M") == ("unresolvable", "")
    # One that has only unknown fields is not empty.
    assert fault(b"\x18\x01") == ("unresolvable", "")
    assert to_json(read_message(any_type, b"\x0a\x00"), TYPES) == "{}"


def test_an_any_that_names_its_type_last_is_read_past_once(monkeypatch):
    read_numbers = []
    number = _TextReader.number
    monkeypatch.setattr(_TextReader, "number", lambda *given: read_numbers.append(1) or number(*given))
    inner = '{"r":[' + ",".join("7" * 100) + '],"@type":"a/p.M"}'
    for _ in range(45):
        inner = '{"any":' + inner + ',"@type":"a/p.M"}'
    text = '{"any":' + inner + "}"
    message = from_json(text.encode(), M, TYPES)
    assert to_json(message, TYPES).count("7") == 100
    assert len(read_numbers) == 200


def _upb(name):
    """Return the class of google.protobuf for the message of a schema of the vectors."""
    line = next(each for each in VECTORS if each["kind"] == "schema" and each["name"] == name)
    files = descriptor_pb2.FileDescriptorSet.FromString(base64.b64decode(line["descriptor_set"]))
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"k.{name}.M"))


@pytest.mark.parametrize(
    "name", ["scalars3", "optional3", "repeated3", "nested3", "map_values", "oneof3", "enum3"]
)
def test_google_reads_and_writes_the_same(name):
    kind, upb = SCHEMAS[name].message("M"), _upb(name)
    rows = [row for row in WITH_JSON if row["schema"] == name]
    assert rows
    for row in rows:
        message = read_message(kind, bytes.fromhex(row["row"]))
        _drop_unknown(message)
        data = write_message(message)
        text = to_json(message, {})
        if "3.4028235E38" in text:  # Which Python's reader takes for too large.
            continue
        theirs = json_format.Parse(text, upb())
        back = from_json(json_format.MessageToJson(theirs).encode(), kind, {})
        if "edge" not in row["id"]:  # Bits of NaN are not kept.
            assert write_message(back) == data
            assert write_message(read_message(kind, theirs.SerializeToString())) == data


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1))
def test_floats_return(single, double):
    kind = SCHEMAS["scalars3"].message("M")
    message = Message(kind, {12: single, 13: double})
    text = to_json(message, {})
    back = from_json(text.encode(), kind, {})
    number = struct.unpack("<f", single.to_bytes(4, "little"))[0]
    assert back.values.get(12, 0) == (0x7FC00000 if math.isnan(number) else single)
    number = struct.unpack("<d", double.to_bytes(8, "little"))[0]
    assert back.values.get(13, 0) == (0x7FF8000000000000 if math.isnan(number) else double)
    json.loads(text)


@given(st.text(), st.dictionaries(st.text(max_size=3), st.text(max_size=3)))
def test_text_returns(text, entries):
    kind = SCHEMAS["strings2"].message("M")
    message = Message(kind, {1: text, 5: entries})
    assert json.loads(to_json(message, {})) == {"s": text, **({"ms": entries} if entries else {})}
    assert from_json(to_json(message, {}).encode(), kind, {}).values == {
        1: text,
        **({5: entries} if entries else {}),
    }


@given(st.data())
def test_damaged_texts_are_read_or_refused(data):
    text = data.draw(
        st.sampled_from([row["json"]["default"] for row in WITH_JSON if row["schema"] == "scalars3"])
    )
    at = data.draw(st.integers(0, len(text)))
    damaged = (
        text[:at]
        + data.draw(st.sampled_from(['"', "{", "}", "1", ",", "\\", "e", "null", ""]))
        + text[at + 1 :]
    )
    kind = SCHEMAS["scalars3"].message("M")
    offset = 0
    try:
        message = from_json(damaged.encode(), kind, {})
    except RowError as error:
        offset = error.offset
    else:
        json.loads(damaged)
        assert read_message(kind, write_message(message)).fields()
    assert 0 <= offset <= len(damaged.encode())


def test_codec():
    codec = ProtobufCodec(TEXT, "M", recursive_depth=1)
    data = codec.from_json('{"s": "é", "int32": 1}')
    assert data.hex() == "08013202c3a9"
    assert codec.to_json(data) == '{"int32":1,"s":"é"}'
    assert codec.to_json(data, indent=True, proto_names=True) == '{\n  "int_32": 1,\n  "s": "é"\n}'
    assert '"r":[]' in codec.to_json(memoryview(data), defaults="no_presence")
    assert codec.from_json(b'{"nothing": 1}', ignore_unknown=True) == b""
    with pytest.raises(DecodeError) as caught:
        codec.from_json('{"rm": [{"s": 1}]}')
    assert (caught.value.offset, caught.value.path, caught.value.code) == (14, "rm[0].s", "json_type")
    with pytest.raises(DecodeError) as caught:
        codec.from_json('{"s": "\ud800"}')
    assert caught.value.code == "invalid_utf8"
    with pytest.raises(DecodeError) as caught:
        codec.to_json(b"\x08")
    assert (caught.value.offset, caught.value.path, caught.value.code) == (1, "int_32", "truncated")
    with pytest.raises(ConfigError):
        codec.to_json(b"", defaults="some")


def test_a_name_in_json_may_be_empty():
    codec = ProtobufCodec('syntax = "proto3"; message M { int32 a = 1 [json_name = ""]; int32 b = 2; }')
    assert codec.to_json(b"\x08\x05\x10\x06") == '{"":5,"b":6}'
    assert codec.from_json('{"":5,"b":6}') == codec.from_json('{"a":5,"b":6}') == b"\x08\x05\x10\x06"
