"""Plans of Protobuf: the steps that read or write rows."""
