"""Plans print as trees, compare and pickle; limits hold on both implementations."""

import json
import pickle
from collections.abc import Iterator

import pyarrow as pa
import pytest
from cases import cases
from contract_examples import EXAMPLES

import kcodec
from kcodec._impl import kernel
from kcodec.columns.shown import MOST_ROWS
from kcodec.formats.avro.codec import AvroReader
from kcodec.formats.avro.plans.node import AvroNode, Op
from kcodec.formats.avro.schema.defaults import varint
from kcodec.plan import Limits, Node, Plan

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}},
        {"name": "note", "type": ["null", "string"]},
        {"name": "gone", "type": {"type": "map", "values": "double"}},
        {"name": "items", "type": {"type": "array", "items": {"type": "fixed", "name": "F", "size": 4}}},
    ],
}
READER = {
    **ORDER,
    "fields": [
        *[field for field in ORDER["fields"] if field["name"] != "gone"],
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "added", "type": "string", "default": "x"},
    ],
}
READER["fields"][4]["default"] = "\u0001"

TREE = """\
AVRO decode: struct<id: int64 not null, state: string not null, note: string, \
items: list<item: fixed_size_binary[4] not null> not null, price: decimal128(9, 2) not null, \
added: string not null>
  record -> column 0
    id: long -> column 1
    state: enum {NEW, PAID} -> column 2
    note: union -> column 3
      absent -> column 3
      present -> column 3
        string -> column 3
    gone: map (dropped)
      string (dropped)
      double (dropped)
    items: array -> column 4
      fixed size 4 -> column 5
    price: default 0201 -> column 6
      decimal (9, 2) -> column 6
    added: default 0278 -> column 7
      string -> column 7"""

LINKED = {
    "type": "record",
    "name": "N",
    "fields": [{"name": "next", "type": ["null", "N"]}],
}


def linked_plan() -> Plan:
    fields = [{"name": "chain", "type": LINKED}, {"name": "z", "type": "int"}]
    writer = {"type": "record", "name": "R", "fields": fields}
    return AvroReader({**writer, "fields": fields[1:]}).plan(writer)


def run(impl, plan, limits, rows):
    module = kernel("formats.avro._kernel", impl)
    decoded, faults = module.decode(pa.array(rows, pa.binary()), [module.Program(plan, limits)])
    decoded.validate(full=True)
    return decoded.to_pylist(), [(fault.row, fault.code) for fault in faults]


