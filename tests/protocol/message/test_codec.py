"""What a codec of messages does: options, versions, errors, single messages, and what hostile bytes cost."""

import json
import pickle
import tracemalloc
import uuid

import numpy as np
import pyarrow as pa
import pytest
from cases import cases
from message_specs import COMMIT, TOPICS, TREE

import kcodec
from kcodec.errors import ConfigError, DecodeError, EncodeError, SchemaError
from kcodec.plan import Limits
from kcodec.protocol.message.codec import UNKNOWN, MessageCodec
from kcodec.protocol.spec.json import SpecError
from kcodec.protocol.spec.message import MessageSpec

EMPTY = MessageSpec.parse("""{"type": "data", "name": "Empty", "validVersions": "0-1", "flexibleVersions": "none",
    "fields": [{"name": "Outer", "type": "[]Group", "versions": "0+", "fields": [
        {"name": "Items", "type": "[]Item", "versions": "0+", "fields": [
            {"name": "Late", "type": "string", "versions": "1+", "default": "some text"}]}]}]}""")


def test_columns_have_the_fields_of_the_version():
    assert MessageCodec(COMMIT, 0).arrow_type.names == ["offset", "metadata", "commitTimestamp"]
    assert "expireTimestamp" in MessageCodec(COMMIT, 1).arrow_type.names
    every = MessageCodec.for_versions(COMMIT)
    assert every.arrow_type.names == [field.json_name for field in COMMIT.fields]
    assert every.version is None
    assert every.versions == (0, 1, 2, 3, 4)
    assert MessageCodec(COMMIT, 4).arrow_type.field("topicId").type == pa.binary(16)
    assert not MessageCodec(COMMIT, 4).arrow_type.field("offset").nullable
    large = MessageCodec(TREE, 1, large=True, unknown_tags=True).arrow_type
    assert pa.types.is_large_list(large.field("topics").type)
    assert large.names[-1] == UNKNOWN


def test_both_ways(impl):
    for large in (False, True):
        codec = MessageCodec(TREE, 1, large=large)
        messages = [TOPICS | {"cursor": {"at": 5}, "note": b"hi"}, TOPICS, {}]
        rows = [codec.encode_one(message) for message in messages]
        column = codec.decode([*rows, None])
        assert column.to_pylist()[0] == messages[0]
        assert column.to_pylist()[1] == TOPICS | {"cursor": None, "note": b""}
        assert column.to_pylist()[2:] == [{"topics": [], "cursor": None, "note": b""}, None]
        assert codec.encode(column).to_pylist() == [*rows, None]
        assert codec.encode(column).type == (pa.large_binary() if large else pa.binary())
        assert [codec.size(message) for message in messages] == list(map(len, rows))


def test_unknown_tags_are_kept(impl):
    codec = MessageCodec(TREE, 1, unknown_tags=True)
    tags = [{"tag": 1, "data": b"new"}, {"tag": 70_000, "data": b""}]
    message = {"topics": [{"name": None, "partitions": [], UNKNOWN: tags}], UNKNOWN: tags[:1], "note": b"x"}
    data = codec.encode_one(message)
    assert codec.decode_one(data) == {**message, "cursor": None}
    column = codec.decode([data, codec.encode_one({})])
    assert column.field(UNKNOWN).to_pylist() == [tags[:1], []]
    assert codec.encode(column).to_pylist()[0] == data
    # Without the column they are dropped; the message stays valid.
    plain = MessageCodec(TREE, 1)
    assert plain.decode_one(plain.encode(plain.decode([data])).to_pylist()[0]) == {
        "topics": [{"name": None, "partitions": []}],
        "cursor": None,
        "note": b"x",
    }


