"""Values in Avro's JSON encoding, read and written."""
