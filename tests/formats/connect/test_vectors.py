"""Columns of the codec against what Kafka's JsonConverter gives: every vector that Arrow has a type for."""

import collections
from decimal import Decimal

import pyarrow as pa
import pytest
from connect_vectors import same, untag
from vector_files import read_vectors

from kcodec import ConfigError, ConnectJsonCodec, ConnectSchema, DecodeError, EncodeError
from kcodec.formats.connect.arrow import row_value
from kcodec.formats.connect.values import Float32, Int8, Int16, Int32, Map, Millis, Struct

#: What JsonConverter reads and a column of kcodec has no room for.
NO_ROOM = {"measured:Timestamp<-9223372036854775807#1": "out_of_range"}


def rescaled(value, kind):
    """Return decimals with the scale of their column."""
    if isinstance(value, Decimal):
        return value.quantize(Decimal((0, (1,), -kind.scale)))
    return value


def read(vector):
    codec = ConnectJsonCodec(compat="connect", config=vector["config"])
    rows = [None if vector["bytes"] is None else vector["bytes"].encode()]
    expected = vector["expected"]
    if not codec._enveloped or ("error" not in expected and expected["schema"] is None):
        value = codec.to_schemaless(rows)[0]
        assert same(value, untag(expected["value"])), vector["id"]
        return "as Python values"
    if vector["id"] in NO_ROOM:
        with pytest.raises(DecodeError) as caught:
            codec.decode(rows)
        assert caught.value.code == NO_ROOM[vector["id"]]
        return "no room in Arrow"
    array = codec.decode(rows)
    wanted = untag(expected["value"])
    assert same(row_value(array, 0), rescaled(wanted, array.type)), (vector["id"], array)
    return "columns"


NATURAL = {
    bool: pa.bool_(),
    Int8: pa.int8(),
    Int16: pa.int16(),
    Int32: pa.int32(),
    int: pa.int64(),
    Float32: pa.float32(),
    float: pa.float64(),
    str: pa.string(),
    bytes: pa.binary(),
    Millis: pa.timestamp("ms"),
}


def natural(value) -> pa.DataType:
    """The Arrow type of a value of Connect."""
    if isinstance(value, Decimal):
        return pa.decimal128(38, -value.as_tuple().exponent)
    if isinstance(value, Struct):
        return pa.struct([(name, natural(part)) for name, part in value.items()])
    if isinstance(value, (Map, list)):
        kinds = [[natural(part) for part in entry] for entry in value] if isinstance(value, Map) else None
        if kinds is not None:
            return pa.map_(*kinds[0])
        return pa.list_(natural(value[0]))
    return NATURAL[type(value)]


def write(vector):
    value = untag(vector["value"])
    codec = ConnectJsonCodec(vector["schema"], compat="connect", config=vector["config"])
    if vector["schema"] is None or (isinstance(value, Map) and any(key is None for key, _ in value)):
        return "not in Arrow"
    schema = ConnectSchema.from_json(vector["schema"])
    kind = schema.to_arrow() if value is None else natural(value)
    array = pa.array([value], kind)
    assert codec.encode(array).to_pylist() == [vector["expected"]["bytes"].encode()], vector["id"]
    return "columns"


@pytest.mark.parametrize("folder", ["own", "shared"])
def test_vectors(folder, request, capsys, impl):
    if folder == "own":
        vectors = read_vectors("connect_json_vectors.jsonl.gz")
    else:
        vectors = read_vectors("connect_json_vectors.jsonl.gz", request.getfixturevalue("shared") / "vectors")
    counts = collections.Counter()
    for vector in vectors:
        act = read if vector["direction"] == "to_connect" else write
        if "error" not in vector["expected"]:
            counts[f"{act.__name__}: {act(vector)}"] += 1
            continue
        if vector["direction"] == "from_connect" and vector["schema"] is None:
            counts["write: not in Arrow"] += 1
            continue
        with pytest.raises((DecodeError, EncodeError, ConfigError)) as caught:
            act(vector)
        assert vector["expected"]["message"] in str(caught.value), vector["id"]
        counts[f"{act.__name__}: refused"] += 1
    assert sum(counts.values()) == len(vectors) > 150
    with capsys.disabled():
        print(f"\nconnect_json_vectors ({folder}, {impl}): {dict(counts)}")