@cases(
    ("tags", "code"),
    [
        ([{"tag": 5, "data": b""}, {"tag": 5, "data": b""}], "tag_order"),
        ([{"tag": 5, "data": b""}, {"tag": 4, "data": b""}], "tag_order"),
        ([{"tag": 0, "data": b""}], "invalid_tag"),
        ([{"tag": None, "data": b""}], "null_value"),
        ([None], "null_value"),
    ],
)
def test_unknown_tags_that_cannot_be_written(impl, tags, code):
    codec = MessageCodec(TREE, 1, unknown_tags=True)
    with pytest.raises(EncodeError) as caught:
        codec.encode_one({"note": b"x", UNKNOWN: tags})
    assert (caught.value.code, caught.value.path) == (code, UNKNOWN)
    kind = pa.struct([field.with_nullable(True) for field in codec.arrow_type])
    with pytest.raises(EncodeError) as caught:
        codec.encode(pa.array([{"topics": [], "note": b"x", UNKNOWN: tags}], kind))
    assert (caught.value.code, caught.value.path) == (code, UNKNOWN)
    with pytest.raises(EncodeError, match=r"non_default.*does not support them"):
        MessageCodec(TREE, 0).encode_one({UNKNOWN: [{"tag": 5, "data": b""}]})


def test_what_a_version_does_not_have(impl):
    old = MessageCodec(COMMIT, 0)
    # Ignorable: left out. Not ignorable: only at its default.
    assert old.encode_one({"leaderEpoch": 7}) == old.encode_one({})
    assert old.encode_one({"expireTimestamp": -1}) == old.encode_one({})
    with pytest.raises(EncodeError, match=r"non_default.*expireTimestamp at version 0"):
        old.encode_one({"expireTimestamp": 0})
    kind = pa.struct([("offset", pa.int64()), ("expireTimestamp", pa.int64())])
    array = pa.array([{"offset": 1, "expireTimestamp": -1}, {"offset": 2, "expireTimestamp": 5}], kind)
    encoded, report = old.encode(array, errors="report")
    assert encoded.to_pylist() == [old.encode_one({"offset": 1}), None]
    assert report.to_pylist()[0] | {"reason": ""} == {
        "row": 1,
        "offset": None,
        "path": "expireTimestamp",
        "code": "non_default",
        "reason": "",
        "schema_id": None,
    }


def test_mixed_versions(impl):
    codec = MessageCodec.for_versions(COMMIT)
    rows = [codec.encode_one({"offset": version, "metadata": "m"}, version) for version in range(5)]
    column = codec.decode(rows, versions=range(5))
    assert column.field("offset").to_pylist() == [0, 1, 2, 3, 4]
    assert column.field("leaderEpoch").to_pylist() == [-1] * 5
    assert column.field("topicId").to_pylist() == [bytes(16)] * 5
    assert codec.encode(column, versions=pa.array(range(5))).to_pylist() == rows
    chunked = pa.chunked_array([rows[:2], rows[2:]], pa.binary())
    assert (
        codec.decode(chunked, versions=pa.chunked_array([[0], [1, 2, 3, 4]])).to_pylist()
        == column.to_pylist()
    )
    assert codec.decode_one(rows[3], 3)["offset"] == 3
    assert codec.decode([], versions=[]).type == codec.arrow_type
    # A version that is not known costs its own row.
    _, report = codec.decode(rows, "report", versions=[0, 1, 9, None, 4])
    assert report["row"].to_pylist() == [2, 3]
    assert set(report["code"].to_pylist()) == {"unsupported_version"}
    _, report = codec.encode(column, "report", versions=[0, 1, 2, 3, -1])
    assert report["row"].to_pylist() == [4]
    for call in (lambda: codec.decode(rows), lambda: codec.decode_one(rows[0]), lambda: codec.encode_one({})):
        with pytest.raises(ConfigError, match="version"):
            call()
    with pytest.raises(ConfigError, match="2 versions for 5 rows"):
        codec.decode(rows, versions=[0, 1])
    with pytest.raises(ConfigError, match="version 7 is not one of 0, 1, 2, 3, 4"):
        codec.decode_one(rows[0], 7)


