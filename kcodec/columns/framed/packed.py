"""Payloads that are compressed one by one, behind a byte that says so: as they were, and back."""

import zlib

import pyarrow as pa

from kcodec.columns.framed._frames_py import told_id
from kcodec.columns.framed.frames import KeyedFrames
from kcodec.errors import CODES, Fault
from kcodec.frames import Frame

#: Bytes of an array whose offsets have 32 bits.
_MAX_BYTES = (1 << 31) - 1
_DAMAGED = "the payload is not what zlib compresses"
_FULL = "the payloads of these rows have more than 2 GiB once they are no longer compressed"


def unpacked(
    values: pa.Array, frames: KeyedFrames, frame: Frame, max_expansion: int
) -> tuple[pa.Array, list[Fault]]:
    r"""Return values whose frames say that no payload is compressed, as binary, and the rows that cannot be had.

    The frame is one with a byte of compression. A row may grow by `max_expansion` bytes; those that cannot be had are
    null.

    >>> from kcodec.columns.framed.frames import decode_frames
    >>> from kcodec.frames import GLUE
    >>> values = pa.array([b"\x03\x05" + bytes(16) + zlib.compress(b"text")])
    >>> made, faults = unpacked(values, decode_frames(values, frame=GLUE), GLUE, 1 << 20)
    >>> made[0].as_py() == b"\x03\x00" + bytes(16) + b"text", faults
    (True, [])
    """
    selector = memoryview(frames.selector).cast("i")
    rows = values.cast(pa.large_binary()).to_pylist()
    faults: list[Fault] = []
    size, mark = frame.size, len(frame.prefix)
    room = max(0, _MAX_BYTES - sum(len(row) for row in rows if row is not None))
    for at, number in enumerate(selector):
        if number < 0 or not frames.packed[number]:
            continue
        row = rows[at]
        limit = min(max_expansion, room)
        code, reason, payload = _inflated(row[size:], len(row) - size + limit)
        if code == "size_limit" and limit < max_expansion:
            reason = _FULL
        if code:
            key = frames.keys[number]
            name = key[0] if isinstance(key, tuple) else key
            faults.append(Fault(at, size, "", code, reason, told_id(name, frame.layout)))
            rows[at] = None
            continue
        room -= len(payload) - (len(row) - size)
        rows[at] = row[:mark] + b"\0" + row[mark + 1 : size] + payload
    return pa.array(rows, pa.binary()), faults


def _inflated(data: bytes, limit: int) -> tuple[str, str, bytes]:
    """Return the code and the reason of an error, or empty texts, and what was compressed.

    What follows the compressed bytes is passed over, as by Java's Inflater.
    """
    stream = zlib.decompressobj()
    try:
        # One byte more than is allowed tells what ends there from what does not.
        found = stream.decompress(data, limit + 1)
    except zlib.error:
        return "compression", _DAMAGED, b""
    if len(found) > limit:
        return "size_limit", CODES["size_limit"], b""
    return ("", "", found) if stream.eof else ("compression", _DAMAGED, b"")


def packed(values: pa.Array, frame: Frame) -> pa.Array:
    """Compress what stands behind the frames of values."""
    size = frame.size
    rows = [None if row is None else row[:size] + zlib.compress(row[size:]) for row in values.to_pylist()]
    return pa.array(rows, values.type)
