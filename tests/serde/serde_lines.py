"""Lines of `serde_vectors`: what Confluent's serializers and deserializers do, asked of a `Serde`.

Every line is answered alike, but for those that a test names on purpose, each with its reason; a line that is named
there and answered alike after all is a failure too.
"""

import re

import pyarrow as pa
from one_value import same_as_columns
from vector_files import read_vectors

from kcodec import Serde
from kcodec.errors import KcodecError
from kcodec.registry import Config, Metadata, Reference, Schema
from kcodec.registry.memory import MemoryRegistry

TYPES = {"avro": "AVRO", "json": "JSON", "protobuf": "PROTOBUF"}
FORMATS = {"avro": "AVRO", "json": "JSON_SR", "protobuf": "PROTOBUF"}


def lines_of(name):
    return [line for line in read_vectors("serde_vectors.jsonl.gz") if line.get("format") == name]


def schema_of(line, entry):
    """Return the schema of a line, or of one of its registered entries."""
    metadata = entry.get("metadata")
    return Schema(
        entry["schema"],
        TYPES[line["format"]],
        tuple(Reference(**each) for each in entry.get("references", ())),
        metadata and Metadata.of(metadata.get("properties"), metadata.get("tags"), metadata.get("sensitive")),
    )


def registered(line):
    """Return a registry with what was registered before; ids, versions and GUIDs are those of the line."""
    registry = MemoryRegistry()
    registry.set_config(Config("NONE"))
    for entry in line["registered"]:
        found = registry.register(entry["subject"], schema_of(line, entry))
        assert (found.id, found.version) == (entry["registered_id"], entry["registered_version"])
        # Metadata, which a later version inherits here, is part of the content.
        assert found.guid == entry["guid"] or line["id"] == "json/metadata"
    return registry


def serde(line, registry, **options):
    return Serde(
        FORMATS[line["format"]],
        registry,
        topic=line["topic"],
        is_key=line["isKey"],
        config=line["config"],
        **options,
    )


def serialized(line, array, **options):
    """Return what a line says and what is answered: payload, headers, and what is registered afterwards.

    Parameters
    ----------
    line : dict
    array : pyarrow.Array
        The line's value as a column.
    **options
        Of the serde.
    """
    registry = registered(line)
    asked = serde(line, registry, **options)
    in_headers = any(key.endswith("schema.id.serializer") for key in line["config"])
    headers_out = []
    try:
        for _ in range(line.get("times", 1)):
            if in_headers and line.get("headers") != "null":
                values, headers = asked.serialize_with_headers(array)
                headers_out = [[asked.header, headers[0].as_py().hex()]] if headers[0].is_valid else []
            else:
                values = asked.serialize(array)
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


def deserialized(line, compared):
    """Return what a line says, and what is answered.

    Parameters
    ----------
    line : dict
    compared : callable
        What of the line's value and of the decoded column is compared, given both and the serde: a pair.
    """
    asked = serde(line, registered(line))
    values = pa.array([None if line["bytes"] is None else bytes.fromhex(line["bytes"])], pa.binary())
    headers = line.get("headers_in")
    if headers is not None:
        headers = [[(name, None if value is None else bytes.fromhex(value)) for name, value in headers]]
    same_as_columns(serde(line, registered(line)), values[0].as_py(), None if headers is None else headers[0])
    try:
        array = asked.deserialize(values, headers=headers)
    except KcodecError:
        return ("refused" if "error" in line else line["value"]), "refused"
    if "error" in line:
        return "refused", array
    if line["value"] is None:
        return [None], array.to_pylist()
    return compared(line, array, asked)


def is_named(line, on_purpose):
    """Return whether a line is named by one of these regular expressions."""
    return any(re.fullmatch(pattern, line["id"]) for pattern in on_purpose)


def check_line(line, pair, on_purpose):
    """Check that what a line says is what is answered, or where it is named that it is not.

    Parameters
    ----------
    line : dict
    pair : tuple
        What the line says, and what is answered.
    on_purpose : iterable of str
        Regular expressions on the ids of lines that are answered differently.
    """
    expected, answer = pair
    if is_named(line, on_purpose):
        assert answer != expected
    else:
        assert answer == expected


def unused(lines, on_purpose):
    """Return the regular expressions that name no line."""
    return [each for each in on_purpose if not any(re.fullmatch(each, line["id"]) for line in lines)]
