"""Tables of text: one header, and lines no longer than the terminal."""

from hypothesis import given
from hypothesis import strategies as st

from kcodec.cli.text_table import TextTable

ROWS = st.lists(st.tuples(st.text(max_size=60), st.integers(0, 10**6), st.text(max_size=60)), max_size=5)


@given(ROWS, ROWS, st.integers(40, 120))
def test_lines_fit(first, rest, width):
    table = TextTable(["a", "number", "b"], [False, True, False], width)
    lines = (table.text(first) + table.text(rest)).split("\n")
    assert lines.pop() == ""
    assert len(lines) == 1 + len(first) + len(rest)
    assert lines[0].split() == ["a", "number", "b"]
    assert all(len(line) <= width for line in lines)


def test_one_header_and_room_where_there_is_some():
    long = "x" * 60
    wide = TextTable(["id", "note"], [True, False], 100)
    assert wide.text([[1, long]]) + wide.text([[2, None]]) == f"id  note\n 1  {long}\n 2\n"
    assert TextTable(["id", "note"], [True, False], 20).text([[1, long]]).endswith(f"  {'x' * 15}…\n")
    # In a pipe cells have a bound of their own.
    assert TextTable(["note"], [False], None).text([[long]]) == f"note\n{'x' * 39}…\n"


def test_later_rows_may_be_longer():
    for width in (None, 30):
        table = TextTable(["a", "b"], [False, False], width)
        assert table.text([["x", "y"]]) + table.text([["longer", "y"]]) == "a  b\nx  y\nlonger  y\n"
        cut = table.text([["x" * 50, "y"]])
        assert cut == ("x" * 39 + "…  y\n" if width is None else "…  y\n")


def test_numbers_are_not_cut():
    table = TextTable(["offset", "a"], [True, False], 12)
    assert (
        table.text([[1, "abc"]]) + table.text([[10**15, "abc"]]) == f"offset  a\n     1  abc\n{10**15}  abc\n"
    )


def test_columns_that_do_not_fit():
    """Each keeps some characters, though lines are longer than the terminal then."""
    table = TextTable(["a", "b", "c"], [False, False, False], 20)
    assert (
        table.text([["x" * 20, "y" * 9, "z" * 8]]) == "a         b         c\nxxxxxxx…  yyyyyyy…  zzzzzzzz\n"
    )
