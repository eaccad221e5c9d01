"""The plain-Python twin of ``_crc32c``: the same functions, short and slow."""

from kcodec.arguments import Buffer
from kcodec.wire.buffers._column_py import elements
from kcodec.wire.slices import BytesColumn

_POLYNOMIAL = 0x82F63B78


def _entry(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
    return byte


_TABLE = [_entry(byte) for byte in range(256)]


def of_buffer(data: Buffer, before: int, table: bool = False) -> int:
    """Sum up one buffer; ``table`` changes nothing here."""
    value = before ^ 0xFFFFFFFF
    for byte in memoryview(data).cast("B"):
        value = _TABLE[(value ^ byte) & 0xFF] ^ value >> 8
    return value ^ 0xFFFFFFFF


def of_slices(source: BytesColumn, out: Buffer) -> None:
    """Sum up every slice of a column into 32-bit integers."""
    out = memoryview(out).cast("B").cast("I")
    if len(out) < source.rows:
        raise ValueError("no room for the sums")
    for row, _, value in elements(source):
        out[row] = of_buffer(value, 0)
