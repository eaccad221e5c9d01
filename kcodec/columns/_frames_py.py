"""The Confluent prefix of every row, in plain Python."""

from array import array
from typing import Any

import pyarrow as pa

from kcodec.errors import CODES, Fault

__all__ = ["split"]

#: Magic byte -> bytes of the header, itself included.
_HEADERS = {0: 5, 1: 17}


def split(values: pa.Array) -> tuple[bytearray, bytearray, list[Any], list[Fault]]:
    """Read the frame of each row; see `kcodec.columns.frames.split`."""
    selector, starts = array("i"), array("i")
    keys: dict[Any, int] = {}
    faults: list[Fault] = []
    # Binary first: columns of strings may hold bytes that are no text.
    for row, data in enumerate(values.cast(pa.large_binary()).to_pylist()):
        number, start = -1, 0
        if data is not None:
            size = _HEADERS.get(data[0]) if data else 5
            if size is None or len(data) < size:
                code = "frame_magic" if size is None else "frame_truncated"
                faults.append(Fault(row, 0, "", code, CODES[code]))
                number = -2
            else:
                key = int.from_bytes(data[1:5], "big") if size == 5 else bytes(data[1:17])
                number, start = keys.setdefault(key, len(keys)), size
        selector.append(number)
        starts.append(start)
    return bytearray(selector.tobytes()), bytearray(starts.tobytes()), list(keys), faults
