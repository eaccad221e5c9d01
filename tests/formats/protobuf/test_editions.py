"""Features of editions and their words: what protoc refuses is refused, and descriptors are protoc's."""

from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2
from protoc import protoc

from kcodec import SchemaError
from kcodec.formats.protobuf.language.descriptor_bytes import write_descriptor_set
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


def ours(text):
    try:
        written = write_descriptor_set(ProtobufSchema.parse(text))
    except SchemaError:
        return None
    return descriptor_pb2.FileDescriptorSet.FromString(written).file[-1]


@pytest.mark.parametrize("edition", ["2023", "2024"])
@pytest.mark.parametrize("feature", FEATURES)
def test_features_of_each_element(edition, feature):
    for value in FEATURES[feature]:
        for place in PLACES:
            text = f'edition = "{edition}"; {filled(place, f"features.{feature} = {value}")}'
            assert ours(text) == protoc(text), (value, place)


IMPLICIT = "option features.field_presence = IMPLICIT;"
CLOSED = "enum E { option features.enum_type = CLOSED; A = 0; }"


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    "text",
    [
        "message M { int32 a = 1 [features = { field_presence: 2 }]; }",
        "message M { string a = 1 [features = { utf8_validation: 3, field_presence: LEGACY_REQUIRED }]; }",
        f"{IMPLICIT} message M {{ E a = 1 [features.field_presence = EXPLICIT]; oneof o {{ E b = 2; }} }} {CLOSED}",
        "option java_string_check_utf8 = false; message M { reserved a, b; int32 local = 1; int32 export = 2; }",
        "enum E { option features.enum_type = CLOSED; A = 1; }",
    ],
)
@pytest.mark.parametrize("edition", ["2023", "2024"])
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
    text = (Path(__file__).parent / "texts" / f"{name}.proto").read_text()
    assert protoc(print_file(parse(text))) is not None


def test_printed_words_of_editions():
    text = 'import option "a.proto"; local message M { reserved a; export enum E { A = 0; reserved B; } }'
    text = f'edition = "2024"; {text}'
    assert protoc(print_file(parse(text)), {"a.proto": ""}) == protoc(text, {"a.proto": ""})
