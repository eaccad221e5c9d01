"""Internal topics: what rows are, and their records in columns."""

import dataclasses
import pickle

import pyarrow as pa
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st
from vector_files import read_vectors

from kcodec.errors import ConfigError, DecodeError
from kcodec.protocol import load
from kcodec.protocol.message.json import to_json
from kcodec.protocol.topics.builtin_layouts import builtin_definitions
from kcodec.protocol.topics.codec import KINDS, TopicCodec, decode_topic
from kcodec.protocol.topics.prefix import int16_prefix, varint_prefix
from kcodec.protocol.topics.records import TOPICS, record_types

GROUP = b"\0\2\0\1g"
OFFSET = b"\0\1\0\1g\0\1t\0\0\0\5"


def offset_value(offset, version=3, tail=b""):
    epoch = b"\xff\xff\xff\xff" if version >= 3 else b""
    note = b"\1" if version >= 4 else b"\0\0"
    return version.to_bytes(2, "big") + offset.to_bytes(8, "big") + epoch + note + bytes(8) + tail


@pytest.fixture(scope="module")
def definitions(shared):
    return load(shared / "kafka-messages")


#: Tagged fields that Kafka 4.3 has, and the definitions at hand do not.
NEWER = ("topicId", "NextProducerEpoch")


def test_builtin_layouts_are_those_of_the_definitions(definitions):
    for spec in builtin_definitions().values():
        given = definitions[spec.name]
        assert (spec.valid_versions, spec.flexible_versions) == (
            given.valid_versions,
            given.flexible_versions,
        )
        assert list(spec.structs) == list(given.structs)
        for name, struct in {"": spec.struct, **spec.structs}.items():
            other = given.struct if not name else given.structs[name]
            known = [field for field in struct.fields if field.name not in NEWER]
            for mine, theirs in zip(known, other.fields, strict=True):
                # 0 is what a number is without a default, too.
                assert mine.default_value == theirs.default_value
                said = dataclasses.replace(theirs, about="", default=mine.default, fields=())
                assert dataclasses.replace(mine, fields=()) == said
            for version in given.valid_versions:
                fields = [field.name for field in struct.regular_fields(version)]
                assert fields == [field.name for field in other.regular_fields(version)]


def test_kinds_of_rows(impl):
    rows = {
        (OFFSET, offset_value(1)): "record",
        (b"\0\0" + OFFSET[2:], offset_value(2, 0)): "record",
        (OFFSET, offset_value(3, 4, b"\0")): "record",
        (OFFSET, offset_value(4, 4, b"\1\x05\2hi")): "record",
        (OFFSET, None): "tombstone",
        (GROUP, None): "tombstone",
        (b"\0\0\0\1", b"\0\0\0\0\0\1"): "marker",
        (b"\0\0\0\0", b"\0\0\0\0\0\1"): "marker",
        (b"\0\x63\1\2", b"\0\0"): "unknown_type",
        (b"\xff\xff\1\2", b""): "unknown_type",
        (None, b"\0\0"): "unknown_type",
        (OFFSET, b"\0\x09future"): "unknown_version",
        (OFFSET, b"\xff\xffpast"): "unknown_version",
    }
    table = decode_topic("__consumer_offsets", [key for key, _ in rows], [value for _, value in rows])
    assert table["kind"].to_pylist() == list(rows.values())
    assert table["type"].to_pylist() == [1, 0, 1, 1, 1, 2, None, None, 0x63, -1, None, 1, 1]
    assert table["version"].to_pylist() == [3, 0, 4, 4, None, None, None, None, 0, None, 0, 9, -1]
    offsets = table["OffsetCommit"].to_pylist()
    key = {"group": "g", "topic": "t", "partition": 5}
    assert [row and row["key"] for row in offsets] == [key] * 5 + [None] * 6 + [key] * 2
    assert [row and row["value"] and row["value"]["offset"] for row in offsets[:5]] == [1, 2, 3, 4, None]
    assert offsets[11]["value"] is None
    groups = table["GroupMetadata"].to_pylist()
    assert [place for place, row in enumerate(groups) if row] == [5]
    assert groups[5] == {"key": {"group": "g"}, "value": None}


