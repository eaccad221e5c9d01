"""The Confluent frame of every row, in plain Python."""

from array import array
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from kcodec.errors import CODES, Fault
from kcodec.wire._framing_py import read_frame, read_indexes, written_indexes

__all__ = ["common_frame", "decode_frames", "frame_prefix", "framed_rows"]

#: Rows of which a column's common frame is taken.
SAMPLES = 16


def decode_frames(values: pa.Array, indexes: int) -> tuple[bytearray, bytearray, list[Any], list[Fault]]:
    """Read the frame of each row; see `kcodec.columns.frames.decode_frames`."""
    selector, starts = array("i"), array("i")
    keys: dict[Any, int] = {}
    faults: list[Fault] = []
    # Binary first: columns of strings may hold bytes that are no text.
    for row, data in enumerate(values.cast(pa.large_binary()).to_pylist()):
        number, start = -1, 0
        if data is not None:
            code, size = read_frame(data)
            levels: list[int] | None = []
            end = size
            if indexes and not code:
                code, levels, end = read_indexes(data, size, zigzag=indexes == 1)
            if code and not size:
                faults.append(Fault(row, 0, "", code, CODES[code]))
                number = -2
            elif code:
                schema_id = int.from_bytes(data[1:5], "big") if size == 5 else None
                reason = f"message indexes: {CODES[code]}"
                faults.append(Fault(row, size, "", code, reason, schema_id))
                number = -2
            else:
                key: Any = int.from_bytes(data[1:5], "big") if size == 5 else bytes(data[1:17])
                key = (key, tuple(levels or ())) if indexes else key
                number, start = keys.setdefault(key, len(keys)), end
        selector.append(number)
        starts.append(start)
    return bytearray(selector.tobytes()), bytearray(starts.tobytes()), list(keys), faults


def common_frame(values: pa.Array, indexes: int) -> tuple[bytes, Any] | None:
    """Return the frame that a column's rows seem to have; see `kcodec.columns.frames.common_frame`."""
    rows = values.cast(pa.large_binary()).to_pylist()
    present = next((row for row, data in enumerate(rows) if data is not None), len(rows))
    _, ends, keys, _ = decode_frames(values.slice(present, 1), indexes)
    if not keys:
        return None
    prefix = rows[present][: memoryview(ends).cast("i")[0]]
    looked_at = rows[present + 1 :: 1 + len(rows) // SAMPLES]
    return (prefix, keys[0]) if all(row is None or row.startswith(prefix) for row in looked_at) else None


def framed_rows(values: pa.Array, numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Find rows that look framed; see `kcodec.columns.frames.framed_rows`."""
    found = []
    for at, number in enumerate(numbers):
        # Binary first: columns of strings may hold bytes that are no text.
        value = values.slice(number, 1).cast(pa.large_binary())[0].as_py()
        if value and len(value) > 5 and not value[0] and 0 < int.from_bytes(value[1:5], "big") < 1 << 24:
            found.append((at, int.from_bytes(value[1:5], "big")))
    return found


def frame_prefix(key: int | bytes, indexes: Sequence[int]) -> bytes:
    """Return the bytes in front of a payload; see `kcodec.columns.frames.frame_prefix`."""
    prefix = b"\0" + key.to_bytes(4, "big") if isinstance(key, int) else b"\1" + key
    if len(prefix) not in (5, 17):
        raise ValueError("a GUID has 16 bytes")
    return prefix + (written_indexes(indexes, 0) if indexes else b"")
