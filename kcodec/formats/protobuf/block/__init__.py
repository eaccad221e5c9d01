"""Blocks of rows, read and written a field at a time; `_decode` and `_encode` are where they begin."""
