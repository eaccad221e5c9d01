"""The registry of Azure, against answers as the service gave them, and Azure's client and encoders."""

import json
import pickle
import sys
import uuid

import pyarrow as pa
import pytest
from azure.schemaregistry.encoder.avroencoder import AvroEncoder
from azure.schemaregistry.encoder.jsonencoder import JsonSchemaEncoder
from azure_registry import Credential, azure_server
from cases import cases

from kcodec import Serde
from kcodec import registry as registries
from kcodec.errors import ConfigError, DecodeError, RegistryError
from kcodec.registry import Reference, Schema
from kcodec.registry.azure import SETTINGS

V1 = '{"type": "record", "name": "shop.R", "fields": [{"name": "id", "type": "long"}]}'
V2 = (
    '{"type": "record", "name": "shop.R", "fields": [{"name": "id", "type": "long"}, '
    '{"name": "note", "type": "string", "default": "none"}]}'
)
JSON = '{"title": "R", "type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}'
ROWS = pa.array([{"id": 7}, None, {"id": 8}], pa.struct([pa.field("id", pa.int64(), False)]))
FRAMES = [("AVRO", "AZURE"), ("JSON_SR", "AZURE_JSON_PYTHON")]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with (
        pytest.MonkeyPatch.context() as patch,
        azure_server(tmp_path_factory.mktemp("azure"), patch) as made,
    ):
        yield made


@pytest.fixture
def azure(server):
    server.schemas.clear()
    server.asked.clear()
    server.failures.clear()
    return server


@pytest.fixture
def registry(azure):
    handle = registries.open(azure.url, {"credential": Credential(), "max.retries": 0})
    yield handle
    handle.close()


def encoder(azure, format):
    """Return Azure's own encoder of a format."""
    if format == "AVRO":
        return AvroEncoder(client=azure.client(), group_name="shop", auto_register=True)
    azure.client().register_schema("shop", "R", JSON, "Json")
    return JsonSchemaEncoder(client=azure.client(), group_name="shop", validate=lambda schema, content: None)


def test_register_and_look_up(azure, registry):
    first = registry.register("orders", Schema(V1))
    second = registry.register("orders", Schema(V2))
    assert (first.id, first.version, second.version) == (None, 1, 2)
    assert first.guid == str(uuid.UUID(azure.schemas["orders"][0][0]))
    assert registry.register("orders", Schema(V1)) == first == registry.lookup("orders", Schema(V1))
    assert registry.get_by_guid(second.guid).schema == Schema(V2)
    assert registry.get_version("orders") == registry.get_version("orders", -1) == second
    assert registry.get_version("orders", 1) == first
    assert registry.versions("orders") == [1, 2]
    again = pickle.loads(pickle.dumps(registry))
    assert again.get_by_guid(first.guid).schema == Schema(V1)
    assert b"token-of-the-tests" not in pickle.dumps(registry)


def test_the_latest_of_many_versions(azure, registry):
    azure.per_page = 3
    try:
        made = [
            registry.register("orders", Schema(f'{{"type": "fixed", "name": "F", "size": {size}}}'))
            for size in range(1, 12)
        ]
        assert registry.versions("orders") == list(range(1, 12))
        assert registry.get_version("orders") == made[-1]
    finally:
        azure.per_page = 100


@pytest.mark.parametrize("kind", ["application/json; serialization=Json", "application/schema+json"])
def test_json_schemas_by_both_names(azure, registry, kind):
    made = registry.register("R", Schema(JSON, "JSON"))
    azure.json_type = kind
    assert registry.get_by_guid(made.guid).schema == Schema(JSON, "JSON")


def test_another_format(azure, registry):
    azure.schemas["C"] = [(uuid.UUID(int=5).hex, "Custom", b"any text")]
    with pytest.raises(RegistryError, match="is of the format 'Custom'"):
        registry.get_by_guid(str(uuid.UUID(int=5)))


def test_credentials_of_the_environment(azure):
    registries.open(azure.url).register("orders", Schema(V1))
    assert ("GET", "/token") in azure.asked


@pytest.mark.parametrize(
    "ask",
    [
        lambda registry: registry.get_by_guid(str(uuid.uuid4())),
        lambda registry: registry.get(7),
        lambda registry: registry.get_version("nothing"),
        lambda registry: registry.get_version("nothing", 3),
        lambda registry: registry.versions("nothing"),
        lambda registry: registry.lookup("nothing", Schema(V1)),
    ],
)
def test_what_is_not_there(registry, ask):
    with pytest.raises(RegistryError) as caught:
        ask(registry)
    assert caught.value.missing


