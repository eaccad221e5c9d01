"""What the bytes of a key or value look like, before anything is known of them."""

import json
import uuid
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kcodec.frames import FRAMES, Frame


class Look(NamedTuple):
    """What a payload looks like."""

    #: In words.
    text: str
    #: ``"null"``, ``"empty"``, ``"frame"``, ``"JSON"``, ``"CONNECT_JSON"``, ``"TEXT"``, ``"INT"``, ``"BIGINT"`` or
    #: ``"BYTES"``.
    kind: str
    #: The name of the frame that names a schema; empty without one.
    frame: str = ""
    #: What the frame holds: an id, a GUID or a fingerprint.
    key: int | bytes | None = None


def look(payload: bytes | None) -> Look:
    r"""Return what a payload looks like.

    Eight bytes that begin with zeros may be a frame or a number: they are taken for a frame then, and the text says so.

    >>> look(b'{"id": 1}').text, look(b"\0\0\0\0\7\2\2\2").text, look(None).kind
    ('JSON', 'schema id 7 or int64', 'null')
    """
    if payload is None:
        return Look("null", "null")
    if not payload:
        return Look("empty", "empty")
    framed = _framed(payload)
    if framed is not None:
        return framed
    try:
        text = payload.decode()
    except UnicodeDecodeError:
        text = ""
    if text.lstrip()[:1] in ("{", "["):
        return _json(text)
    if text and (text.isprintable() or text.isspace() or "\n" in text):
        return Look("text", "TEXT")
    if len(payload) == 4:
        return Look("int32", "INT")
    return Look("int64 or double", "BIGINT") if len(payload) == 8 else Look("binary", "BYTES")


def _framed(payload: bytes) -> Look | None:
    if payload[:5] == bytes(5) and len(payload) >= 10 and payload[5:9] != bytes(4):
        number = int.from_bytes(payload[5:9], "big")
        return Look(f"frame APICURIO, schema id {number}", "frame", "APICURIO", number)
    if payload[0] == 3 and len(payload) >= 18 and payload[1] in (0, 5):
        guid = payload[2:18]
        return Look(f"frame GLUE, schema {uuid.UUID(bytes=guid)}", "frame", "GLUE", guid)
    if payload[:2] == b"\xc3\x01" and len(payload) >= 10:
        key = payload[2:10]
        return Look(f"frame SINGLE_OBJECT, schema {key.hex()}", "frame", "SINGLE_OBJECT", key)
    if payload[0] == 0 and len(payload) >= 5:
        number = int.from_bytes(payload[1:5], "big")
        if len(payload) != 8:
            return Look(f"schema id {number}", "frame", "CONFLUENT", number)
        # No schema has the id 0.
        if number == 0:
            return Look("int64", "BIGINT")
        return Look(f"schema id {number} or int64", "frame", "CONFLUENT", number)
    if payload[0] == 1 and len(payload) >= 17:
        return Look("schema GUID", "frame", "CONFLUENT", payload[1:17])
    return None


def _json(text: str) -> Look:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return Look("text like JSON", "TEXT")
    if isinstance(found, dict) and found.keys() == {"schema", "payload"}:
        return Look("JSON of Connect", "CONNECT_JSON")
    return Look("JSON", "JSON")


def looks_of(
    payloads: Iterable[bytes | None], headers: Iterable[list[dict[str, Any]] | None], *, is_key: bool
) -> list[Look]:
    r"""Return what payloads look like, those with a frame in a header of their record by that.

    >>> headers = [[{"key": "__value_schema_id", "value": bytes(4) + b"\x07"}], []]
    >>> [each.text for each in looks_of([b"\x02", b"{}"], headers, is_key=False)]
    ['frame CONFLUENT_HEADER, schema id 7', 'JSON']
    """
    frames: dict[str, list[Frame]] = {}
    for frame in FRAMES.values():
        if frame.header:
            frames.setdefault(frame.header_of(is_key=is_key), []).append(frame)
    return [
        (None if payload is None else _in_header(each or (), frames)) or look(payload)
        for payload, each in zip(payloads, headers, strict=True)
    ]


def _read(frame: Frame, data: bytes) -> int | bytes | None:
    """Return the id in a header, behind which Confluent's serializers have message indexes of Protobuf."""
    end = {0: 5, 1: 17}.get(data[0]) if frame.id_type == "confluent" and data else None
    return frame.read(data[:end])


def _in_header(headers: Iterable[dict[str, Any]], frames: Mapping[str, list[Frame]]) -> Look | None:
    for header in headers:
        for frame in frames.get(header["key"], ()):
            key = _read(frame, header["value"] or b"")
            if key is not None:
                name = f"schema id {key}" if isinstance(key, int) else f"schema {key.hex()}"
                return Look(f"frame {frame.name}, {name}", "frame", frame.name, key)
    return None
