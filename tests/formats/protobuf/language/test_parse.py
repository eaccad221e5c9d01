"""What is read and what is refused, with its place; hostile texts cost what their length allows."""

import contextlib
import random
import re

import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from proto_texts import proto_files
from protoc import protoc

from kcodec import SchemaError
from kcodec.formats.protobuf.exported.descriptor_bytes import write_descriptor_set
from kcodec.formats.protobuf.exported.serialized import serialized
from kcodec.formats.protobuf.language.literals import unquote, unquote_bytes
from kcodec.formats.protobuf.language.parse import parse
from kcodec.formats.protobuf.language.syntax import Aggregate, Quoted, Word
from kcodec.formats.protobuf.language.text import print_file
from kcodec.formats.protobuf.language.tokens import MAX_DEPTH
from kcodec.formats.protobuf.schema import ProtobufSchema
from kcodec.formats.protobuf.schema_format import ProtobufFormat


def option(text):
    return parse(f"option {text};").options[0]


def test_numbers_are_read_as_the_registry_reads_them():
    text = 'message M { optional int32 a = 0x1F; optional int32 b = 010; reserved 5, 6 to 7, 8 to max, "x"; }'
    message = parse(text).messages[0]
    assert [field.number for field in message.fields] == [31, 10]
    assert message.reserved[0].items == [(5,), (6, 7), (8, 536870911), "x"]


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("a = b", ("a",), "b"),
        ("(a.b).c.d = -1.5e+3", ("(a.b)", "c", "d"), "-1.5e+3"),
        ("features.(x.y).z = inf", ("features", "(x.y)", "z"), "inf"),
        ("(a) . b = 'it''s'", ("(a)", "b"), Quoted(("it", "s"))),
        ('(a) = { b: 1, c { d: [x, y] } [e.f]: <g: 2>; h: "z" }', ("(a)",), None),
    ],
)
def test_options(text, name, value):
    found = option(text)
    assert found.name == name
    if value is not None:
        assert found.value == value
        return
    entries = dict(found.value.entries)
    assert list(entries) == ["b", "c", "[e.f]", "h"]
    assert entries["c"] == Aggregate([("d", [Word("x"), Word("y")])])
    assert entries["[e.f]"] == Aggregate([("g", Word("2"))])


@pytest.mark.parametrize(
    ("text", "characters", "data"),
    [
        (r'"a\n\t\\\"\'\x41\101\0"', "a\n\t\\\"'AA\0", b"a\n\t\\\"'AA\0"),
        (r'"\303\251\xff"', "\xc3\xa9\xff", b"\xc3\xa9\xff"),
        (r'"\u00e9\U0001F600é"', "u00e9U0001F600é", "é\U0001f600é".encode()),
        (r'"\ud83d\uDE00\ud83d!"', "ud83duDE00ud83d!", "\U0001f600\ufffd!".encode()),
        (r'"\udc80\ud83d" "\ude00\U0000d800"', "udc80ud83dude00U0000d800", ("\ufffd" * 4).encode()),
        ("'a\"b' \"c'd\"", "a\"bc'd", b"a\"bc'd"),
    ],
)
def test_escapes(text, characters, data):
    found = option(f"a = {text}").value
    assert unquote(found) == characters
    assert unquote_bytes(found) == data


