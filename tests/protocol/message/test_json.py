"""The form of messages in JSON, as Kafka's converters have it."""

import pytest
from message_specs import COMMIT, TOPICS, TREE

from kcodec.errors import EncodeError
from kcodec.protocol.message.codec import MessageCodec
from kcodec.protocol.message.json import from_json
from kcodec.protocol.spec.message import MessageSpec


def test_json_form(impl):
    codec = MessageCodec(TREE, 1)
    message = codec.decode_one(codec.encode_one(TOPICS | {"cursor": {"at": 1}, "note": b"\xff"}))
    form = codec.to_json(message)
    assert form == TOPICS | {"cursor": {"at": 1}, "note": "/w=="}
    assert codec.from_json(form) == message
    assert "note" not in codec.to_json(codec.decode_one(codec.encode_one({})))
    for bad, text in (
        ({"topics": []}, "unable to locate field 'cursor', which is mandatory in version 1"),
        ({"topics": None, "cursor": None}, "got null"),
        ({"topics": [], "cursor": 5}, "JSON object"),
        ({"topics": {}, "cursor": None}, "JSON array"),
        ({"topics": [], "cursor": {"at": "1"}}, "expected an integer, but got a string"),
        ({"topics": [], "cursor": {"at": True}}, "got a boolean"),
        ({"topics": [], "cursor": {"at": 1 << 31}}, "does not fit in a 32-bit signed integer"),
        ({"topics": [], "cursor": None, "note": "%"}, "not base64"),
        ([], "JSON object"),
    ):
        with pytest.raises(EncodeError, match=text):
            codec.from_json(bad)
    with pytest.raises(EncodeError, match="non-default expireTimestamp at version 0"):
        MessageCodec(COMMIT, 0).to_json({"expireTimestamp": 5})
    for wrong, path in (
        ([], ""),
        ({"topics": 5}, "topics"),
        ({"topics": [{"name": b""}]}, "topics[0].name"),
        ({"cursor": 5}, "cursor"),
        ({"cursor": {"at": True}}, "cursor.at"),
        ({"note": "text"}, "note"),
    ):
        with pytest.raises(EncodeError, match="the field takes no") as caught:
            codec.to_json(wrong)
        assert (caught.value.code, caught.value.path) == ("type_mismatch", path)
    # Keys of other versions are taken, as Kafka's converters do; keys of no field are ignored.
    assert from_json(
        COMMIT, 0, {"offset": 1, "metadata": "", "commitTimestamp": 2, "leaderEpoch": 3, "x": 0}
    ) == {
        "offset": 1,
        "metadata": "",
        "commitTimestamp": 2,
        "leaderEpoch": 3,
    }


def test_json_form_of_every_type():
    spec = MessageSpec.parse("""{"type": "data", "name": "M", "validVersions": "0", "flexibleVersions": "0+",
        "fields": [{"name": "Small", "type": "int8", "versions": "0+"},
        {"name": "Real", "type": "float64", "versions": "0+"},
        {"name": "Batches", "type": "records", "versions": "0+", "nullableVersions": "0+"},
        {"name": "Id", "type": "uuid", "versions": "0+"}]}""")
    codec, lenient = MessageCodec(spec, 0), MessageCodec(spec, 0, compat="kafka")
    form = {"small": -1, "real": 1.0, "batches": "AAE=", "id": "AAAAAAAAAAAAAAAAAAAAAQ"}
    assert codec.to_json(codec.from_json(form)) == form
    sizes = codec.to_json(codec.from_json(form), serialize_records=False)
    assert sizes == {"small": -1, "real": 1.0, "batchesSizeInBytes": 2, "id": form["id"]}
    for key, bad in (("real", 1), ("small", 128), ("id", "AAAA"), ("id", "AA+A"), ("batches", 5)):
        with pytest.raises(EncodeError):
            codec.from_json(form | {key: bad})
    assert [lenient.from_json(form | {"small": small})["small"] for small in (200, 256)] == [72, -128]


def test_base64_of_the_json_form():
    """Bytes are read as Jackson reads them, UUIDs as Java's decoder of URLs does."""
    codec = MessageCodec(
        """{"type": "data", "name": "M", "validVersions": "0", "flexibleVersions": "0+", "fields": [
        {"name": "Data", "type": "bytes", "versions": "0+", "taggedVersions": "0+", "tag": 0},
        {"name": "Id", "type": "uuid", "versions": "0+", "taggedVersions": "0+", "tag": 1}]}""",
        0,
    )
    assert codec.from_json({"data": " AAEC\nAw== "})["data"] == b"\0\1\2\3"
    for text in ("AA=", "AA", "AAAA=", "-_-_"):
        with pytest.raises(EncodeError, match=r"type_mismatch: row 0, data: .* is not base64"):
            codec.from_json({"data": text})
    for text in ("_" * 22, "_" * 22 + "=="):
        assert codec.from_json({"id": text})["id"] == b"\xff" * 16
    for text in ("/" * 22, "_" * 22 + "=", "_" * 23, "_" * 24):
        with pytest.raises(EncodeError):
            codec.from_json({"id": text})


def test_structs_of_other_versions_in_the_json_form():
    codec = MessageCodec(
        """{"type": "data", "name": "M", "validVersions": "0-2", "flexibleVersions": "none", "fields": [
        {"name": "Early", "type": "Part", "versions": "0+"},
        {"name": "Late", "type": "[]Later", "versions": "1+", "fields": [
            {"name": "At", "type": "int8", "versions": "1+"}]}],
        "commonStructs": [{"name": "Part", "versions": "0-1", "fields": [
            {"name": "At", "type": "int8", "versions": "0+"}]}]}""",
        0,
    )
    form = {"early": {"at": 1}, "late": []}
    assert codec.from_json(form) == form
    with pytest.raises(
        EncodeError, match=r"unsupported_version: row 0, late\[0\]: Can't read version 0 of Later"
    ):
        codec.from_json(form | {"late": [{"at": 1}]})
    newest = MessageCodec(codec.spec, 2)
    for verb, convert in (("read", newest.from_json), ("write", newest.to_json)):
        with pytest.raises(EncodeError, match=f"row 0, early: Can't {verb} version 2 of Part"):
            convert(form)


def test_what_only_kafkas_converters_read():
    spec = MessageSpec.parse("""{"type": "data", "name": "M", "validVersions": "0-1", "flexibleVersions": "0+",
        "fields": [{"name": "Text", "type": "string", "versions": "0+", "nullableVersions": "1+"},
        {"name": "Part", "type": "Part", "versions": "0+", "taggedVersions": "0+", "tag": 0, "fields": [
            {"name": "At", "type": "int8", "versions": "0+", "taggedVersions": "0+", "tag": 0}]}]}""")
    for form, path in (({"text": None}, "text"), ({"text": "", "part": [5]}, "part")):
        with pytest.raises(EncodeError) as caught:
            MessageCodec(spec, 0).from_json(form)
        assert caught.value.path == path
    lenient = MessageCodec(spec, 0, compat="kafka")
    assert lenient.from_json({"text": None})["text"] is None
    for odd in ([5], None, "x"):
        assert lenient.from_json({"text": "", "part": odd}) == {"text": "", "part": {"at": 0}}
    with pytest.raises(EncodeError, match=r"part\.at"):
        lenient.from_json({"text": "", "part": {"at": None}})
    with pytest.raises(EncodeError, match="unable to locate field 'text'"):
        lenient.from_json([])
