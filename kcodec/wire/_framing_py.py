"""The plain-Python twin of ``_framing``: the same functions, short and slow."""

from collections.abc import Sequence
from typing import Any

from kcodec.arguments import Buffer
from kcodec.frames import Layout
from kcodec.wire._faults import bad_slice, decode_error, encode_error
from kcodec.wire.buffers._column_py import elements
from kcodec.wire.single import read, write
from kcodec.wire.slices import BytesColumn

#: Levels of nested messages that indexes may name, as in ``frame.pxd``.
MAX_LEVELS = 1024


def split(
    source: BytesColumn,
    first: int,
    valid: Buffer,
    ids: Any,
    starts: Buffer,
    guids: Any,
    levels: Any,
    level_ends: Any,
) -> int:
    """Read frames from a row on; see ``_framing.pyx``."""
    valid = _flags(valid, source.rows)
    ids, starts = memoryview(ids).cast("B").cast("i"), memoryview(starts).cast("B").cast("q")
    guids, levels = memoryview(guids).cast("B"), memoryview(levels).cast("B").cast("i")
    ends = memoryview(level_ends).cast("B").cast("q")
    if len(ids) < source.rows or len(starts) < source.rows:
        raise ValueError("no room for the ids")
    used = ends[first] if ends else 0
    for row, start, value in elements(source, first):
        ids[row], end = -1, 0
        if not valid or valid[row]:
            code, end = read_frame(value)
            if code:
                raise decode_error(code, row, start)
            if end == 5:
                ids[row] = int.from_bytes(value[1:5], "big", signed=True)
            elif len(guids) < 16 * source.rows:
                return row
            else:
                guids[16 * row : 16 * row + 16] = value[1:17]
            if ends:
                code, found, end = read_indexes(value, end, len(levels) - used)
                if code:
                    raise decode_error(code, row, start)
                if found is None:
                    return row
                for level in found:
                    levels[used] = level
                    used += 1
        starts[row] = start + end
        if ends:
            ends[row + 1] = used
    return source.rows


def join(
    source: BytesColumn,
    valid: Buffer,
    keys: Any,
    key_size: int,
    one_key: bool,
    levels: Any,
    level_ends: Any,
    level_rows: int,
    out: Buffer,
    out_offsets: Buffer,
) -> None:
    """Write every row behind its frame; see ``_framing.pyx``."""
    valid = _flags(valid, source.rows)
    out, ends = memoryview(out).cast("B"), memoryview(out_offsets).cast("B").cast("q")
    levels, level_ends = memoryview(levels).cast("B").cast("i"), memoryview(level_ends).cast("B").cast("q")
    keys = memoryview(keys).cast("B")
    if key_size not in (4, 16) or len(keys) // key_size < (1 if one_key else source.rows):
        raise ValueError("too few keys")
    if len(level_ends) <= level_rows or 1 < level_rows < source.rows:
        raise ValueError("too few message indexes")
    if len(ends) < source.rows + 1:
        raise ValueError("no room for the offsets")
    at = ends[0] = 0
    for row, _, value in elements(source):
        which = 0 if level_rows == 1 else row
        if level_rows and not 0 <= level_ends[which] <= level_ends[which + 1] <= len(levels):
            raise bad_slice(row)
        if not valid or valid[row]:
            key = bytes(keys[:key_size] if one_key else keys[key_size * row : key_size * (row + 1)])
            framed = (
                b"\1" + key if key_size == 16 else b"\0" + memoryview(key).cast("I")[0].to_bytes(4, "big")
            )
            if level_rows:
                framed += written_indexes(levels[level_ends[which] : level_ends[which + 1]].tolist(), row)
            framed += value
            if at + len(framed) > len(out):
                raise ValueError("no room for the framed values")
            out[at : at + len(framed)] = framed
            at += len(framed)
        ends[row + 1] = at


def split_heads(source: BytesColumn, valid: Buffer, layout: Layout, keys: Any, starts: Buffer) -> None:
    """Read frames that are not Confluent's; see ``_framing.pyx``."""
    valid = _flags(valid, source.rows)
    keys, starts = memoryview(keys).cast("B"), memoryview(starts).cast("B").cast("q")
    size = layout.id_size
    if len(keys) // size < source.rows or len(starts) < source.rows:
        raise ValueError("no room for the ids")
    for row, start, value in elements(source):
        head = 0
        if not valid or valid[row]:
            code, head, _, _ = read_head(layout, value)
            if code:
                raise decode_error(code, row, start)
            keys[size * row : size * (row + 1)] = value[head - size : head]
        starts[row] = start + head


