"""Blocks of rows, read and written a column at a time; `_decode` and `_encode` are where they begin."""
