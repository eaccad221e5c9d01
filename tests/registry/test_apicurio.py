"""``apicurio://``, against the calls of its API that kcodec's own server answers; see also tests/services."""

import json
import pickle
from email.message import Message

import pytest
from refusals import refused
from registry_server import serve

from kcodec import ConfigError, Serde
from kcodec.errors import RegistryError
from kcodec.registry import Reference, Schema, guid
from kcodec.registry import open as open_registry
from kcodec.registry.apicurio import ApicurioRegistry
from kcodec.registry.connection import Answer
from kcodec.registry.memory import MemoryRegistry

INT, LONG, TEXT = (Schema(f'"{name}"') for name in ("int", "long", "string"))
ORDER = '{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}'
CART = Schema('{"type":"record","name":"Cart","fields":[{"name":"first","type":"Order"}]}')


@pytest.fixture
def server():
    with serve(MemoryRegistry()) as made:
        yield made


@pytest.fixture
def address(server):
    return server.url.replace("http://", "apicurio://")


@pytest.fixture
def registry(address):
    made = open_registry(address)
    yield made
    made.close()


def test_registered_and_found(registry):
    first = registry.register("s", INT)
    assert (first.version, first.subject, first.schema, first.guid) == (1, "s", INT, guid(INT))
    second = registry.register("s", LONG)
    assert registry.register("s", INT) == first
    assert registry.get(second.id).schema == LONG
    assert (
        registry.get_version("s") == registry.get_version("s", -1) == registry.get_version("s", 2) == second
    )
    assert registry.versions("s") == [1, 2]
    assert registry.versions("s", offset=1, limit=1) == [2]
    assert registry.lookup("s", INT) == first


def test_references(registry):
    registry.register("orders", Schema(ORDER))
    referring = Schema(CART.text, references=(Reference("Order", "orders", 1),))
    found = registry.register("carts", referring)
    assert registry.get(found.id).schema == referring
    assert registry.lookup("carts", referring) == found
    row = {"first": {"id": 7}}
    serde = Serde("AVRO", registry, topic="t", schema=referring, frame="APICURIO_LEGACY")
    assert serde.deserialize(serde.serialize([row])).to_pylist() == [row]


def test_groups(address, registry):
    shop = open_registry(address, {"group.id": "shop"})
    found = shop.register("s", INT)
    assert registry.get_version("shop:s").id == found.id
    assert shop.get_version("s").id == found.id
    with refused(404, 40401):
        registry.get_version("s")


@pytest.mark.parametrize("kind", ["AVRO", "JSON", "PROTOBUF"])
@pytest.mark.parametrize("use_id", ["contentId", "globalId"])
def test_formats(address, kind, use_id, impl):
    text = {
        "AVRO": ORDER,
        "JSON": '{"type":"object","properties":{"id":{"type":"integer"}}}',
        "PROTOBUF": 'syntax = "proto3"; message Order { int64 id = 1; }',
    }[kind]
    name = "JSON_SR" if kind == "JSON" else kind
    registry = open_registry(address, {"use.id": use_id})
    writer = Serde(name, registry, topic="t", schema=text, frame="APICURIO")
    values = writer.serialize([{"id": 5}])
    for reader in (Serde(name, address, topic="t", frame="APICURIO"), pickle.loads(pickle.dumps(writer))):
        assert reader.deserialize(values).to_pylist() == [{"id": 5}]
    assert registry.get_version("t-value").schema.type == kind


def test_what_is_not_there(registry):
    registry.register("s", INT)
    for ask in (
        lambda: registry.get(99),
        lambda: registry.get_version("nothing"),
        lambda: registry.get_version("s", 9),
        lambda: registry.versions("nothing"),
        lambda: registry.lookup("s", TEXT),
        lambda: registry.lookup("nothing", INT),
        lambda: registry.get_by_guid("01234567-89ab-cdef-fedc-ba9876543210"),
    ):
        with pytest.raises(RegistryError) as caught:
            ask()
        assert caught.value.missing


def test_any_bytes_may_be_ids(registry):
    """A value of another id, however large, costs its own row."""
    serde = Serde("AVRO", registry, topic="t", schema='"int"', frame="APICURIO")
    good = serde.serialize([1])[0].as_py()
    values = [b"\0" + head + good[2:] for head in (b"\x7f", b"\x01", b"\xff")] + [good]
    rows, report = serde.deserialize(values, errors="report")
    assert rows.to_pylist() == [None, None, None, 1]
    assert set(report["code"].to_pylist()) == {"unknown_schema_id"}


def test_pages_of_versions(registry, monkeypatch):
    """A server that gives all of them at once, whatever it is asked for, is asked once."""
    asked = []

    def answer(*given):
        asked.append(given)
        told = {"globalId": 1, "contentId": 1, "artifactType": "AVRO"}
        listed = [{**told, "version": str(number)} for number in range(1, 701)]
        return Answer(200, Message(), json.dumps({"versions": listed}).encode())

    monkeypatch.setattr("kcodec.registry.connection.Connections.request", answer)
    assert registry.versions("s") == [*range(1, 701)]
    assert len(asked) == 1


def test_what_is_refused(registry):
    registry.register("s", INT)
    with refused(409, 40901, "ncompatible"):
        registry.register("s", TEXT)
    with refused(422, 42201, "Invalid schema"):
        registry.register("s", Schema("nonsense"))


@pytest.mark.parametrize(
    ("url", "config", "message"),
    [
        ("apicurio://", {}, "the address of a registry"),
        ("apicurio://a,b", {}, "the address of a registry"),
        ("apicurio://host", {"use.id": "id"}, "use.id=id is not contentId or globalId"),
        ("apicurio://host", {"group": "g"}, "unknown setting"),
    ],
)
def test_settings(url, config, message):
    with pytest.raises(ConfigError, match=message):
        open_registry(url, config)


def test_addresses_and_credentials():
    handle = open_registry("apicurio+https://me:hidden@host:8443/behind/v3", {"timeout": 5})
    assert isinstance(handle, ApicurioRegistry)
    assert repr(handle) == "ApicurioRegistry('apicurio+https://host:8443/behind/v3')"
    assert repr(open_registry("APICURIO://host/")) == "ApicurioRegistry('apicurio://host')"
    assert b"hidden" not in pickle.dumps(handle)
    assert pickle.loads(pickle.dumps(handle)).url == handle.url


@pytest.mark.parametrize(
    "answer",
    [
        [],
        {},
        {"versions": {"globalId": 1}},
        {"versions": [{}]},
        {"versions": [{"globalId": 2, "contentId": 2, "artifactType": "AVRO"}]},
        {"versions": [{"globalId": "1", "contentId": 1}]},
        {"versions": [7]},
        {"versions": [{"globalId": 1, "contentId": 1, "artifactType": 5}]},
    ],
)
def test_other_answers(registry, monkeypatch, answer):
    """What is no answer of Apicurio's is an error of the registry, whoever answers."""
    found = Answer(200, Message(), json.dumps(answer).encode())
    monkeypatch.setattr("kcodec.registry.connection.Connections.request", lambda *_: found)
    with pytest.raises(RegistryError) as caught:
        registry.get(1)
    assert caught.value.error_code == 50005