def test_what_azure_does_not_have(azure, registry):
    with pytest.raises(RegistryError, match=r"has no subjects\(\)"):
        registry.subjects()
    with pytest.raises(RegistryError, match="keeps no references"):
        registry.register("s", Schema(V1, references=(Reference("n", "t", 1),)))
    with pytest.raises(RegistryError, match="registers AVRO and JSON, not PROTOBUF"):
        registry.register("s", Schema("message M {}", "PROTOBUF"))
    made = registry.register("orders", Schema(V1))
    reader = registries.open(azure.url.rpartition("/")[0], {"credential": Credential()})
    assert reader.get_by_guid(made.guid).schema == Schema(V1)
    with pytest.raises(RegistryError, match="names no group: schemas are only found by their ids"):
        reader.get_version("orders")


def test_refusals(azure, registry):
    azure.failures.append((403, "Forbidden", "No."))
    with pytest.raises(RegistryError, match=r"Azure: .*No") as caught:
        registry.get_version("orders", 1)
    assert (caught.value.status, caught.value.missing) == (403, False)
    wrong = registries.open(azure.url, {"credential": Credential("secret"), "max.retries": 0})
    with pytest.raises(RegistryError, match="Token issuer is invalid") as caught:
        wrong.get_by_guid(str(uuid.uuid4()))
    assert (caught.value.status, "secret" in str(caught.value)) == (401, False)
    azure.failures.append((503, "ServerBusy", "Later."))
    patient = registries.open(azure.url, {"credential": Credential(), "max.retries": "1"})
    assert patient.register("orders", Schema(V1)).version == 1


@cases(
    ("url", "config", "message"),
    [
        ("azure://", {}, "azure://namespace.servicebus.windows.net/group"),
        ("azure://me:secret@host/g", {}, "credentials are not part of it"),
        ("azure://host/g/more", {}, "azure://namespace.servicebus.windows.net/group"),
        ("azure://host/g", {"credentials": ""}, "did you mean 'credential'"),
        ("azure://host/g", {"credential": "secret"}, "credential is an object with get_token, not str"),
        ("azure://host/g", {"timeout": "soon"}, "timeout='soon' is not a number"),
        ("azure://host/g", {"max.retries": 2.5}, r"max\.retries=2\.5 is not a whole number"),
        ("azure://host/g", {"max.retries": "2.5"}, r"max\.retries='2.5' is not a whole number"),
    ],
)
def test_settings(url, config, message):
    with pytest.raises(ConfigError, match=message) as caught:
        registries.open(url, config)
    assert "secret" not in str(caught.value)
    assert {*SETTINGS} == {"credential", "max.retries", "timeout"}


@pytest.mark.parametrize("name", ["azure.schemaregistry", "azure.identity"])
def test_without_azures_packages(monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ConfigError, match=r"pip install kcodec\[azure\]"):
        registries.open("azure://host/g").get_by_guid(str(uuid.uuid4()))


@pytest.mark.usefixtures("azure")
def test_a_server_that_is_not_there():
    nobody = registries.open("azure://127.0.0.1:1/shop", {"credential": Credential(), "max.retries": 0})
    with pytest.raises(RegistryError, match="Azure: ") as caught:
        nobody.get_by_guid(str(uuid.uuid4()))
    assert not caught.value.missing
    serde = Serde("AVRO", nobody, topic="t", reader_schema=V1, frame="AZURE")
    header = [b"avro/binary+" + b"0" * 32]
    _, report = serde.deserialize([b"\x02"], headers=header, errors="report")
    assert report["code"].to_pylist() == ["registry_error"]
    assert report["schema_id"].to_pylist() == [str(uuid.UUID(int=0))]


@pytest.mark.usefixtures("impl")
@pytest.mark.parametrize(("format", "frame"), FRAMES)
def test_what_azures_encoder_writes_is_read(azure, registry, format, frame):
    schema = V1 if format == "AVRO" else JSON
    messages = [encoder(azure, format).encode({"id": number}, schema=schema) for number in range(3)]
    serde = Serde(format, registry, topic="orders", frame=frame)
    values = [messages[0]["content"], None, *(each["content"] for each in messages[1:])]
    headers = [messages[0]["content_type"], None, *(each["content_type"] for each in messages[1:])]
    headers = [None if each is None else each.encode() for each in headers]
    azure.asked.clear()
    for _ in range(2):
        expected = [{"id": 0}, None, {"id": 1}, {"id": 2}]
        assert serde.deserialize(values, headers=headers).to_pylist() == expected
    assert len([path for _, path in azure.asked if "/$schemas/" in path]) == 1


