"""A registry of each kind that schemas can be registered in."""

import uuid

import pytest
from registry_server import serve

from kcodec import registry as registries
from kcodec.registry.memory import MemoryRegistry


@pytest.fixture(params=["memory", "sqlite", "http"])
def registry(request, tmp_path):
    if request.param == "memory":
        yield registries.open(f"memory://{uuid.uuid4()}")
    elif request.param == "sqlite":
        handle = registries.open(f"sqlite:///{tmp_path}/schemas.db")
        yield handle
        handle.close()
    else:
        with serve(MemoryRegistry()) as server:
            handle = registries.open(server.url)
            yield handle
            handle.close()
