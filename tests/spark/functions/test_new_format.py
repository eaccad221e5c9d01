"""A format that has nothing but its folder and an entry in the table, in functions of Spark and in its topics."""

import pyarrow as pa
import pytest
import toy_codec
import toy_format
from pyspark import cloudpickle
from toy_codec import ENTRY, from_toy, to_toy

from kcodec import registry
from kcodec.errors import ConfigError
from kcodec.formats.table import FORMATS
from kcodec_spark.kafka.formats import FORMAT_OPTIONS, encoder, payload
from kcodec_spark.kafka.options import Given
from kcodec_spark.options import RowsOptions


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    monkeypatch.setitem(FORMATS, ENTRY.name, ENTRY)
    # The executors do not have the modules.
    for module in (toy_format, toy_codec):
        cloudpickle.register_pickle_by_value(module)
    yield
    for module in (toy_format, toy_codec):
        cloudpickle.unregister_pickle_by_value(module)


def test_functions(classic, tmp_path):
    frame = classic.createDataFrame([(1,), (None,), (-2,)], "n int")
    there = frame.select(to_toy("n", "toy 2").alias("value"), to_toy("n").alias("derived"))
    assert there.first().asDict() == {"value": b"\0\1", "derived": b"\0\0\0\1"}
    again = there.select(from_toy("value", "toy 2").alias("n"))
    assert again.schema.simpleString() == "struct<n:smallint>"
    assert [row.n for row in again.collect()] == [1, None, -2]

    address = f"sqlite:///{tmp_path / 'toys.db'}"
    registry.open(address).register("toys", registry.Schema("toy 4", "TOY"))
    place = {"subject": "toys", "schemaRegistryAddress": address}
    framed = frame.select(to_toy("n", **place).alias("value"))
    assert framed.first().value == b"\0\0\0\0\1\0\0\0\1"
    assert [row.n for row in framed.select(from_toy("value", **place).alias("n")).collect()] == [1, None, -2]
    with pytest.raises(ConfigError, match="a schema is needed, or subject and schemaRegistryAddress"):
        from_toy("value")


def test_topics():
    options = {"kafka.bootstrap.servers": "localhost:1", "value.format": "toy_sr", "value.schema": "toy 2"}
    written = encoder(Given(options, True, FORMAT_OPTIONS), "value", "TOY_SR", ["toys"]).encode(
        pa.array([1, -2])
    )
    reading = payload(Given(options, False, FORMAT_OPTIONS), "value", ["toys"], RowsOptions())
    assert reading.deserialize(written, "raise").to_pylist() == [1, -2]
