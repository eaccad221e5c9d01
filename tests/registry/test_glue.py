"""The registry of AWS Glue, against moto's server and the Python package of Glue's serializers."""

import pickle
import uuid
import zlib

import pyarrow as pa
import pytest
from aws_schema_registry import SchemaRegistryClient, codec
from aws_schema_registry.avro import AvroSchema
from aws_schema_registry.jsonschema import JsonSchema
from aws_schema_registry.serde import KafkaDeserializer, KafkaSerializer
from botocore.stub import Stubber
from cases import cases
from glue import CREDENTIALS, glue_server

from kcodec import Serde
from kcodec import registry as registries
from kcodec.errors import ConfigError, DecodeError, RegistryError
from kcodec.registry import Reference, Schema

V1 = '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]}'
V2 = (
    '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}, '
    '{"name": "note", "type": "string", "default": "none"}]}'
)
JSON = '{"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}'


@pytest.fixture(scope="module")
def glue():
    with pytest.MonkeyPatch.context() as patch:
        for name, value in CREDENTIALS.items():
            patch.setenv(name, value)
        with glue_server() as server:
            yield server


@pytest.fixture(scope="module")
def registry(glue):
    # A client of AWS takes its time to be made.
    with glue.registry() as url:
        yield registries.open(url, glue.config)


@pytest.fixture
def topic():
    return f"orders{uuid.uuid4().hex}"


def peer(glue, registry):
    return SchemaRegistryClient(
        glue.client, registry_name=registry.url.rpartition("/")[2], wait_interval_seconds=0
    )


def written(glue, registry, topic, data, schema, compression=None):
    """Return what Glue's serializer writes; compressed as its codec does it, which the serializer does not ask for."""
    value = KafkaSerializer(peer(glue, registry)).serialize(topic, (data, schema))
    payload, version = codec.decode(value)
    return codec.encode(payload, version, compression) if compression else value


def test_register_and_look_up(registry, topic):
    first = registry.register(f"{topic}-value", Schema(V1))
    second = registry.register(f"{topic}-value", Schema(V2))
    assert registry.register(f"{topic}-value", Schema(V1)).guid == first.guid != second.guid
    assert (first.id, str(uuid.UUID(first.guid))) == (None, first.guid)
    assert registry.get_by_guid(second.guid).schema == Schema(V2)
    assert registry.get_version(f"{topic}-value").guid == second.guid
    assert registry.get_version(f"{topic}-value", 1).guid == first.guid
    assert registry.lookup(f"{topic}-value", Schema(V1)).guid == first.guid
    assert registry.versions(f"{topic}-value") == [1, 2]
    again = pickle.loads(pickle.dumps(registry))
    assert again.get_by_guid(first.guid).schema == Schema(V1)


@pytest.fixture
def recorded(monkeypatch):
    """Return a registry of answers that Glue gives and moto does not, and what adds one."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("kcodec.registry.glue._WAIT", 0)
    handle = registries.open("glue://us-east-1/r", {"compatibility": "full_all"})
    with Stubber(handle._connected()) as stub:
        yield handle, stub
        stub.assert_no_pending_responses()


GLUES = str(uuid.UUID(int=7))
NAMED = {"SchemaId": {"RegistryName": "r", "SchemaName": "s"}}
BY_TEXT = {**NAMED, "SchemaDefinition": V1}
CREATED = {
    "RegistryId": {"RegistryName": "r"},
    "SchemaName": "s",
    "DataFormat": "AVRO",
    "Compatibility": "FULL_ALL",
    "SchemaDefinition": V1,
}


def nothing(stub, call):
    stub.add_client_error(call, "EntityNotFoundException", expected_params=BY_TEXT)


def version(stub, call, asked, status):
    stub.add_response(call, {"SchemaVersionId": GLUES, "Status": status}, asked)


def test_the_first_version_makes_a_schema(recorded):
    handle, stub = recorded
    nothing(stub, "get_schema_by_definition")
    nothing(stub, "register_schema_version")
    stub.add_response(
        "create_schema", {"SchemaVersionId": GLUES, "SchemaVersionStatus": "AVAILABLE"}, CREATED
    )
    assert handle.register("s", Schema(V1)).guid == GLUES


def test_another_producer_makes_the_schema_first(recorded):
    handle, stub = recorded
    nothing(stub, "get_schema_by_definition")
    nothing(stub, "register_schema_version")
    stub.add_client_error("create_schema", "AlreadyExistsException", expected_params=CREATED)
    version(stub, "register_schema_version", BY_TEXT, "AVAILABLE")
    assert handle.register("s", Schema(V1)).guid == GLUES


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(
    ("statuses", "status", "message"),
    [
        (["PENDING", "PENDING", "AVAILABLE"], None, ""),
        (["PENDING", "FAILURE"], 409, "is not compatible"),
        (["FAILURE"], 409, "is not compatible"),
        (["PENDING"] * 11, 500, "is PENDING"),
        (["DELETING"], 500, "is DELETING"),
    ],
)
def test_versions_that_are_checked(recorded, known, statuses, status, message):
    """Also one that was registered before: what it was refused for stays."""
    handle, stub = recorded
    first, *later = statuses
    if known:
        version(stub, "get_schema_by_definition", BY_TEXT, first)
    else:
        nothing(stub, "get_schema_by_definition")
        version(stub, "register_schema_version", BY_TEXT, first)
    for each in later:
        version(stub, "get_schema_version", {"SchemaVersionId": GLUES}, each)
    if status is None:
        assert handle.register("s", Schema(V1)).guid == GLUES
        return
    with pytest.raises(RegistryError, match=message) as refused:
        handle.register("s", Schema(V1))
    assert (refused.value.status, refused.value.missing) == (status, False)


@pytest.mark.parametrize("wrong", [{"SchemaDefinition": 5}, {"SchemaDefinition": None}, {"DataFormat": 7}])
def test_an_answer_without_a_schema(recorded, monkeypatch, wrong):
    """What is said to be text in an answer is not looked at by AWS's client."""
    handle, _ = recorded
    answer = {
        "SchemaVersionId": GLUES,
        "Status": "AVAILABLE",
        "SchemaDefinition": V1,
        "DataFormat": "AVRO",
        **wrong,
    }
    monkeypatch.setattr(handle, "_call", lambda *_, **__: answer)
    for ask in (lambda: handle.get_by_guid(GLUES), lambda: handle.get_version("s")):
        with pytest.raises(RegistryError, match="the answer has no schema") as refused:
            ask()
        assert (refused.value.error_code, refused.value.missing) == (50005, False)


