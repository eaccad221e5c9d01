"""Requests and responses with their sizes and headers, against Kafka's own, and what belongs together."""

import json
from collections import Counter

import pyarrow as pa
import pytest
from kafka_definitions import definitions
from vector_files import read_vectors

from kcodec.errors import ConfigError, DecodeError, EncodeError
from kcodec.protocol import load
from kcodec.protocol.connection import Connection, join_messages, split_messages
from kcodec.protocol.message.codec import MessageCodec
from kcodec.protocol.message.headers import HEADER_TYPES, header_spec

PING = [
    """{"apiKey": 70, "type": "request", "name": "PingRequest", "validVersions": "0-2", "flexibleVersions": "1+",
    "fields": [{"name": "Text", "type": "string", "versions": "0+", "nullableVersions": "2+"}]}""",
    """{"apiKey": 70, "type": "response", "name": "PingResponse", "validVersions": "0-2", "flexibleVersions": "1+",
    "fields": [{"name": "Length", "type": "int32", "versions": "0+"}]}""",
    """{"apiKey": 0, "type": "request", "name": "ProduceRequest", "validVersions": "3", "flexibleVersions": "none",
    "fields": [{"name": "Acks", "type": "int16", "versions": "0+"}]}""",
    """{"apiKey": 18, "type": "request", "name": "ApiVersionsRequest", "validVersions": "0-4",
    "flexibleVersions": "3+", "fields": []}""",
    """{"apiKey": 18, "type": "response", "name": "ApiVersionsResponse", "validVersions": "0-4",
    "flexibleVersions": "3+", "fields": [{"name": "ErrorCode", "type": "int16", "versions": "0+"},
    {"name": "ApiKeys", "type": "[]int16", "versions": "0+"}]}""",
]


@pytest.fixture(scope="module")
def ping():
    return load(PING)


def test_framed_vectors(impl, shared, capsys):
    loaded = definitions(shared)
    counts = Counter()
    for line in read_vectors("kafka_framed.jsonl.gz", shared / "vectors"):
        where = line["id"]
        found = [
            each
            for each in ("trunk", "kp")
            if line["name"] in loaded.get(each, ())
            and line["version"] in loaded[each][line["name"]].valid_versions
        ]
        if not found:
            counts["skipped"] += 1
            continue
        specs = loaded[found[0]]
        spec = specs[line["name"]]
        data = bytes.fromhex(line["hex"])
        (frame,), used = split_messages(data)
        assert used == len(data)
        assert spec.header_version(line["version"]) == line["headerVersion"], where
        codec = MessageCodec(spec, line["version"], header=line["type"])
        message = codec.decode_one(frame)
        assert {key: line["header"].get(key) for key in message["header"]} == message["header"], where
        assert json.dumps(codec.to_json(message)) == json.dumps(line["json"]), where
        body = codec.from_json(line["json"])
        assert join_messages([codec.encode_one({"header": line["header"], "body": body})]) == data, where
        column = codec.decode([bytes(frame)])
        assert column.type == codec.arrow_type
        assert codec.encode(column).to_pylist() == [frame.tobytes()], where
        connection = Connection(specs)
        if line["type"] == "request":
            read = connection.read_request(frame)
            assert (read.spec, read.version) == (spec, line["version"])
            assert read.body == message["body"]
            # Version and correlation follow from the header alone.
            every = MessageCodec.for_versions(spec, header="request")
            decoded = every.decode([bytes(frame)])
            header = line["header"]
            assert decoded.field("header").field("correlationId").to_pylist() == [header["correlationId"]]
            assert decoded.field("header").field("requestApiVersion").to_pylist() == [line["version"]]
        else:
            request = specs.request(spec.api_key)
            number = line["header"]["correlationId"]
            connection._wait(number, request, line["version"], {"acks": 1})
            assert connection.read_response(frame).body == message["body"]
            assert connection.in_flight == {}
        counts[line["type"]] += 1
    with capsys.disabled():
        print(f"\n{impl}: framed {dict(counts)}")
    assert counts["request"] + counts["response"] > 200


