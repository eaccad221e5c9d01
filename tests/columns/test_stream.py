"""Readers of batches that are made as they are read."""

import time
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

from kcodec.columns.stream import stream
from kcodec.errors import KcodecError, RegistryError

SCHEMA = pa.schema({"id": pa.int64()})


def batches(*given):
    """Make a batch of each number, up to an error."""
    for each in given:
        if isinstance(each, BaseException):
            raise each
        yield pa.record_batch([[each]], SCHEMA)


def test_all_batches_up_to_the_end():
    reader = stream(SCHEMA, batches(1, 2))
    assert [batch["id"][0].as_py() for batch in reader] == [1, 2]
    with pytest.raises(StopIteration):
        reader.read_next_batch()


def test_an_error_is_no_end():
    reader = stream(SCHEMA, batches(1, RegistryError("gone"), 3))
    assert reader.read_next_batch()["id"].to_pylist() == [1]
    for _ in range(3):
        with pytest.raises(RegistryError, match="gone"):
            reader.read_next_batch()
    with pytest.raises(RegistryError, match="gone"):
        reader.read_all()


def test_an_interruption_is_no_end():
    reader = stream(SCHEMA, batches(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        reader.read_next_batch()
    with pytest.raises(KcodecError, match="interrupted"):
        reader.read_next_batch()


def test_what_makes_the_batches_is_closed_with_the_reader():
    closed = []

    def endless():
        try:
            while True:
                yield pa.record_batch([[1]], SCHEMA)
        finally:
            closed.append(True)

    reader = stream(SCHEMA, endless())
    reader.read_next_batch()
    reader.close()
    del reader
    assert closed


def test_threads_share_a_reader():
    def made():
        for number in range(40):
            # Others ask meanwhile.
            time.sleep(0.001)
            yield pa.record_batch([[number]], SCHEMA)

    reader = stream(SCHEMA, made())
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda _: [batch["id"][0].as_py() for batch in reader], range(4))
    assert sorted(number for each in found for number in each) == list(range(40))
