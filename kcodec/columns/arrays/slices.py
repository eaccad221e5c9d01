"""Binary arrays as the slices that `kcodec.wire` takes and returns, and values put back into their rows."""

from typing import Any

import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.columns.types.plain import WHOLE_DECIMALS
from kcodec.wire.decimal import decimals_from_arrow
from kcodec.wire.slices import Slices


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
    kind, rows = array.type, len(array)
    slots = array.buffers()[1].slice(kind.byte_width * array.offset, kind.byte_width * rows)
    whole = pa.Array.from_buffers(WHOLE_DECIMALS[kind.bit_width], rows, [None, slots])
    found = unsliced(decimals_from_arrow(slots, bits=kind.bit_width), pa.binary())
    return found, pc.utf8_length(pc.abs(whole).cast(pa.string()))


def placed(values: pa.Array, rows: pa.Array, count: int) -> pa.Array:
    """Put values into rows, which `pyarrow.compute.indices_nonzero` gave; the others of so many are null."""
    import numpy as np

    every = pa.array(np.arange(count, dtype=np.uint64))
    return values if rows.equals(every) else values.take(pc.index_in(every, value_set=rows))
