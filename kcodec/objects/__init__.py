"""Python objects of values: what all formats share in making them of bytes and in taking them apart."""