@cases(
    ("text", "message"),
    [
        ("message M {", "line 1, column 12: expected optional, required or repeated, got the end"),
        ("message M {\n  optional int32 a = 1\n}", "line 3, column 1: expected ';', got '}'"),
        (
            "message M { int32 a = 1; }",
            "line 1, column 13: expected optional, required or repeated, got 'int32'",
        ),
        ('syntax = "proto3"; message M { required int32 a = 1; }', "column 32: required in proto3"),
        ('syntax = "proto4";', "line 1, column 1: syntax 'proto4' is not one of proto2, proto3"),
        ('edition = "2022";', "edition '2022' is not one of 2023, 2024"),
        ('package a; syntax = "proto3";', "line 1, column 12: syntax does not stand first"),
        ("/* x", "line 1, column 1: a comment without its end"),
        ('option a = "b;', "line 1, column 12: a text without its closing quotation mark"),
        ("message M { optional int32 $a = 1; }", r"column 28: unexpected character '\$'"),
        (
            "message M { optional int32 a = 99999999999999999999999; }",
            "column 32: expected a number of 32 bits",
        ),
        ("message M { optional int32 a = 1e3; }", "column 32: expected a number of 32 bits"),
        (
            "message M { map<double, int32> a = 1; }",
            "column 17: expected the type of a map's keys, got 'double'",
        ),
        ("message M { repeated map<int32, int32> a = 1; }", "column 13: repeated before a map"),
        ("message M { oneof o { repeated int32 a = 1; } }", "column 23: repeated in a oneof"),
        ("message M { oneof o { int32 a = 1;; } }", "column 35: expected a type, got ';'"),
        ("message M { } message M { }", "column 15: M is declared twice"),
        ("service S { } service S { }", "column 15: S is declared twice"),
        ("message M { optional string a..b = 1; }", "column 29: expected a name, got 'a..b'"),
        ("enum E { A = 0; } nonsense", "column 19: expected a message, an enum"),
        ("option (a = 1;", "column 11: expected '\\)', got '='"),
        ("option a = - ;", "column 12: expected a value, got '-'"),
        ("package a. ;", "column 9: expected a type, got 'a.'"),
        ("option a = { b 1 };", "column 16: expected ':', got '1'"),
    ],
)
def test_refusals(text, message):
    with pytest.raises(SchemaError, match=message):
        parse(text)


@cases(
    ("text", "message"),
    [
        (
            "message M { optional int32 a = 1; optional int32 b = 1; }",
            "line 1, column 35: b has the number of a, 1",
        ),
        (
            "message M { optional int32 a = 1; optional int32 a = 2; }",
            "column 35: the field a is declared twice",
        ),
        (
            "message M { optional int32 a = 536870912; }",
            "the number 536870912 of a is not from 1 to 536870911",
        ),
        ("message M { optional N a = 1; }", "column 13: a has the unknown type N"),
        (
            "message M { optional int32 a = 1 [default = 3000000000]; }",
            "the default of a is not of type int32",
        ),
        (
            "message M { optional E a = 1 [default = C]; } enum E { B = 1; }",
            "the default of a is not of type enum",
        ),
        ("extend Nope { optional int32 a = 1; }", "column 1: Nope is not a message that can be extended"),
        (
            "message M { extend M { optional int32 a = 5; optional int32 b = 5; } }",
            "b extends M with the number of M.a",
        ),
        (
            'syntax = "proto3"; message M { extend M { map<int32, M> a = 5; } }',
            "column 43: the map a is an extension",
        ),
        ('edition = "2023"; option features.enum_type = HALF_OPEN;', "HALF_OPEN is not one of OPEN, CLOSED"),
        ("message A { message B { } enum B { C = 0; } }", "column 27: B is declared twice"),
    ],
)
def test_what_cannot_be_resolved(text, message):
    with pytest.raises(SchemaError, match=message):
        ProtobufSchema.parse(text)


def test_errors_of_imports_name_their_file():
    with pytest.raises(SchemaError, match=r"x/y\.proto, line 2, column 1: expected a message"):
        ProtobufSchema.parse({"main.proto": 'import "x/y.proto";', "x/y.proto": "\n}"})
    with pytest.raises(SchemaError, match=r"x/y\.proto, line 1, column 13: a has the unknown type Z"):
        ProtobufSchema.parse('import "x/y.proto";', {"x/y.proto": "message M { optional Z a = 1; }"})


def test_imports_may_form_circles():
    texts = {
        "a": 'import public "b"; message A { optional B b = 1; }',
        "b": 'import "a"; import public "c"; message B { optional A a = 1; optional C c = 2; }',
        "c": 'import public "b"; import "c"; message C { optional B b = 1; }',
    }
    schema = ProtobufSchema.parse(texts)
    assert schema.message().by_name["b"].message.by_name["c"].message.name == "C"


def test_names_of_imports_come_after_those_that_are_nearer():
    texts = {
        "main": 'package p.q; import "x"; message M { optional N a = 1; optional p.N b = 2; optional .N c = 3; }'
        " message N { }",
        "x": 'import public "y"; message N { }',
        "y": "package p; message N { }",
        "z": "package p.q.M; message N { }",
    }
    fields = ProtobufSchema.parse(texts).message("M").by_name
    assert [fields[name].message.name for name in "abc"] == ["p.q.N", "p.N", "N"]


