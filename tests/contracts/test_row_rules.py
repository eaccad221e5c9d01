"""Rules that run row by row (CEL, CEL_FIELD, JSONATA), beside confluent-kafka's serializers on the same registry."""

import copy
import functools
import json
import pickle
import sys

import pytest
from cases import cases
from confluent_kafka.schema_registry import rule_registry
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.schema_registry.serde import RuleExecutor
from confluent_kafka.serialization import SerializationError
from encryption_box import PARAMETERS, context
from google.protobuf import json_format

from kcodec import DecodeError, EncodeError, Serde
from kcodec.contracts.row_rules import ValueShape
from kcodec.contracts.values import message_class
from kcodec.formats.protobuf.schema_format import ProtobufFormat
from kcodec.registry import Config, Metadata, Reference, Rule, RuleSet, Schema
from kcodec.registry.memory import MemoryRegistry

ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": "string", "confluent:tags": ["PII"]},
        {"name": "note", "type": ["null", "string"], "default": None, "confluent:tags": ["FREE"]},
        {
            "name": "lines",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "Line",
                    "fields": [{"name": "text", "type": "string", "confluent:tags": ["PII"]}],
                },
            },
        },
    ],
}
ORDER_JSON = {
    "type": "object",
    "title": "Order",
    "properties": {
        "id": {"type": "integer"},
        "name": {"type": "string", "confluent:tags": ["PII"]},
        "note": {"oneOf": [{"type": "null"}, {"type": "string"}], "confluent:tags": ["FREE"]},
        "lines": {
            "type": "array",
            "items": {
                "type": "object",
                "title": "Line",
                "properties": {"text": {"type": "string", "confluent:tags": ["PII"]}},
            },
        },
    },
}
ORDER_PROTO = """syntax = "proto3";
package shop;
import "confluent/meta.proto";
message Line { string text = 1 [(confluent.field_meta).tags = "PII"]; }
message Order {
  int64 id = 1;
  string name = 2 [(confluent.field_meta).tags = "PII"];
  optional string note = 3 [(confluent.field_meta).tags = "FREE"];
  repeated Line lines = 4;
}
"""
ROWS = [
    {"id": 1, "name": "one", "note": None, "lines": []},
    {"id": -1, "name": "two", "note": "n", "lines": [{"text": "a"}, {"text": "bcd"}]},
    {"id": 3, "name": "a longer one", "note": "", "lines": [{"text": ""}]},
]
ENCRYPT = Rule("encrypt", type="ENCRYPT", tags=("PII",), params=PARAMETERS)


def cel(name, expr, kind="CONDITION", **more):
    return Rule(name, type="CEL", kind=kind, expr=expr, **more)


def fields(name, expr, kind="TRANSFORM", **more):
    return Rule(name, type="CEL_FIELD", kind=kind, expr=expr, **more)


