"""Columns of a statement as payloads and back."""