def test_rows_that_begin_with_their_version(impl):
    codec = MessageCodec.for_versions(COMMIT, header="version")
    rows = [codec.encode_one({"offset": version}, version) for version in (4, 0, 3)]
    assert [row[:2] for row in rows] == [b"\0\4", b"\0\0", b"\0\3"]
    column, report = codec.decode([*rows, None, b"\0\x09", b"\0"], errors="report")
    assert column.field("offset").to_pylist()[:3] == [4, 0, 3]
    assert report.select(["row", "offset", "code"]).to_pylist() == [
        {"row": 4, "offset": 2, "code": "unsupported_version"},
        {"row": 5, "offset": 1, "code": "truncated"},
    ]
    assert codec.encode(column.slice(0, 3), versions=[4, 0, 3]).to_pylist() == rows
    assert codec.decode_one(rows[0])["offset"] == 4
    with pytest.raises(DecodeError, match=r"unsupported_version.*version 9"):
        codec.decode_one(b"\0\x09")
    with pytest.raises(DecodeError, match="truncated"):
        codec.decode_one(b"\0")
    one = MessageCodec(COMMIT, 3, header="version")
    with pytest.raises(DecodeError, match="unsupported_version"):
        one.decode(rows)


def test_errors_name_the_place(impl):
    codec = MessageCodec(TREE, 0)
    good = codec.encode_one(TOPICS)
    bad = good[:-11]
    _, report = codec.decode([good, bad, None, good + b"x"], errors="report")
    assert report.select(["row", "offset", "path", "code"]).to_pylist() == [
        {"row": 1, "offset": len(bad), "path": "topics[0].partitions[1].replicas", "code": "truncated"},
        {"row": 3, "offset": len(good), "path": "", "code": "trailing_bytes"},
    ]
    with pytest.raises(DecodeError) as caught:
        codec.decode_one(bad)
    assert caught.value.path == "topics[0].partitions[1].replicas"
    assert MessageCodec(TREE, 0, trailing=True).decode_one(good + b"x") == codec.decode_one(good)
    with pytest.raises(EncodeError) as caught:
        codec.encode_one({"topics": [{}, {"partitions": [{"index": 1 << 31}]}]})
    assert (caught.value.path, caught.value.code) == ("topics[1].partitions[0].index", "out_of_range")
    with pytest.raises(
        EncodeError, match=r"topics\[0\]: the message has no field nmae: did you mean 'name'\?"
    ):
        codec.encode_one({"topics": [{"nmae": "x"}]})
    # Definitions have names in upper case.
    with pytest.raises(EncodeError, match=r"the message has no field Topics: did you mean 'topics'\?"):
        codec.encode_one({"Topics": []})


def test_a_bad_row_costs_itself_only(impl):
    codec = MessageCodec(TREE, 1, unknown_tags=True)
    good = codec.encode_one(TOPICS | {"note": b"x" * 100, UNKNOWN: [{"tag": 9, "data": b"y"}]})
    rows = [good[:at] if at % 3 else good for at in range(len(good))] * 3
    column = codec.decode(rows, errors="null")
    column.validate(full=True)
    assert column.to_pylist() == [
        codec.decode([good]).to_pylist()[0] if row == good else None for row in rows
    ]


def test_text_that_is_not_utf8(impl):
    codec = MessageCodec(COMMIT, 0)
    good, bad = (
        codec.encode_one({"metadata": "aé"}),
        codec.encode_one({"metadata": "ab"}).replace(b"ab", b"a\xff"),
    )
    split = [codec.encode_one({"metadata": "xy"}).replace(b"xy", part) for part in (b"x\xc3", b"\xa9y")]
    column, report = codec.decode([good, bad, *split, good], errors="report")
    assert report.select(["row", "offset", "code"]).to_pylist() == [
        {"row": row, "offset": 10, "code": "invalid_utf8"} for row in (1, 2, 3)
    ]
    assert column.null_count == 3
    lenient = MessageCodec(COMMIT, 0, compat="kafka")
    assert lenient.decode([bad, *split]).field("metadata").to_pylist() == ["a\ufffd", "x\ufffd", "\ufffdy"]


JAVA = [
    (b"\xed\xa0\x80", "\ufffd"),
    (b"\xed\xa0\x80\xed\xb0\x80", "\ufffd\ufffd"),
    (b"\xc0\x80", "\ufffd\ufffd"),
    (b"\xe2\x82", "\ufffd"),
    (b"\xe2\x82a", "\ufffda"),
    (b"\xe0\x80\x80", "\ufffd\ufffd\ufffd"),
    (b"\xf0\x9f\x92", "\ufffd"),
    (b"\xf0\x9f\x92a", "\ufffda"),
    (b"\xf0\x80\x80\x80", "\ufffd\ufffd\ufffd\ufffd"),
    (b"\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd"),
    (b"\xf8\x88\x80\x80\x80", "\ufffd" * 5),
    ("e\u20ac\U0001f4a9".encode(), "e\u20ac\U0001f4a9"),
]


