"""Documents that strict reading refuses and Jackson reads: UTF-16 and UTF-32, and numbers that are none."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from kcodec.columns.nested import replace_rows
from kcodec.errors import Fault
from kcodec.java.jackson import JacksonError, read_tree, write_tree

__all__ = ["read_odd_rows"]

#: What may be wrong with such a document for the strict reader.
_CODES = ("json_syntax", "invalid_utf8", "truncated")


def read_odd_rows(
    module: Any, program: Any, values: pa.Array, starts: Any, array: pa.Array, faults: Sequence[Fault]
) -> tuple[pa.Array, list[Fault]]:
    """Read the rows again that only seem not to be JSON; return the array with their values, and the other faults.

    The array and its faults are what the kernel made of the values, by one program.
    """
    begin = None if starts is None else memoryview(starts).cast("B").cast("i")
    rows, texts = [], []
    for fault in faults:
        if fault.code in _CODES:
            data = values[fault.row].as_py()
            data = data.encode() if isinstance(data, str) else data
            if begin is not None:
                data = data[begin[fault.row] :]
            try:
                tree = read_tree(data, nonfinite=True)
                text = "" if tree is ... else write_tree(tree)
                texts.append(text.encode())
            except (JacksonError, UnicodeEncodeError):
                continue
            rows.append(fault.row)
    if not rows:
        return array, list(faults)
    found, wrong = module.decode(pa.array(texts, pa.binary()), [program])
    bad = {fault.row for fault in wrong}
    good = [number for number in range(len(rows)) if number not in bad]
    if not good:
        return array, list(faults)
    read = {rows[number] for number in good}
    array = replace_rows(array, sorted(read), found.take(pa.array(good, pa.int64())))
    return array, [fault for fault in faults if fault.row not in read]
