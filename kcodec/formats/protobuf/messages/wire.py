"""Tags, varints, lengths and unknown fields of one message, read and written one by one.

Readers take the data, the byte where to start, and the end of what may be read: that of the input, of the message
around or of a packed run. Errors carry the byte where the tag, varint, length or value starts that is wrong.
"""

from kcodec.plan.failure import RowError

__all__ = [
    "BYTES",
    "FIXED32",
    "FIXED64",
    "GROUP_END",
    "GROUP_START",
    "MAX_DEPTH",
    "VARINT",
    "canonical_unknown",
    "from_varint",
    "number_bytes",
    "read_length",
    "read_tag",
    "read_varint",
    "skip_field",
    "wire_type_of",
    "write_tag",
    "write_varint",
]

#: The wire types.
VARINT, FIXED64, BYTES, GROUP_START, GROUP_END, FIXED32 = range(6)
_WIRE_TYPES = {
    **dict.fromkeys(("fixed64", "sfixed64", "double"), FIXED64),
    **dict.fromkeys(("fixed32", "sfixed32", "float"), FIXED32),
    **dict.fromkeys(("string", "bytes", "message", "timestamp", "duration", "raw"), BYTES),
    "group": GROUP_START,
}
#: How many messages, groups and map entries may stand in each other inside the outermost message.
MAX_DEPTH = 100
#: In which order fields of one unknown number are written.
_ORDER = {VARINT: 0, FIXED32: 1, FIXED64: 2, BYTES: 3, GROUP_START: 4}


def wire_type_of(kind: str) -> int:
    """Return the wire type of values of a field, by its type in a schema or its kind in a plan."""
    return _WIRE_TYPES.get(kind, VARINT)


def read_varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Return the low 64 bits of a varint of up to ten bytes, padded ones included, and the byte after it.

    >>> read_varint(bytes.fromhex("ac02"), 0, 2), read_varint(bytes.fromhex("808000"), 0, 3)
    ((300, 2), (0, 3))
    """
    value = 0
    for length in range(10):
        if at + length >= end:
            raise RowError("truncated", at)
        byte = data[at + length]
        value |= (byte & 0x7F) << 7 * length
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at + length + 1
    raise RowError("varint_overlong", at)


def read_tag(data: bytes, at: int, end: int) -> tuple[int, int, int]:
    """Return a field's number, its wire type, and the byte after the tag."""
    tag, after = read_varint(data, at, end)
    if tag >> 32:
        raise RowError("varint_overflow", at)
    number, wire_type = tag >> 3, tag & 7
    if not number or wire_type > FIXED32:
        raise RowError("invalid_tag", at)
    return number, wire_type, after


def read_length(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Return a length for which there are as many bytes, and the byte after it."""
    length, after = read_varint(data, at, end)
    if length & 1 << 31:
        raise RowError("negative_length", at)
    if length >> 32:
        raise RowError("varint_overflow", at)
    if length > end - after:
        raise RowError("truncated", at)
    return length, after


def skip_field(data: bytes, at: int, end: int, number: int, wire_type: int, depth: int) -> int:
    """Return the byte after a field.

    It is given the byte after the field's tag, which is not that of a group's end, and the end of the message around
    it. `depth` is how many groups may stand in each other here, the field itself included.
    """
    groups: list[int] = []
    while True:
        if wire_type == VARINT:
            at = read_varint(data, at, end)[1]
        elif wire_type == BYTES:
            length, at = read_length(data, at, end)
            at += length
        elif wire_type == GROUP_START:
            if len(groups) >= depth:
                raise RowError("depth_limit", at)
            groups.append(number)
        elif wire_type != GROUP_END:
            size = 8 if wire_type == FIXED64 else 4
            if size > end - at:
                raise RowError("truncated", at)
            at += size
        if not groups:
            return at
        tag = at
        number, wire_type, at = read_tag(data, at, end)
        if wire_type == GROUP_END and number != groups.pop():
            raise RowError("invalid_tag", tag)


def from_varint(kind: str, value: int) -> int:
    """Return the number, or the boolean, of a type that is written as a varint; those of 32 bits are cut to them.

    >>> from_varint("sint32", 3), from_varint("int32", 2**32 - 1), from_varint("bool", 2)
    (-2, -1, True)
    """
    if kind == "bool":
        return value != 0
    bits = 64 if kind.endswith("64") else 32
    value &= (1 << bits) - 1
    if kind.startswith("sint"):
        return value >> 1 ^ -(value & 1)
    return value - (value >> bits - 1 << bits) if kind in ("int32", "int64", "enum") else value


def number_bytes(kind: str, value: int) -> bytes:
    """Return the bytes of a number or boolean; an unsigned one may be given as the signed one of the same bits.

    >>> number_bytes("sint32", -2).hex(), number_bytes("uint32", -1).hex(), number_bytes("fixed32", 1).hex()
    ('03', 'ffffffff0f', '01000000')
    """
    wire_type = wire_type_of(kind)
    if wire_type != VARINT:
        size = 4 if wire_type == FIXED32 else 8
        return (value & (1 << 8 * size) - 1).to_bytes(size, "little")
    if kind.startswith("sint"):
        value = value << 1 ^ value >> 63
    out = bytearray()
    write_varint(out, value & (1 << (32 if kind == "uint32" else 64)) - 1)
    return bytes(out)


def write_varint(out: bytearray, value: int) -> None:
    """Append the shortest varint of an unsigned value."""
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def write_tag(out: bytearray, number: int, wire_type: int) -> None:
    """Append the tag of a field."""
    write_varint(out, number << 3 | wire_type)


def check_fields(data: bytes) -> None:
    """Check that bytes are whole fields, of any message."""
    at = 0
    while at < len(data):
        tag = at
        number, wire_type, at = read_tag(data, at, len(data))
        if wire_type == GROUP_END:
            raise RowError("invalid_tag", tag)
        at = skip_field(data, at, len(data), number, wire_type, MAX_DEPTH)


def canonical_unknown(data: bytes) -> bytes:
    """Return whole unknown fields as protobuf-java writes them back.

    They are sorted by number; within a number varints, 32 bits, 64 bits, lengths and groups, each kind in the order
    given. Varints are as short as they can be; groups are sorted inside as well.

    >>> canonical_unknown(bytes.fromhex("100109000000000000000008808000")).hex()
    '08000900000000000000001001'
    """
    return _canonical(data, 0, len(data), 0, MAX_DEPTH)[0]


def _canonical(data: bytes, at: int, end: int, group: int, depth: int) -> tuple[bytes, int]:
    """Return the fields up to the end of the group of this number (of none: to the end), and the byte after."""
    fields: list[tuple[int, int, bytes]] = []
    while at < end or group:
        tag = at
        number, wire_type, at = read_tag(data, at, end)
        if wire_type == GROUP_END:
            if number != group:
                raise RowError("invalid_tag", tag)
            break
        field = bytearray()
        write_tag(field, number, wire_type)
        if wire_type == VARINT:
            value, at = read_varint(data, at, end)
            write_varint(field, value)
        elif wire_type == GROUP_START:
            if not depth:
                raise RowError("depth_limit", at)
            inner, at = _canonical(data, at, end, number, depth - 1)
            field += inner
            write_tag(field, number, GROUP_END)
        else:
            after = skip_field(data, at, end, number, wire_type, 0)
            if wire_type == BYTES:
                length, at = read_length(data, at, end)
                write_varint(field, length)
            field += data[at:after]
            at = after
        fields.append((number, _ORDER[wire_type], bytes(field)))
    fields.sort(key=lambda each: each[:2])
    return b"".join(each[2] for each in fields), at
