"""The parts of the row loops of Avro: their programs, and how each value is read, passed over and written."""
