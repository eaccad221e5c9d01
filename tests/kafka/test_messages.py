"""Requests and responses beside the bytes of Kafka's own classes, and fetch responses that are read in place."""

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcodec.errors import ConfigError, DecodeError
from kcodec.kafka import messages
from kcodec.kafka.fetching.fetch_response import read_fetch_response
from kcodec.kafka.messages import definitions
from kcodec.protocol import MessageCodec, load

VECTORS = Path(__file__).parents[1] / "vectors" / "kafka_client_messages.jsonl.gz"


def vectors():
    with gzip.open(VECTORS, "rt") as lines:
        return [json.loads(line) for line in lines]


def test_the_definitions_follow_all_rules_of_kafka():
    checked = load(Path(messages.__file__).parent)
    assert not checked.faults
    assert dict(checked) == dict(definitions())
    assert len(definitions()) == len(checked) > 20
    for name, spec in definitions().items():
        assert name in definitions()
        assert definitions().of_type(spec.type, spec.api_key) == spec
        other = definitions().response(spec.api_key)
        assert other.name == name.replace("Request", "Response")
        assert (other.valid_versions, other.flexible_versions) == (
            spec.valid_versions,
            spec.flexible_versions,
        )


def test_there_are_no_other_definitions():
    assert "PingRequest" not in definitions()
    assert definitions().get("PingRequest") is None
    with pytest.raises(ConfigError, match="request with API key 99 is nothing"):
        definitions().request(99)


def test_every_message_in_every_version_is_that_of_kafka():
    seen = set()
    for vector in vectors():
        spec = definitions()[vector["name"]]
        codec = MessageCodec(spec, vector["version"])
        message = codec.decode_one(bytes.fromhex(vector["hex"]))
        assert codec.encode_one(message).hex() == vector["hex"], vector["name"]
        assert codec.to_json(message) == vector["json"], vector["name"]
        seen.add((vector["name"], vector["version"]))
    spoken = {
        (spec.name, version)
        for spec in definitions().values()
        for version in range(spec.valid_versions.lowest, spec.valid_versions.highest + 1)
    }
    # The vectors are random: a version of a message may be missing, but no message, and few versions.
    assert {name for name, _ in seen} == {name for name, _ in spoken}
    assert len(spoken - seen) < len(spoken) / 5


def fetched(message):
    """What reading in place has to find in a response."""
    return [
        (
            topic["topic"] if "topic" in topic else topic["topicId"].hex(),
            each["partitionIndex"],
            each["errorCode"],
            each["highWatermark"],
            each["lastStableOffset"],
            each.get("preferredReadReplica", -1),
            [[pair["producerId"], pair["firstOffset"]] for pair in each["abortedTransactions"] or []],
            each["records"] or b"",
        )
        for topic in message["responses"]
        for each in topic["partitions"]
    ]


def plain(found):
    return [(*each[:-2], each.aborted.tolist(), each.records.to_pybytes()) for each in found]


def test_fetch_responses_are_read_in_place():
    count = 0
    for vector in vectors():
        if vector["name"] != "FetchResponse":
            continue
        data = bytes.fromhex(vector["hex"])
        message = MessageCodec(definitions()["FetchResponse"], vector["version"]).decode_one(data)
        throttle, error, found = read_fetch_response(pa.py_buffer(data), vector["version"])
        assert (throttle, error) == (message["throttleTimeMs"], message.get("errorCode", 0))
        assert plain(found) == fetched(message)
        count += len(found)
        for end in range(len(data)):
            with pytest.raises(DecodeError):
                read_fetch_response(pa.py_buffer(data[:end]), vector["version"])
    assert count > 10


@given(st.binary(max_size=120), st.integers(4, 13))
def test_any_bytes_are_a_fetch_response_or_an_error(data, version):
    try:
        _, _, found = read_fetch_response(pa.py_buffer(data), version)
    except DecodeError:
        return
    codec = MessageCodec(definitions()["FetchResponse"], version)
    assert plain(found) == fetched(codec.decode_one(data))
