"""The parts of the row loops of Protobuf: their programs, and how each field is read, filled and written."""
