"""Java's numbers: as ``toString`` prints them, as ``parseInt`` and its like read them, as casts round them.

Doubles and floats are printed as since JDK 19: of the shortest texts of at least 2 digits, the nearest.
"""

import math
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from kcodec.java.blanks import trim

_INTEGER = {10: re.compile(r"([+-]?)(\d+)"), 16: re.compile(r"([+-]?)([0-9a-fA-F]+)")}
_DECIMAL = re.compile(r"([+-]?)(\d*)(\.\d*)?(?:[eE]([+-]?\d+))?")
_DOUBLE = re.compile(r"([+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?))[fFdD]?")
_HEX_DOUBLE = re.compile(
    r"(([+-]?)0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?", re.ASCII
)


def format_java_double(value: float) -> str:
    """Print a double as ``Double.toString`` does.

    >>> format_java_double(100.0), format_java_double(1e10), format_java_double(5e-324)
    ('100.0', '1.0E10', '4.9E-324')
    """
    return _format(value, round_to_double)


def format_java_float(value: float) -> str:
    """Print a float, which is given as the double of its value, as ``Float.toString`` does."""
    return _format(value, round_to_float)


def _format(value: float, read: Callable[[str], float]) -> str:
    if not math.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    value = abs(value)
    if value == 0:
        return sign + "0.0"
    texts: list[str] = []
    for size in range(2, 18):
        mantissa, _, power = f"{value:.{size - 1}e}".partition("e")
        near = int(mantissa.replace(".", ""))
        # Below a power of two the next number is closer than above it, so the nearest text may be another number's.
        texts = [f"{digits}e{int(power) - size + 1}" for digits in (near, near - 1, near + 1)]
        texts = [text for text in texts if read(text) == value]
        if texts:
            break
    digits, _, power = min(texts, key=lambda text: abs(Fraction(text) - Fraction(value))).partition("e")
    exponent = len(digits) - 1 + int(power)
    digits = digits.rstrip("0")
    if not -3 <= exponent < 7:
        return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"
    digits = "0" * -exponent + digits.ljust(exponent + 2, "0")
    point = max(exponent, 0) + 1
    return f"{sign}{digits[:point]}.{digits[point:]}"


def format_java_decimal(value: Decimal, *, plain: bool = False) -> str:
    """Print a decimal as ``BigDecimal.toString`` does, or as ``toPlainString``; there is no negative zero.

    >>> [format_java_decimal(Decimal(text)) for text in ("1.50", "1E-7", "1E+2", "-0.00")]
    ['1.50', '1E-7', '1E+2', '0.00']
    """
    value = value if value else value.copy_abs()
    return format(value, "f") if plain else str(value)


def parse_java_integer(text: str, bits: int, radix: int = 10) -> int:
    """Parse as ``parseByte``, ``parseShort``, ``parseInt`` and ``parseLong``: digits of any script, no blanks.

    What is not a number of so many bits is a `ValueError` with Java's words.
    """
    match = _INTEGER[radix].fullmatch(text)
    digits = match[2].lstrip("0") or "0" if match is not None and _is_basic(text) else "9" * 20
    # More digits are beyond all ranges, and Python does not read any number of them.
    value = int(digits, radix) if len(digits) < 20 else 1 << 64
    value = -value if text.startswith("-") else value
    if narrow_integer(value, max(bits, 32)) != value:
        raise ValueError(f'For input string: "{text}"{"" if radix == 10 else f" under radix {radix}"}')
    if narrow_integer(value, bits) != value:
        raise ValueError(f'Value out of range. Value:"{text}" Radix:{radix}')
    return value


def parse_java_double(text: str) -> float:
    """Parse as ``Double.parseDouble``, or raise `ValueError`: blanks around, hexadecimal and a suffix are allowed.

    >>> parse_java_double(" 1d"), parse_java_double("0x1p3"), parse_java_double("NaN ")
    (1.0, 8.0, nan)
    """
    text = trim(text)
    match = _DOUBLE.fullmatch(text)
    if match is not None:
        return float(match[1])
    match = _HEX_DOUBLE.fullmatch(text)
    if match is None:
        raise ValueError(f'For input string: "{text}"')
    try:
        return float.fromhex(match[1])
    except OverflowError:
        return float(match[2] + "inf")


def parse_java_decimal(text: str) -> Decimal:
    """Parse as ``new BigDecimal(text)``, or raise `ValueError`: digits of any script, no blanks."""
    match = _DECIMAL.fullmatch(text)
    sign, whole, point, exponent = match.groups("") if match is not None else ("", "", "", "")
    digits = _ascii_digits(whole + point[1:])
    power = _ascii_digits(exponent.lstrip("+-")).lstrip("0") or "0"
    if digits and len(power) <= 10 and _is_basic(text):
        shift = -int(power) if exponent.startswith("-") else int(power)
        scale = len(point[1:]) - shift
        # Both are Java's int.
        if narrow_integer(shift, 32) == shift and narrow_integer(scale, 32) == scale:
            value = Decimal(f"{digits}E{-scale}")
            return value.copy_negate() if sign == "-" and value else value
    raise ValueError(f'For input string: "{text}"')


def _is_basic(text: str) -> bool:
    """Return whether all characters are units of UTF-16: Java looks at these, and half of a pair is no digit."""
    return text.isascii() or max(text) <= "\uffff"


def _ascii_digits(digits: str) -> str:
    return digits if digits.isascii() else "".join(str(int(digit)) for digit in digits)


def round_to_double(number: float | Decimal | str) -> float:
    """Round to the nearest double, half to even; to infinity beyond the largest."""
    return float(str(number))


def round_to_float(number: int | Decimal | str) -> float:
    """Round to the nearest float of 32 bits, half to even, at once and not by way of a double."""
    wide = round_to_double(number)
    if wide == 0 or math.isinf(wide):
        return wide
    unit = Fraction(2) ** max(math.frexp(wide)[1] - 24, -149)
    near = float(round(abs(Fraction(number)) / unit) * unit)
    return math.copysign(near if near < 2.0**128 else math.inf, wide)


def integer_bounds(bits: int) -> tuple[int, int]:
    """Return the least and the greatest integer of some bits.

    >>> integer_bounds(8)
    (-128, 127)
    """
    return -1 << bits - 1, (1 << bits - 1) - 1


def narrow_integer(number: int | Decimal, bits: int) -> int:
    """Convert to an integer of some bits as Java does: towards zero, and modulo ``2**bits``.

    >>> narrow_integer(300, 8), narrow_integer(Decimal("-1.9"), 32), narrow_integer(Decimal("1e100"), 32)
    (44, -1, 0)
    """
    if isinstance(number, Decimal):
        exponent = number.as_tuple().exponent
        assert isinstance(exponent, int)
        # 10**64 and beyond are multiples of 2**64.
        number = 0 if exponent >= 64 or number.adjusted() < 0 else int(number)
    half = 1 << bits - 1
    return (number + half) % (2 * half) - half
