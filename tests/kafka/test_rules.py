"""Topics whose schemas have rules that run row by row, against a broker of the tests' own."""

import json

import pyarrow as pa
import pytest
from fake_broker import FAST, FakeCluster

from kcodec import EncodeError
from kcodec.kafka import follow, read, write
from kcodec.registry import Rule, RuleSet, Schema
from kcodec.registry.memory import MemoryRegistry

SCHEMA = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "by", "type": "string", "confluent:tags": ["SHOUT"]}],
}
RULES = (
    Rule("positive", type="CEL", kind="CONDITION", mode="WRITE", expr="message.id > 0"),
    Rule("small", type="CEL", kind="CONDITION", mode="READ", expr="message.id < 10"),
    Rule("shout", type="CEL_FIELD", mode="READ", tags=("SHOUT",), expr="value + '!'"),
)
TABLE = pa.table({"value": [{"id": 1, "by": "ada"}, {"id": 20, "by": "bob"}]})


@pytest.fixture
def place():
    handle = MemoryRegistry()
    handle.register("orders-value", Schema(json.dumps(SCHEMA), rules=RuleSet(domain=RULES)))
    value = {"format": "AVRO", "registry": handle, "config": {"use.latest.version": True}}
    with FakeCluster({"orders": 1}) as cluster:
        yield {"servers": cluster.address, "config": FAST, "value": value}


def test_written_and_read(place):
    write(TABLE, "orders", **place)
    with pytest.raises(EncodeError, match="rule: row 0, schema id 1: the rule positive"):
        write(pa.table({"value": [{"id": -1, "by": "eve"}]}), "orders", **place)
    reader, report = read("orders", columns=["offset", "value"], errors="report", **place)
    assert reader.read_all().to_pylist() == [
        {"offset": 0, "value": {"id": 1, "by": "ada!"}},
        {"offset": 1, "value": None},
    ]
    (fault,) = report.table().to_pylist()
    assert (fault["offset"], fault["column"], fault["code"]) == (1, "value", "rule")
    assert fault["reason"] == "the rule small: Rule expr failed: message.id < 10"


def test_followed(place):
    write(TABLE[:1], "orders", **place)
    with follow("orders", start="earliest", **place) as reader:
        batch = next(iter(reader))
    assert batch["value"].to_pylist() == [{"id": 1, "by": "ada!"}]
