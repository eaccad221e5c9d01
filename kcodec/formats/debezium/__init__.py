"""Debezium: the types that its schemas name, and its envelopes."""
