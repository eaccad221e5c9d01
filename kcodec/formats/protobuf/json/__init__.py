"""Single messages as JSON."""