@cases(("data", "text"), JAVA, ids=[data.hex() for data, _ in JAVA])
def test_text_as_java_reads_it(impl, data, text):
    codec = MessageCodec(COMMIT, 0, compat="kafka")
    row = bytes(8) + len(data).to_bytes(2, "big") + data + bytes(8)
    assert codec.decode_one(row)["metadata"] == text
    assert codec.decode([row]).field("metadata").to_pylist() == [text]


@cases("version", [0, 1])
@cases("compat", [None, "kafka"])
def test_counts_cost_no_memory(impl, version, compat):
    """A count is bounded by the bytes that are left before anything is set aside for its items."""
    codec = MessageCodec(TREE, version, compat=compat)
    count = b"\x7f\xff\xff\xff" if version == 0 else b"\xff\xff\xff\xff\x07"
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    column, report = codec.decode([count, count + bytes(50)] * 20, errors="report")
    with pytest.raises(DecodeError, match="truncated"):
        codec.decode_one(count)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert column.null_count == 40
    assert set(report["code"].to_pylist()) == {"truncated"}
    assert most < 1 << 20
    assert pa.total_allocated_bytes() - before < 1 << 20


@pytest.mark.parametrize("kind", ["[]int8", "bytes", "string"])
def test_lengths_of_more_than_31_bits(impl, kind):
    """Java takes 1 from the 32 bits of a compact length: all but the smallest number become negative or stay so."""
    spec = f"""{{"type": "data", "name": "M", "validVersions": "0", "flexibleVersions": "0+", "fields": [
        {{"name": "A", "type": "{kind}", "versions": "0+", "nullableVersions": "0+"}}]}}"""
    too_long = "string_length" if kind == "string" else "truncated"
    lenient = MessageCodec(spec, 0, compat="kafka")
    for length, answer in (
        ("ffffffff07", too_long),
        ("8080808008", too_long),
        ("8180808008", None),
        ("ffffffff0f", None),
        ("8080808010", None),
        ("ffffffff17", too_long),
    ):
        data = bytes.fromhex(length + "00")
        column, report = lenient.decode([data], "report")
        assert report["code"].to_pylist() == [answer] * (answer is not None), length
        if answer is None:
            assert column.to_pylist() == [{"a": None}] == [lenient.decode_one(data)]
        else:
            with pytest.raises(DecodeError, match=answer):
                lenient.decode_one(data)


def test_items_without_bytes_are_counted(impl):
    """Structs without fields take no bytes before version 1 of Empty: counts within counts would multiply."""
    codec = MessageCodec(EMPTY, 0)
    assert codec.decode_one(codec.encode_one({"outer": [{"items": [{}, {}]}]})) == {
        "outer": [{"items": [{}, {}]}]
    }
    inner = (60_000).to_bytes(4, "big")
    bomb = (15_000).to_bytes(4, "big") + inner * 15_000
    _, report = codec.decode([bomb], errors="report")
    assert report["code"].to_pylist() == ["size_limit"]
    with pytest.raises(DecodeError, match="size_limit"):
        codec.decode_one(bomb)
    # The same where a default is repeated for each of them.
    both = MessageCodec.for_versions(EMPTY, limits=Limits(max_expansion=50))
    row = codec.encode_one({"outer": [{"items": [{}] * 5}]})
    assert both.decode([row], versions=[0]).to_pylist()[0]["outer"][0]["items"] == [{"late": "some text"}] * 5
    _, report = both.decode([codec.encode_one({"outer": [{"items": [{}] * 6}]})], "report", versions=[0])
    assert report["code"].to_pylist() == ["size_limit"]


