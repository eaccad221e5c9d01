"""The plain-Python twin of ``_varint``: the same functions, short and slow."""

from typing import Any

from kcodec.arguments import Buffer
from kcodec.wire._faults import decode_error, encode_error
from kcodec.wire.single import read, write


def count_ends(data: Buffer) -> int:
    """Count the bytes that end a varint."""
    return sum(byte < 0x80 for byte in memoryview(data).cast("B"))


def decode(data: Buffer, start: int, count: int, bits: int, zigzag: bool, out: Buffer) -> int:
    """Decode ``count`` varints from byte ``start`` on; return the byte after the last."""
    data, out = memoryview(data).cast("B"), memoryview(out).cast("B").cast("I" if bits == 32 else "Q")
    if not 0 <= start <= len(data) or count < 0:
        raise ValueError("start or count out of range")
    if len(out) < min(count, len(data) - start):
        raise ValueError("no room for the values")
    for row in range(count):
        value, end, code = read(data, start, bits)
        if code:
            raise decode_error(code, row, start)
        if zigzag:
            value = (value >> 1 ^ -(value & 1)) & ((1 << bits) - 1)
        out[row] = value
        start = end
    return start


def encode(values: Any, count: int, is_signed: bool, zigzag: bool, bits: int, out: Buffer) -> int:
    """Encode 64-bit integers; return the bytes written, at most ten (with 32 bits five) each."""
    values, out = memoryview(values).cast("B").cast("q" if is_signed else "Q"), memoryview(out).cast("B")
    if count < 0 or len(values) < count or len(out) // (5 if bits == 32 else 10) < count:
        raise ValueError("no room for the varints")
    lowest, highest = (-1 << bits - 1, (1 << bits - 1) - 1) if zigzag else (0, (1 << bits) - 1)
    at = 0
    for row in range(count):
        value = values[row]
        if not lowest <= value <= highest:
            raise encode_error("out_of_range", row)
        made = write((value << 1 ^ value >> 63) if zigzag else value)
        out[at : at + len(made)] = made
        at += len(made)
    return at


def gather(word: int, fast: bool) -> int:
    """Put the seven low bits of each byte next to each other; `fast` is for the compiled twin."""
    return sum((word >> 8 * at & 0x7F) << 7 * at for at in range(8))
