"""Columns that are written: as C structs and in plain Python, and room for what becomes of them."""
