"""Spark functions over kcodec."""