HOSTILE = {
    "messages": "message M {" * 100_000,
    "groups": "message M {" + "optional group G = 1 {" * 100_000,
    "aggregates": "option a = " + "{ b: " * 100_000,
    "brackets": "option a = " + "[" * 100_000,
    "angles": "option a = { b " + "<b " * 100_000,
    "digits": "message M { optional int32 a = " + "9" * 1_000_000 + "; }",
    "hexadecimal digits": "message M { optional int32 a = 0x" + "f" * 1_000_000 + "; }",
    "quotes": '"' * 999_999,
    "backslashes": 'option a = "' + "\\" * 1_000_001,
    "stars": "/" + "*" * 1_000_000,
    "slashes": "/" * 1_000_000 + "\n}",
    "spaced dots": "package a" + " .a" * 300_000 + "; message M { optional N a = 1; }",
    "signs": "option a = " + "- " * 500_000,
    "dots": "package " + "." * 1_000_000 + ";",
    "a long name": "message " + "a" * 1_000_000 + "{",
    "a dotted type": "message M { optional " + "a." * 300_000 + "b c = 1; }",
    "a dotted package": "package a" + ".a" * 300_000 + "; message M { optional N a = 1; }",
    "parentheses": "option " + "(a)." * 200_000,
    "semicolons": ";" * 1_000_000 + "}",
    "spaces": " \n" * 1_000_000 + "}",
    "spaces at the end": "message M { optional N a = 1; }" + " \n" * 1_000_000,
    "control characters": "\0" * 1_000_000,
}


LARGE = {
    "oneofs": "".join(f"oneof o{i} {{ int32 a{i} = {i + 1}; }}" for i in range(20_000)),
    "optional fields": "".join(f"optional int32 a{i} = {i + 1};" for i in range(20_000)),
    "options of a oneof": "oneof o {"
    + "option deprecated = true;" * 20_000
    + "".join(f"int32 a{i} = {i + 1};" for i in range(20_000))
    + "}",
    "comments": "".join(f"int32 a{i} = {i + 1}; /* a */\n" for i in range(20_000)),
    "comments in a line": "int32 a = 1;" + "/* a */" * 200_000,
    "an aggregate": "option (o) = {" + "a: 1 " * 100_000 + "};",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", LARGE)
def test_large_texts_cost_what_their_length_allows(name):
    schema = ProtobufSchema.parse(f'syntax = "proto3"; message M {{ {LARGE[name]} }}')
    assert print_file(schema.main)
    assert serialized(schema)
    assert write_descriptor_set(schema)


@cases("name", HOSTILE)
def test_hostile_texts_end_in_an_error(name):
    with pytest.raises(SchemaError):
        ProtobufSchema.parse(HOSTILE[name])


def test_depth():
    def nested(levels):
        return "message M {" * levels + "}" * levels

    assert ProtobufSchema.parse(nested(MAX_DEPTH)).message("M." * (MAX_DEPTH - 1) + "M").fields == ()
    with pytest.raises(SchemaError, match=f"nested deeper than {MAX_DEPTH} levels"):
        parse(nested(MAX_DEPTH + 1))


def test_megabytes_of_text():
    text = 'syntax = "proto3";' + "".join(f"message M{i} {{ M{i} a = 1; }}\n" for i in range(20_000))
    assert len(ProtobufSchema.parse(text).messages) == 20_000


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('syntax = "proto3";;; message A { ; ;\n ; int32 a = 1;;; } ;', None),
        ("enum E { ;;; A = 0;;; } ;;", None),
        ("service S { ;;; rpc a (A) returns (A) { ;;; } ;;; } message A {}", None),
        ("message A { oneof o { int32 a = 1; ; ; } }", "line 1, column 36"),
        ("option (o) = { n: 1;; };", "line 1, column 21"),
        ("message A { optional group G = 1 {;;} }", None),
    ],
)
def test_empty_statements_in_a_row(text, place):
    """They mean what one does, and stand where one may."""
    if place:
        with pytest.raises(SchemaError, match=place):
            parse(text)
        return
    tree, plain = parse(text), parse(re.sub(r";[;\s]*;", ";", text))
    assert print_file(tree) == print_file(plain)
    assert (tree.refused is None) == (plain.refused is None)


