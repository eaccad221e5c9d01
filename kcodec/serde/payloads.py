"""Payloads that rules change, before they are read and once they are written."""

from collections.abc import Sequence

import pyarrow as pa

from kcodec._impl import kernel
from kcodec.columns.arrays.nested import cast_leaf
from kcodec.contracts.encryption import Ruled, decrypt_payloads, encrypt_payloads
from kcodec.contracts.keyring import Keyring
from kcodec.contracts.row_rules import Refusal
from kcodec.contracts.run_rows import run_rows
from kcodec.errors import Fault
from kcodec.serde.frames import Framed


def opened(framed: Framed, ruled: Sequence[Ruled | None], ring: Keyring) -> tuple[Framed, list[Fault]]:
    """Return values whose payloads stand in the clear and as the rules have them, and the rows that these refuse.

    `ruled` is what the rules do with the values of each key.
    """
    numbers = [
        number
        for number, each in enumerate(ruled)
        if each is not None and (each.contract.payload or each.rows is not None)
    ]
    groups = framed.grouped([[each] for each in numbers]) if numbers else []
    if not any(map(len, groups)):
        return framed, []
    # Most serdes need no NumPy.
    import numpy as np

    values = kernel("columns.rows._binary").bytes_list(cast_leaf(framed.values, pa.large_binary()))
    selector = np.array(np.frombuffer(framed.selector, np.int32))
    starts = np.zeros(len(values), np.int32)
    if framed.starts is not None:
        starts[:] = np.frombuffer(framed.starts, np.int32)
    faults = []
    for number, found in zip(numbers, groups, strict=True):
        each, own = ruled[number], found.tolist()
        assert each is not None
        payloads, failed = _opened([values[row][starts[row] :] for row in own], each, ring)
        for at, (row, payload) in enumerate(zip(own, payloads, strict=True)):
            if at in failed:
                selector[row] = -1
                faults.append(Fault(row, int(starts[row]), *failed[at]))
            else:
                values[row], starts[row] = payload, 0
    faults.sort(key=lambda fault: fault.row)
    plain = kernel("columns.rows._binary").binary_array(values)
    plain = pa.array(values, pa.large_binary()) if plain is None else plain
    return Framed(plain, framed.keys, selector, starts, framed.faults, framed.headers, framed.used), faults


def _opened(
    payloads: list[bytes], ruled: Ruled, ring: Keyring
) -> tuple[list[bytes | None], dict[int, Refusal]]:
    """Return payloads in the clear and as the rules have them; and why some are not, by their position."""
    if ruled.rows is not None:
        return run_rows(ruled.rows, payloads, ring)
    made, failed = decrypt_payloads(payloads, ruled.contract, ring)
    return made, {at: Refusal("", "encryption", reason) for at, reason in failed.items()}


def closed(encoded: pa.Array, ruled: Ruled, ring: Keyring, prefix: bytes) -> tuple[pa.Array, list[Fault]]:
    """Return payloads as the rules have them, encrypted and framed; and the rows that the rules refuse."""
    values = kernel("columns.rows._binary").bytes_list(encoded)
    if ruled.rows is not None:
        values, failed = run_rows(ruled.rows, values, ring)
    else:
        values, reason = encrypt_payloads(values, ruled.contract, ring)
        refused = [at for at, value in enumerate(values) if value is not None] if reason else []
        failed = dict.fromkeys(refused, Refusal("", "encryption", reason))
        values = [None] * len(values) if reason else values
    faults = [Fault(row, None, *refusal) for row, refusal in failed.items()]
    framed = [None if value is None else prefix + value for value in values]
    array = kernel("columns.rows._binary").binary_array(framed)
    return (pa.array(framed, encoded.type) if array is None else array.cast(encoded.type)), faults
