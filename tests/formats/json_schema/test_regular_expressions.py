"""Regular expressions of Java: translated ones give the verdicts that Java's own classes gave."""

import json
import re

import pytest
from cases import cases

from kcodec import JsonSchemaCodec, SchemaError
from kcodec.formats.json_schema.references import Documents
from kcodec.formats.json_schema.regular_expressions import translated
from kcodec.formats.json_schema.schema import parse
from kcodec.formats.json_schema.validation import Validator

DRAFTS = ["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"]

#: A pattern, texts that have it, and texts that have not: the verdicts of the validator of drafts up to 7.
VERDICTS = [
    (r"^\p{Alpha}+$", ["abc"], ["a1", "é"]),
    (r"^\p{Upper}\p{Lower}\p{Digit}\p{Punct}$", ["Aa1!", "Zz9~"], ["aa1!", "Aaa!", "Aa1é"]),
    (r"^\p{Space}\p{Blank}\p{Cntrl}\p{XDigit}\p{Graph}\p{Print}\p{ASCII}$", [" \t\x01f!x~"], ["x"]),
    (r"^\P{Alpha}$", ["1", "é"], ["a"]),
    (r"^[\p{Alpha}_]+$", ["a_"], ["1"]),
    (r"^\pL\PL$", ["é1"], ["1é"]),
    (r"^\p{IsAlphabetic}\p{IsLatin}\p{IsPunctuation}$", ["éé!"], ["яя!"]),
    (r"^\p{javaLowerCase}\p{gc=Lu}\p{script=Greek}$", ["aAα"], ["AAα", "aAa"]),
    (r"^a++b$", ["aab"], ["b"]),
    (r"^a?+a$", ["aa"], ["a"]),
    (r"^a{1,2}+a$", ["aaa"], ["aa"]),
    (r"^(?>a|ab)c$", ["ac"], ["abc"]),
    (r"^(a++)(b)\2$", ["aabb"], ["aab"]),
    (r"^a\Z", ["a", "a\n", "a\r\n"], ["ab"]),
    (r"\Aa\z", ["a"], ["a\n", "ba"]),
    (r"(?m)\Aa\z", ["a"], ["a\n", "b\na"]),
    (r"^(?<n>a|b)\k<n>$", ["aa", "bb"], ["ab"]),
    (r"^(?<n>a)\k<n>1$", ["aa1"], ["aa"]),
    (r"^\x{1F600}$", ["😀"], ["x"]),
    (r"^\h+$", [" \t\u2003"], ["a"]),
    (r"^\R$", ["\r\n", "\n", "\u2028"], ["a", ""]),
    (r"^\e\a\cA\0101\07$", ["\x1b\x07\x01A\x07"], ["e"]),
    (r"^\Qa.b*\E$", ["a.b*"], ["axb*"]),
    (r"\Qa+", ["a+"], ["aa"]),
    (r"^[a-z&&[^aeiou]]+$", ["bcd"], ["b-a", "a"]),
    (r"^[^a-z&&[^b]]$", ["b", "1"], ["a"]),
    (r"^[[a-c][x-z]]$", ["a", "x"], ["m"]),
    (r"^[a&&b]$", [], ["a", "&"]),
    (r"^[^\P{Alpha}b]$", ["a"], ["1", "b"]),
    (r"^[[:alpha:]]+$", ["a", ":"], ["1"]),
    (r"^[]a]$", ["]", "a"], ["b"]),
    (r"^[\w-.]+$", ["a.-"], ["!"]),
    (r"^(?i)abc$", ["ABC"], ["x"]),
    (r"^(?i)yes|no$", ["YES", "NO"], ["on"]),
    (r"^(a(?i)b)c$", ["aBc"], ["aBC", "ABc"]),
    (r"^a(?-i)b$", ["ab"], ["aB"]),
    (r"^(?s).$", ["\n", "a"], [""]),
    (r"^(?s:.)(?u).$", ["\na"], ["\n\n"]),
    (r"^(?=.*\d)(?=.*[^\w])\w+$", [], ["aé٣"]),
    (r"^(?=.*\d)\w+$", ["a1"], ["a٣"]),
]  # fmt: skip


def schema(draft, pattern):
    return {
        "$schema": draft,
        "patternProperties": {pattern: {}},
        "additionalProperties": False,
        "pattern": pattern,
    }


@cases("draft", DRAFTS)
@cases(("pattern", "taken", "refused"), VERDICTS, ids=[each[0] for each in VERDICTS])
def test_verdicts_of_java(draft, pattern, taken, refused):
    validator = Validator(parse(json.dumps(schema(draft, pattern))).documents)
    for text in (*taken, *refused):
        for document in (text, {text: 1}):
            assert (validator.violation(json.dumps(document).encode()) is None) == (text in taken), document


@cases(
    "pattern",
    ["^[a-z]+$", r"^\d{3}-\w*?\.[^/]$", "^(a|b){2,}$", r"\S\s\bx", r"^[\p{L}\p{N} ]+$", "(", "a{", "\\", ""],
)  # fmt: skip
def test_what_ecma_has_stays_as_it_is(pattern):
    assert translated(pattern) == pattern


