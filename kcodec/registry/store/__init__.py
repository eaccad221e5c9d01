"""The parts of an embedded registry: its database and tables, how settings change, and how schemas become versions."""