def test_damaged_messages(impl, shared, capsys):
    """Frames cut at each byte, or with another one there, are a message or a `DecodeError`."""
    loaded = definitions(shared)["trunk"]
    answers = Counter()
    for number, line in enumerate(read_vectors("kafka_framed.jsonl.gz", shared / "vectors")):
        data = bytes.fromhex(line["hex"])
        spec = loaded.get(line["name"])
        if spec is None or line["version"] not in spec.valid_versions or len(data) > 100:
            continue
        connection = Connection(loaded)
        request = loaded.request(line["apiKey"])
        for at in range(len(data)):
            changed = data[:at] + bytes([data[at] ^ (1 << (number + at) % 8)]) + data[at + 1 :]
            for damaged in (data[:at], data[4:at], changed, changed[4:]):
                try:
                    split_messages(damaged)
                    if line["type"] == "request":
                        connection.read_request(damaged)
                    else:
                        connection._waiting[line["header"]["correlationId"]] = request, line["version"]
                        connection.read_response(damaged)
                    connection._waiting.clear()
                    answers["read"] += 1
                except DecodeError as error:
                    answers[error.code] += 1
    with capsys.disabled():
        print(f"\n{impl}: damaged messages {answers.total()}, of which {answers['read']} can be read")
    assert answers["truncated"] > 1000
    assert answers["read"] > 100


def test_header_versions(shared, capsys):
    loaded = definitions(shared)
    count = 0
    for line in read_vectors("kafka_header_versions.jsonl.gz", shared / "vectors"):
        specs = loaded[line["set"]]
        assert specs.request(line["apiKey"]).header_version(line["version"]) == line["requestHeader"]
        assert specs.response(line["apiKey"]).header_version(line["version"]) == line["responseHeader"]
        count += 1
    with capsys.disabled():
        print(f"\n{count} header versions of requests and of responses")
    assert count == 327


def test_headers_are_those_of_kafka(shared):
    loaded = definitions(shared)["trunk"]
    for kind in HEADER_TYPES:
        ours, theirs = header_spec(kind), loaded[f"{kind.capitalize()}Header"]
        for version in theirs.valid_versions:
            assert ours.describe(version) == theirs.describe(version)


def test_a_conversation(impl, ping):
    client, broker = Connection(ping), Connection(ping)
    sent = b"".join(
        client.write_request("PingRequest", version, {"text": "x" * version}, client_id=f"me{version}")
        for version in (0, 1, 2)
    )
    assert client.in_flight == {0: ("PingRequest", 0), 1: ("PingRequest", 1), 2: ("PingRequest", 2)}
    frames, used = split_messages(sent + b"\0\0\0")
    assert used == len(sent)
    requests = [broker.read_request(frame) for frame in frames]
    assert [request.header["clientId"] for request in requests] == ["me0", "me1", "me2"]
    assert [request.body for request in requests] == [{"text": ""}, {"text": "x"}, {"text": "xx"}]
    # Responses in any order: the correlation id says which request each belongs to.
    for number in (2, 0, 1):
        (frame,), _ = split_messages(broker.write_response(number, {"length": number}))
        response = client.read_response(frame)
        assert (response.spec.name, response.version, response.body) == (
            "PingResponse",
            number,
            {"length": number},
        )
    assert client.in_flight == broker.in_flight == {}


def test_what_has_no_answer(impl, ping):
    client = Connection(ping)
    client.write_request("ProduceRequest", 3, {"acks": 0})
    assert client.in_flight == {}
    client.write_request("ProduceRequest", 3, {"acks": 1})
    assert client.in_flight == {1: ("ProduceRequest", 3)}
    with pytest.raises(ConfigError, match="no response to ProduceRequest"):
        client.write_response(1, {})
    with pytest.raises(ConfigError, match="waits for its response already"):
        client.write_request("ProduceRequest", 3, {"acks": 1}, correlation_id=1)
    with pytest.raises(ConfigError, match="no request called 'PingResponse'"):
        client.write_request("PingResponse", 0, {})
    with pytest.raises(ConfigError, match="correlation id 9"):
        client.write_response(9, {})
    with pytest.raises(DecodeError, match=r"unresolvable.*correlation id 9"):
        client.read_response(b"\0\0\0\x09")
    with pytest.raises(DecodeError, match="truncated"):
        client.read_response(b"\0")
    with pytest.raises(DecodeError, match="truncated"):
        client.read_request(b"\0\0")
    with pytest.raises(DecodeError, match="api key 500") as caught:
        client.read_request(b"\1\xf4\0\0\0\0\0\0\0\0")
    assert caught.value.code == "unsupported_version"
    with pytest.raises(DecodeError, match="version 9 of PingRequest is not one of 0-2"):
        client.read_request(b"\0\x46\0\x09\0\0\0\0\0\0")


