"""Arguments of another kind are refused before any broker is asked, and by a text that names them."""

import socket
from functools import partial

import pyarrow as pa
import pytest
from cases import cases

from kcodec import kafka, ksql
from kcodec.errors import ConfigError

STREAM = "CREATE STREAM s (a STRING) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');"
ROWS = pa.table({"value": [b"1"]})


@pytest.fixture(autouse=True)
def place(monkeypatch):
    """Where brokers are, whom nobody may ask."""

    def refuse(*_, **__):
        raise AssertionError("a broker is asked")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return {"servers": "broker:9092"}


@cases(
    ("call", "arguments", "text"),
    [
        (partial(kafka.read, "t"), {"progress": 5}, "progress=5 is not a function"),
        (partial(kafka.write, ROWS, "t"), {"progress": "yes"}, "progress='yes' is not a function"),
        (partial(kafka.write, ROWS, "t"), {"partition": 1.5}, "partition=1.5 is neither a number nor"),
        (partial(kafka.write, ROWS, "t"), {"partition": True}, "partition=True is neither a number nor"),
        (partial(kafka.write, ROWS, "t"), {"columns": "value"}, "columns='value' is not a mapping"),
        (partial(kafka.write, ROWS, "t"), {"columns": 0}, "columns=0 is not a mapping"),
        (
            partial(kafka.write, ROWS, "t"),
            {"columns": {"values": "value"}},
            "'values' is not one of key, value",
        ),
        (partial(kafka.write, ROWS, "t"), {"columns": {"value": 1}}, "'value' is the name of a column"),
        (partial(kafka.inspect, None), {}, "topic=None is not the name of a topic"),
        (partial(kafka.inspect, "t"), {"registry": 5}, "registry=5 is not a registry or its URL"),
        (partial(kafka.inspect, "t"), {"registry": "http//registry"}, "is not memory://scope"),
        (partial(kafka.create_topic, None), {}, "topic=None is not the name of a topic"),
        (partial(kafka.create_topic, "t"), {"settings": "retention.ms=1"}, "is not a mapping of settings"),
        (partial(kafka.create_topic, "t"), {"settings": []}, "settings=[] is not a mapping of settings"),
        (partial(kafka.create_topic, "t"), {"settings": {1: 2}}, "settings=1 is not the name of a setting"),
        (partial(kafka.set_topic_settings, "t"), {"settings": None}, "settings=None is not a mapping"),
        (kafka.delete_topics, {"topics": None}, "topics=None is not the name of a topic, or a list"),
        (kafka.delete_topics, {"topics": [None]}, "topic=None is not the name of a topic"),
        (kafka.topic_settings, {"topic": None}, "topic=None is not the name of a topic"),
        (kafka.topic_groups, {"topic": None}, "topic=None is not the name of a topic"),
        (kafka.group_lag, {"group": None}, "group=None is not the name of a group"),
        (partial(kafka.reset_offsets, None, "t", "earliest"), {}, "group=None is not the name of a group"),
        (partial(kafka.reset_offsets, "g", "t"), {"start": "erliest"}, "start='erliest' is not earliest"),
        (partial(ksql.read, STREAM), {"row_time": ["x"]}, "row_time=['x'] is not one of"),
    ],
)
def test_what_is_refused(place, call, arguments, text):
    with pytest.raises(ConfigError) as caught:
        call(**arguments, **place)
    assert text in str(caught.value)


def test_what_asks_no_broker():
    for partitions in (True, 0, 1 << 31, 1 << 70):
        with pytest.raises(ConfigError, match="is not a number of partitions"):
            kafka.partition_of([b"a"], partitions)
    with pytest.raises(ConfigError, match=r"is not a batch, such as a table has in to_batches\(\)"):
        next(kafka.records(ROWS))
    assert [record.value for record in kafka.records(ROWS.to_batches())] == [b"1"]
    with pytest.raises(TypeError, match="1 is not the name of a variable"):
        ksql.parse(STREAM, {1: "a"})