RULES = {
    "condition": [cel("positive", "message.id > 0")],
    "condition-write": [cel("positive", "message.id > 0", mode="WRITE")],
    "condition-read": [cel("positive", "message.id > 0", mode="READ")],
    "guard": [cel("named", "message.id > 0 ; size(message.name) < 5")],
    "doc": [cel("positive", "message.id > 0", doc="ids are positive")],
    "does-not-compile": [cel("wrong", "message.id >")],
    "does-not-run": [cel("wrong", "message.missing > 0")],
    "on-failure": [
        cel("positive", "message.id > 0", on_failure="NONE"),
        cel("named", "size(message.name) < 5"),
    ],
    "on-failure-both": [cel("positive", "message.id > 0", on_failure="ERROR,NONE")],
    "on-success": [cel("positive", "message.id > 0", on_success="NONE,ERROR")],
    "disabled": [cel("positive", "message.id > 0", disabled=True), cel("named", "size(message.name) < 5")],
    "field-condition": [fields("short", "typeName == 'STRING' ; size(value) < 4", "CONDITION")],
    "field-tags": [fields("marked", "value + '!'", tags=("PII",), mode="WRITE")],
    "field-guard": [fields("marked", "name == 'name' ; value + '-suffix'", mode="READ")],
    "field-message": [fields("marked", "name == 'name' ; value + (message.id > 0 ? '+' : '-')")],
    "same-tags": [
        fields("first", "value + '1'", tags=("PII",)),
        fields("second", "value + '2'", tags=("PII",)),
    ],
    "order": [
        fields("first", "value + '1'", tags=("PII",)),
        fields("second", "value + '2'", tags=("PII",), mode="WRITE"),
        cel("named", "message.name.endsWith('12')", mode="WRITE"),
    ],
    "encrypted-after": [cel("named", "size(message.name) < 5", mode="WRITE"), ENCRYPT],
    "encrypted-between": [
        fields("marked", "value + '!'", tags=("PII",), mode="WRITE"),
        ENCRYPT,
        cel("named", "size(message.name) < 7", mode="READ"),
    ],
}
#: Transforms of whole messages, which Protobuf has under other names of types.
MESSAGES = {
    "jsonata": [
        Rule(
            "renamed",
            type="JSONATA",
            mode="READ",
            expr="$merge([$sift($, function($v, $k) {$k != 'name'}), {'name': $uppercase($.name)}])",
        )
    ],
    "jsonata-write": [
        Rule("named", type="JSONATA", mode="WRITE", expr="$merge([$, {'name': $uppercase($.name)}])")
    ],
    "cel-message": [
        cel(
            "made",
            "{'id': message.id, 'name': 'made', 'note': message.note, 'lines': message.lines}",
            "TRANSFORM",
        )
    ],
    "cel-nothing": [Rule("nothing", type="JSONATA", expr="missing")],
}


class Side:
    """Serializers of both sides, and values that compare."""

    def __init__(self, box, topic, format):
        self.box, self.topic = box, topic
        self.name = {"AVRO": "AVRO", "JSON": "JSON_SR", "PROTOBUF": "PROTOBUF"}[format]
        self.format = format
        self.text = {"AVRO": ORDER, "JSON": ORDER_JSON, "PROTOBUF": ORDER_PROTO}[format]

    def register(self, rules=(), migration=(), text=None, metadata=None, enable_at=None):
        text = text or self.text
        text = text if isinstance(text, str) else json.dumps(text)
        made = RuleSet(domain=tuple(rules), migration=tuple(migration), enable_at=enable_at)
        return self.box.registry.register(
            f"{self.topic}-value", Schema(text, self.format, metadata=metadata, rules=made)
        )

    def ours(self, config=None, **arguments):
        if self.format == "PROTOBUF":
            arguments = {"message": "shop.Order", **arguments}
        return self.box.serde(self.name, self.topic, config, **arguments)

    @functools.cached_property
    def _message(self):
        schema = ProtobufFormat().parse(ORDER_PROTO)
        return message_class(schema, ValueShape(ORDER_PROTO, (), tuple(schema.indexes("shop.Order"))))

    def message(self):
        return self._message

    def serializer(self):
        if self.format == "AVRO":
            return self.box.their(AvroSerializer, self.box.client, None)
        if self.format == "JSON":
            return self.box.their(JSONSerializer, json.dumps(self.text), self.box.client)
        conf = {"use.deprecated.format": False}
        return self.box.their(ProtobufSerializer, self.message(), self.box.client, conf=conf)

    def deserializer(self, **conf):
        if self.format == "AVRO":
            return self.box.their(AvroDeserializer, self.box.client, conf=conf)
        if self.format == "JSON":
            return self.box.their(JSONDeserializer, None, None, self.box.client, conf=conf)
        conf = {"use.deprecated.format": False, **conf}
        return self.box.their(
            ProtobufDeserializer, self.message(), schema_registry_client=self.box.client, conf=conf
        )

    def given(self, row):
        """Return a row as their serializer takes it."""
        return (
            json_format.ParseDict(row, self.message()()) if self.format == "PROTOBUF" else copy.deepcopy(row)
        )

    def row(self, value):
        """Return what their deserializer gives as a row of ours."""
        if self.format != "PROTOBUF":
            return value
        note = value.note if value.HasField("note") else None
        lines = [{"text": each.text} for each in value.lines]
        return {"id": value.id, "name": value.name, "note": note, "lines": lines}