def test_lists_of_dicts(impl):
    rows = [{"offset": 7, "metadata": "m"}, None]
    codec = MessageCodec(COMMIT, 4)
    assert codec.encode(rows).to_pylist() == [codec.encode_one(rows[0]), None]
    assert codec.encode([]).to_pylist() == []
    every = MessageCodec.for_versions(COMMIT)
    two = [{"offset": 7, "metadata": "m"}] * 2
    assert every.encode(two, versions=[0, 4]).to_pylist() == [every.encode_one(two[0], at) for at in (0, 4)]
    # Fields of other versions, and tags of newer peers, as in columns and in encode_one.
    row = {"offset": 7, "metadata": "m", "leaderEpoch": 3, UNKNOWN: [{"tag": 9, "data": b"x"}]}
    assert codec.encode([row]).to_pylist() == [codec.encode_one(row)]
    _, report = MessageCodec(COMMIT, 0).encode([{"offset": 7, "expireTimestamp": 5}], "report")
    assert report["code"].to_pylist() == ["non_default"]
    with pytest.raises(TypeError, match="there is no field 'offest': did you mean 'offset'"):
        codec.encode([{"offest": 7}])


def test_rows_without_unknown_tags_beside_rows_with_some(impl):
    """Their tags are null in the column: that is none, in versions without tags and in structs at their default too."""
    codec = MessageCodec.for_versions("""{"type": "data", "name": "M", "validVersions": "0-1", "flexibleVersions": "1+",
        "fields": [
        {"name": "Parts", "type": "[]Part", "versions": "0+", "fields": [
            {"name": "X", "type": "int8", "versions": "0+"}]},
        {"name": "Inner", "type": "Inner", "versions": "1+", "taggedVersions": "1+", "tag": 0, "fields": [
            {"name": "X", "type": "int8", "versions": "1+"}]}]}""")
    tags = {UNKNOWN: [{"tag": 3, "data": b"x"}]}
    rows = [
        ({"parts": [{"x": 1} | tags], "inner": {"x": 1} | tags} | tags, 1),
        ({"parts": [{"x": 1}], "inner": {"x": 0}}, 0),
        ({"parts": [{"x": 1}], "inner": {"x": 0}}, 1),
    ]
    messages, versions = zip(*rows, strict=True)
    encoded = codec.encode(list(messages), versions=list(versions)).to_pylist()
    assert encoded == [codec.encode_one(message, version) for message, version in rows]
    assert encoded[1:] == [b"\0\0\0\1\1", b"\2\1\0\0"]
    nulls = {"parts": [{"x": 1, UNKNOWN: None}], "inner": {UNKNOWN: None}, UNKNOWN: None}
    assert [codec.encode_one(nulls, version) for version in (0, 1)] == encoded[1:]


def test_unknown_tags_of_a_message_that_is_never_flexible(impl):
    codec = MessageCodec(EMPTY, 0)
    assert codec.encode_one({"outer": [{UNKNOWN: []}], UNKNOWN: []}) == codec.encode_one({"outer": [{}]})
    tags = {UNKNOWN: [{"tag": 0, "data": b""}]}
    for message, path in ((tags, UNKNOWN), ({"outer": [tags]}, f"outer[0].{UNKNOWN}")):
        for encode in (codec.encode_one, lambda message: codec.encode([message])):
            with pytest.raises(EncodeError, match="Tagged fields were set, but version 0") as caught:
                encode(message)
            assert (caught.value.path, caught.value.code) == (path, "non_default")


def test_uuids_of_python(impl):
    codec = MessageCodec(COMMIT, 4)
    number = uuid.UUID(int=5)
    data = codec.encode_one({"topicId": number})
    assert codec.decode_one(data)["topicId"] == number.bytes
    assert codec.to_json({"topicId": number, "offset": 1})["topicId"] == "AAAAAAAAAAAAAAAAAAAABQ"
    assert codec.encode_one({"topicId": uuid.UUID(int=0)}) == codec.encode_one({})
    for bad, code in ((b"short", "fixed_size"), (5, "type_mismatch")):
        with pytest.raises(EncodeError, match=code):
            codec.encode_one({"topicId": bad})


