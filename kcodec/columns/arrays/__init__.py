"""Whole arrays: as users hand them in, looked through, and given other types."""
