"""ksqlDB's DELIMITED."""
