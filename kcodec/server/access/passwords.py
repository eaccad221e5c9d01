"""Passwords as they are kept: scrypt's digest of them."""

import base64
import hashlib
import hmac
import os

from kcodec.errors import ConfigError

#: 2^14 blocks of 1 KiB: some 50 ms and 16 MiB for each try.
_COST, _BLOCK, _PARALLEL = 14, 8, 1

#: What nobody's password is, to try in place of that of a user who is not known.
NOBODY = f"scrypt:{_COST}:{_BLOCK}:{_PARALLEL}:AAAAAAAAAAAAAAAAAAAAAA==:{'A' * 43}="


def hashed(password: str) -> str:
    """Return what is kept of a password.

    >>> is_password("secret", hashed("secret")), is_password("Secret", hashed("secret"))
    (True, False)
    """
    salt = os.urandom(16)
    digest = _digest(password, salt, _COST, _BLOCK, _PARALLEL)
    texts = (base64.b64encode(part).decode() for part in (salt, digest))
    return ":".join(("scrypt", str(_COST), str(_BLOCK), str(_PARALLEL), *texts))


def is_password(password: str, kept: str) -> bool:
    """Return whether a password is the one whose digest is kept."""
    cost, block, parallel, salt, digest = _parts(kept)
    return hmac.compare_digest(_digest(password, salt, cost, block, parallel), digest)


def check_hash(kept: object) -> str:
    """Return a stored digest; refuse what is none, without showing it."""
    try:
        if not isinstance(kept, str):
            raise ValueError
        _parts(kept)
    except ValueError:
        raise ConfigError("a password is kept as `kcodec registry password` prints it") from None
    return kept


def _parts(kept: str) -> tuple[int, int, int, bytes, bytes]:
    kind, cost, block, parallel, salt, digest = kept.split(":")
    numbers = int(cost), int(block), int(parallel)
    if kind != "scrypt" or not (1 <= numbers[0] <= 20 and 1 <= numbers[1] <= 16 and 1 <= numbers[2] <= 4):
        raise ValueError
    return (*numbers, base64.b64decode(salt, validate=True), base64.b64decode(digest, validate=True))


def _digest(password: str, salt: bytes, cost: int, block: int, parallel: int) -> bytes:
    memory = 256 * block * ((1 << cost) + parallel)
    return hashlib.scrypt(
        password.encode(), salt=salt, n=1 << cost, r=block, p=parallel, maxmem=memory, dklen=32
    )
