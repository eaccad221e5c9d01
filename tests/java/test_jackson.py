"""JSON as Jackson reads and writes it: every answer here is its own."""

import json
import sys
from decimal import Decimal

import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st

from kcodec.java import jackson
from kcodec.java.jackson import JacksonError, quote, read_tree, write_tree

ONES = "1" * 1000


@cases(
    "text",
    [
        ONES,
        "-" + ONES,
        "0." + ONES[1:],
        "-0." + ONES[1:],
        ONES[1:] + "e5",
        ONES[2:] + "e-05",
        "0." + ONES[2:] + "e5",
        "1e" + "5".zfill(999),
        "1e2147483647",
        "10e2147483647",
        "1e-2147483647",
        "1.5e-2147483646",
        "0e2147483648",
        "1e2147483648",
        "0.05e2147483649",
    ],
    ids=lambda text: f"{text[:9]}-{len(text)}",
)
def test_numbers_within_the_limits(text):
    assert read_tree(text.encode()) == Decimal(text)
    assert read_tree(b"[%s]" % text.encode()) == [Decimal(text)]


@cases(
    ("text", "reason"),
    [
        (ONES + "1", "length"),
        ("-" + ONES + "1", "length"),
        ("0." + ONES, "length"),
        (ONES + "e5", "length"),
        (ONES[1:] + "e-05", "length"),
        ("1e" + "5".zfill(1000), "length"),
        ("0e5000000000", "Malformed"),
        ("0e-5000000000", "Malformed"),
        ("0e2147483649", "Malformed"),
        ("1e2147483649", "Malformed"),
        ("0.05e2147483651", "Malformed"),
        ("1e-2147483648", "Malformed"),
        ("0.5e-2147483648", "Malformed"),
        ("0.0e-2147483647", "Malformed"),
        ("1.5e-2147483647", "Malformed"),
        ("-1e99999999999999", "Malformed"),
    ],
    ids=lambda text: f"{text[:9]}-{len(text)}",
)
def test_numbers_beyond_the_limits(text, reason):
    with pytest.raises(JacksonError, match=reason):
        read_tree(text.encode())


def test_leading_zeros_do_not_count():
    assert read_tree(b"000" + ONES.encode(), leading_zeros=True) == int(ONES)


@pytest.mark.parametrize(
    ("text", "escaped", "plain"),
    [
        ('"\\/\b\x00\x1f\x7f', '"\\"\\\\/\\b\\u0000\\u001F\x7f"', None),
        ("é\u2028\uffff", '"é\u2028\uffff"', None),
        ("😀", r'"\uD83D\uDE00"', '"😀"'),
        ("\udc00", r'"\uDC00"', '"\udc00"'),
    ],
)
def test_quoting(text, escaped, plain):
    assert quote(text) == escaped
    assert quote(text, escape_surrogates=False) == (plain or escaped)


def test_trees_are_written_however_deep():
    tree = None
    for _ in range(5000):
        tree = [{"a": tree}]
    assert write_tree(tree) == '[{"a":' * 5000 + "null" + "}]" * 5000
    assert (
        write_tree([True, -1, Decimal("1E+2"), 0.5, float("inf"), (), {}])
        == '[true,-1,1E+2,0.5,"Infinity",[],{}]'
    )


DOCUMENTS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.sampled_from([0.5, 1e300, -0.0])
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner, max_size=4),
    max_leaves=12,
)


@given(DOCUMENTS)
def test_trees_are_written_alike_whoever_writes_them(tree):
    # Python's encoder takes no decimals.
    assert write_tree([tree, Decimal(1)]) == f"[{write_tree(tree)},1]"


def answer(read):
    try:
        return repr(read())
    except jackson.JacksonError as error:
        return f"{error} at {error.offset}"


@given(DOCUMENTS, st.data())
def test_the_quick_reader_answers_as_the_other(tree, data):
    text = json.dumps([tree], ensure_ascii=data.draw(st.booleans()))
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(text)))
        text = (
            text[:at]
            + data.draw(st.sampled_from([*'{}[]",:0.eE+-\\u\x00\ud800 ', "NaN", "00", '"a":']))
            + text[at:]
        )
    content = text.encode(errors="replace")
    slow = jackson._DocumentReader(*jackson._decode(content), True, False, int, lambda value: value)
    assert answer(lambda: jackson.read_tree(content, leading_zeros=True)) == answer(slow.document)


