"""What Java takes off the ends of text."""

import pytest

from kcodec.java.blanks import trim


@pytest.mark.parametrize(
    ("text", "trimmed"),
    [
        (" \t\r\n\x00\x1c a b \x1f", "a b"),
        ("\u00a0a\u2003", "\u00a0a\u2003"),
        ("\x85a\x7f", "\x85a\x7f"),
        (" ", ""),
    ],
)
def test_trimming(text, trimmed):
    assert trim(text) == trimmed