def test_api_versions_may_be_answered_at_version_0(impl, ping):
    client = Connection(ping)
    client.write_request("ApiVersionsRequest", 4, {})
    response = client.read_response(bytes(4) + b"\0\x23" + b"\0\0\0\1\0\x12")
    assert response.version == 0
    assert response.body == {"errorCode": 35, "apiKeys": [18]}
    client.write_request("ApiVersionsRequest", 4, {})
    response = client.read_response(b"\0\0\0\1" + b"\0\0" + b"\2\0\x12" + b"\0")
    assert response.version == 4
    assert response.body == {"errorCode": 0, "apiKeys": [18]}


def test_correlation_ids_wrap(ping):
    client = Connection(ping)
    client.write_request("PingRequest", 0, {}, correlation_id=0x7FFFFFFF)
    client.write_request("PingRequest", 0, {})
    assert sorted(client.in_flight) == [0, 0x7FFFFFFF]


def test_split_refuses_bad_sizes():
    with pytest.raises(DecodeError) as caught:
        split_messages(b"\0\0\0\1a\xff\xff\xff\xff")
    assert (caught.value.row, caught.value.offset, caught.value.code) == (1, 5, "negative_length")
    with pytest.raises(DecodeError, match=r"size_limit.*2147483647"):
        split_messages(b"\x7f\xff\xff\xff")
    with pytest.raises(DecodeError, match="above the limit of 1"):
        split_messages(b"\0\0\0\2ab", max_size=1)
    assert split_messages(b"\0\0\0\5abcd") == ([], 0)
    assert split_messages(b"") == ([], 0)


def test_headers_that_are_left_out(impl, ping):
    request = MessageCodec(ping["PingRequest"], 1, header="request")
    data = request.encode_one({})
    assert data == bytes.fromhex("0046 0001 00000000 0000 00 01 00")
    assert request.encode_one({"header": {"correlationId": 5}}) == data[:7] + b"\5" + data[8:]
    assert request.encode_one({"body": {"text": "t"}}) == data[:-2] + b"\2t\0"
    assert request.to_json({"header": {}}) == {"text": ""}
    for columns in (
        {"header": {"correlationId": 0}},
        {"body": {"text": ""}},
        {"header": {"requestApiKey": 70}},
    ):
        assert request.encode(pa.array([columns, None])).to_pylist() == [data, None]
    response = MessageCodec(ping["PingResponse"], 0, header="response")
    assert response.encode_one({}) == bytes(8)
    assert response.encode(pa.array([{"body": {"length": 1}}])).to_pylist() == [bytes(7) + b"\1"]
    for part in ("header", "body"):
        with pytest.raises(EncodeError, match=f"null_value: row 0, {part}"):
            request.encode_one({part: None})


def test_requests_are_those_of_the_codec(impl, ping):
    codec = MessageCodec.for_versions(ping["PingRequest"], header="request")
    for header in ({"requestApiKey": 7}, {"requestApiVersion": 0}, {"requestApiKey": None}):
        (name,) = header
        with pytest.raises(EncodeError) as caught:
            codec.encode_one({"header": header}, 1)
        assert (caught.value.path, caught.value.code) == (f"header.{name}", "unsupported_version")
        encoded, report = codec.encode(
            pa.array(
                [{"header": {name: {"requestApiKey": 70, "requestApiVersion": 1}[name]}}, {"header": header}]
            ),
            errors="report",
            versions=[1, 1],
        )
        assert encoded.to_pylist() == [codec.encode_one({}, 1), None]
        assert report.select(["path", "code"]).to_pylist() == [
            {"path": f"header.{name}", "code": "unsupported_version"}
        ]
    good = codec.encode_one({}, 1)
    other = b"\0\7" + good[2:]
    column, report = codec.decode([good, other, None, b"\0\7"], errors="report")
    assert [row is None for row in column.to_pylist()] == [False, True, True, True]
    assert report.select(["row", "code", "reason"]).to_pylist()[0] == {
        "row": 1,
        "code": "unsupported_version",
        "reason": "the api key is not 70",
    }
    assert report["code"].to_pylist()[1] == "truncated"
    with pytest.raises(DecodeError, match="unsupported_version: row 0, byte 0: the api key is not 70"):
        codec.decode_one(other)


def test_requests_of_all_versions_as_columns(impl, ping):
    client = Connection(ping)
    frames = [
        split_messages(client.write_request("PingRequest", version, {"text": str(version)}))[0][0].tobytes()
        for version in (2, 0, 1, 2)
    ]
    codec = MessageCodec.for_versions(ping["PingRequest"], header="request")
    column = codec.decode([*frames, None, b"\0\x46\0\x07\0\0\0\0"], errors="null")
    assert column.field("body").field("text").to_pylist()[:4] == ["2", "0", "1", "2"]
    assert column.null_count == 2
    _, report = codec.decode([b"\0\x46\0\x07\0\0\0\0"], errors="report")
    assert report["code"].to_pylist() == ["unsupported_version"]
    assert codec.encode(column.slice(0, 4), versions=[2, 0, 1, 2]).to_pylist() == frames
    with pytest.raises(ConfigError, match="versions="):
        codec.encode(column)
    assert isinstance(column, pa.StructArray)


