"""The JSON lines of what Confluent's serializers and deserializers do.

Every line is answered alike, but for those of `ON_PURPOSE`, each with its reason; a line that is listed there
and answered alike after all is a failure too.
"""

import json
import re
from collections import Counter

import pyarrow as pa
import pytest
from vector_files import read_vectors

from kcodec import Serde
from kcodec.errors import KcodecError
from kcodec.formats.json.plan import RAW
from kcodec.java.jackson import read_tree, write_tree
from kcodec.registry import Config, Metadata, Reference, Schema
from kcodec.registry.memory import MemoryRegistry

LINES = [line for line in read_vectors("serde_vectors.jsonl.gz") if line.get("format") == "json"]

#: Lines (by regular expression on their id) that are answered differently, and why.
ON_PURPOSE = {
    "json/(auto-java-validated/(object|nested)|validated-order/java/0[467])": "Java puts maps that it "
    "validates through a HashMap, and writes keys in the order of that",
    "json/schema-error(-unvalidated)?": "a registry refuses the schema, which only Java's mock takes",
    "de/json/(nan|big-numbers|invalid)": "Java reads any document without regard to its schema; a column holds "
    "what the schema says, and another value is an error of its row",
    "json/metadata": "a version without metadata has that of the one before, as on a server; a mock gives it none",
    "de/json/java-type-missing": "Java looks for the class that a schema names; nothing is ever loaded here",
}


def registered(line):
    registry = MemoryRegistry()
    registry.set_config(Config("NONE"))
    for entry in line["registered"]:
        found = registry.register(entry["subject"], schema_of(entry))
        assert (found.id, found.version) == (entry["registered_id"], entry["registered_version"])
        # Metadata, which a later version inherits, is part of the content.
        assert found.guid == entry["guid"] or "metadata" in line["registered"][0]
    return registry


def schema_of(entry):
    metadata = entry.get("metadata")
    return Schema(
        entry["schema"],
        "JSON",
        [Reference(**each) for each in entry.get("references", ())],
        metadata and Metadata.of(metadata.get("properties"), metadata.get("tags"), metadata.get("sensitive")),
    )


def column(line):
    """A column of one value: objects are structs, and what is in them text of JSON unless it is simple."""
    text = line["value"]
    tree = None if text is None else read_tree(text.encode("utf-8", "surrogatepass"))
    if tree is None and (text is None or line.get("input") == "java"):
        return pa.nulls(1, pa.string())
    if isinstance(tree, dict) and "properties" in line["schema"]:
        fields, row = [], {}
        for name, value in tree.items():
            if isinstance(value, (int, str)):
                fields.append(pa.field(name, pa.string() if isinstance(value, str) else pa.int64()))
                row[name] = value
            else:
                fields.append(pa.field(name, pa.string(), metadata=RAW))
                row[name] = write_tree(value, escape_surrogates=True)
        return pa.array([row], pa.struct(fields))
    if isinstance(tree, (str, bool, int)) and "type" in line["schema"]:
        return pa.array([tree])
    return pa.array([text])


def serialized(line):
    """What a line says, and what is answered."""
    registry = registered(line)
    serde = Serde(
        "JSON_SR",
        registry,
        topic=line["topic"],
        is_key=line["isKey"],
        schema=schema_of(line),
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
        "JSON_SR", registered(line), topic=line["topic"], is_key=line["isKey"], config=line["config"]
    )
    values = pa.array([None if line["bytes"] is None else bytes.fromhex(line["bytes"])], pa.binary())
    headers = line.get("headers_in")
    if headers is not None:
        headers = [[(name, None if value is None else bytes.fromhex(value)) for name, value in headers]]
    try:
        answer = serde.deserialize(values, headers=headers)[0].as_py()
    except KcodecError:
        return ("refused" if "error" in line else line["value"]), "refused"
    if "error" in line:
        return "refused", answer
    expected = None if line["value"] is None else json.loads(line["value"])
    if isinstance(answer, dict):
        # Properties that are not there are null.
        answer = {name: value for name, value in answer.items() if value is not None}
        expected = {name: expected[name] for name in answer} if isinstance(expected, dict) else expected
    elif isinstance(answer, str) and not isinstance(expected, str):
        answer = json.loads(answer)
    return expected, answer


@pytest.mark.parametrize("line", LINES, ids=[line["id"] for line in LINES])
def test_line(impl, line):
    expected, answer = serialized(line) if line["kind"] == "serialize" else deserialized(line)
    if any(re.fullmatch(pattern, line["id"]) for pattern in ON_PURPOSE):
        assert answer != expected
    else:
        assert answer == expected


def test_counts():
    assert Counter(line["kind"] for line in LINES) == {"serialize": 86, "deserialize": 31}
    unused = [each for each in ON_PURPOSE if not any(re.fullmatch(each, line["id"]) for line in LINES)]
    assert unused == []
