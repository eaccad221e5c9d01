"""Features of editions and their words: what protoc refuses is refused, and descriptors are protoc's."""

from pathlib import Path

import pytest
from cases import cases
from google.protobuf import descriptor_pb2
from protoc import protoc

from kcodec import SchemaError
from kcodec.formats.protobuf.exported.descriptor_bytes import write_descriptor_set
from kcodec.formats.protobuf.language.parse import parse
from kcodec.formats.protobuf.language.text import print_file
from kcodec.formats.protobuf.schema import ProtobufSchema

FEATURES = {
    "field_presence": ["IMPLICIT", "LEGACY_REQUIRED", "FIELD_PRESENCE_UNKNOWN", "NONE"],
    "enum_type": ["CLOSED", "ENUM_TYPE_UNKNOWN"],
    "repeated_field_encoding": ["PACKED", "EXPANDED"],
    "utf8_validation": ["NONE"],
    "message_encoding": ["DELIMITED"],
    "json_format": ["LEGACY_BEST_EFFORT", "JSON_FORMAT_UNKNOWN"],
    "enforce_naming_style": ["STYLE_LEGACY", "ENFORCE_NAMING_STYLE_UNKNOWN"],
    "default_symbol_visibility": ["STRICT", "OPEN"],
    "no_such_feature": ["OPEN"],
}

#: Where options may stand: the names in braces.
ELEMENTS = """
    {file}
    message M {
      {message}
      int32 a = 1 {number}; repeated int32 b = 2 {numbers}; string c = 3 {text}; repeated string d = 4 {texts};
      M e = 5 {inner}; repeated M f = 6 {inners}; map<int32, M> g = 7 {map}; map<int32, string> h = 8 {text_map};
      oneof o { {oneof} int32 i = 9 {member}; }
      extensions 100 to 200 {extensions};
    }
    extend M { int32 j = 100 {extension}; }
    enum E { {enum} A = 0 {value}; }
    service S { {service} rpc R(M) returns (M) { {method} } }
"""
PLACES = [each.split("}")[0] for each in ELEMENTS.split("{") if each[:1].isalpha()]
IN_BRACKETS = {"number", "numbers", "text", "texts", "inner", "inners", "map", "text_map", "member"}
IN_BRACKETS |= {"extensions", "extension", "value"}


def filled(place, option):
    text = ELEMENTS
    for each in PLACES:
        own = f"[{option}]" if each in IN_BRACKETS else f"option {option};"
        text = text.replace(f"{{{each}}}", own if each == place else "")
    return text


def ours(text, imports=None):
    try:
        written = write_descriptor_set(ProtobufSchema.parse({"main.proto": text, **(imports or {})}))
    except SchemaError:
        return None
    return descriptor_pb2.FileDescriptorSet.FromString(written).file[-1]


LEGACY = "option features.enforce_naming_style = STYLE_LEGACY;"
COLLISIONS = "option features.enforce_naming_style = STYLE2026;"