def test_errors_cost_their_own_row(impl):
    keys = [OFFSET, OFFSET[:5], b"\0", OFFSET, OFFSET, OFFSET, GROUP]
    values = [
        offset_value(1),
        offset_value(2),
        offset_value(3),
        b"\0",
        offset_value(4)[:-1],
        offset_value(5),
        b"\0\1",
    ]
    with pytest.raises(DecodeError) as caught:
        decode_topic("__consumer_offsets", keys, values)
    assert (caught.value.row, caught.value.path) == (1, "OffsetCommit.key.topic")
    assert decode_topic("__consumer_offsets", keys, values, errors="null")["kind"].to_pylist() == [
        "record",
        *["error"] * 4,
        "record",
        "error",
    ]
    codec = TopicCodec("__consumer_offsets")
    table, report = codec.decode(pa.chunked_array([keys[:2], keys[2:]]), values, errors="report")
    assert [(row["row"], row["path"], row["offset"], row["code"]) for row in report.to_pylist()] == [
        (1, "OffsetCommit.key.topic", 5, "truncated"),
        (2, "key", 1, "truncated"),
        (3, "value", 1, "truncated"),
        (4, "OffsetCommit.value.commitTimestamp", 16, "truncated"),
        (6, "GroupMetadata.value.protocolType", 2, "truncated"),
    ]
    assert table["OffsetCommit"].to_pylist()[1:5] == [None] * 4
    assert table["GroupMetadata"].to_pylist() == [None] * 7
    assert [row and row["value"]["offset"] for row in table["OffsetCommit"].to_pylist()] == [
        1,
        *[None] * 4,
        5,
        None,
    ]
    table.validate(full=True)


def test_unknown_tags_and_compat(impl):
    value = offset_value(4, 4, b"\1\x05\2hi")
    table = decode_topic("__consumer_offsets", [OFFSET], [value], unknown_tags=True)
    assert table["OffsetCommit"][0].as_py()["value"]["_unknown_tagged_fields"] == [{"tag": 5, "data": b"hi"}]
    with pytest.raises(DecodeError, match="trailing_bytes"):
        decode_topic("__consumer_offsets", [OFFSET], [offset_value(1) + b"x"])
    lenient = decode_topic("__consumer_offsets", [OFFSET], [offset_value(1) + b"x"], compat="kafka")
    assert lenient["kind"].to_pylist() == ["record"]


@cases("layout", ["binary", "large_binary", "binary_view", "string", "sliced", "chunked", "fixed"])
def test_layouts_of_columns(impl, layout):
    keys, values = [OFFSET] * 40, [offset_value(n) for n in range(40)]
    if layout == "sliced":
        column = pa.array([b"x" * 20, *keys, b"y"])[1:41], pa.array([b"", None, *values])[2:]
    elif layout == "chunked":
        column = (
            pa.chunked_array([keys[:3], keys[3:3], keys[3:]], pa.binary()),
            pa.chunked_array([values[:30], values[30:]]),
        )
    elif layout == "fixed":
        column = pa.array(keys, pa.binary(len(OFFSET))), pa.array(values, pa.binary(len(values[0])))
    elif layout == "string":
        column = pa.array([key.decode() for key in keys]), pa.array(values)
    else:
        kind = {"binary": pa.binary(), "large_binary": pa.large_binary(), "binary_view": pa.binary_view()}[
            layout
        ]
        column = pa.array(keys, kind), pa.array(values, kind)
    table = decode_topic("__consumer_offsets", *column)
    assert [row["value"]["offset"] for row in table["OffsetCommit"].to_pylist()] == list(range(40))


def test_no_rows(impl):
    codec = TopicCodec("__consumer_offsets")
    for empty in ([], pa.chunked_array([], pa.binary())):
        table = codec.decode(empty, empty)
        assert table.schema == codec.schema
        assert table.num_rows == 0


def uvarint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def test_framed_topics(impl, definitions):
    topic = bytes([1, 2, 0]) + b"\5name" + bytes(15) + b"\x01" + b"\0"
    rows = [
        (None, topic),
        (None, bytes([1, 20, 0, 0])),  # NoOpRecord, without fields
        (None, b"\x81\x80\0" + b"\x94\0" + b"\0" + b"\0"),  # the same in longer varints
        (None, b"\1" + uvarint(300) + b"\0"),
        (None, b"\1" + uvarint(1 << 31) + b"\0"),
        (None, bytes([1, 20, 7])),
        (b"\0\0\0\2", b"control"),
        (None, bytes([0, 2, 0])),
        (None, b"\1"),
        (None, b"\1\xff\xff\xff\xff\xff\xff"),
        (None, topic + b"!"),
        (None, bytes([1, 3, 2])),
        (None, None),
    ]
    table, report = decode_topic(
        "__cluster_metadata",
        [key for key, _ in rows],
        [value for _, value in rows],
        definitions=definitions,
        errors="report",
    )
    assert table["kind"].to_pylist() == [
        *["record"] * 3,
        *["unknown_type"] * 2,
        "unknown_version",
        "marker",
        *["error"] * 5,
        "tombstone",
    ]
    assert table["type"].to_pylist() == [2, 20, 20, 300, None, 20, None, None, None, None, 2, 3, None]
    assert table["TopicRecord"][0].as_py() == {"name": "name", "topicId": bytes(15) + b"\1"}
    assert table["NoOpRecord"].to_pylist()[:4] == [None, {}, {}, None]
    assert [(row["row"], row["path"], row["code"]) for row in report.to_pylist()] == [
        (7, "frame", "unsupported_version"),
        (8, "frame", "truncated"),
        (9, "frame", "varint_overlong"),
        (10, "TopicRecord", "trailing_bytes"),
        (11, "PartitionRecord.partitionId", "truncated"),
    ]
    values = [value for key, value in rows[:6]]
    without_keys = decode_topic("__cluster_metadata", None, values, definitions=definitions)
    assert without_keys["kind"].to_pylist() == table["kind"].to_pylist()[:6]


