"""UTF-8 validation in bulk."""

from __future__ import annotations

from kcodec._impl import kernel
from kcodec.arguments import Buffer
from kcodec.wire.slices import column


def validate_utf8(data: Buffer, offsets: Buffer | None = None, *, size: int | None = None) -> None:
    """Check that every element of a column is valid UTF-8.

    Strict, as Unicode and RFC 3629 have it: no surrogates, no overlong forms, nothing above U+10FFFF, no
    sequence that is cut at an element's end.

    Parameters
    ----------
    data : buffer
        The elements, one after the other.
    offsets : array of int32 or int64, optional
        Where each element starts, and where the last one ends.
    size : int, optional
        Bytes of each element, instead of offsets.

    Raises
    ------
    DecodeError
        ``invalid_utf8``: ``row`` is the index of the first bad element, ``offset`` its first byte in data.
    ValueError
        The offsets do not ascend within the data.

    Examples
    --------
    >>> validate_utf8("smør".encode(), [0, 2, 5])
    >>> validate_utf8("smør".encode(), [0, 3, 5])
    Traceback (most recent call last):
        ...
    kcodec.errors.DecodeError: invalid_utf8: row 0, byte 0: the text is not valid UTF-8
    """
    kernel("wire.buffers._utf8").validate(column(data, offsets, size))
