"""Columns into topics."""
