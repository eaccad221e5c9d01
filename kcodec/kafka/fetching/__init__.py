"""Fetching: where each partition is read, and the batches that brokers answer with."""
