"""The plain-Python twin of ``_framing``: the same functions, short and slow."""

from collections.abc import Sequence
from typing import Any

from kcodec.wire._column_py import elements
from kcodec.wire._faults import bad_slice, decode_error, encode_error
from kcodec.wire._varint_py import read, write

MAX_LEVELS = 1024


def split(
    data: Any, offsets: Any, width: int, stride: int, rows: int, valid: Any, ids: Any, starts: Any, guids: Any
) -> bool:
    """Read the prefix of every row; False if there is a GUID but no room for GUIDs."""
    valid = _flags(valid, rows)
    ids, starts = memoryview(ids).cast("B").cast("i"), memoryview(starts).cast("B").cast("q")
    guids = memoryview(guids).cast("B")
    if len(ids) < rows or len(starts) < rows:
        raise ValueError("no room for the ids")
    for row, start, value in elements(data, offsets, width, stride, rows):
        ids[row] = -1
        starts[row] = start
        if valid and not valid[row]:
            continue
        code, size = read_frame(value)
        if code:
            raise decode_error(code, row, start)
        if size == 5:
            ids[row] = int.from_bytes(value[1:5], "big", signed=True)
        elif len(guids) < 16 * rows:
            return False
        else:
            guids[16 * row : 16 * row + 16] = value[1:17]
        starts[row] += size
    return True


def indexes(
    data: Any,
    offsets: Any,
    width: int,
    stride: int,
    rows: int,
    first: int,
    valid: Any,
    starts: Any,
    values: Any,
    value_offsets: Any,
) -> int:
    """Read message indexes where rows start, and move the starts past them; the row to go on with."""
    valid = _flags(valid, rows)
    starts, ends = memoryview(starts).cast("B").cast("q"), memoryview(value_offsets).cast("B").cast("q")
    values = memoryview(values).cast("B").cast("i")
    if not 0 <= first <= rows or len(starts) < rows or len(ends) < rows + 1:
        raise ValueError("no room for the indexes")
    used = ends[first]
    for row, start, value in elements(data, offsets, width, stride, rows, first):
        if not valid or valid[row]:
            if not start <= starts[row] <= start + len(value):
                raise bad_slice(row)
            code, found, end = read_indexes(value, starts[row] - start, len(values) - used)
            if code:
                raise decode_error(code, row, start)
            if found is None:
                return row
            for level in found:
                values[used] = level
                used += 1
            starts[row] = start + end
        ends[row + 1] = used
    return rows


def join(
    data: Any,
    offsets: Any,
    width: int,
    stride: int,
    rows: int,
    valid: Any,
    keys: Any,
    key_size: int,
    one_key: bool,
    index_data: Any,
    index_offsets: Any,
    index_rows: int,
    out: Any,
    out_offsets: Any,
) -> None:
    """Write every row behind its prefix: keys are native 32-bit ids, or GUIDs of 16 bytes."""
    valid = _flags(valid, rows)
    out, ends = memoryview(out).cast("B"), memoryview(out_offsets).cast("B").cast("q")
    keys = memoryview(keys).cast("B")
    if key_size not in (4, 16) or len(keys) // key_size < (1 if one_key else rows):
        raise ValueError("too few keys")
    if 1 < index_rows < rows:
        raise ValueError("too few message indexes")
    if len(ends) < rows + 1:
        raise ValueError("no room for the offsets")
    found = (
        [value for _, _, value in elements(index_data, index_offsets, 8, 0, index_rows)] if index_rows else []
    )
    at = ends[0] = 0
    for row, _, value in elements(data, offsets, width, stride, rows):
        if not valid or valid[row]:
            key = bytes(keys[:key_size] if one_key else keys[key_size * row : key_size * (row + 1)])
            prefix = (
                b"\1" + key if key_size == 16 else b"\0" + memoryview(key).cast("I")[0].to_bytes(4, "big")
            )
            index = found[0 if len(found) == 1 else row] if found else b""
            framed = prefix + index + value
            if at + len(framed) > len(out):
                raise ValueError("no room for the framed values")
            out[at : at + len(framed)] = framed
            at += len(framed)
        ends[row + 1] = at


def write_indexes(values: Any, offsets: Any, rows: int, out: Any, out_offsets: Any) -> int:
    """Write lists of message indexes, each between two 64-bit offsets; the bytes written."""
    values, offsets = memoryview(values).cast("B").cast("i"), memoryview(offsets).cast("B").cast("q")
    out, ends = memoryview(out).cast("B"), memoryview(out_offsets).cast("B").cast("q")
    if rows < 0 or len(offsets) < rows + 1 or len(ends) < rows + 1:
        raise ValueError("too few offsets")
    if len(out) // 5 < len(values) + rows:
        raise ValueError("no room for the indexes")
    at = ends[0] = 0
    for row in range(rows):
        first, last = offsets[row], offsets[row + 1]
        if not 0 <= first <= last <= len(values):
            raise bad_slice(row)
        made = written_indexes(values[first:last].tolist(), row)
        out[at : at + len(made)] = made
        at += len(made)
        ends[row + 1] = at
    return at


def read_frame(value: bytes) -> tuple[str, int]:
    """Return the code of an error or ``""``, and the bytes of the frame's prefix."""
    size = {0: 5, 1: 17}.get(value[0]) if value else 5
    if size is None:
        return "frame_magic", 0
    return ("frame_truncated", 0) if len(value) < size else ("", size)


def read_indexes(value: bytes, at: int, room: int = MAX_LEVELS) -> tuple[str, list[int] | None, int]:
    """Return the code of an error or ``""``, the levels (None for want of room), and the byte after them."""
    code, count, at = _read_int(value, at)
    if code or count < 0 or count > MAX_LEVELS:
        return code or ("negative_length" if count < 0 else "size_limit"), None, at
    if max(count, 1) > room:
        return "", None, at
    levels = []
    for _ in range(count):
        code, level, at = _read_int(value, at)
        if code or level < 0:
            return code or "out_of_range", None, at
        levels.append(level)
    return "", levels or [0], at


def written_indexes(levels: Sequence[int], row: int) -> bytes:
    """Return the bytes of the message indexes of a row."""
    if len(levels) > MAX_LEVELS:
        raise encode_error("size_limit", row)
    if min(levels, default=0) < 0:
        raise encode_error("out_of_range", row)
    return b"\0" if list(levels) in ([], [0]) else b"".join(write(2 * n) for n in (len(levels), *levels))


def _read_int(value: bytes, at: int) -> tuple[str, int, int]:
    raw, at, code = read(value, at, 32)
    return "frame_truncated" if code == "truncated" else code, raw >> 1 ^ -(raw & 1), at


def _flags(valid: Any, rows: int) -> bytes:
    flags = bytes(memoryview(valid).cast("B"))
    if flags and len(flags) < rows:
        raise ValueError("valid must have an element for each row")
    return flags
