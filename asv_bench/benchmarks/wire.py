"""Kernels on buffers."""

import numpy as np

from kcodec import wire

from . import ROWS


class Varints:
    """Whole arrays of varints."""

    params = (["small", "mixed"], [32, 64])
    param_names = ("values", "bits")

    def setup(self, values: str, bits: int) -> None:
        random = np.random.default_rng(1)
        size = 7 if values == "small" else bits - 1
        widths = random.integers(1, size, ROWS)
        self.values = random.integers(0, 2**62, ROWS).astype(np.int64) >> (62 - widths)
        self.values = self.values.astype(np.int32 if bits == 32 else np.int64)
        self.packed = wire.encode_varints(self.values, bits=bits)

    def time_decode(self, values: str, bits: int) -> None:
        wire.decode_varints(self.packed, bits=bits)

    def time_encode(self, values: str, bits: int) -> None:
        wire.encode_varints(self.values, bits=bits)


class Decimals:
    """Unscaled bytes, text and Arrow slots; a Python loop beside them."""

    params = ([9, 18, 38],)
    param_names = ("digits",)

    def setup(self, digits: int) -> None:
        random = np.random.default_rng(2)
        width = {9: 4, 18: 8, 38: 16}[digits]
        raw = random.integers(0, 256, (ROWS, width), np.uint8)
        raw[:, 0] >>= 5  # within the digits
        self.data, self.width = raw.tobytes(), width
        self.text = wire.decimals_to_text(self.data, scale=2, size=width)

    def time_to_text(self, digits: int) -> None:
        wire.decimals_to_text(self.data, scale=2, size=self.width)

    def time_from_text(self, digits: int) -> None:
        wire.decimals_from_text(self.text.data, self.text.offsets, scale=2)

    def time_to_arrow(self, digits: int) -> None:
        wire.decimals_to_arrow(self.data, size=self.width, precision=38)

    def time_to_text_in_a_python_loop(self, digits: int) -> None:
        from decimal import Context, Decimal

        context, width = Context(prec=60), self.width
        for first in range(0, len(self.data), width):
            number = int.from_bytes(self.data[first : first + width], "big", signed=True)
            str(Decimal(number).scaleb(-2, context))


class Bytes:
    """Text and checksums."""

    def setup(self) -> None:
        self.ascii = b"plain text of the usual kind, " * (ROWS // 10 + 1)
        self.mixed = "naïve Zürich 東京 crème jalapeño ".encode() * (ROWS // 10 + 1)

    def time_validate_ascii(self) -> None:
        wire.validate_utf8(self.ascii, size=len(self.ascii))

    def time_validate_mixed(self) -> None:
        wire.validate_utf8(self.mixed, size=len(self.mixed))

    def time_crc32c(self) -> None:
        wire.crc32c(self.mixed)


class Fixed:
    """Arrays of fixed-width numbers."""

    params = (["big", "little"],)
    param_names = ("order",)

    def setup(self, order: str) -> None:
        self.values = np.arange(ROWS, dtype=np.int64)
        self.data = wire.write_fixed(self.values, "int64", order=order)

    def time_read(self, order: str) -> None:
        wire.read_fixed(self.data, "int64", order=order)

    def time_write(self, order: str) -> None:
        wire.write_fixed(self.values, "int64", order=order)
