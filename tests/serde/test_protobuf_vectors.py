"""The Protobuf lines of what Confluent's serializers and deserializers do.

Every line is answered alike, but for those of `ON_PURPOSE`, each with its reason; a line that is listed there
and answered alike after all is a failure too.
"""

import base64
import json
import re
from collections import Counter

import pyarrow as pa
import pytest
from vector_files import read_vectors

from kcodec import Serde
from kcodec.errors import KcodecError
from kcodec.formats.protobuf.codec import ProtobufCodec
from kcodec.formats.protobuf.schema import ProtobufSchema
from kcodec.registry import Config, Reference, Schema
from kcodec.registry.memory import MemoryRegistry

LINES = [line for line in read_vectors("serde_vectors.jsonl.gz") if line.get("format") == "protobuf"]

#: Lines that write a map of two entries.
MAP_ORDER = (
    "protobuf/(auto-object|protoc-order.*|strategy/.*)/second(/object|/normalize-.*)?|protobuf/.*/wide"
)

#: Lines (by regular expression on their id) that are answered differently, and why.
ON_PURPOSE = {
    MAP_ORDER: "Java writes the entries of maps as they come, here they are sorted",
    "protobuf/strategy/.*RecordNameStrategy/(second|deep)/schema": "Java takes the first message of a schema passed "
    "in, whatever is written; the subject here is that of the message that is written, as confluent-kafka's",
    "protobuf/registered-(message-gone|package-changed)/(latest|id)-lax": "Java writes the index of the first "
    "message for one that the schema does not have",
    "de/protobuf/latest/kind-changed": "Java leaves values of another wire type among the unknown fields, so that "
    "columns would lose them silently",
    "de/protobuf/latest/message-gone": "Java reads a message that the latest schema does not have as its first",
    "de/protobuf/derive-type": "Java looks for a class",
}


def registered(line):
    registry = MemoryRegistry()
    registry.set_config(Config("NONE"))
    for entry in line["registered"]:
        found = registry.register(entry["subject"], schema_of(entry))
        assert (found.id, found.version) == (entry["registered_id"], entry["registered_version"])
        assert found.guid == entry["guid"]
    return registry


def schema_of(entry):
    return Schema(entry["schema"], "PROTOBUF", [Reference(**each) for each in entry.get("references", ())])


def given(line):
    """The schema as the line's user has it: as text, or with a message, as its descriptor."""
    if line.get("references"):
        return schema_of(line)
    source = base64.b64decode(line["descriptor"]) if "descriptor" in line else line["schema"]
    return {"main.proto": source, **line["imports"]} if "imports" in line else source


def column(line):
    if line["value"] is None:
        return pa.nulls(1, pa.struct([("id", pa.int64())]))
    texts = {entry["subject"]: entry["schema"] for entry in line["registered"]}
    imports = {each["name"]: texts[each["subject"]] for each in line.get("references", ())}
    source = base64.b64decode(line["descriptor"]) if "descriptor" in line else line["schema"]
    schema = ProtobufSchema.of({"main.proto": source, **imports, **line.get("imports", {})})
    codec = ProtobufCodec(schema, line["value"]["message"])
    return codec.decode([codec.from_json(line["value"]["json"])])


def serialized(line):
    """What a line says, and what is answered."""
    registry = registered(line)
    value = line["value"]
    serde = Serde(
        "PROTOBUF",
        registry,
        topic=line["topic"],
        is_key=line["isKey"],
        schema=given(line),
        message=value and value["message"],
        config=line["config"],
    )
    array = column(line)
    headers_out = []
    try:
        for _ in range(line.get("times", 1)):
            if any(key.endswith("schema.id.serializer") for key in line["config"]):
                values, headers = serde.serialize_with_headers(array)
                headers_out = [[serde.header, headers[0].as_py().hex()]]
            else:
                values = serde.serialize(array)
        payload = values[0].as_py()
        answer = payload if payload is None else payload.hex()
    except KcodecError:
        answer = "refused"
    before = {(entry["subject"], entry["registered_version"]) for entry in line["registered"]}
    after = sorted(
        (found.subject, found.version, found.id, found.guid, found.schema.text)
        for subject in registry.subjects()
        for found in (registry.get_version(subject, version) for version in registry.versions(subject))
        if (found.subject, found.version) not in before
    )
    expected_after = sorted(
        (entry["subject"], entry["version"], entry["id"], entry["guid"], entry["schema"])
        for entry in line["registered_after"]
    )
    if "error" in line:
        return ("refused", expected_after), (answer, after)
    return (line["bytes"], line["headers_out"], expected_after), (answer, headers_out, after)


def deserialized(line):
    """What a line says, and what is answered."""
    serde = Serde(
        "PROTOBUF", registered(line), topic=line["topic"], is_key=line["isKey"], config=line["config"]
    )
    values = pa.array([None if line["bytes"] is None else bytes.fromhex(line["bytes"])], pa.binary())
    headers = line.get("headers_in")
    if headers is not None:
        headers = [[(name, None if value is None else bytes.fromhex(value)) for name, value in headers]]
    try:
        answer = serde.deserialize(values, headers=headers).to_pylist()
    except KcodecError:
        return ("refused" if "error" in line else line["value"]), "refused"
    if "error" in line:
        return "refused", answer
    if line["value"] is None:
        return [None], answer
    codec = ProtobufCodec(serde.reader_schema, line["value"]["message"])
    return codec.decode([codec.from_json(line["value"]["json"])]).to_pylist(), answer


def without_order(line, answer):
    """An answer with its payload as a value: maps have no order."""
    codec = ProtobufCodec(line["schema"], line["value"]["message"])
    (payload, *rest) = answer
    start = 12 if payload[10:12] == "00" else 14
    value = json.loads(codec.to_json(bytes.fromhex(payload[start:])))
    return value, payload[:start], *rest


@pytest.mark.parametrize("line", LINES, ids=[line["id"] for line in LINES])
def test_line(impl, line):
    expected, answer = serialized(line) if line["kind"] == "serialize" else deserialized(line)
    if any(re.fullmatch(pattern, line["id"]) for pattern in ON_PURPOSE):
        assert answer != expected
        if re.fullmatch(MAP_ORDER, line["id"]):
            assert without_order(line, answer) == without_order(line, expected)
    else:
        assert answer == expected


def test_counts():
    assert Counter(line["kind"] for line in LINES) == {"serialize": 102, "deserialize": 34}
    unused = [each for each in ON_PURPOSE if not any(re.fullmatch(each, line["id"]) for line in LINES)]
    assert unused == []
