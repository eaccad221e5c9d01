"""CRC-32C (Castagnoli), the checksum of Kafka's record batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcodec._impl import kernel
from kcodec.arguments import Buffer
from kcodec.wire.slices import column, empty

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def crc32c(data: Buffer, before: int = 0) -> int:
    """Compute the CRC-32C of a buffer.

    Parameters
    ----------
    data : buffer
        Any bytes.
    before : int, default 0
        The CRC-32C of the bytes that stand before these, to go on from.

    Returns
    -------
    int
        Unsigned, 32 bits.

    Raises
    ------
    OverflowError
        ``before`` is not an unsigned 32-bit integer.

    Examples
    --------
    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    >>> hex(crc32c(b"6789", crc32c(b"12345")))
    '0xe3069283'
    """
    if not 0 <= before <= 0xFFFFFFFF:
        raise OverflowError("before is not an unsigned 32-bit integer")
    return int(kernel("wire.buffers._crc32c").of_buffer(data, before))


def crc32c_slices(
    data: Buffer, offsets: Buffer | None = None, *, size: int | None = None
) -> NDArray[np.uint32]:
    """Compute the CRC-32C of every element of a column.

    Parameters
    ----------
    data : buffer
        The elements, one after the other.
    offsets : array of int32 or int64, optional
        Where each element starts, and where the last one ends.
    size : int, optional
        Bytes of each element, instead of offsets.

    Returns
    -------
    numpy.ndarray of uint32
        One for each element.

    Raises
    ------
    ValueError
        The offsets do not ascend within the data.

    Examples
    --------
    >>> [hex(value) for value in crc32c_slices(b"123456789a", [0, 9, 10]).tolist()]
    ['0xe3069283', '0xc1d04330']
    """
    import numpy as np

    source = column(data, offsets, size)
    out = empty(source.rows, np.uint32)
    kernel("wire.buffers._crc32c").of_slices(source, out)
    return out
