"""Documents that strict reading refuses and Jackson reads: UTF-16 and UTF-32, NaN and infinities."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.columns.arrays.given import without_view
from kcodec.columns.arrays.nested import cast_leaf, replace_rows
from kcodec.columns.faults import Faults
from kcodec.columns.framed.frames import payload_starts
from kcodec.errors import Fault
from kcodec.java.jackson import JacksonError, read_tree, write_tree

#: What may be wrong with such a document for the strict reader.
_CODES = ("json_syntax", "invalid_utf8", "truncated", "trailing_bytes")
#: What it then holds: numbers that are none, for which this looks; or a byte order mark or a zero at its beginning.
_WORDS = ("NaN", "INF", "Infinity")


class Rereading(NamedTuple):
    """What the kernel was called with, to read some rows again: `selector` says by which of the programs."""

    module: Any
    programs: Sequence[Any]
    values: pa.Array
    selector: Any
    starts: Any

    def is_odd(self, fault: Fault) -> bool:
        """Return whether the document of a fault can be read after all."""
        texts = self._texts(Faults.of([fault]))
        return bool(texts) and not self._read(texts)[1]

    def rows(self, array: pa.Array, faults: Sequence[Fault]) -> tuple[pa.Array, Sequence[Fault]]:
        """Read the rows again that only seem not to be JSON; return the array with their values, and the other faults.

        The array and its faults are what the kernel made of the values.
        """
        every = Faults.of(faults)
        texts = self._texts(every)
        if not texts:
            return array, every
        found, wrong = self._read(texts)
        bad = {fault.row for fault in wrong}
        good = [number for number in range(len(texts)) if number not in bad]
        rows = list(texts)
        read = [rows[number] for number in good]
        if read:
            array = replace_rows(array, read, found.take(pa.array(good, pa.int64())))
        return array, every.without(pa.array(read, pa.int64()))

    def _texts(self, faults: Faults) -> dict[int, bytes]:
        """Return the documents, by their rows, that Jackson may read, in a form that the strict reader takes."""
        codes = {row: code for row, (_, code, _) in faults.by_row() if code in _CODES}
        if not codes:
            return {}
        values = cast_leaf(
            without_view(self.values).take(pa.array(list(codes), pa.int64())), pa.large_binary()
        )
        # Looked for by Arrow, as Python takes longer for a document than the rest does.
        words = functools.reduce(pc.or_, (pc.match_substring(values, word) for word in _WORDS))
        start_of = payload_starts(self.starts)
        texts: dict[int, bytes] = {}
        for (row, code), value, has_words in zip(
            codes.items(), values.to_pylist(), words.to_pylist(), strict=True
        ):
            data = value[start_of(row) :]
            text = _strict_text(data) if has_words or code == "invalid_utf8" or _is_wide(data) else None
            if text is not None:
                texts[row] = text
        return texts

    def _read(self, texts: Mapping[int, bytes]) -> tuple[pa.Array, Sequence[Fault]]:
        selector = None
        if self.selector is not None:
            selector = np.frombuffer(self.selector, np.int32)[list(texts)]
        return self.module.decode(pa.array(texts.values(), pa.binary()), self.programs, selector=selector)


def _is_wide(data: bytes) -> bool:
    """Return whether a document begins as one in UTF-16 or UTF-32."""
    head = data[:4]
    return 0 in head or head[:2] in (b"\xfe\xff", b"\xff\xfe")


def _strict_text(data: bytes) -> bytes | None:
    """Return a document that failed in a form that the strict reader takes; None if Jackson refuses it, too."""
    try:
        tree = read_tree(data, nonfinite=True)
        return None if tree is ... else write_tree(tree).encode()
    except (JacksonError, UnicodeEncodeError):
        return None