@cases(
    ("text", "message"),
    [
        ("package a.b_c1._d;", ""),
        ("package A;", "the package A is not in lower_snake_case"),
        ("package a_.b;", "the package a_.b is not in lower_snake_case"),
        ("message m { }", "the message m is not in TitleCase"),
        ("message A_B { }", "the message A_B is not in TitleCase"),
        ("message M { int32 a1_b2 = 1; }", ""),
        ("message M { int32 a_1 = 1; }", "the field a_1 is not in lower_snake_case"),
        ("message M { int32 a__b = 1; }", "the field a__b is not in lower_snake_case"),
        ("message M { int32 a_ = 1; }", "the field a_ is not in lower_snake_case"),
        ("message M { oneof aB { int32 a = 1; } }", "the oneof aB is not in lower_snake_case"),
        ("message M { extensions 1; } extend M { int32 aB = 1; }", "the field aB is not in lower_snake_case"),
        ("enum e { A = 0; }", "the enum e is not in TitleCase"),
        ("enum E { A1_B = 0; }", ""),
        ("enum E { A_1 = 0; }", "the enum value A_1 is not in UPPER_SNAKE_CASE"),
        ("service s { }", "the service s is not in TitleCase"),
        ("service S { rpc r(M) returns (M); } message M { }", "the method r is not in TitleCase"),
        (f"{LEGACY} package A; message m {{ int32 aB = 1; enum e {{ a = 0; }} }} service s {{ }}", ""),
        (f"message m {{ {LEGACY} int32 aB = 1; oneof cD {{ int32 eF = 2; }} }}", ""),
        (f"message M {{ oneof o {{ {LEGACY} int32 aB = 1; }} }}", ""),
        (f"service S {{ rpc r(M) returns (M) {{ {LEGACY} }} }} message M {{ }}", ""),
        ("enum E { a = 0 [features.enforce_naming_style = STYLE_LEGACY]; }", ""),
        (
            f"{LEGACY} message m {{ option features.enforce_naming_style = STYLE2024; }}",
            "the message m is not",
        ),
        (
            "message M { map<int32, int32> _1a = 1 [features = { enforce_naming_style: 2 }]; }",
            "the message 1aEntry is not in TitleCase",
        ),
        ("message M { int32 has_a = 1; int32 a = 2; int32 a_value = 3; int32 descriptor = 4; }", ""),
        (f"{COLLISIONS} message M {{ int32 has_b = 1; int32 a = 2; }}", ""),
        (
            f"{COLLISIONS} message M {{ int32 has_a = 1; int32 a = 2; }}",
            "has_a collides with what is generated for a",
        ),
        (f"{COLLISIONS} message M {{ int32 a_value = 1; oneof a {{ int32 b = 2; }} }}", "a_value collides"),
        (f"{COLLISIONS} message M {{ int32 a = 1; oneof clear_a {{ int32 b = 2; }} }}", "clear_a collides"),
        (f"{COLLISIONS} message M {{ int32 descriptor = 1; }}", "descriptor collides with what is generated"),
        (
            f"{COLLISIONS} message M {{ int32 a = 1; extensions 2; }} message N {{ extend M {{ int32 get_a = 2; }} }}",
            "get_a collides with what is generated for a",
        ),
    ],
)
def test_styles_of_names(text, message):
    text = f'edition = "2024"; {text}'
    expected = protoc(text)
    assert (expected is None) == bool(message)
    assert ours(text) == expected
    if message:
        with pytest.raises(SchemaError, match=message):
            ProtobufSchema.parse(text)
    # Edition 2023 has no style.
    if "features" not in text:
        assert ours(text.replace("2024", "2023")) is not None


@pytest.mark.parametrize("default", ["EXPORT_ALL", "EXPORT_TOP_LEVEL", "LOCAL_ALL", "STRICT", ""])
def test_types_of_other_files(default):
    """What is named from which file is seen as protoc sees it, whatever syntax it has itself."""
    option = default and f"option features.default_symbol_visibility = {default};"
    other = f"""
        edition = "2024"; package o; {option}
        message A {{ message N {{ }} enum E {{ X = 0; }} extensions 1; local message L {{ }} }}
        local message B {{ extensions 1; }}
        export message C {{ extensions 1; }}
        enum E {{ Y = 0; }}
    """
    taken = 0
    for syntax, label in (('edition = "2024"', ""), ('syntax = "proto2"', "optional ")):
        for use in (
            *(
                f"message M {{ {label}o.{name} a = 1; }}"
                for name in ("A", "A.N", "A.E", "A.L", "B", "C", "E")
            ),
            "message M { map<int32, o.A.N> a = 1; }",
            *(f"extend o.{name} {{ {label}int32 a = 1; }}" for name in ("A", "B", "C")),
            "service S { rpc R(o.B) returns (o.C); }",
            "service S { rpc R(o.C) returns (o.B); }",
            "service S { rpc R(o.C) returns (o.C); }",
        ):
            text = f'{syntax}; import "o.proto"; {use}'
            expected = protoc(text, {"o.proto": other})
            assert ours(text, {"o.proto": other}) == expected, use
            taken += expected is not None
    assert 0 < taken < 28


def test_what_names_a_local_type_is_told():
    other = 'edition = "2024"; local message L { }'
    with pytest.raises(SchemaError, match=r"line 1, column 50: L is local to o\.proto"):
        ProtobufSchema.parse(
            {"main.proto": 'syntax = "proto3"; import "o.proto"; message M { L l = 1; }', "o.proto": other}
        )


