"""Schemas by id and by subject."""
