"""A schema type of a plugin, from registration over the server to decoded columns."""

import pyarrow as pa
import pytest
from registry_server import serve
from toy_plugin import install

from kcodec import Serde
from kcodec import registry as registries
from kcodec.errors import RegistryError
from kcodec.registry import Schema
from kcodec.registry.memory import MemoryRegistry


def test_a_type_of_a_plugin(tmp_path, monkeypatch, ask):
    assert ask("GET", "/schemas/types").json == ["JSON", "PROTOBUF", "AVRO"]
    install(tmp_path, monkeypatch)
    # Those that cannot be loaded are not listed.
    assert ask("GET", "/schemas/types").json == ["JSON", "PROTOBUF", "AVRO", "TOY", "BOXED"]
    body = {"schema": " toy  2", "schemaType": "TOY"}
    found = ask("POST", "/subjects/t-value/versions", body).json
    assert (found["schema"], found["schemaType"], found["version"]) == ("toy 2", "TOY", 1)
    assert ask("POST", "/subjects/t-value", body).json["id"] == found["id"]
    narrow = {"schema": "toy 1", "schemaType": "TOY"}
    path = "/compatibility/subjects/t-value/versions/latest?verbose=true"
    assert "TOO_NARROW" in ask("POST", path, narrow).json["messages"][0]
    assert ask("POST", "/subjects/t-value/versions", narrow).fault[:2] == (409, 40901)
    assert ask("POST", "/subjects/t-value/versions", {**body, "schema": "doll"}).fault[:2] == (422, 42201)


def test_columns_of_a_plugin_through_the_server(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch)
    with serve(MemoryRegistry()) as server:
        handle = registries.open(server.url)
        written = Serde("TOY_SR", handle, topic="t", schema="toy 2").serialize(pa.array([1, None, -2]))
        handle.register("t-value", Schema("toy 4", "TOY"))
        serde = Serde("TOY_SR", handle, topic="t", reader_schema="latest")
        assert serde.deserialize(written).to_pylist() == [1, None, -2]
        with pytest.raises(RegistryError, match="TOO_NARROW"):
            handle.register("t-value", Schema("toy 1", "TOY"))
        handle.close()
