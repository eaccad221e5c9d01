"""Frame, registry and codec tied together."""
