"""Kafka's internal topics as columns."""