def join_heads(
    source: BytesColumn,
    valid: Buffer,
    heads: Any,
    head_size: int,
    one_head: bool,
    out: Buffer,
    out_offsets: Buffer,
) -> None:
    """Write every row behind its head; see ``_framing.pyx``."""
    valid = _flags(valid, source.rows)
    out, ends = memoryview(out).cast("B"), memoryview(out_offsets).cast("B").cast("q")
    heads = memoryview(heads).cast("B")
    if not 0 <= head_size <= 32 or len(heads) < head_size * (1 if one_head else source.rows):
        raise ValueError("too few heads")
    if len(ends) < source.rows + 1:
        raise ValueError("no room for the offsets")
    at = ends[0] = 0
    for row, _, value in elements(source):
        if not valid or valid[row]:
            head = heads[:head_size] if one_head else heads[head_size * row : head_size * (row + 1)]
            framed = bytes(head) + value
            if at + len(framed) > len(out):
                raise ValueError("no room for the framed values")
            out[at : at + len(framed)] = framed
            at += len(framed)
        ends[row + 1] = at


def read_frame(value: bytes) -> tuple[str, int]:
    """Return the code of an error or ``""``, and the bytes of the frame's prefix."""
    size = {0: 5, 1: 17}.get(value[0]) if value else 5
    if size is None:
        return "frame_magic", 0
    return ("frame_truncated", 0) if len(value) < size else ("", size)


def read_head(layout: Layout, value: bytes) -> tuple[str, int, int | bytes, bool]:
    """Return the code of an error or ``""``, the bytes of a frame that is not Confluent's, its id, if it is packed."""
    prefix, packs, id_size, is_number = layout
    if value[: len(prefix)] != prefix[: len(value)]:
        return "frame_magic", 0, 0, False
    at = len(prefix) + packs
    if len(value) < at + id_size:
        return "frame_truncated", 0, 0, False
    if packs and value[len(prefix)] not in (0, 5):
        return "compression", 0, 0, False
    found = value[at : at + id_size]
    name = int.from_bytes(found, "big", signed=id_size == 8) if is_number else bytes(found)
    return "", at + id_size, name, packs and value[len(prefix)] != 0


def read_named(value: bytes, at: int, *, is_bytes: bool) -> tuple[str, list[int], int]:
    """Return the code of an error or ``""``, the number of a message or the bytes that name it, and what is after."""
    code, count, at = _read_int(value, at, False)
    if code or not is_bytes:
        return code or ("out_of_range" if count < 0 else ""), [count], at
    if not 0 <= count <= MAX_LEVELS:
        return "size_limit", [], at
    found = value[at : at + count]
    return ("frame_truncated" if len(found) < count else ""), list(found), at + count


def read_indexes(
    value: bytes, at: int, room: int = MAX_LEVELS, zigzag: bool = True
) -> tuple[str, list[int] | None, int]:
    """Return the code of an error or ``""``, the levels (None for want of room), and the byte after them."""
    code, count, at = _read_int(value, at, zigzag)
    if code or count < 0 or count > MAX_LEVELS:
        return code or ("negative_length" if count < 0 else "size_limit"), None, at
    if max(count, 1) > room:
        return "", None, at
    levels = []
    for _ in range(count):
        code, level, at = _read_int(value, at, zigzag)
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


def _read_int(value: bytes, at: int, zigzag: bool) -> tuple[str, int, int]:
    raw, at, code = read(value, at, 32)
    # As in C, a varint of 32 bits is an int32 also without zigzag.
    number = raw >> 1 ^ -(raw & 1) if zigzag else raw - (raw >> 31 << 32)
    return "frame_truncated" if code == "truncated" else code, number, at


def _flags(valid: Buffer, rows: int) -> bytes:
    flags = bytes(memoryview(valid).cast("B"))
    if flags and len(flags) < rows:
        raise ValueError("valid must have an element for each row")
    return flags
