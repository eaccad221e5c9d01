"""Documents that strict reading refuses and Jackson reads: UTF-16 and UTF-32, NaN and infinities."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from kcodec.columns.arrays.nested import replace_rows
from kcodec.columns.framed.frames import payload_start
from kcodec.errors import Fault
from kcodec.java.jackson import JacksonError, read_tree, write_tree

#: What may be wrong with such a document for the strict reader.
_CODES = ("json_syntax", "invalid_utf8", "truncated", "trailing_bytes")
#: What it then holds: numbers that are none; a byte order mark or a zero stands at its beginning.
_WORDS = (b"NaN", b"INF", b"Infinity")


class Rereading(NamedTuple):
    """What the kernel was called with, to read some rows again: `selector` says by which of the programs."""

    module: Any
    programs: Sequence[Any]
    values: pa.Array
    selector: Any
    starts: Any

    def is_odd(self, fault: Fault) -> bool:
        """Return whether the document of a fault can be read after all."""
        text = _strict_text(self.values, self.starts, fault)
        return text is not None and not self._read([fault.row], [text])[1]

    def rows(self, array: pa.Array, faults: Sequence[Fault]) -> tuple[pa.Array, list[Fault]]:
        """Read the rows again that only seem not to be JSON; return the array with their values, and the other faults.

        The array and its faults are what the kernel made of the values.
        """
        texts = {fault.row: _strict_text(self.values, self.starts, fault) for fault in faults}
        rows = [row for row, text in texts.items() if text is not None]
        if not rows:
            return array, list(faults)
        found, wrong = self._read(rows, [texts[row] for row in rows])
        bad = {fault.row for fault in wrong}
        good = [number for number in range(len(rows)) if number not in bad]
        read = [rows[number] for number in good]
        if read:
            array = replace_rows(array, read, found.take(pa.array(good, pa.int64())))
        return array, [fault for fault in faults if fault.row not in read]

    def _read(self, rows: Sequence[int], texts: Sequence[bytes | None]) -> tuple[pa.Array, Sequence[Fault]]:
        selector = None
        if self.selector is not None:
            selector = np.frombuffer(self.selector, np.int32)[list(rows)]
        return self.module.decode(pa.array(texts, pa.binary()), self.programs, selector=selector)


def _strict_text(values: pa.Array, starts: Any, fault: Fault) -> bytes | None:
    """Return the document of a fault in a form that the strict reader takes; None if Jackson refuses it, too."""
    if fault.code not in _CODES:
        return None
    data = values[fault.row].as_py()
    data = data.encode() if isinstance(data, str) else data
    data = data[payload_start(starts, fault.row) :]
    head = data[:4]
    is_wide = 0 in head or head[:2] in (b"\xfe\xff", b"\xff\xfe")
    if not is_wide and fault.code != "invalid_utf8" and not any(word in data for word in _WORDS):
        return None
    try:
        tree = read_tree(data, nonfinite=True)
        return None if tree is ... else write_tree(tree).encode()
    except (JacksonError, UnicodeEncodeError):
        return None
