"""Schemas that registries are given, and a registry that takes them."""

from kcodec.registry import Reference, Schema
from kcodec.registry.settings import Config

INT = Schema('"int"')
ORDER = Schema('{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"long"}]}')
CART = Schema(
    '{"type":"record","name":"Cart","namespace":"shop","fields":[{"name":"first","type":"Order"}]}',
    references=(Reference("shop.Order", "order", 1),),
)


def taking_all(handle):
    """Let a registry take schemas of any compatibility."""
    handle.set_config(Config("NONE"))
    return handle
