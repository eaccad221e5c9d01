"""Keys of encrypted fields: what a DEK registry keeps, and what a key management service does with it."""
