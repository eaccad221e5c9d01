"""The row-at-a-time JsonConverter gives the original's answer for every vector."""

import collections
import json
from decimal import Decimal

import pytest
from cases import cases
from connect_rows import DECIMAL, rows, struct
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


DATE = {"type": "int32", "name": "org.apache.kafka.connect.data.Date"}
KEYS = {"type": "map", "keys": {"type": "string"}, "values": {"type": "int8"}}


@cases(
    ("schema", "payload", "reason"),
    [
        # Java's own checks of a value, within structs only.
        *(
            (struct(a={**parts, "name": name}), {"a": 5}, f"class {java} cannot be cast to class {wanted}")
            for name, java in (
                (DATE["name"], "java.util.Date"),
                (DECIMAL["name"], "java.math.BigDecimal"),
            )
            for parts, wanted in (
                ({"type": "array", "items": DATE}, "java.util.List"),
                (KEYS, "java.util.Map"),
                (struct(b=DATE), "org.apache.kafka.connect.data.Struct"),
            )
        ),
        ({**KEYS, "name": DATE["name"], "default": 5}, {}, "class java.util.Date cannot be cast to class"),
        (
            struct(a={**KEYS, "keys": {**DATE, "type": "string"}}),
            {"a": {"5": 1}},
            f'Invalid Java object for schema "{DATE["name"]}" with type STRING: class java.lang.String '
            'for key of map field: "a"',
        ),
        ({**KEYS, "keys": {**DATE, "type": "string"}, "default": {"5": 1}}, {}, "Invalid default value"),
        # What is wrong first, where two things are.
        ({**KEYS, "keys": DATE}, [["x", 1], 5], "Invalid type for Date"),
        ({**KEYS, "keys": None}, {}, "keySchema cannot be null."),
        ({**KEYS, "keys": 5, "values": None}, {}, "Schema must contain 'type' field"),
        ({**KEYS, "values": None}, {}, "valueSchema cannot be null."),
        ({"type": "map", "keys": 5}, {}, "Map schema did not specify the value type"),
        ({"type": "struct", "fields": [{"field": "", "type": 5}]}, {}, "Schema must contain 'type' field"),
    ],
)
def test_refused(schema, payload, reason):
    (row,) = rows((schema, payload))
    with pytest.raises(RowError) as caught:
        JsonConverter().to_connect_data(row)
    assert caught.value.reason.startswith(reason)


def test_a_name_of_another_type():
    """Nobody looks at a value that is in no struct."""
    converter = JsonConverter()
    for schema, payload in (
        ({"type": "array", "items": DATE, "name": DATE["name"]}, 5),
        ({**KEYS, "keys": {**DATE, "type": "string"}}, {}),
    ):
        (row,) = rows((schema, payload))
        assert json.loads(converter.from_connect_data(*converter.to_connect_data(row)))["payload"] == payload


def test_the_content_of_a_schema_is_for_schemas_that_are_enabled():
    content = {"schema.content": '{"type":"int8"}'}
    assert JsonConverter(converter_config(content)).to_connect_data(b"300")[1] == 44
    plain = JsonConverter(converter_config(content | {"schemas.enable": "false"}))
    assert plain.to_connect_data(b"300") == (None, 300)
    assert plain.to_connect_data(b"") == (None, None)


def test_a_scale_that_is_no_number():
    schema = ConnectSchema.from_json({**DECIMAL, "parameters": {"scale": "x"}})
    with pytest.raises(RowError) as caught:
        JsonConverter().from_connect_data(schema, Decimal(1))
    assert caught.value.reason == "Invalid scale parameter found in Decimal schema: "


@cases(
    ("key", "payload", "count"),
    [
        ({"type": "bytes"}, ["", ""], 1),
        ({"type": "bytes"}, ["AQ==", "AQ=="], 2),
        (struct(b={"type": "bytes"}), [{"b": "AQ=="}, {"b": "AQ=="}], 1),
        ({"type": "array", "items": {"type": "bytes"}}, [["AQ=="], ["AQ=="]], 2),
        (struct(b={"type": "array", "items": {"type": "bytes"}}), [{"b": ["AQ=="]}, {"b": ["AQ=="]}], 2),
        (KEYS, [{"a": 1, "b": 2}, {"b": 2, "a": 1}], 1),
        (KEYS, [{"a": 1, "b": 2}, {"b": 1, "a": 2}], 2),
        ({"type": "array", "items": {"type": "int8"}}, [[1, 2], [2, 1]], 2),
    ],
)
def test_keys_that_are_equal_in_java(key, payload, count):
    schema = {"type": "map", "keys": key, "values": {"type": "int8"}}
    (row,) = rows((schema, [[each, number] for number, each in enumerate(payload)]))
    found = JsonConverter().to_connect_data(row)[1]
    assert [number for _, number in found] == list(range(2))[-count:]
