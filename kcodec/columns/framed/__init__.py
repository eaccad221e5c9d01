"""Columns of frames: their keys, what is said of others, and payloads that are compressed."""
