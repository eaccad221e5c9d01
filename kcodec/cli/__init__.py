"""The console script ``kcodec``."""
