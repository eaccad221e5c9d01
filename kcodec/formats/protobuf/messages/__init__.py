"""Single messages by their types alone, read and written field by field."""