def test_more_versions_than_there_can_be(recorded):
    handle, stub = recorded
    stub.add_response("get_schema", {"LatestSchemaVersion": 1 << 40}, NAMED)
    with pytest.raises(RegistryError, match="has 1099511627776 versions, and 1000000 are listed"):
        handle.versions("s")


def test_what_is_refused_is_not_tried_otherwise(recorded):
    """A role that may read, and not write, is told so: nothing else is called."""
    handle, stub = recorded
    for calls in (("get_schema_by_definition",), ("get_schema_by_definition", "register_schema_version")):
        for call in calls[:-1]:
            nothing(stub, call)
        stub.add_client_error(calls[-1], "AccessDeniedException", "no", 400, expected_params=BY_TEXT)
        with pytest.raises(RegistryError, match=r"Glue: .*AccessDenied") as refused:
            handle.register("s", Schema(V1))
        assert (refused.value.status, refused.value.missing) == (400, False)
        stub.assert_no_pending_responses()


def test_a_version_that_is_not_available_is_not_read(recorded):
    handle, stub = recorded
    version(stub, "get_schema_version", {"SchemaVersionId": GLUES}, "PENDING")
    with pytest.raises(RegistryError, match="is PENDING, not AVAILABLE") as refused:
        handle.get_by_guid(GLUES)
    assert not refused.value.missing


@pytest.mark.parametrize(
    "ask",
    [
        lambda registry: registry.get_by_guid(str(uuid.uuid4())),
        lambda registry: registry.get(7),
        lambda registry: registry.get_version("nothing"),
        lambda registry: registry.versions("nothing"),
        lambda registry: registry.lookup("nothing", Schema(V1)),
    ],
)
def test_what_is_not_there(registry, ask):
    with pytest.raises(RegistryError) as caught:
        ask(registry)
    assert caught.value.missing


def test_what_glue_does_not_have(registry):
    with pytest.raises(RegistryError, match=r"has no subjects\(\)"):
        registry.subjects()
    with pytest.raises(RegistryError, match="keeps no references"):
        registry.register("s", Schema(V1, references=(Reference("n", "t", 1),)))
    with pytest.raises(RegistryError, match="Glue: "):
        registry.register("no name of Glue's!", Schema(V1))


@cases(
    ("url", "config", "message"),
    [
        ("glue://", {}, "glue://region/registry"),
        ("glue://key:secret@region/r", {}, "credentials are not part of it"),
        ("glue://us-east-1/r", {"endpoint": ""}, "did you mean 'endpoint.url'"),
        ("glue://us-east-1/r", {"compatibility": "GOOD"}, "compatibility=GOOD is not one of NONE"),
        ("glue://us-east-1/r", {"timeout": "soon"}, "timeout='soon' is not a number"),
        ("glue://us-east-1/r", {"max.retries": 2.5}, r"max\.retries=2\.5 is not a whole number"),
        ("glue://us-east-1/r", {"max.retries": "2.5"}, r"max\.retries='2\.5' is not a whole number"),
        ("glue://us-east-1/r", {"max.retries": float("inf")}, r"max\.retries=inf is not a whole number"),
        ("glue://us-east-1/r", {"max.retries": -1}, r"max\.retries=-1 is out of range"),
        ("glue://us-east-1/r", {"timeout": 0}, "timeout=0 is out of range"),
        ("glue://us-east-1/r", {"timeout": "inf"}, "timeout='inf' is out of range"),
    ],
)
def test_settings(url, config, message):
    with pytest.raises(ConfigError, match=message) as caught:
        registries.open(url, config)
    assert "secret" not in str(caught.value)