def attempt(function, *arguments):
    """Return what a function of theirs gives; None if it fails."""
    try:
        return function(*arguments)
    except (SerializationError, ValueError, TypeError, KeyError):
        return None


@pytest.fixture(params=["AVRO", "JSON", "PROTOBUF"])
def side(request, box, topic):
    return Side(box, topic, request.param)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", [*RULES, *MESSAGES])
def test_both_ways(side, name, impl):
    """The same bytes are written, the same values read, and the same rows fail."""
    if side.format == "PROTOBUF" and name in MESSAGES:
        # JSONata has no messages; CEL makes them by the names of their types.
        expr = "shop.Order{id: message.id, name: 'made'}"
        rules = [cel("made", expr, "TRANSFORM")] if name == "cel-message" else MESSAGES[name]
    else:
        rules = {**RULES, **MESSAGES}[name]
    side.register(rules)
    theirs = side.serializer()
    written = [attempt(theirs, side.given(row), context(side.topic)) for row in ROWS]
    serde = side.ours()
    made, report = serde.serialize(ROWS, errors="report", as_list=True)
    failed = [row for row, value in enumerate(written) if value is None]
    assert report["row"].to_pylist() == failed
    assert set(report["code"].to_pylist()) <= {"rule"}
    assert [value is None for value in made] == [value is None for value in written]
    if not any(rule.type == "ENCRYPT" for rule in rules):
        assert made == written

    closed = [value for value in made if value is not None]
    reader = side.deserializer()
    read = [attempt(reader, value, context(side.topic)) for value in closed]
    expected = [None if value is None else side.row(value) for value in read]
    found, report = serde.deserialize(closed, errors="report")
    assert found.to_pylist() == expected
    assert report["row"].to_pylist() == [row for row, value in enumerate(expected) if value is None]
    assert set(report["code"].to_pylist()) <= {"rule"}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("place", ["ALL", "CLIENT", "GATEWAY", "NONE"])
@pytest.mark.parametrize("rule", [ENCRYPT, fields("marked", "value + '!'", tags=("PII",), mode="WRITE")])
def test_where_rules_run(side, rule, place, impl):
    """Those of servers and gateways are none of ours, nor of confluent-kafka's."""
    side.register([rule], enable_at=place)
    theirs = side.serializer()
    written = [theirs(side.given(row), context(side.topic)) for row in ROWS]
    made = side.ours().serialize(ROWS, as_list=True)
    is_plain = place not in ("ALL", "CLIENT")
    assert all(
        (row["name"].encode() in value) is (is_plain or rule.type != "ENCRYPT")
        for row, value in zip(ROWS, made, strict=True)
    )
    if is_plain or rule.type != "ENCRYPT":
        assert made == written
    found = side.ours().deserialize(written).to_pylist()
    reader = side.deserializer()
    assert found == [side.row(reader(value, context(side.topic))) for value in written]


def test_a_setting_counts_more_than_where_rules_run(side, impl):
    side.register([fields("marked", "value + '!'", tags=("PII",), mode="WRITE")], enable_at="NONE")
    values = side.ours({"rule.executors.marked.disabled": "false"}).serialize(ROWS)
    assert [row["name"] for row in side.ours().deserialize(values).to_pylist()] == [
        "one!",
        "two!",
        "a longer one!",
    ]


