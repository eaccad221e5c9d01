"""Users, what each may do, and a registry that is guarded by that."""

import json

import pytest
from asked import Asked
from shop_users import GRANTS, KEPT

from kcodec.registry import Schema
from kcodec.registry.memory import MemoryRegistry


@pytest.fixture
def file(tmp_path):
    """A function that writes the file of users and roles."""

    def write(**body):
        users = dict.fromkeys(("root", "shop", "owner", "reader", "nobody"), KEPT)
        path = tmp_path / "access.json"
        path.write_text(json.dumps({"users": users, "grants": GRANTS, **body}))
        return str(path)

    return write


@pytest.fixture
def ask(file):
    """A guarded registry with some subjects."""
    registry = MemoryRegistry()
    for subject, kind in (
        ("orders-value", "int"),
        ("common", "long"),
        ("hidden", "string"),
        (":.lab:x", "int"),
    ):
        registry.register(subject, Schema(f'"{kind}"'))
    asked = Asked(registry, access=file())
    yield asked
    asked.close()
