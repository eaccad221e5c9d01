"""The bytes of keys, as Tink keeps them: a message of Protobuf around the key.

``AesGcmKey`` has the version as field 1, which is left out while it is 0, and the key as field 3; ``AesSivKey`` has the
key as field 2 (tink/proto/aes_gcm.proto, aes_siv.proto). Both are short, so that one byte tells a length.
"""

import os

_SIZES = {"AES128_GCM": 16, "AES256_GCM": 32, "AES256_SIV": 64}
_GCM_KEY, _SIV_KEY, _VERSION = 0x1A, 0x12, 0x08


def new_material(algorithm: str) -> bytes:
    """Return a new random key.

    >>> len(new_material("AES256_GCM"))
    34
    """
    size = _SIZES[algorithm]
    return bytes([_field(algorithm), size]) + os.urandom(size)


def key_of(algorithm: str, material: bytes) -> bytes:
    """Return the key that stands in its message; other bytes are a `ValueError`, which does not tell them.

    >>> key_of("AES128_GCM", bytes([0x1A, 16]) + bytes(range(16))).hex()
    '000102030405060708090a0b0c0d0e0f'
    """
    size = _SIZES[algorithm]
    at = 2 if material[:2] == bytes([_VERSION, 0]) else 0
    if material[at : at + 2] != bytes([_field(algorithm), size]) or len(material) != at + 2 + size:
        raise ValueError(f"the key is not one of {algorithm}")
    return material[at + 2 :]


def _field(algorithm: str) -> int:
    return _SIV_KEY if algorithm == "AES256_SIV" else _GCM_KEY
