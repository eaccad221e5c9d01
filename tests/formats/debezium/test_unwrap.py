"""Envelopes to rows, message by message as ExtractNewRecordState answers."""

import json

import pyarrow as pa
import pytest
from cases import cases

import kcodec
from kcodec import ConfigError, SchemaError, unwrap

ROW = pa.struct([pa.field("id", pa.int64(), False), ("name", pa.string())])
SOURCE = pa.struct([("table", pa.string()), ("lsn", pa.int64()), ("ts_ms", pa.int64())])
TRANSACTION = pa.struct([("id", pa.string()), ("total_order", pa.int64())])
ENVELOPE = pa.struct(
    [
        ("before", ROW),
        ("after", ROW),
        pa.field("source", SOURCE, False),
        ("transaction", TRANSACTION),
        pa.field("op", pa.string(), False),
        ("ts_ms", pa.int64()),
    ]
)
OLD, NEW = {"id": 7, "name": "a"}, {"id": 7, "name": None}


def event(op, before, after, lsn=1, transaction=None):
    source = {"table": "orders", "lsn": lsn, "ts_ms": 10 * lsn}
    return {
        "before": before,
        "after": after,
        "source": source,
        "transaction": transaction,
        "op": op,
        "ts_ms": 100 * lsn,
    }


#: A snapshot, an insert, an update, a delete, its tombstone, a truncate, a message.
EVENTS = [
    event("r", None, OLD),
    event("c", None, OLD, 2, {"id": "t", "total_order": 5}),
    event("u", OLD, NEW, 3),
    event("d", NEW, None, 4),
    None,
    event("t", None, None, 5),
    event("m", None, None, 6),
]


def kept(found):
    # Arrow takes no rows out of views.
    rows = zip(found.values.to_pylist(), found.kept.to_pylist(), strict=True)
    return [row for row, is_kept in rows if is_kept]


@cases(
    ("mode", "rows"),
    [
        ("tombstone", [OLD, OLD, NEW, None]),
        ("delete-to-tombstone", [OLD, OLD, NEW, None]),
        ("DROP", [OLD, OLD, NEW]),
        ("rewrite", [(OLD, "false"), (OLD, "false"), (NEW, "false"), (NEW, "true")]),
        (" rewrite-with-tombstone ", [(OLD, "false"), (OLD, "false"), (NEW, "false"), (NEW, "true"), None]),
    ],
)
@cases("chunked", [False, True])
def test_deletes_and_tombstones(mode, rows, chunked):
    changes = pa.array(EVENTS, ENVELOPE)
    if chunked:
        changes = pa.chunked_array([changes.slice(0, 3), changes.slice(3)])
    found = unwrap(changes, delete_tombstone_handling_mode=mode)
    wanted = [{**row[0], "__deleted": row[1]} if isinstance(row, tuple) else row for row in rows]
    assert kept(found) == wanted
    assert len(found.values) == len(found.kept) == len(EVENTS)
    assert isinstance(found.values, pa.ChunkedArray) is chunked
    assert all(field.nullable for field in found.values.type)
    assert found.headers is None
    assert found.topics is None


def test_fields_are_added_under_their_names():
    names = "op, lsn,source.ts_ms, ts_ms ,transaction.id,total_order:POSITION,nothing,table:T"
    found = unwrap(
        pa.array(EVENTS, ENVELOPE), delete_tombstone_handling_mode="rewrite", add_fields=names
    ).values
    assert found.type.names == [
        "id",
        "name",
        "__deleted",
        "__op",
        "__lsn",
        "__source_ts_ms",
        "__ts_ms",
        "__transaction_id",
        "__POSITION",
        "__T",
    ]
    assert found[1].as_py() == {
        **OLD,
        "__deleted": "false",
        "__op": "c",
        "__lsn": 2,
        "__source_ts_ms": 20,
        "__ts_ms": 200,
        "__transaction_id": "t",
        "__POSITION": 5,
        "__T": "orders",
    }
    assert found[3].as_py()["__transaction_id"] is None
    assert found[4].as_py() is None
    plain = unwrap(pa.array(EVENTS, ENVELOPE), add_fields=["op"], add_fields_prefix="").values
    # A null stays one.
    assert plain[2].as_py() == {**NEW, "op": "u"}
    assert plain[3].as_py() is None