def test_structs_at_defaults_of_no_bytes(impl):
    late = """{"type": "data", "name": "Late", "validVersions": "0-1", "flexibleVersions": "none", "fields": [
        {"name": "Inner", "type": "Inner", "versions": "0+", "fields": [
            {"name": "At", "type": "int32", "versions": "1+"}]}]}"""
    codec = MessageCodec.for_versions(late)
    assert [codec.encode_one({}, version) for version in (0, 1)] == [b"", bytes(4)]
    assert [codec.size({"inner": {}}, version) for version in (0, 1)] == [0, 4]
    assert codec.encode(pa.array([{}], pa.struct([])), versions=[0]).to_pylist() == [b""]


@pytest.mark.parametrize("flexible", ["none", "0+"])
def test_records_that_may_not_be_null(impl, flexible):
    """Kafka's default of records is null, so they cannot be left out."""
    codec = MessageCodec(
        """{"type": "data", "name": "Push", "validVersions": "0", "flexibleVersions": "FLEXIBLE", "fields": [
        {"name": "Parts", "type": "[]Part", "versions": "0+", "fields": [
            {"name": "Index", "type": "int8", "versions": "0+"},
            {"name": "Inner", "type": "Inner", "versions": "0+", "fields": [
                {"name": "Batches", "type": "records", "versions": "0+"}]}]}]}""".replace(
            "FLEXIBLE", flexible
        ),
        0,
    )
    whole = {"index": 1, "inner": {"batches": b"b"}}
    for part, path in (
        ({"index": 1}, "parts[1].inner"),
        ({"index": 1, "inner": {}}, "parts[1].inner.batches"),
        ({"index": 1, "inner": {"batches": None}}, "parts[1].inner.batches"),
    ):
        with pytest.raises(EncodeError) as caught:
            codec.encode_one({"parts": [whole, part]})
        assert (caught.value.path, caught.value.code) == (path, "null_value")
    for column in ([{"parts": [{"index": 1}]}], [{"parts": [{"inner": {"batches": None}}]}]):
        with pytest.raises(EncodeError, match="null_value"):
            codec.encode(pa.array(column))
    assert codec.decode_one(codec.encode_one({"parts": [whole]})) == {"parts": [whole]}
    for form in (codec.to_json, codec.from_json):
        with pytest.raises(EncodeError, match=r"null_value: row 0, parts\[0\].inner.batches"):
            form({"parts": [{"index": 1, "inner": {"batches": None}}]})
    with pytest.raises(EncodeError, match="null_value"):
        codec.to_json({"parts": [{}]})


def test_items_of_the_null_type(impl):
    """Of lists that have nothing but nulls, Arrow makes lists of the null type."""
    codec = MessageCodec(
        """{"type": "data", "name": "Lists", "validVersions": "0", "flexibleVersions": "none", "fields": [
        {"name": "Ids", "type": "[]int8", "versions": "0+"},
        {"name": "Parts", "type": "[]Part", "versions": "0+", "fields": [
            {"name": "Id", "type": "int8", "versions": "0+"}]}]}""",
        0,
    )
    for row, path in (({"ids": [None]}, "ids[0]"), ({"parts": [None, None]}, "parts[0]")):
        _, report = codec.encode(pa.array([row]), errors="report")
        assert report.select(["path", "code"]).to_pylist() == [{"path": path, "code": "null_value"}]
    assert codec.encode(pa.array([{"ids": [], "parts": []}])).to_pylist() == [bytes(8)]


def test_odd_values_of_python(impl):
    codec = MessageCodec(TREE, 1)
    gaps = memoryview(b"qwer")[::2]
    data = codec.encode_one({"note": gaps})
    assert codec.decode_one(data)["note"] == b"qe"
    assert codec.to_json({"note": gaps})["note"] == "cWU="
    assert codec.decode_one(memoryview(data)) == codec.decode_one(bytearray(data))
    assert codec.decode_one(memoryview(b"".join(bytes([byte, 0]) for byte in data))[::2])["note"] == b"qe"
    for value in (None, 5, [1]):
        with pytest.raises(EncodeError, match="type_mismatch: row 0: a message is a dict"):
            codec.encode_one(value)
        with pytest.raises(TypeError, match="bytes-like"):
            codec.decode_one(value)


