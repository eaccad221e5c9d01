"""Topics: which there are, what is set of them, and what their bytes look like."""
