"""Bytes: kernels on buffers.

Every function works on whole columns, on NumPy arrays and anything with the buffer protocol, in compiled
code without the GIL. What is wrong with the bytes raises `kcodec.DecodeError`, whose ``row`` is the index
of the first bad element and whose ``offset`` is where that element begins in the data.
"""

from kcodec.wire.checksum import crc32c, crc32c_slices
from kcodec.wire.decimal import decimals_from_arrow, decimals_from_text, decimals_to_arrow, decimals_to_text
from kcodec.wire.endian import read_fixed, write_fixed
from kcodec.wire.framing import (
    Frames,
    MessageIndexes,
    decode_message_indexes,
    encode_message_indexes,
    join_frames,
    split_frames,
)
from kcodec.wire.slices import Slices
from kcodec.wire.utf8 import validate_utf8
from kcodec.wire.varint import decode_varints, encode_varints

__all__ = [
    "Frames",
    "MessageIndexes",
    "Slices",
    "crc32c",
    "crc32c_slices",
    "decimals_from_arrow",
    "decimals_from_text",
    "decimals_to_arrow",
    "decimals_to_text",
    "decode_message_indexes",
    "decode_varints",
    "encode_message_indexes",
    "encode_varints",
    "join_frames",
    "read_fixed",
    "split_frames",
    "validate_utf8",
    "write_fixed",
]
