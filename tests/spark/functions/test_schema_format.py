"""A plugin's schema format in Spark: framed functions and SQL."""

import pyarrow as pa
import pytest
import toy_format
from pyspark import cloudpickle
from toy_plugin import install

from kcodec import Serde, registry
from kcodec.errors import ConfigError
from kcodec_spark import register
from kcodec_spark.functions.codecs import reader_of, writer_of
from kcodec_spark.functions.columns import decoded, encoded
from kcodec_spark.functions.framed import framed_serde, framed_writer
from kcodec_spark.kafka.formats import FORMAT_OPTIONS, encoder, format_of, payload
from kcodec_spark.kafka.options import Given
from kcodec_spark.options import RowsOptions


@pytest.fixture
def toy(tmp_path, monkeypatch):
    # The executors do not have the plugin's module.
    cloudpickle.register_pickle_by_value(toy_format)
    yield install(tmp_path, monkeypatch)
    cloudpickle.unregister_pickle_by_value(toy_format)


def test_a_plugins_format(classic, toy, tmp_path):
    address = f"sqlite:///{tmp_path / 'schemas.db'}"
    settings = {"auto.register.schemas": True}
    frame = classic.createDataFrame([(1,), (None,), (-2,)], "n int")
    for text in ("toy 2", "toy 4"):
        write = writer_of(framed_writer("TOY_SR", "toys", address, settings, text, {}))
        values = frame.select(encoded("n", write, "to_toy", RowsOptions()).alias("value"))
        first = values.first().value
    assert first == b"\0\0\0\0\2\0\0\0\1"
    assert registry.open(address).versions("toys") == [1, 2]
    old = classic.createDataFrame([(bytearray(b"\0\0\0\0\1\0\7"),)], "value binary")
    reading = reader_of(framed_serde("TOY_SR", "toys", address, {}, None, {}))
    rows = old.unionAll(values).select(decoded("value", reading, RowsOptions(), "from_toy").alias("n"))
    assert rows.schema.simpleString() == "struct<n:int>"
    assert sorted(row.n or 0 for row in rows.collect()) == [-2, 0, 1, 7]

    serde = Serde("TOY_SR", address, topic="toys", reader_schema=1)
    register(classic, {"toy_of": serde}, options={"mode": "PERMISSIVE"})
    assert classic.sql("SELECT toy_of(X'00000000010003') AS n").first().n == 3


def test_a_plugins_format_in_topics(toy, tmp_path):
    address = f"sqlite:///{tmp_path / 'schemas.db'}"
    alone = {"kafka.bootstrap.servers": "localhost:1", "value.format": "toy_sr"}
    options = {**alone, "value.schema": "toy 2", "schemaRegistryAddress": address}
    registry.open(address).register("toys-value", registry.Schema("toy 2", "TOY"))
    given = Given(options, True, FORMAT_OPTIONS)
    assert format_of(given, "value") == "TOY_SR"
    written = encoder(given, "value", "TOY_SR", ["toys"]).serialize(pa.array([1, None, -2], pa.int16()))
    assert written[0].as_py() == b"\0\0\0\0\1\0\1"
    del options["value.schema"]
    reading = payload(Given(options, False, FORMAT_OPTIONS), "value", ["toys"], RowsOptions())
    assert reading.deserialize(written, "raise").to_pylist() == [1, None, -2]
    with pytest.raises(ConfigError, match=r"value\.format=toy_sr needs schemaRegistryAddress"):
        encoder(Given(alone, True, FORMAT_OPTIONS), "value", "TOY_SR", ["toys"])
    with pytest.raises(ConfigError, match=r"value\.message is an option of protobuf"):
        encoder(Given({**options, "value.message": "M"}, True, FORMAT_OPTIONS), "value", "TOY_SR", ["toys"])
