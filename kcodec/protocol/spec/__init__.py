"""Kafka's message definitions: read, checked, compared, printed."""
