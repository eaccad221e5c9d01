"""The values of control records: markers of transactions, and what KRaft writes of itself.

The layouts are facts of Kafka's protocol. Every value but a marker's starts with its own version, which is a field.
"""

import functools
import json
from typing import Any

from kcodec.errors import CODES, DecodeError
from kcodec.protocol.message.codec import MessageCodec


def _field(name: str, kind: str, versions: str = "0+", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "versions": versions, **more}


def _message(name: str, highest: int, *fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    versions = f"0-{highest}" if highest else "0"
    start = {"type": "data", "name": name, "validVersions": versions, "flexibleVersions": "0+"}
    return {**start, "fields": [_field("Version", "int16"), *fields], **more}


_VOTER = {
    "name": "Voter",
    "versions": "0+",
    "fields": [_field("VoterId", "int32"), _field("VoterDirectoryId", "uuid", "1+")],
}
_ENDPOINT = [_field("Name", "string", mapKey=True), _field("Host", "string"), _field("Port", "uint16")]
_RANGE = [_field("MinSupportedVersion", "int16"), _field("MaxSupportedVersion", "int16")]
_MESSAGES = {
    "LEADER_CHANGE": _message(
        "LeaderChangeMessage",
        1,
        _field("LeaderId", "int32"),
        _field("Voters", "[]Voter"),
        _field("GrantingVoters", "[]Voter"),
        commonStructs=[_VOTER],
    ),
    "SNAPSHOT_HEADER": _message("SnapshotHeaderRecord", 0, _field("LastContainedLogTimestamp", "int64")),
    "SNAPSHOT_FOOTER": _message("SnapshotFooterRecord", 0),
    "KRAFT_VERSION": _message("KRaftVersionRecord", 0, _field("KRaftVersion", "int16")),
    "KRAFT_VOTERS": _message(
        "VotersRecord",
        0,
        _field(
            "Voters",
            "[]Voter",
            fields=[
                _field("VoterId", "int32"),
                _field("VoterDirectoryId", "uuid"),
                _field("Endpoints", "[]Endpoint", fields=_ENDPOINT),
                _field("KRaftVersionFeature", "KRaftVersionFeature", fields=_RANGE),
            ],
        ),
    ),
}


@functools.cache
def _codec(kind: str, version: int) -> MessageCodec:
    return MessageCodec(json.dumps(_MESSAGES[kind]), version, compat="kafka")


def to_json(kind: str, value: bytes | None) -> dict[str, Any]:
    """Return a control record of KRaft as the JSON of Kafka's JsonConverter; raise `DecodeError` if it is not one."""
    if value is None or len(value) < 2:
        raise DecodeError(0, 0, "", "truncated", CODES["truncated"])
    # Java reads the highest version that it knows of a value that is newer.
    highest = int(_MESSAGES[kind]["validVersions"].rpartition("-")[2])
    version = min(max(int.from_bytes(value[:2], "big", signed=True), 0), highest)
    codec = _codec(kind, version)
    return codec.to_json(codec.decode_one(value))


def coordinator_epoch(value: bytes | None) -> int:
    """Return the epoch of the coordinator that wrote a marker: int16 version, int32 epoch."""
    if value is None or len(value) < 6:
        raise DecodeError(0, 0, "", "truncated", CODES["truncated"])
    return int.from_bytes(value[2:6], "big", signed=True)
