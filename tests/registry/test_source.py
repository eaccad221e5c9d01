"""Registries of a user's own, and schemes that plugins open."""

import importlib.metadata
import inspect
import uuid

import pytest
from folder_registry import Folder, open_folder

from kcodec import Serde
from kcodec import registry as registries
from kcodec.errors import ConfigError, RegistryError
from kcodec.registry import Schema, SchemaRegistry, of
from kcodec.registry.source import PartialRegistry


def test_three_calls_are_a_registry():
    registry = of(Folder())
    assert isinstance(registry, SchemaRegistry)
    assert repr(registry) == "SourceRegistry('source://')"
    serde = Serde("AVRO", registry, topic="t", schema='"int"')
    values = serde.serialize([1, 2])
    assert values.to_pylist()[0] == b"\0\0\0\0\0\x02"
    assert Serde("AVRO", registry, topic="t").deserialize(values).to_pylist() == [1, 2]
    assert registry.get_version("t-value").schema == Schema('"int"')
    assert registry.lookup("t-value", Schema('{"type": "int"}')).id == 0
    assert (registry.versions("t-value"), registry.contexts()) == ([], ["."])
    for missing in (
        lambda: registry.get(9),
        lambda: of(Folder()).get_version("t"),
        lambda: registry.get_version("t", 1),
        lambda: registry.lookup("t", Schema('"long"')),
    ):
        with pytest.raises(RegistryError) as caught:
            missing()
        assert caught.value.missing
    registry.close()


@pytest.mark.parametrize("source", [{7: '"int"'}, {7: Schema('"int"')}.get, {7: Schema('"int"')}.__getitem__])
def test_a_lookup_is_a_registry_to_read_from(source):
    registry = of(source)
    serde = Serde("AVRO", registry, topic="t")
    assert serde.deserialize([b"\0\0\0\0\x07\x02"]).to_pylist() == [1]
    _, report = serde.deserialize([b"\0\0\0\0\x08\x02"], errors="report")
    assert report["code"].to_pylist() == ["unknown_schema_id"]
    with pytest.raises(RegistryError, match="nothing can be registered"):
        registry.register("s", Schema('"int"'))
    with pytest.raises(RegistryError) as caught:
        registry.get_version("s")
    assert caught.value.missing


@pytest.mark.parametrize(
    "key",
    [
        "01234567-89ab-cdef-0123-456789abcdef",
        "0123456789ABCDEF0123456789ABCDEF",
        uuid.UUID("0123456789abcdef0123456789abcdef"),
    ],
)
def test_guids_of_a_mapping_in_any_spelling(key):
    serde = Serde("AVRO", of({key: '"int"'}), topic="t", frame="GLUE")
    framed = b"\x03\0" + uuid.UUID(str(key)).bytes + b"\2"
    assert serde.deserialize([framed]).to_pylist() == [1]


def test_what_a_source_does_not_tell_is_refused():
    registry = of({})
    calls = {
        name for name, value in vars(SchemaRegistry).items() if inspect.isfunction(value) and name[0] != "_"
    }
    assert calls <= {*vars(PartialRegistry)}
    for name in ("subjects", "config", "set_mode", "delete_subject", "check_compatibility"):
        with pytest.raises(RegistryError, match=rf"has no {name}\(\)"):
            getattr(registry, name)("s")


@pytest.mark.parametrize("source", [None, 7, "text", b"bytes"])
def test_what_is_no_source(source):
    with pytest.raises(ConfigError, match="a source of schemas has"):
        of(source)


def test_a_source_that_answers_with_something_else():
    with pytest.raises(RegistryError, match="the schema 1 is a list, not a Schema or text"):
        of({1: []}).get(1)
    with pytest.raises(ConfigError, match="unknown schema type"):
        of([Schema("x", "THRIFT")])


class Entry:
    name, value = "lines", "package:function"

    def __init__(self, load):
        self.load = load


def test_schemes_of_plugins(monkeypatch):
    entries = [Entry(lambda: lambda url, config: of({1: f'"{config["type"]}"'}))]
    monkeypatch.setattr(
        importlib.metadata, "entry_points", lambda group: entries * (group == registries.GROUP)
    )
    assert registries.open("Lines://here", {"type": "int"}).get(1).schema.text == '"int"'
    entries[:] = [Entry(lambda: open_folder)]
    assert registries.open("lines://here").register("s", Schema('"int"')).id == 0
    with pytest.raises(ConfigError, match="apicurio://host or a plugin's"):
        registries.open("other://here")
    entries[:] = [Entry(lambda: 1 / 0)]
    with pytest.raises(ConfigError, match="what opens lines:// cannot be loaded: division"):
        registries.open("lines://here")
    entries[:] = entries * 2
    with pytest.raises(ConfigError, match="several packages open lines://"):
        registries.open("lines://here")