@pytest.mark.parametrize("topic", TOPICS)
def test_vectors(impl, shared, definitions, topic, capsys):
    """Records made of the vectors of keys and values decode to the JSON form of their parts."""
    codec = TopicCodec(topic, definitions)
    by_name = {}
    for vector in read_vectors("kafka_protocol_vectors.jsonl.gz", shared / "vectors"):
        if vector["set"] in ("group", "txn", "share", "metadata", "storage") and "unknownTags" not in vector:
            by_name.setdefault(vector["name"], []).append(vector)
    rows = []
    for record in codec.records:
        # The vectors are a part of a larger set: some messages have none.
        for value in by_name.get(record.value.name, []):
            data, version = bytes.fromhex(value["hex"]), value["version"]
            if record.key is None:
                ((number, _),) = record.types
                rows.append(
                    (record, None, value, None, uvarint(1) + uvarint(number) + uvarint(version) + data)
                )
                continue
            for number, key_version in record.types:
                keys = [
                    vector for vector in by_name.get(record.key.name, []) if vector["version"] == key_version
                ]
                if not keys:
                    continue
                key = keys[len(rows) % len(keys)]
                prefixed = number.to_bytes(2, "big") + bytes.fromhex(key["hex"])
                rows.append((record, key, value, prefixed, version.to_bytes(2, "big") + data))
    # All types in turn, so that neighbours differ.
    rows = [row for start in range(7) for row in rows[start::7]]
    table = codec.decode(pa.array([row[3] for row in rows], pa.binary()), [row[4] for row in rows])
    assert set(table["kind"].to_pylist()) == {"record"}
    for number, (record, key, value, _, _) in enumerate(rows):
        got = table[record.name][number].as_py()
        parts = (
            [(record.value, value, got)]
            if key is None
            else [
                (record.key, key, got["key"]),
                (record.value, value, got["value"]),
            ]
        )
        for spec, vector, message in parts:
            assert to_json(spec, vector["version"], message) == vector["json"], vector["id"]
        assert sum(table[each.name][number].is_valid for each in codec.records) == 1
    with capsys.disabled():
        print(f"\n{impl}: {len(rows)} records of {len(codec.records)} types of {topic}")


def test_definitions_are_found(definitions):
    assert [each.name for each in record_types("__consumer_offsets", builtin_definitions())] == [
        "OffsetCommit",
        "GroupMetadata",
    ]
    assert record_types("__consumer_offsets", definitions)[0].types == ((0, 0), (1, 1))
    assert {topic: len(record_types(topic, definitions)) for topic in TOPICS} == {
        "__consumer_offsets": 15,
        "__transaction_state": 1,
        "__share_group_state": 2,
        "__cluster_metadata": 25,
        "__remote_log_metadata": 4,
    }
    text = '{"type": "coordinator-%s", "apiKey": %d, "name": "%s", "validVersions": "0", "flexibleVersions": "none"}'
    newer = load(
        [
            text % ("key", 0, "LegacyOffsetCommitKey"),
            text % ("value", 0, "LegacyOffsetCommitValue"),
            text % ("key", 1, "OffsetCommitKey"),
            text % ("value", 1, "OffsetCommitValue"),
        ]
    )
    assert [(each.name, each.types) for each in record_types("__consumer_offsets", newer)] == [
        ("LegacyOffsetCommit", ((0, 0),)),
        ("OffsetCommit", ((1, 0),)),
    ]
    table = decode_topic("__consumer_offsets", [b"\0\1"], [b"\0\0"], definitions=newer)
    assert table["OffsetCommit"].to_pylist() == [{"key": {}, "value": {}}]


