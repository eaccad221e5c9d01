"""Registries and columns of orders."""

import pytest
from order_registry import V1, V2, V3, Counted, written

from kcodec.registry import Config, Schema


@pytest.fixture
def registry():
    found = Counted()
    found.set_config(Config("NONE"))
    found.calls.clear()
    return found


@pytest.fixture
def orders(registry):
    """Three versions of a schema under one subject, ids 1 to 3."""
    for text in (V1, V2, V3):
        registry.register("orders-value", Schema(text))
    registry.calls.clear()
    return registry


@pytest.fixture
def mixed():
    """Rows of three ids, interleaved."""
    ones = written(1, V1, [{"id": 1}, {"id": 4}])
    twos = written(2, V2, [{"id": 2, "note": "b"}, {"id": 5, "note": None}])
    threes = written(3, V3, [{"note": "c", "id": 3, "qty": 7}, {"note": None, "id": 6, "qty": 8}])
    return [each for row in zip(ones, twos, threes, strict=True) for each in row]
