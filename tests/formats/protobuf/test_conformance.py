"""Protobuf's conformance suite, where the shared folder has its cases: messages in and out as bytes and as JSON."""

import base64
import json
from collections import Counter

import pytest
from vector_files import read_vectors

from kcodec.formats.protobuf.json.reader import from_json
from kcodec.formats.protobuf.json.writer import to_json
from kcodec.formats.protobuf.messages.message import read_message, write_message
from kcodec.formats.protobuf.schema import ProtobufSchema
from kcodec.plan.failure import RowError

#: Java prints field masks whose names do not come back, where the suite (recommends that they) are refused.
PRINTED = ("FieldMaskNumbersDontRoundTrip", "FieldMaskPathsDontRoundTrip", "FieldMaskTooManyUnderscore")


@pytest.fixture(scope="module")
def types(shared):
    found = {}
    for path in sorted((shared / "protobuf-messages").glob("*.proto")):
        found.update(ProtobufSchema.parse(path.read_text()).messages)
    return found


def answer(case, types):
    """Return what the suite may call right."""
    kind = types[case["message"]]
    try:
        if case["in"] == "json":
            payload = case["payload"].encode("utf-8", "surrogatepass")
            message = from_json(payload, kind, types, ignore_unknown=case["ignore_unknown"])
        else:
            message = read_message(kind, base64.b64decode(case["payload"]), extensions=True)
    except RowError:
        return "parse_error", None
    if case["want"] == "protobuf":
        return "protobuf_payload", write_message(message)
    try:
        return "json_payload", to_json(message, types)
    except RowError:
        return "serialize_error", None


def is_right(case, types):
    result, made = answer(case, types)
    if result != case["result"]:
        return False
    kind = types[case["message"]]
    if result == "protobuf_payload":
        # Messages are compared, not bytes: Java's order of unknown fields is not the suite's.
        return write_message(read_message(kind, base64.b64decode(case["answer"]), extensions=True)) == made
    return result != "json_payload" or json.loads(made) == json.loads(case["answer"])


def test_cases(shared, types):
    counts = Counter()
    for case in read_vectors("protobuf_conformance.jsonl.gz", shared / "vectors"):
        kind = f"{case['in']} -> {case['want'] if case['result'].endswith('payload') else case['result']}"
        right = is_right(case, types)
        counts[kind, right] += 1
        assert right or case["name"].split(".")[2] in PRINTED, (case["name"], answer(case, types))
    assert counts == {
        ("protobuf -> protobuf", True): 1031,
        ("protobuf -> json", True): 595,
        ("protobuf -> parse_error", True): 343,
        ("protobuf -> serialize_error", True): 13,
        ("protobuf -> serialize_error", False): 4,
        ("json -> protobuf", True): 248,
        ("json -> json", True): 293,
        ("json -> parse_error", True): 213,
    }