@pytest.mark.usefixtures("glue")
def test_a_server_that_is_not_there(topic):
    nobody = registries.open("glue://us-east-1/r", {"endpoint.url": "http://127.0.0.1:1", "max.retries": 0})
    with pytest.raises(RegistryError, match="failed") as caught:
        nobody.get_by_guid(str(uuid.uuid4()))
    assert not caught.value.missing
    serde = Serde("AVRO", nobody, topic=topic, reader_schema=V1, frame="GLUE")
    values = [b"\x03\x00" + bytes(16) + b"\x02"]
    _, report = serde.deserialize(values, errors="report")
    assert report["code"].to_pylist() == ["registry_error"]
    assert report["schema_id"].to_pylist() == [str(uuid.UUID(int=0))]


@pytest.mark.usefixtures("impl")
@pytest.mark.parametrize("compression", [None, "zlib"])
@pytest.mark.parametrize("format", ["AVRO", "JSON_SR"])
def test_what_glues_serializer_writes_is_read(glue, registry, topic, format, compression):
    schema = AvroSchema(V1) if format == "AVRO" else JsonSchema(JSON)
    values = [written(glue, registry, topic, {"id": number}, schema, compression) for number in range(3)]
    assert values[0][1] == (5 if compression else 0)
    serde = Serde(format, registry, topic=topic, frame="GLUE")
    for _ in range(2):
        assert serde.deserialize([values[0], None, *values[1:]]).to_pylist() == [
            {"id": 0},
            None,
            {"id": 1},
            {"id": 2},
        ]
    assert serde.metrics.schema_ids == 1


@pytest.mark.usefixtures("impl")
@pytest.mark.parametrize("frame", ["GLUE", "GLUE_ZLIB"])
@pytest.mark.parametrize("format", ["AVRO", "JSON_SR"])
def test_what_is_written_glues_deserializer_reads(glue, registry, topic, format, frame):
    schema = V1 if format == "AVRO" else JSON
    serde = Serde(format, registry, topic=topic, schema=schema, frame=frame)
    rows = pa.array([{"id": 7}, None, {"id": 8}], pa.struct([pa.field("id", pa.int64(), False)]))
    values = serde.serialize(rows).to_pylist()
    deserializer = KafkaDeserializer(peer(glue, registry))
    assert [each and deserializer.deserialize(topic, each).data for each in values] == rows.to_pylist()
    assert serde.deserialize(values).to_pylist() == rows.to_pylist()


@pytest.mark.filterwarnings("ignore:The 'warn' method:DeprecationWarning")  # of the peer
@pytest.mark.usefixtures("impl")
def test_two_versions_in_a_column(glue, registry, topic):
    old = written(glue, registry, topic, {"id": 1}, AvroSchema(V1))
    new = written(glue, registry, topic, {"id": 2, "note": "new"}, AvroSchema(V2), "zlib")
    serde = Serde("AVRO", registry, topic=topic, frame="GLUE", reader_schema="latest")
    expected = [{"id": 1, "note": "none"}, {"id": 2, "note": "new"}]
    assert serde.deserialize([old, new]).to_pylist() == expected
    assert [serde.deserialize_one(each) for each in (old, new)] == expected
    assert serde.metrics.schema_ids == 2
    again = pickle.loads(pickle.dumps(serde))
    again.registry.get_by_guid = None
    assert again.deserialize([new, old]).to_pylist() == expected[::-1]


@pytest.mark.usefixtures("impl")
def test_errors_name_the_version(glue, registry, topic):
    value = written(glue, registry, topic, {"id": 1 << 40}, AvroSchema(V1))
    name = str(uuid.UUID(bytes=value[2:18]))
    serde = Serde("AVRO", registry, topic=topic, frame="GLUE")
    bad = [
        value,
        value[:20],
        value[:2] + bytes(16) + b"x",
        b"\x03\x05" + value[2:18] + zlib.compress(value[18:21]),
    ]
    array, report = serde.deserialize(bad, errors="report")
    assert array.to_pylist() == [{"id": 1 << 40}, None, None, None]
    assert report.select(["row", "code", "schema_id"]).to_pylist() == [
        {"row": 1, "code": "truncated", "schema_id": name},
        {"row": 2, "code": "unknown_schema_id", "schema_id": str(uuid.UUID(int=0))},
        {"row": 3, "code": "truncated", "schema_id": name},
    ]
    with pytest.raises(DecodeError, match=f"schema id {name}"):
        serde.deserialize_one(value[:20])


def test_names_of_schemas(registry, topic):
    config = {"subject.name.strategy": "AWSSchemaNamingStrategyDefaultImpl"}
    serde = Serde("AVRO", registry, topic=topic, schema=V1, frame="GLUE", config=config)
    serde.serialize([{"id": 1}])
    assert registry.get_version(topic).schema.text == V1
    latest = Serde(
        "AVRO",
        registry,
        topic=topic,
        frame="GLUE",
        config={**config, "auto.register.schemas": False, "use.latest.version": True},
    )
    assert latest.deserialize(latest.serialize(pa.array([{"id": 1}]))).to_pylist() == [{"id": 1}]
