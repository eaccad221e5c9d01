"""The plain-Python twin of ``_decimal``: the same functions, short and slow."""

import decimal
import re
from typing import Any

from kcodec.arguments import Buffer
from kcodec.wire._faults import decode_error, encode_error
from kcodec.wire.buffers._column_py import element, elements
from kcodec.wire.slices import BytesColumn

# str() of an int refuses long ones, Decimal does not; with its widest context everything is exact.
_EXACT = decimal.Context(prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
_NUMBER = re.compile(rb"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?")


def to_text(
    source: BytesColumn, first: int, scale: int, plain: bool, precision: int, out: Buffer, out_offsets: Buffer
) -> int:
    """Write the text of rows ``first`` and on, while there is room; return the row to go on with."""
    out, ends = memoryview(out).cast("B"), memoryview(out_offsets).cast("B").cast("q")
    at = ends[first]
    for row, start, value in elements(source, first):
        number = int.from_bytes(value, "big", signed=True)
        # The power may be far larger than the number.
        if number.bit_length() > 3 * precision and abs(number) >= 10**precision:
            raise decode_error("decimal_precision", row, start)
        text = _text(number, scale, plain).encode()
        if at + len(text) > len(out):
            return row
        out[at : at + len(text)] = text
        at += len(text)
        ends[row + 1] = at
    return source.rows


def from_text(
    source: BytesColumn, first: int, scale: int, precision: int, size: int, out: Buffer, out_offsets: Buffer
) -> int:
    """Write the unscaled bytes of rows ``first`` and on, while there is room; return the row to go on with."""
    out, ends = memoryview(out).cast("B"), memoryview(out_offsets).cast("B").cast("q")
    at = ends[first]
    for row, start, text in elements(source, first):
        code, number = _number(text, scale, precision)
        made = b"" if code else _bytes(number, size)
        if code or made is None:
            raise decode_error(code or "decimal_precision", row, start)
        if at + len(made) > len(out):
            return row
        out[at : at + len(made)] = made
        at += len(made)
        ends[row + 1] = at
    return source.rows


def to_slots(source: BytesColumn, precision: int, words: int, rescale: int, out: Buffer) -> None:
    """Write the Arrow slots of a column of unscaled bytes."""
    if words not in (2, 4) or not 1 <= precision <= 19 * words:
        raise ValueError("words or precision out of range")
    out = memoryview(out).cast("B")
    if len(out) < 8 * words * source.rows:
        raise ValueError("no room for the slots")
    for row, start, value in elements(source):
        code, number = _rescale(int.from_bytes(value, "big", signed=True), rescale, precision, 76)
        if code:
            raise decode_error(code, row, start)
        out[8 * words * row : 8 * words * (row + 1)] = number.to_bytes(8 * words, "little", signed=True)


def from_slots(
    slots: Any, words: int, rows: int, rescale: int, size: int, out: Buffer, out_offsets: Buffer
) -> None:
    """Write the unscaled bytes of Arrow slots: the fewest, or exactly ``size`` of them unless it is negative."""
    if words not in (2, 4) or rows < 0:
        raise ValueError("words or rows out of range")
    out, ends = memoryview(out).cast("B"), memoryview(out_offsets).cast("B").cast("q")
    at = ends[0] = 0
    for row in range(rows):
        number = int.from_bytes(element(slots, 8 * words, row), "little", signed=True)
        code, number = _rescale(number, rescale, 77 if rescale == 0 else 76, 77)
        made = b"" if code else _bytes(number, size)
        if code or made is None:
            raise encode_error(code or "decimal_precision", row)
        out[at : at + len(made)] = made
        at += len(made)
        ends[row + 1] = at


def _text(number: int, scale: int, plain: bool) -> str:
    """Follow java.math.BigDecimal.toString and toPlainString."""
    sign = "-" if number < 0 else ""
    digits = format(_EXACT.create_decimal(abs(number)), "f")
    adjusted = len(digits) - 1 - scale
    if scale == 0:
        return sign + digits
    if scale > 0 and (plain or adjusted >= -6):
        digits = digits.rjust(scale + 1, "0")
        return f"{sign}{digits[:-scale]}.{digits[-scale:]}"
    if plain:
        return sign + digits + ("0" * -scale if number else "")
    point = "." + digits[1:] if digits[1:] else ""
    return f"{sign}{digits[0]}{point}E{adjusted:+d}"


def _number(text: bytes, scale: int, precision: int) -> tuple[str, int]:
    match = _NUMBER.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        return "invalid_number", 0
    digits = (match[2] + (match[3] or b"")).lstrip(b"0")
    if not digits:
        return "", 0
    exponent = match[4] or b"0"
    # Further digits of an exponent change nothing: no precision reaches that far.
    power = int(exponent[: 1 + len(exponent) - len(exponent.lstrip(b"+-0")) + 15])
    shift = power - len(match[3] or b"") + scale
    if shift < 0:
        if -shift >= len(digits) or digits[shift:].strip(b"0"):
            return "inexact", 0
        digits = digits[:shift]
    if len(digits) + max(shift, 0) > precision:
        return "decimal_precision", 0
    number = int(_EXACT.create_decimal(digits.decode())) * 10 ** max(shift, 0)
    return "", -number if match[1] == b"-" else number


def _rescale(number: int, digits: int, precision: int, before: int) -> tuple[str, int]:
    """Multiply by ``10**digits``; refuse a value that has more digits than ``before`` to begin with."""
    if digits and abs(number) >= 10**before:
        return "decimal_precision", 0
    if number and digits < 0:
        if digits < -77 or number % 10**-digits:
            return "inexact", 0
        number //= 10**-digits
    elif number and digits > 0:
        if digits > precision:
            return "decimal_precision", 0
        number *= 10**digits
    if abs(number) >= 10**precision:
        return "decimal_precision", 0
    return "", number


def _bytes(number: int, size: int) -> bytes | None:
    """Return the fewest bytes, or exactly ``size``; None if these are too few."""
    fewest = (number if number >= 0 else ~number).bit_length() // 8 + 1
    if size < 0:
        return number.to_bytes(fewest, "big", signed=True)
    return number.to_bytes(size, "big", signed=True) if fewest <= size else None
