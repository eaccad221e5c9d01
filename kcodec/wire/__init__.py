"""Bytes: kernels on buffers."""

from kcodec.wire.decimal import decimals_from_arrow, decimals_from_text, decimals_to_arrow, decimals_to_text
from kcodec.wire.slices import Slices

__all__ = ["Slices", "decimals_from_arrow", "decimals_from_text", "decimals_to_arrow", "decimals_to_text"]
