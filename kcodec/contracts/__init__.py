"""Data contracts: what the rules that are registered with a schema do with its values."""
