"""Kafka Connect's JSON."""
