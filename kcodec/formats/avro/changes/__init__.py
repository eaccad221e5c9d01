"""A writer's schema and a reader's: what is read as what, and what is lost or refused."""