@cases(
    ("pattern", "what"),
    [
        (r"\Ga", r"\\G"),
        (r"^\X$", r"\\X"),
        (r"\p{InGreek}", r"\\p\{InGreek\}"),
        (r"\p{blk=Basic_Latin}", r"\\p\{blk=Basic_Latin\}"),
        (r"\p{}", r"the regular expression"),
        ("(?x) a b", r"\(\?x\)"),
        ("(?U)a", r"\(\?U\)"),
        ("[a&&&b]", "an intersection"),
        ("[a&&[b]c]", "what stands behind a class"),
        ("(a++)*", "the repetition"),
        ("(?:(?!a)b)++", "looking around"),
        ("(?:a(?!b))?+", "looking around"),
    ],
)
def test_what_ecma_has_not_is_refused_by_name(pattern, what):
    with pytest.raises(SchemaError, match=f"there is nothing in ECMA 262 for {what}"):
        JsonSchemaCodec({"pattern": pattern}, validate=True)
    JsonSchemaCodec({"pattern": pattern})


def test_a_pattern_that_the_validator_does_not_take_is_named():
    documents = Documents({"properties": {"a": {"pattern": "(?!a)?b"}}}, [])
    with pytest.raises(SchemaError, match=r"for the regular expression '\(\?!a\)\?b'"):
        Validator(documents)


def test_classes_without_an_end():
    with pytest.raises(SchemaError, match="has no end"):
        translated("a[b")


def test_nested_classes_and_groups_end():
    with pytest.raises(SchemaError, match="nesting"):
        translated("[" * 10_000)
    with pytest.raises(SchemaError, match="nesting"):
        translated("(" * 10_000)
    assert translated("(" * 300 + "a" + ")" * 300 + "\\A").endswith(")^")


@pytest.mark.parametrize("pattern", ["[[a]b]", "[a||b]", "[~~]", "[+--]", "[!---a]", "a||b"])
def test_patterns_are_checked_without_warnings_of_python(pattern, recwarn):
    parse(json.dumps({"pattern": pattern}))
    assert not recwarn.list


@pytest.mark.parametrize(
    "pattern",
    [
        "(?!z)" + "(||||||||||)" * 12 + "!",
        r"(?i:[\u0001-\uffff])" * 3500,
        "((a{1,100}){1,100}){1,100}",
        "|".join("a" * 10 + str(n) for n in range(5000)),
        r"^*\b+(a)?\2",
        r"(\Q[(*\E)?\Q(",
        r"[a-[b]&&c]",
        "{}a{,b}{",
    ],
)  # fmt: skip
def test_patterns_are_read_without_being_compiled(pattern, monkeypatch):
    """What `re` compiles for seconds, or does not take though Java does."""

    def refuse(*arguments):
        raise AssertionError("an expression of a schema is compiled")

    monkeypatch.setattr(re, "compile", refuse)
    assert parse(json.dumps({"pattern": pattern})).root.rules["pattern"] == pattern


@cases(
    ("pattern", "reason"),
    [
        ("(a", "a group has no end, at position 0"),
        ("a)", "a group ends that has no beginning, at position 1"),
        ("a[b", "a class has no end, at position 1"),
        ("[]", "a class has no end"),
        ("*a", "nothing to repeat, at position 0"),
        ("(a|+)", "nothing to repeat, at position 3"),
        ("a**", "multiple repeat, at position 2"),
        ("a{3,2}", "the numbers of repetitions are out of order"),
        ("a{9999999999}", "the numbers of repetitions are out of order or too large"),
        ("[z-a]", "bad range z-a, at position 1"),
        (r"[a-\d]", "bad range"),
        (r"\y", r"unknown escape \\y, at position 0"),
        (r"\x4", r"unknown escape \\x"),
        ("a\\", "unknown escape"),
        ("(?<1>a)", "unknown extension of a group"),
        ("(?y)", "unknown extension of a group"),
        ("(" * 1000 + ")" * 1000, "too large"),
    ],
)
@cases("keyword", ["pattern", "patternProperties"])
def test_what_is_no_pattern_is_refused_with_its_place(pattern, reason, keyword):
    value = pattern if keyword == "pattern" else {pattern: {}}
    with pytest.raises(SchemaError, match=f"^#/{keyword}: .*{reason}"):
        parse(json.dumps({keyword: value}))


def test_patterns_that_take_long_to_compile_are_refused_together():
    many = {f"p{n}": {"pattern": rf"^\p{{L}}{{1,200}}{n}"} for n in range(100)}
    with pytest.raises(SchemaError, match="the regular expressions of the schema take too long to compile"):
        JsonSchemaCodec({"properties": many}, validate=True)
    same = {name: {"pattern": r"^\p{L}{1,200}$"} for name in many}
    JsonSchemaCodec({"properties": same}, validate=True)


def test_a_pattern_that_backtracks_costs_its_row():
    codec = JsonSchemaCodec({"pattern": "^(?:(?=a)a|a(?=a|b))*$"}, validate=True)
    column, report = codec.decode(['"aaa"', f'"{"a" * 1000}c"'], errors="report")
    assert column.to_pylist() == ["aaa", None]
    assert report["code"].to_pylist() == ["schema_violation"]