def test_imports_for_options_have_no_types():
    text = 'edition = "2024"; import option "o.proto"; message M { N n = 1; }'
    imports = {"o.proto": 'syntax = "proto3"; message N { }'}
    assert protoc(text, imports) is None
    with pytest.raises(SchemaError, match="N is imported for options only"):
        ProtobufSchema.parse({"main.proto": text, **imports})


STRICT = "option features.default_symbol_visibility = STRICT;"


@cases(
    ("text", "is_taken"),
    [
        ("message M { message N { } }", True),
        ("message M { export message N { } }", False),
        ("message M { export enum E { A = 0; } }", False),
        ("message M { reserved 1 to max; export enum E { A = 0; } }", True),
        ("local message M { reserved a; reserved 1 to max; export enum E { A = 0; } }", True),
        ("export message M { reserved 1 to max; export enum E { A = 0; } }", False),
        ("message M { reserved 1 to 9; export enum E { A = 0; } }", False),
        ("message M { reserved 1, 2 to max; export enum E { A = 0; } }", False),
        ("message M { reserved 1 to max; export message N { } }", False),
        ("message O { message M { reserved 1 to max; export enum E { A = 0; } } }", False),
    ],
)
def test_exports_of_strict_files(text, is_taken):
    text = f'edition = "2024"; {STRICT} {text}'
    expected = protoc(text)
    assert (expected is not None) == is_taken
    assert ours(text) == expected
    assert ours(text.replace(STRICT, "")) is not None


@cases("edition", ["2023", "2024"])
@cases("feature", FEATURES)
def test_features_of_each_element(edition, feature):
    for value in FEATURES[feature]:
        for place in PLACES:
            text = f'edition = "{edition}"; {filled(place, f"features.{feature} = {value}")}'
            assert ours(text) == protoc(text), (value, place)


IMPLICIT = "option features.field_presence = IMPLICIT;"
CLOSED = "enum E { option features.enum_type = CLOSED; A = 0; }"


@cases(
    ("text", "message"),
    [
        ("message M { optional int32 a = 1; }", "optional is the feature field_presence in editions"),
        ("message M { required int32 a = 1; }", "required is the feature field_presence in editions"),
        ("message M { repeated group A = 1 { } }", "a group is the feature message_encoding in editions"),
        ("message M { oneof o { group A = 1 { } } }", "a group is the feature message_encoding"),
        ('message M { reserved "a"; }', "expected a number of 32 bits, got '\"a\"'"),
        ("export message M { }", "expected a message, an enum"),
        ("message M { local enum E { A = 0; } }", "expected '=', got 'E'"),
        ('import option "a.proto";', "option imports are not of this edition or syntax"),
        ("message M { repeated int32 a = 1 [packed = true]; }", "a: packed is a feature in editions"),
        (
            f"{IMPLICIT} message M {{ int32 a = 1 [default = 1]; }}",
            "a: a field without presence has no default",
        ),
        (f"{IMPLICIT} message M {{ E a = 1; }} {CLOSED}", "a: the enum of a field without presence is open"),
        ("enum E { A = 1; }", "the first value of the open enum E is not 0"),
        (
            "message M { int32 a = 1 [features = { json_format: 1 }]; }",
            "json_format stands at another element",
        ),
        (
            "message M { int32 a = 1 [features = { field_presence: 4 }]; }",
            "4 is not one of EXPLICIT, IMPLICIT",
        ),
        ("message M { int32 a = 1 [features = { field_presence: [2] }]; }", "is not one of EXPLICIT"),
        ("message M { int32 a = 1 [features = { nothing: 1 }]; }", "there is no feature nothing"),
        ("option features.enforce_naming_style = STYLE2024;", "no enforce_naming_style before EDITION_2024"),
        ("option features.field_presence = LEGACY_REQUIRED;", "not all fields of a file can be required"),
        ("option features = 1;", "features are set one by one, or in braces"),
        ("option java_string_check_utf8 = true;", "java_string_check_utf8 is a feature in editions"),
    ],
)
def test_refusals(text, message):
    assert protoc(f'edition = "2023"; {text}', {"a.proto": ""}) is None
    with pytest.raises(SchemaError, match=message):
        ProtobufSchema.parse(f'edition = "2023"; {text}', {"a.proto": ""})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('import weak "a.proto";', "weak imports are not of this edition or syntax"),
        ("option java_multiple_files = true;", "there is no java_multiple_files since EDITION_2024"),
        ("message M { string a = 1 [ctype = CORD]; }", "there is no ctype since EDITION_2024"),
        ("local service S { }", "local stands before a message or an enum"),
        ("message M { export int32 a = 1; }", "export stands before a message or an enum"),
        (
            "message M { extensions 1; local extend M { M a = 1; } }",
            "local stands before a message or an enum",
        ),
    ],
)
def test_refusals_of_2024(text, message):
    assert protoc(f'edition = "2024"; {text}', {"a.proto": ""}) is None
    with pytest.raises(SchemaError, match=message):
        ProtobufSchema.parse(f'edition = "2024"; {text}', {"a.proto": ""})