@pytest.mark.parametrize("side", ["AVRO"], indirect=True)
def test_jsonata_that_does_not_end(side, monkeypatch):
    """The time is that of one value, however long ago its expression was read."""
    monkeypatch.setattr("kcodec.contracts.runner._MOST_MILLISECONDS", 200)
    loop = "$.id = 1 ? ($f := function($x){$f($x)}; $f(1)) : $"
    side.register([Rule("loop", type="JSONATA", mode="WRITE", expr=loop)])
    serde = side.ours()
    for _ in range(2):
        values, report = serde.serialize(ROWS, errors="report")
        assert report["row"].to_pylist() == [0]
        assert "the rule loop: Evaluation timeout after 200 milliseconds" in report["reason"][0].as_py()
        assert serde.deserialize(values[1:]).to_pylist() == ROWS[1:]


class TestWithoutAFrame:
    """Payloads without a frame are those of the schema that is given, and of its rules."""

    def both_ways(self, side, rules, **more):
        schema = side.register(rules).schema
        arguments = {"schema": schema, "frame": "NONE", **more}
        serde = side.ours({"use.latest.version": False}, **arguments)
        values, report = serde.serialize(ROWS, errors="report", as_list=True)
        return serde, values, report["row"].to_pylist()

    def test_encrypted_fields(self, side, impl):
        serde, values, failed = self.both_ways(side, [ENCRYPT])
        assert not failed
        # The shorter ones may well be in Base64 of anything.
        assert ROWS[2]["name"].encode() not in values[2]
        assert serde.deserialize(values).to_pylist() == ROWS
        assert [serde.deserialize_one(value) for value in values] == ROWS

    def test_rules_that_run_row_by_row(self, side, impl):
        rules = [
            cel("positive", "message.id > 0", mode="WRITE"),
            fields("marked", "value + '!'", tags=("PII",), mode="READ"),
        ]
        serde, values, failed = self.both_ways(side, rules)
        assert failed == [1]
        found = serde.deserialize(values).to_pylist()
        assert [row and row["name"] for row in found] == ["one!", None, "a longer one!"]
        assert serde.deserialize_one(values[0])["name"] == "one!"

    def test_the_latest_version_is_what_was_written(self, side, impl):
        _, values, _ = self.both_ways(side, [ENCRYPT])
        for config, wanted in (({"use.latest.version": False}, {"reader_schema": "latest"}), ({}, {})):
            latest = side.ours(config, frame="NONE", **wanted)
            assert latest.deserialize(values).to_pylist() == ROWS

    def test_a_schema_that_is_given_with_its_imports(self, impl):
        """These need not be registered; the rules are those of the latest version."""
        part, main = (
            "message Part { string a = 1; }",
            'import "p.proto"; message Whole { int64 id = 1; Part p = 2; }',
        )
        texts = {"w.proto": f'syntax = "proto3"; {main}', "p.proto": f'syntax = "proto3"; {part}'}
        registry, rules = MemoryRegistry(), RuleSet(domain=(cel("positive", "message.id > 0", mode="READ"),))
        registry.register("parts", Schema(texts["p.proto"], "PROTOBUF"))
        reference = Reference("p.proto", "parts", 1)
        registry.register("t-value", Schema(texts["w.proto"], "PROTOBUF", (reference,), rules=rules))
        config = {"use.latest.version": True, "auto.register.schemas": False}
        serde = Serde("PROTOBUF", registry, topic="t", schema=texts, frame="NONE", config=config)
        rows = [{"id": 1, "p": {"a": "x"}}, {"id": -1, "p": None}]
        found, report = serde.deserialize(serde.serialize(rows), errors="report")
        assert found.to_pylist() == [rows[0], None]
        assert report["code"].to_pylist() == ["rule"]

    def test_a_schema_alone(self, side, impl):
        """Without a registry too."""
        rules = RuleSet(
            domain=(
                fields("marked", "value + '!'", tags=("PII",), mode="READ"),
                cel("positive", "message.id > 0", mode="READ"),
            )
        )
        text = side.text if isinstance(side.text, str) else json.dumps(side.text)
        more = {"message": "shop.Order"} if side.format == "PROTOBUF" else {}
        serde = Serde(side.name, schema=Schema(text, side.format, rules=rules), frame="NONE", **more)
        found, report = serde.deserialize(serde.serialize(ROWS), errors="report")
        assert [row and row["name"] for row in found.to_pylist()] == ["one!", None, "a longer one!"]
        assert report["code"].to_pylist() == ["rule"]