def test_arrays_of_numpy_are_no_defaults(impl):
    every = MessageSpec.parse("""{"type": "data", "name": "Every", "validVersions": "0-1", "flexibleVersions": "0+",
        "fields": [
        {"name": "Flag", "type": "bool", "versions": "0+", "taggedVersions": "0+", "tag": 0},
        {"name": "Number", "type": "int32", "versions": "0+", "taggedVersions": "0+", "tag": 1},
        {"name": "Real", "type": "float64", "versions": "0+", "taggedVersions": "0+", "tag": 2},
        {"name": "Text", "type": "string", "versions": "0+", "taggedVersions": "0+", "tag": 3},
        {"name": "Data", "type": "bytes", "versions": "0+", "taggedVersions": "0+", "tag": 4},
        {"name": "Id", "type": "uuid", "versions": "0+", "taggedVersions": "0+", "tag": 5},
        {"name": "Later", "type": "int32", "versions": "1+"}]}""")
    codec = MessageCodec(every, 0)
    for field in every.fields:
        code = "non_default" if field.name == "Later" else "type_mismatch"
        for value in (np.zeros(2), np.zeros(0), np.array(["", ""])):
            with pytest.raises(EncodeError) as caught:
                codec.encode_one({field.json_name: value})
            assert (caught.value.path, caught.value.code) == (field.json_name, code)
            with pytest.raises(EncodeError, match=code):
                codec.to_json({field.json_name: value})


def test_a_field_that_no_valid_version_has(impl):
    """Such a field is like one of another version."""
    codec = MessageCodec(
        """{"type": "data", "name": "M", "validVersions": "1-2", "flexibleVersions": "none", "fields": [
        {"name": "Now", "type": "int8", "versions": "0+"},
        {"name": "Once", "type": "int8", "versions": "0"},
        {"name": "Soon", "type": "string", "versions": "3+", "nullableVersions": "3+", "ignorable": true}]}""",
        2,
    )
    assert codec.encode_one(codec.from_json({"now": 1, "once": 0, "soon": "x"})) == b"\1"
    assert codec.encode([{"now": 1, "once": 0, "soon": "x"}]).to_pylist() == [b"\1"]
    # No version that there is may have it, so that none may have it null.
    with pytest.raises(EncodeError, match="null_value: row 0, soon"):
        codec.from_json({"now": 1, "soon": None})
    for encode in (codec.encode_one, lambda message: codec.encode([message])):
        with pytest.raises(
            EncodeError, match="non_default: row 0, once: Attempted to write a non-default once"
        ):
            encode({"once": 1})


def test_versions_and_options_that_are_not(impl):
    for arguments, text in (
        ({"version": 5}, "version 5 of Commit is not one of 0-4"),
        ({"version": "0"}, "version '0' is not an int"),
        ({"version": True}, "version True is not an int"),
        ({"version": 0, "header": "both"}, "None, request, response, version"),
        ({"version": 0, "header": "request"}, "Commit is of type data"),
        ({"version": 0, "compat": "connect"}, "None, kafka"),
    ):
        with pytest.raises(ConfigError, match=text):
            MessageCodec(COMMIT, **arguments)
    with pytest.raises(ConfigError, match="at least one version"):
        MessageCodec.for_versions(COMMIT, [])
    several = MessageCodec.for_versions(COMMIT)
    for versions, text in (
        ([0.5], "integers, not double"),
        (["0"], "integers, not string"),
        ([0, "0"], "no column of integers"),
        ([1 << 64], "no column of integers"),
        ([0, 0], "2 versions for 1 rows"),
    ):
        with pytest.raises(ConfigError, match=text):
            several.decode([b""], versions=versions)
    for versions in ([None], [-1], [5], [1 << 32], pa.array([(1 << 64) - 1], pa.uint64())):
        report = several.decode([b""], "report", versions=versions)[1]
        assert report["code"].to_pylist() == ["unsupported_version"]
    with pytest.raises(SpecError):
        MessageCodec("{}", 0)
    # Kafka's reader does not look at the version of the message itself.
    assert MessageCodec(COMMIT, 99, compat="kafka").arrow_type == MessageCodec(COMMIT, 4).arrow_type


