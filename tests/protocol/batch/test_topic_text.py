"""Records of internal topics as the decoders of Kafka's dump tool print them."""

import json

import pyarrow as pa
import pytest

from kcodec.cli.main import main
from kcodec.errors import ConfigError
from kcodec.protocol import MessageCodec, load, write_batches
from kcodec.protocol.batch.topic_text import TopicText

OFFSET_KEY = b"\0\1\0\1g\0\1t\0\0\0\5"
OFFSET = b"\0\3" + (7).to_bytes(8, "big") + b"\xff\xff\xff\xff" + b"\0\2hi" + bytes(8)


def text(value):
    return len(value).to_bytes(2, "big") + value


def test_offsets(impl):
    texts = TopicText("__consumer_offsets")
    key, value = texts.of(3, OFFSET_KEY, OFFSET)
    assert key == '{"type":"1","data":{"group":"g","topic":"t","partition":5}}'
    assert value == (
        '{"version":"3","data":{"offset":7,"leaderEpoch":-1,"metadata":"hi","commitTimestamp":0}}'
    )
    assert texts.of(3, OFFSET_KEY, None) == (key, "<DELETE>")
    assert texts.of(3, b"\0\x63g", b"") == ("Unknown record type 99 at offset 3, skipping.", None)
    for broken in (
        (None, b""),
        (b"\0", b""),
        (OFFSET_KEY[:5], None),
        (OFFSET_KEY, b"\0\3"),
        (OFFSET_KEY, b""),
    ):
        told, nothing = texts.of(3, *broken)
        assert told.startswith("Error at offset 3, skipping. truncated")
        assert nothing is None


def test_groups(impl, shared):
    """What members subscribe to is shown where the definitions say how."""
    definitions = load(shared / "kafka-messages")
    subscription = MessageCodec(definitions["ConsumerProtocolSubscription"], 0)
    assigned = b"\0\0" + subscription.encode_one({"topics": ["t"], "userData": None})
    member = {
        "memberId": "m", "groupInstanceId": None, "clientId": "c", "clientHost": "h", "rebalanceTimeout": 1,
        "sessionTimeout": 2, "subscription": assigned, "assignment": b"?",
    }  # fmt: skip
    group = {
        "protocolType": "consumer", "generation": 1, "protocol": "range", "leader": "m",
        "currentStateTimestamp": 5, "members": [member],
    }  # fmt: skip
    value = b"\0\3" + MessageCodec(definitions["GroupMetadataValue"], 3).encode_one(group)
    _, shown = TopicText("__consumer_offsets", definitions).of(0, b"\0\2\0\1g", value)
    (found,) = json.loads(shown)["data"]["members"]
    assert found["subscription"] == {"topics": ["t"], "userData": None}
    # What is none stays as it is.
    assert found["assignment"] == "Pw=="
    _, plain = TopicText("__consumer_offsets").of(0, b"\0\2\0\1g", value)
    assert isinstance(json.loads(plain)["data"]["members"][0]["subscription"], str)


def test_transactions(impl):
    key = b"\0\0" + text(b"id-1")
    value = (
        b"\0\0" + (9).to_bytes(8, "big") + b"\0\2" + (60_000).to_bytes(4, "big") + b"\1"
        + (1).to_bytes(4, "big") + text(b"t") + (2).to_bytes(4, "big") + bytes(4) + b"\0\0\0\3"
        + (5).to_bytes(8, "big") + bytes(8)
    )  # fmt: skip
    texts = TopicText("__transaction_state")
    assert texts.of(0, key, value) == (
        '{"type":"0","data":{"transactionalId":"id-1"}}',
        '{"version":"0","data":{"producerId":9,"producerEpoch":2,"transactionTimeoutMs":60000,"transactionStatus":1,'
        '"transactionPartitions":[{"topic":"t","partitionIds":[0,3]}],"transactionLastUpdateTimestampMs":5,'
        '"transactionStartTimestampMs":0}}',
    )
    assert texts.of(0, key, None)[1] == "<DELETE>"
    assert texts.of(0, b"\0\7" + text(b"id"), value) == ("Unknown record type 7 at offset 0, skipping.", None)


@pytest.mark.parametrize("version", [-1, 5, 256])
def test_values_of_unknown_versions(impl, version):
    value = version.to_bytes(2, "big", signed=True) + OFFSET[2:]
    told, nothing = TopicText("__consumer_offsets").of(3, OFFSET_KEY, value)
    assert told.startswith("Error at offset 3, skipping. unsupported_version")
    assert told.endswith(f"Found an unknown record version {version} for 1 type")
    assert nothing is None


def test_cluster_metadata(impl, shared):
    definitions = load(shared / "kafka-messages")
    texts = TopicText("__cluster_metadata", definitions)
    body = MessageCodec(definitions["TopicRecord"], 0).encode_one({"name": "t", "topicId": bytes(16)})
    assert texts.of(4, None, b"\1\2\0" + body) == (
        None,
        '{"type":"TOPIC_RECORD","version":0,"data":{"name":"t","topicId":"AAAAAAAAAAAAAAAAAAAAAA"}}',
    )
    for broken in (
        None, b"", b"\1\2\0", b"\1\xff\1\0", b"\1\2", b"\0\2\0" + body, b"\2\2\0" + body, b"\1\2\0" + body + b"\0",
        b"\1\2\x80\x80\2" + body,
    ):  # fmt: skip
        nothing, told = texts.of(4, None, broken)
        assert nothing is None
        assert told.startswith("Error at 4, skipping. ")
    # What is odd, but all that there is, is read as Kafka does.
    assert texts.of(4, None, b"\1\2\0" + b"\2\xff" + body[2:])[1].startswith('{"type":"TOPIC_RECORD"')
    with pytest.raises(ConfigError, match="no record of __cluster_metadata"):
        TopicText("__cluster_metadata")


def test_the_command(tmp_path, capsys, shared):
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(write_batches(pa.table({"key": [OFFSET_KEY, OFFSET_KEY], "value": [OFFSET, None]})))
    assert main(["dump-log", "--offsets-decoder", "--skip-record-metadata", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2].startswith('| key: {"type":"1","data":{"group":"g"')
    assert lines[-1].endswith("payload: <DELETE>")
    more = ["--definitions", str(shared / "kafka-messages")]
    assert main(["dump-log", "--offsets-decoder", *more, str(path)]) == 0
    assert "leaderEpoch" in capsys.readouterr().out
    for decoder, topic, jar in (
        ("share-group-state", "__share_group_state", "kafka-share-coordinator"),
        ("cluster-metadata", "__cluster_metadata", "kafka-metadata"),
    ):
        assert main(["dump-log", f"--{decoder}-decoder", str(path)]) == 2
        assert f"{topic} needs --definitions: those of {jar}, a jar" in capsys.readouterr().err
    assert main(["dump-log", "--offsets-decoder", "--format", "json", str(path)]) == 2
    with pytest.raises(SystemExit):
        main(["dump-log", "--offsets-decoder", "--transaction-log-decoder", str(path)])
