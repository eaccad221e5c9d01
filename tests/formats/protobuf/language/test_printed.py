"""What the registry prints, and normalizes: measured on its code (commit 794611bd) with Wire 6.4.5."""

import pytest
from cases import cases

from kcodec.errors import SchemaError
from kcodec.formats.protobuf.schema_format import ProtobufFormat

PROTOBUF = ProtobufFormat()

#: Declarations that options may name.
OPTIONS = """
    syntax = "proto2"; package p;
    message M { optional int32 a = 1; optional M b = 2; repeated int32 r = 3; extensions 100 to 200; }
    extend google.protobuf.FieldOptions { optional M o = 50001; repeated int32 r = 50002; }
    extend M { optional int32 q = 100; optional M m = 101; }
    message A { optional string f = 1 [OPTION]; }
"""


def printed(option, normalize):
    schema = PROTOBUF.parse(OPTIONS.replace("OPTION", option))
    text = PROTOBUF.normalized(schema) if normalize else PROTOBUF.canonical(schema)
    return text.partition("optional string f = 1 [")[2].partition("];\n}")[0]


@cases(
    ("option", "canonical"),
    [
        ("(u) = [1]", "(u) = [1]"),
        ("(u) = [1,]", "(u) = [1]"),
        ('(u).a = ["x"]', '(u).a = ["x"]'),
        ("(u) = [{a: 1}]", "(u) = [{\n    a: 1\n  }]"),
        ("(u) = [[1]]", "(u) = [[\n    1\n  ]]"),
        ("(u) = [1, 2]", "(u) = [\n    1,\n    2\n  ]"),
        ("(u) = {a: [1]}", "(u) = {\n    a: [\n      1\n    ]\n  }"),
        (
            "json_name = {a: true b: [x, -1] c: {}}",
            'json_name = "{a=OptionPrimitive(kind=BOOLEAN, value=true), '
            'b=[OptionPrimitive(kind=ENUM, value=x), OptionPrimitive(kind=NUMBER, value=-1)], c={}}"',
        ),
        ('default = ["a", "b"]', 'default = "[a, b]"'),
    ],
)
def test_canonical(option, canonical):
    assert printed(option, normalize=False) == canonical


@cases(
    ("option", "normalized"),
    [
        # A list that is the value itself keeps its brackets; one within it does not.
        ("(u) = [1]", "(u) = [1]"),
        ("(r) = [1]", "(p.r) = [1]"),
        ("(u) = [[1]]", "(u) = [1]"),
        ("(u) = [{a: [1]}]", "(u) = [{\n    a: 1\n  }]"),
        ("(o).r = [1]", "(p.o) = {\n    r: 1\n  }"),
        ("deprecated = [true]", "deprecated = [true]"),
        # Parentheses behind the first name are lost; extensions within a value have their names in full.
        ("(o).(q) = 1", "(p.o) = {\n    q: 1\n  }"),
        ("(o).(m).a = 1", "(p.o) = {\n    m: {\n      a: 1\n    }\n  }"),
        ("(o).(q) = 1, (o).q = 2", "(p.o) = {\n    q: [\n      1,\n      2\n    ]\n  }"),
        ("(o) = {[q]: 2}", "(p.o) = {\n    [p.q]: 2\n  }"),
        ("(u).b = {[.p.m]: {[q]: 2}}", "(u).b = {\n    [p.m]: {\n      [p.q]: 2\n    }\n  }"),
        ("foo = {[q]: 2, [nope]: 3}", "foo = {\n    [nope]: 3,\n    [p.q]: 2\n  }"),
        ("(o) = {[q]: 2, [p.q]: 3}", "(p.o) = {\n    [p.q]: 2\n  }"),
        # Numbers as Java reads them, letters behind them too.
        ("(u) = 1f", "(u) = 1"),
        ("(u) = 16777217f", "(u) = 16777216"),
        ("(u) = 0.1d", "(u) = 0.1"),
        ("(u) = 99999999999L", "(u) = 99999999999"),
        ("(u) = 1.5L", "(u) = 1.5L"),
        ("(u) = -0f", "(u) = -0"),
        ("(u) = 1e40f", f"(u) = 1{40 * '0'}"),
        ("(u) = 1e400", f"(u) = 1{400 * '0'}"),
        ("(u) = 1e-50f", "(u) = 0"),
        ("default = 1.50", 'default = "1.50"'),
        ("json_name = 1.0", 'json_name = "1.0"'),
    ],
)
def test_normalized(option, normalized):
    assert printed(option, normalize=True) == normalized


@cases(
    ("kind", "default", "normalized"),
    [
        ("double", "1e3", "1000"),
        ("double", ".5", "0.5"),
        ("int32", "-.5", "-0.5"),
        ("double", ".", "."),
        ("float", '"1.50"', "1.5"),
        ("bytes", '"0x1F"', "31"),
        ("bytes", '"a1"', "a1"),
        ("double", "inf", "inf"),
        ("fixed64", ".foo", ".foo"),
        # Of other types it stays as it is written.
        ("bool", "1e3", "1e3"),
        ("E", "0x1F", "0x1F"),
        ("M", "1.50", "1.50"),
    ],
)
def test_normalized_defaults(kind, default, normalized):
    schema = PROTOBUF.parse(
        f'syntax = "proto2"; message M {{ optional {kind} a = 1 [default = {default}]; }} enum E {{ Z = 0; }}'
    )
    assert f" a = 1 [default = {normalized}];" in PROTOBUF.normalized(schema)


@cases("default", ['"1 2"', '""', "{ a: 1 }", "[1]", '["a b"]'])
def test_defaults_that_are_no_values_once_they_are_printed(default):
    schema = PROTOBUF.parse(f'syntax = "proto2"; message M {{ optional int32 a = 1 [default = {default}]; }}')
    with pytest.raises(SchemaError, match="without quotation marks, and cannot read this one"):
        PROTOBUF.canonical(schema)


def test_no_field_has_the_type_of_a_maps_entries():
    """As in Wire, which knows no such types: an outer type of their name is meant, or none."""
    text = 'syntax = "proto3"; package p; message A { map<int32, int32> map_f = 1; MapFEntry b = 2; }'
    with pytest.raises(SchemaError, match="unknown type MapFEntry"):
        PROTOBUF.check_references(PROTOBUF.parse(text))
    schema = PROTOBUF.parse(f"{text} message MapFEntry {{}}")
    assert "  .p.MapFEntry b = 2;" in PROTOBUF.normalized(schema)
