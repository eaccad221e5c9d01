"""Commands on topics whose schemas have rules."""

import json

import kcodec
from kcodec.registry import Rule, RuleSet, Schema

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


def test_produce_and_consume(run, tmp_path):
    url = f"sqlite:///{tmp_path}/ruled.db"
    ruled = Schema(json.dumps(SCHEMA), rules=RuleSet(domain=RULES))
    kcodec.registry.open(url).register("orders-value", ruled)
    place = ("orders", "--value", "avro", "--registry", url)
    lines = b'{"id": 1, "by": "ada"}\n{"id": 20, "by": "bob"}\n'
    assert run("produce", *place, stdin=lines)[0] == 0
    status, _, errors = run("produce", *place, stdin=b'{"id": -1, "by": "eve"}\n')
    assert (status, "the rule positive: Rule expr failed: message.id > 0" in errors) == (1, True)

    status, out, errors = run("consume", *place, "--columns", "value")
    found = [json.loads(line)["value"] for line in out.splitlines()]
    assert status == 1
    assert sorted(found, key=str) == [None, {"id": 1, "by": "ada!"}]
    assert errors.rstrip().endswith("value: rule: the rule small: Rule expr failed: message.id < 10")
    off = ("-X", "rule.executors._default_.disabled=true")
    status, out, _ = run("consume", *place, "--columns", "value.by", *off)
    assert (status, sorted(json.loads(line)["by"] for line in out.splitlines())) == (0, ["ada", "bob"])
