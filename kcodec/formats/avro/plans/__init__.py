"""Plans of Avro: the steps that read or write rows."""
