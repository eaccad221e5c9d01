"""The row-at-a-time JsonConverter gives the original's answer for every vector."""

import collections

import pytest
from connect_vectors import same, untag
from vector_files import read_vectors

from kcodec import ConfigError, ConnectSchema
from kcodec.formats.connect.converter import JsonConverter, converter_config
from kcodec.plan.failure import RowError


def answer(vector):
    """What the converter makes of a vector's input."""
    converter = JsonConverter(converter_config(vector["config"]))
    if vector["direction"] == "to_connect":
        data = None if vector["bytes"] is None else vector["bytes"].encode()
        return converter.to_connect_data(data)
    schema = None if vector["schema"] is None else ConnectSchema.from_json(vector["schema"])
    written = converter.from_connect_data(schema, untag(vector["value"]))
    return None if written is None else written.decode()


def check(vector) -> str:
    expected = vector["expected"]
    if "error" in expected:
        with pytest.raises((RowError, ConfigError)) as caught:
            answer(vector)
        assert str(caught.value).startswith(expected["message"]), vector["id"]
        return "refused"
    if vector["direction"] == "to_connect":
        schema, value = answer(vector)
        assert (schema and schema.to_json()) == expected["schema"], vector["id"]
        assert same(value, untag(expected["value"])), (vector["id"], value)
        return "read"
    assert answer(vector) == expected["bytes"], vector["id"]
    return "written"


@pytest.mark.parametrize("folder", ["own", "shared"])
def test_vectors(folder, request, record_property, capsys):
    if folder == "own":
        vectors = read_vectors("connect_json_vectors.jsonl.gz")
    else:
        vectors = read_vectors("connect_json_vectors.jsonl.gz", request.getfixturevalue("shared") / "vectors")
    counts = collections.Counter(check(vector) for vector in vectors)
    assert sum(counts.values()) == len(vectors) > 150
    with capsys.disabled():
        print(f"\nconnect_json_vectors ({folder}): {dict(counts)}")
