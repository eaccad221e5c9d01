"""The ways to encrypted fields beside a serde: topics as columns, the command line, and Spark's functions."""

import json
import pickle

import pytest
from encryption_box import SECRET, SETTINGS

from kcodec import ConfigError, DecodeError
from kcodec.kafka.connection.settings import Settings
from kcodec.kafka.payload_format import PayloadFormat
from kcodec_spark.functions.framed import framed_serde, framed_writer

SCHEMA = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "int"},
        {"name": "email", "type": "string", "confluent:tags": ["PII"]},
    ],
}
ROWS = [{"id": 1, "email": "one"}, {"id": 2, "email": "two"}]


@pytest.fixture
def values(box, topic):
    box.register(f"{topic}-value", SCHEMA)
    return box.serde("AVRO", topic, schema=SCHEMA).serialize(ROWS)


def test_topics_by_their_settings(box, topic, impl, values):
    """Settings of rules stand among those of clients, as on the command line with -X."""
    settings = Settings.of({"bootstrap.servers": "a:1", "schema.registry.url": box.url, **SETTINGS})
    assert SECRET not in repr(settings)
    format = PayloadFormat("AVRO", settings, False)
    assert format._of(topic).deserialize(values).to_pylist() == ROWS
    own = {"format": "AVRO", "config": {"rule.executors._default_.param.secret": "another"}}
    with pytest.raises(DecodeError, match="encryption"):
        PayloadFormat(own, settings, False)._of(topic).deserialize(values)


def test_functions_of_spark(box, topic, impl, values, monkeypatch):
    """What executors get has no key and no credentials: they have their own."""
    monkeypatch.setenv("LOCAL_SECRET", SECRET)
    subject = f"{topic}-value"
    reader = framed_serde("AVRO", subject, box.url, {}, None, {})
    writer = framed_writer("AVRO", subject, box.url, {}, None, {})
    assert SECRET.encode() not in pickle.dumps((reader, writer))
    closed = pickle.loads(pickle.dumps(writer)).serialize(ROWS)
    assert b"one" not in closed[0].as_py()
    assert pickle.loads(pickle.dumps(reader)).deserialize(closed).to_pylist() == ROWS
    open_fields = {"rule.executors.encrypt.onFailure": "NONE", "rule.executors.encrypt.disabled": "true"}
    assert (
        framed_serde("AVRO", subject, box.url, open_fields, None, {}).deserialize(values)[0].as_py()["email"]
        != "one"
    )
    with pytest.raises(ConfigError, match="would have to travel to the executors"):
        framed_serde("AVRO", subject, box.url, SETTINGS, None, {})
    given = framed_writer("AVRO", subject, box.url, {}, json.dumps(SCHEMA), {})
    assert b"one" not in given.serialize(ROWS)[0].as_py()
