"""Single varints in plain Python: for twins, and where a handful is read or written."""

from kcodec.arguments import Buffer


def read(data: Buffer, at: int, bits: int) -> tuple[int, int, str]:
    r"""Read one varint; return its value, the byte after it, and the error's code or ``""``.

    Examples
    --------
    >>> read(b"\x00\xac\x02", 1, 32), read(b"\xac", 0, 32)
    ((300, 3, ''), (0, 0, 'truncated'))
    """
    max_bytes = (bits + 6) // 7
    value = 0
    for length in range(max_bytes):
        if at + length >= len(data):
            return 0, at, "truncated"
        byte = data[at + length]
        value |= (byte & 0x7F) << 7 * length
        if byte < 0x80:
            return (0, at, "varint_overflow") if value >> bits else (value, at + length + 1, "")
    return 0, at, "varint_overlong"


def write(value: int) -> bytes:
    r"""Return the varint of an unsigned value.

    Examples
    --------
    >>> write(300)
    b'\xac\x02'
    """
    made = bytearray()
    while value >= 0x80:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)
