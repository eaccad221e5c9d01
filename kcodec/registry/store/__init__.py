"""The parts of an embedded registry: its database, settings, ids, versions, and what a schema has to be to be taken."""