#: The name of the order under another name, and back.
MIGRATION = [
    Rule(
        "rename",
        type="JSONATA",
        mode="UPGRADE",
        expr="$merge([$sift($, function($v, $k) {$k != 'name'}), {'title': $.name & '!'}])",
    ),
    Rule(
        "rename-back",
        type="JSONATA",
        mode="DOWNGRADE",
        expr="$merge([$sift($, function($v, $k) {$k != 'title'}), {'name': $.title & '?'}])",
    ),
]
OTHER_TITLE = Rule("shout", type="JSONATA", mode="UPDOWN", expr="$merge([$, {'title': $uppercase($.title)}])")


def renamed(text):
    if isinstance(text, str):
        return text.replace("string name", "string title")
    return json.loads(
        json.dumps(text).replace('"name": "name"', '"name": "title"').replace('"name": {', '"title": {')
    )


def versions(side):
    """Register three versions: before and after two migrations."""
    side.box.registry.set_config(Config("NONE"), f"{side.topic}-value")
    first = side.register(metadata=Metadata(properties={"major": "1"}))
    note = cel("short", "size(message.title) < 10", mode="READ")
    side.register(migration=MIGRATION, text=renamed(side.text), metadata=Metadata(properties={"major": "2"}))
    last = side.register(
        [note], migration=[OTHER_TITLE], text=renamed(side.text), metadata=Metadata(properties={"major": "3"})
    )
    return first, last


@pytest.mark.parametrize("is_upgrade", [True, False])
def test_migrations(box, topic, impl, side, is_upgrade):
    """What one version has written is read as another by the rules of the versions between."""
    first, last = versions(side)
    written, major = (first, "3") if is_upgrade else (last, "1")
    name = "name" if is_upgrade else "title"
    rows = [{name if key == "name" else key: value for key, value in row.items()} for row in ROWS]
    plain = Serde(
        side.name,
        box.registry,
        topic=topic,
        config={"use.schema.id": written.id, "auto.register.schemas": False},
        **({"message": "shop.Order"} if side.format == "PROTOBUF" else {}),
    )
    values = plain.serialize(rows, as_list=True)
    config = {"use.latest.with.metadata": f"major={major}", "use.latest.version": False}
    found, report = side.ours(config).deserialize(values, errors="report")
    if is_upgrade:
        titles = ["ONE!", "TWO!", None]
        assert [None if row is None else row["title"] for row in found.to_pylist()] == titles
        assert report["reason"].to_pylist() == ["the rule short: Rule expr failed: size(message.title) < 10"]
    else:
        assert [row["name"] for row in found.to_pylist()] == ["ONE?", "TWO?", "A LONGER ONE?"]
    if side.format == "PROTOBUF":
        # Its class names one version of the message.
        return
    theirs = side.deserializer(**{"use.latest.with.metadata": {"major": major}, "use.latest.version": False})
    assert found.to_pylist() == [attempt(theirs, value, context(topic)) for value in values]


def test_rules_of_the_writer(impl):
    """Without a setting that names a version, the rules are those of what each value was written with."""
    registry = MemoryRegistry()
    texts = json.dumps(ORDER), json.dumps({**ORDER, "doc": "the second"})
    rules = cel("positive", "message.id > 0"), cel("negative", "message.id < 0")
    values = []
    for text, rule in zip(texts, rules, strict=True):
        found = registry.register("t-value", Schema(text, rules=RuleSet(domain=(rule,))))
        config = {
            "use.schema.id": found.id,
            "auto.register.schemas": False,
            "rule.executors._default_.disabled": "true",
        }
        values += Serde("AVRO", registry, topic="t", config=config).serialize(ROWS[:2], as_list=True)
    for threads in (False, True):
        serde = pickle.loads(pickle.dumps(Serde("AVRO", registry, topic="t")))
        found, report = serde.deserialize(values, errors="report", use_threads=threads)
        assert found.to_pylist() == [ROWS[0], None, None, ROWS[1]]
        assert report["row"].to_pylist() == [1, 2]
        assert report["reason"][0].as_py() == "the rule positive: Rule expr failed: message.id > 0"
    with pytest.raises(DecodeError, match="the rule positive"):
        serde.deserialize_one(values[1])
    assert serde.deserialize_one(values[0]) == ROWS[0]


