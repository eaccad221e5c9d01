"""A format is a folder and an entry in the table: with these, everything that has to do with formats knows it.

The folder is `toy_format` (schemas) and `toy_codec`; nothing else of the package is changed for it. Spark is asked in
`tests/spark/functions/test_new_format.py`.
"""

import pyarrow as pa
import pytest
from fake_broker import FAST
from toy_codec import ENTRY, ToyCodec

import kcodec
from kcodec.errors import ConfigError, DecodeError, EncodeError, RegistryError
from kcodec.formats.schema_format import schema_format, schema_types
from kcodec.formats.table import FORMATS, codec_names, spark_names
from kcodec.kafka import read, write
from kcodec.registry import Schema


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    monkeypatch.setitem(FORMATS, ENTRY.name, ENTRY)


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/toys.db"


def test_the_tables_of_names():
    assert codec_names()["ToyCodec"] == "toy_codec"
    assert spark_names()["to_toy"] == ".toy"
    assert schema_types() == ["JSON", "PROTOBUF", "AVRO", "TOY"]
    assert schema_format("TOY") is schema_format("TOY_SR")


def test_the_codec():
    codec = ToyCodec("toy 2")
    values = codec.encode(pa.array([1, None, -2]))
    assert values.to_pylist() == [b"\0\1", None, b"\xff\xfe"]
    assert codec.decode(values).to_pylist() == [1, None, -2]
    assert codec.decode_one(b"\0\7") == 7
    with pytest.raises(DecodeError, match="truncated: row 1"):
        codec.decode([b"\0\1", b"\0"])
    with pytest.raises(EncodeError, match="out_of_range"):
        codec.encode(pa.array([1 << 20]))


def test_a_registry(url):
    registry = kcodec.registry.open(url)
    assert registry.register("toys-value", Schema(" toy  2", "TOY")).schema.text == "toy 2"
    assert registry.register("toys-value", Schema("toy 4", "TOY")).version == 2
    with pytest.raises(RegistryError, match="TOO_NARROW"):
        registry.register("toys-value", Schema("toy 1", "TOY"))


def test_a_serde(url):
    narrow = kcodec.Serde("TOY_SR", url, topic="toys", schema="toy 2").serialize(pa.array([7], pa.int16()))
    serde = kcodec.Serde("TOY_SR", url, topic="toys", reader_schema="toy 4")
    assert serde.deserialize(narrow).to_pylist() == [7]
    with pytest.raises(ConfigError, match="is not one of AVRO, JSON_SR, PROTOBUF, TOY_SR"):
        kcodec.Serde("TOYS", url)
    with pytest.raises(RegistryError, match="not toy and a number"):
        kcodec.Serde("TOY_SR", url, topic="toys", schema="tea 2").serialize(pa.array([7]))


def test_a_topic(cluster, url):
    place = {"servers": cluster.address, "config": {**FAST, "schema.registry.url": url}}
    table = pa.table({"value": pa.array([1, None, -2], pa.int16())})
    write(table, "orders", value="toy_sr", partition=0, **place)
    assert read("orders", value="TOY_SR", **place).read_all()["value"].to_pylist() == [1, None, -2]


def test_the_console_script(run, url):
    kcodec.registry.open(url).register("orders-value", Schema("toy 2", "TOY"))
    formats = ("--value", "toy_sr", "--registry", url)
    assert run("produce", "orders", *formats, stdin=b"1\n-2\n")[::2] == (0, "")
    status, out, _ = run("consume", "orders", *formats, "-o", "text")
    assert (status, sorted(out.split())) == (0, ["-2", "1"])
    status, _, errors = run("consume", "orders", "--value", "toys")
    assert (status, errors.partition("--value ")[2].partition(";")[0]) == (
        2,
        "toys is not one of avro, json_sr, protobuf, toy_sr or a plugin's, with a registry",
    )