def test_requests_whose_messages_others_write(impl, ping):
    client, broker, plain = Connection(ping), Connection(ping), Connection(ping)
    for version in (0, 1, 2):
        for client_id in ("me", None, "\u00e9"):
            body = {"text": "x" * version}
            message = client.codec("PingRequest", version).encode_one(body)
            sent = client.open_request("PingRequest", version, len(message), client_id=client_id) + message
            assert sent == plain.write_request("PingRequest", version, body, client_id=client_id)
            (frame,), used = split_messages(sent)
            assert used == len(sent)
            assert broker.read_request(frame).body == body
    assert client.in_flight == plain.in_flight == broker.in_flight
    for number, (_, version) in plain.in_flight.items():
        (frame,), _ = split_messages(broker.write_response(number, {"length": number}))
        opened = client.open_response(frame)
        assert (opened.spec, opened.version) == (ping["PingResponse"], version)
        codec = client.codec(opened.spec.name, version)
        assert codec.decode_one(bytes(frame[opened.start :])) == {"length": number}
    assert client.in_flight == {}
    with pytest.raises(DecodeError, match=r"unresolvable.*correlation id 3"):
        client.open_response(bytes([0, 0, 0, 3]))
    with pytest.raises(DecodeError, match="truncated"):
        client.open_response(bytes(3))


def test_an_opened_request_without_a_client_id():
    """The header of ControlledShutdownRequest, API key 7, has none in version 0."""
    old = load([PING[0].replace("70", "7").replace('"0-2"', '"0"').replace('"1+"', '"none"')])
    sent = Connection(old).open_request("PingRequest", 0, 3, client_id="me") + b"\0\1x"
    assert sent == Connection(old).write_request("PingRequest", 0, {"text": "x"}, client_id="me")
    assert len(sent) == 15


def test_an_opened_request_may_have_no_response(ping):
    client = Connection(ping)
    client.open_request("ProduceRequest", 3, 2, is_answered=False)
    assert client.in_flight == {}
    client.open_request("ProduceRequest", 3, 2)
    assert client.in_flight == {1: ("ProduceRequest", 3)}
    client.open_request("PingRequest", 0, 2, correlation_id=7)
    with pytest.raises(ConfigError, match="waits for its response already"):
        client.open_request("PingRequest", 0, 2, correlation_id=7)
    with pytest.raises(ConfigError, match="version 9 of PingRequest is not one of 0-2"):
        client.open_request("PingRequest", 9, 2)
    with pytest.raises(ConfigError, match="no request called 'PingResponse'"):
        client.open_request("PingResponse", 0, 2)
    with pytest.raises(ConfigError, match="32768 bytes is longer than 32767"):
        client.open_request("PingRequest", 0, 2, client_id="x" * 32768)
    with pytest.raises(ConfigError, match="no message called 'PongRequest'"):
        client.codec("PongRequest", 0)


@pytest.mark.parametrize(
    ("tags", "code"),
    [
        ("", "truncated"),
        ("01", "truncated"),
        ("010002ff", "truncated"),
        ("02000005ff", "truncated"),
        ("0201000100", "tag_order"),
        ("ffffffff7f", "varint_overflow"),
        ("80808080808000", "varint_overlong"),
    ],
)
def test_the_tags_of_a_header_are_checked(impl, ping, tags, code):
    client = Connection(ping)
    client.open_request("PingRequest", 1, 0)
    start = bytes(4)
    with pytest.raises(DecodeError) as caught:
        client.open_response(start + bytes.fromhex(tags))
    assert caught.value.code == code
    assert len(client.in_flight) == 1
    assert client.open_response(start + bytes.fromhex("020001ff0503abcdef") + b"rest").start == 13


def test_another_connection_shares_codecs_and_nothing_else(ping):
    first = Connection(ping, compat="kafka")
    first.write_request("PingRequest", 1, {"text": "a"})
    other = first.another()
    assert other.in_flight == {}
    assert other.codec("PingRequest", 1) is first.codec("PingRequest", 1)
    assert other.write_request("PingRequest", 1, {"text": "a"})[8:12] == bytes(4)
