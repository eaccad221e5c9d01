"""ksqlDB's AVRO."""
