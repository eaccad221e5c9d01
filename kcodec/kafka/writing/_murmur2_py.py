"""Murmur2 as Kafka's partitioner has it, in plain Python: seed 0x9747b28c, 32 bits, little-endian words."""

from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["hash_rows"]

_MASK = 0xFFFFFFFF
_M = 0x5BD1E995


def hash_rows(keys: pa.Array) -> Any:
    """Return the hash of each row as an unsigned number of 32 bits in a NumPy array; 0 for null."""
    return np.array([0 if key is None else _murmur2(key) for key in keys.to_pylist()], np.uint32)


def _murmur2(key: bytes | str) -> int:
    data = key.encode() if isinstance(key, str) else key
    words = len(data) // 4
    total = 0x9747B28C ^ len(data)
    for number in range(words):
        word = int.from_bytes(data[4 * number : 4 * number + 4], "little") * _M & _MASK
        word = (word ^ word >> 24) * _M & _MASK
        total = total * _M & _MASK ^ word
    rest = data[4 * words :]
    if rest:
        total = (total ^ int.from_bytes(rest, "little")) * _M & _MASK
    total = (total ^ total >> 13) * _M & _MASK
    return total ^ total >> 15
