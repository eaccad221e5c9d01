"""Connections to brokers: settings, authentication, errors, and who leads which partition."""
