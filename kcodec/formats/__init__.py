"""Formats: each turns one wire encoding into the shared columns and back."""
