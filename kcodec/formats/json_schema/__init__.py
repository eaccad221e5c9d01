"""JSON Schema: its texts as schema registries keep and compare them."""
