"""What the functions of every format are made of: readers and writers, by a codec or a registry, and their columns."""
