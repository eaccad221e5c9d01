"""Binary arrays as the slices that `kcodec.wire` takes and returns, and values put back into their rows."""

from typing import Any

import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.columns.types.plain import WHOLE_DECIMALS
from kcodec.wire.decimal import decimals_from_arrow
from kcodec.wire.slices import Slices

#: Digits that every integer of 64 bits holds.
_WORD_DIGITS = 18


def sliced(array: pa.Array) -> tuple[Any, Any]:
    """Return the data of an array of bytes or text, and its offsets as NumPy has them."""
    import numpy as np

    _, offsets, data = array.buffers()
    is_large = pa.types.is_large_binary(array.type) or pa.types.is_large_string(array.type)
    edges = np.frombuffer(offsets, np.int64 if is_large else np.int32)
    return data or pa.py_buffer(b""), edges[array.offset : array.offset + len(array) + 1]


def unsliced(found: Slices, kind: pa.DataType) -> pa.Array:
    """Return slices as an array of a type of bytes or text that has their offsets."""
    buffers = [None, pa.py_buffer(found.offsets), pa.py_buffer(found.data)]
    return pa.Array.from_buffers(kind, len(found.offsets) - 1, buffers)


def unscaled(array: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the unscaled bytes of decimals and how many digits each has; those of nulls may be any."""
    import numpy as np

    kind, rows = array.type, len(array)
    slots = array.buffers()[1].slice(kind.byte_width * array.offset, kind.byte_width * rows)
    found = unsliced(decimals_from_arrow(slots, bits=kind.bit_width), pa.binary())
    if kind.precision <= _WORD_DIGITS:
        words = np.frombuffer(slots, "<i8")[:: kind.byte_width // 8]
        powers = 10 ** np.arange(1, _WORD_DIGITS + 1)
        return found, pa.array(np.searchsorted(powers, np.abs(words), side="right").astype(np.int32) + 1)
    whole = pa.Array.from_buffers(WHOLE_DECIMALS[kind.bit_width], rows, [None, slots])
    return found, pc.utf8_length(pc.abs(whole).cast(pa.string()))


def placed(values: pa.Array, rows: pa.Array, count: int) -> pa.Array:
    """Put each value into a row of its own; the others of so many are null."""
    import numpy as np

    numbers, every = np.asarray(rows), np.arange(count)
    if np.array_equal(numbers, every):
        return values
    places, others = np.zeros(count, np.int64), np.ones(count, np.bool_)
    places[numbers], others[numbers] = every[: len(numbers)], False
    return values.take(pa.array(places, mask=others))