@pytest.mark.parametrize(("kind", "value"), [("bytes", b"\0raw"), (["null", "bytes"], None), ("int", 5)])
def test_what_is_encrypted_row_by_row(box, topic, impl, kind, value):
    """Bytes are, without being text in between; numbers cannot be, and cost their rows."""
    text = {**ORDER, "fields": [{"name": "raw", "type": kind, "confluent:tags": ["PII"]}]}
    rules = RuleSet(domain=(cel("any", "true"), ENCRYPT))
    box.registry.register(f"{topic}-value", Schema(json.dumps(text), rules=rules))
    serde, row = box.serde("AVRO", topic), {"raw": value}
    theirs = attempt(box.their(AvroSerializer, box.client, None), dict(row), context(topic))
    made, report = serde.serialize([row], errors="report", as_list=True)
    assert [each is None for each in made] == [theirs is None] == [kind == "int"]
    if theirs is None:
        assert report["reason"].to_pylist() == ["the rule encrypt: a field of type INT is not encrypted"]
    else:
        assert (b"raw" in theirs, b"raw" in made[0]) == (False, False)
        assert serde.deserialize([*made, theirs]).to_pylist() == [row, row]
        reader = box.their(AvroDeserializer, box.client)
        assert [reader(each, context(topic)) for each in (*made, theirs)] == [row, row]


def test_bytes_alone_have_no_length(box, topic, impl):
    """As those of confluent-kafka, and of serdes without rules."""
    rules = RuleSet(domain=(cel("long", "size(message) > 1"),))
    found = box.registry.register(f"{topic}-value", Schema('"bytes"', rules=rules))
    serde = box.serde("AVRO", topic)
    made, report = serde.serialize([b"abc", None, b"a"], errors="report", as_list=True)
    assert made == [b"\0" + found.id.to_bytes(4, "big") + b"abc", None, None]
    assert report["row"].to_pylist() == [2]
    assert box.their(AvroSerializer, box.client, None)(b"abc", context(topic)) == made[0]
    assert serde.deserialize([made[0], made[0][:-2]], errors="null").to_pylist() == [b"abc", None]


def test_where_a_field_is_refused(impl):
    rule = fields("short", "size(value) < 3", "CONDITION", tags=("PII",))
    registry = MemoryRegistry()
    registry.register("t-value", Schema(json.dumps(ORDER), rules=RuleSet(domain=(rule,))))
    serde = Serde("AVRO", registry, topic="t", config={"use.latest.version": True})
    row = {**ROWS[0], "name": "n", "lines": [{"text": "long"}]}
    try:
        raise KeyError("what is handled meanwhile is not the rule's")
    except KeyError:
        _, report = serde.serialize([row], errors="report")
    assert report["path"].to_pylist() == ["lines.text"]
    with pytest.raises(EncodeError, match="the rule short"):
        serde.serialize_one(row)


@cases(
    ("expr", "reason"),
    [
        ("message.id >", "the rule wrong: the expression is no CEL: message.id > ^"),
        ("message.idd > 0", "the rule wrong: no such member in mapping: 'idd'"),
        ("1 / 0 == message.id", "the rule wrong: modulus or divide by zero"),
    ],
)
def test_what_is_said_of_a_condition_that_fails(expr, reason, impl):
    registry = MemoryRegistry()
    registry.register("t-value", Schema(json.dumps(ORDER), rules=RuleSet(domain=(cel("wrong", expr),))))
    serde = Serde("AVRO", registry, topic="t", config={"use.latest.version": True})
    assert serde.serialize(ROWS[:1], errors="report")[1]["reason"].to_pylist() == [reason]


