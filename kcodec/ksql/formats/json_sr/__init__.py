"""ksqlDB's JSON_SR."""
