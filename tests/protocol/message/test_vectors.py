"""Every message that Kafka's generated classes wrote: read, written, turned into JSON and back."""

import functools
import json
from collections import Counter

import pyarrow as pa
import pytest
from kafka_definitions import definitions
from vector_files import read_vectors

from kcodec.errors import DecodeError, EncodeError
from kcodec.protocol.message.codec import UNKNOWN, MessageCodec
from kcodec.protocol.topics.builtin_layouts import builtin_definitions


@pytest.fixture(scope="module")
def sets(shared):
    return definitions(shared)


@pytest.fixture(scope="module")
def vectors(shared):
    return {
        name: read_vectors(f"kafka_protocol_{name}.jsonl.gz", shared / "vectors")
        for name in ("vectors", "downgrade", "malformed")
    }


def text(node) -> str:
    """Write JSON so that 1 and 1.0, True and 1, NaN and NaN compare as they should."""
    return json.dumps(node)


def test_messages(impl, sets, vectors, capsys):
    counts = check_messages(vectors["vectors"], sets)
    with capsys.disabled():
        print(f"\n{impl}: {counts.total() - counts['skipped']} messages both ways: {dict(counts)}")
    assert counts.total() - counts["skipped"] >= 1900


def test_messages_without_definitions(impl, capsys):
    """Those of layouts that kcodec knows by itself need nothing but the vectors in this repository."""
    known = builtin_definitions()
    counts = check_messages(read_vectors("kafka_protocol_vectors.jsonl.gz"), {"group": known, "txn": known})
    counts += check_downgrades(
        read_vectors("kafka_protocol_downgrade.jsonl.gz"), {"group": known, "txn": known}
    )
    with capsys.disabled():
        print(f"\n{impl}: {dict(counts)} of kcodec's own layouts")
    assert counts.total() >= 60


def check_messages(lines, sets):
    counts = Counter()
    codecs = {}
    for line in lines:
        if line["set"] not in sets:
            counts["skipped"] += 1
            continue
        where = line["id"]
        data = bytes.fromhex(line["hex"])
        key = line["set"], line["name"], line["version"]
        if key not in codecs:
            codecs[key] = MessageCodec(sets[line["set"]][line["name"]], line["version"], unknown_tags=True)
        codec = codecs[key]
        message = codec.decode_one(data)
        tags = [[entry["tag"], entry["data"].hex()] for entry in message.get(UNKNOWN, ())]
        assert tags == line.get("unknownTags", []), where
        assert text(codec.to_json(message)) == text(line["json"]), where
        assert codec.encode_one(message) == data, where
        assert codec.size(message) == len(data), where
        read = codec.from_json(line["json"])
        if not tags:
            assert codec.encode_one(read) == data, where
        column = codec.decode([data, None, data])
        column.validate(full=True)
        assert column.type == codec.arrow_type
        assert column.null_count == 1
        assert codec.encode(column).to_pylist() == [data, None, data], where
        counts[line["set"]] += 1
    return counts


def test_columns_hold_what_dicts_hold(impl, sets, vectors):
    for line in vectors["vectors"][::19]:
        if line["set"] in sets:
            codec = MessageCodec(sets[line["set"]][line["name"]], line["version"])
            data = bytes.fromhex(line["hex"])
            one = without_unknown(codec.decode_one(data))
            assert repr(codec.decode([data]).to_pylist()[0]) == repr(in_order(one, codec.arrow_type)), line[
                "id"
            ]


def without_unknown(value):
    if isinstance(value, dict):
        return {key: without_unknown(each) for key, each in value.items() if key != UNKNOWN}
    return [without_unknown(each) for each in value] if isinstance(value, list) else value


def in_order(value, kind):
    """Put the keys of dicts into the order of the columns."""
    if isinstance(value, dict):
        return {field.name: in_order(value[field.name], field.type) for field in kind}
    return [in_order(each, kind.value_type) for each in value] if isinstance(value, list) else value


def test_downgrades(impl, sets, vectors, capsys):
    counts = check_downgrades(vectors["downgrade"], sets)
    with capsys.disabled():
        print(f"\n{impl}: {dict(counts)} at other versions")
    assert counts.total() == len(vectors["downgrade"])


def check_downgrades(lines, sets):
    counts = Counter()
    codec_of = functools.cache(lambda of, name, version: MessageCodec(sets[of][name], version))
    for line in lines:
        top, codec = (codec_of(line["set"], line["name"], line[name]) for name in ("jsonVersion", "version"))
        if "hex" in line:
            message = top.from_json(line["json"])
            assert codec.encode_one(message).hex() == line["hex"], line["id"]
            column = top.decode([top.encode_one(message)])
            assert codec.encode(column).to_pylist() == [bytes.fromhex(line["hex"])], line["id"]
            counts["written"] += 1
            continue
        kind, _, reason = line["err"].partition(": ")
        with pytest.raises(EncodeError) as caught:
            codec.encode_one(top.from_json(line["json"]))
        if kind == "UnsupportedVersionException":
            assert caught.value.code == "non_default", line["id"]
            assert caught.value.reason == reason, line["id"]
        else:
            assert caught.value.code == {"NullPointerException": "null_value"}.get(kind, "type_mismatch")
        if kind != "IllegalArgumentException":
            column = top.decode([top.encode_one(top.from_json(line["json"]))])
            encoded, report = codec.encode(column, errors="report")
            assert encoded.to_pylist() == [None]
            assert report["code"].to_pylist() == [caught.value.code]
            assert report["path"].to_pylist() == [caught.value.path]
        counts["refused"] += 1
    return counts