def nodes(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from nodes(child)


def test_the_nodes_of_a_plan_are_of_its_format():
    homes: dict[str, set[str]] = {}
    for example in EXAMPLES.values():
        plan = getattr(example.make(), "decode_plan", None)
        for node in nodes(plan.root) if plan is not None else ():
            for each in (node, node.op):
                homes.setdefault(type(each).__module__, set()).add(plan.format)
    assert homes == {
        "kcodec.formats.avro.plans.node": {"AVRO"},
        "kcodec.formats.json.node": {"CONNECT_JSON", "JSON", "JSON_SR", "KSQL_DELIMITED", "KSQL_JSON"},
        "kcodec.formats.protobuf.plans.node": {"PROTOBUF"},
        "kcodec.protocol.message.node": {"KAFKA_MESSAGE"},
    }


def test_a_decode_plan_prints_as_a_tree():
    assert str(kcodec.AvroCodec(ORDER, READER).decode_plan) == TREE


def test_an_encode_plan_prints_as_a_tree():
    plan = kcodec.AvroCodec(["null", "int"]).encode_plan(pa.int64())
    assert str(plan).splitlines() == [
        "AVRO encode: int64",
        "  union -> column 0",
        "    absent -> column 0",
        "    present -> column 0",
        "      int -> column 0",
    ]


def test_failures_and_recursion_are_printed():
    text = str(AvroReader("string").plan(["int", "string"]))
    assert "unresolvable: " in text
    lines = str(linked_plan()).splitlines()
    calls = [line.strip() for line in lines if "call" in line]
    assert calls
    assert all(call.endswith("call N") for call in calls)
    assert "  N:" in lines


def test_a_node_prints_what_it_says():
    node = AvroNode(Op.LONG, 3, "when", factor=1000)
    assert str(node) == "when: long factor 1000 -> column 3"
    assert str(AvroNode(Op.DEFAULT, children=(node,))).splitlines()[0] == "default (empty)"
    assert str(AvroNode(Op.ARRAY, children=(AvroNode(Op.LONG),))).splitlines()[0] == "array (dropped)"
    assert str(AvroNode(Op.ENUM, 0, symbols=("A", None))) == "enum {A, -} -> column 0"


def test_a_plan_is_shown_on_one_screen():
    fields = [{"name": f"field_{i}", "type": "long"} for i in range(1000)]
    plan = kcodec.AvroCodec({"type": "record", "name": "Wide", "fields": fields}).decode_plan
    lines = repr(plan).splitlines()
    assert len(lines) == MOST_ROWS + 2
    assert max(map(len, lines)) <= 140
    assert lines[1:3] == ["  record -> column 0", "    field_0: long -> column 1"]
    assert lines[-1] == f"  ... and {1001 - MOST_ROWS} more: print it for all"
    assert len(str(plan).splitlines()) == 1002
    page = plan._repr_html_()
    assert page.count("<tr>") == MOST_ROWS + 1
    assert "<td>· field_0</td><td>long</td><td>-&gt; column 1</td>" in page
    assert page.endswith(f"<p>... and {1001 - MOST_ROWS} more</p>")


def test_names_of_strangers_are_escaped():
    name = "\x1b]0;owned\x07<script>\u202e"
    plan = kcodec.JsonCodec(pa.struct([(name, pa.int64())])).decode_plan
    shown = (str(plan), repr(plan), plan._repr_html_())
    assert all(line.isprintable() for text in shown for line in text.split("\n"))
    assert "<script>" not in plan._repr_html_()


def test_plans_compare():
    plan, again = kcodec.AvroCodec(ORDER, READER).decode_plan, kcodec.AvroCodec(ORDER, READER).decode_plan
    assert plan == again
    assert hash(plan.root) == hash(again.root)
    assert plan != kcodec.AvroCodec(ORDER).decode_plan
    assert linked_plan() == linked_plan()


@pytest.mark.parametrize("make", [lambda: kcodec.AvroCodec(ORDER, READER).decode_plan, linked_plan])
def test_plans_pickle(make):
    plan = make()
    copy = pickle.loads(pickle.dumps(plan))
    assert copy == plan
    assert str(copy) == str(plan)


def test_plans_are_frozen():
    plan = kcodec.AvroCodec(ORDER).decode_plan
    with pytest.raises(AttributeError):
        plan.root = None
    with pytest.raises(AttributeError):
        plan.root.column = 1


def test_programs_pickle(impl):
    module = kernel("formats.avro._kernel")
    program = pickle.loads(pickle.dumps(module.Program(linked_plan(), Limits(max_depth=7))))
    assert program.plan == linked_plan()
    rows = pa.array([b"\2\2\0\x08"])
    assert module.decode(rows, [program])[0].to_pylist() == [{"z": 4}]


def test_depth(impl):
    plan = linked_plan()
    rows = [b"\2" * depth + b"\0" + b"\x02" for depth in range(8)]
    for most in (0, 1, 5):
        values, faults = run(impl, plan, Limits(max_depth=most), rows)
        good = values.index(None)
        assert values[:good] == [{"z": 1}] * good
        assert faults == [(row, "depth_limit") for row in range(good, 8)]
        if most:
            assert good > run(impl, plan, Limits(max_depth=most - 1), rows)[0].index(None)
    assert run(impl, plan, Limits(), rows)[1] == []


def test_both_stop_at_the_same_depth():
    rows = [b"\2" * depth + b"\0" + b"\x02" for depth in range(210)]
    for limits in (Limits(), Limits(max_depth=0), Limits(max_depth=3)):
        assert run("native", linked_plan(), limits, rows) == run("pure", linked_plan(), limits, rows)


def test_items_of_no_bytes(impl):
    plan = AvroReader({"type": "array", "items": "null"}).plan({"type": "array", "items": "null"})
    rows = [varint(count) + b"\0" for count in (10, 11)] + [varint(6) + varint(5) + b"\0", varint(10) + b"\0"]
    values, faults = run(impl, plan, Limits(max_zero_byte_items=10), rows)
    assert values == [[None] * 10, None, None, [None] * 10]
    assert faults == [(1, "size_limit"), (2, "size_limit")]
    assert run(impl, plan, Limits(), [varint(1 << 40) + b"\0"])[1] == [(0, "size_limit")]


def test_dropped_items_of_no_bytes(impl):
    kept = {"name": "z", "type": "int"}
    writer = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "gone", "type": {"type": "array", "items": "null"}}, kept],
    }
    plan = AvroReader({**writer, "fields": [kept]}).plan(writer)
    rows = [varint(count) + b"\0\2" for count in (10, 11, 1 << 50)]
    values, faults = run(impl, plan, Limits(max_zero_byte_items=10), rows)
    assert values == [{"z": 1}, None, None]
    assert [code for _, code in faults] == ["size_limit"] * 2