def test_codecs_travel(impl):
    codec = MessageCodec(TREE, 1, unknown_tags=True)
    codec.decode([codec.encode_one(TOPICS)])
    again = pickle.loads(pickle.dumps(codec))
    assert again == codec
    assert hash(again) == hash(codec)
    assert again.encode_one(TOPICS) == codec.encode_one(TOPICS)
    every = MessageCodec.for_versions(TREE, limits=Limits(max_expansion=5))
    assert pickle.loads(pickle.dumps(every)) == every != codec
    assert repr(codec) == "MessageCodec(Tree, 1, unknown_tags=True)"
    assert repr(every).startswith("MessageCodec.for_versions(Tree, [0, 1], limits=")
    assert codec != 5


def test_structs_in_structs(impl):
    def nested(levels):
        fields = '{"name": "F", "type": "int8", "versions": "0+"}'
        for level in range(levels):
            fields = f'{{"name": "F", "type": "[]S{level}", "versions": "0+", "fields": [{fields}]}}'
        return (
            '{"type": "data", "name": "Deep", "validVersions": "0", "flexibleVersions": "0+", "fields": ['
            + fields
            + "]}"
        )

    codec = MessageCodec(nested(49), 0)
    data = b"\x02" * 49 + b"\x01" + bytes(50)
    assert codec.encode_one(codec.decode_one(data)) == data
    assert codec.encode(codec.decode([data])).to_pylist() == [data]
    for call in (codec.decode_one, lambda row: codec.decode([row])):
        with pytest.raises(DecodeError) as caught:
            call(data[:49])
        assert caught.value.path == ".".join(["f[0]"] * 48) + ".f"
    with pytest.raises(SchemaError, match="nested deeper than 50 levels"):
        MessageCodec(nested(50), 0)


def test_plans_are_readable():
    assert str(MessageCodec(COMMIT, 4).decode_plan).splitlines()[1:] == [
        "  record -> column 0",
        "    offset: int64 -> column 1",
        "    leaderEpoch: int32 -> column 2",
        "    metadata: compact_string -> column 3",
        "    commitTimestamp: int64 -> column 4",
        "    tag_section",
        "      topicId: tag -> column 5",
        "        uuid -> column 5",
        "        default 00000000000000000000000000000000 -> column 5",
        "          uuid -> column 5",
    ]
    assert kcodec.MessageCodec is MessageCodec


def test_many_rows_in_many_blocks(impl):
    codec = MessageCodec(TREE, 1)
    count = 4000 if impl == "native" else 600
    rows = [
        codec.encode_one(
            {
                "topics": [
                    {"name": "t" * (at % 90), "partitions": [{"index": at, "replicas": [at] * (at % 200)}]}
                ],
                "note": bytes(at % 300),
            }
        )
        for at in range(count)
    ]
    column = codec.decode(rows)
    assert codec.encode(column).to_pylist() == rows
    assert codec.encode(column.slice(100, 50)).to_pylist() == rows[100:150]


def test_lists_of_messages(impl):
    """Each is written by itself, and what is wrong with it costs no other."""
    text = {"type": "data", "name": "Foo", "validVersions": "0", "flexibleVersions": "none"}
    text["fields"] = [{"name": "a", "type": "int32", "versions": "0+"}]
    codec = MessageCodec(MessageSpec.parse(json.dumps(text)), 0)
    good = [b"\0\0\0\1", None, b"\0\0\0\2"]
    assert codec.encode_list([{"a": 1}, None, {"a": 2}]) == good
    assert codec.decode_list(good) == [{"a": 1}, None, {"a": 2}]
    with pytest.raises(EncodeError, match="type_mismatch: row 1, a"):
        codec.encode_list([{"a": 1}, {"a": "x"}])
    made, report = codec.encode_list([{"a": "x"}, None, {"a": 1 << 40}, {"a": 2}], errors="report")
    assert made == [None, None, None, good[2]]
    assert report["row"].to_pylist() == [0, 2]
    with pytest.raises(DecodeError, match="truncated: row 1"):
        codec.decode_list([good[0], b"\0", good[2]])
