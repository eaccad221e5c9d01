"""The Protobuf lines of what Confluent's serializers and deserializers do."""

import base64
import json
from collections import Counter

import pyarrow as pa
from cases import cases
from serde_lines import check_line, deserialized, is_named, lines_of, schema_of, serialized, unused

from kcodec.formats.protobuf.codec import ProtobufCodec
from kcodec.formats.protobuf.schema import ProtobufSchema

LINES = lines_of("protobuf")

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


def given(line):
    """The schema as the line's user has it: as text, or with a message, as its descriptor."""
    if line.get("references"):
        return schema_of(line, line)
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


def answer_of(line, array, serde):
    """Return the line's value and the decoded one, as Python's."""
    codec = ProtobufCodec(serde.reader_schema, line["value"]["message"])
    return codec.decode([codec.from_json(line["value"]["json"])]).to_pylist(), array.to_pylist()


def without_order(line, answer):
    """An answer with its payload as a value: maps have no order."""
    codec = ProtobufCodec(line["schema"], line["value"]["message"])
    (payload, *rest) = answer
    start = 12 if payload[10:12] == "00" else 14
    value = json.loads(codec.to_json(bytes.fromhex(payload[start:])))
    return value, payload[:start], *rest


@cases("line", LINES, ids=[line["id"] for line in LINES])
def test_line(impl, line):
    if line["kind"] == "serialize":
        message = line["value"] and line["value"]["message"]
        pair = serialized(line, column(line), schema=given(line), message=message)
    else:
        pair = deserialized(line, answer_of)
    check_line(line, pair, ON_PURPOSE)
    if is_named(line, [MAP_ORDER]):
        expected, answer = (without_order(line, each) for each in pair)
        assert answer == expected


def test_counts():
    assert Counter(line["kind"] for line in LINES) == {"serialize": 102, "deserialize": 34}
    assert unused(LINES, ON_PURPOSE) == []
