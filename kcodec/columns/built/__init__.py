"""Columns that are built: memory that grows, and what is done to columns before they become arrays."""
