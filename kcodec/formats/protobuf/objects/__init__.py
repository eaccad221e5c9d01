"""Avro's binary encoding to Python objects and back, by the plans that columns are read and written with."""
