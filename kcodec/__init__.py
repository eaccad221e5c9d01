"""Columns of Kafka bytes to Arrow columns and back."""

from kcodec.errors import ConfigError, DecodeError, EncodeError, KcodecError, RegistryError, SchemaError

__all__ = ["ConfigError", "DecodeError", "EncodeError", "KcodecError", "RegistryError", "SchemaError"]

__version__ = "0.1.0"
