"""Tables for people: what is in a cell does nothing to the terminal that shows it."""

import pytest

from kcodec.columns.shown import html_table, shortened, text_table

ATTACK = "\x1b]0;owned\x07\x9b31m\u202e"


@pytest.mark.parametrize("most", [5, 40])
def test_values_are_escaped_and_short(most):
    for value in (ATTACK, ATTACK * 100, {ATTACK: ATTACK}, "\U000e0001" * 100):
        text = shortened(value, most)
        assert text.isprintable()
        assert len(text) <= most


def test_cells_are_escaped():
    table = text_table(["field", ATTACK], [[ATTACK, "a\nb"]])
    assert all(line.isprintable() for line in table.split("\n"))
    assert len(table.split("\n")) == 2
    assert "<td>&lt;script&gt;</td>" in html_table(["a"], [["<script>"]])
