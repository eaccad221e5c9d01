"""The Confluent frame of every row, in plain Python."""

from array import array
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from kcodec.errors import CODES, Fault
from kcodec.frames import Layout, key_text
from kcodec.wire._framing_py import read_frame, read_head, read_indexes, read_named, written_indexes

__all__ = ["REASONS", "common_frame", "decode_frames", "frame_prefix", "framed_rows", "told_id"]

#: What codes mean of a frame, where that is not what they mean elsewhere.
REASONS = {"compression": "the byte of compression is neither 0 nor 5"}

#: Rows of which a column's common frame is taken.
SAMPLES = 16
#: What names a message instead of indexes: see `kcodec.columns.framed.frames.Indexes`.
NUMBER, BYTES = 3, 4
#: What files and compressed bytes begin with.
_MAGIC = (
    (b"Obj\x01", "AVRO_FILE"),
    (b"PAR1", "PARQUET"),
    (b"\x1f\x8b\x08", "GZIP"),
    (b"\x28\xb5\x2f\xfd", "ZSTD"),
    ((b'{"', b"{ ", b"{\n", b"{\r"), "JSON"),
)


def decode_frames(
    values: pa.Array, indexes: int, layout: Layout | None = None
) -> tuple[bytearray, bytearray, list[Any], list[Fault], list[bool]]:
    """Read the frame of each row; see `kcodec.columns.framed.frames.decode_frames`."""
    selector, starts = array("i"), array("i")
    keys: dict[tuple[Any, bool], int] = {}
    faults: list[Fault] = []
    # Binary first: columns of strings may hold bytes that are no text.
    for row, data in enumerate(values.cast(pa.large_binary()).to_pylist()):
        number, start = -1, 0
        if data is not None:
            name: int | bytes = 0
            packed = False
            if layout is None:
                code, size = read_frame(data)
                name = int.from_bytes(data[1:5], "big") if size == 5 else bytes(data[1:17])
            else:
                code, size, name, packed = read_head(layout, data)
            levels: list[int] | None = []
            end = size
            if indexes and not code and not packed:
                if indexes in (NUMBER, BYTES):
                    code, levels, end = read_named(data, size, is_bytes=indexes == BYTES)
                else:
                    code, levels, end = read_indexes(data, size, zigzag=indexes == 1)
            if code:
                reason = f"message indexes: {CODES[code]}" if size else REASONS.get(code, CODES[code])
                told = told_id(name, layout) if size else None
                faults.append(Fault(row, size, "", code, reason, told))
                number = -2
            else:
                key = (name, tuple(levels or ())) if indexes else name
                number, start = keys.setdefault((key, packed), len(keys)), end
        selector.append(number)
        starts.append(start)
    return (
        bytearray(selector.tobytes()),
        bytearray(starts.tobytes()),
        [key for key, _ in keys],
        faults,
        [packed for _, packed in keys],
    )


def told_id(name: int | bytes, layout: Layout | None) -> int | str | None:
    """Return the id of a row that failed as its fault has it: Confluent's GUIDs are not told."""
    return None if layout is None and isinstance(name, bytes) else key_text(name)


def common_frame(values: pa.Array, indexes: int, layout: Layout | None = None) -> tuple[bytes, Any] | None:
    """Return the frame that a column's rows seem to have; see `kcodec.columns.framed.frames.common_frame`."""
    rows = values.cast(pa.large_binary()).to_pylist()
    present = next((row for row, data in enumerate(rows) if data is not None), len(rows))
    _, ends, keys, _, packed = decode_frames(values.slice(present, 1), indexes, layout)
    if not keys or packed[0]:
        return None
    prefix = rows[present][: memoryview(ends).cast("i")[0]]
    looked_at = rows[present + 1 :: 1 + len(rows) // SAMPLES]
    return (prefix, keys[0]) if all(row is None or row.startswith(prefix) for row in looked_at) else None


def framed_rows(values: pa.Array, numbers: Sequence[int]) -> list[tuple[int, str, int | bytes]]:
    """Find rows that look framed; see `kcodec.columns.framed.frames.framed_rows`."""
    found: list[tuple[int, str, int | bytes]] = []
    for at, number in enumerate(numbers):
        # Binary first: columns of strings may hold bytes that are no text.
        value = values.slice(number, 1).cast(pa.large_binary())[0].as_py() or b""
        first, second = int.from_bytes(value[1:5], "big"), int.from_bytes(value[5:9], "big")
        if len(value) < 6:
            continue
        if not value[0] and 0 < first < 1 << 24:
            found.append((at, "CONFLUENT", first))
        elif not value[0] and len(value) >= 9 and not first and second:
            found.append((at, "APICURIO", second))
        elif value[0] == 3 and len(value) >= 18 and value[1] in (0, 5):
            found.append((at, "GLUE", value[2:18]))
        elif value[:2] == b"\xc3\x01" and len(value) >= 10:
            found.append((at, "SINGLE_OBJECT", value[2:10]))
        else:
            found += [(at, name, b"") for magic, name in _MAGIC if value.startswith(magic)]
            # Confluent's frame as text.
            if value.startswith(b"000000") and len(value) >= 10:
                found.append((at, "HEX", b""))
            if value.startswith(b"AAAA") and len(value) >= 8:
                found.append((at, "BASE64", b""))
    return found


def frame_prefix(key: int | bytes, indexes: Sequence[int]) -> bytes:
    """Return the bytes in front of a payload; see `kcodec.columns.framed.frames.frame_prefix`."""
    prefix = b"\0" + key.to_bytes(4, "big") if isinstance(key, int) else b"\1" + key
    if len(prefix) not in (5, 17):
        raise ValueError("a GUID has 16 bytes")
    return prefix + (written_indexes(indexes, 0) if indexes else b"")
