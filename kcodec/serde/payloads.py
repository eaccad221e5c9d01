"""Payloads that are encrypted as a whole: decrypted before they are read, encrypted once they are written."""

from collections.abc import Sequence

import pyarrow as pa

from kcodec._impl import kernel
from kcodec.columns.casts import cast_bytes
from kcodec.contracts.encryption import Ruled, decrypt_payloads, encrypt_payloads
from kcodec.contracts.keyring import Keyring
from kcodec.contracts.rules import Contract
from kcodec.errors import Fault
from kcodec.serde.frames import Framed

__all__ = ["closed", "opened"]


def opened(framed: Framed, ruled: Sequence[Ruled | None], ring: Keyring) -> tuple[Framed, list[Fault]]:
    """Return values whose encrypted payloads stand in the clear, and the rows whose payloads cannot be decrypted.

    `ruled` is what the rules do with the values of each key.
    """
    numbers = [number for number, each in enumerate(ruled) if each is not None and each.contract.payload]
    rows = framed.rows(numbers).to_pylist() if numbers else []
    if not rows:
        return framed, []
    # Most serdes need no NumPy.
    import numpy as np

    values = kernel("columns._binary").bytes_list(cast_bytes(framed.values, pa.large_binary()))
    selector = np.array(np.frombuffer(framed.selector, np.int32))
    starts = np.zeros(len(values), np.int32)
    if framed.starts is not None:
        starts[:] = np.frombuffer(framed.starts, np.int32)
    faults = []
    for number in numbers:
        each = ruled[number]
        assert each is not None
        own = [row for row in rows if selector[row] == number]
        payloads, failed = decrypt_payloads([values[row][starts[row] :] for row in own], each.contract, ring)
        for at, (row, payload) in enumerate(zip(own, payloads, strict=True)):
            if at in failed:
                selector[row] = -1
                faults.append(Fault(row, int(starts[row]), "", "encryption", failed[at]))
            else:
                values[row], starts[row] = payload, 0
    faults.sort(key=lambda fault: fault.row)
    plain = kernel("columns._binary").binary_array(values)
    plain = pa.array(values, pa.large_binary()) if plain is None else plain
    return Framed(plain, framed.keys, selector, starts, framed.faults, framed.headers, framed.used), faults


def closed(
    encoded: pa.Array, contract: Contract, ring: Keyring, prefix: bytes
) -> tuple[pa.Array, list[Fault]]:
    """Return payloads encrypted and framed, and the rows that cannot be: all of them, or none."""
    values = kernel("columns._binary").bytes_list(encoded)
    values, reason = encrypt_payloads(values, contract, ring)
    if reason:
        faults = [
            Fault(row, None, "", "encryption", reason)
            for row, value in enumerate(values)
            if value is not None
        ]
        return pa.nulls(len(encoded), encoded.type), faults
    framed = [None if value is None else prefix + value for value in values]
    array = kernel("columns._binary").binary_array(framed)
    return (pa.array(framed, encoded.type) if array is None else array.cast(encoded.type)), []
