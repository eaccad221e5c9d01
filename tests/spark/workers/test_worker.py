"""Functions on the workers: loaded once, and warnings that do not flood."""

import logging
import pickle

import pytest

from kcodec import Serde
from kcodec_spark.workers import worker


@pytest.fixture
def functions():
    worker._unpickled.cache_clear()
    yield
    worker._unpickled.cache_clear()


def content(name):
    return pickle.dumps(Nulls(Serde("AVRO", "memory://worker", topic=name, reader_schema='"int"')))


class Nulls:
    """Reads with a serde, each bad row a null; it pickles."""

    def __init__(self, serde):
        self.serde = serde

    def __call__(self, values):
        return self.serde.deserialize(values, errors="null")


def test_warnings_are_throttled_and_name_their_function(functions, caplog, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(worker.time, "monotonic", lambda: now[0])
    caplog.set_level(logging.WARNING, "kcodec")
    orders, keys = content("orders"), content("keys")
    for _ in range(5):
        assert worker.load(orders, logging.WARNING, "from_avro")([b"bad"]).to_pylist() == [None]
        worker.load(keys, logging.WARNING, "keys_of")([b"bad"])
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == ["from_avro", "keys_of"]
    now[0] = 61
    worker.load(orders, logging.WARNING, "from_avro")([b"bad"])
    assert caplog.records[-1].getMessage().endswith(" (4 such warnings since the last one)")
    assert len(caplog.records) == 3
    # Whoever looks at each batch gets each batch.
    for _ in range(3):
        worker.load(orders, logging.DEBUG, "from_avro")([b"bad"])
    assert len(caplog.records) == 6


def test_other_users_of_the_logger_are_left_alone(functions, caplog):
    caplog.set_level(logging.WARNING, "kcodec")
    worker.load(content("orders"), logging.WARNING, "from_avro")([b"bad"])
    logging.getLogger("kcodec").warning("plain")
    assert caplog.records[-1].getMessage() == "plain"
