"""Documents whose schema has other logical types of Connect's than the reader's."""

import datetime
import json
import pickle
from decimal import Decimal

import pytest
from cases import cases

import kcodec
from kcodec import Serde
from kcodec.registry import Config, Schema, differences
from kcodec.registry.memory import MemoryRegistry

DATA = "org.apache.kafka.connect.data."


def schema(name, kind, **parameters):
    wires = {"Decimal": ("string", "bytes"), "Date": ("integer", "int32"), "Time": ("integer", "int32")}
    wire, connect = wires.get(name, ("integer", "int64"))
    part = {"type": wire, "title": DATA + name, "connect.type": connect, "connect.version": 1}
    if parameters:
        part["connect.parameters"] = {
            each.replace("_", "."): str(value) for each, value in parameters.items()
        }
    shapes = {
        "plain": part,
        "nullable": {"oneOf": [{"type": "null"}, part]},
        "array": {"type": "array", "items": part},
        "tuple": {"type": "array", "items": [part, {"type": "boolean"}], "minItems": 2, "maxItems": 2},
        "map": {"type": "object", "connect.type": "map", "additionalProperties": part},
        "nested": {"type": "object", "properties": {"x": part}, "required": ["x"]},
    }
    return {"type": "object", "properties": {"p": shapes[kind]}, "required": ["p"]}


def decimals(scale, kind="plain", precision=10):
    return schema("Decimal", kind, scale=scale, connect_decimal_precision=precision)


def registered(*schemas):
    registry = MemoryRegistry()
    registry.set_config(Config("NONE"))
    ids = [registry.register("t-value", Schema(json.dumps(each), "JSON")).id for each in schemas]
    return registry, [b"\0" + each.to_bytes(4, "big") for each in ids]


WRAPPED = {
    "plain": (b'"ATo="', Decimal("3.140")),
    "nullable": (b'"ATo="', Decimal("3.140")),
    "array": (b'["ATo=", "ATo="]', [Decimal("3.140")] * 2),
    "tuple": (b'["ATo=", true]', {"_0": Decimal("3.140"), "_1": True}),
    "map": (b'{"k": "ATo="}', [("k", Decimal("3.140"))]),
    "nested": (b'{"x": "ATo="}', {"x": Decimal("3.140")}),
}


@cases("kind", WRAPPED)
def test_scale_that_grew(impl, kind):
    registry, (old, new) = registered(decimals(2, kind), decimals(3, kind))
    text, expected = WRAPPED[kind]
    serde = Serde("JSON_SR", registry, topic="t")
    value = old + b'{"p": ' + text + b"}"
    for each in (serde, pickle.loads(pickle.dumps(serde))):
        assert each.deserialize([value]).to_pylist() == [{"p": expected}]
    newer = new + b'{"p": ' + text.replace(b"ATo=", b"DEQ=") + b"}"
    row = {"p": expected}
    assert serde.deserialize([newer, value, None, newer]).to_pylist() == [row, row, None, row]


def test_values_that_do_not_fit(impl):
    registry, (old, same, _) = registered(
        decimals(4), {**decimals(4), "title": "T"}, decimals(2, precision=4)
    )
    numbers = [old + b'{"p":"A9A="}', same + b'{"p":"AQ=="}', old + b'{"p":0.25}', old + b'{"p":"O5rKAA=="}']
    found, report = Serde("JSON_SR", registry, topic="t").deserialize(numbers, errors="report")
    assert [row and row["p"] for row in found.to_pylist()] == [None, None, Decimal("0.25"), None]
    assert [(fault["row"], fault["path"], fault["code"]) for fault in report.to_pylist()] == [
        (0, "p", "inexact"), (1, "p", "inexact"), (3, "p", "decimal_precision"),
    ]  # fmt: skip
    assert Serde("JSON_SR", registry, topic="t").deserialize([old + b'{"p":"TiA="}'])[0]["p"].as_py() == 2


def test_documents_that_only_jackson_reads(impl):
    """What is read again by itself has the scale of its own schema, too."""
    registry, (old, new) = registered(decimals(2), decimals(3))
    wide = '{"p":"ATo="}'.encode("utf-16")
    serde = Serde("JSON_SR", registry, topic="t")
    expected = [{"p": Decimal("3.140")}, {"p": Decimal("0.314")}]
    assert serde.deserialize([old + wide, new + wide]).to_pylist() == expected
    assert serde.deserialize([old + wide, new + wide], errors="null").to_pylist() == expected


def test_dates_and_times(impl):
    registry, (date, time, timestamp) = registered(
        schema("Date", "plain"), schema("Time", "plain"), schema("Timestamp", "plain")
    )
    values = [
        timestamp + b'{"p":1704067200000}',
        date + b'{"p":19723}',
        time + b'{"p":5}',
        date + b'{"p":1e9}',
    ]
    found, report = Serde("JSON_SR", registry, topic="t").deserialize(values, errors="report")
    day = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)
    assert [row and row["p"] for row in found.to_pylist()][:3] == [day, day, None]
    fault = report.to_pylist()[0]
    assert (fault["row"], fault["code"], fault["schema_id"]) == (2, "logical_type", 2)
    assert fault["reason"] == "#/properties/p: the writer's Time is not the reader's Timestamp"
    with pytest.raises(kcodec.DecodeError, match="logical_type: row 0"):
        Serde("JSON_SR", registry, topic="t", reader_schema=1).deserialize(values[:1])


def test_differences_tell_it():
    def told(old, new):
        found = differences(*(Schema(json.dumps(each), "JSON") for each in (old, new)))
        return [(each.path, each.message) for each in found if each.type.startswith("LOGICAL_TYPE")]

    assert told(decimals(2), decimals(3)) == [("#/properties/p", "scale 2 -> 3: converted")]
    assert told(decimals(3, "array"), decimals(2, "array")) == [
        ("#/properties/p/items", "scale 3 -> 2: converted if exact")
    ]
    assert told(schema("Date", "nested"), schema("Timestamp", "nested")) == [
        ("#/properties/p/properties/x", "Date -> Timestamp: converted")
    ]
    assert (
        told(schema("Time", "plain"), schema("Date", "plain"))[0][1]
        == "the writer's Time is not the reader's Date"
    )
    assert told(decimals(2), decimals(2)) == []
