"""Groups of consumers: their offsets and members."""
