"""The plain-Python twin of ``_utf8``: the same functions, short and slow."""

from kcodec.arguments import Buffer
from kcodec.wire._faults import decode_error
from kcodec.wire.buffers._column_py import elements


def validate(data: Buffer, offsets: Buffer, width: int, stride: int, rows: int) -> None:
    """Raise the error of the first element that is not valid UTF-8."""
    for row, start, value in elements(data, offsets, width, stride, rows):
        try:
            value.decode("utf-8")
        except UnicodeDecodeError:
            raise decode_error("invalid_utf8", row, start) from None
