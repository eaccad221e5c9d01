"""Two schemas: what differs, what of it a registry or a reader refuses, and what is lost."""
