"""A Schema Registry server: Confluent's REST API over an embedded registry, as an ASGI application."""