def test_what_another_transform_has_put_beside_the_struct_is_found():
    kind = pa.struct([*ENVELOPE, ("region", pa.string())])
    found = unwrap(pa.array([{**EVENTS[0], "region": "eu"}], kind), add_fields="region")
    assert found.values.to_pylist() == [{**OLD, "__region": "eu"}]
    # Debezium 3.2.0 looks for it where there is a struct.
    bare = {**EVENTS[0], "region": "eu", "source": None}
    kind = pa.struct([each for each in kind if each.name != "source"] + [("source", SOURCE)])
    found = unwrap(pa.array([bare], kind), add_fields="region", add_headers="region")
    assert found.values.to_pylist() == [{**OLD, "__region": None}]
    assert found.headers.to_pylist() == [{"__region": None}]


def test_headers_of_a_tombstone_say_that_it_is_a_delete():
    found = unwrap(
        pa.array(EVENTS, ENVELOPE),
        delete_tombstone_handling_mode="rewrite-with-tombstone",
        add_headers=["op", "transaction.id:tx"],
        add_headers_prefix="db.",
    )
    assert found.headers.filter(found.kept).to_pylist() == [
        {"db.op": "r", "db.tx": None},
        {"db.op": "c", "db.tx": "t"},
        {"db.op": "u", "db.tx": None},
        {"db.op": "d", "db.tx": None},
        {"db.op": "d", "db.tx": None},
    ]


def test_a_header_of_a_tombstone_that_is_called_op_and_is_no_text():
    kind = pa.struct([*ENVELOPE, ("extra", pa.struct([("op", pa.int64())]))])
    assert unwrap(pa.nulls(1, kind), add_headers="extra.op").headers.to_pylist() == [{"__extra_op": None}]


def test_the_topic_is_what_a_field_says():
    events = [*EVENTS[:4], event("c", None, {"id": 1, "name": " "}), None]
    found = unwrap(pa.array(events, ENVELOPE), route_by_field="name")
    # Of a delete the row that there was; of a blank name none.
    assert found.topics.to_pylist() == ["a", "a", None, None, None, None]
    events[3] = event("d", OLD, None)
    assert unwrap(pa.array(events, ENVELOPE), route_by_field="name").topics.to_pylist()[3] == "a"
    with pytest.raises(SchemaError, match="no text field id"):
        unwrap(pa.array(events, ENVELOPE), route_by_field="id")


def test_views_of_text_are_topics_and_headers():
    """Columns of polars are such views."""
    row = pa.struct([("id", pa.int64()), ("name", pa.string_view())])
    kind = pa.struct([("before", row), ("after", row), ("op", pa.string_view())])
    events = [{"before": None, "after": OLD, "op": "c"}, {"before": OLD, "after": None, "op": "d"}, None]
    found = unwrap(pa.array(events, kind), route_by_field="name", add_headers="op")
    assert found.topics.to_pylist() == ["a", "a", None]
    assert found.headers.to_pylist() == [{"__op": "c"}, {"__op": "d"}, {"__op": "d"}]


def test_slices_and_chunks_without_rows():
    changes = pa.array(EVENTS, ENVELOPE).slice(2, 2)
    assert kept(unwrap(changes)) == [NEW, None]
    assert unwrap(pa.chunked_array([], ENVELOPE)).values.to_pylist() == []
    assert unwrap(changes.slice(0, 0)).kept.to_pylist() == []


@pytest.mark.parametrize("mode", ["rewrite-with-tombstone", "tombstone"])
@pytest.mark.parametrize("count", [0, 2])
def test_tombstones_alone(mode, count):
    changes = kcodec.ConnectJsonCodec().decode([None] * count)
    found = unwrap(
        changes,
        delete_tombstone_handling_mode=mode,
        add_fields=["op", "lsn"],
        add_headers=["op", "source.lsn"],
        route_by_field="name",
    )
    assert found.values.null_count == count
    assert found.kept.to_pylist() == [mode == "rewrite-with-tombstone"] * count
    assert found.headers.to_pylist() == [{"__op": "d"}] * count
    assert found.topics.to_pylist() == [None] * count


def test_only_after_and_op_tell_deletes():
    kind = pa.struct([("after", ROW), ("op", pa.string())])
    changes = pa.array(
        [{"after": OLD, "op": "c"}, {"after": None, "op": "d"}, {"after": None, "op": "t"}, None], kind
    )
    assert unwrap(changes).kept.to_pylist() == [True, True, False, False]
    with pytest.raises(SchemaError, match="before"):
        unwrap(changes, delete_tombstone_handling_mode="rewrite")
    with pytest.raises(SchemaError, match="before or op"):
        unwrap(pa.array([{"after": OLD}], pa.struct([("after", ROW)])))


