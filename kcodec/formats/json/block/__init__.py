"""Blocks of documents, read a field at a time; `_decode` is where they begin."""
