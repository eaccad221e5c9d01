"""The texts of docs/troubleshooting.md are those that are raised."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text()
SOURCES = "".join(
    path.read_text() for path in (ROOT / "kcodec").rglob("*.py*") if path.suffix in (".py", ".pyx")
)
#: One line, without the quotes between parts of a text.
FLAT = re.sub(r'"\s*\n\s*f?"', "", SOURCES)


@pytest.mark.parametrize(
    "text",
    [
        "looks framed: schema id ",
        "the time is finer than what is written; with round=",
        "there is no column ",
        "rows need more memory than there is",
        "offsets are not in order",
        "does not hold payloads",
        "a list holds bytes and None",
        "NumPy's arrays of type S have lost zero bytes at the ends",
        "a whole statement: give what stands between its parentheses",
        "here it is ",
        "is the base path missing?",
        "are the credentials right?",
        "does it run, and listen at this port?",
        "is the name of the host right?",
        "no whole answer within ",
        "does it want https://?",
        "does it speak http://?",
        "is ssl.ca.location the authority that signed its certificate?",
        "credentials in the address and in ",
        "the answer has more than ",
        "a reference does not exist",
    ],
)
def test_texts_are_those_that_are_raised(text):
    assert text in PAGE
    assert text in FLAT
