"""Avro's binary encoding."""