@pytest.mark.parametrize(
    "kind", [pa.int64(), pa.struct([("op", pa.string())]), pa.struct([("after", pa.string())])]
)
def test_other_columns_are_refused(kind):
    with pytest.raises(SchemaError, match="not an envelope"):
        unwrap(pa.nulls(1, kind))


@cases(
    ("settings", "error", "text"),
    [
        ({"delete_tombstone_handling_mode": "none"}, ConfigError, "not one of tombstone, drop"),
        ({"add_fields": "a.b.c"}, ConfigError, "is not a field"),
        ({"add_fields": "a:b:c"}, ConfigError, "is not a field"),
        ({"add_fields": [7]}, ConfigError, "not a list of names"),
        ({"add_headers": 7}, ConfigError, "not a list of names"),
        ({"route_by_field": None}, ConfigError, "not text"),
        ({"add_fields": "updates.x"}, SchemaError, "no struct updates"),
        ({"add_fields": "op,op"}, SchemaError, "stands twice"),
    ],
)
def test_settings_that_are_not_valid(settings, error, text):
    with pytest.raises(error, match=text):
        unwrap(pa.array(EVENTS, ENVELOPE), **settings)


def test_before_of_another_type():
    other = pa.struct([("id", pa.int64()), ("name", pa.int64())])
    kind = pa.struct([("before", other), ("after", ROW), ("op", pa.string())])
    changes = pa.array([{"before": {"id": 1, "name": 2}, "after": None, "op": "d"}], kind)
    assert kept(unwrap(changes)) == [None]
    with pytest.raises(SchemaError, match="before is"):
        unwrap(
            pa.nulls(1, pa.struct([("before", pa.struct([("x", ROW)])), ("after", ROW)])),
            delete_tombstone_handling_mode="rewrite",
        )
    # Arrow's cast of views of lists makes lists that end the process.
    old = pa.StructArray.from_arrays([pa.array([[1], None, [2, 3]], pa.list_view(pa.int64()))], ["l"])
    new = pa.nulls(3, pa.struct([("l", pa.list_(pa.int64()))]))
    changes = pa.StructArray.from_arrays([old, new], ["before", "after"])
    with pytest.raises(SchemaError, match="views of lists are not cast"):
        unwrap(changes, delete_tombstone_handling_mode="rewrite")


PROTO = """syntax = "proto3";
message Envelope {
  Row before = 1; Row after = 2; Source source = 3; string op = 4; int64 ts_ms = 5;
  message Row { int64 id = 1; optional string name = 2; }
  message Source { string table = 1; int64 lsn = 2; int64 ts_ms = 3; }
}"""


def envelopes():
    """Return codecs of all formats that Debezium's converters write, and what makes their payloads."""
    row = [("id", "long"), ("name", ["null", "string"])]

    def record(name, fields):
        return {"type": "record", "name": name, "fields": [{"name": a, "type": b} for a, b in fields]}

    source = record("Source", [("table", "string"), ("lsn", "long"), ("ts_ms", "long")])
    avro = record(
        "Envelope",
        [
            ("before", ["null", record("Value", row)]),
            ("after", ["null", "Value"]),
            ("source", source),
            ("op", "string"),
            ("ts_ms", "long"),
        ],
    )
    kind = pa.struct([field for field in ENVELOPE if field.name != "transaction"])
    yield "avro", kcodec.AvroCodec(avro)
    yield "json", kcodec.JsonCodec(kind)
    yield "connect", kcodec.ConnectJsonCodec(kind)
    yield "protobuf", kcodec.ProtobufCodec(PROTO, message="Envelope")


@cases("name", ["avro", "json", "connect", "protobuf"])
def test_envelopes_of_every_format(impl, name):
    codec = dict(envelopes())[name]
    events = [
        {key: part for key, part in each.items() if key != "transaction"} if each else None for each in EVENTS
    ]
    kind = pa.struct([field for field in ENVELOPE if field.name != "transaction"])
    changes = codec.decode(codec.encode(pa.array(events, kind)))
    found = unwrap(changes, delete_tombstone_handling_mode="rewrite", add_fields="op,lsn")
    assert [json.dumps(row) for row in kept(found)] == [
        json.dumps({**row, "__deleted": deleted, "__op": op, "__lsn": lsn})
        for row, deleted, op, lsn in (
            (OLD, "false", "r", 1),
            (OLD, "false", "c", 2),
            (NEW, "false", "u", 3),
            (NEW, "true", "d", 4),
        )
    ]


