"""Topics as columns, from a start to an end or without one."""
