"""Records inside of messages become rows."""

import pyarrow as pa
import pytest
from cases import cases

from kcodec.errors import ConfigError, DecodeError
from kcodec.protocol import MessageCodec, write_batches
from kcodec.protocol.batch.message_records import expand_records

FETCH = """{"type": "data", "name": "Fetch", "validVersions": "0-1", "flexibleVersions": "1+", "fields": [
    {"name": "Responses", "type": "[]Topic", "versions": "0+", "fields": [
        {"name": "Topic", "type": "string", "versions": "0+"},
        {"name": "Partitions", "type": "[]Part", "versions": "0+", "fields": [
            {"name": "Index", "type": "int32", "versions": "0+"},
            {"name": "Where", "type": "Place", "versions": "0+", "fields": [
                {"name": "Rack", "type": "string", "versions": "0+"}]},
            {"name": "Records", "type": "records", "versions": "0+", "nullableVersions": "0+"}]}]}]}"""


def batches(*values, **options):
    return write_batches(pa.table({"value": [value.encode() for value in values]}), **options)


def part(index, records):
    return {"index": index, "where": {"rack": f"r{index}"}, "records": records}


MESSAGES = [
    {"responses": [{"topic": "a", "partitions": [part(0, batches("x", "y")), part(1, None)]}]},
    {"responses": []},
    {
        "responses": [
            {"topic": "b", "partitions": []},
            {
                "topic": "c",
                "partitions": [part(3, b""), part(4, batches("z", compression="zstd") + batches("w")[:20])],
            },
        ]
    },
]
PATH = "responses.partitions.records"


@cases("large", [False, True])
@cases("version", [0, 1])
def test_records_become_rows(impl, version, large):
    codec = MessageCodec(FETCH, version, large=large)
    rows = [codec.encode_one(message) for message in MESSAGES]
    keep = ["responses.topic", "responses.partitions.index", "responses.partitions.where"]
    decoded = codec.decode(pa.chunked_array([rows[:1], [None], rows[1:]], pa.binary()))
    table = expand_records(decoded, PATH, keep=keep)
    assert table["row"].to_pylist() == [0, 0, 3]
    assert table["responses.topic"].to_pylist() == ["a", "a", "c"]
    assert table["responses.partitions.index"].to_pylist() == [0, 0, 4]
    assert table["responses.partitions.where"].to_pylist() == [{"rack": "r0"}, {"rack": "r0"}, {"rack": "r4"}]
    assert table["value"].to_pylist() == [b"x", b"y", b"z"]
    assert expand_records(decoded.slice(2), PATH)["row"].to_pylist() == [1]
    assert expand_records(decoded.slice(0, 0), PATH, views=False).num_rows == 0
    with pytest.raises(DecodeError) as caught:
        expand_records(decoded, PATH, partial="error")
    assert (caught.value.row, caught.value.path, caught.value.code) == (3, PATH, "truncated")


def test_damage_is_that_of_a_message(impl):
    codec = MessageCodec(FETCH, 0)
    bad = bytearray(batches("x"))
    bad[-2] ^= 1
    column = codec.decode(
        [codec.encode_one({"responses": [{"topic": "a", "partitions": [part(0, bytes(bad))]}]})]
    )
    with pytest.raises(DecodeError, match=r"crc_mismatch: row 0, .*responses.partitions.records"):
        expand_records(column, PATH)
    assert expand_records(column, PATH, errors="skip").num_rows == 0
    assert expand_records(column, PATH, check_crc=False).num_rows == 1


def test_what_is_not_there():
    column = MessageCodec(FETCH, 0).decode([b"\0\0\0\0"])
    for arguments, text in (
        (("responses.parts.records",), "there is no field responses.parts"),
        (("responses.topic",), "responses.topic holds string, not records"),
        ((PATH, "responses.nothing"), "there is no field responses.nothing"),
        ((PATH, "other.topic"), "other.topic is not a field on the way to"),
    ):
        with pytest.raises(ConfigError, match=text):
            expand_records(column, arguments[0], keep=arguments[1:])
    with pytest.raises(ConfigError, match="errors="):
        expand_records(column, PATH, errors="report")
    with pytest.raises(ConfigError, match="option 'zz' is not one of"):
        expand_records(column, PATH, zz=1)