def test_columns_of_types_that_do_not_occur_are_whole(impl, definitions):
    codec = TopicCodec("__consumer_offsets", definitions, unknown_tags=True)
    table = codec.decode(
        [OFFSET] * 70 + [b"\0\3\0\1g"], [offset_value(1)] * 70 + [b"\0\0" + bytes(4) + b"\0"]
    )
    table.validate(full=True)
    for name in table.column_names[3:]:
        column = table[name].combine_chunks()
        assert (
            column.null_count == 70 if name == "ConsumerGroupMetadata" else 71 - 70 * (name == "OffsetCommit")
        )
        # Casting looks for nulls where the type has none.
        assert column.cast(without_fixed_sizes(column.type)).to_pylist() == column.to_pylist()


def without_fixed_sizes(kind):
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(without_fixed_sizes(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(without_fixed_sizes(kind.value_type)))
    return pa.binary() if pa.types.is_fixed_size_binary(kind) else kind


def test_arguments(definitions):
    with pytest.raises(ConfigError, match="topic 'orders' is not one of __consumer_offsets"):
        TopicCodec("orders")
    with pytest.raises(ConfigError, match="definitions= are needed for __cluster_metadata"):
        TopicCodec("__cluster_metadata")
    with pytest.raises(ConfigError, match="no record of __share_group_state"):
        TopicCodec("__share_group_state", builtin_definitions())
    with pytest.raises(ConfigError, match="compat='java' is not one of"):
        TopicCodec("__consumer_offsets", compat="java")
    with pytest.raises(ConfigError, match=r"definitions are what kcodec\.protocol\.load makes, not a str"):
        TopicCodec("__cluster_metadata", "kafka-clients.jar")
    codec = TopicCodec("__consumer_offsets")
    with pytest.raises(ConfigError, match="keys are needed"):
        codec.decode(None, [b""])
    with pytest.raises(ConfigError, match="1 keys for 2 values"):
        codec.decode([b""], [b"", b""])
    with pytest.raises(ConfigError, match="errors='skip'"):
        codec.decode([], [], errors="skip")
    assert repr(codec) == "TopicCodec('__consumer_offsets', OffsetCommit, GroupMetadata)"


def test_pickled(impl):
    codec = pickle.loads(pickle.dumps(TopicCodec("__consumer_offsets", unknown_tags=True)))
    assert codec.schema == TopicCodec("__consumer_offsets", unknown_tags=True).schema
    assert codec.decode([OFFSET], [offset_value(9)])["OffsetCommit"][0].as_py()["value"]["offset"] == 9


keys = st.none() | st.binary(max_size=12) | st.sampled_from([OFFSET, GROUP, OFFSET[:-1], b"\0\0\0\1"])
values = st.none() | st.binary(max_size=12) | st.integers(0, 9).map(offset_value)


@given(st.lists(st.tuples(keys, values), max_size=6))
def test_both_implementations_agree_on_any_bytes(rows):
    given_keys, given_values = [key for key, _ in rows], [value for _, value in rows]
    found = []
    for name in ("native", "pure"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("KCODEC_IMPL", name)
            found.append(decode_topic("__consumer_offsets", given_keys, given_values, errors="report"))
    assert found[0][0].equals(found[1][0])
    assert found[0][1].equals(found[1][1])
    kinds = found[0][0]["kind"].to_pylist()
    assert set(kinds) <= set(KINDS)
    assert kinds.count("error") == found[0][1].num_rows


@given(
    st.lists(st.none() | st.binary(max_size=20), max_size=8), st.sampled_from([pa.binary(), pa.binary_view()])
)
def test_prefixes(payloads, kind):
    array = pa.array(payloads, kind)
    numbers, lengths = int16_prefix(array)
    assert lengths.tolist() == [len(payload or b"") for payload in payloads]
    assert numbers.tolist() == [
        int.from_bytes(payload[:2], "big", signed=True) if payload and len(payload) > 1 else 0
        for payload in payloads
    ]
    found = varint_prefix(array)
    for row, payload in enumerate(payloads):
        if payload is None:
            continue
        at, numbers, problem = 0, [], ""
        while len(numbers) < 3 and not problem:
            value = 0
            for place in range(5):
                if at == len(payload):
                    problem = "truncated"
                    break
                value |= (payload[at] & 0x7F) << 7 * place
                at += 1
                if payload[at - 1] < 0x80:
                    break
            else:
                problem = "overlong"
            numbers.append(value & 0xFFFFFFFF)
        assert (found.truncated[row], found.overlong[row]) == (problem == "truncated", problem == "overlong")
        if not problem:
            assert [found.frame[row], found.type[row], found.version[row], found.starts[row]] == [
                *numbers,
                at,
            ]