def test_empty_statements_cost_no_words():
    """A text of 3,000,000 of them is read, which is more words than a text may have."""
    assert parse("message A {}" + ";\n" * 3_000_000).messages[0].name == "A"


def test_words_are_bounded(monkeypatch):
    monkeypatch.setattr("kcodec.formats.protobuf.language.tokens.MAX_WORDS", 4)
    assert parse("message A {}").messages
    with pytest.raises(SchemaError, match=r"line 1, column 13: a schema of more than 4 words"):
        parse("message A {};")


def test_messages_and_enums_are_bounded(monkeypatch):
    monkeypatch.setattr("kcodec.formats.protobuf.language.names.MAX_TYPES", 4)
    text = "message A { map<int32, E> m = 1; enum E { X = 0; } } message B {}"
    assert len(ProtobufSchema.parse(text).messages) == 3
    with pytest.raises(SchemaError, match="line 1, column 67: more than 4 messages and enums"):
        ProtobufSchema.parse(text + " message C {}")


def test_a_chain_of_imports():
    texts = {
        f"f{i}": f'import public "f{i + 1}"; message M{i} {{ optional M{i + 1} a = 1; }}' for i in range(500)
    }
    schema = ProtobufSchema.parse({**texts, "f500": "message M500 { }"})
    assert schema.message().by_name["a"].message.name == "M1"


@given(proto_files(), st.integers(0, 2**32))
def test_printing_and_parsing_again_changes_nothing(text, seed):
    printed = print_file(parse(text))
    assert print_file(parse(printed)) == printed
    # Whatever becomes of a text, it is a schema or an error.
    chance = random.Random(seed)
    damaged = list(printed)
    for _ in range(chance.randrange(1, 8)):
        place = chance.randrange(len(damaged))
        damaged[place : place + chance.randrange(3)] = chance.choice(
            ["", "{", "}", '"', "/*", "0", ";", "a", "\\", "é"]
        )
    with contextlib.suppress(SchemaError):
        ProtobufSchema.parse("".join(damaged))


def test_descriptors_have_all_that_a_text_says():
    """Options of one's own of every type, and services: normalized, both are the same text."""
    text = """syntax = "proto3";
package a;
import "google/protobuf/descriptor.proto";
enum E { A = 0; B = 1; }
message Opt {
  repeated int32 a = 1; string s = 2; bytes b = 3; float f = 4; double d = 5; bool t = 6; E e = 7; Opt o = 8;
  map<string, int32> m = 9; sint64 i = 10; uint64 u = 11;
}
extend google.protobuf.MessageOptions {
  Opt opt = 50000; int32 num = 50001; string str = 50002; bytes byt = 50003; float flt = 50004; double dbl = 50005;
  repeated string strs = 50006; E en = 50007; bool boo = 50008; repeated Opt opts = 50009;
}
extend google.protobuf.MethodOptions { string how = 50000; }
extend google.protobuf.ServiceOptions { string why = 50000; }
message M {
  option (opt) = {
    a: [1, 2] s: "q\\"\\n" b: "\\001\\377" f: 1.5 d: inf t: true e: B o { a: 3 } m { key: "k" value: 1 } i: -5
    u: 18446744073709551615
  };
  option (num) = -7; option (str) = "x\\"y"; option (byt) = "\\000\\377z"; option (flt) = 0.1;
  option (dbl) = -inf; option (strs) = "1"; option (strs) = "2"; option (en) = B; option (boo) = true;
  option (opts) = { a: 1 }; option (opts) = { a: 2 };
  int32 x = 1;
}
service S {
  option (why) = "w";
  rpc One(M) returns (stream M) { option (how) = "h"; option deprecated = true; }
  rpc Two(stream M) returns (M);
  rpc Three(M) returns (M) {}
}
"""
    found = protoc(text)
    assert found is not None
    schema = ProtobufSchema.parse(found.SerializeToString())
    format = ProtobufFormat()
    assert format.normalized(schema) == format.normalized(format.parse(text))
    assert 'option (a.how) = "h";' in format.canonical(schema)