@pytest.mark.parametrize("mode", ["WRITE", "READ"])
def test_what_cannot_run(impl, monkeypatch, mode):
    """Neither without confluent-kafka, nor for a type of rules that nothing runs."""
    registry = MemoryRegistry()
    rule = Rule("own", type="MADE_UP", mode=mode, on_failure="ERROR")
    registry.register("t-value", Schema(json.dumps(ORDER), rules=RuleSet(domain=(rule,))))
    config = {"use.latest.version": True}
    off = Serde("AVRO", registry, topic="t", config={**config, "rule.executors.own.disabled": "true"})
    values = off.serialize(ROWS)
    none = Serde("AVRO", registry, topic="t", config={**config, "rule.executors.own.onFailure": "NONE"})
    assert none.serialize(ROWS).equals(values)
    assert none.deserialize(values).to_pylist() == ROWS
    for reason in ("nothing that runs rules of type MADE_UP", "pip install 'kcodec"):
        serde = Serde("AVRO", registry, topic="t", config=config)
        run = serde.deserialize if mode == "READ" else serde.serialize
        found, report = run(values if mode == "READ" else ROWS, errors="report")
        assert found.null_count == 3
        assert report["code"].to_pylist() == ["rule"] * 3
        assert reason in report["reason"][0].as_py()
        monkeypatch.setitem(sys.modules, "kcodec.contracts.runner", None)


def test_an_older_release_is_told(impl, monkeypatch):
    """Its executors are called otherwise."""
    registry = MemoryRegistry()
    registry.register("t-value", Schema(json.dumps(ORDER), rules=RuleSet(domain=(cel("any", "true"),))))
    monkeypatch.delitem(sys.modules, "kcodec.contracts.runner", raising=False)
    monkeypatch.setattr("confluent_kafka.__version__", "2.9.0")
    serde = Serde("AVRO", registry, topic="t", config={"use.latest.version": True})
    reason = serde.serialize(ROWS[:1], errors="report")[1]["reason"][0].as_py()
    assert reason.endswith("pip install 'kcodec[rules]' (2.9.0 is here, 2.16.1 or newer is needed)")


class Doubled(RuleExecutor):
    """An executor of a user's own."""

    def type(self):
        return "DOUBLED"

    def transform(self, ctx, message):
        return {**message, "id": message["id"] * 2}


def test_executors_of_the_users_own(impl, monkeypatch):
    monkeypatch.setattr(rule_registry, "_global_instance", rule_registry.RuleRegistry())
    rule_registry.RuleRegistry.register_rule_executor(Doubled())
    registry = MemoryRegistry()
    rule = Rule("own", type="Doubled", mode="READ")
    registry.register("t-value", Schema(json.dumps(ORDER), rules=RuleSet(domain=(rule,))))
    serde = Serde("AVRO", registry, topic="t", config={"use.latest.version": True})
    assert serde.deserialize(serde.serialize(ROWS[:1])).to_pylist() == [{**ROWS[0], "id": 2}]


def test_damaged_payloads(impl):
    """A payload that is none is an error of its row, and what no rule is about stays as it is."""
    registry = MemoryRegistry()
    rules = RuleSet(domain=(cel("positive", "message.id > 0"),))
    found = registry.register("t-value", Schema(json.dumps(ORDER_JSON), "JSON", rules=rules))
    front = b"\0" + found.id.to_bytes(4, "big")
    serde = Serde("JSON_SR", registry, topic="t")
    good = b'{"id": 1, "name": "a", "extra": 1e999}'
    values = [front + each for each in (good, b"{", b"[" * 100_000, b'{"id": ' + b"9" * 5000 + b"}", b"\xff")]
    rows, report = serde.deserialize([*values, None], errors="report")
    assert rows.to_pylist() == [{"id": 1, "name": "a", "note": None, "lines": None}, *[None] * 5]
    assert report["row"].to_pylist() == [1, 2, 3, 4]
    assert report["offset"].to_pylist() == [5] * 4