@pytest.mark.usefixtures("impl")
@pytest.mark.parametrize(("format", "frame"), FRAMES)
def test_what_is_written_azures_encoder_reads(azure, registry, format, frame):
    schema = V1 if format == "AVRO" else JSON
    config = {"subject.name.strategy": "RecordNameStrategy"}
    serde = Serde(format, registry, topic="orders", schema=schema, frame=frame, config=config)
    values, headers = serde.serialize_with_headers(ROWS)
    # Where Azure's own encoders look for it.
    assert [*azure.schemas] == ["shop.R" if format == "AVRO" else "R"]
    peer = encoder(azure, format)
    messages = [
        {"content": value, "content_type": header.decode()}
        for value, header in zip(values.to_pylist(), headers.to_pylist(), strict=True)
        if value is not None
    ]
    assert [peer.decode(each) for each in messages] == [{"id": 7}, {"id": 8}]
    assert serde.deserialize(values, headers=headers).to_pylist() == ROWS.to_pylist()


@pytest.mark.usefixtures("impl")
@pytest.mark.parametrize(
    ("frame", "header"),
    [
        # ``com.azure.data.schemaregistry.jsonschema.SchemaRegistryJsonSchemaSerializer``, and .NET's.
        ("AZURE_JSON", ("content-type", b"application/json+b9160695e5974ae2b0ed2e360daef005")),
        # ``com.microsoft.azure.schemaregistry.kafka.json.KafkaJsonSerializer``.
        ("AZURE_SCHEMA_ID", ("schemaId", b"b9160695e5974ae2b0ed2e360daef005")),
    ],
)
def test_headers_of_other_serializers(azure, registry, frame, header):
    azure.schemas["R"] = [("b9160695e5974ae2b0ed2e360daef005", "Json", JSON.encode())]
    serde = Serde("JSON_SR", registry, topic="orders", frame=frame)
    headers = [[header]]
    assert serde.deserialize([b'{"id":1}'], headers=headers).to_pylist() == [{"id": 1}]


@pytest.mark.usefixtures("impl")
def test_two_versions_in_a_column(azure, registry):
    peer = encoder(azure, "AVRO")
    messages = [
        peer.encode({"id": 1}, schema=V1),
        peer.encode({"id": 2, "note": "new"}, schema=V2),
    ]
    config = {"subject.name.strategy": "RecordNameStrategy"}
    serde = Serde("AVRO", registry, topic="t", frame="AZURE", reader_schema=V2, config=config)
    expected = [{"id": 1, "note": "none"}, {"id": 2, "note": "new"}]
    values = [each["content"] for each in messages]
    headers = [each["content_type"].encode() for each in messages]
    assert serde.deserialize(values, headers=headers).to_pylist() == expected
    assert serde.metrics.schema_ids == 2
    again = pickle.loads(pickle.dumps(serde))
    again.registry.get_by_guid = None
    assert again.deserialize(values, headers=headers).to_pylist() == expected


@pytest.mark.usefixtures("impl")
def test_errors_name_the_schema(azure, registry):
    made = registry.register("shop.R", Schema(V1))
    header = b"avro/binary+" + uuid.UUID(made.guid).hex.encode()
    serde = Serde("AVRO", registry, topic="t", frame="AZURE")
    headers = [header, header, b"avro/binary+" + b"0" * 32, header[:-1]]
    array, report = serde.deserialize([b"\x02", b"\x80", b"\x02", b"\x02"], headers=headers, errors="report")
    assert array.to_pylist() == [{"id": 1}, None, None, None]
    assert report.select(["row", "code", "schema_id"]).to_pylist() == [
        {"row": 1, "code": "truncated", "schema_id": made.guid},
        {"row": 2, "code": "unknown_schema_id", "schema_id": str(uuid.UUID(int=0))},
        {"row": 3, "code": "frame_magic", "schema_id": None},
    ]
    with pytest.raises(DecodeError, match=f"schema id {made.guid}"):
        serde.deserialize_one(b"\x80", headers=[("content-type", header)])


def test_the_latest_is_written(azure, registry):
    registry.register("t-value", Schema(V1))
    config = {"auto.register.schemas": False, "use.latest.version": True}
    serde = Serde("AVRO", registry, topic="t", frame="AZURE", config=config)
    _, headers = serde.serialize_with_headers(ROWS)
    assert headers[0].as_py().decode() == f"avro/binary+{azure.schemas['t-value'][0][0]}"
    strict = Serde(
        "AVRO", registry, topic="t", schema=V2, frame="AZURE", config={"auto.register.schemas": False}
    )
    with pytest.raises(RegistryError, match="not"):
        strict.serialize_with_headers([{"id": 1, "note": ""}])
    assert json.loads(azure.schemas["t-value"][-1][2]) == json.loads(V1)