def test_expansion_by_symbols(impl):
    enum = {"type": "array", "items": {"type": "enum", "name": "E", "symbols": ["s" * 100, "ß" * 50]}}
    plan = AvroReader(enum).plan(enum)
    rows = [
        varint(count) + b"\0\2"[:1] * (count // 2) + b"\2" * (count - count // 2) + b"\0"
        for count in (5, 6, 5)
    ]
    values, faults = run(impl, plan, Limits(max_expansion=500), rows)
    assert [value and len(value) for value in values] == [5, None, 5]
    assert faults == [(1, "size_limit")]


def test_expansion_by_defaults(impl):
    item = {"type": "record", "name": "I", "fields": [{"name": "a", "type": "int"}]}
    added = {"name": "d", "type": "string", "default": "x" * 98}
    writer = {"type": "array", "items": item}
    plan = AvroReader({"type": "array", "items": {**item, "fields": [*item["fields"], added]}}).plan(writer)
    rows = [varint(count) + b"\2" * count + b"\0" for count in (5, 6, 5)]
    # A default counts with its length: two bytes here.
    values, faults = run(impl, plan, Limits(max_expansion=500), rows)
    assert [value and len(value) for value in values] == [5, None, 5]
    assert faults == [(1, "size_limit")]


def absent_fields(count):
    """Return codecs of lists of structs whose fields need not come, as functions of limits, and an empty item."""
    fields = [{"name": f"f{i}", "type": "long", "default": 0} for i in range(count)]
    writer = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
    reader = {**writer, "fields": [*writer["fields"], *fields]}
    numbers = "".join(f"int64 f{i} = {i + 1};" for i in range(count))
    text = f'syntax = "proto3"; message M {{ repeated N n = 1; }} message N {{ {numbers} }}'
    kind = pa.list_(pa.struct([(f"f{i}", pa.int64()) for i in range(count)]))
    tags = [
        {"name": f"F{i}", "type": "int64", "versions": "0+", "tag": i, "taggedVersions": "0+"}
        for i in range(count)
    ]
    message = {
        "apiKey": 1,
        "type": "data",
        "name": "M",
        "validVersions": "0",
        "flexibleVersions": "0+",
        "fields": [{"name": "L", "type": "[]S", "versions": "0+", "fields": tags}],
    }
    return [
        (
            lambda limits: kcodec.AvroCodec(
                {"type": "array", "items": writer}, {"type": "array", "items": reader}, limits=limits
            ),
            lambda items: varint(items) + b"\0" * items + b"\0",
        ),
        (lambda limits: kcodec.ProtobufCodec(text, "M", limits=limits), lambda items: b"\n\0" * items),
        (
            lambda limits: kcodec.JsonCodec(kind, limits=limits),
            lambda items: b"[" + b",".join([b"{}"] * items) + b"]",
        ),
        (
            lambda limits: kcodec.MessageCodec(json.dumps(message), 0, limits=limits),
            lambda items: bytes([items + 1]) + b"\0" * items + b"\0",
        ),
    ]


@cases("format_", range(4), ids=["avro", "protobuf", "json", "message"])
def test_expansion_by_absent_fields(impl, format_):
    make, row = absent_fields(50)[format_]
    rows = [row(2), row(100), row(1)]
    decoded, report = make(Limits(max_expansion=2000)).decode(rows, errors="report")
    assert decoded.is_valid().to_pylist() == [True, False, True]
    assert report["code"].to_pylist() == ["size_limit"]
    assert report["row"].to_pylist() == [1]
    with pytest.raises(kcodec.DecodeError, match="size_limit: row 1"):
        make(Limits(max_expansion=2000)).decode(rows)
    assert make(None).decode(rows).null_count == 0


def test_expansion_by_decimals_as_text(impl):
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 90, "scale": 10}
    codec = kcodec.AvroCodec(
        {"type": "array", "items": decimal}, wide_decimals="string", limits=Limits(max_expansion=36)
    )
    rows = [varint(count) + b"\2\1" * count + b"\0" for count in (3, 4, 3)]
    decoded, report = codec.decode(rows, errors="report")
    assert decoded.to_pylist() == [["0.0000000001"] * 3, None, ["0.0000000001"] * 3]
    assert report["code"].to_pylist() == ["size_limit"]


