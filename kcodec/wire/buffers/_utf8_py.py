"""The plain-Python twin of ``_utf8``: the same functions, short and slow."""

from kcodec.wire._faults import decode_error
from kcodec.wire.buffers._column_py import elements
from kcodec.wire.slices import BytesColumn


def validate(source: BytesColumn) -> None:
    """Raise the error of the first element that is not valid UTF-8."""
    for row, start, value in elements(source):
        try:
            value.decode("utf-8")
        except UnicodeDecodeError:
            raise decode_error("invalid_utf8", row, start) from None
