"""Conditions on records: as text, on columns, and for which offsets they can hold."""