@cases(
    "text",
    [
        "message M { int32 a = 1 [features = { field_presence: 2 }]; }",
        "message M { string a = 1 [features = { utf8_validation: 3, field_presence: LEGACY_REQUIRED }]; }",
        f"{IMPLICIT} message M {{ E a = 1 [features.field_presence = EXPLICIT]; oneof o {{ E b = 2; }} }} {CLOSED}",
        "option java_string_check_utf8 = false; message M { reserved a, b; int32 local = 1; int32 export = 2; }",
        "enum E { option features.enum_type = CLOSED; A = 1; }",
    ],
)
@cases("edition", ["2023", "2024"])
def test_what_both_take(edition, text):
    text = f'edition = "{edition}"; {text}'
    expected = protoc(text)
    assert expected is not None
    assert ours(text) == expected


def test_features_of_aggregates_count():
    schema = ProtobufSchema.parse(
        'edition = "2023"; message M { int32 a = 1 [features = { field_presence: 2 }];'
        " M b = 2 [features = { message_encoding: DELIMITED }]; }"
    )
    assert not schema.message().by_name["a"].presence
    assert schema.message().by_name["b"].type == "group"


OPTIONS = """
    import "google/protobuf/descriptor.proto";
    extend google.protobuf.FieldOptions {
      optional Own own = 50000;
      optional int32 late = 50001 [feature_support = { edition_introduced: EDITION_2024 }];
    }
    message Own { optional int32 a = 1 [targets = TARGET_TYPE_ENUM]; repeated Own more = 2; }
"""


@pytest.mark.parametrize("option", ["late = 1", "(own).a = 1", "(own) = { more { a: 1 } }"])
def test_custom_options_have_elements_and_editions(option):
    option = option if option[0] == "(" else f"({option.replace(' =', ') =', 1)}"
    text = f'import "own.proto"; message M {{ int32 a = 1 [{option}]; }}'
    imports = {"own.proto": f'syntax = "proto2"; {OPTIONS}'}
    assert protoc(f'edition = "2023"; {text}', imports) is None
    with pytest.raises(SchemaError, match=r"before EDITION_2024|a stands at another element than enum"):
        ProtobufSchema.parse(f'edition = "2023"; {text}', imports)
    # Registries look at neither.
    assert ProtobufSchema.parse(f'syntax = "proto3"; {text}', imports).message().name == "M"


def test_descriptors_are_not_checked_again():
    """Descriptors lack features that are for texts only."""
    text = (
        'edition = "2024"; option features.enforce_naming_style = STYLE_LEGACY; message m { int32 aB = 1; }'
    )
    schema = ProtobufSchema.parse(protoc(text).SerializeToString())
    assert [field.name for field in schema.message().fields] == ["aB"]


@pytest.mark.parametrize("name", ["edition-2024", "features"])
def test_protoc_takes_printed_texts(name):
    text = (Path(__file__).parents[1] / "texts" / f"{name}.proto").read_text()
    assert protoc(print_file(parse(text))) is not None


def test_printed_words_of_editions():
    text = 'import option "a.proto"; local message M { reserved a; export enum E { A = 0; reserved B; } }'
    text = f'edition = "2024"; {text}'
    assert protoc(print_file(parse(text)), {"a.proto": ""}) == protoc(text, {"a.proto": ""})