MARK = "__debezium_unavailable_value"


@cases(
    ("kind", "mark", "others"),
    [
        (pa.string(), MARK, ["a", "", MARK + "x"]),
        (pa.large_string(), MARK, ["a"]),
        (pa.string_view(), MARK, ["a", MARK + "x"]),
        (pa.binary_view(), MARK.encode(), [b"a"]),
        (pa.dictionary(pa.int8(), pa.string()), MARK, ["a"]),
        (pa.list_(pa.string_view()), [MARK], [["a"]]),
        (pa.string(), f'{{"{MARK}":"{MARK}"}}', [f'{{"{MARK}":"a"}}']),
        (pa.binary(), MARK.encode(), [b"a"]),
        (pa.list_(pa.string()), [MARK], [[], ["a"], [MARK, MARK], [None]]),
        # What Java's UUID.nameUUIDFromBytes makes of it.
        (pa.list_(pa.string()), ["b68a35a7-17ad-35b3-af2a-ae46edb4545a"], []),
        (pa.list_(pa.binary()), [MARK.encode()], [[b"a"]]),
        (pa.list_(pa.int32()), list(MARK.encode()), [[1], [0] * len(MARK), [None] * len(MARK), []]),
        (pa.large_list(pa.int64()), list(MARK.encode()), [[1]]),
        (
            pa.map_(pa.string(), pa.string()),
            [(MARK, MARK)],
            [[], [("a", MARK)], [(MARK, "a")], [("a", "b")] * 2],
        ),
    ],
)
def test_values_that_are_not_available(kind, mark, others):
    row = pa.struct([("id", pa.int64()), ("x", kind)])
    values = [mark, None, *others, mark]
    events = [
        {"before": None, "after": {"id": number, "x": value}, "op": "u"}
        for number, value in enumerate(values)
    ]
    changes = pa.array([*events, None], pa.struct([("before", row), ("after", row), ("op", pa.string())]))
    for part in (changes, changes.slice(1)):
        asked = part.to_pylist()[:-1]
        assert [each["x"] for each in kept(unwrap(part))] == [each["after"]["x"] for each in asked]
        wanted = [None if each["after"]["x"] == mark else each["after"]["x"] for each in asked]
        assert [each["x"] for each in kept(unwrap(part, unavailable="null"))] == wanted
        rows = kept(unwrap(part, unavailable="list"))
        assert [each["x"] for each in rows] == wanted
        assert [each["__unavailable"] for each in rows] == [
            ["x"] if each["after"]["x"] == mark else [] for each in asked
        ]
        assert kept(unwrap(part, unavailable="null", unavailable_value="other")) == kept(unwrap(part))
    found = unwrap(pa.chunked_array([changes.slice(0, 1), changes.slice(1, 1)]), unavailable="null")
    assert [each["x"] for each in kept(found)] == [None, None]


def test_names_of_columns_that_are_not_available():
    row = pa.struct([("a", pa.string()), ("id", pa.int64()), ("b", pa.binary())])
    rows = [
        {"a": MARK, "id": 1, "b": MARK.encode()},
        {"a": "x", "id": 2, "b": MARK.encode()},
        {"a": MARK, "id": 3, "b": None},
    ]
    events = [{"before": each, "after": each if each["id"] < 3 else None, "op": "u"} for each in rows]
    changes = pa.array(events, pa.struct([("before", row), ("after", row), ("op", pa.string())]))
    found = kept(unwrap(changes, delete_tombstone_handling_mode="rewrite", unavailable="list"))
    assert [(each["a"], each["b"], each["__unavailable"]) for each in found] == [
        (None, None, ["a", "b"]),
        ("x", None, ["b"]),
        (None, None, ["a"]),
    ]
    for wrong in ({"unavailable": "drop"}, {"unavailable_value": ""}, {"unavailable_value": 5}):
        with pytest.raises(ConfigError, match="unavailable"):
            unwrap(changes, **wrong)
