"""Kafka's log segments in Spark: the data source ``kcodec_segment``."""
