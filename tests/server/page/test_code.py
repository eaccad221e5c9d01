"""Texts as lines of tokens, and two of them beside each other."""

import html
import json
import re
import time

from cases import cases
from hypothesis import given
from hypothesis import strategies as st

from kcodec.server.page.code import code_lines, markup, text_of
from kcodec.server.page.document_changes import document_changes, named_steps
from kcodec.server.page.line_diff import MAX_LINES, Gap, diff_rows

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from(["{", "]", '"', "\\", ",", ":"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


def shown(text):
    return "\n".join(text_of(line) for line in code_lines(text))


@given(values)
def test_a_layout_changes_spaces_alone(value):
    for text in (
        json.dumps(value),
        json.dumps(value, ensure_ascii=False, separators=(",", ":")),
        json.dumps(value, indent=3),
    ):
        laid_out = shown(text)
        assert json.loads(laid_out) == value
        assert shown(laid_out) == laid_out


@given(st.text(max_size=80) | st.text(alphabet="{}[]\":,\\/* \n'a1.-", max_size=80))
def test_any_text_keeps_its_characters(text):
    for given_text in (text, "{" + text, "message M {" + text):
        lines = code_lines(given_text)
        assert "".join("".join(map(text_of, lines)).split()) == "".join(given_text.split())
        for line in lines:
            assert html.unescape(re.sub(r"<[^>]*>", "", markup(line))) == text_of(line)
            assert not re.search(r"<(?!/?span\b)", markup(line))


def test_numbers_stay_as_they_are():
    assert shown('{"a":1E+2,"b":1.50}') == '{\n  "a": 1E+2,\n  "b": 1.50\n}'


def test_kinds_of_tokens():
    kinds = {token.text: token.kind for line in code_lines('{"a": ["b", 1, null]}') for token in line}
    assert kinds == {
        "{": "mark",
        "  ": "",
        '"a"': "key",
        ": ": "mark",
        "[": "mark",
        '"b"': "string",
        ", ": "mark",
        "1": "number",
        "null": "literal",
        "]": "mark",
        "}": "mark",
    }
    [line] = code_lines("message M { repeated .a.N n = 1; } // end")
    kinds = {token.text: token.kind for token in line if token.text.strip()}
    assert kinds["message"] == kinds["repeated"] == "keyword"
    assert kinds[".a.N"] == kinds["M"] == "name"
    assert kinds["1"] == "number"
    assert kinds["// end"] == "comment"


def test_references_lead_somewhere():
    [line] = code_lines('"shop.Address"')
    assert (
        markup(line, {"shop.Address": 'a"b'}) == '<a class="string" href="a&#34;b">&#34;shop.Address&#34;</a>'
    )


@given(st.lists(st.sampled_from("abcde"), max_size=30), st.lists(st.sampled_from("abcde"), max_size=30))
def test_a_comparison_holds_both_texts(old, new):
    rows = diff_rows(*([*code_lines("\n".join(each))] for each in (old, new)))
    old, new = old or [""], new or [""]
    if old == new:
        assert rows == []
        return
    before, after = 1, 1
    for row in rows:
        if isinstance(row, Gap):
            before, after = before + row.lines, after + row.lines
            continue
        text = re.sub(r"<[^>]*>", "", row.content)
        if row.kind != "added":
            assert (row.old, text) == (before, old[before - 1])
            before += 1
        if row.kind != "removed":
            assert (row.new, text) == (after, new[after - 1])
            after += 1
    assert (before, after) == (len(old) + 1, len(new) + 1)
    assert any(row.kind != "same" for row in rows if not isinstance(row, Gap))


def test_words_that_changed_are_marked():
    rows = diff_rows(code_lines('{"a": "b", "c": {"d": 1}}'), code_lines('{"a": "x", "c": {"d": 1}}'))
    assert '<mark class="string">&#34;b&#34;</mark>' in rows[1].content
    assert '<mark class="string">&#34;x&#34;</mark>' in rows[2].content


def test_what_follows_is_no_change():
    rows = diff_rows(code_lines('{"a": 1}'), code_lines('{"a": 1, "b": 2}'))
    assert [row.kind for row in rows] == ["same", "same", "added", "same"]


def test_comparisons_are_bounded():
    lines = [code_lines(f"a{number}\nb{number}")[0] for number in range(MAX_LINES + 1)]
    assert diff_rows(lines, lines[::-1]) is None
    assert diff_rows(lines * 20, lines * 20) == []
    # Every other line is the same: each match found splits off one line.
    old, new = ([code_lines("}" if at % 2 else f"{side}{at}")[0] for at in range(MAX_LINES)] for side in "ab")
    start = time.process_time()
    assert len(diff_rows(old, new)) > MAX_LINES
    assert time.process_time() - start < 3
    assert len(diff_rows(lines * 20, lines * 20 + lines[:1])) == 5


def field(name, kind, **more):
    return {"name": name, "type": kind, **more}


def record(*fields):
    return json.dumps({"type": "record", "name": "R", "fields": list(fields)})


@cases(
    ("old", "new", "words"),
    [
        (record(field("a", "int")), record(field("a", "int")), []),
        (record(field("a", "int"), field("b", "int")), record(field("b", "int"), field("a", "int")), []),
        (
            record(field("a", "int")),
            record(field("a", "int"), field("b", "int", default=0)),
            ["field b added (default 0)"],
        ),
        (record(field("a", "int", default=0)), record(field("a", "int")), ["default of a removed: 0"]),
        (
            record(field("a", ["null", "int"])),
            record(field("a", ["null", "int", "long"])),
            ["long added to type of a"],
        ),
        (
            record(field("a", "int")),
            record(field("a", {"type": "array", "items": "int"})),
            ['type of a changed: int → {"type": "array", "items": "int"}'],
        ),
        ('"int"', '"long"', ["the schema changed: int → long"]),
        (
            '{"required": ["a"]}',
            '{"required": ["b"]}',
            ["required property a removed", "required property b added"],
        ),
        (
            '{"properties": {"a": {"maximum": 1}}}',
            '{"properties": {"a": {"maximum": 1.0}, "b": true}}',
            ["maximum of a changed: 1 → 1.0", "property b added"],
        ),
        ('{"enum": [1, 2]}', '{"enum": [1, 3]}', ["value 2 removed", "value 3 added"]),
        ("syntax", "{}", []),
        ("[" * 100_000, "{}", []),
        ("1" * 10_000, "2", ["the schema changed: " + "1" * 59 + "… → 2"]),
    ],
)
def test_changes_in_words(old, new, words):
    assert [each.words for each in document_changes(old, new)] == words


@given(values, values)
def test_changes_of_any_documents(old, new):
    assert document_changes(json.dumps(old), json.dumps(old)) == []
    found = document_changes(json.dumps(old), json.dumps(new))
    assert bool(found) or old == new or sorted(json.dumps(old)) == sorted(json.dumps(new)) or same(old, new)


def same(old, new):
    """Return whether only the order of what is in the documents differs."""
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(same(old[key], new[key]) for key in old)
    if isinstance(old, list) and isinstance(new, list):
        return sorted(map(json.dumps, old)) == sorted(map(json.dumps, new)) or len(old) == len(new)
    return old == new


def test_pointers_with_numbers_of_any_length():
    assert named_steps("[1]", ["/0", "/" + "9" * 5000]) == [("1",), ()]


def test_pointers_are_named():
    text = record(field("a", "int"), field("b", ["null", {"type": "enum", "name": "E", "symbols": ["X"]}]))
    pointers = ["/fields/1/type/1/symbols", "#/fields/7/type", ""]
    assert named_steps(text, pointers) == [("fields", "b", "type", "E", "symbols"), ("fields",), ()]
    assert named_steps("no JSON", pointers) == []
