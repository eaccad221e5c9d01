"""Columns of bytes as rows: read from any layout, written row by row, some of them apart from others."""