def test_limits_are_per_row(impl):
    enum = {"type": "enum", "name": "E", "symbols": ["s" * 100]}
    codec = kcodec.AvroCodec(enum, limits=Limits(max_expansion=100))
    assert codec.decode([b"\0"] * 2000).to_pylist() == ["s" * 100] * 2000


def test_both_implementations_take_the_codec_s_limits(impl):
    codec = kcodec.AvroCodec({"type": "array", "items": "null"}, limits=Limits(max_zero_byte_items=3))
    assert pickle.loads(pickle.dumps(codec)).decode([b"\6\0", b"\x08\0"], errors="null").to_pylist() == [
        [None] * 3,
        None,
    ]


MESSAGE = '{"type": "data", "name": "M", "validVersions": "0", "flexibleVersions": "none", "fields": []}'
CODECS = [
    lambda limits: kcodec.AvroCodec("int", limits=limits),
    lambda limits: kcodec.Serde("AVRO", "memory://limits", limits=limits),
    lambda limits: kcodec.JsonCodec(pa.int8(), limits=limits),
    lambda limits: kcodec.ConnectJsonCodec(limits=limits),
    lambda limits: kcodec.KsqlCodec("JSON", "A INT", limits=limits),
    lambda limits: kcodec.MessageCodec(MESSAGE, 0, limits=limits),
    lambda limits: kcodec.MessageCodec.for_versions(MESSAGE, limits=limits),
    lambda limits: kcodec.protocol.TopicCodec("__consumer_offsets", limits=limits),
]


@cases("codec", CODECS)
def test_limits_that_are_none(codec):
    codec(None)
    codec(Limits(max_depth=0, max_number_length=2**63 - 1))
    for value in ("5", None, -1, 1.5, 2**70):
        with pytest.raises(kcodec.ConfigError, match=r"max_expansion=.* is not a number from 0"):
            codec(Limits(max_expansion=value))
    for limits in (5, 0, "", (1, 2, 3, 4)):
        with pytest.raises(kcodec.ConfigError, match=r"limits=.* is not a kcodec\.Limits"):
            codec(limits)
