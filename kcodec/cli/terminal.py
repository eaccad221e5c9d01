"""Text that comes from files and brokers, on a terminal: control characters would be carried out there."""

import io
import re
from typing import Any, TextIO

__all__ = ["Terminal", "guarded", "take_all_text"]

#: Control characters but tabulators and ends of lines, and those that turn the direction of text around.
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


class Terminal:
    r"""A stream that shows control characters as Python writes them, as ``ls`` does with those of file names.

    Examples
    --------
    >>> import sys
    >>> print("a\x1b[31mb", file=Terminal(sys.stdout))
    a\x1b[31mb
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write text without control characters."""
        self._stream.write(_CONTROLS.sub(lambda found: ascii(found[0])[1:-1], text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def guarded(stream: TextIO) -> Any:
    """Return a stream as it is, or as a `Terminal` if it is one: in a pipe or a file text stays as it is."""
    return Terminal(stream) if stream is not None and stream.isatty() else stream


def take_all_text(stream: TextIO) -> None:
    """Have a stream take all text, whatever the encoding of the locale.

    In a pipe or a file text is UTF-8, as in files that options name, and names of files the bytes that they are; a
    terminal shows what it has no characters for with escapes.
    """
    if not isinstance(stream, io.TextIOWrapper):
        return
    if stream.isatty():
        stream.reconfigure(errors="backslashreplace")
    else:
        stream.reconfigure(encoding="utf-8", errors="surrogateescape")
