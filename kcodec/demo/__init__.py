"""``kcodec demo``."""
