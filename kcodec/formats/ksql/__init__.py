"""ksqlDB's formats."""
