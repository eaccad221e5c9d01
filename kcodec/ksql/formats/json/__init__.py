"""ksqlDB's JSON."""
