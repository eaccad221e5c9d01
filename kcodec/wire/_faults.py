"""What the kernels raise, native and pure."""

from kcodec.errors import CODES, DecodeError, EncodeError

__all__ = ["bad_slice", "decode_error", "encode_error"]

#: By number, as in ``status.pxd``.
_CODES = ("", *CODES)


def decode_error(code: str | int, row: int, offset: int) -> DecodeError:
    """Make the error of an element that cannot be read; the code by name or by number."""
    name = _CODES[code] if isinstance(code, int) else code
    return DecodeError(row, offset, "", name, CODES[name])


def encode_error(code: str | int, row: int) -> EncodeError:
    """Make the error of an element that cannot be written; the code by name or by number."""
    name = _CODES[code] if isinstance(code, int) else code
    return EncodeError(row, None, "", name, CODES[name])


def bad_slice(row: int) -> ValueError:
    """Make the error of offsets that reach outside their data or go backwards."""
    return ValueError(f"the offsets of element {row} are not an ascending range within the data")
