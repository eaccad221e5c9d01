"""The codecs of record batches, with what Kafka's own forms of them add.

All of them are pyarrow's; cramjam, where it is installed, expands gzip and snappy faster, to the same bytes. Kafka
frames snappy as the xerial library does::

    82 53 4E 41 50 50 59 00 | int32 version | int32 oldest version that can read it | blocks
    block: int32 compressed size | raw snappy

and sums up the header of an LZ4 frame wrongly in messages of magic 0: the magic number of the frame is included.
"""

import struct
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pyarrow as pa

from kcodec.errors import CODES, ConfigError, check_choice, is_whole
from kcodec.wire.single import read as read_varint

try:
    import cramjam
except ImportError:
    cramjam = None  # type: ignore[assignment]

#: Names of the codecs, as in Kafka's ``compression.type``, by their number in a batch's attributes.
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

_XERIAL = b"\x82SNAPPY\0"
_XERIAL_HEADER = _XERIAL + struct.pack(">ii", 1, 1)
_XERIAL_BLOCK = 32 * 1024
#: Room that is made at first where nothing tells the size: for the usual batch, whatever its ratio.
_FIRST = 256 * 1024
_GZIP = b"\x1f\x8b"
_LZ4_MAGIC = b"\x04\x22\x4d\x18"
#: Version 1, independent blocks, of 64 KiB at most; and the sum of these two bytes.
_LZ4_HEADER = _LZ4_MAGIC + b"\x60\x40\x82"
_LZ4_BLOCK = 64 * 1024
#: The longest copy of raw snappy makes 64 bytes of 3.
_SNAPPY_RATIO = 22
#: The shortest copy of deflate makes 258 bytes of 2 bits.
_DEFLATE_RATIO = 1032
_GZIP_SMALLEST = 18
_FAILURES = (OSError, ValueError, pa.ArrowException, *([cramjam.DecompressionError] if cramjam else []))
#: What the libraries of LZ4 and zstd name a lack of memory, of which Arrow makes an `OSError`, as of damage.
_LACKS = ("ERROR_allocation_failed", "Allocation error : not enough memory")
_LEVELS = {"gzip": (1, 9), "lz4": (1, 12), "zstd": (-(1 << 17), 22)}


class CompressionError(ValueError):
    """Compressed data that is damaged, or a codec that magic does not have."""


class SizeLimitError(CompressionError):
    """Compressed data that expands to more than it may."""


