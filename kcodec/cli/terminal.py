"""Text from files and brokers, on a terminal, which would act on its control characters."""

import io
import re
import sys
from codecs import getincrementaldecoder
from typing import Any, BinaryIO, TextIO

from kcodec.errors import ConfigError

#: Control characters but tabulators and ends of lines, and those that turn the direction of text around.
_CONTROLS = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
#: The same as they are escaped, or a little more: a backslash of the text before one is escaped itself.
_ESCAPED = r"\\(?=u(?:00[015789]|061c|20[026]|d[89a-f]))"
_FOREIGN = re.compile(f"{_CONTROLS}|{_ESCAPED}")
_JSON = re.compile(_CONTROLS)
#: Bytes that are no text, each as a surrogate, and backslashes before what reads as such a byte escaped.
_BYTES = re.compile("[\udc80-\udcff]|\\\\(?=x[0-9a-f]{2})")
#: Back to the first column, and no text from there on.
_CLEAR = "\r\x1b[K"


class Terminal:
    r"""A terminal that shows text without acting on it: control characters are escaped.

    They are written as ``\u001b``, in JSON as well, where that means the same. A backslash of the text, other than of
    JSON, that stands before what reads as one of them is ``\u005c``, so that both are told apart.

    >>> import sys
    >>> print("a\x1b[31mb", r"a\u001b", r"a\n", file=Terminal(sys.stdout))
    a\u001b[31mb a\u005cu001b a\n
    """

    def __init__(self, stream: TextIO, *, tells_backslashes: bool = True) -> None:
        self._stream = stream
        self._pattern = _FOREIGN if tells_backslashes else _JSON
        self._has_line = False

    def write(self, text: str) -> int:
        """Write text without control characters."""
        self.clear_line()
        self._stream.write(self._pattern.sub(_character, text))
        return len(text)

    def show_line(self, text: str) -> None:
        """Show a line in place of the last one that was shown so, until something is written."""
        self._stream.write(f"\r{self._pattern.sub(_character, text)}\x1b[K")
        self._stream.flush()
        self._has_line = True

    def clear_line(self) -> None:
        """Remove the line of `show_line`, before others write to the same terminal."""
        if self._has_line:
            self._has_line = False
            self._stream.write(_CLEAR)
            self._stream.flush()

    def of_json(self) -> "Terminal":
        """Return the terminal as one that is shown JSON."""
        return Terminal(self._stream, tells_backslashes=False)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Bytes(io.RawIOBase):
    """Takes UTF-8, in whatever pieces, and writes it to a stream of text."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._decoder = getincrementaldecoder("utf-8")("surrogateescape")

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._stream.write(self._decoder.decode(bytes(data)))
        return len(data)

    def flush(self) -> None:
        self._stream.flush()


def guarded(stream: TextIO, *, tells_backslashes: bool = True) -> Any:
    """Return a stream as it is, or as a `Terminal` if it is one: in a pipe or a file text stays as it is."""
    if stream is None or not stream.isatty():
        return stream
    return Terminal(stream, tells_backslashes=tells_backslashes)


def json_stream(stream: Any) -> Any:
    """Return a stream that `guarded` has returned as one for JSON, where backslashes are escaped already."""
    return stream.of_json() if isinstance(stream, Terminal) else stream


def byte_stream(stream: Any) -> Any:
    """Return what takes the bytes of text for a stream that `guarded` or `json_stream` has returned."""
    return _Bytes(stream) if isinstance(stream, Terminal) else stream.buffer


def standard_input() -> BinaryIO:
    """Return the bytes of the standard input; a process may be started without one."""
    if sys.stdin is None:
        raise ConfigError("the standard input is closed")
    return sys.stdin.buffer


def plain_text(data: bytes) -> str:
    r"""Return bytes as text: bytes that are not text as ``\xff``, and a backslash in front of such a text as ``\x5c``.

    >>> print(plain_text(b"a\xff"), plain_text(b"a\\xff"), plain_text(b"a\\b"))
    a\xff a\x5cxff a\b
    """
    text = data.decode("utf-8", "surrogateescape")
    return _BYTES.sub(lambda found: f"\\x{ord(found[0]) & 0xFF:02x}", text)


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


def _character(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
