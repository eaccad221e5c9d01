"""Schemas of Avro: read, compared, printed, and what they are in Arrow."""