class Expanded:
    """A buffer of up to `limit` bytes to which compressed data is expanded, one piece after the other."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.size = 0
        self.buffer = pa.allocate_buffer(0, resizable=True)

    def append(self, codec: int, data: pa.Buffer, magic: int = 2) -> tuple[int, int]:
        """Expand one piece; return where it starts and ends in `buffer`.

        Raise `CompressionError`, and append nothing, if the data is damaged or its codec unknown.
        """
        start = self.size
        try:
            if codec == 2:
                self._snappy(data)
            elif codec == 1:
                self._gzip(data)
            elif codec == 3 or (codec == 4 and magic == 2):
                if codec == 3 and magic == 0:
                    data = pa.py_buffer(_with_header_sum(data.to_pybytes(), 4))
                self._stream(CODECS[codec], data)
            else:
                raise CompressionError(f"codec {codec} of magic {magic}")
        except (CompressionError, MemoryError):
            # Arrow's lack of memory is one of its errors too, but tells nothing of the data.
            self.size = start
            raise
        except _FAILURES as error:
            self.size = start
            if str(error).endswith(_LACKS):
                raise MemoryError(str(error)) from error
            raise CompressionError(str(error)) from error
        return start, self.size

    def finish(self) -> pa.Buffer:
        """Return all pieces."""
        self.buffer.resize(self.size, shrink_to_fit=True)
        # The buffer's own memoryview would have the size it was made with.
        return self.buffer.slice(0)

    def _room(self, size: int) -> None:
        if size > self.limit - self.size:
            raise SizeLimitError(f"more than {self.limit} bytes")
        if self.size + size > self.buffer.size:
            before = self.buffer
            wanted = max(self.size + size, min(2 * before.size, self.limit))
            self.buffer = pa.allocate_buffer(wanted, resizable=True)
            memoryview(self.buffer)[: self.size] = memoryview(before)[: self.size]

    def _next(self, size: int) -> memoryview:
        return memoryview(self.buffer)[self.size : self.size + size]

    def _snappy(self, data: pa.Buffer) -> None:
        self._room(min(max(2 * data.size, _FIRST), self.limit - self.size))
        codec = pa.Codec("snappy")
        for block in _xerial_blocks(data) if _start(data, 8) == _XERIAL else (data,):
            size = _snappy_size(block)
            self._room(size)
            if cramjam:
                cramjam.snappy.decompress_raw_into(block, self._next(size))
            else:
                self._next(size)[:] = memoryview(codec.decompress(block, size))
            self.size += size

    def _gzip(self, data: pa.Buffer) -> None:
        if data.size and _start(data, 2) != _GZIP:
            # Arrow takes zlib's header for one, too.
            raise CompressionError("no gzip member")
        if cramjam and data.size >= _GZIP_SMALLEST:
            # The size of the last member, which nearly always is the only one.
            size = int.from_bytes(data.slice(data.size - 4).to_pybytes(), "little")
            if size <= min(_DEFLATE_RATIO * data.size, self.limit - self.size):
                self._room(size)
                with suppress(cramjam.DecompressionError), self._next(size) as place:
                    if cramjam.gzip.decompress_into(data, place) == size:
                        self.size += size
                        return
        self._stream("gzip", data)

    def _stream(self, codec: str, data: pa.Buffer) -> None:
        with pa.CompressedInputStream(pa.BufferReader(data), codec) as stream:
            wanted = max(4 * data.size, _FIRST)
            while True:
                self._room(min(wanted, self.limit - self.size))
                with memoryview(self.buffer) as view:
                    self.size += stream.readinto(view[self.size :])
                if self.size < self.buffer.size:
                    return
                if self.size == self.limit:
                    if stream.read(1):
                        raise SizeLimitError(f"more than {self.limit} bytes")
                    return
                wanted = self.size


def _start(data: pa.Buffer, size: int) -> bytes:
    return data.slice(0, min(size, data.size)).to_pybytes()


def _xerial_blocks(data: pa.Buffer) -> Iterator[pa.Buffer]:
    # Versions are not looked at: some brokers write them in the other byte order.
    at = 16
    if data.size < at:
        raise CompressionError("the header of xerial snappy is cut")
    while at < data.size:
        if data.size - at < 4:
            raise CompressionError("the size of a block is cut")
        (size,) = struct.unpack(">i", data.slice(at, 4))
        at += 4
        if not 0 <= size <= data.size - at:
            raise CompressionError("a block is cut")
        yield data.slice(at, size)
        at += size


def _snappy_size(block: pa.Buffer) -> int:
    """Read the size that a block of raw snappy starts with."""
    size, _, code = read_varint(_start(block, 5), 0, 32)
    if code:
        raise CompressionError(f"the size of a snappy block: {CODES[code]}")
    if size > _SNAPPY_RATIO * block.size:
        raise CompressionError("a block claims to expand to more than snappy can")
    return size


def compress(codec: str, data: Any, level: int | None = None, magic: int = 2) -> bytes:
    """Compress the records of a batch, or a message set, in the form that Kafka's own clients write.

    Raise `ConfigError` if the codec is unknown, does not exist in that magic, or has no such level.
    """
    check_choice("compression", codec, CODECS)
    if codec == "zstd" and magic < 2:
        raise ConfigError("zstd needs magic 2")
    if level is not None:
        low, high = _LEVELS.get(codec, (0, -1))
        if not is_whole(level) or not low <= level <= high:
            raise ConfigError(
                f"level={level!r} is not one of {codec}'s" + (f": {low} to {high}" if high else "")
            )
    if codec == "none":
        return bytes(data)
    if codec == "snappy":
        view = memoryview(data)
        snappy = pa.Codec("snappy")
        blocks = [
            snappy.compress(view[at : at + _XERIAL_BLOCK], asbytes=True)
            for at in range(0, len(view), _XERIAL_BLOCK)
        ]
        return _XERIAL_HEADER + b"".join(struct.pack(">i", len(block)) + block for block in blocks)
    if codec == "lz4":
        frame = _lz4_frame(memoryview(data), level)
        return _with_header_sum(frame, 0) if magic == 0 else frame
    return pa.Codec(codec, level).compress(data, asbytes=True)


def _lz4_frame(data: memoryview, level: int | None) -> bytes:
    """Write an LZ4 frame of blocks that do not depend on each other: Kafka reads no others.

    ::

        magic number | flags | block size | sum | blocks: int32 LE size, its highest bit set if not compressed, data | 0
    """
    codec = pa.Codec("lz4_raw", level)
    parts: list[Any] = [_LZ4_HEADER]
    for at in range(0, len(data), _LZ4_BLOCK):
        plain = data[at : at + _LZ4_BLOCK]
        block = codec.compress(plain, asbytes=True)
        if len(block) < len(plain):
            parts += [struct.pack("<I", len(block)), block]
        else:
            parts += [struct.pack("<I", len(plain) | 1 << 31), plain]
    return b"".join([*parts, bytes(4)])


def _with_header_sum(frame: bytes, start: int) -> bytes:
    """Return an LZ4 frame with the sum of its header from a byte on: 4 as its specification says.

    The header is the magic number, flags, block size, where bit 3 of the flags is set the content's size in 8
    bytes, and the sum: the second byte of XXH32.
    """
    if len(frame) < 7 or not frame.startswith(_LZ4_MAGIC):
        raise CompressionError("no LZ4 frame")
    end = 14 if frame[4] & 8 else 6
    if len(frame) <= end:
        raise CompressionError("the header of the LZ4 frame is cut")
    return frame[:end] + bytes([_xxh32(frame[start:end]) >> 8 & 0xFF]) + frame[end + 1 :]


def _xxh32(data: bytes) -> int:
    """Sum up less than 16 bytes with XXH32, seed 0."""
    mask = 0xFFFFFFFF

    def rotate(value: int, bits: int) -> int:
        return (value << bits | value >> 32 - bits) & mask

    total = 0x165667B1 + len(data)
    words = len(data) // 4
    for (word,) in struct.iter_unpack("<I", data[: 4 * words]):
        total = rotate((total + word * 0xC2B2AE3D) & mask, 17) * 0x27D4EB2F & mask
    for byte in data[4 * words :]:
        total = rotate((total + byte * 0x165667B1) & mask, 11) * 0x9E3779B1 & mask
    total = (total ^ total >> 15) * 0x85EBCA77 & mask
    total = (total ^ total >> 13) * 0xC2B2AE3D & mask
    return total ^ total >> 16