#: Codes of what Kafka's reader refuses, by the vector.
REFUSED = {
    "compact-array-len-over-remaining": "truncated",
    "compact-string-32768": "string_length",
    "string-over-remaining": "truncated",
    "tag-not-valid-for-version": "invalid_tag",
    "tag-unknown-oversize": "truncated",
    "truncated-int": "truncated",
    "unsupported-version": "truncated",
    "uvarint-6-bytes": "varint_overlong",
}

#: What kcodec refuses by itself, and Kafka's reader takes.
STRICT = {
    "uvarint-5-bytes-overflow": "varint_overflow",
    "legacy-array-len-minus-2": "negative_length",
    "bool-2-is-true": "invalid_boolean",
    "invalid-utf8": "invalid_utf8",
    "invalid-utf8-surrogate": "invalid_utf8",
    "tag-size-too-big": "tag_size",
    "tag-size-too-small": "tag_size",
    "tag-unknown-duplicate": "tag_order",
    "nullable-struct-marker-00": "invalid_marker",
    "nullable-struct-marker-80": "invalid_marker",
    "tagged-nullable-struct-marker-02": "invalid_marker",
}


def test_malformed(impl, sets, vectors, capsys):
    counts = Counter()
    for line in vectors["malformed"]:
        where = line["id"]
        spec = sets[line["set"]][line["cls"]]
        codec = MessageCodec(spec, line["version"], compat="kafka", unknown_tags=True)
        data = bytes.fromhex(line["hex"])
        column, report = codec.decode([data], errors="report")
        if "err" in line:
            with pytest.raises(DecodeError) as caught:
                codec.decode_one(data)
            assert caught.value.code == REFUSED[where]
            assert report["code"].to_pylist() == [REFUSED[where]]
            assert column.to_pylist() == [None]
            counts["refused"] += 1
            continue
        message = codec.decode_one(data)
        assert text(codec.to_json(message)) == text(line["json"]), where
        assert report.num_rows == 0
        tags = [{"tag": entry["tag"], "hex": entry["data"].hex()} for entry in message.get(UNKNOWN, ())]
        assert tags == line.get("unknown", []), where
        if "encerr" in line:
            with pytest.raises(EncodeError, match="tag_order"):
                codec.encode_one(message)
            with pytest.raises(EncodeError, match="tag_order"):
                codec.encode(column)
        else:
            written = bytes.fromhex(line.get("rewritten", line["hex"]))
            assert codec.encode_one(message) == written, where
            assert codec.encode(column).to_pylist() == [written], where
        strict = MessageCodec(spec, line["version"])
        if where in STRICT:
            with pytest.raises(DecodeError) as caught:
                strict.decode_one(data)
            assert caught.value.code == STRICT[where], where
            with pytest.raises(DecodeError, match=STRICT[where]):
                strict.decode([data])
        else:
            assert text(strict.to_json(strict.decode_one(data))) == text(line["json"]), where
        counts["taken"] += 1
    with capsys.disabled():
        print(
            f"\n{impl}: {dict(counts)} of {len(vectors['malformed'])} malformed messages, as Kafka's reader"
        )
    assert counts.total() == len(vectors["malformed"])


def test_mixed_versions_share_columns(impl, sets, vectors):
    """All versions of a message in one column are what each version alone is, with defaults for what is absent."""
    by_spec = {}
    for line in vectors["vectors"]:
        if line["set"] == "trunk" and line["flexible"] and "unknownTags" not in line:
            by_spec.setdefault(line["name"], []).append(line)
    checked = 0
    for name, lines in list(by_spec.items())[::3]:
        codec = MessageCodec.for_versions(sets["trunk"][name])
        rows = [bytes.fromhex(line["hex"]) for line in lines]
        versions = [line["version"] for line in lines]
        column = codec.decode(rows, versions=versions)
        assert codec.encode(column, versions=pa.array(versions)).to_pylist() == rows, name
        for row, data, version in zip(column.to_pylist(), rows, versions, strict=True):
            alone = without_unknown(codec.decode_one(data, version))
            assert repr({key: row[key] for key in alone if not nested(alone[key])}) == repr(
                {key: value for key, value in alone.items() if not nested(value)}
            )
            checked += 1
    assert checked > 100


def nested(value) -> bool:
    return isinstance(value, (dict, list))
