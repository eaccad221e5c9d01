"""ksqlDB's PROTOBUF."""
