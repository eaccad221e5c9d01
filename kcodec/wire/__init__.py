"""Bytes: kernels on buffers."""
