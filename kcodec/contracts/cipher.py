"""Values encrypted and decrypted, one after the other, by the package ``cryptography``.

A value of AES-GCM is a nonce of 12 bytes, the encrypted bytes, and a tag of 16; one of AES-SIV a tag of 16 and the
encrypted bytes, the same for the same value. Both as Tink writes them without a prefix of its own.
"""

import binascii
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from kcodec.registry.keys.material import key_of

_NONCE = 12
#: In front of a value whose key has versions: a byte 0, and the version in four bytes, most significant first.
_VERSIONED = 5


class Cipher:
    """A key at work; it is in no ``repr``, and in no pickle.

    Its material is the key as Tink keeps it; what is no key of the algorithm is a `ValueError`. Without the package
    ``cryptography`` there is an `ImportError`.

    >>> from kcodec.registry.keys.material import new_material
    >>> cipher = Cipher("AES256_GCM", new_material("AES256_GCM"))
    >>> cipher
    <Cipher AES256_GCM>
    >>> values, failed = decrypt_values(encrypt_values([b"text", None], cipher), lambda _: cipher)
    >>> values, failed
    ([b'text', None], {})
    """

    def __init__(self, algorithm: str, material: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESSIV

        self._algorithm = algorithm
        key = key_of(algorithm, material)
        #: ``open(nonce, encrypted, None)`` and ``close(nonce, plain, None)``, with a nonce of so many bytes.
        self.open: Callable[[bytes, bytes, None], bytes]
        self.close: Callable[[bytes, bytes, None], bytes]
        if algorithm == "AES256_SIV":
            siv = AESSIV(key)
            # Tink always has one piece of associated data, though it be empty.
            self.nonce_size = 0
            self.open = lambda nonce, data, _: siv.decrypt(data, [b""])
            self.close = lambda nonce, data, _: siv.encrypt(data, [b""])
        else:
            gcm = AESGCM(key)
            self.nonce_size = _NONCE
            self.open, self.close = gcm.decrypt, gcm.encrypt

    def __repr__(self) -> str:
        return f"<Cipher {self._algorithm}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key does not pickle")


def decrypt_values(
    values: Sequence[bytes | None],
    cipher_of: Callable[[int | None], Cipher | str],
    *,
    versioned: bool = False,
    encoded: bool = False,
) -> tuple[list[bytes | None], dict[int, str]]:
    """Decrypt values; return them, None where one cannot be decrypted, and why, by its position.

    `cipher_of` returns the cipher of a version of the key, or why there is none; it is asked once for each version that
    values begin with, and for None where they are not `versioned`. Values that are `encoded` are Base64.
    """
    cipher: Cipher | str | None = None
    if not versioned and any(each is not None for each in values):
        # Nearly always all values are good: the shortest loop takes them, the other one looks for what is wrong.
        cipher = cipher_of(None)
        if not isinstance(cipher, str):
            with suppress(Exception):
                return _decrypted(values, cipher, encoded), {}
    plain: list[bytes | None] = []
    failed: dict[int, str] = {}
    known: dict[int | None, Cipher | str] = {} if cipher is None else {None: cipher}
    decode = binascii.a2b_base64
    version = None
    start = _VERSIONED if versioned else 0
    for at, value in enumerate(values):
        if value is None:
            plain.append(None)
            continue
        try:
            data = decode(value) if encoded else value
        except binascii.Error:
            _fail(plain, failed, at, "the text is not Base64")
            continue
        if versioned:
            if len(data) < _VERSIONED:
                _fail(plain, failed, at, "the value is too short to have the version of its key")
                continue
            version = int.from_bytes(data[1:_VERSIONED], "big")
        cipher = known.get(version) or cipher_of(version)
        known[version] = cipher
        if isinstance(cipher, str):
            _fail(plain, failed, at, cipher)
            continue
        behind = start + cipher.nonce_size
        try:
            plain.append(cipher.open(data[start:behind], data[behind:], None))
        except Exception:
            # InvalidTag, or what a value is refused for that is too short.
            _fail(plain, failed, at, "the value is damaged, or encrypted by another key")
    return plain, failed


def _decrypted(values: Sequence[bytes | None], cipher: Cipher, encoded: bool) -> list[bytes | None]:
    """Decrypt values, all of which are good."""
    size, opened, decode = cipher.nonce_size, cipher.open, binascii.a2b_base64
    if not encoded:
        return [None if each is None else opened(each[:size], each[size:], None) for each in values]
    return [
        None if each is None else opened((data := decode(each))[:size], data[size:], None) for each in values
    ]


def encrypt_values(
    values: Sequence[bytes | None], cipher: Cipher, *, version: int | None = None, encoded: bool = False
) -> list[bytes | None]:
    """Encrypt values: behind the version of the key if there is one, and as Base64 if that is asked for."""
    size, close = cipher.nonce_size, cipher.close
    front = b"" if version is None else b"\0" + version.to_bytes(4, "big")
    random = os.urandom(size * len(values))
    encrypted: list[bytes | None] = []
    for at, value in enumerate(values):
        if value is None:
            encrypted.append(None)
            continue
        nonce = random[at * size : at * size + size]
        made: Any = front + nonce + close(nonce, value, None)
        encrypted.append(binascii.b2a_base64(made, newline=False) if encoded else made)
    return encrypted


def _fail(plain: list[bytes | None], failed: dict[int, str], at: int, reason: str) -> None:
    plain.append(None)
    failed[at] = reason
