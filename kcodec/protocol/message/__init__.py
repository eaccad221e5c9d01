"""Kafka's messages as columns and as single values."""
