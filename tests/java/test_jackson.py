"""JSON as Jackson reads and writes it: every answer here is its own."""

from decimal import Decimal

import pytest

from kcodec.java.jackson import JacksonError, quote, read_tree, write_tree

ONES = "1" * 1000


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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
