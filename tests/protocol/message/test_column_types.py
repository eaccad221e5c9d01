"""Columns that a codec of messages writes: of other types than its fields, and of those that it refuses."""

import json

import pyarrow as pa
import pytest
from message_specs import COMMIT, TREE

from kcodec.errors import EncodeError
from kcodec.protocol.message.codec import UNKNOWN, MessageCodec
from kcodec.protocol.spec.message import MessageSpec


def test_other_types_of_columns(impl):
    codec = MessageCodec(COMMIT, 3)
    wanted = codec.encode_one({"offset": 5, "metadata": "x", "leaderEpoch": 2})
    kind = pa.struct(
        [
            ("leaderEpoch", pa.int64()),
            ("metadata", pa.dictionary(pa.int32(), pa.string())),
            ("offset", pa.uint8()),
        ]
    )
    array = pa.array([{"offset": 5, "metadata": "x", "leaderEpoch": 2}], kind)
    assert codec.encode(array).to_pylist() == [wanted]
    table = pa.table({"offset": [5, 6], "metadata": ["x", "y"], "leaderEpoch": [2, 1 << 40]})
    encoded, report = codec.encode(table, errors="report")
    assert encoded.to_pylist() == [wanted, None]
    assert report["code"].to_pylist() == ["out_of_range"]
    for bad, path in (
        (pa.array([{"offset": "5"}]), "offset"),
        (pa.array([{"nothing": 5}]), ""),
        (pa.array([5]), ""),
    ):
        with pytest.raises(EncodeError) as caught:
            codec.encode(bad)
        assert (caught.value.code, caught.value.path) == ("type_mismatch", path)
    with pytest.raises(EncodeError, match=r"null_value.*metadata"):
        codec.encode(pa.array([{"offset": 1, "metadata": None}]))


def test_columns_of_nulls_and_of_no_struct(impl):
    tree = MessageCodec(TREE, 1)
    nulls = pa.array([{"topics": [{"name": None, "partitions": []}], "cursor": None}])
    assert tree.encode(nulls).to_pylist() == [tree.encode_one({"topics": [{"name": None}]})]
    for column, path in (("cursor", "cursor"), ("note", "note"), ("topics", "topics")):
        encoded, report = tree.encode(pa.array([{column: 5}, None]), errors="report")
        assert encoded.to_pylist() == [None, None]
        assert report.select(["row", "path", "code"]).to_pylist() == [
            {"row": 0, "path": path, "code": "type_mismatch"}
        ]
    with pytest.raises(EncodeError, match=r"type_mismatch: row 0, topics\[0\]: a column of int64"):
        tree.encode(pa.array([{"topics": [5]}]))
    assert tree.encode(pa.array([{"topics": []}])).to_pylist() == [tree.encode_one({})]


def test_bytes_of_a_fixed_size(impl):
    """They are written as any bytes are, wherever they stand; only uuids have a size of their own."""
    codec = MessageCodec(
        """{"type": "data", "name": "M", "validVersions": "0", "flexibleVersions": "0+", "fields": [
        {"name": "Id", "type": "uuid", "versions": "0+"},
        {"name": "Parts", "type": "[]Part", "versions": "0+", "fields": [
            {"name": "Ids", "type": "[]uuid", "versions": "0+"},
            {"name": "Data", "type": "bytes", "versions": "0+", "nullableVersions": "0+"}]},
        {"name": "Note", "type": "bytes", "versions": "0+", "taggedVersions": "0+", "tag": 0}]}""",
        0,
        unknown_tags=True,
    )
    tags = pa.list_(pa.struct([("tag", pa.uint32()), ("data", pa.binary(1))]))
    part = pa.struct([("ids", pa.list_(pa.binary(16))), ("data", pa.binary(3))])
    kind = pa.struct(
        [("id", pa.binary(16)), ("parts", pa.list_(part)), ("note", pa.binary(2)), (UNKNOWN, tags)]
    )
    rows = [
        {"id": bytes(16), "parts": [], "note": b"no", UNKNOWN: []},
        {
            "id": b"i" * 16,
            "parts": [{"ids": [b"j" * 16], "data": b"abc"}, {"ids": [], "data": None}],
            "note": b"ab",
            UNKNOWN: [{"tag": 7, "data": b"x"}],
        },
    ]
    wanted = [codec.encode_one(row) for row in rows]
    array = pa.array(rows, kind)
    assert codec.encode(array).to_pylist() == wanted
    assert codec.encode(array[1:]).to_pylist() == wanted[1:]
    assert "fail" not in str(codec.encode_plan(kind))
    ids = pa.array([{"id": b"short"}], pa.struct([("id", pa.binary(5))]))
    with pytest.raises(EncodeError, match="type_mismatch: row 0, id: a column of fixed_size_binary"):
        codec.encode(ids)


@pytest.mark.parametrize("within", [False, True])
def test_columns_that_python_has_no_objects_for(impl, within):
    """Two columns of one name, and times beyond Python's: each row says what is wrong with its column."""
    text = {"type": "data", "name": "Foo", "validVersions": "0", "flexibleVersions": "none"}
    text["fields"] = [{"name": "a", "type": "int32", "versions": "0+"}]
    if within:
        text["fields"] = [{"name": "s", "type": "[]S", "versions": "0+", "fields": text["fields"]}]
    codec = MessageCodec(MessageSpec.parse(json.dumps(text)), 0)
    numbers = pa.array([1, 2], pa.int32())
    twice = pa.StructArray.from_arrays([numbers, numbers], ["a", "a"])
    far = pa.StructArray.from_arrays([pa.array([1 << 62, None], pa.timestamp("s"))], ["a"])
    for column, path, reason in (
        (twice, "", "two columns have the same name"),
        (far, "a", "a column of timestamp[s] cannot be written as int32"),
    ):
        if within:
            column = pa.StructArray.from_arrays([pa.ListArray.from_arrays([0, 1, 2], column)], ["s"])
        made, report = codec.encode(column, errors="report")
        assert made.null_count == 2
        assert report["reason"].to_pylist() == [reason] * 2
        wanted = ".".join(filter(None, ("s[0]" if within else "", path)))
        assert report["path"].to_pylist() == [wanted] * 2