@cases(
    "text",
    [
        "[" * 1000 + "]" * 1000,
        "[" * 1001 + "]" * 1001,
        '{"a":' + "[" * 1001 + "]" * 1001 + ',"a":1}',
        "[" + "[]," * 1200 + '"[["]',
        "[" + "[[]]," * 1200 + "1]",
        f'{{"{"n" * 50_001}":1}}',
        f'{{"{"n" * 49_000}{chr(92)}"{"n" * 1_001}":1}}',
        f"[{'1' * 1001}]",
        f"[0.{'1' * 1001}]",
        "[1e99999999999]",
        "[007, -0, -0.0, 1.50, 1E3]",
        '["\\ud83d\\ude00\\ud83d"]',
        '{"a":1,"b":2,"a":3} and more',
        "[Infinity]",
        "[1]]",
        " [true_]",
        "[truex]",
    ],
)
def test_the_quick_reader_leaves_the_limits_to_the_other(text):
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(5000)
    try:
        slow = jackson._DocumentReader(text, 1, True, False, int, lambda value: value)
        assert answer(lambda: jackson.read_tree(text.encode(), leading_zeros=True)) == answer(slow.document)
    finally:
        sys.setrecursionlimit(limit)


@cases(
    ("text", "expected"),
    [
        ("", b""),
        (" \0", b""),
        ("AQID", b"\1\2\3"),
        (" AQID\r\nBA==\t", b"\1\2\3\4"),
        ("AQ==AQI=", b"\1\1\2"),
        ("AQ ID", None),
        ("AQ= =", None),
        ("AQI", None),
        ("AQID\xa0", None),
        ("_-8=", None),
    ],
)
def test_base64(text, expected):
    try:
        found = jackson.decode_base64(text)
    except ValueError:
        found = None
    assert found == expected


def test_schemas_are_read_quickly(monkeypatch):
    fields = [{"field": f"f{number}", "type": "int64", "optional": True} for number in range(2000)]
    text = json.dumps({"type": "struct", "fields": fields}).encode()
    monkeypatch.setattr(jackson, "_DocumentReader", None)
    assert len(jackson.read_tree(text)["fields"]) == 2000


@cases(
    ("data", "expected"),
    [
        (b'"\xc0\x80\xc0\xa2\xe0\x81\x9c"', '\0"\\'),
        (b'"\xed\xa0\xbd\xed\xb8\x80"', "😀"),
        (b'"\xf0\x80\x80\xa2"', "\uffc0\udc22"),
        (b'{"\xf4\x90\x80\x80":1}', {"\udc00\udc00": 1}),
        (b'["x\xf7\xbf\xbf\xbf"]', ["x\udfbf\udfff"]),
        (b'"\xed\xb2\x80\xed\xb3\xbf"', "\udc80\udcff"),
        (b'{"\xed\xa0\x80":.5}', 7),
        (b'{"\xf8\x80":1}', 2),
        (b"true\xc3\xb7", 0),
        (b"false\x7f", 0),
        (b"null;", None),
        (b'"\xff"', 1),
        (b'"\\\xc0\xa2"', 1),
        (b"\xef\xbb\xbf", 0),
        (b"\xef\xbb\xbf ", ...),
        (b"\xef\xbb\xbf1", 1),
        ("\ufeff[]".encode("utf-16-le"), []),
        ("\ufeff\ufeff[]".encode("utf-16-le"), 0),
        ("\ufeff\ufeff[]".encode("utf-16-be"), 0),
        ("null".encode("utf-32-be") + b"0", 0),
        ("[null]".encode("utf-32-be") + b"0", [None]),
    ],
)
def test_bytes_that_are_no_text(data, expected):
    try:
        found = read_tree(data)
    except JacksonError as error:
        found = error.offset
    assert found == expected
